/* gpu/calibrate/espirit.c - host twin; see espirit.h */
#include "gpu/calibrate/espirit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/protocol.h"
#include "core/sizes.h"
#include "gpu/calibrate/dense.h"
#include "gpu/calibrate/hankel.h"
#include "gpu/calibrate/maps_simd.h"
#include "gpu/calibrate/reference.h"

#define TAU   6.28318530717958647692
#define BATCH BS_MAPS_BATCH

/*
 * Places are where the kernel fits into the block. Elements are the samples under the kernel.
 * Points are the voxels of the smallest image that holds the kernels' correlations: 2 kernel - 1 on
 * each axis, as many as lags.
 */
struct bs_espirit {
	struct bs_espirit_spec s;
	struct bs_team *team;
	const struct bs_maps_kernels *simd;
	struct bs_hankel k;
	uint32_t points[3];
	uint32_t pairs; /* number of pairs of coils, padded */
	uint32_t line;  /* floats in a row of correlations: pairs x lags along x, padded */
	double *gram;   /* [rows][rows] complex, then its eigenvectors */
	double *gram_value;
	void *work;        /* workspace of LAPACK */
	double *lagged;    /* [member]: two blocks of complex double */
	double *coil_gram; /* Gram matrix of the coils, [coils][coils] complex */
	double *coil_value;
	float *u;                 /* eigenvectors of a batch, [place][re, im][BATCH] */
	float *v;                 /* kernels of a batch, [coil][element][re, im][BATCH] */
	float *f;                 /* kernels at the points, [coil][point][re, im][BATCH] */
	float *part;              /* [coil]: two arrays like f, sums along one axis and along two */
	float *g[2];              /* products of coils at the points, [point][re, im][pairs] */
	float *corr;              /* correlations [lag z][lag y][re, im][line] */
	float *plane;             /* correlations of a z, [lag y][re, im][line] */
	float *dft[3];            /* exp(+i2pi point lag / points), [axis][point][lag] complex */
	float *phase_x;           /* phases [lag][cos, sin][x] */
	float *phase_y, *phase_z; /* [voxel][lag] complex, exp(-i2pi lag n / field) */
	float *reference;         /* phase reference [coil] complex */
	float *row;               /* correlations of a row, [member][re, im][line] */
	float *scratch;           /* [member]: bs_maps_scratch floats */
	uint32_t phase_stride;
	size_t scratch_stride;
	/* These members belong to the run in progress, for the team's tasks. */
	const float *block;
	float *maps, *values;
	uint32_t kept, first; /* number of kernels that are kept; the first one of this batch */
	uint32_t z;
};

static int check_spec(const struct bs_espirit_spec *s, struct bs_fail *why)
{
	if (s->coils == 0 || s->coils > BS_COILS_MAX || s->sets == 0 || s->sets > s->coils ||
	    s->sets > BS_ESPIRIT_SETS_MAX)
		return bs_fail(why, BS_ERR_CONFIG,
			       "coil maps: %u coils, %u sets (at most %u coils, %u sets)", s->coils,
			       s->sets, BS_COILS_MAX, BS_ESPIRIT_SETS_MAX);
	for (int a = 0; a < 3; a++) {
		if (s->block[a] == 0 || s->block[a] > 1024 || s->kernel[a] == 0 ||
		    s->kernel[a] > s->block[a] || s->kernel[a] > BS_ESPIRIT_KERNEL_MAX)
			return bs_fail(why, BS_ERR_CONFIG,
				       "coil maps: a kernel of %u samples along %c, a block of %u "
				       "(kernel at most %u and the block)",
				       s->kernel[a], "xyz"[a], s -> block[a],
				       BS_ESPIRIT_KERNEL_MAX);
		if (s->matrix[a] == 0 || s->matrix[a] > 4096 || s->field[a] == 0 ||
		    s->field[a] > 8192)
			return bs_fail(why, BS_ERR_CONFIG,
				       "coil maps: matrix %c is %u, its field of view %u", "xyz"[a],
				       s -> matrix[a], s -> field[a]);
	}
	return 0;
}

