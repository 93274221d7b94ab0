/*
 * gpu/device/check.h - one way to check CUDA calls; for .cu files alone
 *
 * BS_CUDA(call, why): returns from the function with a coded error unless the call succeeded. The
 * words name the call, the place and CUDA's reason; without a why they go to the log. Nothing here
 * ends the process: a sticky error is the caller's to act on (end the recon worker).
 * bs_cuda_between_ns: by the device's clock, from one event that has passed to another; 0 when
 * either was never recorded. For reports: no error comes of it.
 * BS_CUDA_GO is the same with a goto, for functions that unwind: sets err, jumps to label.
 * bs_cuda_copied: a plan's last step: what it copied and cleared by the default stream has arrived.
 * cudaMemcpy from pageable memory and cudaMemset may return before that, and our streams do not
 * wait for the default one.
 */
#ifndef BS_GPU_DEVICE_CHECK_H
#define BS_GPU_DEVICE_CHECK_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "core/err.h"

int bs_cuda_fail(struct bs_fail *why, cudaError_t e, const char *call, const char *file, int line);

#define BS_CUDA(call, why)                                                                         \
	do {                                                                                       \
		cudaError_t bs_e_ = (call);                                                        \
		if (bs_e_ != cudaSuccess)                                                          \
			return bs_cuda_fail(why, bs_e_, #call, __FILE__, __LINE__);                \
	} while (0)

#define BS_CUDA_GO(call, why, err, label)                                                          \
	do {                                                                                       \
		cudaError_t bs_e_ = (call);                                                        \
		if (bs_e_ != cudaSuccess) {                                                        \
			err = bs_cuda_fail(why, bs_e_, #call, __FILE__, __LINE__);                 \
			goto label;                                                                \
		}                                                                                  \
	} while (0)

static inline int bs_cuda_copied(struct bs_fail *why)
{
	BS_CUDA(cudaStreamSynchronize(cudaStreamLegacy), why);
	return 0;
}

/* The device that is current. */
static inline int bs_cuda_device(void)
{
	int device = 0;

	if (cudaGetDevice(&device) != cudaSuccess)
		(void)cudaGetLastError();
	return device;
}

/* Lets kernel take so many bytes of dynamic shared memory; 0: as many as the device has. */
static inline int bs_cuda_shared(const void *kernel, size_t bytes, struct bs_fail *why)
{
	cudaFuncAttributes its;
	int most = 0;

	BS_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
				       bs_cuda_device()),
		why);
	BS_CUDA(cudaFuncGetAttributes(&its, kernel), why);
	BS_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
				     bytes > 0 ? (int)bytes : most - (int)its.sharedSizeBytes),
		why);
	return 0;
}

static inline int64_t bs_cuda_between_ns(cudaEvent_t from, cudaEvent_t to)
{
	float ms = 0.0f;

	if (from == NULL || to == NULL || cudaEventElapsedTime(&ms, from, to) != cudaSuccess) {
		(void)cudaGetLastError();
		return 0;
	}
	return ms > 0.0f ? (int64_t)((double)ms * 1e6) : 0;
}

#endif
