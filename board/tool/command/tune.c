/*
 * board/tool/command/tune.c - boreside tune: what lambda does to noise and resolution, before a
 * scan
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/command/tools.h"
#include "board/tool/command/tunescan.h"
#include "board/tool/offline/solver.h"
#include "config/config.h"
#include "core/random.h"
#include "core/progress.h"
#include "core/tool/ball.h"
#include "core/tool/spread.h"
#include "drivers/tool/chart.h"
#include "drivers/tool/written.h"
#include "drivers/file/tables.h"
#include "gpu/solve/lsq.h"

#define STEPS_MAX  64
#define KEPT_LEAST 0.9 /* least contrast of a lesion that passes without a warning */

struct request {
	const char *config, *name, *svg, *png, *w_file, *recording;
	const char *before;
	double noise, lambda[2], resolution, max_noise, radius, height;
	uint32_t steps, trials;
	struct bs_sizes at, ball;
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config), .help = "the site file",
	  .required = true },
	{ BS_OPTION_TEXT, 'p', "protocol", "PROTOCOL", AT(name),
	  .help = "which one of the site file", .required = true },
	{ BS_OPTION_POSITIVE, 0, "noise", "S", AT(noise),
	  .help = "standard deviation of the samples' complex noise (1)" },
	{ BS_OPTION_PAIR, 0, "lambda", "LO:HI", AT(lambda), .help = "range (1e-4:1e2)" },
	{ BS_OPTION_U32, 0, "steps", "N", AT(steps), .help = "lambdas in it, 2 to 64 (13)",
	  .min = 2, .max = STEPS_MAX },
	{ BS_OPTION_U32, 0, "trials", "N", AT(trials),
	  .help = "noise images for each, 1 to 1000 (4)", .min = 1, .max = 1000 },
	{ BS_OPTION_SIZES, 0, "at", "X,Y[,Z]", AT(at),
	  .help = "voxel of the impulse, from 0 (the center)" },
	{ BS_OPTION_POSITIVE, 0, "resolution", "W", AT(resolution),
	  .help = "propose the largest lambda whose width is at most W voxels" },
	{ BS_OPTION_POSITIVE, 0, "max-noise", "V", AT(max_noise),
	  .help = "propose the smallest lambda whose noise is at most V" },
	{ BS_OPTION_SIZES, 0, "ball", "X,Y[,Z]", AT(ball),
	  .help = "voxel, from 0, in whose middle a lesion lies that W does not know" },
	{ BS_OPTION_POSITIVE, 0, "radius", "R", AT(radius), .help = "its radius in voxels (2)" },
	{ BS_OPTION_TEXT, 0, "w", "FILE.mtx", AT(w_file),
	  .help = "W as `boreside prior` makes it, for a protocol of ls.w study" },
	{ BS_OPTION_TEXT, 0, "svg", "FILE.svg", AT(svg), .help = "the columns as curves" },
	{ BS_OPTION_GROUP, 0, NULL, NULL, 0, .help = "with a recording" },
	{ BS_OPERAND, 0, NULL, "RECORDING", AT(recording),
	  .help = "MRD .h5, or a scan's log: its last image is made with each lambda" },
	{ BS_OPTION_TEXT, 0, "before", "[PROTOCOL=]RECORDING", AT(before),
	  .help = "an earlier scan, whose image makes W" },
	{ BS_OPTION_POSITIVE, 0, "height", "H", AT(height),
	  .help = "the lesion's, in the image's unit (a fifth of its largest value)" },
	{ BS_OPTION_TEXT, 0, "png", "FILE.png", AT(png),
	  .help = "the images' middle slices beside each other" },
	{ 0 },
};

struct work {
	struct request q;
	struct bs_site *site;
	struct bs_protocol p;
	uint32_t at[3]; /* voxel of the impulse */
	struct bs_loaded loaded;
	float *weight; /* the protocol's density compensation */
	struct bs_team *team;
	struct bs_solver s;
	float *data, *fhd, *image;
	struct bs_progress progress;
	uint64_t solves;
	struct bs_ball ball; /* radius 0: there is none */
	double lambda[STEPS_MAX], noise[STEPS_MAX], width[STEPS_MAX], gain[STEPS_MAX],
		kept[STEPS_MAX];
};

