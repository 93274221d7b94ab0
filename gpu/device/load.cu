/* gpu/device/load.cu - see load.h */
#include "gpu/device/load.h"

#include <atomic>
#include <errno.h>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "gpu/device/check.h"

#define THREADS 256
#define AHEAD   2  /* number of kernels queued at a time */
#define BEGIN_S 10 /* seconds to wait for the first kernel: other processes may have the device */

struct bs_hog {
	pthread_t thread;
	bool started;
	int device;
	std::atomic<bool> stop;
	std::atomic<uint64_t> kernels; /* number of kernels that have ended */
	std::atomic<int> error;        /* cudaError_t that has ended the thread */
	float4 *memory;
	size_t cells;
	long long cycles; /* duration of a kernel in clock cycles */
	int blocks;
	cudaStream_t stream;
	cudaEvent_t done[AHEAD];
};

/* Streams through the memory, in every thread, until `cycles` have passed. */
__global__ static void work(float4 *memory, size_t cells, long long cycles)
{
	const long long start = clock64();
	size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

	do {
		for (int i = 0; i < 16; i++) {
			const float4 m = memory[at];

			v.x += m.x * 1.0001f;
			v.y += m.y * 0.9999f;
			v.z += v.x * v.y;
			at += (size_t)gridDim.x * blockDim.x;
			at = at < cells ? at : at % cells;
		}
	} while (clock64() - start < cycles);
	if (v.z == 12345.678f) /* never true; it keeps the compiler from dropping the loads */
		memory[at] = v;
}

/* Waits for the kernel queued AHEAD kernels before, then queues another. */
static cudaError_t queue_next(bs_hog *h, unsigned n)
{
	cudaError_t e = cudaEventSynchronize(h->done[n % AHEAD]);

	if (e != cudaSuccess)
		return e;
	if (n >= AHEAD)
		h->kernels.fetch_add(1);
	work<<<h->blocks, THREADS, 0, h->stream>>>(h->memory, h->cells, h->cycles);
	e = cudaGetLastError(); /* an event behind a kernel that was refused passes at once */
	return e != cudaSuccess ? e : cudaEventRecord(h->done[n % AHEAD], h->stream);
}

static void *run(void *arg)
{
	bs_hog *h = (bs_hog *)arg;
	cudaError_t e = cudaSetDevice(h->device); /* a new thread starts with the first device */

	for (unsigned n = 0; e == cudaSuccess && !h->stop.load(); n++)
		e = queue_next(h, n);
	h->error.store((int)e);
	(void)cudaStreamSynchronize(h->stream);
	(void)cudaGetLastError();
	return NULL;
}

int bs_hog_check(const struct bs_hog *h, uint64_t *kernels, struct bs_fail *why)
{
	const int e = h->error.load();

	*kernels = h->kernels.load();
	return e == 0 ? 0
		      : bs_fail(why, BS_ERR_GPU, "the load on GPU %d ended after %llu kernels: %s",
				h->device, (unsigned long long)*kernels,
				cudaGetErrorString((cudaError_t)e));
}

/*
 * Starts the thread with ordinary priority, whatever its maker's: a load that preempts would
 * differ.
 */
static int start(bs_hog *h, struct bs_fail *why)
{
	const struct sched_param ordinary = { 0 };
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);

	if (rc == 0) {
		if (pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED) != 0 ||
		    pthread_attr_setschedpolicy(&attr, SCHED_OTHER) != 0 ||
		    pthread_attr_setschedparam(&attr, &ordinary) != 0)
			rc = EINVAL;
		else
			rc = pthread_create(&h->thread, &attr, run, h);
		(void)pthread_attr_destroy(&attr);
	}
	h->started = rc == 0;
	return rc == 0 ? 0 : bs_fail(why, BS_ERR_NOMEM, "no thread for a load on the GPU");
}

static int await_first(const bs_hog *h, struct bs_fail *why)
{
	const struct timespec pause = { 0, 200000 };
	uint64_t kernels = 0;

	for (int i = 0; i < BEGIN_S * 5000; i++) {
		const int rc = bs_hog_check(h, &kernels, why);

		if (rc != 0 || kernels > 0)
			return rc;
		(void)nanosleep(&pause, NULL);
	}
	return bs_fail(why, BS_ERR_GPU, "the load on GPU %d did not begin within %d s", h->device,
		       BEGIN_S);
}

int bs_hog_open(struct bs_hog **out, uint32_t kernel_us, struct bs_fail *why)
{
	bs_hog *h = new (std::nothrow) bs_hog();
	int low = 0, high = 0, khz = 0, sms = 0, rc = 0;

	*out = NULL;
	if (h == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a load on the GPU");
	h->cells = ((size_t)64 << 20) / sizeof(float4);
	BS_CUDA_GO(cudaGetDevice(&h->device), why, rc, failed);
	BS_CUDA_GO(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, h->device), why, rc, failed);
	BS_CUDA_GO(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, h->device), why, rc,
		   failed);
	BS_CUDA_GO(cudaDeviceGetStreamPriorityRange(&low, &high), why, rc, failed);
	h->cycles = (long long)kernel_us * khz / 1000;
	h->blocks = sms * 4;
	BS_CUDA_GO(cudaStreamCreateWithPriority(&h->stream, cudaStreamNonBlocking, low), why, rc,
		   failed);
	for (int i = 0; i < AHEAD; i++)
		BS_CUDA_GO(cudaEventCreateWithFlags(&h->done[i],
						    cudaEventDisableTiming | cudaEventBlockingSync),
			   why, rc, failed);
	BS_CUDA_GO(cudaMalloc((void **)&h->memory, h->cells * sizeof(float4)), why, rc, failed);
	BS_CUDA_GO(cudaMemsetAsync(h->memory, 0, h->cells * sizeof(float4), h->stream), why, rc,
		   failed);
	rc = start(h, why);
	if (rc == 0)
		rc = await_first(h, why);
	if (rc != 0)
		goto failed;
	*out = h;
	return 0;
failed:
	bs_hog_close(h);
	return rc;
}

void bs_hog_close(struct bs_hog *h)
{
	if (h == NULL)
		return;
	h->stop.store(true);
	if (h->started)
		(void)pthread_join(h->thread, NULL);
	if (h->stream != NULL)
		(void)cudaStreamSynchronize(h->stream);
	for (int i = 0; i < AHEAD; i++)
		if (h->done[i] != NULL)
			(void)cudaEventDestroy(h->done[i]);
	if (h->memory != NULL)
		(void)cudaFree(h->memory);
	if (h->stream != NULL)
		(void)cudaStreamDestroy(h->stream);
	delete h;
}
