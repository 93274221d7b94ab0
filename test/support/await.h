/*
 * test/support/await.h - waiting for an event, however long a busy machine takes
 *
 * AWAIT(condition); looks every few milliseconds until the condition holds. A hang ends it after
 * AWAIT_MS, and the CHECK that follows fails: no test passes or fails by how fast the machine was.
 */
#ifndef BS_TEST_SUPPORT_AWAIT_H
#define BS_TEST_SUPPORT_AWAIT_H

#include <stdint.h>
#include <time.h>

#define AWAIT_MS 60000 /* the longest wait; what takes a timeout in ms takes this */

/* The clock itself: a test may have scripted bs_now_ns. */
static inline int64_t await_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void await_pause_ms(int ms)
{
	const struct timespec t = { ms / 1000, (ms % 1000) * 1000000L };

	(void)nanosleep(&t, NULL);
}

/* When a wait that begins now is a hang. */
static inline int64_t await_limit(void)
{
	return await_now_ns() + AWAIT_MS * INT64_C(1000000);
}

#define AWAIT(condition)                                                                           \
	for (int64_t await_end = await_limit(); !(condition) && await_now_ns() < await_end;)       \
	await_pause_ms(2)

#endif
