/* board/tool/command/tunescan.c - see tunescan.h */
#include "board/tool/command/tunescan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/file/png.h"

#define HEIGHT 0.2 /* of a ball, as a share of the image's largest value */

static bool is_complex(const struct bs_tune_scan *s)
{
	return s->p.output == BS_OUTPUT_COMPLEX;
}

static double magnitude(const struct bs_tune_scan *s, const float *image, size_t v)
{
	return is_complex(s) ? hypot((double)image[2 * v], (double)image[2 * v + 1])
			     : fabs((double)image[v]);
}

/* Checks that a ball's data can be added: along a known path, to coils as the maps have them. */
static int check_ball(const struct bs_tune_scan *s, struct bs_fail *why)
{
	const struct bs_plan *plan = &s->p.plan;
	const bool several = s->p.coils > 1 && !plan->joint;

	if (s->ball.radius > 0.0 &&
	    (plan->on_grid || plan->streams || plan->prepares || several || !is_complex(s) ||
	     bs_plan_has(plan, BS_PLAN_RESIZE) || plan->off_resonance ||
	     (plan->joint && plan->maps != BS_PLAN_MAPS_FILE)))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "--ball: protocol '%s' must be along a path that is known, of one "
			       "coil or with maps_file, without noise.whiten, virtual_coils, a "
			       "field map or image.matrix",
			       s->p.name);
	return 0;
}

static int take_before(struct bs_tune_scan *s, struct bs_fail *why)
{
	const char *equals = s->before != NULL ? strchr(s->before, '=') : NULL;
	char name[BS_NAME_MAX] = "";

	if (s->before == NULL)
		return 0;
	if (equals != NULL && (size_t)(equals - s->before) < sizeof(name))
		memcpy(name, s->before, (size_t)(equals - s->before));
	return bs_pipeline_before(&s->pipeline, s->site, name,
				  equals != NULL ? equals + 1 : s->before, why);
}

int bs_tune_scan_open(struct bs_tune_scan *s, uint32_t most, struct bs_fail *why)
{
	int rc;

	if (bs_protocol_channels(&s->p) == 1 && !bs_plan_has(&s->p.plan, BS_PLAN_PHASE) &&
	    !bs_plan_has(&s->p.plan, BS_PLAN_VELOCITY) && (s->p.plan.joint || s->p.coils == 1)) {
		s->p.output = BS_OUTPUT_COMPLEX;
		bs_plan_make(&s->p);
	}
	s->p.preview_every = 0;
	bs_plan_make(&s->p);
	rc = check_ball(s, why);
	if (rc == 0)
		rc = bs_pipeline_open(&s->pipeline, s->recording, why);
	if (rc == 0)
		rc = take_before(s, why);
	if (rc == 0)
		rc = bs_admit_scan(&s->p, &s->pipeline.info, why);
	if (rc != 0)
		return rc;
	s->values = (size_t)(bs_protocol_leaving_bytes(&s->p) / sizeof(float));
	s->plain = malloc(s->values * sizeof(float));
	s->first = malloc(s->values * sizeof(float));
	s->planes = malloc((size_t)most * bs_protocol_image_voxels(&s->p) * sizeof(float));
	return s->plain != NULL && s->first != NULL && s->planes != NULL
		       ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "no memory for images");
}

void bs_tune_scan_close(struct bs_tune_scan *s)
{
	bs_pipeline_close(&s->pipeline);
	free(s->plain);
	free(s->first);
	free(s->planes);
}

/* Pops images; the last one stays in the pipeline. */
static int take_images(void *arg, struct bs_fail *why)
{
	struct bs_tune_scan *s = arg;
	int rc;

	while ((rc = bs_recon_pop(s->pipeline.armed.recon, &s->pipeline.image, INT64_MAX, why)) ==
	       1)
		;
	return rc;
}

/* The ball's signal in one coil at k, by the sum over its voxels. */
static void signal_of(const struct bs_tune_scan *s, uint32_t coil, const float *k, double out[2])
{
	const uint32_t *n = s->p.matrix;
	const float *maps = s->p.plan.joint ? s->pipeline.armed.loaded.maps : NULL;
	const size_t voxels = (size_t)bs_protocol_voxels(&s->p);

	out[0] = out[1] = 0.0;
	for (size_t v = 0; v < voxels; v++) {
		const uint32_t at[] = { (uint32_t)(v % n[0]), (uint32_t)(v / n[0] % n[1]),
					(uint32_t)(v / n[0] / n[1]) };
		const double share = bs_ball_share(&s->ball, at[0], at[1], at[2]);
		const float *m = maps != NULL ? maps + 2 * (coil * voxels + v) : NULL;
		double turn = 0.0;
		double re, im;

		if (share == 0.0)
			continue;
		for (uint32_t a = 0; a < s->p.dims; a++)
			turn += (double)k[a] * ((double)at[a] - n[a] / 2);
		re = s->height * share * cos(-2.0 * M_PI * turn);
		im = s->height * share * sin(-2.0 * M_PI * turn);
		out[0] += m != NULL ? re * (double)m[0] - im * (double)m[1] : re;
		out[1] += m != NULL ? re * (double)m[1] + im * (double)m[0] : im;
	}
}

