/* board/tool/selftest/selftest.c - see selftest.h */
#define _GNU_SOURCE /* M_PI */
#include "board/tool/selftest/selftest.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "board/arm/measuring.h"
#include "core/thread/clock.h"
#include "core/traj/delay.h"
#include "gpu/encode/encode.h"
#include "gpu/nufft/density.h"

#define PLACES 64u
#define TERMS  3e7 /* most terms of the sums, but for 8 places */
#define SPOTS  3u
#define CG     0.3  /* of the sine, after some iterations */
#define MOST   0.75 /* the same where much is regularized */
#define LEAST  4u   /* iterations after which a solver's image fits the data as CG says */
#define SINGLE 1e-4
#define NOISE  1e-3 /* 1 over so many samples of the noise that whitens (measuring.h) */

/* A voxel at which an image is held, or a sample at which its transform is. */
struct place {
	size_t voxel;
	double at[3]; /* of a voxel, voxels from the center; of a sample, cycles per voxel */
	uint32_t coil;
	double complex is[BS_COILS_MAX]; /* voxel: each coil's image; sample: [0] its value */
};

struct selftest {
	const struct bs_armed *a;
	const struct bs_protocol *p; /* as the engine sees it */
	struct measuring *m;         /* heads of readouts, random numbers, memory for them */
	struct bs_traj own;          /* made anew, where a formula makes it */
	const struct bs_traj *traj;  /* NULL: lines of the grid */
	float *weight;
	struct place place[PLACES];
	uint32_t places;
	double spot[SPOTS][3]; /* place of a Gaussian, voxels from the center */
	size_t at[SPOTS];      /* its voxel */
	double width;          /* its standard deviation, voxels */
	/* the image is a multiple of what is summed: the solver's first step */
	bool steps;
	bool fits; /* readouts are of the Gaussians, and the image is to fit them */
};

/* The relative error of gridding; 0: there is none, or it is not known. */
static double accuracy_of(const struct bs_protocol *p)
{
	const struct bs_nufft_spec spec = bs_gridding_spec(p);

	return p->plan.encode == BS_ENCODE_GRID ? bs_nufft_accuracy(&spec) : 0.0;
}

/* A magnitude is the image where the readouts tell enough of it, else its phases are lacking. */
static bool is_told(const struct bs_protocol *p)
{
	const uint64_t voxels = (uint64_t)p->matrix[0] * p->matrix[1] * p->matrix[2];

	return p->output == BS_OUTPUT_COMPLEX ||
	       bs_protocol_samples(p) * (p->plan.joint ? p->coils : 1) >= voxels;
}

/* Why a protocol is not tested; NULL: it is. */
static const char *untested(const struct bs_armed *a)
{
	const struct bs_protocol *p = &a->inner;
	const struct bs_plan *plan = &p->plan;
	const uint32_t known = 1u << BS_PLAN_WHITEN | 1u << BS_PLAN_COMBINE;

	if (plan->encode != BS_ENCODE_LINES && plan->encode != BS_ENCODE_GRID &&
	    plan->encode != BS_ENCODE_EXACT)
		return "an encoding of another kind";
	if (plan->solve != BS_SOLVE_NONE && plan->solve != BS_SOLVE_CG)
		return "a solver of another kind";
	if (((plan->stages | a->own.plan.stages) & ~known) != 0)
		return "stages beside whitening and combination of coils";
	if (plan->waits || plan->calibrates || plan->accelerated || plan->streams ||
	    p->frame_step > 0 || p->preview_every > 0 || p->traj.estimate_delay ||
	    p->averages > 1 || plan->maps > BS_PLAN_MAPS_FILE || plan->takes[BS_KEPT_IMAGE] ||
	    p->map_images > 1)
		return "what only a scan tells, windows, previews or averages";
	if (plan->on_grid &&
	    (p->samples != p->encoded[0] || p->readouts != (uint64_t)p->encoded[1] * p->encoded[2]))
		return "frames of some of the grid's lines";
	if (p->density == BS_DENSITY_PIPE)
		return "weights that iterations make";
	if (plan->encode == BS_ENCODE_GRID && accuracy_of(p) <= 0.0)
		return "a window of a given width, whose accuracy nobody asked for";
	if (plan->solve == BS_SOLVE_CG && p->precond != BS_PRECOND_NONE &&
	    (p->iterations < LEAST || !is_told(p)))
		return "a preconditioner, and so few iterations or readouts";
	return NULL;
}

