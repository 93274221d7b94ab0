/*
 * gpu/nufft/image.c - from the oversampled grid to the image and back; see part.h
 *
 * The transform goes axis by axis (y, x, then z for the adjoint) over blocks of as many columns as
 * a vector has lanes, and only where it matters: of the G lines in, N are wanted out. Loading a
 * block folds the halo in; storing it crops, and multiplies by the inverse of the window's
 * transform. Image index i = 0 .. N-1 is n = i - N/2, which lies in bin n mod G.
 */
#include "gpu/nufft/part.h"

#include <string.h>

struct job {
	struct bs_nufft *n;
	float *grid;
	float *image;
	size_t voxels;
	uint32_t lanes; /* lanes of this batch that hold a coil */
	bool adjoint;   /* true: the grid goes to the image; false: the image to the grid */
};

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static float *block_at(const struct bs_fft_kernels *s, float *block, uint32_t index)
{
	return block + (size_t)index * 2 * s->lanes;
}

/* Writes columns of a transformed block along an axis, cropped to the matrix and deapodized. */
static void crop_out(const struct bs_nufft *n, int axis, float *to, size_t row, float *block,
		     uint32_t count)
{
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	uint32_t low = g->matrix[axis] / 2;

	v->cols_out(to, row, block_at(v, block, g->grid[axis] - low), low, count,
		    n->deapodize[axis]);
	v->cols_out(to + low * row, row, block, g->matrix[axis] - low, count,
		    n->deapodize[axis] + low);
}

/* The reverse of crop_out: reads columns, deapodized, with zeros around the matrix. */
static void pad_in(const struct bs_nufft *n, int axis, float *block, const float *from, size_t row,
		   uint32_t count)
{
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	uint32_t low = g->matrix[axis] / 2;
	uint32_t high = g->matrix[axis] - low;

	v->cols_in(block, from + low * row, row, high, count, n->deapodize[axis] + low, false);
	memset(block_at(v, block, high), 0,
	       (size_t)(g->grid[axis] - g->matrix[axis]) * v->lanes * 2 * sizeof(float));
	v->cols_in(block_at(v, block, g->grid[axis] - low), from, row, low, count,
		   n->deapodize[axis], false);
}

/* ---- y: columns of one plane, in place; image rows end up in rows 0 .. N-1 ---- */

static uint32_t y_blocks(const struct bs_nufft *n)
{
	uint32_t columns = n->shape.grid[0] * n->shape.width;

	return (columns + n->simd->lanes - 1) / n->simd->lanes;
}

/*
 * Reads the columns column .. column + count - 1 of a plane, with the halos in x and y added to the
 * cells that they repeat.
 */
static void fold_in(const struct bs_nufft *n, float *block, const float *plane, uint32_t column,
		    uint32_t count, bool accumulate)
{
	const struct bs_grid_shape *g = &n->shape;
	size_t row = g->row * g->width * 2;
	uint32_t halo = g->halo[0] * g->width;
	uint32_t extra = column < halo ? min32(halo - column, count) : 0;
	const float *at = plane + 2 * (size_t)column;
	const float *wrapped = at + 2 * (size_t)g->grid[0] * g->width;
	const float *below = plane + row * g->grid[1] + 2 * (size_t)column;

	n->simd->cols_in(block, at, row, g->grid[1], count, NULL, accumulate);
	n->simd->cols_in(block, below, row, g->halo[1], count, NULL, true);
	if (extra == 0)
		return;
	n->simd->cols_in(block, wrapped, row, g->grid[1], extra, NULL, true);
	n->simd->cols_in(block, below + (wrapped - at), row, g->halo[1], extra, NULL, true);
}

/* wrapped: the plane beyond the grid's end that is added to this one, or NULL. */
static void y_adjoint(const struct bs_nufft *n, float *plane, const float *wrapped, uint32_t b,
		      const struct bs_scratch *s)
{
	const struct bs_grid_shape *g = &n->shape;
	uint32_t column = b * n->simd->lanes;
	uint32_t count = min32(n->simd->lanes, g->grid[0] * g->width - column);

	fold_in(n, s->a, plane, column, count, false);
	if (wrapped != NULL)
		fold_in(n, s->a, wrapped, column, count, true);
	crop_out(n, 1, plane + 2 * (size_t)column, g->row * g->width * 2,
		 n->simd->run(&n->fft[1], s->a, s->b, true), count);
}

