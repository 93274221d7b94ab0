/* gpu/toeplitz/circulant.c - host twin; see circulant.h */
#include "gpu/toeplitz/circulant.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/fft/fft.h"
#include "gpu/fft/hermitian.h"
#include "gpu/toeplitz/q.h"

struct bs_circulant {
	uint32_t dims, matrix[3];
	uint64_t voxels;
	struct bs_team *team;
	const struct bs_fft_kernels *simd;
	struct bs_fft fft[3];
	float *eigen;   /* eigenvalues of C in the transform's order */
	float *inverse; /* 1 / (scale eigen + shift) / voxels */
	float *blocks;  /* [member][2] blocks of the longest axis */
	size_t block_size;
	const float *in;
	float *out;
};

static size_t block_floats(const uint32_t matrix[3])
{
	uint32_t longest = matrix[0] > matrix[1] ? matrix[0] : matrix[1];

	if (matrix[2] > longest)
		longest = matrix[2];
	return (size_t)longest * 2 * BS_FFT_LANES_MAX;
}

int bs_circulant_need(uint32_t dims, const uint32_t matrix[3], struct bs_need *need,
		      struct bs_fail *why)
{
	struct bs_q_spec s = { .dims = dims, .matrix = { matrix[0], matrix[1], matrix[2] } };

	if (bs_q_size(&s) == 0)
		return bs_fail(why, BS_ERR_CONFIG, "circulant preconditioner of %ux%ux%u",
			       matrix[0], matrix[1], matrix[2]);
	bs_need_add(need, "circulant preconditioner", 2,
		    (uint64_t)matrix[0] * matrix[1] * matrix[2] * 4);
	bs_need_add(need, "FFT lines", (uint64_t)BS_TEAM_MAX * 2, block_floats(matrix) * 4);
	return 0;
}

/* Sums c(j) over the 2^dims offsets that are the same modulo N. */
static void wrap_offset(const struct bs_q_spec *s, const float *q, const uint32_t j[3], double c[2])
{
	c[0] = 0.0;
	c[1] = 0.0;
	for (uint32_t corner = 0; corner < 8; corner++) {
		double share = 1.0;
		double sign = 1.0;
		int32_t n[3];
		const float *from;

		for (uint32_t a = 0; a < 3; a++) {
			bool wrapped = (corner >> a & 1) != 0;

			n[a] = (int32_t)j[a] - (wrapped ? (int32_t)s->matrix[a] : 0);
			share *= (double)(wrapped ? j[a] : s->matrix[a] - j[a]) / s->matrix[a];
		}
		if (share == 0.0)
			continue;
		if (n[0] < 0) { /* q holds the other half of the offsets, by Hermitian symmetry */
			sign = -1.0;
			for (uint32_t a = 0; a < 3; a++)
				n[a] = -n[a];
		}
		from = q + 2 * bs_q_index(s, n);
		c[0] += share * (double)from[0];
		c[1] += sign * share * (double)from[1];
	}
}

static int find_eigenvalues(struct bs_circulant *p, const struct bs_q_spec *s, const float *q,
			    struct bs_fail *why)
{
	const uint32_t *N = s->matrix;
	const size_t row = bs_hermitian_row(N[0]);
	const size_t lines = (size_t)N[1] * N[2];
	double *c = malloc(lines * row * sizeof(*c));
	uint32_t j[3];
	int rc = BS_ERR_NOMEM;

	for (j[2] = 0; c != NULL && j[2] < N[2]; j[2]++)
		for (j[1] = 0; j[1] < N[1]; j[1]++)
			for (j[0] = 0; j[0] <= N[0] / 2; j[0]++)
				wrap_offset(s, q, j, c + (j[2] * N[1] + j[1]) * row + 2 * j[0]);
	if (c != NULL)
		rc = bs_hermitian_spectrum(c, N, p->team);
	for (size_t i = 0; rc == 0 && i < lines; i++)
		for (size_t x = 0; x < N[0]; x++)
			p->eigen[i * N[0] + x] = (float)c[i * row + x];
	free(c);
	return rc != 0 ? bs_fail(why, rc, "circulant preconditioner") : 0;
}

