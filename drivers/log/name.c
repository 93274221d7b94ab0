/* drivers/log/name.c - see name.h */
#include "drivers/log/name.h"

#include <stdio.h>
#include <string.h>

#include "core/date.h"

#define INDEX_DIGITS 5u

void bs_log_name(char name[BS_LOG_NAME], const struct bs_log_head *h)
{
	char utc[BS_UTC_BYTES];

	(void)snprintf(name, BS_LOG_NAME, "%s.%06u-%016llx-%05u" BS_LOG_SUFFIX,
		       bs_utc_text(utc, "%Y%m%dT%H%M%S", h->started_ns / 1000000000),
		       (unsigned)(h->started_ns / 1000 % 1000000), (unsigned long long)h->session,
		       h->index % 100000u);
}

bool bs_log_split(const char *name, size_t *stem, uint32_t *index)
{
	const size_t len = strlen(name);
	const size_t tail = 1 + INDEX_DIGITS + strlen(BS_LOG_SUFFIX);

	if (len <= tail || strcmp(name + len - strlen(BS_LOG_SUFFIX), BS_LOG_SUFFIX) != 0 ||
	    name[len - tail] != '-')
		return false;
	*index = 0;
	for (size_t i = len - tail + 1; i < len - tail + 1 + INDEX_DIGITS; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		*index = *index * 10 + (uint32_t)(name[i] - '0');
	}
	*stem = len - tail;
	return true;
}