static void y_forward(const struct bs_nufft *n, float *plane, uint32_t b,
		      const struct bs_scratch *s)
{
	const struct bs_grid_shape *g = &n->shape;
	size_t row = g->row * g->width * 2;
	uint32_t column = b * n->simd->lanes;
	uint32_t count = min32(n->simd->lanes, g->grid[0] * g->width - column);
	float *at = plane + 2 * (size_t)column;

	pad_in(n, 1, s->a, at, row, count);
	n->simd->cols_out(at, row, n->simd->run(&n->fft[1], s->a, s->b, false), g->grid[1], count,
			  NULL);
}

/* ---- x: rows of one plane, to or from one image row a lane ---- */

static uint32_t rows_a_block(const struct bs_nufft *n)
{
	return n->shape.width < n->simd->lanes ? n->simd->lanes / n->shape.width : 1;
}

static uint32_t x_blocks(const struct bs_nufft *n)
{
	uint32_t rows = rows_a_block(n);

	return (n->shape.matrix[1] + rows - 1) / rows;
}

/* The image plane of each coil, or its mid plane. */
struct planes {
	float *base;    /* plane of coil 0 */
	size_t stride;  /* floats from one coil's plane to the next */
	uint32_t coils; /* lanes of the batch that hold a coil */
};

/*
 * Finds the places of the block's lanes in the planes: rows from y on, coils from `coil` on. Lanes
 * without a place get the line that nobody reads.
 */
static void places(const struct bs_nufft *n, float **to, const struct planes *at, uint32_t y,
		   uint32_t coil, float *dummy)
{
	const uint32_t *N = n->shape.matrix;
	const uint32_t width = min32(n->shape.width, n->simd->lanes);

	for (uint32_t l = 0; l < n->simd->lanes; l++) {
		uint32_t c = coil + l % width;
		uint32_t r = y + l / width;

		to[l] = c < at->coils && r < N[1] ? at->base + c * at->stride + 2 * (size_t)r * N[0]
						  : dummy;
	}
}

static void x_adjoint(const struct bs_nufft *n, float *plane, const struct planes *image,
		      uint32_t b, const struct bs_scratch *s)
{
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	size_t row = g->row * g->width * 2;
	uint32_t y = b * rows_a_block(n);
	uint32_t width = min32(g->width, v->lanes);
	uint32_t low = g->matrix[0] / 2;
	const float *from[BS_FFT_LANES_MAX] = { plane };
	float *to[BS_FFT_LANES_MAX];

	for (uint32_t i = 0; i < v->lanes / width; i++)
		from[i] = plane + min32(y + i, g->matrix[1] - 1) * row;
	for (uint32_t coil = 0; coil < image->coils; coil += width) {
		float *r;

		if (g->width >= v->lanes)
			v->cols_in(s->a, from[0] + 2 * (size_t)coil, 2 * (size_t)g->width,
				   g->grid[0], v->lanes, NULL, false);
		else if (width == 1)
			v->lines_in(s->a, from, g->grid[0], NULL);
		else
			v->cells_in(s->a, from, width, g->grid[0], NULL);
		r = v->run(&n->fft[0], s->a, s->b, true);
		places(n, to, image, y, coil, s->dummy);
		v->lines_out(to, block_at(v, r, g->grid[0] - low), low, n->deapodize[0]);
		for (uint32_t l = 0; l < v->lanes; l++)
			to[l] += 2 * (size_t)low;
		v->lines_out(to, r, g->matrix[0] - low, n->deapodize[0] + low);
	}
}

