/* gpu/nufft/density.c - see density.h */
#include "gpu/nufft/density.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/progress.h"
#include "core/sizes.h"

/*
 * A sample nearer to k = 0 than this, in cycles per voxel, is at the center (float tables round at
 * 3e-8).
 */
#define CENTER 1e-6

/*
 * Returns true where all kz are on the encoded grid: samples are in planes, and have an area each,
 * no volume.
 */
static bool is_stack(const struct bs_protocol *p, const struct bs_traj *t)
{
	if (t->dims != 3)
		return false;
	for (size_t m = 0; m < (size_t)t->samples * t->readouts; m++) {
		double plane = (double)t->k[3 * m + 2] * bs_protocol_encoded_axis(p, 2);

		if (fabs(plane - nearbyint(plane)) > 1e-4)
			return false;
	}
	return true;
}

static double radius(const float *k, uint32_t dims)
{
	double r = 0.0;

	for (uint32_t a = 0; a < dims; a++)
		r += (double)k[a] * k[a];
	return sqrt(r);
}

/*
 * The weight that the samples at the center of one readout share. The sum over rings of radius r =
 * step, 2 step, ... stands for the integral of r f(r) dr. The correction of Euler and Maclaurin at
 * its end is f(0) step^2 / 12, which is a ring of radius step / 12 (in 3D, r^2 f(r), there is no
 * correction). A readout through the center meets each ring twice; one that starts there meets it
 * once, so its unit is twice as large.
 */
static double center_weight(const float *k, uint32_t dims, uint32_t flat, uint32_t samples)
{
	uint32_t at_center = 0;
	double step = INFINITY;
	bool through =
		radius(k, flat) > CENTER && radius(k + (size_t)(samples - 1) * dims, flat) > CENTER;

	for (uint32_t s = 0; s < samples; s++) {
		double r = radius(k + (size_t)s * dims, flat);

		at_center += r <= CENTER;
		if (r > CENTER && r < step)
			step = r;
	}
	if (at_center == 0 || step == INFINITY)
		return 0.0;
	return step / (through ? 6.0 : 12.0) / at_center;
}

static void ramp(float *weight, const struct bs_protocol *p, const struct bs_traj *t,
		 bool fill_center)
{
	uint32_t flat = is_stack(p, t) ? 2 : t->dims;

	for (uint32_t r = 0; r < t->readouts; r++) {
		const float *k = t->k + (size_t)r * t->samples * t->dims;
		double center = fill_center && flat == 2
					? center_weight(k, t->dims, flat, t->samples)
					: 0.0;

		for (uint32_t s = 0; s < t->samples; s++) {
			double rad = radius(k + (size_t)s * t->dims, flat);

			weight[(size_t)r * t->samples + s] = (float)(rad <= CENTER ? center
								     : flat == 3   ? rad * rad
										   : rad);
		}
	}
}

/*
 * One step of Pipe and Menon: w <- w / (C (*) w) at the samples. C is the Fejer kernel of the field
 * of view, sum_n (1 - |n|/N) exp(-i2pi k.n) over |n| < N, which is nowhere negative. Its image, a
 * triangle of twice the field of view, is the region in which an object of that size meets its own
 * side lobes (Johnson & Pipe, Magn Reson Med 2009;61:439-447). C (*) w is a NUFFT adjoint, then
 * forward.
 */
struct pipe {
	struct bs_nufft *nufft;
	uint32_t size[3];  /* voxels on each axis, 2N */
	float *image;      /* complex image of size[] voxels */
	float *at_samples; /* [sample] complex values of the image at the samples */
};

struct bs_nufft_spec bs_density_nufft(const struct bs_protocol *p, const struct bs_traj *t)
{
	/*
	 * this accuracy is far better than the iteration's convergence: host and GPU then differ by
	 * 1e-5 at most
	 */
	struct bs_nufft_spec spec = { .dims = t->dims,
				      .coils = 1,
				      .samples = (uint64_t)t->samples * t->readouts,
				      .window = BS_WINDOW_KAISER_BESSEL,
				      .accuracy = 1e-6 };

	for (uint32_t a = 0; a < 3; a++)
		spec.matrix[a] = a < t->dims ? 2 * p->matrix[a] : 1;
	return spec;
}

static int pipe_need(const struct bs_nufft_spec *spec, struct bs_need *need, struct bs_fail *why)
{
	bs_need_add(need, "density: image", 1, bs_box_size(spec->matrix) * 8);
	bs_need_add(need, "density: samples", 1, spec->samples * 8);
	return bs_nufft_need(spec, need, why);
}

