/*
 * gpu/image/unfold.c - host twin; see unfold.h
 *
 * A block is as many columns of x as a vector has lanes. All that happens to it between two vectors
 * of the solver (a coil's map, the transforms, the lines) happens while the block is in the cache.
 * Where x has one column, a lane has a coil instead, and "a coil" is as many as there are lanes.
 * The one block that there is then is shared out by partitions, by lines, by partitions again.
 */
#include "gpu/image/unfold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/fft/fft.h"
#include "gpu/image/unfold_simd.h"
#include "gpu/solve/csr.h"

#define PARTS 8 /* shares of the one block whose lanes have coils */

struct bs_unfold {
	struct bs_unfold_spec s;
	struct bs_team *team;
	const struct bs_fft_kernels *fft;
	const struct bs_unfold_kernels *k;
	struct bs_fft along[2]; /* transforms along y and z */
	struct bs_pcg *pcg;
	const struct bs_csr *w;
	bool off;        /* W is not used */
	uint32_t beside; /* coils, where lanes have coils; 0: lanes have columns */
	uint64_t voxels;
	uint32_t blocks, slots;
	/* floats in a row of a block; floats in a partition of a block on the encoded grid */
	size_t cell, plane;
	size_t slot; /* floats of a team member's workspace */
	float *work;
	float *maps; /* maps [block][coil][set][z][y] */
	/* keep [kz][ky]: the line came; any [ky]: some partition of it came; k = 0 first */
	uint8_t *keep, *any;
	struct bs_unfold_group group; /* slices that the lines of the next solve hold */
	float *phases;                /* their phases, as bs_unfold_phases */
	float *b;
	float *wx; /* product W x, [rows of W] complex */
	/* The next members belong to the operation in progress. */
	const float *given; /* maps of the caller */
	const float *in;
	float *out;
	uint32_t coil; /* coils that the parts have in hand */
};

/*
 * Blocks of one team member: x, sum [set][z][y]; a, b [z][encoded y]; line [2][encoded z]. z and
 * ky: the first partition and line to do, and the one after the last.
 */
struct work {
	float *x, *sum, *a, *b, *line;
	uint32_t z[2], ky[2];
};

/* Takes the widest vectors that this machine has, and of coils no more than fill them. */
static void pick_kernels(struct bs_unfold *u)
{
	u->fft = BS_ISA_PICK(bs_fft_kernels);
	u->k = BS_ISA_PICK(bs_unfold_kernels);
#if defined(__x86_64__)
	if (u->beside > 0 && u->beside <= bs_fft_kernels_v3.lanes && bs_isa() == BS_ISA_V4) {
		u->fft = &bs_fft_kernels_v3;
		u->k = &bs_unfold_kernels_v3;
	}
#endif
}

