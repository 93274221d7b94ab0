/* gpu/engine/center.c - see center.h */
#include "gpu/engine/center.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sizes.h"
#include "gpu/engine/engines.h"
#include "gpu/nufft/density.h"

#define MARGIN 2.0 /* samples beyond the block that count as well, in points of the field of view */
/*
 * number of steps. Error of the block for a simulated head without noise, 24 lines: from 128 golden
 * spokes 3e-3 after 12 steps, 1.8e-3 after 20; from 48 spokes, where the gaps decide, 7e-3 and 6e-3
 */
#define STEPS      12u
#define LAMBDA     1e-4
#define PIPE_STEPS 10u
#define UNUSED     UINT32_MAX
/* a point has a sample if one is this near, as a share of the distance of two points */
#define NEAR 0.75

struct bs_center {
	struct bs_protocol low; /* protocol of the small image, with the samples that count */
	const struct bs_engine *ls;
	void *self;
	struct bs_team *team;
	/* the samples that count; those that only fill up a readout have weight 0 */
	struct bs_traj traj;
	uint32_t lines[3]; /* points of the block on each axis */
	uint32_t samples;  /* samples of a readout as it comes */
	/* [readout][low.samples] number of each counting sample in its readout; UNUSED */
	uint32_t *index;
	float *data;  /* samples near the center, [coil][low.samples] */
	float *image; /* small images, [coil][z][y][x] */
	/* [coil]: two arrays that the transforms of the axes leave their results in */
	float *between;
	float *block;  /* block that calibrates, [coil][z][y][x] */
	float *dft[3]; /* exp(-i2pi k n / voxels), [point][voxel] complex */
};

/*
 * Finds the points of the largest block, and the protocol of the small image if all samples
 * counted.
 */
static void size(struct bs_center *c, const struct bs_protocol *p)
{
	struct bs_protocol *low = &c->low;

	memset(c, 0, sizeof(*c));
	c->ls = &bs_engine_host;
	c->samples = p->samples;
	*low = *p;
	low->method = bs_method_least_squares();
	low->backend = BS_BACKEND_HOST;
	low->combine = BS_COMBINE_NONE;
	low->maps = BS_MAPS_FILE;
	low->output = BS_OUTPUT_COMPLEX;
	low->field.map_file[0] = '\0';
	low->field.from = BS_FIELD_FILE;
	low->w_file[0] = '\0';
	memset(&low->w, 0, sizeof(low->w));
	low->window = BS_WINDOW_KAISER_BESSEL;
	low->accuracy = 1e-4;
	low->width = low->oversampling = 0.0;
	low->chunk_readouts = 0;
	low->preview_every = 0;
	low->fhd = low->q = BS_SUM_NUFFT;
	low->basis = BS_BASIS_DELTA;
	low->precond = BS_PRECOND_NONE;
	low->density = BS_DENSITY_PIPE;
	low->density_iterations = PIPE_STEPS;
	low->lambda = LAMBDA;
	low->iterations = STEPS;
	low->tolerance = 0.0;
	low->prior = (struct bs_prior_keys){ 0 };
	for (int a = 0; a < 3; a++) {
		c->lines[a] = bs_least(p->calibration_lines, p->matrix[a]);
		low->matrix[a] = bs_least(c->lines[a] + (c->lines[a] + 1) / 2, p->matrix[a]);
		low->image_matrix[a] = low->matrix[a];
	}
	bs_plan_make(low);
}

/*
 * Returns the complex values of a coil between the transforms of the axes: points along x, then
 * along y as well.
 */
static uint64_t between(const struct bs_center *c)
{
	const uint32_t *m = c->low.matrix;
	const uint32_t *n = c->lines;

	return (uint64_t)n[0] * m[1] * m[2] + (uint64_t)n[0] * n[1] * m[2];
}

/* Lays out all memory but the solver's. */
static void lay(struct bs_center *c, struct bs_room *r)
{
	const uint64_t coils = c->low.coils;

	bs_room_take(r, &c->index, "", 1, bs_protocol_samples(&c->low) * 4);
	bs_room_take(r, &c->data, "", 1, coils * c->low.samples * 8);
	bs_room_take(r, &c->image, "", 1, coils * bs_box_size(c->low.matrix) * 8);
	bs_room_take(r, &c->between, "", 1, coils * between(c) * 8);
	bs_room_take(r, &c->block, "", 1, coils * bs_box_size(c->lines) * 8);
	for (int a = 0; a < 3; a++)
		bs_room_take(r, &c->dft[a], "", 1, (uint64_t)c->lines[a] * c->low.matrix[a] * 8);
}

