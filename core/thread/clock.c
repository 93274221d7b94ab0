/* core/thread/clock.c - see clock.h */
#include "core/thread/clock.h"

#include <stddef.h>

static const int64_t *scripted;

int64_t bs_now_ns(void)
{
	struct timespec t;

	if (scripted != NULL)
		return *scripted;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void bs_sleep_ns(int64_t ns)
{
	const struct timespec t = bs_timespec(ns);

	(void)nanosleep(&t, NULL);
}

void bs_clock_script(const int64_t *script)
{
	scripted = script;
}
