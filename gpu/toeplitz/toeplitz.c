/* gpu/toeplitz/toeplitz.c - host twin; see toeplitz.h */
#include "gpu/toeplitz/toeplitz.h"

#include <stdlib.h>
#include <string.h>

#include "core/sizes.h"
#include "gpu/fft/hermitian.h"
#include "gpu/toeplitz/q.h"
#include "gpu/toeplitz/toeplitz_simd.h"

/*
 * 3D: hybrid is [y][x block], blocks of lines along z, one coil at a time; each member of the team
 * has a plane [x block] of lines along y. 2D: hybrid is [coil][x block], blocks of lines along y,
 * for all coils. The elements of a block of 2D, or of a plane, are rounded up to whole squares,
 * which are transposed for the transform along x.
 */
struct bs_toeplitz {
	struct bs_toeplitz_spec s;
	const struct bs_toeplitz_kernels *v;
	struct bs_team *team;
	struct bs_line line[3];
	uint32_t grid[3];
	uint32_t lanes, blocks; /* blocks of lanes along x */
	/* squares along y on the padded grid, each as many elements as a vector has lanes */
	uint32_t squares;
	size_t block_size;     /* floats between blocks of the hybrid */
	size_t plane_step;     /* floats between blocks of a plane, 3D */
	size_t work_size;      /* floats of one work block */
	size_t spectrum_plane; /* floats of one z of the spectrum */
	float *factors, *spectrum, *hybrid, *planes, *work;
	/* These members belong to the run in progress. */
	const float *in, *maps;
	float *out;
	uint32_t coil, coils;
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static int shape_plan(struct bs_toeplitz *t, const struct bs_toeplitz_spec *s, struct bs_fail *why)
{
	uint32_t longest = 1;

	memset(t, 0, sizeof(*t));
	t->s = *s;
	t->v = BS_ISA_PICK(bs_toeplitz_kernels);
	t->lanes = t->v->lanes;
	if (s->dims != 2 && s->dims != 3)
		return bs_fail(why, BS_ERR_CONFIG, "Toeplitz: %u dimensions (2 or 3)", s->dims);
	if (s->coils == 0 || s->coils > BS_COILS_MAX)
		return bs_fail(why, BS_ERR_CONFIG, "Toeplitz: %u coils (1 to %u)", s->coils,
			       BS_COILS_MAX);
	for (uint32_t a = 0; a < 3; a++) {
		t->grid[a] = a < s->dims && s->matrix[a] > 0 && s->matrix[a] <= BS_LINE_MAX / 2
				     ? bs_line_size(2 * s->matrix[a] - 1)
				     : 1;
		if (a < s->dims ? t->grid[a] < 2 : s->matrix[a] != 1)
			return bs_fail(why, BS_ERR_CONFIG, "Toeplitz: matrix %c is %u", "xyz"[a],
				       s -> matrix[a]);
		if (round_up(s->matrix[a], t->lanes) > longest)
			longest = (uint32_t)round_up(s->matrix[a], t->lanes);
		if (t->grid[a] > longest)
			longest = t->grid[a];
	}
	t->blocks = (s->matrix[0] + t->lanes - 1) / t->lanes;
	t->squares = (t->grid[1] + t->lanes - 1) / t->lanes;
	t->work_size = (size_t)longest * 2 * t->lanes;
	/* one element is added, because blocks a power of two apart would
	 * share sets of the cache */
	t->plane_step = ((size_t)t->squares * t->lanes + 1) * 2 * t->lanes;
	t->block_size = s->dims == 3 ? ((size_t)t->grid[2] + 1) * 2 * t->lanes : t->plane_step;
	t->spectrum_plane = (size_t)t->squares * t->grid[0] * t->lanes;
	return 0;
}

static size_t factor_floats(const struct bs_toeplitz *t)
{
	return bs_line_factors(t->grid[0]) + bs_line_factors(t->grid[1]) +
	       bs_line_factors(t->grid[2]);
}

static size_t hybrid_floats(const struct bs_toeplitz *t)
{
	return t->block_size * t->blocks * (t->s.dims == 3 ? t->s.matrix[1] : t->s.coils);
}

static size_t plane_floats(const struct bs_toeplitz *t)
{
	return t->s.dims == 3 ? t->plane_step * t->blocks : 0;
}

static void lay_out(struct bs_toeplitz *t, struct bs_room *r)
{
	bs_room_take(r, &t->factors, "FFT factors", 1, factor_floats(t) * 4);
	bs_room_take(r, &t->spectrum, "spectrum of Q", 1, t->spectrum_plane * t->grid[2] * 4);
	bs_room_take(r, &t->hybrid, "half-transformed image", 1, hybrid_floats(t) * 4);
	bs_room_take(r, &t->planes, "planes", BS_TEAM_MAX, plane_floats(t) * 4);
	bs_room_take(r, &t->work, "FFT lines", (uint64_t)BS_TEAM_MAX * 3, t->work_size * 4);
}

int bs_toeplitz_need(const struct bs_toeplitz_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_toeplitz t;
	int rc = shape_plan(&t, s, why);

	if (rc == 0)
		lay_out(&t, &room);
	return rc;
}

/*
 * Makes the real spectrum, scaled by the number of grid points, in the order in which cross reads
 * it. It is computed in double: Q is largest at 0, and the solver also needs the small eigenvalues.
 */
static int make_spectrum(struct bs_toeplitz *t, const float *q, struct bs_fail *why)
{
	const uint32_t *G = t->grid;
	struct bs_q_spec qs = { .dims = t->s.dims,
				.matrix = { t->s.matrix[0], t->s.matrix[1], t->s.matrix[2] } };
	size_t row = bs_hermitian_row(G[0]);
	double *grid = calloc((size_t)G[1] * G[2] * row, 8);
	double scale = 1.0 / ((double)G[0] * G[1] * G[2]);
	int rc = BS_ERR_NOMEM;

	for (int32_t z = 1 - (int32_t)qs.matrix[2]; grid != NULL && z < (int32_t)qs.matrix[2]; z++)
		for (int32_t y = 1 - (int32_t)qs.matrix[1]; y < (int32_t)qs.matrix[1]; y++) {
			const int32_t n[3] = { 0, y, z };
			const float *from = q + 2 * bs_q_index(&qs, n);
			size_t gz = (size_t)(z < 0 ? z + (int32_t)G[2] : z);
			size_t gy = (size_t)(y < 0 ? y + (int32_t)G[1] : y);
			double *to = grid + (gz * G[1] + gy) * row;

			for (size_t x = 0; x < 2 * (size_t)qs.matrix[0]; x++)
				to[x] = scale * (double)from[x];
		}
	if (grid != NULL)
		rc = bs_hermitian_spectrum(grid, G, t->team);
	for (size_t z = 0; rc == 0 && z < G[2]; z++)
		for (size_t y = 0; y < G[1]; y++) {
			float *to = t->spectrum + z * t->spectrum_plane +
				    y / t->lanes * t->lanes * G[0] + y % t->lanes;

			for (size_t x = 0; x < G[0]; x++)
				to[x * t->lanes] = (float)grid[(z * G[1] + y) * row + x];
		}
	free(grid);
	if (rc != 0)
		return bs_fail(why, rc, "spectrum of Q on %ux%ux%u", G[0], G[1], G[2]);
	return 0;
}

int bs_toeplitz_plan(struct bs_toeplitz **plan, const struct bs_toeplitz_spec *s, const float *q,
		     struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	struct bs_toeplitz *t = malloc(sizeof(*t));
	struct bs_room room = { .arena = arena };
	float *factors;
	int rc;

	if (t == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "Toeplitz plan");
	rc = shape_plan(t, s, why);
	if (rc != 0)
		goto fail;
	t->team = team;
	lay_out(t, &room);
	if (room.full) {
		rc = bs_fail(why, BS_ERR_NOMEM, "Toeplitz plan: the arena is too small");
		goto fail;
	}
	t->work_size = round_up(t->work_size, BS_ALIGN / 4);
	factors = t->factors;
	for (uint32_t a = 0; a < s->dims; a++) {
		bs_line_make(&t->line[a], t->grid[a], factors);
		factors += bs_line_factors(t->grid[a]);
	}
	rc = make_spectrum(t, q, why);
	if (rc != 0)
		goto fail;
	*plan = t;
	return 0;
fail:
	free(t);
	return rc;
}

void bs_toeplitz_close(struct bs_toeplitz *t)
{
	free(t);
}

static struct bs_toeplitz_work work_of(const struct bs_toeplitz *t, int member)
{
	float *w = t->work + (size_t)member * 3 * t->work_size;