/* Fills in the calibration matrix's shape for a block. */
static void shape_of(struct bs_hankel *k, const struct bs_espirit_spec *s, const uint32_t block[3])
{
	const uint64_t columns = bs_box_size(s->kernel) * s->coils;
	uint64_t places;

	k->coils = s->coils;
	for (int a = 0; a < 3; a++) {
		k->block[a] = block[a];
		k->kernel[a] = s->kernel[a];
		k->places[a] = block[a] - s->kernel[a] + 1;
	}
	places = bs_box_size(k->places);
	k->of_places = places < columns;
	k->rows = (uint32_t)(k->of_places ? places : columns);
}

/* Computes the sizes that follow from the spec, which has been checked. */
static int size(struct bs_espirit *e, const struct bs_espirit_spec *s, struct bs_fail *why)
{
	uint64_t line;

	memset(e, 0, sizeof(*e));
	e->s = *s;
	shape_of(&e->k, s, s->block);
	for (int a = 0; a < 3; a++)
		e->points[a] = 2 * s->kernel[a] - 1;
	if (e->k.rows > BS_ESPIRIT_GRAM_MAX)
		return bs_fail(why, BS_ERR_CONFIG,
			       "coil maps: %u coils, a kernel of %u x %u x %u in a block of "
			       "%u x %u x %u are %u equations (at most %u): a smaller kernel",
			       s->coils, s->kernel[0], s->kernel[1], s->kernel[2], s->block[0],
			       s->block[1], s->block[2], e->k.rows, BS_ESPIRIT_GRAM_MAX);
	e->pairs = bs_maps_padded(bs_maps_pairs(s->coils));
	line = (uint64_t)bs_maps_pairs(s->coils) * e->points[0];
	e->line = bs_maps_padded((uint32_t)line);
	e->phase_stride = bs_maps_padded(s->matrix[0]);
	e->scratch_stride = bs_maps_padded((uint32_t)bs_maps_scratch(s->coils));
	return 0;
}

/* Lays out the arrays; the check command lists their sum. */
static void lay_out(struct bs_espirit *e, struct bs_room *r)
{
	const struct bs_espirit_spec *s = &e->s;
	const uint64_t points = bs_box_size(e->points);
	const uint64_t lanes = 2 * BATCH * sizeof(float);
	const uint64_t rows = e->k.rows;
	const uint64_t line = (uint64_t)e->line * 8;
	const uint64_t most = bs_dense_eigen_bytes(e->k.rows);
	const uint64_t coil_work = bs_dense_eigen_bytes(s->coils);

	bs_room_take(r, &e->gram, "", 1, rows * rows * 16);
	bs_room_take(r, &e->gram_value, "", 1, rows * 8);
	bs_room_take(r, &e->work, "", 1, most > coil_work ? most : coil_work);
	bs_room_take(r, &e->lagged, "", 1, BS_TEAM_MAX * bs_hankel_work(&e->k) * 8);
	bs_room_take(r, &e->coil_gram, "", 1, (uint64_t)s->coils * s->coils * 16);
	bs_room_take(r, &e->coil_value, "", 1, s->coils * 8u);
	bs_room_take(r, &e->reference, "", 1, s->coils * 8u);
	bs_room_take(r, &e->u, "", 1, rows * lanes);
	bs_room_take(r, &e->v, "", 1, s->coils * bs_box_size(s->kernel) * lanes);
	bs_room_take(r, &e->f, "", 1, s->coils * points * lanes);
	bs_room_take(r, &e->part, "", 1, s->coils * points * 2 * lanes);
	bs_room_take(r, &e->g[0], "", 1, points * e->pairs * 8);
	bs_room_take(r, &e->g[1], "", 1, points * e->pairs * 8);
	bs_room_take(r, &e->corr, "", 1, (uint64_t)e->points[1] * e->points[2] * line);
	bs_room_take(r, &e->plane, "", 1, e->points[1] * line);
	bs_room_take(r, &e->row, "", 1, BS_TEAM_MAX * line);
	bs_room_take(r, &e->phase_x, "", 1, (uint64_t)2 * s->kernel[0] * e->phase_stride * 4);
	bs_room_take(r, &e->phase_y, "", 1, (uint64_t)s->matrix[1] * e->points[1] * 8);
	bs_room_take(r, &e->phase_z, "", 1, (uint64_t)s->matrix[2] * e->points[2] * 8);
	bs_room_take(r, &e->scratch, "", 1, BS_TEAM_MAX * e->scratch_stride * 4);
	for (int a = 0; a < 3; a++)
		bs_room_take(r, &e->dft[a], "", 1, (uint64_t)e->points[a] * e->points[a] * 8);
}

