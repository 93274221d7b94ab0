/* test/twin/twin_stream.c - the device, its streams and events are as the policy says */
#include "test/support/check.h"
#include "gpu/device/stream.h"
#include "test/twin/device.h"

static void check_policy(enum bs_wait wait, bool priority)
{
	const char *words = wait == BS_WAIT_BLOCK ? "block" : "poll";
	unsigned wanted =
		wait == BS_WAIT_BLOCK ? cudaDeviceScheduleBlockingSync : cudaDeviceScheduleSpin;
	unsigned flags = 0;
	int least = 0;
	int greatest = 0;
	int got = 12345;
	struct bs_fail why = { 0 };
	cudaStream_t stream = NULL;
	cudaEvent_t event = NULL;
	void *p = NULL;

	CHECK(bs_stream_policy(wait, priority, &why) == 0, "%s: the device takes it %s", words,
	      why.text);
	CHECK(cudaGetDeviceFlags(&flags) == cudaSuccess &&
		      (flags & cudaDeviceScheduleMask) == wanted,
	      "%s: the device's flags are %#x, wanted %#x", words, flags, wanted);
	CHECK(bs_stream_open(&stream, &why) == 0, "%s: a stream %s", words, why.text);
	CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess &&
		      cudaStreamGetPriority(stream, &got) == cudaSuccess &&
		      got == (priority ? greatest : least),
	      "%s: its priority is %d of %d .. %d", words, got, least, greatest);
	CHECK(bs_stream_event(&event, &why) == 0, "%s: an event %s", words, why.text);
	CHECK(cudaMalloc(&p, 1u << 20) == cudaSuccess &&
		      cudaMemsetAsync(p, 1, 1u << 20, stream) == cudaSuccess &&
		      cudaEventRecord(event, stream) == cudaSuccess &&
		      cudaEventSynchronize(event) == cudaSuccess &&
		      cudaStreamSynchronize(stream) == cudaSuccess,
	      "%s: work is waited for: %s", words, cudaGetErrorString(cudaGetLastError()));
	(void)cudaFree(p);
	(void)cudaEventDestroy(event);
	(void)cudaStreamDestroy(stream);
}

static void compare_all(void)
{
	check_policy(BS_WAIT_POLL, true);
	check_policy(BS_WAIT_BLOCK, true);
	check_policy(BS_WAIT_BLOCK, false);
	check_policy(BS_WAIT_POLL, false);
}

int main(void)
{
	return twin_main("streams", 0, compare_all);
}