/* Opens the transforms. k may be NULL with spec->repath only. */
static int pipe_open(struct pipe *c, const struct bs_nufft_spec *spec, const float *k,
		     struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	memcpy(c->size, spec->matrix, sizeof(c->size));
	c->image = bs_arena_take(arena, (size_t)bs_box_size(spec->matrix) * 8, BS_ALIGN);
	c->at_samples = bs_arena_take(arena, (size_t)spec->samples * 8, BS_ALIGN);
	if (c->image == NULL || c->at_samples == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "density pipe: the arena is too small");
	return bs_nufft_plan(&c->nufft, spec, k, NULL, arena, team, why);
}

/* Returns 1 - |n|/N at an index; index 0 .. 2N-1 is n = -N .. N-1. */
static double triangle(uint32_t i, uint32_t size)
{
	return 1.0 - fabs((double)i - 0.5 * size) / (0.5 * size);
}

static void pipe_step(struct pipe *c, float *weight, size_t samples)
{
	size_t v = 0;

	for (size_t m = 0; m < samples; m++) {
		c->at_samples[2 * m] = weight[m];
		c->at_samples[2 * m + 1] = 0.0f;
	}
	bs_nufft_adjoint(c->nufft, c->at_samples, c->image);
	for (uint32_t z = 0; z < c->size[2]; z++)
		for (uint32_t y = 0; y < c->size[1]; y++)
			for (uint32_t x = 0; x < c->size[0]; x++, v++) {
				float h =
					(float)(triangle(x, c->size[0]) * triangle(y, c->size[1]) *
						(c->size[2] > 1 ? triangle(z, c->size[2]) : 1.0));

				c->image[2 * v] *= h;
				c->image[2 * v + 1] *= h;
			}
	bs_nufft_forward(c->nufft, c->image, c->at_samples);
	for (size_t m = 0; m < samples; m++) /* never 0: a sample's own share is positive */
		weight[m] /= fmaxf(c->at_samples[2 * m], 1e-30f);
}

int bs_density_pipe_host(float *weight, const struct bs_protocol *p, const struct bs_traj *t,
			 struct bs_team *team, struct bs_fail *why)
{
	const struct bs_nufft_spec spec = bs_density_nufft(p, t);
	const size_t samples = (size_t)spec.samples;
	struct bs_arena arena = { 0 };
	struct bs_need need = { 0 };
	struct pipe c = { 0 };
	struct bs_progress progress;
	int rc = pipe_need(&spec, &need, why);

	if (rc == 0 && need.overflow)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': density pipe", p->name);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0)
		rc = pipe_open(&c, &spec, t->k, &arena, team, why);
	if (rc == 0) {
		for (size_t m = 0; m < samples; m++)
			weight[m] = 1.0f;
		bs_progress_begin(&progress, "arming: weights", p->density_iterations, "");
		for (uint32_t i = 0; i < p->density_iterations; i++) {
			pipe_step(&c, weight, samples);
			bs_progress_at(&progress, i + 1);
		}
		bs_progress_end(&progress);
	}
	bs_nufft_close(c.nufft);
	bs_arena_close(&arena);
	return rc;
}

/* Returns Re D(k), the transform of an image of ones. */
static double ones(const float *k, uint32_t dims, const uint32_t matrix[3])
{
	double size = 1.0;
	double phase = 0.0;

	for (uint32_t a = 0; a < dims; a++) {
		double s = sin(M_PI * k[a]);

		size *= fabs(s) < 1e-12 ? matrix[a] : sin(M_PI * k[a] * matrix[a]) / s;
		if (matrix[a] % 2 == 0)
			phase += M_PI * k[a];
	}
	return size * cos(phase);
}

#define PARTS 64 /* parts of the samples, summed one by one, whatever the team */

struct brightness {
	const float *weight, *k;
	const double *seen; /* values of D at each k; NULL: not computed yet */
	uint32_t dims;
	const uint32_t *matrix;
	size_t samples;
	double sum[PARTS];
};

static void sum_part(void *arg, int part)
{
	struct brightness *b = arg;
	const size_t end = b->samples * ((size_t)part + 1) / PARTS;

	for (size_t m = b->samples * (size_t)part / PARTS; m < end; m++)
		b->sum[part] += b->weight[m] *
				(b->seen != NULL ? b->seen[m]
						 : ones(b->k + m * b->dims, b->dims, b->matrix));
}

static int normalize(float *weight, const struct bs_protocol *p, const struct bs_traj *t,
		     const double *seen, struct bs_team *team, struct bs_fail *why)
{
	size_t n = (size_t)t->samples * t->readouts;
	struct brightness b = { weight, t->k, seen, t->dims, p->matrix, n, { 0.0 } };
	double sum = 0.0;

	if (team != NULL)
		bs_team_do(team, sum_part, &b, PARTS);
	for (int i = 0; i < PARTS; i++) {
		if (team == NULL)
			sum_part(&b, i);
		sum += b.sum[i];
	}
	if (!(sum > 0.0))
		return bs_fail(
			why, BS_ERR_VALUE,
			"protocol '%s': its weights see nothing of an image of ones (sum %g)",
			p->name, sum);
	for (size_t m = 0; m < n; m++)
		weight[m] = (float)(weight[m] / sum);
	return 0;
}

