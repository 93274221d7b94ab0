/*
 * gpu/device/cluster.cuh - shared memory that the blocks of one cluster read from each other
 *
 * Needs compute capability 9.0. Below it nothing is defined here, and no kernel that uses clusters
 * is launched.
 * sync: all threads of all blocks of the cluster meet; what they wrote to shared memory before the
 * call can be read after it. A block whose shared memory other blocks read may not end before their
 * last read.
 * Source: PTX ISA, barrier.cluster, mapa, ld and st with .shared::cluster.
 */
#ifndef BS_GPU_DEVICE_CLUSTER_CUH
#define BS_GPU_DEVICE_CLUSTER_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

static __device__ __forceinline__ uint32_t bs_cluster_rank(void)
{
	uint32_t rank;

	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	return rank;
}

static __device__ __forceinline__ void bs_cluster_sync(void)
{
	asm volatile("barrier.cluster.arrive.release.aligned;\n"
		     "barrier.cluster.wait.acquire.aligned;" ::
			     : "memory");
}

/*
 * Makes of this block's shared-memory address `at` the 32-bit address of the same place in block
 * `rank`.
 */
static __device__ __forceinline__ uint32_t bs_cluster_map(uint32_t at, uint32_t rank)
{
	uint32_t there;

	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
	return there;
}

static __device__ __forceinline__ float2 bs_cluster_load(uint32_t there)
{
	float2 v;

	asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
		     : "=f"(v.x), "=f"(v.y)
		     : "r"(there)
		     : "memory");
	return v;
}

static __device__ __forceinline__ void bs_cluster_store(uint32_t there, float2 v)
{
	asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(v.x), "f"(v.y)
		     : "memory");
}

#endif
#endif
