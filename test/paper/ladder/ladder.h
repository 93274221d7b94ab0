/*
 * test/paper/ladder/ladder.h - the papers' ladders of optimizations, kept to be run on today's GPU
 *
 * exact: F^H d (or Q: d all ones, NULL) at the voxels n = -N/2 .. N/2-1 of a 3D matrix, the way
 * Stone et al. came to it, J Parallel Distrib Comput 2008;68:1307-1318: one thread a voxel,
 * Base     every operand and both sums in global memory, in arrays of their own
 * RegAlloc position and sums of the voxel in registers
 * Layout   a sample's five values side by side
 * ConstMem samples in tiles in constant memory, a launch each
 * FastTrig sine and cosine by the special function units
 * Tune     threads a block, samples a tile and unrolling as a search found them
 * Multi    the voxels split over the GPUs
 * ours     the production sum, accuracy single, at the same voxels (exact_cuda.h)
 *
 * grid: samples spread onto a periodic grid with a Gaussian window 8 cells wide, the way of
 * Gregerson, Implementing Fast MRI Gridding on GPUs via CUDA (University of Wisconsin):
 * naive    a thread a sample, floating-point atomics: the one place where there are any
 * cache    a block a sector of the grid, a thread a cell; samples presorted into sectors are read
 *          from it and its neighbors through shared memory
 * aligned  the same, a sample being one aligned 16-byte word
 * table    the same, the window from a table in constant memory
 * sectors  each sector reads its own samples alone, into a copy padded by the window's reach;
 *          a second kernel adds up the copies
 * blocks   the same with small sectors, so that more blocks share a multiprocessor
 * ours     the production spreading (nufft_cuda.h), as one kernel where samples are few
 * Presorting and plans are not timed. Re-created from what the papers say; none of their code.
 *
 * open copies its inputs to the device; step runs one rung once and times it; close. Everything
 * may allocate and waits. One caller; leaves the caller's device current.
 * Errors: BS_ERR_GPU, BS_ERR_NOMEM; BS_ERR_UNSUPPORTED where a rung cannot run here (Multi on one
 * GPU). Only with GPU=1. Test: test/twin/twin_ladder.c
 */
#ifndef BS_TEST_PAPER_LADDER_LADDER_H
#define BS_TEST_PAPER_LADDER_LADDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bs_ladder_exact_step {
	BS_LADDER_BASE,
	BS_LADDER_REGALLOC,
	BS_LADDER_LAYOUT,
	BS_LADDER_CONSTMEM,
	BS_LADDER_FASTTRIG,
	BS_LADDER_TUNE,
	BS_LADDER_MULTI,
	BS_LADDER_OURS,
	BS_LADDER_EXACT_STEPS
};

/* What Tune chooses between. */
struct bs_ladder_config {
	uint32_t threads, tile, unroll;
};
#define BS_LADDER_THREADS 4
#define BS_LADDER_TILES   6
#define BS_LADDER_UNROLLS 5
extern const uint32_t bs_ladder_threads[BS_LADDER_THREADS];
extern const uint32_t bs_ladder_tiles[BS_LADDER_TILES];
extern const uint32_t bs_ladder_unrolls[BS_LADDER_UNROLLS];

struct bs_ladder_exact;

/* k [sample][3] cycles per voxel, d [sample] complex or NULL: host memory. */
int bs_ladder_exact_open(struct bs_ladder_exact **l, const uint32_t matrix[3], uint64_t samples,
			 const float *k, const float *d, struct bs_fail *why);
/* The first `samples` of them. image: host, [z][y][x] complex, or NULL. ms: device time; Multi:
 * the host's clock around all devices. */
int bs_ladder_exact_step(struct bs_ladder_exact *l, enum bs_ladder_exact_step step,
			 uint64_t samples, float *image, double *ms, struct bs_fail *why);
/* Tune's choice from now on; until then 128 threads, tiles of 512, unrolled by 8. */
void bs_ladder_exact_configure(struct bs_ladder_exact *l, const struct bs_ladder_config *config);
void bs_ladder_exact_close(struct bs_ladder_exact *l);

enum bs_ladder_grid_step {
	BS_LADDER_NAIVE,
	BS_LADDER_CACHE,
	BS_LADDER_ALIGNED,
	BS_LADDER_TABLE,
	BS_LADDER_SECTORS,
	BS_LADDER_BLOCKS,
	BS_LADDER_GRID_SECTORS_OURS, /* the production spreading through padded sectors */
	BS_LADDER_GRID_OURS,         /* the way that it chooses */
	BS_LADDER_GRID_STEPS
};

struct bs_ladder_grid;

#define BS_LADDER_WINDOW 8 /* cells */

/* cells an axis: a multiple of 16, 32 .. 1024. x [sample][2]: grid cells, -cells/2 .. cells/2;
 * d [sample] complex: host memory. The Gaussian's deviation in cells is *sigma afterwards. */
int bs_ladder_grid_open(struct bs_ladder_grid **l, uint32_t cells, uint64_t samples, const float *x,
			const float *d, double *sigma, struct bs_fail *why);
/* Runs it `repeats` times as one CUDA graph; ms: of one. grid: host, [y][x] complex, cell
 * (x, y) of any sign at x mod cells; or NULL. */
int bs_ladder_grid_step(struct bs_ladder_grid *l, enum bs_ladder_grid_step step, uint32_t repeats,
			float *grid, double *ms, struct bs_fail *why);
void bs_ladder_grid_close(struct bs_ladder_grid *l);

#ifdef __cplusplus
}
#endif
#endif
