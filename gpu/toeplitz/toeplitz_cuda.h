/*
 * gpu/toeplitz/toeplitz_cuda.h - F^H D F by FFT on the GPU, and its sum over coils; twin of
 * toeplitz.h
 *
 * apply:  out[c](n) = sum_n' Q(n - n') in[c](n')
 * sense:  out(n) = sum_c conj(S_c(n)) sum_n' Q(n - n') S_c(n') in(n')
 * in, out, maps, q as in toeplitz.h and q.h, all in device memory; in and out may be the same
 * array, but for sense where coils take turns: more than fit 4 GiB (or spec.turn) share the memory
 * in between, turn after turn. How many do changes no bit of the result.
 *
 * Fused passes. Each transforms the lines of an axis in registers and one exchange through shared
 * memory. Going in, only lines that hold voxels are read, and the padding is never stored; along
 * the last axis lines are transformed, multiplied by Q's real spectrum and transformed back; going
 * out, only what is wanted is kept. Three passes in 2D, five in 3D. In 3D three as well where a
 * cluster of blocks can hold a plane of y and z (from compute capability 9.0; y and z both padded
 * to one size of 80 to 512; beyond 320 where the device grants clusters of 16): less than half the
 * bytes. An axis is padded to the least of 64, 80, 96, 112, 128, 160, 192, 224, 256, 288, 320, 384,
 * 448, 512, 640, 768, 896 and 1,024 that is at least 2N - 1, in 2D also 576: any N up to 512 is
 * legal. Both ways give the same bytes.
 *
 * need -> plan -> { apply | sense }* -> close. plan waits for the GPU and takes temporary memory
 * beside the arena (freed before it returns), the others only queue work. One caller.
 * Results are the same bits every run. Errors: BS_ERR_GPU, BS_ERR_NOMEM, BS_ERR_SIZE.
 * Test: test/twin/twin_toeplitz.c
 */
#ifndef BS_GPU_TOEPLITZ_TOEPLITZ_CUDA_H
#define BS_GPU_TOEPLITZ_TOEPLITZ_CUDA_H

#include "core/err.h"
#include "gpu/device/memory.h"
#include "gpu/toeplitz/toeplitz.h"

BS_C_BEGIN

struct CUstream_st; /* what a cudaStream_t points to */
struct bs_toeplitz_cuda;

int bs_toeplitz_cuda_need(const struct bs_toeplitz_spec *spec, uint64_t *bytes,
			  struct bs_fail *why);
int bs_toeplitz_cuda_plan(struct bs_toeplitz_cuda **plan, const struct bs_toeplitz_spec *spec,
			  const float *q, struct bs_devmem *mem, struct bs_fail *why);
void bs_toeplitz_cuda_close(struct bs_toeplitz_cuda *plan);
/*
 * 2D: sets another Q. transform: Q's transform over the padded axes, [ky][kx] complex, device
 * memory; its imaginary part, which is rounding, is ignored. A plan made without Q (NULL) needs it
 * before the first product. Only queues. Some other work must stand between it and the next product
 * in the stream, since a product's kernels may read Q while the work queued just before them still
 * runs.
 */
int bs_toeplitz_cuda_set(struct bs_toeplitz_cuda *plan, const float *transform,
			 struct CUstream_st *stream, struct bs_fail *why);

/* 2D, for a plan made without Q: sets that of one of its operators. It waits. */
int bs_toeplitz_cuda_put(struct bs_toeplitz_cuda *plan, uint32_t which, const float *q,
			 struct bs_fail *why);

int bs_toeplitz_cuda_apply(struct bs_toeplitz_cuda *plan, uint32_t coils, const float *in,
			   float *out, struct CUstream_st *stream, struct bs_fail *why);
/* As apply, by one of a 2D plan's operators alone. */
int bs_toeplitz_cuda_one(struct bs_toeplitz_cuda *plan, uint32_t which, uint32_t coils,
			 const float *in, float *out, struct CUstream_st *stream,
			 struct bs_fail *why);
/*
 * stop: device memory; where *stop is set, out is not written. NULL: out is always written. maps
 * NULL, 3D: applies it to as many images.
 */
int bs_toeplitz_cuda_sense(struct bs_toeplitz_cuda *plan, uint32_t coils, const float *maps,
			   const float *in, const int *stop, float *out, struct CUstream_st *stream,
			   struct bs_fail *why);
/* Returns true for a 2D plan: each and iterate can be called. */
bool bs_toeplitz_cuda_flat(const struct bs_toeplitz_cuda *plan);
/* Writes the addends of sense, not added up, to addends [coil][y][x] complex, device memory. */
int bs_toeplitz_cuda_each(struct bs_toeplitz_cuda *plan, uint32_t coils, const float *maps,
			  const float *in, struct CUstream_st *stream, struct bs_fail *why);
const float *bs_toeplitz_cuda_addends(const struct bs_toeplitz_cuda *plan);
/*
 * Conjugate gradients in 2D on (T + mu) x = b, for several images side by side with their own sums,
 * or, with maps, for one image on the sum over coils. first: starts with x = 0; else one iteration,
 * by two launches (gpu/toeplitz/cuda/step.cuh). All arrays are device memory, vectors
 * [image][voxel], maps [coil][voxel]. Each image ends as core/solve/pcg.h says. history
 * [image][made]: residuals by the recurrence, all but the last iteration's. Nothing else may use
 * the plan from first to the last iteration.
 */
struct bs_cg_state;
struct bs_toeplitz_cg {
	uint32_t images, coils;          /* coils: number of coils of maps */
	const float *b, *maps, *inverse; /* maps, inverse: may be NULL */
	float *x, *r, *p, *s;            /* vectors, with s = A p */
	struct bs_cg_state *state;       /* [image] states (gpu/toeplitz/cuda/cg_state.h) */
	double *history;
	uint32_t made;
	float mu;
	double tolerance;
};
int bs_toeplitz_cuda_iterate(struct bs_toeplitz_cuda *plan, const struct bs_toeplitz_cg *cg,
			     bool first, struct CUstream_st *stream, struct bs_fail *why);
/* The number of points that an axis of n voxels is padded to; 0 where n is too large. */
int bs_toeplitz_cuda_padded(uint32_t dims, uint32_t n);
/* The bytes that one apply of this many images must move at least. */
uint64_t bs_toeplitz_cuda_bytes(const struct bs_toeplitz_cuda *plan, uint32_t coils);

BS_C_END
#endif