static void shape_plan(struct bs_unfold *u, const struct bs_unfold_spec *s)
{
	memset(u, 0, sizeof(*u));
	u->s = *s;
	u->beside = s->matrix[0] == 1 && s->group == 0 ? s->coils : 0;
	pick_kernels(u);
	u->voxels = (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	u->blocks = (s->matrix[0] + u->fft->lanes - 1) / u->fft->lanes;
	u->slots = u->blocks < BS_TEAM_MAX ? u->blocks : BS_TEAM_MAX;
	u->cell = (size_t)2 * u->fft->lanes;
	if (u->beside > 0)
		u->s.coils = (s->coils + u->fft->lanes - 1) / u->fft->lanes;
	/* one row is added, because partitions a power of two apart would
	 * share sets of the cache */
	u->plane = ((size_t)s->encoded[0] + (s->matrix[2] > 1 ? 1 : 0)) * u->cell;
	u->slot = 2 * s->sets * s->matrix[2] * s->matrix[1] * u->cell +
		  2 * s->matrix[2] * u->plane +
		  2 * (u->beside > 0 ? PARTS : 1) * s->encoded[1] * u->cell;
	u->slot = bs_slot(u->slot * sizeof(float)) / sizeof(float);
}

/* Rows of a set; sets lie side by side in images and in blocks. */
static size_t rows_of(const struct bs_unfold *u)
{
	return (size_t)u->s.matrix[1] * u->s.matrix[2];
}

/* Floats of a block's maps. */
static size_t maps_of(const struct bs_unfold *u)
{
	return (size_t)u->s.coils * u->s.sets * rows_of(u) * u->cell;
}

static struct bs_pcg_spec pcg_of(const struct bs_unfold *u)
{
	return (struct bs_pcg_spec){ u->voxels * u->s.sets, u->s.iterations, false };
}

static size_t lines_of(const struct bs_unfold_spec *s)
{
	return (size_t)s->encoded[0] * s->encoded[1];
}

static void lay_out(struct bs_unfold *u, struct bs_room *r)
{
	const struct bs_unfold_spec *s = &u->s;

	bs_room_take(r, &u->work, "blocks of columns", u->slots, u->slot * sizeof(float));
	bs_room_take(r, &u->maps, "maps by blocks", 1, u->blocks * maps_of(u) * sizeof(float));
	bs_room_take(r, &u->keep, "lines that came", 1, lines_of(s) + s->encoded[0]);
	bs_room_take(r, &u->phases, "phases of slices", s->group > 0,
		     (uint64_t)s->matrix[2] * s->encoded[0] * 8);
	bs_room_take(r, &u->b, "right-hand side", s->sets, u->voxels * 8);
}

int bs_unfold_need(const struct bs_unfold_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_unfold u;
	struct bs_pcg_spec g;

	for (int a = 0; a < 2; a++)
		if (s->matrix[a + 1] == 0 || s->encoded[a] > 4096 ||
		    (s->matrix[a + 1] > s->encoded[a] && (a == 0 || s->group == 0)))
			return bs_fail(why, BS_ERR_CONFIG, "matrix %c is %u, encoded %u", "yz"[a],
				       s -> matrix[a + 1], s -> encoded[a]);
	if (s->group > 0 && (s->encoded[1] != 1 || s->sets != 1 || s->matrix[2] > 4096))
		return bs_fail(why, BS_ERR_CONFIG,
			       "SENSE: %u slices at once, %u partitions, %u sets", s->matrix[2],
			       s->encoded[1], s->sets);
	if (s->matrix[0] == 0 || s->matrix[0] > 4096 || s->coils == 0 || s->coils > 4096 ||
	    s->sets == 0 || s->sets > BS_UNFOLD_SETS_MAX)
		return bs_fail(why, BS_ERR_CONFIG, "SENSE: matrix x is %u, %u coils, %u sets",
			       s->matrix[0], s->coils, s->sets);
	shape_plan(&u, s);
	g = pcg_of(&u);
	lay_out(&u, &room);
	return bs_pcg_need(&g, need, why);
}

/* Takes the vector of W's products and touches it now, so that no page fault comes after arm. */
static int take_w(struct bs_unfold *u, const struct bs_csr *w, struct bs_fail *why)
{
	if (w->cols != u->voxels)
		return bs_fail(why, BS_ERR_SIZE, "SENSE: W has %llu columns, an image %llu voxels",
			       (unsigned long long)w->cols, (unsigned long long)u->voxels);
	u->wx = malloc(w->rows * 8);
	if (u->wx == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "SENSE: the product with W");
	memset(u->wx, 0, w->rows * 8);
	u->w = w;
	return 0;
}

int bs_unfold_plan(struct bs_unfold **plan, const struct bs_unfold_spec *s, const struct bs_csr *w,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	struct bs_unfold *u = malloc(sizeof(*u));
	struct bs_room room = { .arena = arena };
	struct bs_pcg_spec g;
	int rc = 0;

	if (u == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "SENSE plan");
	shape_plan(u, s);
	g = pcg_of(u);
	u->team = team;
	lay_out(u, &room);
	if (room.full)
		rc = bs_fail(why, BS_ERR_NOMEM, "SENSE plan: the arena is too small");
	else
		u->any = u->keep + lines_of(s);
	if (rc == 0)
		rc = bs_pcg_plan(&u->pcg, &g, arena, team, why);
	for (int a = 0; a < 2 && rc == 0; a++)
		if (bs_fft_plan(&u->along[a], s->encoded[a]) != 0)
			rc = bs_fail(why, BS_ERR_NOMEM, "SENSE plan: transforms");
	if (rc == 0 && w != NULL)
		rc = take_w(u, w, why);
	if (rc != 0) {
		bs_unfold_close(u);
		return rc;
	}
	*plan = u;
	return 0;
}

void bs_unfold_close(struct bs_unfold *u)
{
	if (u == NULL)
		return;
	bs_pcg_close(u->pcg);
	for (int a = 0; a < 2; a++)
		bs_fft_close(&u->along[a]);
	free(u->wx);
	free(u);
}

void bs_unfold_use_w(struct bs_unfold *u, bool use)
{
	u->off = !use;
}

static struct work work_of(const struct bs_unfold *u, int task, int member)
{
	/* where there are more members than slots, each block has a slot of its own */
	const int slot = bs_team_members(u->team) <= (int)u->slots ? member : task;
	const size_t image = (size_t)u->s.sets * u->s.matrix[2] * u->s.matrix[1] * u->cell;
	const size_t grid = u->s.matrix[2] * u->plane;
	float *at = u->work + (size_t)slot * u->slot;

	return (struct work){ .x = at,
			      .sum = at + image,
			      .a = at + 2 * image,
			      .b = at + 2 * image + grid,
			      .line = at + 2 * image + 2 * grid,
			      .z = { 0, u->s.matrix[2] },
			      .ky = { 0, u->s.encoded[0] } };
}

/* The share of a part: its partitions, its lines, and a line of its own. */
static struct work part_of(const struct bs_unfold *u, int part)
{
	struct work w = work_of(u, 0, 0);

	for (uint32_t i = 0; i < 2; i++) {
		w.z[i] = u->s.matrix[2] * ((uint32_t)part + i) / PARTS;
		w.ky[i] = u->s.encoded[0] * ((uint32_t)part + i) / PARTS;
	}
	w.line += 2 * (size_t)part * u->s.encoded[1] * u->cell;
	return w;
}

static uint32_t width_of(const struct bs_unfold *u, int task)
{
	const uint32_t left = u->s.matrix[0] - (uint32_t)task * u->fft->lanes;

	return left < u->fft->lanes ? left : u->fft->lanes;
}

static float *map_of(const struct bs_unfold *u, uint32_t coil, uint32_t set, int task)
{
	const size_t maps = ((size_t)task * u->s.coils + coil) * u->s.sets + set;

	return u->maps + maps * rows_of(u) * u->cell;
}

static void zero(const struct bs_unfold *u, float *row, uint32_t rows)
{
	memset(row, 0, rows * u->cell * sizeof(float));
}

/*
 * Transforms along z, keeps the lines that came, and transforms back: in place, partitions `plane`
 * floats apart.
 */
static void cross_partitions(const struct bs_unfold *u, float *grid, struct work w)
{
	const uint32_t Ey = u->s.encoded[0];
	const uint32_t Ez = u->s.encoded[1];
	const uint32_t Nz = u->s.matrix[2];
	float *const other = w.line + Ez * u->cell;

	for (uint32_t ky = w.ky[0]; ky < w.ky[1]; ky++) {
		float *at = grid + ky * u->cell;
		float *r;

		if (!u->any[ky]) {
			for (uint32_t z = 0; z < Nz; z++)
				zero(u, at + z * u->plane, 1);
			continue;
		}
		u->k->move(w.line, u->cell, at, u->plane, Nz);
		zero(u, w.line + Nz * u->cell, Ez - Nz);
		r = u->fft->run(&u->along[1], w.line, other, false);
		u->k->keep(r, u->keep + ky, Ey, Ez);
		r = u->fft->run(&u->along[1], r, r == w.line ? other : w.line, true);
		u->k->move(at, u->plane, r, u->cell, Nz);
	}
}

/* The blocks in which a transform along y from w.a ends, and begins. */
static float *end_of(const struct bs_unfold *u, struct work w)
{
	return u->along[0].passes % 2 != 0 ? w.b : w.a;
}

/* Transforms back from the block where forward transforms end, and adds S^H of it to sum. */
static void gather_coil(const struct bs_unfold *u, uint32_t coil, int task, struct work w,
			uint32_t first)
{
	const size_t plane = u->s.matrix[1] * u->cell;
	float *r = end_of(u, w);
	float *t = r == w.b ? w.a : w.b;

	for (uint32_t z = w.z[0]; z < w.z[1]; z++) {
		const float *a =
			u->fft->run(&u->along[0], r + z * u->plane, t + z * u->plane, true);

		for (uint32_t m = 0; m < u->s.sets; m++)
			u->k->gather(w.sum + m * rows_of(u) * u->cell + z * plane,
				     a + first * u->cell, map_of(u, coil, m, task) + z * plane,
				     u->s.matrix[1]);
	}
}

/* Computes F S x, but for the transform along z. */
static void spread_coil(const struct bs_unfold *u, uint32_t coil, int task, struct work w)
{
	const uint32_t y = u->s.matrix[1];
	const size_t plane = y * u->cell;

	for (uint32_t z = w.z[0]; z < w.z[1]; z++) {
		float *a = w.a + z * u->plane;

		for (uint32_t m = 0; m < u->s.sets; m++)
			u->k->times(a, w.x + m * rows_of(u) * u->cell + z * plane,
				    map_of(u, coil, m, task) + z * plane, y, m > 0);
		zero(u, a + plane, u->s.encoded[0] - y);
		(void)u->fft->run(&u->along[0], a, w.b + z * u->plane, false);
	}
}

/* Leaves of one coil's lines what M keeps. */
static void keep_lines(const struct bs_unfold *u, struct work w)
{
	float *r = end_of(u, w);

	if (u->s.group > 0)
		u->k->cross(r, u->plane, u->phases, u->s.matrix[2], u->s.encoded[0], true);
	else if (u->s.encoded[1] == 1)
		u->k->keep(r, u->keep, 1, u->s.encoded[0]);
	else
		cross_partitions(u, r, w);
}

static void columns_in(const struct bs_unfold *u, int task, float *to, const float *from,
		       size_t rows)
{
	u->fft->cols_in(to, from + 2 * (size_t)task * u->fft->lanes, 2 * (size_t)u->s.matrix[0],
			(uint32_t)rows, width_of(u, task), NULL, false);
}

static void columns_out(const struct bs_unfold *u, int task, float *to, const float *from,
			size_t rows)
{
	u->fft->cols_out(to + 2 * (size_t)task * u->fft->lanes, 2 * (size_t)u->s.matrix[0], from,
			 (uint32_t)rows, width_of(u, task), NULL);
}

/* Fills the lanes with what coils have side by side, from the first coil of group c on. */
static void coils_in(const struct bs_unfold *u, uint32_t c, float *to, const float *from)
{
	const uint32_t first = c * u->fft->lanes;

	u->k->beside(to, from + 2 * first * rows_of(u), rows_of(u), u->beside - first);
}

/* The weight of the identity. */
static float identity_of(const struct bs_unfold *u)
{
	const bool stands_in = u->w == NULL || (u->off && u->s.l2 == 0.0);

	return (float)(u->s.l2 + (stands_in ? u->s.lambda : 0.0));
}

/* Computes the sum over coils and sets of S^H F^H M F S x for a block of columns. */
static void apply_block(void *arg, int task, int member)
{
	const struct bs_unfold *u = arg;
	const struct work w = work_of(u, task, member);
	const size_t rows = u->s.sets * rows_of(u);

	columns_in(u, task, w.x, u->in, rows);
	memset(w.sum, 0, rows * u->cell * sizeof(float));
	for (uint32_t c = 0; c < u->s.coils; c++) {
		spread_coil(u, c, task, w);
		keep_lines(u, w);
		gather_coil(u, c, task, w, 0);
	}
	u->k->mix(w.sum, (float)(1.0 / (double)lines_of(&u->s)), w.x, identity_of(u), rows);
	columns_out(u, task, u->out, w.sum, rows);
}

static void spread_part(void *arg, int part)
{
	const struct bs_unfold *u = arg;
	const struct work w = part_of(u, part);
	const size_t rows = (size_t)(w.z[1] - w.z[0]) * u->s.matrix[1];

	for (uint32_t m = 0; m < u->s.sets && u->coil == 0; m++) {
		const size_t from = m * rows_of(u) + (size_t)w.z[0] * u->s.matrix[1];

		u->k->spread(w.x + from * u->cell, u->in + 2 * from, rows);
		zero(u, w.sum + from * u->cell, (uint32_t)rows);
	}
	spread_coil(u, u->coil, 0, w);
}

static void keep_part(void *arg, int part)
{
	const struct bs_unfold *u = arg;

	if (u->s.encoded[1] > 1 || part == 0) /* one partition is soon done */
		keep_lines(u, part_of(u, part));
}

static void gather_part(void *arg, int part)
{
	const struct bs_unfold *u = arg;
	const struct work w = part_of(u, part);
	const size_t rows = (size_t)(w.z[1] - w.z[0]) * u->s.matrix[1];
	const float scale = (float)(1.0 / (double)lines_of(&u->s));
	const float mu = identity_of(u);

	gather_coil(u, u->coil, 0, w, 0);
	for (uint32_t m = 0; m < u->s.sets && u->coil + 1 == u->s.coils; m++) {
		const size_t from = m * rows_of(u) + (size_t)w.z[0] * u->s.matrix[1];
		const float *restrict in = u->in + 2 * from;
		float *restrict out = u->out + 2 * from;

		u->k->collect(out, w.sum + from * u->cell, rows);
		for (size_t i = 0; i < 2 * rows; i++)
			out[i] = scale * out[i] + mu * in[i];
	}
}

/* The same where lanes have coils. */
static void apply_parts(struct bs_unfold *u)
{
	for (u->coil = 0; u->coil < u->s.coils; u->coil++) {
		bs_team_do(u->team, spread_part, u, PARTS);
		bs_team_do(u->team, keep_part, u, PARTS);
		bs_team_do(u->team, gather_part, u, PARTS);
	}
}

/* Copies the maps of a block side by side, since an iteration reads them from end to end. */
static void take_maps(const struct bs_unfold *u, const float *maps, int task)
{
	const uint32_t slices = u->s.group > 0 ? u->s.matrix[2] : 1;
	const size_t rows = rows_of(u) / slices;
	const size_t coil = (size_t)u->voxels / slices;

	for (uint32_t m = 0; m < u->s.sets && u->beside > 0; m++)
		for (uint32_t c = 0; c < u->s.coils; c++)
			coils_in(u, c, map_of(u, c, m, task),
				 maps + 2 * (size_t)m * u->beside * rows);
	for (uint32_t m = 0; m < u->s.sets && u->beside == 0; m++)
		for (uint32_t c = 0; c < u->s.coils; c++)
			for (uint32_t b = 0; b < slices; b++)
				columns_in(u, task, map_of(u, c, m, task) + b * rows * u->cell,
					   maps + 2 * (b * u->s.group +
						       ((size_t)m * u->s.coils + c) * coil),
					   rows);
}

/* Sets b = sum_c S_c^H F^H P^H F times the coils' images, which are on the encoded grid. */
static void combine_group(const struct bs_unfold *u, int task, struct work w)
{
	const uint32_t E = u->s.encoded[0];
	const size_t coil = (size_t)E * u->s.matrix[0];

	for (uint32_t c = 0; c < u->s.coils; c++) {
		columns_in(u, task, w.a, u->in + 2 * c * coil, E);
		(void)u->fft->run(&u->along[0], w.a, w.b, false);
		u->k->cross(end_of(u, w), u->plane, u->phases, u->s.matrix[2], E, false);
		gather_coil(u, c, task, w, E / 2 - u->s.matrix[1] / 2);
	}
	zero(u, w.x, (uint32_t)rows_of(u));
	u->k->mix(w.sum, (float)(1.0 / E), w.x, 0.0f, rows_of(u));
	columns_out(u, task, u->out, w.sum, rows_of(u));
}

/* Sets b = sum_c S_c^H times the coils' images. */
static void combine_block(void *arg, int task, int member)
{
	const struct bs_unfold *u = arg;
	const struct work w = work_of(u, task, member);
	const size_t rows = rows_of(u);

	take_maps(u, u->given, task);
	memset(w.sum, 0, u->s.sets * rows * u->cell * sizeof(float));
	if (u->s.group > 0) {
		combine_group(u, task, w);
		return;
	}
	for (uint32_t c = 0; c < u->s.coils; c++) {
		if (u->beside > 0)
			coils_in(u, c, w.x, u->in);
		else
			columns_in(u, task, w.x, u->in + 2 * c * u->voxels, rows);
		for (uint32_t m = 0; m < u->s.sets; m++)
			u->k->gather(w.sum + m * rows * u->cell, w.x, map_of(u, c, m, task), rows);
	}
	if (u->beside > 0)
		u->k->collect(u->out, w.sum, u->s.sets * rows);
	else
		columns_out(u, task, u->out, w.sum, u->s.sets * rows);
}

void bs_unfold_apply(struct bs_unfold *u, const float *in, float *out)
{
	u->in = in;
	u->out = out;
	if (u->beside > 0)
		apply_parts(u);
	else
		bs_team_run(u->team, apply_block, u, (int)u->blocks);
	if (u->w == NULL || u->off || u->s.lambda == 0.0)
		return;
	for (uint32_t m = 0; m < u->s.sets; m++) {
		bs_csr_forward(u->team, u->w, in + 2 * m * u->voxels, u->wx);
		bs_csr_adjoint_add(u->team, u->w, (float)u->s.lambda, u->wx,
				   out + 2 * m * u->voxels);
	}
}

static void apply_system(void *self, const float *in, float *out)
{
	bs_unfold_apply(self, in, out);
}

/* Copies the lines from k = 0 in the middle to k = 0 first, as the transforms have it. */
static void take_lines(struct bs_unfold *u, const uint8_t *lines)
{
	const uint32_t Ey = u->s.encoded[0];
	const uint32_t Ez = u->s.encoded[1];

	memset(u->any, 0, Ey);
	for (uint32_t kz = 0; kz < Ez; kz++)
		for (uint32_t ky = 0; ky < Ey; ky++) {
			const uint32_t z = (kz + Ez - Ez / 2) % Ez;
			const uint32_t y = (ky + Ey - Ey / 2) % Ey;

			u->keep[(size_t)z * Ey + y] = lines[(size_t)kz * Ey + ky];
			u->any[y] |= lines[(size_t)kz * Ey + ky];
		}
}

void bs_unfold_hold(struct bs_unfold *u, const struct bs_unfold_group *group)
{
	u->group = *group;
}

void bs_unfold_phases(float *phases, const struct bs_unfold_spec *s,
		      const struct bs_unfold_group *group, const uint8_t *lines, uint32_t middle)
{
	const uint32_t E = s->encoded[0];

	for (uint32_t b = 0; b < s->matrix[2]; b++)
		for (uint32_t ky = 0; ky < E; ky++) {
			const bool held = lines[ky] != 0 && b >= group->from && b < group->to;
			const double angle = 2.0 * M_PI * group->cycles[b] * ((double)ky - E / 2);
			float *to = phases + 2 * ((size_t)b * E + (ky + E - E / 2 + middle) % E);

			to[0] = held ? (float)cos(angle) : 0.0f;
			to[1] = held ? (float)sin(angle) : 0.0f;
		}
}

const float *bs_unfold_begin(struct bs_unfold *u, const float *maps, const uint8_t *lines,
			     const float *coil_images)
{
	if (u->s.group > 0)
		bs_unfold_phases(u->phases, &u->s, &u->group, lines, 0);
	else
		take_lines(u, lines);
	u->given = maps;
	u->in = coil_images;
	u->out = u->b;
	bs_team_run(u->team, combine_block, u, (int)u->blocks);
	return u->b;
}

void bs_unfold_solve(struct bs_unfold *u, const float *maps, const uint8_t *lines,
		     const float *coil_images, float *rho, const struct bs_pcg_stop *stop,
		     struct bs_pcg_result *result)
{
	const struct bs_pcg_system system = { u, apply_system, NULL };
	const float *b = bs_unfold_begin(u, maps, lines, coil_images);

	bs_pcg_solve(u->pcg, &system, b, rho, stop, result);
}
