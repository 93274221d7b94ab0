/*
 * gpu/nufft/nufft.h - non-uniform FFT by convolution gridding, adjoint and forward
 *
 * adjoint:  image[c][n] = sum_m w_m d[c][m] exp(+i2pi k_m.n)      n = -N/2 .. N/2-1 (N/2 truncated)
 * forward:  d[c][m]     = sum_n image[c][n] exp(-i2pi k_m.n)      (weights are not applied)
 * k       [sample][dims] float, cycles per voxel, [-0.5, 0.5)
 * image   [coil][z][y][x] complex float; d [coil][sample] complex float; w [sample] float or NULL
 *
 * need -> plan -> { adjoint | forward | begin, add*, finish }* -> close. plan sorts the samples
 * into sectors, tabulates the window and makes the FFT plans; only plan and close may allocate.
 * Incremental use (begin, add, finish): the samples come in chunks fixed at plan; chunk c holds the
 * samples [c*chunk, (c+1)*chunk), is sorted by itself and is added when all its samples are there,
 * in the order 0, 1, 2 ... The result is that of one adjoint with the same chunks, bit for bit, for
 * any number of threads. Not thread-safe: one caller per plan. adjoint and forward use the grid of
 * state 0: not while it is open, unless it has no grid (chunk 0, or the stack route).
 * With spec.repath (host; chunk and states 0) plan takes k NULL, and path says where the samples
 * lie from then on; it allocates nothing.
 * Twins: nufft.c (host), nufft.cu (CUDA). Tests: test/unit/gpu/test_nufft.c,
 * test/twin/nufft/twin_nufft.c
 * Sources: Beatty, Nishimura, Pauly, IEEE Trans Med Imaging 2005;24:799-808 (window shape, error);
 * Jackson et al., IEEE Trans Med Imaging 1991;10:473-478 (convolution gridding).
 */
#ifndef BS_GPU_NUFFT_NUFFT_H
#define BS_GPU_NUFFT_NUFFT_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/protocol.h"
#include "core/thread/team.h"
#include "gpu/device/tune.h"

BS_C_BEGIN

struct bs_nufft_spec {
	uint32_t dims;      /* number of dimensions, 1, 2 or 3 */
	uint32_t matrix[3]; /* voxels x, y, z; 1 beyond dims; odd sizes are legal */
	uint32_t coils;     /* number of transforms that share the trajectory */
	uint64_t samples;
	uint64_t chunk; /* samples in a chunk; 0: all in one */
	/*
	 * samples; a multiple of chunk. Between begin and finish come the samples of one part
	 * [i*part, (i+1)*part) alone; 0: any samples
	 */
	uint64_t part;
	/* number of accumulators, that is of frames open at once; 0: adjoint and forward only */
	uint32_t states;
	bool peek;   /* peek will be called */
	bool repath; /* path will be called */
	enum bs_window window;
	/*
	 * relative error at most, 1e-1 .. 1e-6, everywhere (window.h); 0: width and oversampling
	 * are given below
	 */
	double accuracy;
	double width; /* width of the window, cells of the oversampled grid */
	double oversampling;
	/* CUDA: most coils transformed together; 0: as many as their scratch allows */
	uint32_t turn;
	/*
	 * CUDA: measured choices (gpu/nufft/cuda/tune.h); NULL: the plan chooses by its own model
	 */
	const struct bs_tune *tune;
};

struct bs_nufft;

/*
 * The accuracy that a plan has everywhere (window.h): the one asked for, or a worse one where
 * single precision does not allow that. 0: width and oversampling are given, or spec is refused.
 */
double bs_nufft_accuracy(const struct bs_nufft_spec *spec);
int bs_nufft_need(const struct bs_nufft_spec *spec, struct bs_need *need, struct bs_fail *why);
/* Copies k and weight into the plan's tables. */
int bs_nufft_plan(struct bs_nufft **plan, const struct bs_nufft_spec *spec, const float *k,
		  const float *weight, struct bs_arena *arena, struct bs_team *team,
		  struct bs_fail *why);
void bs_nufft_close(struct bs_nufft *plan);

/* Copies k and weight. BS_ERR_TRAJECTORY: a sample lies outside [-0.5, 0.5]. */
int bs_nufft_path(struct bs_nufft *plan, const float *k, const float *weight, struct bs_fail *why);
void bs_nufft_adjoint(struct bs_nufft *plan, const float *data, float *image);
void bs_nufft_forward(struct bs_nufft *plan, const float *image, float *data);

/*
 * Accumulates into a state, 0 .. states-1. add: the samples first .. first + count - 1, data
 * [coil][count], coil_stride complex samples between coils. Each sample comes once per begin, in
 * any order.
 */
void bs_nufft_begin(struct bs_nufft *plan, uint32_t state);
void bs_nufft_add(struct bs_nufft *plan, uint32_t state, uint64_t first, uint64_t count,
		  const float *data, size_t coil_stride);
void bs_nufft_finish(struct bs_nufft *plan, uint32_t state, float *image);
/* Makes the image of the samples added so far. The state stays as it is, to the bit. */
void bs_nufft_peek(struct bs_nufft *plan, uint32_t state, float *image);

/* Choices that plan has made. */
struct bs_nufft_info {
	double width;      /* width of the window, cells */
	uint32_t grid[3];  /* cells of the grid on each axis */
	const char *route; /* name of the route: "sectors", "stack" (separable along z) */
};
void bs_nufft_info(const struct bs_nufft *plan, struct bs_nufft_info *info);

BS_C_END
#endif