	return (struct bs_toeplitz_work){ { w, w + t->work_size, w + 2 * t->work_size } };
}

static uint32_t width_of(const struct bs_toeplitz *t, uint32_t block)
{
	uint32_t left = t->s.matrix[0] - block * t->lanes;

	return left < t->lanes ? left : t->lanes;
}

/* --- 3D, one coil: lines along z, planes, lines along z ------------------------------------- */

/* The lines of block b along an axis, 1 or 2; at: the map's value at the first one's start. */
static struct bs_toeplitz_lines lines_of(const struct bs_toeplitz *t, uint64_t at, uint32_t axis,
					 uint32_t b)
{
	const uint32_t *N = t->s.matrix;

	return (struct bs_toeplitz_lines){ t->maps != NULL ? t->maps + 2 * at : NULL,
					   axis == 2 ? (size_t)N[0] * N[1] : N[0], N[axis],
					   width_of(t, b) };
}

/* A task transforms the lines along z of one y into hybrid. */
static void volume_in(void *arg, int y, int member)
{
	struct bs_toeplitz *t = arg;
	struct bs_toeplitz_work w = work_of(t, member);
	const uint32_t *N = t->s.matrix;
	uint64_t coil = t->coil * bs_box_size(t->s.matrix);
	const float *in = t->in + 2 * (t->maps != NULL ? 0 : coil);

	for (uint32_t b = 0; b < t->blocks; b++) {
		size_t at = (size_t)y * N[0] + (size_t)b * t->lanes;
		const struct bs_toeplitz_lines of = lines_of(t, coil + at, 2, b);

		t->v->lines_in(&t->line[2], in + 2 * at, &of,
			       t->hybrid + ((size_t)y * t->blocks + b) * t->block_size, &w);
	}
}

/* A task transforms the plane at one z of the padded grid; multiplies it and transforms it back. */
static void volume_plane(void *arg, int z, int member)
{
	struct bs_toeplitz *t = arg;
	struct bs_toeplitz_work w = work_of(t, member);
	float *plane = t->planes + (size_t)member * round_up(plane_floats(t), BS_ALIGN / 4);
	const float *spectrum = t->spectrum + (size_t)z * t->spectrum_plane;
	size_t row = t->blocks * t->block_size; /* floats from one y to the next */

	for (uint32_t b = 0; b < t->blocks; b++)
		t->v->middle_in(&t->line[1],
				t->hybrid + b * t->block_size + (size_t)z * 2 * t->lanes, row,
				t->s.matrix[1], plane + b * t->plane_step, &w);
	for (uint32_t i = 0; i < t->squares; i++)
		t->v->cross(&t->line[0], plane + (size_t)i * 2 * t->lanes * t->lanes, t->plane_step,
			    t->s.matrix[0], spectrum + (size_t)i * t->lanes * t->grid[0], &w);
	for (uint32_t b = 0; b < t->blocks; b++)
		t->v->middle_out(&t->line[1], plane + b * t->plane_step,
				 t->hybrid + b * t->block_size + (size_t)z * 2 * t->lanes, row,
				 t->s.matrix[1], &w);
}

/* A task transforms the lines along z of one y back to the image. */
static void volume_out(void *arg, int y, int member)
{
	struct bs_toeplitz *t = arg;
	struct bs_toeplitz_work w = work_of(t, member);
	const uint32_t *N = t->s.matrix;
	uint64_t coil = t->coil * bs_box_size(t->s.matrix);
	float *out = t->out + 2 * (t->maps != NULL ? 0 : coil);

	for (uint32_t b = 0; b < t->blocks; b++) {
		size_t at = (size_t)y * N[0] + (size_t)b * t->lanes;
		const struct bs_toeplitz_lines of = lines_of(t, coil + at, 2, b);

		t->v->lines_out(&t->line[2],
				t->hybrid + ((size_t)y * t->blocks + b) * t->block_size,
				out + 2 * at, &of, t->maps != NULL && t->coil > 0, &w);
	}
}

/* --- 2D, all coils: lines along y, squares, lines along y ----------------------------------- */

/* A task transforms lines along y of a block of a coil into hybrid. */
static void image_in(void *arg, int task, int member)
{
	struct bs_toeplitz *t = arg;
	struct bs_toeplitz_work w = work_of(t, member);
	uint32_t b = (uint32_t)task % t->blocks;
	uint64_t coil = (uint32_t)task / t->blocks * bs_box_size(t->s.matrix);
	size_t at = (size_t)b * t->lanes;
	const struct bs_toeplitz_lines of = lines_of(t, coil + at, 1, b);

	t->v->lines_in(&t->line[1], t->in + 2 * (at + (t->maps != NULL ? 0 : coil)), &of,
		       t->hybrid + (size_t)task * t->block_size, &w);
}

/* A task transforms a square of padded lines of a coil and multiplies it. */
static void image_cross(void *arg, int task, int member)
{
	struct bs_toeplitz *t = arg;
	struct bs_toeplitz_work w = work_of(t, member);
	uint32_t i = (uint32_t)task % t->squares;
	float *blocks = t->hybrid + (uint32_t)task / t->squares * t->blocks * t->block_size;

	t->v->cross(&t->line[0], blocks + (size_t)i * 2 * t->lanes * t->lanes, t->block_size,
		    t->s.matrix[0], t->spectrum + (size_t)i * t->lanes * t->grid[0], &w);
}

/*
 * A task transforms a block of a coil back; for sense, a block of all coils in order, onto one
 * image.
 */
static void image_out(void *arg, int task, int member)
{
	struct bs_toeplitz *t = arg;
	struct bs_toeplitz_work w = work_of(t, member);
	uint32_t b = (uint32_t)task % t->blocks;
	uint32_t first = t->maps != NULL ? 0 : (uint32_t)task / t->blocks;
	uint32_t last = t->maps != NULL ? t->coils : first + 1;
	size_t at = (size_t)b * t->lanes;

	for (uint32_t c = first; c < last; c++) {
		uint64_t coil = c * bs_box_size(t->s.matrix);
		const struct bs_toeplitz_lines of = lines_of(t, coil + at, 1, b);

		t->v->lines_out(
			&t->line[1], t->hybrid + ((size_t)c * t->blocks + b) * t->block_size,
			t->out + 2 * (at + (t->maps != NULL ? 0 : coil)), &of, c > first, &w);
	}
}

static void run(struct bs_toeplitz *t, uint32_t coils, const float *maps, const float *in,
		float *out)
{
	t->in = in;
	t->out = out;
	t->maps = maps;
	t->coils = coils;
	if (t->s.dims == 2) {
		bs_team_run(t->team, image_in, t, (int)(coils * t->blocks));
		bs_team_run(t->team, image_cross, t, (int)(coils * t->squares));
		bs_team_run(t->team, image_out, t, (int)((maps != NULL ? 1 : coils) * t->blocks));
		return;
	}
	for (t->coil = 0; t->coil < coils; t->coil++) {
		bs_team_run(t->team, volume_in, t, (int)t->s.matrix[1]);
		bs_team_run(t->team, volume_plane, t, (int)t->grid[2]);
		bs_team_run(t->team, volume_out, t, (int)t->s.matrix[1]);
	}
}

void bs_toeplitz_apply(struct bs_toeplitz *t, uint32_t coils, const float *in, float *out)
{
	run(t, coils, NULL, in, out);
}

void bs_toeplitz_sense(struct bs_toeplitz *t, uint32_t coils, const float *maps, const float *in,
		       float *out)
{
	run(t, coils, maps, in, out);
}
