/*
 * gpu/nufft/nufft_cuda.h - the CUDA twin of gpu/nufft/nufft.h: convolution gridding on the device
 *
 * Same transforms, shapes and units as nufft.h; image and data are device memory, work is queued on
 * the caller's stream and not waited for. Dense layout: data [coil][sample].
 *   adjoint:  image[c][n] = sum_m w_m d[c][m] exp(+i2pi k_m.n)
 *   forward:  d[c][m]     = sum_n image[c][n] exp(-i2pi k_m.n)
 * How: samples are sorted into sectors (tiles) of the oversampled grid and, inside, by the first
 * cell of their window. A block owns a run of a sector's samples and a padded copy of the sector in
 * shared memory. The padded sectors are then added up cell by cell, in a fixed order, by the same
 * kernel that transforms along x; each further axis is one pass that crops. Sparse samples in 3D
 * may be collected by the cells instead (gpu/nufft/cuda/collect.cu). No sum is atomic: the same
 * bytes in every run. A stack is transformed along kz first and gridded plane by plane.
 * spec.tune (gpu/nufft/cuda/tune.h) names the variants; a given choice always gives the same bytes,
 * another one another rounding of the same accuracy.
 * Chunks and states: as nufft.h; the result depends on the chunks, not on when their samples came.
 * plan computes on the host and copies the tables; only plan and close may allocate (host memory;
 * device memory comes from mem). One stream at a time: states share what is in between.
 * Errors: BS_ERR_GPU; at need and plan BS_ERR_UNSUPPORTED (1D, windows wider than 8 cells),
 * BS_ERR_SIZE, BS_ERR_TRAJECTORY, BS_ERR_NOMEM.
 * Host twin: nufft.c. Test: test/twin/nufft/twin_nufft.c
 */
#ifndef BS_GPU_NUFFT_NUFFT_CUDA_H
#define BS_GPU_NUFFT_NUFFT_CUDA_H

#include "gpu/device/memory.h"
#include "gpu/nufft/nufft.h"

BS_C_BEGIN

struct bs_nufft_cuda;

/* Adds the bytes of device memory: an upper bound for any trajectory of this many samples. */
int bs_nufft_cuda_need(const struct bs_nufft_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_nufft_cuda_plan(struct bs_nufft_cuda **plan, const struct bs_nufft_spec *spec,
		       const float *k, const float *weight, struct bs_devmem *mem,
		       struct bs_fail *why);
void bs_nufft_cuda_close(struct bs_nufft_cuda *plan);

/* Queues the adjoint. stream: a cudaStream_t. data and image: device memory, 16-byte aligned. */
int bs_nufft_cuda_adjoint(struct bs_nufft_cuda *plan, const float *data, float *image, void *stream,
			  struct bs_fail *why);
int bs_nufft_cuda_forward(struct bs_nufft_cuda *plan, const float *image, float *data, void *stream,
			  struct bs_fail *why);

/*
 * Accumulates into a state, 0 .. states-1. After begin the caller copies samples [coil][sample]
 * into bs_nufft_cuda_samples on the stream and announces them by arrived, each once, in any order.
 * settle queues all chunks but the last, whether their samples came or not. finish queues the last
 * chunk and the transform, always the same launches, which can be captured in a graph. Samples that
 * never come count as zeros.
 */
float *bs_nufft_cuda_samples(struct bs_nufft_cuda *plan, uint32_t state);
int bs_nufft_cuda_begin(struct bs_nufft_cuda *plan, uint32_t state, void *stream,
			struct bs_fail *why);
int bs_nufft_cuda_arrived(struct bs_nufft_cuda *plan, uint32_t state, uint64_t first,
			  uint64_t count, void *stream, struct bs_fail *why);
int bs_nufft_cuda_settle(struct bs_nufft_cuda *plan, uint32_t state, void *stream,
			 struct bs_fail *why);
int bs_nufft_cuda_finish(struct bs_nufft_cuda *plan, uint32_t state, float *image, void *stream,
			 struct bs_fail *why);
/*
 * The image of the samples of one chunk alone, for spec.part, which must equal spec.chunk here.
 * Called after begin and the copies; arrived, settle and finish are not called.
 */
int bs_nufft_cuda_part(struct bs_nufft_cuda *plan, uint32_t state, uint64_t chunk, float *image,
		       void *stream, struct bs_fail *why);
/*
 * Makes the image of the samples that have arrived so far (needs spec.peek). The state stays as it
 * is, to the bit.
 */
int bs_nufft_cuda_peek(struct bs_nufft_cuda *plan, uint32_t state, float *image, void *stream,
		       struct bs_fail *why);

void bs_nufft_cuda_info(const struct bs_nufft_cuda *plan, struct bs_nufft_info *info);

/*
 * Reads what the plan was made with, and sets other launches for it, for the tuner and tests.
 * Graphs that were captured before keep their launches.
 */
struct bs_nufft_choice;
struct bs_nufft_launch;
const struct bs_nufft_choice *bs_nufft_cuda_choice(const struct bs_nufft_cuda *plan);
int bs_nufft_cuda_relaunch(struct bs_nufft_cuda *plan, const struct bs_nufft_launch *launch,
			   struct bs_fail *why);

BS_C_END
#endif
