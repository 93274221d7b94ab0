/* gpu/device/stream.cu - see stream.h */
#include "gpu/device/stream.h"

#include "gpu/device/check.h"

static enum bs_wait wait_kind = BS_WAIT_POLL;
static bool urgent = true;

extern "C" int bs_stream_policy(enum bs_wait wait, bool priority, struct bs_fail *why)
{
	unsigned flags =
		wait == BS_WAIT_BLOCK ? cudaDeviceScheduleBlockingSync : cudaDeviceScheduleSpin;
	unsigned now = 0;

	wait_kind = wait;
	urgent = priority;
	if (cudaGetDeviceFlags(&now) == cudaSuccess && (now & cudaDeviceScheduleMask) == flags)
		return 0;
	/* the other flags (mapped host memory) stay as they are */
	return BS_CUDA_RC(cudaSetDeviceFlags((now & ~(unsigned)cudaDeviceScheduleMask) | flags),
			  why);
}

extern "C" int bs_stream_open(struct CUstream_st **stream, struct bs_fail *why)
{
	int least = 0;
	int greatest = 0;

	BS_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest), why);
	return BS_CUDA_RC(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking,
						       urgent ? greatest : least),
			  why);
}

extern "C" int bs_stream_event(struct CUevent_st **event, struct bs_fail *why)
{
	unsigned flags = cudaEventDisableTiming;

	if (wait_kind == BS_WAIT_BLOCK)
		flags |= cudaEventBlockingSync;
	return BS_CUDA_RC(cudaEventCreateWithFlags(event, flags), why);
}
