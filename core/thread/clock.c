/* core/thread/clock.c - see clock.h */
#include "core/thread/clock.h"

#include <stddef.h>

static const int64_t *scripted;

static int64_t read_clock(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t bs_now_ns(void)
{
	return scripted != NULL ? *scripted : read_clock(CLOCK_MONOTONIC);
}

int64_t bs_utc_ns(void)
{
	return read_clock(CLOCK_REALTIME);
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
