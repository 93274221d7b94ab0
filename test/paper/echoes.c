/*
 * test/paper/echoes.c - three contrasts of one anatomy, whose edges they share
 *
 * Echoes are gridded; edges that they share become W; they are reconstructed with W, and W is made
 * again of the results, a set number of rounds (Haldar, Liang, ISBI 2008:752-755). Lambda is the
 * largest of a list at which the constrained image keeps as much of the true steps between
 * neighboring voxels as the gridded one does, both without noise: equal resolution. Noise is
 * measured by Monte Carlo: what noise alone becomes in the linear reconstruction with the last W.
 */
#include "test/paper/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/offline/rounds.h"
#include "test/paper/trial.h"
#include "core/solve/prior.h"
#include "core/tool/spread.h"
#include "test/support/plan/planned.h"

#define ECHOES 3
#define ROUNDS 3
#define TRIALS 4
#define SNR    6.0
#define EDGE   0.08 /* of the last round */

struct work {
	struct bs_reproduce *r;
	struct bs_trial t;
	struct bs_solver s;
	struct bs_csr w;
	double sigma;
	float *noisy[ECHOES]; /* samples */
	float *echo[ECHOES];  /* images of the round */
	float *joint;         /* [echo][z][y][x], what W is made of */
	float *grid[ECHOES];  /* gridded, best scale */
	float *fhd, *image, *data;
};

struct outcome {
	double lambda;
	double kept;     /* share of the true steps, without noise */
	double variance; /* of the noise, mean over the head */
	double error[ECHOES];
	double width_edge, width_flat; /* across the rim of the brain; in the brain, along y */
};

static struct bs_protocol protocol(bool small)
{
	struct bs_protocol p = bs_trial_protocol("echoes", ECHOES, 40);

	p.matrix[0] = p.matrix[1] = small ? 40 : 96;
	p.matrix[2] = small ? 16 : 32;
	p.traj.type = BS_TRAJ_STACK;
	p.traj.interleaves = small ? 3 : 6;
	p.readouts = p.traj.interleaves * p.matrix[2];
	p.samples = small ? 520 : 1500;
	return planned(p);
}

/* The head: where the first contrast is not 0. */
static bool in_head(const struct work *w, size_t v)
{
	return w->t.truth[0][2 * v] > 0.01f;
}

static double mean_square(const struct work *w, const float *image)
{
	double sum = 0.0;
	size_t n = 0;

	for (size_t v = 0; v < w->t.voxels; v++)
		if (in_head(w, v)) {
			sum += (double)image[2 * v] * image[2 * v] +
			       (double)image[2 * v + 1] * image[2 * v + 1];
			n++;
		}
	return n ? sum / (double)n : 0.0;
}

/* <true steps, steps> / <true steps, true steps> over neighbors along x, y and z. */
static double steps_kept(const struct work *w, const float *image, const float *truth)
{
	const uint32_t *n = w->t.p.matrix;
	size_t stride[3] = { 1, n[0], (size_t)n[0] * n[1] };
	double both = 0.0;
	double own = 0.0;

	for (size_t v = 0; v < w->t.voxels; v++) {
		size_t at[3] = { v % n[0], v / stride[1] % n[1], v / stride[2] };

		for (int a = 0; a < 3; a++) {
			size_t next = v + stride[a];

			if (at[a] + 1 >= n[a])
				continue;
			for (size_t i = 0; i < 2; i++) {
				double true_step = (double)truth[2 * next + i] - truth[2 * v + i];

				both += true_step *
					((double)image[2 * next + i] - image[2 * v + i]);
				own += true_step * true_step;
			}
		}
	}
	return own > 0.0 ? both / own : 0.0;
}

static void scale(const struct work *w, float *image, const double by[2])
{
	for (size_t v = 0; v < w->t.voxels; v++) {
		double re = image[2 * v];
		double im = image[2 * v + 1];

		image[2 * v] = (float)(by[0] * re - by[1] * im);
		image[2 * v + 1] = (float)(by[0] * im + by[1] * re);
	}
}

static int open_work(struct work *w, struct bs_fail *why)
{
	struct bs_protocol p = protocol(w->r->small);
	int rc = bs_trial_open(&w->t, &p, w->r->team, why);

	for (int e = 0; rc == 0 && e < ECHOES; e++) {
		w->noisy[e] = bs_trial_take(w->t.samples, why);
		w->echo[e] = bs_trial_take(w->t.voxels, why);
		w->grid[e] = bs_trial_take(w->t.voxels, why);
		rc = w->noisy[e] && w->echo[e] && w->grid[e] ? 0 : BS_ERR_NOMEM;
	}
	if (rc != 0)
		return rc;
	w->joint = bs_trial_take(w->t.voxels * ECHOES, why);
	w->fhd = bs_trial_take(w->t.voxels, why);
	w->image = bs_trial_take(w->t.voxels, why);
	w->data = bs_trial_take(w->t.samples, why);
	return w->joint && w->fhd && w->image && w->data ? 0 : BS_ERR_NOMEM;
}