static int need_of(struct bs_center *c, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_need own = { 0 };
	struct bs_room room = { .need = &own };
	int rc = c->ls->need(&c->low, &own, why);

	lay(c, &room);
	if (rc == 0 && own.overflow)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': the center of k-space",
			     c->low.name);
	*bytes = own.total_bytes;
	return rc;
}

int bs_center_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	struct bs_center c;
	uint64_t bytes;
	int rc;

	if (p->plan.streams)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': image.maps: not from samples whose trajectory comes "
			       "with them (trajectory.type stream)",
			       p->name);
	size(&c, p);
	rc = need_of(&c, &bytes, why);
	if (rc == 0)
		bs_need_add(need, "center of k-space", 1, bytes);
	return rc;
}

/* ---- which samples count, and whether there are enough ---- */

/* The place of a sample along an axis, in points of the block; index size/2 is k = 0. */
static double place(const struct bs_center *c, const struct bs_protocol *p, const float *k,
		    uint32_t axis)
{
	return axis < p->dims ? (double)k[axis] * p->matrix[axis] + c->lines[axis] / 2 : 0.0;
}

/* Marks the points of the block near a sample, less than one away on every axis. */
static void mark_around(const struct bs_center *c, const struct bs_protocol *p, const float *k,
			uint8_t *seen)
{
	uint32_t from[3];
	uint32_t to[3];

	for (uint32_t a = 0; a < 3; a++) {
		const double at = place(c, p, k, a);
		const double first = fmax(ceil(at - NEAR), 0.0);
		const double last = fmin(floor(at + NEAR), (double)c->lines[a] - 1.0);

		if (first > last)
			return;
		from[a] = (uint32_t)first;
		to[a] = (uint32_t)last;
	}
	for (uint32_t z = from[2]; z <= to[2]; z++)
		for (uint32_t y = from[1]; y <= to[1]; y++)
			for (uint32_t x = from[0]; x <= to[0]; x++)
				seen[((size_t)z * c->lines[1] + y) * c->lines[0] + x] = 1;
}

static bool whole(const struct bs_center *c, const uint8_t *seen, const uint32_t lines[3])
{
	uint32_t from[3];

	for (int a = 0; a < 3; a++)
		from[a] = c->lines[a] / 2 - lines[a] / 2;
	for (uint32_t z = from[2]; z < from[2] + lines[2]; z++)
		for (uint32_t y = from[1]; y < from[1] + lines[1]; y++)
			for (uint32_t x = from[0]; x < from[0] + lines[0]; x++)
				if (!seen[((size_t)z * c->lines[1] + y) * c->lines[0] + x])
					return false;
	return true;
}

/* Finds the largest block that the trajectory fills. */
static int choose_block(struct bs_center *c, const struct bs_protocol *p, uint32_t fewest,
			const struct bs_traj *traj, struct bs_fail *why)
{
	uint8_t *seen = calloc((size_t)bs_box_size(c->lines), 1);
	uint32_t lines[3] = { 0, 0, 0 };
	uint32_t most = p->calibration_lines;

	if (seen == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "the center of k-space");
	for (uint64_t m = 0; m < (uint64_t)traj->readouts * traj->samples; m++)
		mark_around(c, p, traj->k + m * traj->dims, seen);
	for (; most > 0; most--) {
		for (int a = 0; a < 3; a++)
			lines[a] = bs_least(most, c->lines[a]);
		if (whole(c, seen, lines))
			break;
	}
	free(seen);
	if (most < fewest)
		return bs_fail(why, BS_ERR_CONFIG,
			       "protocol '%s': image.maps: the trajectory samples k-space without "
			       "gaps over %u points around its center, coil maps need %u",
			       p->name, most, fewest);
	memcpy(c->lines, lines, sizeof(lines));
	return 0;
}

static bool counts(const struct bs_center *c, const struct bs_protocol *p, const float *k)
{
	for (uint32_t a = 0; a < p->dims; a++)
		if (c->lines[a] < p->matrix[a] &&
		    fabs(place(c, p, k, a) - c->lines[a] / 2) > c->lines[a] / 2 + MARGIN)
			return false;
	return true;
}

/* Returns the counting samples of the readout that has most of them; *all: the number of all. */
static uint32_t count(const struct bs_center *c, const struct bs_protocol *p,
		      const struct bs_traj *traj, uint64_t *all)
{
	uint32_t most = 0;

	*all = 0;
	for (uint32_t r = 0; r < traj->readouts; r++) {
		uint32_t n = 0;

		for (uint32_t s = 0; s < traj->samples; s++)
			n += counts(c, p, traj->k + ((size_t)r * traj->samples + s) * traj->dims);
		most = n > most ? n : most;
		*all += n;
	}
	return most;
}

