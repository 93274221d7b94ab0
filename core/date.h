/*
 * core/date.h - dates and times of day of an MRD header, in DICOM's form
 *
 * No state; any thread. Test: test/unit/core/test_date.c
 */
#ifndef BS_CORE_DATE_H
#define BS_CORE_DATE_H

#include <stdbool.h>

#define BS_DATE_BYTES 9u
#define BS_TIME_BYTES 14u

/* "2026-11-23" or "20261123" as "20261123". false, and out is "": no day of the calendar. */
bool bs_date_of(char out[BS_DATE_BYTES], const char *text);
/* "10:15:00.25" as "101500.25", cut after six places. false, and out is "": no time of a day. */
bool bs_time_of(char out[BS_TIME_BYTES], const char *text);

#endif