static double complex of(const float *v)
{
	return (double)v[0] + (double)v[1] * I;
}

/* Coil c's map at a voxel of slice 0; 1 where no maps are used. */
static double complex map_of(const struct selftest *t, uint32_t c, size_t voxel)
{
	const float *maps = t->a->loaded.tables.maps;
	const size_t voxels = (size_t)t->p->matrix[0] * t->p->matrix[1] * t->p->matrix[2];

	return maps != NULL ? of(maps + 2 * (c * voxels + voxel)) : 1.0;
}

static double power_of(const struct selftest *t, size_t voxel)
{
	double sum = 0.0;

	for (uint32_t c = 0; c < t->p->coils; c++)
		sum += pow(cabs(map_of(t, c, voxel)), 2.0);
	return sum;
}

/* Where a voxel lies, in voxels from the center. */
static void place_of(const struct selftest *t, size_t voxel, double x[3])
{
	const uint32_t *n = t->p->matrix;
	const size_t at[3] = { voxel % n[0], voxel / n[0] % n[1], voxel / n[0] / n[1] };

	for (int a = 0; a < 3; a++)
		x[a] = (double)at[a] - n[a] / 2;
}

static void k_of(const struct selftest *t, uint32_t row, uint32_t s, double k[3])
{
	const uint32_t *E = t->p->encoded;
	const double line[3] = { s, E[1] > 0 ? row % E[1] : 0, E[1] > 0 ? row / E[1] : 0 };

	for (uint32_t a = 0; a < 3; a++)
		if (t->traj == NULL)
			k[a] = E[a] > 1 ? (line[a] - E[a] / 2) / E[a] : 0.0;
		else
			k[a] = a < t->traj->dims ? (double)t->traj->k[((size_t)row * t->p->samples +
								       s) * t->traj->dims +
								      a]
						 : 0.0;
}

static double complex turn_by(double cycles)
{
	return cos(2.0 * M_PI * cycles) + sin(2.0 * M_PI * cycles) * I;
}

static double complex turn(const double k[3], const double x[3], double sign)
{
	return turn_by(sign * (k[0] * x[0] + k[1] * x[1] + k[2] * x[2]));
}

/* Draws the voxels to look at, and the Gaussians' where the coils see something. */
static void draw_places(struct selftest *t)
{
	/* a place's terms: a turn each, and what each coil adds */
	const double terms = (double)bs_protocol_samples(t->p) * (1.0 + t->p->coils / 8.0);
	const size_t voxels = (size_t)t->p->matrix[0] * t->p->matrix[1] * t->p->matrix[2];
	double x[3];
	double most = 0.0;

	t->places = t->fits ? PLACES : (uint32_t)fmin(fmax(TERMS / terms, 8.0), PLACES);
	for (uint32_t i = 0; i < t->places; i++) {
		t->place[i].voxel = (size_t)(bs_random_uniform(&t->m->random) * (double)voxels);
		place_of(t, t->place[i].voxel, t->place[i].at);
		most = fmax(most, power_of(t, t->place[i].voxel));
	}
	t->width = fmin(fmax(t->p->matrix[0] / 32.0, 1.5), 8.0);
	for (uint32_t j = 0, tries = 0; j < SPOTS; tries++) {
		t->at[j] = (size_t)(bs_random_uniform(&t->m->random) * (double)voxels);
		place_of(t, t->at[j], x);
		memcpy(t->spot[j], x, sizeof(x));
		j += (power_of(t, t->at[j]) >= 0.1 * most && fabs(x[0]) < 0.35 * t->p->matrix[0] &&
		      fabs(x[1]) < 0.35 * t->p->matrix[1]) ||
		     tries > 10000;
	}
}

/* What each coil reads of the Gaussians at k. */
static void read_spots(const struct selftest *t, const double k[3], double complex is[])
{
	const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
	const double size = exp(-2.0 * M_PI * M_PI * t->width * t->width * square);

	for (uint32_t c = 0; c < t->p->coils; c++)
		is[c] = 0.0;
	for (uint32_t j = 0; j < SPOTS; j++) {
		const double complex e = size * (1.0 - 0.25 * j) * turn(k, t->spot[j], -1.0);

		for (uint32_t c = 0; c < t->p->coils; c++)
			is[c] += map_of(t, c, t->at[j]) * e;
	}
}

