/*
 * test/twin/allocations.h - counts device and pinned allocations at the linker's seams (Makefile:
 * --wrap); for one source of a program
 */
#ifndef BS_TEST_TWIN_ALLOCATIONS_H
#define BS_TEST_TWIN_ALLOCATIONS_H

#include <cuda_runtime_api.h>

static unsigned allocations;

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
	allocations++;
	return __real_cudaMalloc(p, n);
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