static void close_work(struct work *w)
{
	for (int e = 0; e < ECHOES; e++) {
		free(w->noisy[e]);
		free(w->echo[e]);
		free(w->grid[e]);
	}
	free(w->joint);
	free(w->fhd);
	free(w->image);
	free(w->data);
	bs_solver_close(&w->s);
	bs_csr_close(&w->w);
	bs_trial_close(&w->t);
}

/* Noisy data; gridded images of them at their best scale; the noise and steps of gridding. */
static void gridding(struct work *w, struct outcome *o)
{
	struct bs_comparison c;
	const uint32_t *n = w->t.p.matrix;
	const uint32_t middle[3] = { n[0] / 2, n[1] / 2, n[2] / 2 };

	w->sigma = sqrt(w->t.energy) / SNR;
	for (uint32_t e = 0; e < ECHOES; e++) {
		bs_trial_noisy(&w->t, w->t.data[e], w->sigma, 100 + e, w->noisy[e]);
		bs_trial_grid(&w->t, w->noisy[e], w->grid[e]);
		c = bs_trial_error(&w->t, w->grid[e], w->t.truth[e]);
		o->error[e] = 100.0 * c.scaled.nrmse;
		scale(w, w->grid[e], c.scale);
	}
	bs_trial_grid(&w->t, w->t.data[0], w->image);
	c = bs_trial_error(&w->t, w->image, w->t.truth[0]);
	scale(w, w->image, c.scale);
	o->kept = steps_kept(w, w->image, w->t.truth[0]);
	for (uint32_t i = 0; i < TRIALS; i++) {
		bs_trial_noisy(&w->t, NULL, w->sigma, 200 + i, w->data);
		bs_trial_grid(&w->t, w->data, w->image);
		scale(w, w->image, c.scale);
		o->variance += mean_square(w, w->image) / TRIALS;
	}
	for (size_t m = 0; m < w->t.samples; m++) { /* an impulse at the center */
		w->data[2 * m] = 1.0f;
		w->data[2 * m + 1] = 0.0f;
	}
	bs_trial_grid(&w->t, w->data, w->image);
	o->width_edge = o->width_flat = bs_spread_width(w->image, n, middle, 1);
}

static int make_w(struct work *w, double edge, struct bs_fail *why)
{
	struct bs_prior_spec spec = {
		.dims = 3, .neighbors = 6, .images = ECHOES, .edge = edge, .outside = 1.0
	};
	struct bs_tables tables = { .traj = &w->t.traj, .w = &w->w };
	size_t bytes = w->t.voxels * 2 * sizeof(float);
	int rc;

	memcpy(spec.matrix, w->t.p.matrix, sizeof(spec.matrix));
	for (int e = 0; e < ECHOES; e++)
		memcpy(w->joint + (size_t)e * w->t.voxels * 2, w->echo[e], bytes);
	bs_solver_close(&w->s);
	bs_csr_close(&w->w);
	rc = bs_prior_make(&w->w, &spec, w->joint, NULL, why);
	return rc != 0 ? rc : bs_solver_open(&w->s, &w->t.p, &tables, w->t.team, why);
}

static void solve(struct work *w, double lambda, const float *data, float *image)
{
	struct bs_pcg_result result;

	bs_solver_fhd(&w->s, data, w->fhd);
	bs_solver_solve(&w->s, lambda, w->fhd, image, &result);
}

/* The width along y of the answer to an impulse at a voxel. */
static double width_at(struct work *w, double lambda, const uint32_t at[3])
{
	const uint32_t *n = w->t.p.matrix;
	struct bs_pcg_result result;

	memset(w->image, 0, w->t.voxels * 2 * sizeof(float));
	w->image[2 * (((size_t)at[2] * n[1] + at[1]) * n[0] + at[0])] = 1.0f;
	bs_solver_gram(&w->s, w->image, w->fhd);
	bs_solver_solve(&w->s, lambda, w->fhd, w->image, &result);
	return bs_spread_width(w->image, n, at, 1);
}

static void constrained_figures(struct work *w, struct outcome *o)
{
	const uint32_t *n = w->t.p.matrix;
	/* the last voxel of brain before the skull, whose inside is at y = 0.874; plain brain at
	 * 0.45 */
	const uint32_t edge[3] = { n[0] / 2, n[1] / 2 + (uint32_t)(0.874 * n[1] / 2), n[2] / 2 };
	const uint32_t flat[3] = { n[0] / 2, n[1] / 2 + (uint32_t)(0.45 * n[1] / 2), n[2] / 2 };

	for (int e = 0; e < ECHOES; e++)
		o->error[e] =
			100.0 * bs_trial_error(&w->t, w->echo[e], w->t.truth[e]).unscaled.nrmse;
	solve(w, o->lambda, w->t.data[0], w->image);
	o->kept = steps_kept(w, w->image, w->t.truth[0]);
	for (uint32_t i = 0; i < TRIALS; i++) {
		bs_trial_noisy(&w->t, NULL, w->sigma, 200 + i, w->data);
		solve(w, o->lambda, w->data, w->image);
		o->variance += mean_square(w, w->image) / TRIALS;
	}
	o->width_edge = width_at(w, o->lambda, edge);
	o->width_flat = width_at(w, o->lambda, flat);
}

