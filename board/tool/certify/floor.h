/*
 * board/tool/certify/floor.h - the machine's floor: the gaps that a thread which never sleeps sees
 *
 * Beside the canaries, which sleep and are woken late, one thread reads the clock without end: what
 * it misses no service could have had on this machine, whatever it does to stay awake. It keeps a
 * processor busy, so it runs only where there are BS_FLOOR_PROCESSORS or more, at no real-time
 * priority.
 * start -> stop, once each; stop also for a zeroed one. The record stays. Test:
 * test/unit/board/tool/certify/test_floor.c
 */
#ifndef BS_BOARD_TOOL_CERTIFY_FLOOR_H
#define BS_BOARD_TOOL_CERTIFY_FLOOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BS_FLOOR_PROCESSORS 8u

/* Gaps between two readings of the clock. */
struct bs_floor_seen {
	double seconds;              /* time that the thread read the clock; 0: it did not run */
	double max_us;               /* longest gap */
	uint64_t over_100, over_500; /* gaps of at least 100 us, of at least 500 us */
};

struct bs_floor {
	pthread_t thread;
	_Atomic bool quit;
	bool runs;
	struct bs_floor_seen seen; /* result, valid after stop */
};

void bs_floor_note(struct bs_floor_seen *s, int64_t gap_ns);
/* Starts the thread. processors: number that this machine has. False: too few, or no thread. */
bool bs_floor_start(struct bs_floor *f, uint32_t processors);
void bs_floor_stop(struct bs_floor *f);

#endif