/* Adds a sample to the sums at the voxels, or keeps it as one of those to compare. */
static void note_sample(struct selftest *t, uint32_t row, uint32_t s, const double k[3],
			const float *data)
{
	const uint64_t at = (uint64_t)row * t->p->samples + s;
	const double scale = t->traj == NULL ? 1.0 / sqrt((double)bs_protocol_samples(t->p)) : 1.0;
	const double w = t->weight != NULL ? (double)t->weight[at] : scale;
	const uint32_t i = (uint32_t)(bs_random_uniform(&t->m->random) * PLACES);

	for (uint32_t v = 0; v < t->places && !t->fits; v++) {
		const double complex e = w * turn(k, t->place[v].at, 1.0);

		for (uint32_t c = 0; c < t->p->coils; c++)
			t->place[v].is[c] += e * of(data + 2 * ((size_t)c * t->p->samples + s));
	}
	if (!t->fits)
		return;
	/* of the strong ones, any: a later one takes the place of an earlier one */
	const uint32_t c = i % t->p->coils;
	const double complex is = of(data + 2 * ((size_t)c * t->p->samples + s));

	if (cabs(is) > 0.5 * cabs(t->place[i].is[0])) {
		t->place[i] = (struct place){ .coil = c, .is = { is } };
		memcpy(t->place[i].at, k, sizeof(t->place[i].at));
	}
}

/* Fills a readout, and does with it what is to be compared with the image. */
static void make_readout(struct selftest *t, uint32_t row)
{
	const double loud = fmin(1.0, 0.01 * t->p->max_sample);
	double complex is[BS_COILS_MAX] = { 0 };
	double last[2] = { 0.0, 0.0 }; /* all coils have the same where each is solved for alone */
	double k[3];
	uint64_t made;
	uint64_t read;

	bs_recon_reading(t->a->recon, true, &made, &read);
	for (uint32_t s = 0; s < t->p->samples; s++) {
		k_of(t, row, s, k);
		if (t->fits)
			read_spots(t, k, is);
		for (uint32_t c = 0; c < t->p->coils; c++) {
			float *to = t->m->samples + 2 * ((size_t)c * t->p->samples + s);
			double z[2] = { creal(is[c]), cimag(is[c]) };

			if (!t->fits && (c == 0 || !t->steps || t->p->plan.joint))
				bs_random_normal(&t->m->random, last);
			if (!t->fits)
				memcpy(z, last, sizeof(z));
			to[0] = (float)(loud * z[0]);
			to[1] = (float)(loud * z[1]);
		}
		note_sample(t, row, s, k, t->m->samples);
	}
}

static int run_frame(struct selftest *t, struct bs_fail *why)
{
	struct bs_recon_image image = { .pixels = t->m->image };
	bool came = false;
	int rc = 0;

	for (uint32_t row = 0; rc >= 0 && row < t->p->readouts; row++) {
		struct bs_mrd_acq h = bs_measuring_head(t->m, row);

		h.flags = row + 1 == t->p->readouts ? BS_MRD_LAST_IN_REPETITION : 0;
		make_readout(t, row);
		rc = bs_armed_readout(t->a, &h, row, t->m->samples, bs_now_ns(), why);
	}
	bs_recon_close(t->a->recon);
	while (rc >= 0 && !came && bs_recon_ready(t->a->recon) > 0) {
		rc = bs_recon_pop(t->a->recon, &image, INT64_MAX, why);
		came = rc == 1;
	}
	if (rc >= 0 && !came)
		return bs_fail(why, BS_ERR_STATE, "a frame did not end");
	return rc < 0 ? rc : 0;
}

/* The image's value in a channel, at a voxel. */
static double complex pixel_of(const struct selftest *t, uint32_t channel, size_t voxel)
{
	const size_t at =
		channel * (size_t)t->p->matrix[0] * t->p->matrix[1] * t->p->matrix[2] + voxel;

	return t->p->output == BS_OUTPUT_COMPLEX ? of(t->m->image + 2 * at) : t->m->image[at];
}

