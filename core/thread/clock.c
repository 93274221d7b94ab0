/* core/thread/clock.c - see clock.h */
#include "core/thread/clock.h"

const int64_t *bs_clock_scripted;

int64_t bs_utc_ns(void)
{
	return bs_clock_read(CLOCK_REALTIME);
}

void bs_sleep_ns(int64_t ns)
{
	const struct timespec t = bs_timespec(ns);

	(void)nanosleep(&t, NULL);
}

void bs_clock_script(const int64_t *script)
{
	bs_clock_scripted = script;
}
