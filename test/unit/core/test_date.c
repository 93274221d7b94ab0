/*
 * test/unit/core/test_date.c - dates and times of day: those of the calendar, in DICOM's form
 */
#include "core/date.h"
#include "test/support/check.h"

#include <string.h>

int main(void)
{
	static const char *const dates[][2] = {
		{ "2020-12-31", "20201231" },
		{ "20201231", "20201231" },
		{ "2024-02-29", "20240229" },
		{ "2000-02-29", "20000229" },
		{ "1900-02-29", "" },
		{ "1970-02-31", "" },
		{ "2020-13-01", "" },
		{ "2020-00-10", "" },
		{ "2020-04-31", "" },
		{ "2020-01-00", "" },
		{ "", "" },
		{ "2020-12-31Z", "" },
		{ "2020-12-31.5", "" },
		{ "02020-12-31", "" },
		{ "2020-12", "" },
	};
	static const char *const times[][2] = {
		{ "10:15:00", "101500" },
		{ "10:15:00.25", "101500.25" },
		{ "235960", "235960" },
		{ "25:61:61.5", "" },
		{ "24:00:00", "" },
		{ "10:60:00", "" },
		{ "10:00:61", "" },
		{ "10:15", "" },
		{ "soon", "" },
		{ "", "" },
		{ "10:15:00.123456789", "101500.123456" },
	};
	char out[BS_TIME_BYTES];

	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++)
		CHECK(bs_date_of(out, dates[i][0]) == (dates[i][1][0] != '\0') &&
			      strcmp(out, dates[i][1]) == 0,
		      "%s: '%s'", dates[i][0], out);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		CHECK(bs_time_of(out, times[i][0]) == (times[i][1][0] != '\0') &&
			      strcmp(out, times[i][1]) == 0,
		      "%s: '%s'", times[i][0], out);
	return check_done();
}
