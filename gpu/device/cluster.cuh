/*
 * gpu/device/cluster.cuh - blocks of one cluster and each other's shared memory
 *
 * Compute capability 9.0 on; below it nothing is here, and no kernel that uses it is launched.
 * sync: all threads of all blocks; what they wrote to shared memory before is there after it. A
 * block whose shared memory others use may not end before their last use.
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

/* The 32-bit address at which block `rank` has what this block has at `at` in shared memory. */
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