int bs_circulant_plan(struct bs_circulant **plan, uint32_t dims, const uint32_t matrix[3],
		      const float *q, struct bs_arena *arena, struct bs_team *team,
		      struct bs_fail *why)
{
	struct bs_q_spec s = { .dims = dims, .matrix = { matrix[0], matrix[1], matrix[2] } };
	struct bs_circulant *p = calloc(1, sizeof(*p));
	size_t slot;
	int rc;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "circulant preconditioner");
	memcpy(p->matrix, matrix, sizeof(p->matrix));
	p->dims = dims;
	p->simd = BS_ISA_PICK(bs_fft_kernels);
	p->block_size = block_floats(matrix);
	p->voxels = (uint64_t)matrix[0] * matrix[1] * matrix[2];
	p->team = team;
	slot = (size_t)bs_slot(p->voxels * 4);
	p->eigen = bs_arena_take(arena, slot, BS_ALIGN);
	p->inverse = bs_arena_take(arena, slot, BS_ALIGN);
	p->blocks = bs_arena_take(arena, (size_t)BS_TEAM_MAX * 2 * p->block_size * 4, BS_ALIGN);
	rc = p->eigen == NULL || p->inverse == NULL || p->blocks == NULL
		     ? bs_fail(why, BS_ERR_NOMEM,
			       "circulant preconditioner: the arena is too small")
		     : find_eigenvalues(p, &s, q, why);
	for (uint32_t a = 0; rc == 0 && a < dims; a++)
		if (bs_fft_plan(&p->fft[a], matrix[a]) != 0)
			rc = bs_fail(why, BS_ERR_NOMEM, "circulant preconditioner: FFT tables");
	if (rc != 0) {
		bs_circulant_close(p);
		return rc;
	}
	*plan = p;
	return 0;
}

void bs_circulant_close(struct bs_circulant *p)
{
	if (p == NULL)
		return;
	for (uint32_t a = 0; a < 3; a++)
		bs_fft_close(&p->fft[a]);
	free(p);
}

void bs_circulant_shift(struct bs_circulant *p, double scale, double shift)
{
	double most = 0.0;

	for (uint64_t v = 0; v < p->voxels; v++)
		if (scale * (double)p->eigen[v] + shift > most)
			most = scale * (double)p->eigen[v] + shift;
	for (uint64_t v = 0; v < p->voxels; v++) {
		double e = scale * (double)p->eigen[v] + shift;

		if (e < FLT_EPSILON * most)
			e = FLT_EPSILON * most;
		p->inverse[v] = most > 0.0 ? (float)(1.0 / (e * (double)p->voxels)) : 1.0f;
	}
}

const float *bs_circulant_inverse(const struct bs_circulant *p)
{
	return p->inverse;
}

static float *block_of(const struct bs_circulant *p, int member)
{
	return p->blocks + (size_t)member * 2 * p->block_size;
}

/*
 * Transforms lines along x, the rows first .. first + lanes - 1. from and to may be the same array.
 */
static void along_x(const struct bs_circulant *p, int member, const float *from, float *to,
		    uint64_t rows, uint64_t first, bool inverse)
{
	float *block = block_of(p, member);
	const float *source[BS_FFT_LANES_MAX];
	float *target[BS_FFT_LANES_MAX];
	float *done;

	for (uint32_t lane = 0; lane < p->simd->lanes; lane++) {
		/*
		 * Lanes beyond the last row repeat it: they write the same values to the same
		 * place.
		 */
		uint64_t row = first + lane < rows ? first + lane : rows - 1;

		source[lane] = from + 2 * row * p->matrix[0];
		target[lane] = to + 2 * row * p->matrix[0];
	}
	p->simd->lines_in(block, source, p->matrix[0], NULL);
	done = p->simd->run(&p->fft[0], block, block + p->block_size, inverse);
	p->simd->lines_out(target, done, p->matrix[0], NULL);
}

/*
 * Transforms `count` columns along axis 1 or 2 in place; they lie side by side in x from `at` on.
 */
static void transform_axis(const struct bs_circulant *p, int member, uint32_t axis, float *at,
			   uint32_t count, bool inverse)
{
	size_t stride = 2 * (size_t)p->matrix[0] * (axis == 2 ? p->matrix[1] : 1);
	float *block = block_of(p, member);
	float *done;

	p->simd->cols_in(block, at, stride, p->matrix[axis], count, NULL, false);
	done = p->simd->run(&p->fft[axis], block, block + p->block_size, inverse);
	p->simd->cols_out(at, stride, done, p->matrix[axis], count, NULL);
}

static uint32_t lanes_at(const struct bs_circulant *p, uint32_t x)
{
	return p->matrix[0] - x < p->simd->lanes ? p->matrix[0] - x : p->simd->lanes;
}

