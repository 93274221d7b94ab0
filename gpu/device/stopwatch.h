/*
 * gpu/device/stopwatch.h - work on the device timed by its events; for .cu files alone
 *
 * open -> { record, turns }* -> close; close also after an error. These functions wait; they are
 * for arm and benchmarks only.
 * record: runs the work once as it is, so that all its kernels are loaded, then records it as a
 * graph, as the engines launch it; the caller destroys the graph.
 * turns: times one work for two args, which are recorded one after the other and run in turns. A
 * few ms warm up; then each arg runs *runs times, or fewer when enough (NULL: never) returns true
 * after a pair of runs; *runs is then the number of pairs. Before each timed run a short work is
 * run untimed, so that the cache holds its data. An arg that is NULL is left out. ms [arg][run],
 * in the order of the runs.
 * fill: writes numbers in [-1, 1), never all zeros, on the default stream: work on zeros can be
 * faster than work on data.
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
typedef bool (*bs_stopwatch_enough)(void *arg, int runs);

int bs_stopwatch_open(struct bs_stopwatch *w, struct bs_fail *why);
void bs_stopwatch_close(struct bs_stopwatch *w);
int bs_stopwatch_record(struct bs_stopwatch *w, bs_stopwatch_work work, void *arg,
			cudaGraphExec_t *exec, struct bs_fail *why);
int bs_stopwatch_turns(struct bs_stopwatch *w, bs_stopwatch_work work, void *const arg[2],
		       double *const ms[2], int *runs, bs_stopwatch_enough enough, void *enough_arg,
		       struct bs_fail *why);
int bs_stopwatch_fill(float *values, size_t n, uint32_t seed, struct bs_fail *why);

#endif