static void x_forward(const struct bs_nufft *n, float *plane, const struct planes *image,
		      uint32_t b, const struct bs_scratch *s)
{
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	size_t row = g->row * g->width * 2;
	uint32_t y = b * rows_a_block(n);
	uint32_t width = min32(g->width, v->lanes);
	uint32_t low = g->matrix[0] / 2;
	uint32_t high = g->matrix[0] - low;
	float *from[BS_FFT_LANES_MAX];
	float *to[BS_FFT_LANES_MAX] = { s->dummy };

	for (uint32_t i = 0; i < v->lanes / width; i++)
		to[i] = y + i < g->matrix[1] ? plane + (y + i) * row : s->dummy;
	for (uint32_t coil = 0; coil < g->width; coil += width) {
		float *r;

		/* The dummy line is also written here, but must read as zeros. */
		memset(s->dummy, 0, 2 * (size_t)g->matrix[0] * sizeof(float));
		places(n, from, image, y, coil, s->dummy);
		v->lines_in(block_at(v, s->a, g->grid[0] - low), (const float *const *)from, low,
			    n->deapodize[0]);
		for (uint32_t l = 0; l < v->lanes; l++)
			from[l] += 2 * (size_t)low;
		v->lines_in(s->a, (const float *const *)from, high, n->deapodize[0] + low);
		memset(block_at(v, s->a, high), 0,
		       (size_t)(g->grid[0] - g->matrix[0]) * v->lanes * 2 * sizeof(float));
		r = v->run(&n->fft[0], s->a, s->b, false);
		if (g->width >= v->lanes)
			v->cols_out(to[0] + 2 * (size_t)coil, 2 * (size_t)g->width, r, g->grid[0],
				    v->lanes, NULL);
		else if (width == 1)
			v->lines_out(to, r, g->grid[0], NULL);
		else
			v->cells_out(to, width, r, g->grid[0], NULL);
	}
}

/* ---- z: columns of the mid planes, contiguous over (y, x), to or from the image ---- */

#define Z_BLOCKS 4u /* blocks of a task */

static uint32_t z_tasks(const struct bs_nufft *n)
{
	uint32_t columns = n->shape.matrix[0] * n->shape.matrix[1];
	uint32_t each = n->simd->lanes * Z_BLOCKS;

	return (columns + each - 1) / each;
}

static void z_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_nufft *n = j->n;
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	struct bs_scratch s = bs_nufft_scratch(n, member);
	uint32_t columns = g->matrix[0] * g->matrix[1];
	uint32_t lane = (uint32_t)task / z_tasks(n);
	uint32_t first = (uint32_t)task % z_tasks(n) * Z_BLOCKS * v->lanes;
	size_t row = 2 * (size_t)columns;
	float *mid = n->mid + lane * row * g->grid[2];
	float *image = j->image + 2 * j->voxels * lane;

	for (uint32_t c = first; c < columns && c < first + Z_BLOCKS * v->lanes; c += v->lanes) {
		uint32_t count = min32(v->lanes, columns - c);
		float *planes = mid + 2 * (size_t)c;
		float *voxels = image + 2 * (size_t)c;

		if (j->adjoint) {
			v->cols_in(s.a, planes, row, g->grid[2], count, NULL, false);
			crop_out(n, 2, voxels, row, v->run(&n->fft[2], s.a, s.b, true), count);
		} else {
			pad_in(n, 2, s.a, voxels, row, count);
			v->cols_out(planes, row, v->run(&n->fft[2], s.a, s.b, false), g->grid[2],
				    count, NULL);
		}
	}
}

/* ---- tasks: 3D by planes, 2D by blocks within the one plane ---- */

static float *plane_at(const struct job *j, uint32_t z)
{
	return j->grid + z * j->n->shape.plane * j->n->shape.width * 2;
}

static void y_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	struct bs_scratch s = bs_nufft_scratch(j->n, member);

	if (j->adjoint)
		y_adjoint(j->n, j->grid, NULL, (uint32_t)task, &s);
	else
		y_forward(j->n, j->grid, (uint32_t)task, &s);
}

static void x_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	struct bs_scratch s = bs_nufft_scratch(j->n, member);
	const struct planes image = { j->image, 2 * j->voxels, j->lanes };

	(j->adjoint ? x_adjoint : x_forward)(j->n, j->grid, &image, (uint32_t)task, &s);
}

