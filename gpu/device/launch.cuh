/*
 * gpu/device/launch.cuh - kernels that follow each other closely; for .cu files alone
 *
 * bs_launch queues a kernel whose blocks may start while the kernel before it in the stream ends
 * (programmatic dependent launch, compute capability 9.0 on; an ordinary launch elsewhere). Such a
 * kernel calls bs_after_previous before it reads what an earlier kernel wrote, and before it writes
 * anything that other kernels read. After the call all writes of the earlier kernels can be read,
 * and the earlier kernels read nothing more.
 *
 * The kernel begins while the one before it still writes. Therefore it must not read that kernel's
 * results by loads that assume constant data (ld.global.nc: __ldg, and what the compiler makes of
 * const __restrict__ pointers), neither before nor after the call. It reads them by plain loads,
 * through pointers that are const but not __restrict__. Tables of the plan may be read by __ldg at
 * any time. Source: PTX ISA, ld.global.nc and griddepcontrol. Test: test/unit/gpu/loads.sh
 */
#ifndef BS_GPU_DEVICE_LAUNCH_CUH
#define BS_GPU_DEVICE_LAUNCH_CUH

#include "gpu/device/check.h"

static __device__ __forceinline__ void bs_after_previous(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
#endif
}

/* cluster: number of blocks in a cluster; they lie beside each other in x. */
template <class... PARAMETERS, class... ARGUMENTS>
static int bs_launch_clusters(void (*kernel)(PARAMETERS...), dim3 blocks, unsigned cluster,
			      unsigned threads, size_t shared_bytes, bool follows,
			      cudaStream_t stream, struct bs_fail *why, ARGUMENTS... arguments)
{
	cudaLaunchAttribute attribute[2];
	cudaLaunchConfig_t config = cudaLaunchConfig_t();
	unsigned count = 0;

	if (follows) {
		attribute[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
		attribute[count++].val.programmaticStreamSerializationAllowed = 1;
	}
	if (cluster > 1) {
		attribute[count].id = cudaLaunchAttributeClusterDimension;
		attribute[count].val.clusterDim.x = cluster;
		attribute[count].val.clusterDim.y = 1;
		attribute[count++].val.clusterDim.z = 1;
	}
	config.gridDim = blocks;
	config.blockDim = dim3(threads);
	config.dynamicSmemBytes = shared_bytes;
	config.stream = stream;
	config.attrs = attribute;
	config.numAttrs = count;
	return BS_CUDA_RC(cudaLaunchKernelEx(&config, kernel, PARAMETERS(arguments)...), why);
}

template <class... PARAMETERS, class... ARGUMENTS>
static int bs_launch(void (*kernel)(PARAMETERS...), dim3 blocks, unsigned threads,
		     size_t shared_bytes, bool follows, cudaStream_t stream, struct bs_fail *why,
		     ARGUMENTS... arguments)
{
	return bs_launch_clusters(kernel, blocks, 1, threads, shared_bytes, follows, stream, why,
				  arguments...);
}

#endif