/*
 * Does the last axis: forward, times the inverse eigenvalues, back. voxel: the first column's
 * first.
 */
static void last_axis(const struct bs_circulant *p, int member, uint64_t voxel, uint32_t count)
{
	uint32_t axis = p->dims - 1;
	size_t step = (size_t)p->matrix[0] * (axis == 2 ? p->matrix[1] : 1);
	float *block = block_of(p, member);
	const uint32_t L = p->simd->lanes;
	float *at = p->out + 2 * voxel;
	float *other;
	float *done;

	p->simd->cols_in(block, at, 2 * step, p->matrix[axis], count, NULL, false);
	done = p->simd->run(&p->fft[axis], block, block + p->block_size, false);
	for (uint32_t i = 0; i < p->matrix[axis]; i++)
		for (uint32_t lane = 0; lane < count; lane++) {
			done[(size_t)i * 2 * L + lane] *= p->inverse[voxel + i * step + lane];
			done[(size_t)i * 2 * L + L + lane] *= p->inverse[voxel + i * step + lane];
		}
	other = done == block ? block + p->block_size : block;
	done = p->simd->run(&p->fft[axis], done, other, true);
	p->simd->cols_out(at, 2 * step, done, p->matrix[axis], count, NULL);
}

/*
 * 3D: each task transforms a plane z: lines along x, then along y while the plane is in the cache.
 */
static void plane_forward(void *arg, int z, int member)
{
	const struct bs_circulant *p = arg;
	size_t at = (size_t)z * p->matrix[0] * p->matrix[1] * 2;

	for (uint32_t y = 0; y < p->matrix[1]; y += p->simd->lanes)
		along_x(p, member, p->in + at, p->out + at, p->matrix[1], y, false);
	for (uint32_t x = 0; x < p->matrix[0]; x += p->simd->lanes)
		transform_axis(p, member, 1, p->out + at + 2 * (size_t)x, lanes_at(p, x), false);
}

static void plane_inverse(void *arg, int z, int member)
{
	const struct bs_circulant *p = arg;
	float *plane = p->out + (size_t)z * p->matrix[0] * p->matrix[1] * 2;

	for (uint32_t x = 0; x < p->matrix[0]; x += p->simd->lanes)
		transform_axis(p, member, 1, plane + 2 * (size_t)x, lanes_at(p, x), true);
	for (uint32_t y = 0; y < p->matrix[1]; y += p->simd->lanes)
		along_x(p, member, plane, plane, p->matrix[1], y, true);
}

/* A task transforms, in 3D, the lines along z at one y. */
static void lines_z(void *arg, int y, int member)
{
	const struct bs_circulant *p = arg;

	for (uint32_t x = 0; x < p->matrix[0]; x += p->simd->lanes)
		last_axis(p, member, (uint64_t)y * p->matrix[0] + x, lanes_at(p, x));
}

/* 2D: each task transforms as many rows as a vector has lanes. */
static void rows_forward(void *arg, int group, int member)
{
	const struct bs_circulant *p = arg;

	along_x(p, member, p->in, p->out, p->matrix[1], (uint64_t)group * p->simd->lanes, false);
}

static void columns(void *arg, int group, int member)
{
	const struct bs_circulant *p = arg;
	uint32_t x = (uint32_t)group * p->simd->lanes;

	last_axis(p, member, x, lanes_at(p, x));
}

static void rows_inverse(void *arg, int group, int member)
{
	const struct bs_circulant *p = arg;

	along_x(p, member, p->out, p->out, p->matrix[1], (uint64_t)group * p->simd->lanes, true);
}

void bs_circulant_apply(struct bs_circulant *p, const float *in, float *out)
{
	const uint32_t L = p->simd->lanes;

	p->in = in;
	p->out = out;
	if (p->dims == 3) {
		bs_team_run(p->team, plane_forward, p, (int)p->matrix[2]);
		bs_team_run(p->team, lines_z, p, (int)p->matrix[1]);
		bs_team_run(p->team, plane_inverse, p, (int)p->matrix[2]);
		return;
	}
	bs_team_run(p->team, rows_forward, p, (int)((p->matrix[1] + L - 1) / L));
	bs_team_run(p->team, columns, p, (int)((p->matrix[0] + L - 1) / L));
	bs_team_run(p->team, rows_inverse, p, (int)((p->matrix[1] + L - 1) / L));
}