static void change(void *arg, const struct bs_mrd_acq *head, uint32_t row, float *samples)
{
	struct bs_tune_scan *s = arg;
	const uint32_t own = s->p.samples;

	for (uint32_t c = 0; c < head->active_channels; c++)
		for (uint32_t i = 0; i < own; i++) {
			float *to = samples + 2 * ((size_t)c * head->number_of_samples +
						   head->discard_pre + i);
			double add[2];

			if (s->adds_ball) {
				const struct bs_traj *t = &s->pipeline.armed.loaded.traj;

				signal_of(s, c, t->k + ((size_t)row * own + i) * t->dims, add);
			} else {
				bs_random_normal(&s->random, add);
				add[0] *= s->noise * sqrt(0.5);
				add[1] *= s->noise * sqrt(0.5);
			}
			to[0] += (float)add[0];
			to[1] += (float)add[1];
		}
}

/* Makes the last image of the recording; changed: with what is added to its readouts. */
static int run(struct bs_tune_scan *s, bool changed, struct bs_fail *why)
{
	s->pipeline.change = changed ? change : NULL;
	s->pipeline.change_arg = s;
	s->pipeline.image.number = 0;
	bs_random_seed(&s->random, 1);
	if (bs_pipeline_run(&s->pipeline, take_images, s, false, why) != 0)
		return why->code;
	return s->pipeline.image.number > 0
		       ? 0
		       : bs_fail(why, BS_ERR_LENGTH, "%s makes no image", s->recording);
}

/* Distance of two images, over the norm of the second; over: NULL: over the root of the voxels. */
static double distance(const struct bs_tune_scan *s, const float *a, const float *b,
		       const float *over)
{
	const double voxels = (double)s->values / (is_complex(s) ? 2.0 : 1.0);
	double square = 0.0;
	double norm = 0.0;

	for (size_t i = 0; i < s->values; i++) {
		square += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
		norm += over != NULL ? (double)over[i] * (double)over[i] : 0.0;
	}
	norm = over != NULL ? norm : voxels;
	return norm > 0.0 ? sqrt(square / norm) : 0.0;
}

static void keep_plane(struct bs_tune_scan *s)
{
	const uint32_t nx = bs_protocol_image_axis(&s->p, 0);
	const uint32_t ny = bs_protocol_image_axis(&s->p, 1);
	const uint32_t nz = bs_protocol_image_axis(&s->p, 2);
	const size_t plane = (size_t)nx * ny;

	for (size_t i = 0; i < plane; i++)
		s->planes[s->count * plane + i] =
			(float)magnitude(s, s->plain, (nz / 2) * plane + i);
	s->count++;
}

static void find_height(struct bs_tune_scan *s)
{
	const size_t voxels = s->values / (is_complex(s) ? 2 : 1);
	double top = 0.0;

	for (size_t v = 0; v < voxels; v++)
		top = fmax(top, magnitude(s, s->first, v));
	s->height = s->height > 0.0 ? s->height : HEIGHT * top;
}

/* What the ball that was added leaves, relative to its height. */
static double kept_of(const struct bs_tune_scan *s)
{
	float *image = s->pipeline.image.pixels;

	for (size_t i = 0; i < s->values; i++)
		image[i] = (float)(((double)image[i] - (double)s->plain[i]) / s->height);
	return bs_ball_kept(&s->ball, image);
}

int bs_tune_scan_at(struct bs_tune_scan *s, double lambda, struct bs_tune_row *row,
		    struct bs_fail *why)
{
	const size_t bytes = s->values * sizeof(float);
	int rc;

	*row = (struct bs_tune_row){ .lambda = lambda, .noise = NAN, .kept = NAN };
	if (s->p.prior.kind != BS_PRIOR_NONE) {
		s->p.prior.lambda = lambda;
		s->p.prior.noise = 0.0;
	} else {
		s->p.lambda = lambda;
	}
	rc = bs_pipeline_arm(&s->pipeline, s->site, &s->p, NULL, s->site->threads, why);
	rc = rc == 0 ? run(s, false, why) : rc;
	if (rc != 0)
		return rc;
	row->iterations = s->pipeline.image.report.iterations;
	memcpy(s->plain, s->pipeline.image.pixels, bytes);
	if (s->count == 0) {
		memcpy(s->first, s->plain, bytes);
		find_height(s);
	}
	row->change = distance(s, s->plain, s->first, s->first);
	keep_plane(s);
	s->adds_ball = false;
	if (s->noise > 0.0) {
		rc = run(s, true, why);
		row->noise = distance(s, s->pipeline.image.pixels, s->plain, NULL);
	}
	s->adds_ball = true;
	if (rc == 0 && s->ball.radius > 0.0) {
		rc = run(s, true, why);
		row->kept = kept_of(s);
	}
	return rc;
}

int bs_tune_scan_draw(const struct bs_tune_scan *s, const char *path, struct bs_fail *why)
{
	struct bs_montage m;
	struct bs_draft d;
	int rc = bs_montage_make(&m, s->planes, false, bs_protocol_image_axis(&s->p, 0),
				 bs_protocol_image_axis(&s->p, 1), s->count, why);

	if (rc == 0)
		rc = bs_draft_open(&d, path, why);
	if (rc != 0)
		return rc;
	m.reach = 0.0;
	rc = bs_pngfile_write(&d, &m, "lambda rises from left to right, then down", NULL, why);
	return bs_draft_end(&d, rc, path, BS_DRAFT_REPLACE, why);
}