static bool place_ball(struct work *w)
{
	bool inside = true;

	w->ball.radius = w->q.radius;
	for (uint32_t a = 0; a < 3; a++) {
		w->ball.matrix[a] = w->p.matrix[a];
		w->ball.at[a] = a < w->q.ball.axes ? w->q.ball.size[a] : 0;
		inside = inside && w->ball.at[a] < w->ball.matrix[a];
	}
	return inside;
}

static int open_protocol(struct work *w, struct bs_fail *why)
{
	const struct bs_protocol *p;
	const struct bs_plan *plan;
	char solvers[64];

	w->site = bs_command_site(w->q.config);
	if (w->site == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "%s is not valid", w->q.config);
	p = bs_config_choose(w->site, w->q.name, NULL, why);
	if (p == NULL)
		return BS_ERR_PROTOCOL;
	plan = &p->plan;
	if (plan->solve == BS_SOLVE_NONE)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s' is not of method %s",
			       p->name, bs_method_solvers(solvers, sizeof(solvers)));
	w->p = *p;
	if (w->q.ball.axes > 0 && !place_ball(w))
		return bs_fail(why, BS_ERR_SIZE, "--ball lies outside %u x %u x %u", p->matrix[0],
			       p->matrix[1], p->matrix[2]);
	if (w->q.recording != NULL)
		return 0;
	if (plan->solve == BS_SOLVE_PROX)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': what solve.prior, start or damp do depends on the "
			       "scan: give a RECORDING of one",
			       p->name);
	if (plan->solve != BS_SOLVE_CG)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': method %s has no Q to measure by", p->name,
			       bs_method_name(p->method));
	if (plan->takes[BS_KEPT_IMAGE] && w->q.w_file == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': ls.w is study, and there is no scan: give a "
			       "RECORDING and one --before, or W as --w (boreside prior --scan)",
			       p->name);
	if (plan->streams)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': trajectory.type is stream: there is no table to "
			       "measure by",
			       p->name);
	if (w->q.w_file != NULL) {
		w->p.w.from = BS_W_FILE;
		(void)snprintf(w->p.w_file, sizeof(w->p.w_file), "%s", w->q.w_file);
		bs_plan_make(&w->p);
	}
	for (int a = 0; a < 3; a++) {
		w->at[a] = w->q.at.axes == 0       ? p->matrix[a] / 2
			   : a < (int)w->q.at.axes ? w->q.at.size[a]
						   : 0;
		if (w->at[a] >= p->matrix[a])
			return bs_fail(why, BS_ERR_SIZE, "voxel %u,%u,%u is outside %u x %u x %u",
				       w->at[0], w->at[1], w->at[2], p->matrix[0], p->matrix[1],
				       p->matrix[2]);
	}
	return 0;
}

