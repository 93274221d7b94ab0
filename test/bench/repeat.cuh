/*
 * test/bench/repeat.cuh - one work on the device, timed run by run; for the bench's .cu files
 *
 * time: the work twice uncounted, then `runs` times; ms ascending. graph: as one graph, like the
 * engines launch theirs. show: the work once, as what a profiler sees that waits for its start
 * (ncu --profile-from-start off).
 */
#ifndef BS_TEST_BENCH_REPEAT_CUH
#define BS_TEST_BENCH_REPEAT_CUH

#include <cuda_profiler_api.h>
#include <stdlib.h>

#include "gpu/device/check.h"
#include "gpu/device/stopwatch.h"

static inline int repeat_show(struct bs_stopwatch *w, bs_stopwatch_work work, void *arg,
			      struct bs_fail *why)
{
	int rc;

	BS_CUDA(cudaDeviceSynchronize(), why);
	BS_CUDA(cudaProfilerStart(), why);
	rc = work(arg, w->stream, why);
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(w->stream), why);
	BS_CUDA(cudaProfilerStop(), why);
	return rc;
}

static inline int repeat_ascending(const void *a, const void *b)
{
	const float x = *(const float *)a;
	const float y = *(const float *)b;

	return x < y ? -1 : x > y;
}

/* exec NULL: the work itself. */
static inline int repeat_runs(struct bs_stopwatch *w, cudaGraphExec_t exec, bs_stopwatch_work work,
			      void *arg, float *ms, int runs, struct bs_fail *why)
{
	int rc = 0;

	for (int i = -2; i < runs && rc == 0; i++) {
		float one;

		BS_CUDA(cudaEventRecord(w->from, w->stream), why);
		if (exec != NULL)
			BS_CUDA(cudaGraphLaunch(exec, w->stream), why);
		else
			rc = work(arg, w->stream, why);
		if (rc != 0)
			return rc;
		BS_CUDA(cudaEventRecord(w->to, w->stream), why);
		BS_CUDA(cudaStreamSynchronize(w->stream), why);
		BS_CUDA(cudaEventElapsedTime(&one, w->from, w->to), why);
		if (i >= 0)
			ms[i] = one;
	}
	qsort(ms, (size_t)runs, sizeof(*ms), repeat_ascending);
	return 0;
}

static inline int repeat_time(struct bs_stopwatch *w, bool graph, bs_stopwatch_work work, void *arg,
			      float *ms, int runs, struct bs_fail *why)
{
	cudaGraphExec_t exec = NULL;
	int rc = graph ? bs_stopwatch_record(w, work, arg, &exec, why) : 0;

	if (rc == 0)
		rc = repeat_runs(w, exec, work, arg, ms, runs, why);
	if (exec != NULL)
		(void)cudaGraphExecDestroy(exec);
	return rc;
}

static inline double repeat_median(const float *ms, int runs)
{
	return 0.5 * ((double)ms[(runs - 1) / 2] + (double)ms[runs / 2]);
}

#endif