static void phase(float *to, double angle)
{
	to[0] = (float)cos(angle);
	to[1] = (float)sin(angle);
}

static int64_t centered(uint32_t index, uint32_t size)
{
	return (int64_t)index - size / 2;
}

static void phases(struct bs_espirit *e)
{
	const struct bs_espirit_spec *s = &e->s;
	float *const along[3] = { NULL, e->phase_y, e->phase_z };

	for (int a = 0; a < 3; a++) {
		const uint32_t n = e->points[a];

		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < n; k++)
				phase(e->dft[a] + 2 * (i * n + k), TAU * (i * k % n) / n);
		for (uint32_t i = 0; along[a] != NULL && i < s->matrix[a]; i++)
			for (uint32_t k = 0; k < n; k++)
				phase(along[a] + 2 * ((size_t)i * n + k),
				      -TAU * (double)centered(i, s->matrix[a]) *
					      (double)centered(k, n) / s->field[a]);
	}
	for (uint32_t k = 1; k < s->kernel[0]; k++)
		for (uint32_t x = 0; x < s->matrix[0]; x++) {
			float *to = e->phase_x + 2 * (size_t)(k - 1) * e->phase_stride + x;
			float factor[2];

			phase(factor, TAU * k * (double)centered(x, s->matrix[0]) / s->field[0]);
			to[0] = factor[0];
			to[e->phase_stride] = factor[1];
		}
}

int bs_espirit_need(const struct bs_espirit_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { 0 };
	struct bs_espirit e;
	int rc = check_spec(s, why);

	if (rc == 0)
		rc = size(&e, s, why);
	if (rc != 0)
		return rc;
	lay_out(&e, &room);
	bs_need_add(need, "ESPIRiT", 1, room.bytes);
	return 0;
}

int bs_espirit_plan(struct bs_espirit **plan, const struct bs_espirit_spec *s,
		    struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	struct bs_espirit *e = calloc(1, sizeof(*e));
	struct bs_room room = { .arena = arena };
	int rc = e == NULL ? bs_fail(why, BS_ERR_NOMEM, "coil maps") : check_spec(s, why);

	if (rc == 0)
		rc = size(e, s, why);
	if (rc == 0)
		lay_out(e, &room);
	if (rc == 0 && room.full)
		rc = bs_fail(why, BS_ERR_NOMEM, "coil maps: the arena is too small");
	if (rc == 0)
		rc = bs_dense_open(why);
	if (rc != 0) {
		free(e);
		return rc;
	}
	e->team = team;
	e->simd = BS_ISA_PICK(bs_maps_kernels);
	phases(e);
	*plan = e;
	return 0;
}

void bs_espirit_close(struct bs_espirit *e)
{
	free(e);
}

/* ---- the kernels' correlations ---- */

/*
 * Takes a batch of eigenvectors, one in each lane; those of places are divided by their singular
 * value.
 */
static void take_vectors(void *arg, int task)
{
	struct bs_espirit *e = arg;
	const uint32_t at = (uint32_t)task;
	float *to = (e->k.of_places ? e->u : e->v) + (size_t)at * 2 * BATCH;

	for (uint32_t j = 0; j < BATCH; j++) {
		const uint32_t column = e->first + j;
		const double *from = e->gram + 2 * ((size_t)column * e->k.rows + at);
		const double scale = column >= e->kept ? 0.0
				     : e->k.of_places  ? 1.0 / sqrt(e->gram_value[column])
						       : 1.0;

		to[j] = (float)(scale != 0.0 ? from[0] * scale : 0.0);
		to[BATCH + j] = (float)(scale != 0.0 ? from[1] * scale : 0.0);
	}
}

/*
 * A transform of blocks of 2 wide floats along one axis, from n to `points` of them. inner: number
 * of blocks between neighbors on the axis; outer: number of such axes' lines.
 */
struct axis {
	const float *dft;
	uint32_t n, points, wide;
	size_t inner, outer;
};

