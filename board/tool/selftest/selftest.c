/* board/tool/selftest/selftest.c - see selftest.h */
#include "board/tool/selftest/selftest.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/selftest/known.h"
#include "core/traj/delay.h"
#include "gpu/encode/encode.h"
#include "gpu/nufft/density.h"

#define TERMS   3e7  /* most terms of the sums, but for 8 places */
#define CG      0.3  /* of the sine, after some iterations */
#define MOST    0.75 /* the same where much is regularized */
#define LEAST   4u   /* iterations after which a solver's image fits the data as CG says */
#define SINGLE  1e-4
#define WIDE    0.2  /* whatever gridding says of itself */
#define NOISE   1e-3 /* 1 over so many samples of the noise that whitens (measuring.h) */
#define BROUGHT 0.05 /* of an image whose lines others stand in for: of the scan's own lines */

/* The relative error of gridding; 0: there is none, or it is not known. */
static double gridding_of(const struct bs_protocol *p)
{
	const struct bs_nufft_spec spec = bs_gridding_spec(p);

	return p->plan.encode == BS_ENCODE_GRID || p->plan.encode == BS_ENCODE_FIELD
		       ? bs_nufft_accuracy(&spec)
		       : 0.0;
}

/* A magnitude is the image where the readouts tell enough of it, else its phases are lacking. */
static bool is_told(const struct bs_protocol *p)
{
	const uint64_t voxels = (uint64_t)p->matrix[0] * p->matrix[1] * p->matrix[2];

	return p->output == BS_OUTPUT_COMPLEX || p->readouts == 0 ||
	       bs_protocol_samples(p) * (p->plan.joint ? p->coils : 1) >= voxels;
}

/* A solver's image is held to its data. */
static bool is_fitted(const struct bs_protocol *p)
{
	return p->iterations >= LEAST && is_told(p);
}

/* Why a protocol is not tested where images are held to sums; NULL: it is. */
static const char *untested_sums(const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	if (plan->on_grid &&
	    (p->samples != p->encoded[0] || p->readouts != (uint64_t)p->encoded[1] * p->encoded[2]))
		return "frames of some of the grid's lines";
	if (p->density == BS_DENSITY_PIPE)
		return "weights that iterations make";
	if (plan->encode != BS_ENCODE_EXACT && !plan->on_grid && gridding_of(p) <= 0.0)
		return "a window of a given width, whose accuracy nobody asked for";
	if (plan->solve == BS_SOLVE_CG && p->precond != BS_PRECOND_NONE && !is_fitted(p))
		return "a preconditioner, and so few iterations or readouts";
	if (plan->solve > BS_SOLVE_CG && !is_fitted(p))
		return "so few iterations or readouts";
	if (p->prior.kind > BS_PRIOR_TV || p->prior.damp > 0.0)
		return "a prior of other images";
	return NULL;
}

/* Why a protocol whose stages are known is not tested; NULL: it is. */
static const char *untested_whole(const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	if (plan->encode == BS_ENCODE_NOTHING || plan->encode == BS_ENCODE_PATH)
		return "an encoding of another kind";
	if (p->traj.estimate_delay || p->averages > 1 || plan->takes[BS_KEPT_IMAGE] ||
	    plan->takes[BS_KEPT_FIELD] || plan->maps == BS_PLAN_MAPS_STUDY || p->map_images > 1)
		return "averages, or what only a scan or an earlier one tells";
	return bs_known_brought(p) ? bs_known_untold(p) : untested_sums(p);
}

/* What of a protocol that is tested is not, in words; "": nothing. */
static const char *untested_part(const struct bs_protocol *p)
{
	if (p->plan.solve != BS_SOLVE_NONE && !bs_known_brought(p) && !is_fitted(p))
		return "iterations but the first";
	if (p->slices > 1)
		return bs_plan_has(&p->plan, BS_PLAN_APART) ? "slices but the last of a group"
							    : "slices but the first";
	return "";
}

