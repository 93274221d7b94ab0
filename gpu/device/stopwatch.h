/*
 * gpu/device/stopwatch.h - work on the device timed by its events; for .cu files alone
 *
 * open -> time* -> close. time runs the work twice uncounted, then `runs` times, and leaves the times in
 * ms, ascending. graph: the work is run once as it is, so that all its kernels are loaded, then
 * recorded and launched as a graph, like the engines do. Waits; at arm and in benchmarks only.
 * show: the work once, as what a profiler sees that waits for its start (ncu --profile-from-start off).
 * record, turns: works as graphs that run in turns, a few ms to warm up, then `runs` times each; one
 * that is short once more before each time that counts, so that it finds the cache its own. A NULL among
 * them is left out. ms: [graph][run], in the order of runs. The caller destroys the graphs.
 * fill: numbers in [-1, 1), never all zeros, on the default stream: zeros can run faster than samples.
 */
#ifndef BS_GPU_DEVICE_STOPWATCH_H
#define BS_GPU_DEVICE_STOPWATCH_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct bs_stopwatch {
	cudaStream_t stream;
	cudaEvent_t from, to;
};

typedef int (*bs_stopwatch_work)(void *arg, cudaStream_t stream, struct bs_fail *why);

/* Also after an error: close. */
int bs_stopwatch_open(struct bs_stopwatch *w, struct bs_fail *why);
void bs_stopwatch_close(struct bs_stopwatch *w);
int bs_stopwatch_time(struct bs_stopwatch *w, bool graph, bs_stopwatch_work work, void *arg,
		      float *ms, int runs, struct bs_fail *why);
int bs_stopwatch_record(struct bs_stopwatch *w, bs_stopwatch_work work, void *arg,
			cudaGraphExec_t *exec, struct bs_fail *why);
int bs_stopwatch_turns(struct bs_stopwatch *w, const cudaGraphExec_t exec[2], double *const ms[2],
		       int runs, struct bs_fail *why);
int bs_stopwatch_show(struct bs_stopwatch *w, bs_stopwatch_work work, void *arg,
		      struct bs_fail *why);
int bs_stopwatch_fill(float *values, size_t n, uint32_t seed, struct bs_fail *why);

static inline double bs_stopwatch_median(const float *ms, int runs)
{
	return 0.5 * ((double)ms[(runs - 1) / 2] + (double)ms[runs / 2]);
}

#endif