static void transform_axis(const struct bs_espirit *e, const struct axis *a, float *to,
			   const float *from)
{
	const size_t block = 2 * (size_t)a->wide;

	for (size_t o = 0; o < a->outer; o++)
		for (uint32_t p = 0; p < a->points; p++)
			for (size_t i = 0; i < a->inner; i++)
				e->simd->weigh(to + ((o * a->points + p) * a->inner + i) * block,
					       from + (o * a->n * a->inner + i) * block,
					       a->inner * block, a->dft + 2 * (size_t)p * a->points,
					       a->n, a->wide);
}

/* Transforms a coil's kernels of the batch to the points: v to f. */
static void transform_kernels(void *arg, int task)
{
	struct bs_espirit *e = arg;
	const uint32_t *k = e->s.kernel;
	const uint32_t *n = e->points;
	const size_t lanes = 2 * BATCH;
	const size_t points = (size_t)bs_box_size(n);
	float *v = e->v + (size_t)task * bs_box_size(k) * lanes;
	float *one = e->part + (size_t)task * 2 * points * lanes;
	float *two = one + points * lanes;
	const struct axis x = { e->dft[0], k[0], n[0], BATCH, 1, (size_t)k[2] * k[1] };
	const struct axis y = { e->dft[1], k[1], n[1], BATCH, n[0], k[2] };
	const struct axis z = { e->dft[2], k[2], n[2], BATCH, (size_t)n[0] * n[1], 1 };

	if (e->k.of_places) {
		struct bs_maps_patch p = { .samples = e->block +
						      2 * (size_t)task * bs_box_size(e->k.block) };

		memcpy(p.block, e->k.block, sizeof(p.block));
		memcpy(p.kernel, k, sizeof(p.kernel));
		memcpy(p.places, e->k.places, sizeof(p.places));
		e->simd->patch(&p, e->u, v);
	}
	transform_axis(e, &x, one, v);
	transform_axis(e, &y, two, one);
	transform_axis(e, &z, e->f + (size_t)task * points * lanes, two);
}

static void correlate(void *arg, int task)
{
	struct bs_espirit *e = arg;
	const size_t lanes = 2 * BATCH;

	e->simd->outer(e->g[0] + (size_t)task * 2 * e->pairs, e->f + (size_t)task * lanes,
		       (size_t)bs_box_size(e->points) * lanes, e->s.coils, e->pairs);
}

/* Transforms from points to lags, which are in the order 0, 1, .. kernel - 1, 1 - kernel, .. -1. */
static void to_lags(struct bs_espirit *e)
{
	const uint32_t *n = e->points;
	const float scale = (float)(1.0 / (double)(bs_box_size(n) * bs_box_size(e->s.kernel)));
	const struct axis x = { e->dft[0], n[0], n[0], e->pairs, 1, (size_t)n[2] * n[1] };
	const struct axis y = { e->dft[1], n[1], n[1], e->pairs, n[0], n[2] };
	const struct axis z = { e->dft[2], n[2], n[2], e->pairs, (size_t)n[0] * n[1], 1 };
	const uint32_t pairs = bs_maps_pairs(e->s.coils);

	transform_axis(e, &x, e->g[1], e->g[0]);
	transform_axis(e, &y, e->g[0], e->g[1]);
	transform_axis(e, &z, e->g[1], e->g[0]);
	for (uint32_t lz = 0; lz < n[2]; lz++)
		for (uint32_t ly = 0; ly < n[1]; ly++) {
			float *to = e->corr + ((size_t)lz * n[1] + ly) * 2 * e->line;
			const size_t row = ((size_t)(lz + e->s.kernel[2]) % n[2]) * n[1] +
					   (ly + e->s.kernel[1]) % n[1];

			for (uint32_t lx = 0; lx < n[0]; lx++) {
				const float *from =
					e->g[1] +
					(row * n[0] + (lx + e->s.kernel[0]) % n[0]) * 2 * e->pairs;

				for (uint32_t p = 0; p < pairs; p++) {
					to[p * n[0] + lx] = from[p] * scale;
					to[e->line + p * n[0] + lx] = from[e->pairs + p] * scale;
				}
			}
		}
}

/* ---- the voxels ---- */