bool bs_selftest_untested(char *to, size_t size, const struct bs_protocol *p)
{
	const uint32_t known = 1u << BS_PLAN_WHITEN | 1u << BS_PLAN_COMBINE | 1u << BS_PLAN_EPI |
			       1u << BS_PLAN_APART | 1u << BS_PLAN_FILL;
	struct bs_protocol inner;
	char stages[BS_PLAN_WORDS];
	const char *whole = stages;
	const char *part = "";

	bs_mixer_inner(&inner, p);
	inner.plan.stages |= p->plan.stages;
	if (bs_plan_stage_words(stages, sizeof(stages), &inner.plan, ~known)[0] == '\0')
		whole = untested_whole(&inner);
	if (whole == NULL)
		part = untested_part(&inner);
	(void)snprintf(to, size, "%s%s", whole != NULL || part[0] != '\0' ? "not tested: " : "",
		       whole != NULL ? whole : part);
	return whole != NULL;
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

/* Draws the voxels to look at, and the Gaussians' where the coils see something. */
static void draw_places(struct selftest *t)
{
	/* a place's terms: a turn each, and what each coil adds */
	const double terms = (double)bs_protocol_samples(t->p) * (1.0 + t->p->coils / 8.0);
	const size_t voxels = (size_t)t->p->matrix[0] * t->p->matrix[1] * t->p->matrix[2];
	double x[3];
	double most = 0.0;

	t->places = t->how == FITS ? PLACES : (uint32_t)fmin(fmax(TERMS / terms, 8.0), PLACES);
	for (uint32_t i = 0; i < t->places; i++) {
		t->place[i].voxel = (size_t)(bs_random_uniform(&t->m->random) * (double)voxels);
		bs_known_place(t, t->place[i].voxel, t->place[i].at);
		most = fmax(most, power_of(t, t->place[i].voxel));
	}
	t->width = fmin(fmax(t->p->matrix[0] / 32.0, 1.5), 8.0);
	for (uint32_t j = 0, tries = 0; j < SPOTS; tries++) {
		t->at[j] = (size_t)(bs_random_uniform(&t->m->random) * (double)voxels);
		bs_known_place(t, t->at[j], x);
		memcpy(t->spot[j], x, sizeof(x));
		j += (power_of(t, t->at[j]) >= 0.1 * most && fabs(x[0]) < 0.35 * t->p->matrix[0] &&
		      fabs(x[1]) < 0.35 * t->p->matrix[1]) ||
		     tries > 10000;
	}
}

/* What each coil reads of the Gaussians at k. */
static void read_spots(const struct selftest *t, const double k[3], double sample,
		       double complex is[])
{
	const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
	const double size = exp(-2.0 * M_PI * M_PI * t->width * t->width * square);

	for (uint32_t c = 0; c < t->p->coils; c++)
		is[c] = 0.0;
	for (uint32_t j = 0; j < SPOTS; j++) {
		const double complex e =
			size * (1.0 - 0.25 * j) *
			turn(k, t->spot[j], -1.0, bs_known_field(t, t->at[j], sample));

		for (uint32_t c = 0; c < t->p->coils; c++)
			is[c] += map_of(t, c, t->at[j]) * e;
	}
}

/* Fills a readout. noted: the image is to be compared with it. */
static void make_readout(struct selftest *t, uint32_t row, bool noted)
{
	/* what a prior takes away is in units: little of the largest values that there may be */
	const double most = t->p->plan.solve == BS_SOLVE_PROX ? 1e6 : 1.0;
	const double loud = fmin(most, 0.01 * t->p->max_sample);
	double complex is[BS_COILS_MAX] = { 0 };
	double last[2] = { 0.0, 0.0 }; /* all coils have the same where each is solved for alone */
	double k[3];
	uint64_t made;
	uint64_t read;

	bs_recon_reading(t->a->recon, true, &made, &read);
	for (uint32_t s = 0; s < t->p->samples; s++) {
		bs_known_k(t, row, s, k);
		if (t->how == FITS)
			read_spots(t, k, s, is);
		for (uint32_t c = 0; c < t->p->coils; c++) {
			float *to = t->m->samples + 2 * ((size_t)c * t->p->samples + s);
			double z[2] = { creal(is[c]), cimag(is[c]) };

			if (t->how == SUMS && (c == 0 || !t->steps || t->p->plan.joint))
				bs_random_normal(&t->m->random, last);
			if (t->how == SUMS)
				memcpy(z, last, sizeof(z));
			to[0] = (float)(loud * z[0]);
			to[1] = (float)(loud * z[1]);
		}
		if (noted)
			bs_known_note(t, row, s, k, t->m->samples);
	}
}

/* A sliding window passes its first readouts once more: the image has these, not those before. */
static int run_frame(struct selftest *t, struct bs_fail *why)
{
	const uint32_t rows = t->p->readouts;
	const uint32_t again = t->p->frame_step;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < rows + again; i++) {
		struct bs_mrd_acq h = bs_measuring_head(t->m, i % rows);

		h.idx.repetition = (uint16_t)(i / rows);
		h.flags = i + 1 == rows + again ? BS_MRD_LAST_IN_REPETITION : 0;
		make_readout(t, i % rows, i >= again);
		rc = bs_known_give(t, &h, i % rows, why);
	}
	return rc;
}