/* Rounds of edges and reconstructions from the gridded echoes; the figures of the last. */
static int constrained(struct work *w, struct outcome *o, struct bs_fail *why)
{
	size_t bytes = w->t.voxels * 2 * sizeof(float);
	int rc = 0;

	for (int e = 0; e < ECHOES; e++)
		memcpy(w->echo[e], w->grid[e], bytes);
	for (uint32_t i = 0; rc == 0 && i < ROUNDS; i++) {
		rc = make_w(w, bs_rounds_edge(EDGE, i, ROUNDS), why);
		for (int e = 0; rc == 0 && e < ECHOES; e++)
			solve(w, o->lambda, w->noisy[e], w->echo[e]);
	}
	if (rc == 0)
		constrained_figures(w, o);
	return rc;
}

static void row(struct work *w, const char *what, const struct outcome *o, double reference)
{
	(void)fprintf(w->r->md, "| %s | %.2f | %.3f | %.2f, %.2f | %.1f, %.1f, %.1f %% |\n", what,
		      reference / o->variance, o->kept, o->width_edge, o->width_flat, o->error[0],
		      o->error[1], o->error[2]);
}

static int picture(struct work *w, struct bs_fail *why)
{
	const float *images[3 * ECHOES];
	char path[1024];

	for (size_t e = 0; e < ECHOES; e++) {
		images[3 * e] = w->t.truth[e];
		images[3 * e + 1] = w->grid[e];
		images[3 * e + 2] = w->echo[e];
	}
	if (!bs_reproduce_path(w->r, path, sizeof(path), "echoes.png"))
		return bs_fail(why, BS_ERR_USAGE, "the folder's name is too long");
	(void)fprintf(w->r->md,
		      "![slices](echoes.png)\n\nFor each echo: true image; gridding; shared "
		      "anatomy.\n\n");
	return bs_trial_picture(&w->t, path, "each echo: true, gridding, shared anatomy", images,
				3 * ECHOES, w->t.p.matrix[2] * 3 / 8, 2.2, why);
}

static int measure(struct work *w, struct bs_fail *why)
{
	static const double lambda[] = { 0.03, 0.1, 0.3, 1.0, 3.0 };
	struct outcome grid = { .variance = 0.0 };
	struct outcome best = { .lambda = 0.0 };
	char what[64];
	int rc = 0;

	gridding(w, &grid);
	(void)fprintf(
		w->r->md,
		"| reconstruction | noise variance of gridding over its own | true steps kept | "
		"width at an "
		"edge, in the brain (voxels) | error of each echo |\n|---|---|---|---|---|\n");
	row(w, "gridding", &grid, grid.variance);
	for (size_t i = 0; rc == 0 && i < sizeof(lambda) / sizeof(lambda[0]); i++) {
		struct outcome o = { .lambda = lambda[i] };

		rc = constrained(w, &o, why);
		(void)snprintf(what, sizeof(what), "shared anatomy, lambda %g", o.lambda);
		if (rc == 0)
			row(w, what, &o, grid.variance);
		if (rc == 0 && o.kept >= grid.kept)
			best = o;
	}
	if (rc == 0 && best.lambda == 0.0)
		rc = bs_fail(why, BS_ERR_VALUE, "echoes: no lambda keeps gridding's resolution");
	if (rc != 0)
		return rc;
	(void)fprintf(
		w->r->md,
		"\nAt equal resolution (lambda %g: at least as much of the true steps kept) the "
		"noise variance is %.1f times\nlower than gridding's; the paper says more than 3 "
		"times.\n\n",
		best.lambda, grid.variance / best.variance);
	bs_reproduce_figure(w->r, "echoes.variance.ratio", grid.variance / best.variance);
	bs_reproduce_figure(w->r, "echoes.kept.gridding", grid.kept);
	bs_reproduce_figure(w->r, "echoes.kept.shared", best.kept);
	rc = constrained(w, &best, why); /* the pictures show the chosen lambda */
	return rc == 0 ? picture(w, why) : rc;
}

int bs_reproduce_echoes(struct bs_reproduce *r, struct bs_fail *why)
{
	struct work w = { .r = r };
	int rc;

	bs_reproduce_say(r, "echoes");
	rc = open_work(&w, why);
	if (rc == 0) {
		(void)fprintf(
			r->md,
			"## Three echoes of one anatomy\n\n%u x %u x %u voxels, stack of spirals, "
			"%u "
			"interleaves of %u samples; image SNR %.0f of a Cartesian scan;\n%u rounds "
			"of shared "
			"edges and reconstruction.\n\n",
			w.t.p.matrix[0], w.t.p.matrix[1], w.t.p.matrix[2], w.t.p.traj.interleaves,
			w.t.p.samples, SNR, ROUNDS);
		rc = measure(&w, why);
	}
	close_work(&w);
	return rc;
}
