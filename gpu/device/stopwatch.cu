/* gpu/device/stopwatch.cu - see stopwatch.h */
#include "gpu/device/stopwatch.h"

#include <string.h>

#include "gpu/device/check.h"

#define WARM_MS  2.0f
#define SHORT_MS 0.5f

static __global__ void fill(float *v, size_t n, uint32_t seed)
{
	const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t x = (uint32_t)i * 2654435761u + seed;

	x ^= x >> 16;
	x *= 2246822519u;
	x ^= x >> 13;
	if (i < n)
		v[i] = (float)(int32_t)x * 0x1p-31f;
}

int bs_stopwatch_fill(float *values, size_t n, uint32_t seed, struct bs_fail *why)
{
	fill<<<(unsigned)((n + 255) / 256), 256>>>(values, n, seed);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

int bs_stopwatch_open(struct bs_stopwatch *w, struct bs_fail *why)
{
	memset(w, 0, sizeof(*w));
	BS_CUDA(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking), why);
	BS_CUDA(cudaEventCreate(&w->from), why);
	return BS_CUDA_RC(cudaEventCreate(&w->to), why);
}

void bs_stopwatch_close(struct bs_stopwatch *w)
{
	if (w->stream != NULL)
		(void)cudaStreamDestroy(w->stream);
	if (w->from != NULL)
		(void)cudaEventDestroy(w->from);
	if (w->to != NULL)
		(void)cudaEventDestroy(w->to);
	memset(w, 0, sizeof(*w));
}

int bs_stopwatch_record(struct bs_stopwatch *w, bs_stopwatch_work work, void *arg,
			cudaGraphExec_t *exec, struct bs_fail *why)
{
	cudaGraph_t graph = NULL;
	int rc = work(arg, w->stream, why);

	if (rc != 0)
		return rc;
	BS_CUDA(cudaStreamSynchronize(w->stream), why);
	BS_CUDA(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal), why);
	rc = work(arg, w->stream, why);
	cudaError_t end = cudaStreamEndCapture(w->stream, &graph);

	if (rc == 0 && end == cudaSuccess)
		end = cudaGraphInstantiate(exec, graph, 0);
	if (graph != NULL)
		(void)cudaGraphDestroy(graph);
	return rc != 0 ? rc : BS_CUDA_RC(end, why);
}

static int run_once(struct bs_stopwatch *w, cudaGraphExec_t exec, float *ms, struct bs_fail *why)
{
	BS_CUDA(cudaEventRecord(w->from, w->stream), why);
	BS_CUDA(cudaGraphLaunch(exec, w->stream), why);
	BS_CUDA(cudaEventRecord(w->to, w->stream), why);
	BS_CUDA(cudaStreamSynchronize(w->stream), why);
	return BS_CUDA_RC(cudaEventElapsedTime(ms, w->from, w->to), why);
}

static int take_turns(struct bs_stopwatch *w, const cudaGraphExec_t exec[2], double *const ms[2],
		      int *runs, bs_stopwatch_enough enough, void *enough_arg, struct bs_fail *why)
{
	float warm = 0.0f;
	float last[2] = { 0.0f, 0.0f };
	int rc = 0;
	int n = 0;

	do
		for (int g = 0; rc == 0 && g < 2; g++) {
			rc = exec[g] != NULL ? run_once(w, exec[g], &last[g], why) : 0;
			warm += last[g];
		}
	while (rc == 0 && warm < WARM_MS);
	while (rc == 0 && n < *runs && (n == 0 || enough == NULL || !enough(enough_arg, n))) {
		for (int g = 0; rc == 0 && g < 2; g++) {
			if (exec[g] == NULL)
				continue;
			if (last[g] < SHORT_MS)
				rc = run_once(w, exec[g], &last[g], why);
			if (rc == 0)
				rc = run_once(w, exec[g], &last[g], why);
			ms[g][n] = last[g];
		}
		n++;
	}
	*runs = n;
	return rc;
}

int bs_stopwatch_turns(struct bs_stopwatch *w, bs_stopwatch_work work, void *const arg[2],
		       double *const ms[2], int *runs, bs_stopwatch_enough enough, void *enough_arg,
		       struct bs_fail *why)
{
	cudaGraphExec_t exec[2] = { NULL, NULL };
	int rc = 0;

	for (int g = 0; rc == 0 && g < 2; g++)
		if (arg[g] != NULL)
			rc = bs_stopwatch_record(w, work, arg[g], &exec[g], why);
	if (rc == 0)
		rc = take_turns(w, exec, ms, runs, enough, enough_arg, why);
	for (cudaGraphExec_t e : exec)
		if (e != NULL)
			(void)cudaGraphExecDestroy(e);
	return rc;
}