int bs_density(float *weight, const struct bs_protocol *p, const struct bs_traj *traj,
	       const float *file, struct bs_team *team, struct bs_fail *why)
{
	return bs_density_by(bs_density_pipe_host, weight, p, traj, file, team, why);
}

bool bs_density_normalizes(const struct bs_protocol *p)
{
	return p->normalize == BS_NORMALIZE_UNIFORM ||
	       (p->normalize == BS_NORMALIZE_AUTO &&
		(p->density == BS_DENSITY_RAMP || p->density == BS_DENSITY_PIPE));
}

int bs_density_by(bs_density_pipe pipe, float *weight, const struct bs_protocol *p,
		  const struct bs_traj *traj, const float *file, struct bs_team *team,
		  struct bs_fail *why)
{
	size_t n = (size_t)traj->samples * traj->readouts;
	const bool uniform = bs_density_normalizes(p);
	int rc;

	switch (p->density) {
	case BS_DENSITY_RAMP:
		ramp(weight, p, traj, uniform);
		break;
	case BS_DENSITY_PIPE:
		rc = pipe(weight, p, traj, team, why);
		if (rc != 0)
			return rc;
		break;
	case BS_DENSITY_FILE:
		for (size_t m = 0; m < n; m++)
			weight[m] = file[m];
		break;
	case BS_DENSITY_NONE:
		for (size_t m = 0; m < n; m++)
			weight[m] = 1.0f;
		break;
	}
	return uniform ? normalize(weight, p, traj, NULL, team, why) : 0;
}

/* ---- weights of a path that is known only during the scan ---- */

struct bs_density_plan {
	const struct bs_protocol *p;
	struct bs_team *team;
	struct pipe pipe; /* the iteration that is used where the protocol asks for pipe */
};

static struct bs_nufft_spec later(const struct bs_protocol *p)
{
	const struct bs_traj sizes = { .dims = p->dims,
				       .samples = p->samples,
				       .readouts = p->readouts };
	struct bs_nufft_spec spec = bs_density_nufft(p, &sizes);

	spec.repath = true;
	return spec;
}

int bs_density_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_nufft_spec spec = later(p);

	return p->density == BS_DENSITY_PIPE ? pipe_need(&spec, need, why) : 0;
}

int bs_density_plan(struct bs_density_plan **plan, const struct bs_protocol *p,
		    struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	const struct bs_nufft_spec spec = later(p);
	struct bs_density_plan *d = calloc(1, sizeof(*d));
	int rc;

	if (d == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': density", p->name);
	d->p = p;
	d->team = team;
	rc = p->density == BS_DENSITY_PIPE ? pipe_open(&d->pipe, &spec, NULL, arena, team, why) : 0;
	if (rc != 0) {
		bs_density_close(d);
		return rc;
	}
	*plan = d;
	return 0;
}

void bs_density_close(struct bs_density_plan *d)
{
	if (d == NULL)
		return;
	bs_nufft_close(d->pipe.nufft);
	free(d);
}

void bs_density_see(const struct bs_protocol *p, const float *k, size_t samples, double *seen)
{
	for (size_t m = 0; m < samples; m++)
		seen[m] = ones(k + m * p->dims, p->dims, p->matrix);
}

int bs_density_make(struct bs_density_plan *d, float *weight, const struct bs_traj *t,
		    const uint8_t *present, const double *seen, struct bs_fail *why)
{
	const struct bs_protocol *p = d->p;
	const size_t samples = (size_t)t->samples * t->readouts;
	int rc = 0;

	if (p->density == BS_DENSITY_RAMP)
		ramp(weight, p, t, bs_density_normalizes(p));
	for (size_t r = 0; r < t->readouts; r++)
		for (size_t s = 0; s < t->samples; s++)
			if (!present[r] || p->density != BS_DENSITY_RAMP)
				weight[r * t->samples + s] = present[r] ? 1.0f : 0.0f;
	if (p->density == BS_DENSITY_PIPE)
		rc = bs_nufft_path(d->pipe.nufft, t->k, NULL, why);
	for (uint32_t i = 0; rc == 0 && p->density == BS_DENSITY_PIPE && i < p->density_iterations;
	     i++)
		pipe_step(&d->pipe, weight, samples);
	return rc == 0 && bs_density_normalizes(p) ? normalize(weight, p, t, seen, d->team, why)
						   : rc;
}