/* Converts a sample's k to cycles per voxel of the small image. */
static void take_place(const struct bs_center *c, const struct bs_protocol *p, const float *k,
		       float *to)
{
	for (uint32_t a = 0; a < p->dims; a++) {
		const double at = (double)k[a] * p->matrix[a] / c->low.matrix[a];

		to[a] = (float)at >= 0.5f ? (float)(at - 1.0) : (float)at;
		to[a] = to[a] < -0.5f ? -0.5f : to[a];
	}
}

/*
 * Makes the table of the samples that count: c->traj and c->index; `alone` has only these, in one
 * row.
 */
static void select_samples(struct bs_center *c, const struct bs_protocol *p,
			   const struct bs_traj *traj, struct bs_traj *alone)
{
	const uint32_t n = c->low.samples;
	const uint32_t dims = traj->dims;
	size_t at = 0;

	for (uint32_t r = 0; r < traj->readouts; r++) {
		uint32_t have = 0;

		for (uint32_t s = 0; s < traj->samples; s++) {
			const float *k = traj->k + ((size_t)r * traj->samples + s) * dims;

			if (!counts(c, p, k))
				continue;
			take_place(c, p, k, alone->k + at++ * dims);
			memcpy(c->traj.k + ((size_t)r * n + have) * dims,
			       alone->k + (at - 1) * dims, dims * sizeof(*k));
			c->index[(size_t)r * n + have++] = s;
		}
		for (; have < n; have++)
			c->index[(size_t)r * n + have] = UNUSED;
	}
}

/* Makes the density compensation of the samples that count; its sum is the number of voxels. */
static int weigh(struct bs_center *c, const struct bs_traj *alone, float *weight,
		 struct bs_fail *why)
{
	const size_t all = (size_t)alone->samples;
	float *own = malloc(all * sizeof(*own));
	double sum = 0.0;
	size_t at = 0;
	int rc = own == NULL ? bs_fail(why, BS_ERR_NOMEM, "weights")
			     : bs_density_pipe_host(own, &c->low, alone, c->team, why);

	for (size_t m = 0; rc == 0 && m < all; m++)
		sum += own[m];
	for (size_t m = 0; rc == 0 && m < bs_protocol_samples(&c->low); m++)
		weight[m] = c->index[m] == UNUSED
				    ? 0.0f
				    : (float)(own[at++] * (double)bs_box_size(c->low.matrix) / sum);
	free(own);
	return rc;
}

/* ---- a center's memory and run ---- */

static void make_dft(struct bs_center *c)
{
	for (int a = 0; a < 3; a++)
		for (uint32_t k = 0; k < c->lines[a]; k++)
			for (uint32_t n = 0; n < c->low.matrix[a]; n++) {
				const double angle = 2.0 * M_PI * ((double)k - c->lines[a] / 2) *
						     ((double)n - c->low.matrix[a] / 2) /
						     c->low.matrix[a];
				float *to = c->dft[a] + 2 * ((size_t)k * c->low.matrix[a] + n);

				to[0] = (float)cos(angle);
				to[1] = (float)-sin(angle);
			}
}

static int arm_solver(struct bs_center *c, const struct bs_protocol *p, const struct bs_traj *traj,
		      uint64_t all, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_traj alone = { 0 };
	struct bs_tables tables = { .traj = &c->traj };
	float *weight = calloc((size_t)bs_protocol_samples(&c->low) + 1, sizeof(*weight));
	int rc = bs_traj_open(&c->traj, traj->dims, c->low.samples, traj->readouts, why);

	if (rc == 0)
		rc = bs_traj_open(&alone, traj->dims, (uint32_t)all, 1, why);
	if (rc == 0 && weight == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "weights");
	if (rc == 0) {
		select_samples(c, p, traj, &alone);
		rc = weigh(c, &alone, weight, why);
	}
	tables.density = weight;
	if (rc == 0)
		rc = c->ls->arm(&c->self, &c->low, &tables, env, why);
	free(weight);
	bs_traj_close(&alone);
	return rc;
}

