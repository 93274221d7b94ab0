/*
 * test/bench/stream/crowd.h - for a bench: browsers that look at the page, some that stop reading
 *
 * Each browser asks as the page does: the list five times a second, the newest picture when there
 * is a newer one, the status once a second, over one connection; one in ten asks for the metrics,
 * too. They stand in for browsers of other machines and run at the lowest priority. Threads of this
 * process.
 */
#ifndef BS_TEST_BENCH_CROWD_H
#define BS_TEST_BENCH_CROWD_H

#include <stdbool.h>
#include <stdint.h>

struct crowd_counts {
	uint64_t answers, pictures, bytes, failures; /* of all browsers */
};

bool crowd_begin(unsigned port, unsigned browsers, unsigned stuck);
void crowd_end(struct crowd_counts *sum);

#endif
