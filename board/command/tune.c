/* board/command/tune.c - boreside tune: what lambda does to noise and resolution, before a scan */
#define _GNU_SOURCE /* getopt_long */
#include "board/command/command.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/offline/solver.h"
#include "config/config.h"
#include "core/phantom/random.h"
#include "core/solve/spread.h"
#include "drivers/file/chart.h"
#include "drivers/file/tables.h"
#include "gpu/nufft/density.h"

static const char usage_text[] =
	"usage: boreside tune -c FILE -p PROTOCOL [options]\n"
	"Predicts, for a protocol of method ls or sense, the noise in its images and the width of its\n"
	"point spread over a range of lambda: noise by reconstructing noise alone, width by the answer\n"
	"to an impulse (full width at half maximum, geometric mean over the axes). gain is the sum of\n"
	"that answer: below 1 where lambda takes signal along with noise.\n"
	"  --noise S         standard deviation of the samples' complex noise (1)\n"
	"  --lambda LO:HI    range (1e-4:1e2)\n"
	"  --steps N         lambdas in it, 2 to 64 (13)\n"
	"  --trials N        noise images for each, 1 to 1000 (4)\n"
	"  --at X,Y[,Z]      voxel of the impulse, from 0 (the center)\n"
	"  --resolution W    propose the largest lambda whose width is at most W voxels\n"
	"  --max-noise V     propose the smallest lambda whose noise is at most V\n"
	"  --png FILE.png    both curves\n";

#define STEPS_MAX 64

struct request {
	const char *config, *name, *png;
	double noise, lo, hi, resolution, max_noise;
	long steps, trials;
	uint32_t at[3];
	bool at_given;
};

struct work {
	struct request q;
	struct bs_site *site;
	struct bs_protocol p;
	struct bs_loaded loaded;
	float *weight; /* density compensation that the protocol asks for */
	struct bs_team *team;
	struct bs_solver s;
	float *data, *fhd, *image;
	double lambda[STEPS_MAX], noise[STEPS_MAX], width[STEPS_MAX], gain[STEPS_MAX];
};

static int complain(const char *what, const char *value)
{
	(void)fprintf(stderr, "boreside tune: %s '%s'\n%s", what, value, usage_text);
	return 2;
}

static bool positive(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*value) && *value > 0.0;
}

static bool whole(const char *text, long lo, long hi, long *value)
{
	char *end;

	*value = strtol(text, &end, 10);
	return end != text && *end == '\0' && *value >= lo && *value <= hi;
}

static bool range(const char *text, double *lo, double *hi)
{
	char *end;

	*lo = strtod(text, &end);
	return end != text && *end == ':' && positive(end + 1, hi) && *lo > 0.0 && *hi > *lo;
}

static bool voxel(const char *text, struct request *q)
{
	int axes = 0;

	q->at_given = true;
	q->at[2] = 0;
	for (;;) {
		char *end;
		unsigned long at = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || at > UINT32_MAX)
			return false;
		q->at[axes++] = (uint32_t)at;
		if (*end == '\0')
			return axes >= 2;
		if (*end != ',' || axes == 3)
			return false;
		text = end + 1;
	}
}