static int open_solver(struct work *w, struct bs_fail *why)
{
	struct bs_tables *t = &w->loaded.tables;
	int rc = bs_team_open(&w->team, bs_team_whole(), why);

	if (rc == 0)
		rc = bs_tables_load(&w->loaded, &w->p, why);
	if (rc == 0)
		rc = bs_lsq_weights(&w->weight, &w->p, t, w->team, why);
	t->weight = w->weight;
	if (rc == 0)
		rc = bs_solver_open(&w->s, &w->p, t, w->team, why);
	if (rc != 0)
		return rc;
	w->data = malloc(w->s.samples * w->s.coils * 2 * sizeof(*w->data));
	w->fhd = malloc(w->s.voxels * w->s.coils * 2 * sizeof(*w->fhd));
	w->image = malloc(w->s.voxels * 2 * sizeof(*w->image));
	if (w->data == NULL || w->fhd == NULL || w->image == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for %zu voxels", w->s.voxels);
	return 0;
}

static void close_work(struct work *w)
{
	free(w->data);
	free(w->fhd);
	free(w->image);
	bs_solver_close(&w->s);
	bs_tables_free(&w->loaded);
	free(w->weight);
	bs_team_close(w->team);
	free(w->site);
}

/* True if some coil sees the voxel. */
static bool is_seen(const struct work *w, size_t v)
{
	const float *maps = w->s.maps;

	if (maps == NULL)
		return true;
	for (uint32_t c = 0; c < w->s.coils; c++) {
		const float *s = maps + 2 * (c * w->s.voxels + v);

		if (s[0] != 0.0f || s[1] != 0.0f)
			return true;
	}
	return false;
}

static double noise_of(struct work *w, double lambda)
{
	struct bs_pcg_result result;
	struct bs_random random;
	double sum = 0.0;
	size_t n = 0;

	bs_random_seed(&random, 1); /* each lambda gets the same noise */
	for (uint32_t i = 0; i < w->q.trials; i++) {
		for (size_t m = 0; m < w->s.samples * w->s.coils; m++) {
			double z[2];

			bs_random_normal(&random, z);
			w->data[2 * m] = (float)(w->q.noise * sqrt(0.5) * z[0]);
			w->data[2 * m + 1] = (float)(w->q.noise * sqrt(0.5) * z[1]);
		}
		bs_solver_fhd(&w->s, w->data, w->fhd);
		bs_solver_solve(&w->s, lambda, w->fhd, w->image, &result);
		bs_progress_at(&w->progress, ++w->solves);
		for (size_t v = 0; v < w->s.voxels; v++)
			if (is_seen(w, v)) {
				sum += (double)w->image[2 * v] * w->image[2 * v] +
				       (double)w->image[2 * v + 1] * w->image[2 * v + 1];
				n++;
			}
	}
	return n ? sqrt(sum / (double)n) : 0.0;
}

/* Measures the width of an impulse. Its right-hand side is F^H F of it, summed over coils. */
static double width_of(struct work *w, double lambda, double *gain)
{
	const uint32_t *n = w->p.matrix;
	const uint32_t *at = w->at;
	size_t v = ((size_t)at[2] * n[1] + at[1]) * n[0] + at[0];
	struct bs_pcg_result result;
	double product = 1.0;

	memset(w->image, 0, w->s.voxels * 2 * sizeof(*w->image));
	w->image[2 * v] = 1.0f;
	bs_solver_gram(&w->s, w->image, w->fhd);
	bs_solver_solve_image(&w->s, lambda, w->fhd, w->image, &result);
	*gain = 0.0;
	for (v = 0; v < w->s.voxels; v++)
		*gain += w->image[2 * v];
	for (uint32_t a = 0; a < w->p.dims; a++)
		product *= bs_spread_width(w->image, n, at, a);
	return pow(product, 1.0 / w->p.dims);
}

/* What of the ball's contrast is left: the solve is linear, and its data is F^H F of the ball. */
static double kept_of(struct work *w, double lambda)
{
	struct bs_pcg_result result;

	bs_ball_put(&w->ball, w->image);
	bs_solver_gram(&w->s, w->image, w->fhd);
	bs_solver_solve_image(&w->s, lambda, w->fhd, w->image, &result);
	return bs_ball_kept(&w->ball, w->image);
}

static void print_row(double lambda, double noise, double width, double gain, double kept)
{
	(void)printf("%12.4g %14.6g %14.3f %9.3f", lambda, noise, width, gain);
	if (isfinite(kept))
		(void)printf(" %9.3f", kept);
	(void)printf("\n");
}

/* Finds where a curve over log lambda crosses a limit between two points. NAN: nowhere. */
static double crossing(const double *x, const double *y, uint32_t i, double limit)
{
	if ((y[i] - limit) * (y[i + 1] - limit) > 0.0 || y[i] == y[i + 1])
		return NAN;
	return x[i] * pow(x[i + 1] / x[i], (limit - y[i]) / (y[i + 1] - y[i]));
}

static int propose(struct work *w)
{
	bool by_width = w->q.resolution > 0.0;
	const double *y = by_width ? w->width : w->noise;
	double limit = by_width ? w->q.resolution : w->q.max_noise;
	uint32_t last = w->q.steps - 1;
	double found = NAN;
	double width;
	double gain;

	for (uint32_t i = 0; i < last; i++) {
		double at = crossing(w->lambda, y, i, limit);

		/* takes the width's last crossing of its limit and the noise's first */
		if (isfinite(at) && (by_width || !isfinite(found)))
			found = at;
	}
	if (!isfinite(found) && y[by_width ? last : 0] <= limit)
		found = w->lambda[by_width ? last : 0];
	if (!isfinite(found))
		return bs_command_fail("no lambda from %g to %g has a %s of at most %g",
				       w->q.lambda[0], w->q.lambda[1], by_width ? "width" : "noise",
				       limit);
	(void)printf("proposed: lambda %.3g\n", found);
	width = width_of(w, found, &gain);
	print_row(found, noise_of(w, found), width, gain,
		  w->ball.radius > 0.0 ? kept_of(w, found) : NAN);
	return 0;
}

/* A lambda that is chosen by noise or error alone halves small lesions. */
static void warn(const struct work *w)
{
	uint32_t i = 0;

	while (i < w->q.steps && !(w->kept[i] < KEPT_LEAST))
		i++;
	if (w->ball.radius > 0.0 && i < w->q.steps)
		(void)printf(
			"warning: from lambda %.3g on a lesion of radius %g keeps less than %g "
			"of its contrast\n",
			w->lambda[i], w->ball.radius, KEPT_LEAST);
}

/* y: columns of the table, of which the last one is the ball's. */
static int draw(const struct work *w, const double *const y[4], const char *const titles[4],
		struct bs_fail *why)
{
	static char svg[64 << 10];
	struct bs_text t = { svg, sizeof(svg), 0, false };
	const int panels = w->ball.radius > 0.0 ? 4 : 3;

	bs_chart_begin(&t, 15 + 205 * (uint32_t)panels);
	for (int i = 0; i < panels; i++) {
		struct bs_chart c = { .t = &t,
				      .first = log10(w->lambda[0]),
				      .last = log10(w->lambda[w->q.steps - 1]),
				      .upper = 20.0 + 205.0 * i,
				      .lower = 165.0 + 205.0 * i,
				      .label = bs_chart_number };

		for (uint32_t k = 0; k < w->q.steps; k++)
			c.top = isfinite(y[i][k]) ? fmax(c.top, y[i][k]) : c.top;
		c.top = c.top > 0.0 ? c.top : 1.0;
		bs_chart_axes(&c, "lambda", titles[i]);
		bs_chart_curve(&c, w->lambda, y[i], w->q.steps);
	}
	bs_chart_end(&t);
	return bs_text_save(w->q.svg, &t, why);
}

static double lambda_at(const struct work *w, uint32_t i)
{
	return w->q.lambda[0] *
	       pow(w->q.lambda[1] / w->q.lambda[0], (double)i / (double)(w->q.steps - 1));
}

static int tune(struct work *w, struct bs_fail *why)
{
	static const char *const titles[4] = { "noise", "width, voxels", "gain", "contrast kept" };
	const double *const y[4] = { w->noise, w->width, w->gain, w->kept };

	(void)printf(
		"# protocol %s, noise %g, voxel %u,%u,%u, %u iterations\n%12s %14s %14s %9s%s\n",
		w->p.name, w->q.noise, w->at[0], w->at[1], w->at[2], w->p.iterations, "lambda",
		"noise", "width (voxels)", "gain", w->ball.radius > 0.0 ? "      kept" : "");
	bs_progress_begin(&w->progress, "solving", (uint64_t)w->q.steps * w->q.trials, "trials");
	for (uint32_t i = 0; i < w->q.steps; i++) {
		w->lambda[i] = lambda_at(w, i);
		w->noise[i] = noise_of(w, w->lambda[i]);
		w->width[i] = width_of(w, w->lambda[i], &w->gain[i]);
		w->kept[i] = w->ball.radius > 0.0 ? kept_of(w, w->lambda[i]) : NAN;
		bs_progress_hide(&w->progress);
		print_row(w->lambda[i], w->noise[i], w->width[i], w->gain[i], w->kept[i]);
		(void)fflush(stdout);
	}
	bs_progress_end(&w->progress);
	warn(w);
	return w->q.svg == NULL ? 0 : draw(w, y, titles, why);
}

/* Tries lambda on a recording: the columns change, noise, iterations and kept. */
static int scan(struct work *w, struct bs_fail *why)
{
	static const char *const titles[4] = { "change", "noise", "iterations", "contrast kept" };
	const double *const y[4] = { w->width, w->noise, w->gain, w->kept };
	static struct bs_tune_scan s;
	int rc;

	s = (struct bs_tune_scan){ .site = w->site,
				   .p = w->p,
				   .recording = w->q.recording,
				   .before = w->q.before,
				   .noise = w->q.noise,
				   .ball = w->ball,
				   .height = w->q.height };
	rc = bs_tune_scan_open(&s, w->q.steps, why);
	if (rc == 0)
		(void)printf("# protocol %s, noise %g, %s\n%12s %12s %14s %10s%s\n", w->p.name,
			     w->q.noise,
			     w->p.prior.kind != BS_PRIOR_NONE ? "solve.lambda" : "ls.lambda",
			     "lambda", "change", "noise", "iterations",
			     w->ball.radius > 0.0 ? "      kept" : "");
	for (uint32_t i = 0; rc == 0 && i < w->q.steps; i++) {
		struct bs_tune_row row;

		rc = bs_tune_scan_at(&s, lambda_at(w, i), &row, why);
		if (rc != 0)
			break;
		w->lambda[i] = row.lambda;
		w->width[i] = row.change;
		w->noise[i] = row.noise;
		w->gain[i] = row.iterations;
		w->kept[i] = row.kept;
		(void)printf("%12.4g %12.4g %14.6g %10u", row.lambda, row.change, row.noise,
			     row.iterations);
		if (isfinite(row.kept))
			(void)printf(" %9.3f", row.kept);
		(void)printf("\n");
		(void)fflush(stdout);
	}
	if (rc == 0)
		warn(w);
	if (rc == 0 && w->q.png != NULL)
		rc = bs_tune_scan_draw(&s, w->q.png, why);
	if (rc == 0 && w->q.svg != NULL)
		rc = draw(w, y, titles, why);
	bs_tune_scan_close(&s);
	return rc;
}

static int run_tune(void *request)
{
	struct work *w = request;
	struct bs_fail why = { 0 };
	int rc;
	int status;

	if (w->q.lambda[1] <= w->q.lambda[0])
		return bs_options_wrong("--lambda: HI must be above LO");
	if (w->q.resolution > 0.0 && w->q.max_noise > 0.0)
		return bs_options_wrong("--resolution and --max-noise exclude each other");
	status = 0;
	bs_progress_use();
	rc = open_protocol(w, &why);
	if (rc == 0 && w->q.recording == NULL)
		rc = open_solver(w, &why);
	if (rc == 0)
		rc = w->q.recording != NULL ? scan(w, &why) : tune(w, &why);
	if (rc != 0)
		status = bs_command_fail("%s", why.text);
	else if (w->q.recording == NULL && (w->q.resolution > 0.0 || w->q.max_noise > 0.0))
		status = propose(w);
	close_work(w);
	return status;
}

const struct bs_command bs_command_tune = {
	.name = "tune",
	.summary = "what lambda does to noise and resolution",
	.notes = "Predicts, for a protocol of method ls or sense, the noise in its images and "
		 "the width of its point spread over a range of lambda: noise by reconstructing "
		 "noise alone, width by the answer to an impulse (full width at half maximum, "
		 "geometric mean over the axes). gain is the sum of that answer: below 1 where "
		 "lambda takes signal along with noise. kept (--ball) is what a lesion, whose data "
		 "is put in, has of its contrast.",
	.options = options,
	.request = &(struct work){ .q = { .noise = 1.0,
					  .lambda = { 1e-4, 1e2 },
					  .steps = 13,
					  .trials = 4,
					  .radius = 2.0 } },
	.run = run_tune,
};