/* Writes the halo of row y of a plane, and the row's copy below the plane where it has one. */
static void wrap_row(const struct bs_nufft *n, float *plane, uint32_t y)
{
	const struct bs_grid_shape *g = &n->shape;
	size_t cell = 2 * (size_t)g->width;
	float *row = plane + y * g->row * cell;

	memcpy(row + g->grid[0] * cell, row, g->halo[0] * cell * sizeof(float));
	if (y < g->halo[1])
		memcpy(row + g->grid[1] * g->row * cell, row,
		       (g->grid[0] + g->halo[0]) * cell * sizeof(float));
}

#define WRAP_ROWS 16u

static void wrap_task(void *arg, int task)
{
	const struct job *j = arg;
	uint32_t first = (uint32_t)task * WRAP_ROWS;

	for (uint32_t y = first; y < first + WRAP_ROWS && y < j->n->shape.grid[1]; y++)
		wrap_row(j->n, j->grid, y);
}

static void plane_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_nufft *n = j->n;
	const struct bs_grid_shape *g = &n->shape;
	struct bs_scratch s = bs_nufft_scratch(n, member);
	uint32_t z = (uint32_t)task;
	float *plane = plane_at(j, z);
	float *beyond = z < g->halo[2] ? plane_at(j, z + g->grid[2]) : NULL;
	size_t pixels = 2 * (size_t)g->matrix[0] * g->matrix[1];
	const struct planes mid = { n->mid + z * pixels, pixels * g->grid[2], j->lanes };

	for (uint32_t b = 0; j->adjoint && b < y_blocks(n); b++)
		y_adjoint(n, plane, beyond, b, &s);
	for (uint32_t b = 0; b < x_blocks(n); b++)
		(j->adjoint ? x_adjoint : x_forward)(n, plane, &mid, b, &s);
	if (j->adjoint)
		return;
	for (uint32_t b = 0; b < y_blocks(n); b++)
		y_forward(n, plane, b, &s);
	for (uint32_t y = 0; y < g->grid[1]; y++)
		wrap_row(n, plane, y);
	if (beyond != NULL)
		memcpy(beyond, plane, g->plane * g->width * 2 * sizeof(float));
}

static struct job job_of(struct bs_nufft *n, float *grid, const float *image, uint32_t lanes,
			 bool adjoint)
{
	const uint32_t *m = n->shape.matrix;

	return (struct job){ n,     grid,   (float *)(uintptr_t)image, (size_t)m[0] * m[1] * m[2],
			     lanes, adjoint };
}

void bs_nufft_to_image(struct bs_nufft *n, float *grid, float *image, uint32_t lanes)
{
	const struct bs_grid_shape *g = &n->shape;
	struct job j = job_of(n, grid, image, lanes, true);

	if (g->dims == 3) {
		bs_team_run(n->team, plane_task, &j, (int)g->grid[2]);
		bs_team_run(n->team, z_task, &j, (int)(z_tasks(n) * lanes));
		return;
	}
	if (g->dims == 1) /* without a y transform, nothing would fold x */
		for (uint32_t i = 0; i < g->halo[0] * g->width * 2; i++)
			grid[i] += grid[(size_t)g->grid[0] * g->width * 2 + i];
	else
		bs_team_run(n->team, y_task, &j, (int)y_blocks(n));
	bs_team_run(n->team, x_task, &j, (int)x_blocks(n));
}

void bs_nufft_from_image(struct bs_nufft *n, float *grid, const float *image, uint32_t lanes)
{
	const struct bs_grid_shape *g = &n->shape;
	struct job j = job_of(n, grid, image, lanes, false);

	if (g->dims == 3) {
		bs_team_run(n->team, z_task, &j, (int)(z_tasks(n) * lanes));
		bs_team_run(n->team, plane_task, &j, (int)g->grid[2]);
		return;
	}
	bs_team_run(n->team, x_task, &j, (int)x_blocks(n));
	if (g->dims == 2)
		bs_team_run(n->team, y_task, &j, (int)y_blocks(n));
	bs_team_do(n->team, wrap_task, &j, (int)((g->grid[1] + WRAP_ROWS - 1) / WRAP_ROWS));
}
