/*
 * core/thread/clock.h - the one monotonic clock, in nanoseconds, which a test may script, and UTC
 *
 * bs_now_ns: CLOCK_MONOTONIC, comparable between the processes of one machine. Any thread.
 * bs_utc_ns: ns since 1970, UTC; not scripted. Any thread.
 * bs_sleep_ns: sleeps ns by the machine's clock; a signal may end it early.
 * bs_pause: for a loop that waits for another processor's store; it promises no duration.
 * bs_clock_script: from now on bs_now_ns returns *script (ns); NULL: the machine's clock again.
 */
#ifndef BS_CORE_THREAD_CLOCK_H
#define BS_CORE_THREAD_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/linkage.h"

BS_C_BEGIN

extern const int64_t *bs_clock_scripted; /* NULL: the machine's clock is read */
void bs_clock_script(const int64_t *script);

static inline int64_t bs_clock_read(clockid_t clock)
{
	struct timespec t = { 0, 0 };

	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t bs_now_ns(void)
{
	return bs_clock_scripted != NULL ? *bs_clock_scripted : bs_clock_read(CLOCK_MONOTONIC);
}

static inline int64_t bs_utc_ns(void)
{
	return bs_clock_read(CLOCK_REALTIME);
}

static inline void bs_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static inline struct timespec bs_timespec(int64_t ns)
{
	struct timespec t;

	t.tv_sec = (time_t)(ns / 1000000000);
	t.tv_nsec = (long)(ns % 1000000000);
	return t;
}

static inline void bs_sleep_ns(int64_t ns)
{
	const struct timespec t = bs_timespec(ns);

	(void)nanosleep(&t, NULL);
}

/* Converts milliseconds, as a configuration has them, to nanoseconds. */
static inline int64_t bs_ns_of_ms(double ms)
{
	return (int64_t)(ms * 1e6);
}

BS_C_END
#endif