/* What the image must be at a voxel, by each coil's sums. */
static double complex combine(const struct selftest *t, const struct place *v, uint32_t channel)
{
	double complex sum = 0.0;
	double power = 0.0;

	if (t->p->combine == BS_COMBINE_NONE)
		return t->p->output == BS_OUTPUT_COMPLEX ? v->is[channel] : cabs(v->is[channel]);
	for (uint32_t c = 0; c < t->p->coils; c++) {
		sum += conj(map_of(t, c, v->voxel)) * v->is[c];
		power += pow(cabs(v->is[c]), 2.0);
	}
	if (t->p->combine == BS_COMBINE_RSS)
		return sqrt(power);
	power = t->steps ? 1.0 : power_of(t, v->voxel);
	sum = power > 0.0 ? sum / power : 0.0;
	return t->p->output == BS_OUTPUT_COMPLEX ? sum : cabs(sum);
}

/* The sine of the angle between two vectors, by their products; a NaN stays one. */
static double sine(double complex dot, double one, double other)
{
	const double left = 1.0 - pow(cabs(dot), 2.0) / (one * other);

	return left < 0.0 ? 0.0 : sqrt(left);
}

/* The relative difference over all voxels that are looked at; of a step, but for the size. */
static double error_of_image(const struct selftest *t)
{
	double complex dot = 0.0;
	double off = 0.0;
	double was = 0.0;
	double all = 0.0;

	for (uint32_t i = 0; i < t->places; i++)
		for (uint32_t c = 0; c < bs_protocol_channels(t->p); c++) {
			const double complex is = combine(t, &t->place[i], c);
			const double complex pixel = pixel_of(t, c, t->place[i].voxel);

			dot += conj(pixel) * is;
			off += pow(cabs(pixel - is), 2.0);
			was += pow(cabs(pixel), 2.0);
			all += pow(cabs(is), 2.0);
		}
	return t->steps ? sine(dot, was, all) : sqrt(off / all);
}

/* The image's transform at a sample, as its coil sees it: the sum over all voxels. */
static double complex transform(const struct selftest *t, const struct place *s,
				double complex *turns)
{
	const uint32_t *n = t->p->matrix;
	const uint32_t channel = t->p->plan.joint || bs_protocol_channels(t->p) == 1 ? 0 : s->coil;
	double complex *e[3] = { turns, turns + n[0], turns + n[0] + n[1] };
	double complex sum = 0.0;
	size_t v = 0;

	for (int a = 0; a < 3; a++)
		for (uint32_t i = 0; i < n[a]; i++)
			e[a][i] = turn_by(-s->at[a] * ((double)i - n[a] / 2));
	for (uint32_t z = 0; z < n[2]; z++)
		for (uint32_t y = 0; y < n[1]; y++)
			for (uint32_t x = 0; x < n[0]; x++, v++)
				sum += map_of(t, s->coil, v) * pixel_of(t, channel, v) * e[0][x] *
				       e[1][y] * e[2][z];
	return sum;
}

/* The sine of the angle between the data at the samples and those of the image there. */
static double error_of_data(const struct selftest *t)
{
	const uint32_t *n = t->p->matrix;
	double complex *turns = malloc(((size_t)n[0] + n[1] + n[2]) * sizeof(*turns));
	double complex dot = 0.0;
	double is = 0.0;
	double was = 0.0;

	for (uint32_t i = 0; turns != NULL && i < PLACES; i++) {
		if (t->place[i].is[0] == 0.0)
			continue; /* no sample has come to this place */
		const double complex sum = transform(t, &t->place[i], turns);

		dot += conj(sum) * t->place[i].is[0];
		is += pow(cabs(sum), 2.0);
		was += pow(cabs(t->place[i].is[0]), 2.0);
	}
	free(turns);
	return sine(dot, is, was);
}

