/*
 * test/twin/allocations.h - counts device and pinned allocations at the linker's seams (Makefile:
 * --wrap), and the least that the device had free after one, and refuses those of one size; for one
 * source of a program
 */
#ifndef BS_TEST_TWIN_ALLOCATIONS_H
#define BS_TEST_TWIN_ALLOCATIONS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

static unsigned allocations;
static size_t least_free __attribute__((unused)) = SIZE_MAX;
static size_t refused = SIZE_MAX; /* of just so many bytes there is no device memory */

cudaError_t __real_cudaMalloc(void **p, size_t n);
cudaError_t __wrap_cudaMalloc(void **p, size_t n);
cudaError_t __real_cudaFree(void *p);
cudaError_t __wrap_cudaFree(void *p);
cudaError_t __real_cudaHostAlloc(void **p, size_t n, unsigned flags);
cudaError_t __wrap_cudaHostAlloc(void **p, size_t n, unsigned flags);
cudaError_t __real_cudaHostRegister(void *p, size_t n, unsigned flags);
cudaError_t __wrap_cudaHostRegister(void *p, size_t n, unsigned flags);

cudaError_t __wrap_cudaMalloc(void **p, size_t n)
{
	const cudaError_t e = n == refused ? cudaErrorMemoryAllocation : __real_cudaMalloc(p, n);
	size_t now = SIZE_MAX;
	size_t total;

	allocations++;
	if (e == cudaSuccess && cudaMemGetInfo(&now, &total) == cudaSuccess && now < least_free)
		least_free = now;
	return e;
}

cudaError_t __wrap_cudaFree(void *p)
{
	allocations++;
	return __real_cudaFree(p);
}

cudaError_t __wrap_cudaHostAlloc(void **p, size_t n, unsigned flags)
{
	allocations++;
	return __real_cudaHostAlloc(p, n, flags);
}

cudaError_t __wrap_cudaHostRegister(void *p, size_t n, unsigned flags)
{
	allocations++;
	return __real_cudaHostRegister(p, n, flags);
}

#endif
