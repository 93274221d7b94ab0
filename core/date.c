/* core/date.c - see date.h */
#include "core/date.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

/*
 * Copies the digits between the marks. Returns true when there are count of them, a fraction not
 * counted.
 */
static bool digits(char *out, size_t cap, const char *text, char mark, size_t count)
{
	size_t n = 0;

	out[0] = '\0';
	for (; *text != '\0'; text++) {
		if (*text == mark)
			continue;
		if ((*text < '0' || *text > '9') && (*text != '.' || n != count))
			return false;
		if (n + 1 < cap) {
			out[n] = *text;
			out[n + 1] = '\0';
		}
		n++;
	}
	return n >= count && (n == count || out[count] == '.');
}

/* The number that two of the 8 or 6 digits make. */
static int pair(const char *at)
{
	return (at[0] - '0') * 10 + (at[1] - '0');
}

static int days(int year, int month)
{
	static const int of[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month < 1 || month > 12 ? 0 : of[month - 1] + (leap && month == 2);
}

bool bs_date_of(char out[BS_DATE_BYTES], const char *text)
{
	const bool is = strchr(text, '.') == NULL && digits(out, BS_DATE_BYTES, text, '-', 8) &&
			pair(out + 6) >= 1 &&
			pair(out + 6) <= days(pair(out) * 100 + pair(out + 2), pair(out + 4));

	if (!is)
		out[0] = '\0';
	return is;
}

/* Reads a time. DICOM allows second 60, of a leap second. */
bool bs_time_of(char out[BS_TIME_BYTES], const char *text)
{
	const bool is = digits(out, BS_TIME_BYTES, text, ':', 6) && pair(out) < 24 &&
			pair(out + 2) < 60 && pair(out + 4) <= 60;

	if (!is)
		out[0] = '\0';
	return is;
}

const char *bs_utc_text(char out[BS_UTC_BYTES], const char *format, int64_t seconds)
{
	const time_t at = (time_t)seconds;
	struct tm utc;

	out[0] = '\0';
	if (gmtime_r(&at, &utc) != NULL)
		(void)strftime(out, BS_UTC_BYTES, format, &utc);
	return out;
}