static int prepare(struct selftest *t, struct bs_team *team, struct bs_fail *why)
{
	static const struct bs_measure_env env;
	int rc = bs_measure_open(&t->m, t->a, &env, why);

	t->traj = t->a->loaded.tables.traj;
	if (rc == 0 && t->traj != NULL && !t->p->plan.from_file) {
		rc = bs_traj_make(&t->own, t->p, why);
		if (rc == 0 && bs_traj_delayed(&t->p->traj))
			bs_delay_apply(&t->own, t->p->traj.delay, t->p->traj.delay_cross);
		t->traj = &t->own;
	}
	if (rc == 0 && t->traj != NULL &&
	    (t->p->plan.solve == BS_SOLVE_NONE || t->p->density != BS_DENSITY_NONE)) {
		t->weight = malloc((size_t)bs_protocol_samples(t->p) * sizeof(*t->weight));
		rc = t->weight == NULL ? bs_fail(why, BS_ERR_NOMEM, "a self-test's weights")
				       : bs_density(t->weight, t->p, t->traj,
						    t->a->loaded.tables.weight, team, why);
	}
	return rc;
}

/* One frame, at most `iterations` (0: the protocol's); the worse of this and what out has. */
static int try_frame(struct selftest *t, struct bs_selftest *out, uint32_t iterations,
		     double tolerance, struct bs_fail *why)
{
	const struct bs_aim aim = { .iterations = iterations };
	const struct bs_scan_info info = { 0 };
	double error;
	int rc;

	memset(t->place, 0, sizeof(t->place));
	draw_places(t);
	bs_armed_trial(t->a, &info, &t->m->noise);
	bs_recon_aim(t->a->recon, &aim);
	rc = run_frame(t, why);
	bs_recon_aim(t->a->recon, &(const struct bs_aim){ 0 });
	if (rc != 0)
		return rc;
	error = t->fits ? error_of_data(t) : error_of_image(t);
	if (out->tolerance == 0.0 || !(error / tolerance <= out->error / out->tolerance)) {
		out->error = error;
		out->tolerance = tolerance;
	}
	return 0;
}

/* What a solver's image may be off by: lambda beside the diagonal of F^H F, one for each sample. */
static double fit_of(const struct bs_protocol *p)
{
	return fmin(MOST, CG + 20.0 * p->lambda / (double)bs_protocol_samples(p));
}

static uint64_t ppm_of(double share)
{
	return share < 1000.0 ? (uint64_t)ceil(1e6 * share) : 1000000000u;
}

/* 0: what was found is within the tolerance. */
static int judge(struct bs_selftest *out, const struct bs_protocol *p, struct bs_fail *why)
{
	out->error_ppm = ppm_of(out->error);
	out->tolerance_ppm = ppm_of(out->tolerance);
	(void)snprintf(out->words, sizeof(out->words), "passed");
	if (out->error <= out->tolerance) /* a NaN is off, too */
		return 0;
	(void)snprintf(out->words, sizeof(out->words),
		       "its self-test is off by %.2g, %.2g is allowed", out->error, out->tolerance);
	return bs_fail(why, BS_ERR_VALUE, "protocol '%s': %s", p->name, out->words);
}

int bs_selftest(struct bs_selftest *out, const struct bs_armed *a, struct bs_team *team,
		struct bs_fail *why)
{
	struct selftest *t = calloc(1, sizeof(*t));
	const struct bs_protocol *p = &a->inner;
	const bool solves = p->plan.solve == BS_SOLVE_CG;
	const char *reason = untested(a);
	const double tolerance =
		10.0 * accuracy_of(p) + SINGLE + (a->protocol->plan.prepares ? NOISE : 0.0);
	int rc = t != NULL ? 0 : bs_fail(why, BS_ERR_NOMEM, "no memory for a self-test");

	*out = (struct bs_selftest){ 0 };
	if (reason != NULL)
		(void)snprintf(out->words, sizeof(out->words), "not tested: %s", reason);
	if (rc != 0 || reason != NULL) {
		free(t);
		return rc;
	}
	t->a = a;
	t->p = p;
	t->steps = solves;
	rc = prepare(t, team, why);
	if (rc == 0 && p->precond == BS_PRECOND_NONE)
		rc = try_frame(t, out, solves ? 1 : 0, tolerance, why);
	t->fits = solves;
	if (rc == 0 && solves && p->iterations >= LEAST && is_told(p))
		rc = try_frame(t, out, 0, fit_of(p), why);
	if (rc == 0)
		rc = judge(out, p, why);
	bs_measure_close(t->m);
	bs_traj_close(&t->own);
	free(t->weight);
	free(t);
	return rc;
}
