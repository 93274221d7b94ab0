/*
 * gpu/device/check.h - one way to check CUDA calls; for .cu files alone
 *
 * BS_CUDA(call, why): returns from the function with a coded error unless the call succeeded. The
 * error's text names the call, the place and CUDA's reason; where `why` is NULL it goes to the log.
 * Nothing here ends the process: the caller acts on a sticky error (it ends the recon worker).
 * BS_CUDA_GO: the same with a goto, for functions that unwind: it sets err and jumps to the label.
 * BS_CUDA_RC: the same as an expression, whose value is 0 or the error.
 * bs_cuda_between_ns: time from one recorded event to another by the device's clock; both have
 * passed. It is 0 when either was never recorded, and never an error: it serves reports.
 * bs_cuda_copied: the last step of making a plan. It waits until all that the plan copied and
 * cleared on the default stream has arrived. cudaMemcpy from pageable memory and cudaMemset may
 * return before that, and our streams do not wait for the default stream.
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

static inline int bs_cuda_rc(cudaError_t e, const char *call, const char *file, int line,
			     struct bs_fail *why)
{
	return e == cudaSuccess ? 0 : bs_cuda_fail(why, e, call, file, line);
}
#define BS_CUDA_RC(call, why) bs_cuda_rc(call, #call, __FILE__, __LINE__, why)

static inline int bs_cuda_copied(struct bs_fail *why)
{
	return BS_CUDA_RC(cudaStreamSynchronize(cudaStreamLegacy), why);
}

/* Returns the number of the current device. */
static inline int bs_cuda_device(void)
{
	int device = 0;

	if (cudaGetDevice(&device) != cudaSuccess)
		(void)cudaGetLastError();
	return device;
}

/* Allows a kernel this many bytes of dynamic shared memory; 0: as many as the device has. */
static inline int bs_cuda_shared(const void *kernel, size_t bytes, struct bs_fail *why)
{
	cudaFuncAttributes its;
	int most = 0;

	BS_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
				       bs_cuda_device()),
		why);
	BS_CUDA(cudaFuncGetAttributes(&its, kernel), why);
	return BS_CUDA_RC(
		cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
				     bytes > 0 ? (int)bytes : most - (int)its.sharedSizeBytes),
		why);
}

/* Allows several kernels as many bytes as the device has. */
template <class... KERNELS>
static inline int bs_cuda_shared_all(struct bs_fail *why, KERNELS... kernel)
{
	int rc = 0;

	((rc = rc != 0 ? rc : bs_cuda_shared((const void *)kernel, 0, why)), ...);
	return rc;
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
