/*
 * gpu/nufft/part.h - the insides of the host NUFFT; only gpu/nufft includes this
 *
 * The coils of a batch (1, 2, 4 or 8: width) lie side by side in each cell of the oversampled grid,
 * [z][y][x][width] complex. Behind the last cell of each axis lie halo = taps - 1 more cells.
 * Spreading fills them and the transform folds them back (the forward the other way round), so no
 * footprint ever wraps. Sectors of one color have disjoint footprints: they are spread in parallel,
 * color after color, and each cell receives its sums in one fixed order.
 * On the stack route the plan is two-dimensional, its channels are coils x partitions, and
 * bs_stack_table says which sample lies at which position and partition.
 *
 * A file calls only what stands after it here:
 *   density.c > nufft.c > stack.c > grid.c, image.c, sort.c > shape.c > window.c >
 *   flat.c > plain.c; trajectory.c
 */
#ifndef BS_GPU_NUFFT_PART_H
#define BS_GPU_NUFFT_PART_H

#include "gpu/nufft/nufft.h"
#include "gpu/fft/fft.h"
#include "gpu/nufft/window.h"

#define BS_COLORS 8u
#define BS_RUN    128u /* samples gathered at a time */

struct bs_sector_run { /* Samples of one chunk in one sector. */
	uint32_t first, count;
};

struct bs_grid_shape {
	uint32_t dims;
	uint32_t matrix[3], grid[3], halo[3];
	uint32_t taps, width, batches;
	double window;                /* width of the window, cells */
	uint32_t edge[3], sectors[3]; /* cells of a sector's edge; number of sectors */
	uint64_t row, plane, cells;   /* cells from one row, one plane, one grid to the next */
	/* samples that are gridded (stack: positions), in all and of a chunk; number of chunks */
	uint64_t points, chunk, chunks;
	uint64_t runs; /* most runs of samples */
	/* 3D: floats between the transforms of planes and along z */
	uint64_t mid;
};

struct bs_sample_table {
	uint32_t *source; /* number of the sample within its chunk */
	uint32_t *cell;
	float *t[3];
	float *weight; /* weights; NULL: ones */
	struct bs_sector_run *run;
	uint32_t *color; /* [chunk][BS_COLORS + 1]: first run of each color */
};

struct bs_stack_table {
	uint32_t partitions;
	/* [position][partition] number of the sample; UINT32_MAX: no such sample */
	uint32_t *source;
	float *weight; /* [position][partition] weights; NULL: ones */
	float *data;   /* [batch][position][width] complex, one coil's planes */
};

struct bs_nufft_state {
	float *grid;       /* [batch][cells] grids; NULL on the stack route */
	float *data;       /* samples [coil][samples] complex */
	uint64_t *arrived; /* samples that have come, of each chunk; on the stack route of all */
	uint64_t next;     /* next chunk to be gridded */
	bool fresh;        /* nothing was added since begin */
};

struct bs_nufft {
	struct bs_nufft_spec spec;
	struct bs_grid_shape shape;
	const struct bs_fft_kernels *simd;
	const struct bs_grid_kernels *kernels;
	struct bs_team *team;
	struct bs_taps *taps[3];
	struct bs_fft fft[3], fft_stack;
	float *deapodize[3];
	struct bs_sample_table table;
	/* with spec.repath: memory for the table's weights, also while the table has none */
	float *weight;
	void *sort_room; /* memory for sorting, with spec.repath */
	bool stacked;
	struct bs_stack_table stack;
	struct bs_nufft_state *state;
	/* samples are gridded at finish: there is one chunk, or the stack route */
	bool deferred;
	/* [cells] of one batch, for adjoint and forward; it is state 0's grid where that has one */
	float *work_grid;
	float *peek_grid; /* [cells] of one batch; NULL unless peek needs it */
	float *mid;
	float *mixed;   /* [sample of a chunk][width] complex; NULL: gathered coil by coil */
	float *scratch; /* memory for each team member */
	size_t scratch_floats, block_floats, dummy_floats;
};

/* A team member's memory: two blocks, a line that nobody reads, the gathered samples. */
struct bs_scratch {
	float *a, *b, *dummy, *run;
};

static inline struct bs_scratch bs_nufft_scratch(const struct bs_nufft *n, int member)
{
	float *p = n->scratch + (size_t)member * n->scratch_floats;

	return (struct bs_scratch){ p, p + n->block_floats, p + 2 * n->block_floats,
				    p + 2 * n->block_floats + n->dummy_floats };
}

static inline uint32_t bs_log2(uint32_t n)
{
	return n <= 1 ? 0 : 1 + bs_log2(n / 2);
}

/*
 * Samples of one batch in one chunk: lane c of sample s lies at data[c * stride + s] complex.
 * sorted: data is [point][width] complex instead, in the order of the table.
 */
struct bs_lanes {
	float *data;
	size_t stride;
	uint32_t lanes;
	bool sorted;
};

/* The next functions are in shape.c. */
int bs_nufft_shape(struct bs_grid_shape *g, const struct bs_nufft_spec *spec, struct bs_fail *why);
/* Finds the shape of the plane on the stack route. positions: number of positions in the plane. */
int bs_nufft_shape_stack(struct bs_grid_shape *g, const struct bs_nufft_spec *spec,
			 uint64_t positions, struct bs_fail *why);

/*
 * sort.c: fills n->table. Point i lies at k[index[i] * stride], with index NULL at k[i * stride].
 * Sorts in n->sort_room; where that is NULL, in memory that it allocates and frees.
 */
uint64_t bs_nufft_sort_bytes(const struct bs_grid_shape *g);
int bs_nufft_sort(struct bs_nufft *n, const float *k, uint32_t stride, const uint32_t *index,
		  const float *weight, struct bs_fail *why);

/* The next functions are in grid.c. */
uint64_t bs_nufft_mixed_bytes(const struct bs_grid_shape *g);
/* Copies a grid; from NULL: fills it with zeros. */
void bs_nufft_copy(struct bs_nufft *n, float *grid, const float *from, uint64_t cells);
void bs_nufft_spread(struct bs_nufft *n, float *grid, uint64_t chunk, const struct bs_lanes *in);
void bs_nufft_interpolate(struct bs_nufft *n, float *grid, uint64_t chunk,
			  const struct bs_lanes *out);

/* image.c: the batch's lanes are image + lane * voxels */
void bs_nufft_to_image(struct bs_nufft *n, float *grid, float *image, uint32_t lanes);
void bs_nufft_from_image(struct bs_nufft *n, float *grid, const float *image, uint32_t lanes);

/* The next functions are in stack.c. */
/* Sorts the positions, and source into their order. weight: [sample] or NULL. */
int bs_nufft_stack_sort(struct bs_nufft *n, const float *k, const uint32_t *source,
			const float *weight, struct bs_fail *why);
void bs_nufft_stack_adjoint(struct bs_nufft *n, const float *data, float *image);
void bs_nufft_stack_forward(struct bs_nufft *n, const float *image, float *data);

#endif
