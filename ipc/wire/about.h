/*
 * ipc/wire/about.h - what a scan's MRD header says of patient, study, series, scanner and sequence
 *
 * Nothing of it is used here: it goes on to the takers of the scan's images as attributes, <meta>
 * elements named mrd_ELEMENT (ipc/WIRE.md has the list), one value for each time that the element
 * stands there. A value of more than BS_ABOUT_VALUE bytes is cut, between two characters; what does
 * not fit any more is left out. A date or time that is none is remarked. No state; any thread.
 * Test: test/unit/ipc/test_xml.c, test/unit/ipc/test_habits.c
 */
#ifndef BS_IPC_WIRE_ABOUT_H
#define BS_IPC_WIRE_ABOUT_H

#include "core/mrd.h"

#define BS_ABOUT_VALUE 128u

/* One element below ismrmrdHeader/section; others than those of the list are passed over. */
void bs_about_add(struct bs_scan_info *info, const char *section, const char *element,
		  const char *text);

/* One more of info->remark; where it does not fit, that there is more. */
void bs_about_remark(struct bs_scan_info *info, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * A user parameter of the header: VENC_0, ..., BitsStored, or what the scan sets for itself
 * (core/plan/scankey.h); value: the text as a number, else 0.
 */
void bs_about_user(struct bs_scan_info *info, const char *name, const char *text, double value);

/* An element ends at this byte, depth 1: the header. Parameters may be added before some ends. */
void bs_about_end(struct bs_scan_info *info, int depth, const char *name, long at);

#endif
