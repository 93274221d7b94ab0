/* test/twin/timing.h - the time of a queued operation as a graph, for twin tests to print */
#ifndef BS_TEST_TWIN_TIMING_H
#define BS_TEST_TWIN_TIMING_H

#include <cuda_runtime_api.h>

/* Median of 9 replays, ms, after two to warm up; 0 when anything failed. queue puts the work on
 * *stream, which is made here and valid only in the call. */
static inline double time_ms(int (*queue)(void *arg), void *arg, cudaStream_t *stream)
{
	cudaGraph_t graph = NULL;
	cudaGraphExec_t exec = NULL;
	cudaEvent_t from;
	cudaEvent_t to;
	float all[9];
	int good;

	if (cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking) != cudaSuccess ||
	    cudaEventCreate(&from) != cudaSuccess || cudaEventCreate(&to) != cudaSuccess)
		return 0.0;
	good = cudaDeviceSynchronize() == cudaSuccess &&
	       cudaStreamBeginCapture(*stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
	if (good) {
		good = queue(arg) == 0;
		good = cudaStreamEndCapture(*stream, &graph) == cudaSuccess && good;
	}
	good = good && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess;
	for (int i = -2; good && i < 9; i++) {
		float ms = 0.0f;
		int at = i;

		good = cudaEventRecord(from, *stream) == cudaSuccess &&
		       cudaGraphLaunch(exec, *stream) == cudaSuccess &&
		       cudaEventRecord(to, *stream) == cudaSuccess &&
		       cudaEventSynchronize(to) == cudaSuccess &&
		       cudaEventElapsedTime(&ms, from, to) == cudaSuccess;
		if (i < 0)
			continue;
		while (at > 0 && all[at - 1] > ms) { /* sorted as they come */
			all[at] = all[at - 1];
			at--;
		}
		all[at] = ms;
	}
	if (exec != NULL)
		(void)cudaGraphExecDestroy(exec);
	if (graph != NULL)
		(void)cudaGraphDestroy(graph);
	(void)cudaEventDestroy(from);
	(void)cudaEventDestroy(to);
	(void)cudaStreamDestroy(*stream);
	return good ? (double)all[4] : 0.0;
}

#endif
