/*
 * gpu/solve/watch.h - iterations on a GPU, queued one by one up to a deadline
 *
 * Two iterations are kept queued, so that the GPU never waits for the host; while the time of an
 * iteration is not known, one. Each iteration that has ended is timed. The time assumed for an
 * iteration is the longest of this run and of the last one. Another iteration is queued unless it,
 * with what ends the solve (pcg.h: one more application, assumed to last as long as an iteration),
 * would end past the deadline. At least one iteration is always made.
 * open may allocate; run waits. One caller. Errors: BS_ERR_GPU, or what next returns.
 */
#ifndef BS_GPU_SOLVE_WATCH_H
#define BS_GPU_SOLVE_WATCH_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "core/err.h"

struct bs_watch {
	cudaEvent_t done[2]; /* events after the two iterations queued last */
	int64_t longest_ns;  /* longest time of one iteration in the last run, ns; 0: not known */
};

int bs_watch_open(struct bs_watch *w, struct bs_fail *why);
void bs_watch_close(struct bs_watch *w);
/*
 * Call it when all that was queued before has ended. next queues an iteration and records `done`
 * behind it. *late: the deadline left no time for all iterations.
 */
int bs_watch_run(struct bs_watch *w, uint32_t most, int64_t deadline_ns,
		 int (*next)(void *arg, cudaEvent_t done, struct bs_fail *why), void *arg,
		 bool *late, struct bs_fail *why);

#endif
