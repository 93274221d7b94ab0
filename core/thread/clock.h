/*
 * core/thread/clock.h - the one monotonic clock, in nanoseconds, which a test may script
 *
 * bs_now_ns: CLOCK_MONOTONIC, comparable between the processes of one machine. Any thread.
 * bs_clock_script: from now on the clock reads *script (ns) instead; NULL: the machine's again.
 */
#ifndef BS_CORE_THREAD_CLOCK_H
#define BS_CORE_THREAD_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int64_t bs_now_ns(void);
void bs_clock_script(const int64_t *script);

/* Milliseconds, as a configuration states them, in the clock's nanoseconds. */
static inline int64_t bs_ns_of_ms(double ms)
{
	return (int64_t)(ms * 1e6);
}

#ifdef __cplusplus
}
#endif
#endif