static int parse(struct request *q, int argc, char **argv)
{
	static const struct option options[] = {
		{ "noise", required_argument, NULL, 'n' },
		{ "lambda", required_argument, NULL, 'l' },
		{ "steps", required_argument, NULL, 's' },
		{ "trials", required_argument, NULL, 't' },
		{ "at", required_argument, NULL, 'a' },
		{ "png", required_argument, NULL, 'g' },
		{ "resolution", required_argument, NULL, 'r' },
		{ "max-noise", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool good = true;
	int opt;

	*q = (struct request){ .noise = 1.0, .lo = 1e-4, .hi = 1e2, .steps = 13, .trials = 4 };
	optind = 1;
	while ((opt = getopt_long(argc, argv, "c:p:h", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			q->config = optarg;
			break;
		case 'p':
			q->name = optarg;
			break;
		case 'g':
			q->png = optarg;
			break;
		case 'n':
			good = positive(optarg, &q->noise);
			break;
		case 'l':
			good = range(optarg, &q->lo, &q->hi);
			break;
		case 's':
			good = whole(optarg, 2, STEPS_MAX, &q->steps);
			break;
		case 't':
			good = whole(optarg, 1, 1000, &q->trials);
			break;
		case 'a':
			good = voxel(optarg, q);
			break;
		case 'r':
			good = positive(optarg, &q->resolution);
			break;
		case 'm':
			good = positive(optarg, &q->max_noise);
			break;
		case 'h':
			(void)fputs(usage_text, stdout);
			return -1;
		default:
			return complain("see the usage:", argv[optind - 1]);
		}
		if (!good)
			return complain("not a legal value:", optarg);
	}
	if (optind < argc)
		return complain("unexpected", argv[optind]);
	if (q->config == NULL || q->name == NULL)
		return complain("missing option", q->config == NULL ? "-c" : "-p");
	if (q->resolution > 0.0 && q->max_noise > 0.0)
		return complain("one or the other:", "--resolution, --max-noise");
	return 0;
}

static void print_fault(void *arg, const char *fault)
{
	(void)fprintf(arg, "%s\n", fault);
}

static int open_protocol(struct work *w, struct bs_fail *why)
{
	const struct bs_protocol *p;
	char solvers[64];

	w->site = malloc(sizeof(*w->site));
	if (w->site == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory");
	if (bs_config_load(w->site, w->q.config, print_fault, stderr) != 0)
		return bs_fail(why, BS_ERR_CONFIG, "%s is not valid", w->q.config);
	p = bs_config_find(w->site, w->q.name);
	if (p == NULL)
		return bs_fail(why, BS_ERR_PROTOCOL, "no protocol '%s' in %s", w->q.name,
			       w->q.config);
	if (!bs_methods[p->method].solves)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s' is not of method %s",
			       p->name, bs_method_solvers(solvers, sizeof(solvers)));
	w->p = *p;
	for (int a = 0; a < 3; a++) {
		if (!w->q.at_given)
			w->q.at[a] = p->matrix[a] / 2;
		if (w->q.at[a] >= p->matrix[a])
			return bs_fail(why, BS_ERR_SIZE, "voxel %u,%u,%u is outside %u x %u x %u",
				       w->q.at[0], w->q.at[1], w->q.at[2], p->matrix[0],
				       p->matrix[1], p->matrix[2]);
	}
	return 0;
}

static int open_solver(struct work *w, struct bs_fail *why)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct bs_tables *t = &w->loaded.tables;
	int rc = bs_team_open(&w->team,
			      cpus < 1             ? 1
			      : cpus > BS_TEAM_MAX ? BS_TEAM_MAX
						   : (int)cpus,
			      why);

	if (rc == 0)
		rc = bs_tables_load(&w->loaded, &w->p, why);
	if (rc == 0 && w->p.density != BS_DENSITY_NONE) {
		w->weight = malloc((size_t)bs_protocol_samples(&w->p) * sizeof(*w->weight));
		if (w->weight == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "no memory for the weights");
		rc = bs_density(w->weight, &w->p, t->traj, t->weight, w->team, why);
		t->weight = w->weight;
	}
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

/* Voxels that some coil sees. */
static bool is_seen(const struct work *w, size_t v)
{
	const float *maps = bs_methods[w->p.method].uses_maps ? w->loaded.tables.maps : NULL;

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

	bs_random_seed(&random, 1); /* the same noise for each lambda */
	for (long i = 0; i < w->q.trials; i++) {
		for (size_t m = 0; m < w->s.samples * w->s.coils; m++) {
			double z[2];

			bs_random_normal(&random, z);
			w->data[2 * m] = (float)(w->q.noise * sqrt(0.5) * z[0]);
			w->data[2 * m + 1] = (float)(w->q.noise * sqrt(0.5) * z[1]);
		}
		bs_solver_fhd(&w->s, w->data, w->fhd);
		bs_solver_solve(&w->s, lambda, w->fhd, w->image, &result);
		for (size_t v = 0; v < w->s.voxels; v++)
			if (is_seen(w, v)) {
				sum += (double)w->image[2 * v] * w->image[2 * v] +
				       (double)w->image[2 * v + 1] * w->image[2 * v + 1];
				n++;
			}
	}
	return n ? sqrt(sum / (double)n) : 0.0;
}

/* The right-hand side of an impulse is F^H F (or its sum over coils) of it: coils are in already.
 */
static double width_of(struct work *w, double lambda, double *gain)
{
	const uint32_t *n = w->p.matrix;
	const uint32_t *at = w->q.at;
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

static void print_row(double lambda, double noise, double width, double gain)
{
	(void)printf("%12.4g %14.6g %14.3f %9.3f\n", lambda, noise, width, gain);
}

/* Where a curve over log lambda crosses a limit between two points; NAN when it does not. */
static double crossing(const double *x, const double *y, long i, double limit)
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
	long last = w->q.steps - 1;
	double found = NAN;
	double width;
	double gain;

	for (long i = 0; i < last; i++) {
		double at = crossing(w->lambda, y, i, limit);

		/* the last place where the width passes its limit, the first where the noise does
		 */
		if (isfinite(at) && (by_width || !isfinite(found)))
			found = at;
	}
	if (!isfinite(found) && y[by_width ? last : 0] <= limit)
		found = w->lambda[by_width ? last : 0];
	if (!isfinite(found)) {
		(void)fprintf(stderr,
			      "boreside tune: no lambda from %g to %g has a %s of at most %g\n",
			      w->q.lo, w->q.hi, by_width ? "width" : "noise", limit);
		return 1;
	}
	(void)printf("proposed: lambda %.3g\n", found);
	width = width_of(w, found, &gain);
	print_row(found, noise_of(w, found), width, gain);
	return 0;
}

static int tune(struct work *w, struct bs_fail *why)
{
	struct bs_chart_panel panels[3] = { { "noise", w->noise, 0.0 },
					    { "width (voxels)", w->width, 0.0 },
					    { "gain", w->gain, 0.0 } };

	(void)printf("# protocol %s, noise %g, voxel %u,%u,%u, %u iterations\n%12s %14s %14s %9s\n",
		     w->p.name, w->q.noise, w->q.at[0], w->q.at[1], w->q.at[2], w->p.iterations,
		     "lambda", "noise", "width (voxels)", "gain");
	for (long i = 0; i < w->q.steps; i++) {
		w->lambda[i] =
			w->q.lo * pow(w->q.hi / w->q.lo, (double)i / (double)(w->q.steps - 1));
		w->noise[i] = noise_of(w, w->lambda[i]);
		w->width[i] = width_of(w, w->lambda[i], &w->gain[i]);
		print_row(w->lambda[i], w->noise[i], w->width[i], w->gain[i]);
		(void)fflush(stdout);
	}
	return w->q.png == NULL ? 0
				: bs_chart_write(w->q.png, "lambda", w->lambda,
						 (uint32_t)w->q.steps, panels, 3, why);
}

int bs_cmd_tune(int argc, char **argv)
{
	struct work *w = calloc(1, sizeof(*w));
	struct bs_fail why = { 0 };
	int status;
	int rc;

	if (w == NULL) {
		(void)fprintf(stderr, "boreside tune: no memory\n");
		return 1;
	}
	status = parse(&w->q, argc, argv);
	if (status != 0) {
		free(w);
		return status < 0 ? 0 : status;
	}
	rc = open_protocol(w, &why);
	if (rc == 0)
		rc = open_solver(w, &why);
	if (rc == 0)
		rc = tune(w, &why);
	if (rc != 0)
		(void)fprintf(stderr, "boreside tune: %s\n", why.text);
	else if (w->q.resolution > 0.0 || w->q.max_noise > 0.0)
		status = propose(w);
	close_work(w);
	free(w);
	return rc != 0 ? 1 : status;
}