/* The image's value in a channel, at a voxel. */
static double complex pixel_of(const struct selftest *t, uint32_t channel, size_t voxel)
{
	const size_t at =
		channel * (size_t)t->p->matrix[0] * t->p->matrix[1] * t->p->matrix[2] + voxel;

	if (t->p->output != BS_OUTPUT_COMPLEX)
		return t->image[at];
	/* maps that the scan tells leave the image its size alone */
	return t->p->plan.maps == BS_PLAN_MAPS_SCAN ? cabs(of(t->image + 2 * at))
						    : of(t->image + 2 * at);
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
	if (t->p->combine == BS_COMBINE_RSS || t->p->plan.maps == BS_PLAN_MAPS_SCAN)
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
				       e[1][y] * e[2][z] *
				       (t->field != NULL ? turn_by(-bs_known_field(t, v, s->sample))
							 : 1.0);
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

	t->image = malloc((size_t)bs_protocol_leaving_bytes(t->p));
	if (rc == 0 && t->image == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "a self-test's image");
	t->field = t->p->plan.encode == BS_ENCODE_FIELD ? t->a->loaded.tables.field : NULL;
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
	t->came = false;
	draw_places(t);
	bs_armed_trial(t->a, &info, &t->m->noise);
	bs_recon_aim(t->a->recon, &aim);
	rc = t->how == BROUGHT_LINES ? bs_known_scan(t, why) : run_frame(t, why);
	if (rc == 0) {
		bs_recon_close(t->a->recon);
		rc = bs_known_take(t, why);
	}
	bs_recon_aim(t->a->recon, &(const struct bs_aim){ 0 });
	if (rc == 0 && !t->came)
		rc = bs_fail(why, BS_ERR_STATE, "a frame did not end");
	if (rc != 0)
		return rc;
	error = t->how == FITS ? error_of_data(t) : error_of_image(t);
	if (out->tolerance == 0.0 || !(error / tolerance <= out->error / out->tolerance)) {
		out->error = error;
		out->tolerance = tolerance;
	}
	return 0;
}

/* A solver's regularization leaves that part beside what others stand in for. */
static double brought_of(const struct bs_protocol *p)
{
	const double solved = p->plan.solve != BS_SOLVE_NONE ? 3.0 * p->lambda : 0.0;

	return fmin(MOST, BROUGHT + solved + 0.3 * p->multiband.lambda);
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

/* 0: what was found is within the tolerance. left: what was not looked at, in words. */
static int judge(struct bs_selftest *out, const struct bs_protocol *p, const char *left,
		 struct bs_fail *why)
{
	out->error_ppm = ppm_of(out->error);
	out->tolerance_ppm = ppm_of(out->tolerance);
	(void)snprintf(out->words, sizeof(out->words), "passed%s%.140s",
		       left[0] != '\0' ? "; " : "", left);
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
	const bool solves = p->plan.solve != BS_SOLVE_NONE;
	char left[sizeof(out->words)];
	const bool none = bs_selftest_untested(left, sizeof(left), &a->own);
	const double segments = p->plan.encode == BS_ENCODE_FIELD ? p->field.error : 0.0;
	const double tolerance = fmin(WIDE, 10.0 * (gridding_of(p) + segments)) + SINGLE +
				 (a->protocol->plan.prepares ? NOISE : 0.0);
	int rc = t != NULL ? 0 : bs_fail(why, BS_ERR_NOMEM, "no memory for a self-test");

	*out = (struct bs_selftest){ 0 };
	if (none)
		memcpy(out->words, left, sizeof(left));
	if (rc != 0 || none) {
		free(t);
		return rc;
	}
	t->a = a;
	t->p = p;
	t->how = bs_known_brought(p) ? BROUGHT_LINES : SUMS;
	t->steps = solves && t->how == SUMS;
	if (bs_plan_has(&p->plan, BS_PLAN_APART)) /* the last of a group, which is moved most */
		t->slice = p->slices - bs_multiband_groups(&p->multiband, p->slices);
	rc = prepare(t, team, why);
	if (rc == 0 && t->how == BROUGHT_LINES)
		rc = try_frame(t, out, 0, brought_of(p), why);
	else if (rc == 0 && p->plan.solve <= BS_SOLVE_CG && p->precond == BS_PRECOND_NONE)
		rc = try_frame(t, out, solves ? 1 : 0, tolerance, why);
	if (rc == 0 && t->how == SUMS && solves && is_fitted(p)) {
		t->how = FITS;
		rc = try_frame(t, out, 0, fit_of(p), why);
	}
	if (rc == 0)
		rc = judge(out, p, left, why);
	bs_measure_close(t->m);
	bs_traj_close(&t->own);
	free(t->weight);
	free(t->image);
	free(t);
	return rc;
}
