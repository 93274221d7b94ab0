/*
 * gpu/exact/exact_cuda.h - exact sums on the GPU: F^H d and Q, on tensor cores where there are any
 *
 * fhd:  image[c][n] = sum_m w_m d[c][m] exp(+i2pi k_m.n)         n = -N/2 .. N/2-1 (N/2 truncated)
 * q:    q[n] = sum_m w_m exp(+i2pi k_m.n)                        n = -(N-1) .. N-1: the array of
 *                                                                gpu/toeplitz/q.h
 * k      [sample][dims] float, cycles per voxel, [-0.5, 0.5); w [sample] float or NULL (ones)
 * d      [coil][sample] complex float; image [coil][z][y][x]; q [z 2Nz][y 2Ny][x Nx], complex
 * All of these in device memory. Accuracy, relative to the sum in double precision: single about
 * 3e-6 (three fp16 products, each sum flushed to fp32), fast about 3e-4 (one product). Tensor cores
 * round towards zero: of single's error, sums fall short by about 1e-6 of themselves.
 *
 * need -> plan -> { begin, chunk 0, 1, 2 ..., finish }* -> close. A chunk is `chunk` samples
 * (plan's info); chunks are added in order, each once, the last one may be short. Everything else
 * only queues work on the stream, allocates nothing and waits for nothing. The result depends on
 * data and plan alone: the same bits every run. k and w must stay while the plan lives. Thread
 * rules: one caller a plan. Errors: BS_ERR_GPU (launch refused), BS_ERR_NOMEM. Source of the sums:
 * Stone et al., J Parallel Distrib Comput 2008;68:1307-1318; the splitting is Ozaki-like: Markidis
 * et al., IPDPSW 2018. Arithmetic: gpu/exact/cuda/tile.h. Test: test/twin/twin_exact.c
 */
#ifndef BS_GPU_EXACT_EXACT_CUDA_H
#define BS_GPU_EXACT_EXACT_CUDA_H

#include "core/err.h"
#include "core/protocol.h"
#include "gpu/device/memory.h"

BS_C_BEGIN

struct CUstream_st; /* what a cudaStream_t points to */

enum bs_exact_class { BS_EXACT_SINGLE, BS_EXACT_FAST };
enum bs_exact_sum { BS_EXACT_FHD, BS_EXACT_Q };
/* Ways to multiply. auto: wgmma on compute capability 9.0, else mma (8.0 and more). */
enum bs_exact_route { BS_EXACT_AUTO, BS_EXACT_WGMMA, BS_EXACT_MMA };

struct bs_exact_cuda_spec {
	enum bs_exact_sum sum;
	enum bs_exact_class precision;
	enum bs_exact_route route;
	uint32_t dims; /* number of dimensions, 2 or 3 */
	uint32_t matrix
		[3]; /* voxels x, y, z; 1 beyond dims; odd sizes are legal; for q, of the image */
	/*
	 * fhd, where this image is a piece of a larger one: n counts from the larger image's
	 * center, offset is the distance in voxels from there to this image's center; else 0
	 */
	int32_t offset[3];
	uint32_t coils;  /* fhd: number of coils; q has one */
	uint32_t states; /* number of accumulators, that is of frames open at once; at least 1 */
	uint64_t samples;
	uint32_t chunk; /* samples in a chunk; 0: the plan chooses */
	/*
	 * number of parts, about, that the voxels are cut into; sum goes over all samples for each
	 * part; 0: the plan chooses
	 */
	uint32_t parts;
	/* order of leaving the caches; 1: sums stay; 2: sums leave first; 0: the plan chooses */
	uint32_t stream;
};

struct bs_exact_cuda_info {
	uint32_t chunk, chunks; /* samples in a chunk, and chunks in a frame */
	uint32_t parts;         /* parts of the voxels, which sum does one after the other */
	bool streamed;          /* the sums are the first to leave the caches */
	const char *route;      /* way to multiply: "wgmma", "mma" */
	uint64_t state_bytes;   /* bytes of one accumulator */
	uint64_t table_bytes;   /* bytes of one chunk's tables */
	double products;        /* multiply-adds that the tensor cores do for a whole frame */
};

struct bs_exact_cuda;

/* Bytes of device memory that plan takes. */
int bs_exact_cuda_need(const struct bs_exact_cuda_spec *spec, uint64_t *bytes, struct bs_fail *why);
int bs_exact_cuda_plan(struct bs_exact_cuda **plan, const struct bs_exact_cuda_spec *spec,
		       const float *k, const float *weight, struct bs_devmem *mem,
		       struct bs_fail *why);
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_exact_cuda_close(struct bs_exact_cuda *plan);
void bs_exact_cuda_info(const struct bs_exact_cuda *plan, struct bs_exact_cuda_info *info);

/*
 * A number, never 0, that stands for how a plan rounds on this device: its route, accuracy, chunks
 * and slices.
 */
int bs_exact_cuda_rounding(const struct bs_exact_cuda_spec *spec, uint32_t *number,
			   struct bs_fail *why);

void bs_exact_cuda_begin(struct bs_exact_cuda *plan, uint32_t state);
/* Chunks that are queued from now on use these positions and weights, as many as the plan's. */
void bs_exact_cuda_move(struct bs_exact_cuda *plan, const float *k, const float *weight);
/* Makes `chunk` the next one, for work that is recorded into a graph and launched many times. */
void bs_exact_cuda_expect(struct bs_exact_cuda *plan, uint32_t state, uint32_t chunk);
/* Adds a chunk. data: the whole frame, [coil][sample] with coil_stride complex samples between
 * coils; for q NULL. */
int bs_exact_cuda_chunk(struct bs_exact_cuda *plan, uint32_t state, uint32_t chunk,
			const float *data, size_t coil_stride, struct CUstream_st *stream,
			struct bs_fail *why);
/* Ends a frame. result: the image, or q. */
int bs_exact_cuda_finish(struct bs_exact_cuda *plan, uint32_t state, float *result,
			 struct CUstream_st *stream, struct bs_fail *why);
/*
 * Does begin, every chunk and finish. Where all sums together would not stay in the caches, it cuts
 * the voxels into parts and goes over all chunks for each part; the result has the same bytes.
 */
int bs_exact_cuda_sum(struct bs_exact_cuda *plan, uint32_t state, const float *data,
		      size_t coil_stride, float *result, struct CUstream_st *stream,
		      struct bs_fail *why);

BS_C_END
#endif
