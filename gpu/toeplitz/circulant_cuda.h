/*
 * gpu/toeplitz/circulant_cuda.h - the circulant preconditioner on the GPU; the twin of circulant.h
 *
 * apply: out = M^-1 in, one image [z][y][x] complex float in device memory; in and out differ.
 * Transforms along each axis, a product with the inverse eigenvalues, and back: seven launches in
 * 3D, five in 2D (gpu/fft/lines_cuda.h); any size.
 * inverse: host memory, as bs_circulant_inverse gives it; the place in device memory from which
 * apply reads it is table's, for another one to be copied to. need -> plan -> apply* -> close;
 * apply only queues work and is fit for a graph. Errors: BS_ERR_GPU, BS_ERR_NOMEM.
 * Test: test/twin/twin_ls.c
 */
#ifndef BS_GPU_TOEPLITZ_CIRCULANT_CUDA_H
#define BS_GPU_TOEPLITZ_CIRCULANT_CUDA_H

#include "core/err.h"
#include "gpu/device/memory.h"

BS_C_BEGIN

struct CUstream_st; /* what a cudaStream_t points to */
struct bs_circulant_cuda;

/* Returns the bytes of device memory that a plan takes. */
uint64_t bs_circulant_cuda_need(uint32_t dims, const uint32_t matrix[3]);
int bs_circulant_cuda_plan(struct bs_circulant_cuda **plan, uint32_t dims, const uint32_t matrix[3],
			   const float *inverse, struct bs_devmem *mem, struct bs_fail *why);
float *bs_circulant_cuda_table(struct bs_circulant_cuda *plan);
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_circulant_cuda_close(struct bs_circulant_cuda *plan);
int bs_circulant_cuda_apply(struct bs_circulant_cuda *plan, const float *in, float *out,
			    struct CUstream_st *stream, struct bs_fail *why);

BS_C_END
#endif