static void make_row(void *arg, int task, int member)
{
	struct bs_espirit *e = arg;
	const struct bs_espirit_spec *s = &e->s;
	const size_t voxels = (size_t)bs_box_size(s->matrix);
	const size_t at = ((size_t)e->z * s->matrix[1] + (uint32_t)task) * s->matrix[0];
	float *line = e->row + (size_t)member * 2 * e->line;
	const struct bs_maps_row r = {
		.coils = s->coils,
		.sets = s->sets,
		.n = s->matrix[0],
		.crop = (float)s->crop,
		.reference = e->reference,
		.maps = e->maps + 2 * at,
		.set_stride = s->coils * voxels,
		.coil_stride = voxels,
		.values = e->values != NULL ? e->values + at : NULL,
		.value_stride = voxels,
		.scratch = e->scratch + (size_t)member * e->scratch_stride,
	};

	e->simd->weigh(line, e->plane, 2 * (size_t)e->line,
		       e->phase_y + 2 * (size_t)task * e->points[1], e->points[1], e->line);
	e->simd->correlated(&r, line, e->line, s->kernel[0] - 1, e->phase_x, e->phase_stride);
}

static int kernels(struct bs_espirit *e, struct bs_fail *why)
{
	int rc;

	bs_hankel_gram(&e->k, e->team, e->block, e->lagged, e->gram);
	rc = bs_dense_eigen(e->k.rows, e->gram, e->gram_value, e->work, why);
	if (rc != 0)
		return rc;
	if (!(e->gram_value[0] > 0.0))
		return bs_fail(why, BS_ERR_VALUE, "coil maps: the calibration data are all zero");
	for (e->kept = 0; e->kept < e->k.rows; e->kept++)
		if (!(e->gram_value[e->kept] > e->s.threshold * e->gram_value[0]))
			break;
	return 0;
}

int bs_espirit_reference(struct bs_espirit *e, const uint32_t size[3], const float *block,
			 struct bs_fail *why)
{
	for (int a = 0; a < 3; a++)
		if (size[a] > e->s.block[a] || size[a] < e->s.kernel[a])
			return bs_fail(why, BS_ERR_SIZE,
				       "coil maps: a block of %u samples along %c, %u to %u",
				       size[a], "xyz"[a], e -> s.kernel[a], e->s.block[a]);
	return bs_reference(e->reference, e->s.coils, (size_t)bs_box_size(size), block,
			    e->coil_gram, e->coil_value, e->work, why);
}

int bs_espirit_calibrate(struct bs_espirit *e, const uint32_t size[3], const float *block,
			 struct bs_fail *why)
{
	const uint32_t points = (uint32_t)bs_box_size(e->points);
	int rc = bs_espirit_reference(e, size, block, why);

	if (rc != 0)
		return rc;
	shape_of(&e->k, &e->s, size);
	e->block = block;
	rc = kernels(e, why);
	if (rc != 0)
		return rc;
	memset(e->g[0], 0, (size_t)points * e->pairs * 8);
	for (e->first = 0; e->first < e->kept; e->first += BATCH) {
		bs_team_do(e->team, take_vectors, e, (int)e->k.rows);
		bs_team_do(e->team, transform_kernels, e, (int)e->s.coils);
		bs_team_do(e->team, correlate, e, (int)points);
	}
	to_lags(e);
	return 0;
}

void bs_espirit_maps(struct bs_espirit *e, float *maps, float *values)
{
	e->maps = maps;
	e->values = values;
	for (e->z = 0; e->z < e->s.matrix[2]; e->z++) {
		const float *dft = e->phase_z + 2 * (size_t)e->z * e->points[2];

		for (uint32_t ly = 0; ly < e->points[1]; ly++)
			e->simd->weigh(e->plane + (size_t)ly * 2 * e->line,
				       e->corr + (size_t)ly * 2 * e->line,
				       (size_t)e->points[1] * 2 * e->line, dft, e->points[2],
				       e->line);
		bs_team_run(e->team, make_row, e, (int)e->s.matrix[1]);
	}
}

int bs_espirit_run(struct bs_espirit *e, const uint32_t size[3], const float *block, float *maps,
		   float *values, struct bs_fail *why)
{
	int rc = bs_espirit_calibrate(e, size, block, why);

	if (rc == 0)
		bs_espirit_maps(e, maps, values);
	return rc;
}

void bs_espirit_lags(const struct bs_espirit *e, struct bs_espirit_lags *l)
{
	*l = (struct bs_espirit_lags){ &e->s,      e->corr,    e->reference, e->phase_x,
				       e->phase_y, e->phase_z, e->line,      e->phase_stride };
}
