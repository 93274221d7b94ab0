/*
 * test/support/turns.h - two threads that take turns, on however few processors
 *
 * bide() between two looks at what the other thread must do first. It is mostly a look at once, so
 * that the two meet often where there are processors for both, and now and then a short sleep, so
 * that the other gets on where there are not. sched_yield would give a busy processor away for
 * whole turns: 300,000 hand-overs took 45 s beside two busy processes.
 */
#ifndef BS_TEST_SUPPORT_TURNS_H
#define BS_TEST_SUPPORT_TURNS_H

#include <time.h>

static inline void bide(void)
{
	static _Thread_local unsigned looks;
	const struct timespec moment = { 0, 1000 };

	if (++looks % 512 == 0)
		(void)nanosleep(&moment, NULL);
}

#endif
