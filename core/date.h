/*
 * core/date.h - dates and times of day of an MRD header, in DICOM's form; times in UTC as text
 *
 * No state; any thread. Test: test/unit/core/test_date.c
 */
#ifndef BS_CORE_DATE_H
#define BS_CORE_DATE_H

#include <stdbool.h>
#include <stdint.h>

#define BS_DATE_BYTES 9u
#define BS_TIME_BYTES 14u
#define BS_UTC_BYTES  32u
#define BS_UTC_ISO    "%Y-%m-%dT%H:%M:%SZ"

/*
 * Turns "2026-11-23" or "20261123" into "20261123". Returns false, with out "", where text is no
 * day of the calendar.
 */
bool bs_date_of(char out[BS_DATE_BYTES], const char *text);
/*
 * Turns "10:15:00.25" into "101500.25", cut after six decimal places. Returns false, with out "",
 * where text is no time of day.
 */
bool bs_time_of(char out[BS_TIME_BYTES], const char *text);
/* Writes a time, in s since 1970, as strftime's format has it; "" where it has no date. */
const char *bs_utc_text(char out[BS_UTC_BYTES], const char *format, int64_t seconds);

#endif
