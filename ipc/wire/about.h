/*
 * ipc/wire/about.h - what a scan's MRD header says of patient, study, series, scanner and sequence
 *
 * None of it is used here: it goes on to the takers of the scan's images as attributes named
 * mrd_ELEMENT (ipc/WIRE.md has the list), with one value for each time that the element occurs. A
 * value of more than BS_ABOUT_VALUE bytes is cut, between two characters; values with which they
 * would be more than BS_SCAN_ABOUT bytes of XML are left out. An invalid date or time is remarked.
 * No state; any thread.
 * Test: test/unit/ipc/test_xml.c, test/unit/ipc/test_habits.c
 */
#ifndef BS_IPC_WIRE_ABOUT_H
#define BS_IPC_WIRE_ABOUT_H

#include "core/mrd.h"

#define BS_ABOUT_VALUE 128u

/* Adds one element below ismrmrdHeader/section; elements that are not in the list are ignored. */
void bs_about_add(struct bs_scan_info *info, const char *section, const char *element,
		  const char *text);

/* Adds to info->remark; where the text does not fit, adds that there is more. */
void bs_about_remark(struct bs_scan_info *info, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define BS_ABOUT_ANSWERS "boreside_answers" /* 1: the sender asks for answers (WIRE.md) */

/*
 * Takes a user parameter of the header: VENC_0, ..., BitsStored, answers, or a key that the scan
 * sets for itself (core/plan/scankey.h). value: the text as a number, else 0.
 */
void bs_about_user(struct bs_scan_info *info, const char *name, const char *text, double value);

/*
 * Notes that an element ends at this byte; depth 1 is the header. Parameters may be added before
 * the end of some elements.
 */
void bs_about_end(struct bs_scan_info *info, int depth, const char *name, long at);

#endif