int bs_center_arm(struct bs_center **center, const struct bs_protocol *p, uint32_t fewest,
		  const struct bs_traj *traj, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_center *c = malloc(sizeof(*c));
	struct bs_room room = { .arena = env->arena };
	const size_t used = env->arena->used;
	uint64_t bytes = 0;
	uint64_t all = 0;
	int rc = 0;

	if (c == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	size(c, p);
	c->team = env->team;
	rc = need_of(c, &bytes, why);
	if (rc == 0)
		rc = choose_block(c, p, fewest, traj, why);
	if (rc == 0) {
		c->low.samples = count(c, p, traj, &all);
		lay(c, &room);
		if (room.full)
			rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': the arena is too small",
				     p->name);
	}
	if (rc == 0)
		rc = arm_solver(c, p, traj, all, env, why);
	/*
	 * need counts all samples. Memory that the counting samples do not take is taken here and
	 * left unused.
	 */
	if (rc == 0 && env->arena->used - used < bytes)
		(void)bs_arena_take(env->arena, (size_t)(bytes - (env->arena->used - used)), 1);
	if (rc != 0) {
		bs_center_disarm(c);
		return rc;
	}
	make_dft(c);
	*center = c;
	return 0;
}

void bs_center_disarm(struct bs_center *c)
{
	if (c == NULL)
		return;
	if (c->self != NULL)
		c->ls->disarm(c->self);
	bs_traj_close(&c->traj);
	free(c);
}

int bs_center_begin(struct bs_center *c, uint32_t frame)
{
	return c->ls->begin(c->self, frame);
}

int bs_center_add(struct bs_center *c, uint32_t frame, uint32_t readout, const float *data,
		  size_t coil_stride)
{
	const uint32_t n = c->low.samples;
	const uint32_t *index = c->index + (size_t)readout * n;

	for (uint32_t coil = 0; coil < c->low.coils; coil++) {
		const float *from = data + 2 * coil * coil_stride;
		float *to = c->data + 2 * (size_t)coil * n;

		for (uint32_t i = 0; i < n; i++) {
			to[2 * i] = index[i] == UNUSED ? 0.0f : from[2 * index[i]];
			to[2 * i + 1] = index[i] == UNUSED ? 0.0f : from[2 * index[i] + 1];
		}
	}
	return c->ls->add(c->self, frame, readout, NULL, c->data, n);
}

int bs_center_fold(struct bs_center *c, uint32_t frame, uint32_t group)
{
	return c->ls->fold(c->self, frame, group);
}

/* Sets out [outer][point][inner] to the sum over n of in [outer][n][inner] dft [point][n]. */
static void along(const float *dft, uint32_t points, uint32_t n, size_t inner, size_t outer,
		  const float *in, float *out)
{
	for (size_t o = 0; o < outer; o++)
		for (uint32_t k = 0; k < points; k++) {
			float *restrict to = out + 2 * (o * points + k) * inner;

			memset(to, 0, inner * 8);
			for (uint32_t v = 0; v < n; v++) {
				const float *restrict from = in + 2 * (o * n + v) * inner;
				const float re = dft[2 * ((size_t)k * n + v)];
				const float im = dft[2 * ((size_t)k * n + v) + 1];

				for (size_t i = 0; i < inner; i++) {
					to[2 * i] += re * from[2 * i] - im * from[2 * i + 1];
					to[2 * i + 1] += re * from[2 * i + 1] + im * from[2 * i];
				}
			}
		}
}

/* Transforms a coil's image to the points of the block. */
static void transform(void *arg, int task)
{
	const struct bs_center *c = arg;
	const uint32_t *m = c->low.matrix;
	const uint32_t *n = c->lines;
	float *one = c->between + 2 * (size_t)task * between(c);
	float *two = one + 2 * (size_t)n[0] * m[1] * m[2];

	along(c->dft[0], n[0], m[0], 1, (size_t)m[1] * m[2],
	      c->image + 2 * (size_t)task * bs_box_size(m), one);
	along(c->dft[1], n[1], m[1], n[0], m[2], one, two);
	along(c->dft[2], n[2], m[2], (size_t)n[0] * n[1], 1, two,
	      c->block + 2 * (size_t)task * bs_box_size(n));
}

int bs_center_block(struct bs_center *c, uint32_t frame, const uint8_t *held, uint32_t lines[3],
		    const float **block, struct bs_fail *why)
{
	struct bs_report report = { 0 };
	int rc = held != NULL ? c->ls->image(c->self, frame, held, INT64_MAX, c->image, &report)
			      : c->ls->image(c->self, frame, NULL, INT64_MAX, c->image, &report);

	if (rc != 0)
		return bs_fail(why, rc, "the center of k-space: %s", report.why.text);
	bs_team_do(c->team, transform, c, (int)c->low.coils);
	memcpy(lines, c->lines, sizeof(c->lines));
	*block = c->block;
	return 0;
}
