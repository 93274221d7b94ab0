/*
 * test/paper/ladder.c - paper ladder: the papers' optimizations, one after the other
 *
 * Each rung is timed on the papers' own sizes and held against double precision. A rung that would
 * take too long runs on fewer samples and its time is scaled: every one is linear in them.
 */
#include "test/paper/paper.h"

#include <getopt.h>

#include "test/bench/rows.h"

#if !BS_GPU
static int run(struct bs_bench *b)
{
	(void)b;
	(void)printf("needs a GPU: this program was built with GPU=0\n");
	return 0;
}
#else
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "gpu/device/memory.h"
#include "test/bench/inputs.h"
#include "test/paper/ladder/ladder.h"
#include "test/paper/ladder/truth.h"

#define PROBES     64 /* voxels held against double precision */
#define RUN_MS     150.0
#define TUNE_COUNT 4096 /* samples of one trial of the search */

/* Factors over the rung before; "-": the paper's abstract states none. */
static const struct {
	const char *name, *paper;
} exact_rungs[BS_LADDER_EXACT_STEPS] = {
	[BS_LADDER_BASE] = { "Base", "-" },         [BS_LADDER_REGALLOC] = { "RegAlloc", "-" },
	[BS_LADDER_LAYOUT] = { "Layout", "-" },     [BS_LADDER_CONSTMEM] = { "ConstMem", "-" },
	[BS_LADDER_FASTTRIG] = { "FastTrig", "-" }, [BS_LADDER_TUNE] = { "Tune", "1.6-1.8" },
	[BS_LADDER_MULTI] = { "Multi", "2.1 (4)" }, [BS_LADDER_OURS] = { "ours", "" },
};

static const struct {
	const char *name, *paper;
} grid_rungs[BS_LADDER_GRID_STEPS] = {
	[BS_LADDER_NAIVE] = { "naive", "-" },
	[BS_LADDER_CACHE] = { "cache", "-" },
	[BS_LADDER_ALIGNED] = { "aligned", "-" },
	[BS_LADDER_TABLE] = { "table", "-" },
	[BS_LADDER_SECTORS] = { "sectors", "-" },
	[BS_LADDER_BLOCKS] = { "blocks", "all: >4" },
	[BS_LADDER_GRID_SECTORS_OURS] = { "ours, sectors", "" },
	[BS_LADDER_GRID_OURS] = { "ours", "" },
};

static const char sources[] =
	"paper: the factor over the rung before where its abstract or text states one, else a "
	"dash.\n"
	"  Tune: transformations found by experiment gave 60 to 80 % (Stone et al., GPGPU "
	"workshop\n"
	"  2007); Multi: the whole reconstruction, 66 s to 32 s on four GPUs (Stone et al., J "
	"Parallel\n"
	"  Distrib Comput 2008;68:1307-1318). Gridding: naive to optimized, over 400 % "
	"(Gregerson,\n"
	"  Implementing Fast MRI Gridding on GPUs via CUDA). ours x: over the rung before; all x: "
	"over\n"
	"  the first. error: relative, against double precision.\n";

static void line(const char *name, const char *paper, double before, double first, double ms,
		 double error, const char *detail)
{
	(void)printf("  %-14s %8s", name, paper);
	if (before > 0.0)
		(void)printf(" %8.2f %8.1f", before / ms, first / ms);
	else
		(void)printf(" %8s %8s", "", "");
	(void)printf(" %12.4f %10.2e  %s\n", ms, error, detail);
	(void)fflush(stdout);
}

static void head(void)
{
	(void)printf("  %-14s %8s %8s %8s %12s %10s\n", "rung", "paper", "ours x", "all x", "ms",
		     "error");
}

static void record(struct bs_bench *b, const char *name, double *ms, int n, double scale,
		   double error, const char *how, double *median)
{
	struct bs_bench_row row = { .name = name };
	char detail[160];

	bs_bench_sum(&row, ms, n);
	row.median_ms *= scale;
	row.min_ms *= scale;
	*median = row.median_ms;
	(void)snprintf(detail, sizeof(detail), "error %.2e; %s", error, how);
	row.detail = detail;
	bs_bench_json(b, &row);
}

/* ---- exact sums ----------------------------------------------------------------------------- */

struct exact {
	struct bs_ladder_exact *ladder;
	const char *word; /* of the rows' names */
	uint32_t n[3];
	uint64_t samples;
	const float *k, *d; /* d NULL: Q */
	float *image;
	double before, first;
};

/* Relative error of the image at voxels drawn at random. */
static double exact_error(const struct exact *e, uint64_t samples)
{
	const double turn = 6.283185307179586476925;
	struct bs_random r;
	double err = 0.0;
	double ref = 0.0;

	bs_random_seed(&r, 77);
	for (int p = 0; p < PROBES; p++) {
		double at[3];
		double re = 0.0;
		double im = 0.0;
		size_t index = 0;

		for (int a = 2; a >= 0; a--) {
			uint32_t i = (uint32_t)(bs_random_uniform(&r) * e->n[a]);

			i = i < e->n[a] ? i : e->n[a] - 1;
			at[a] = (double)i - (double)(e->n[a] / 2);
			index = index * e->n[a] + i;
		}
		for (uint64_t m = 0; m < samples; m++) {
			const float *k = e->k + 3 * m;
			const double t = turn * (k[0] * at[0] + k[1] * at[1] + k[2] * at[2]);
			const double c = cos(t);
			const double s = sin(t);
			const double x = e->d != NULL ? e->d[2 * m] : 1.0;
			const double y = e->d != NULL ? e->d[2 * m + 1] : 0.0;

			re += x * c - y * s;
			im += x * s + y * c;
		}
		err += (e->image[2 * index] - re) * (e->image[2 * index] - re) +
		       (e->image[2 * index + 1] - im) * (e->image[2 * index + 1] - im);
		ref += re * re + im * im;
	}
	return sqrt(err / ref);
}

/* Whole tiles, as many as fit the time of a run; *ms: of the last run of few. */
static int fit_samples(struct exact *e, enum bs_ladder_exact_step step, uint64_t *count,
		       struct bs_fail *why)
{
	const uint64_t few = e->samples < 2048 ? e->samples : 2048;
	double ms = 0.0;
	int rc = 0;

	*count = e->samples;
	if (step == BS_LADDER_OURS)
		return 0;
	for (int i = 0; i < 2 && rc == 0; i++) /* once to load the kernel */
		rc = bs_ladder_exact_step(e->ladder, step, few, NULL, &ms, why);
	if (rc == 0 && ms * (double)e->samples / (double)few > RUN_MS) {
		*count = (uint64_t)(RUN_MS / ms) * few;
		*count = *count < few ? few : *count;
	}
	return rc;
}

static int exact_rung(struct bs_bench *b, struct exact *e, enum bs_ladder_exact_step step,
		      struct bs_fail *why)
{
	double ms[8];
	double median;
	double error;
	uint64_t count;
	char name[64];
	char how[96] = "";
	int runs;
	int rc;

	(void)snprintf(name, sizeof(name), "ladder-%s-%s", e->word, exact_rungs[step].name);
	rc = fit_samples(e, step, &count, why);
	runs = step == BS_LADDER_OURS ? 8 : 3;
	for (int i = -1; i < runs && rc == 0; i++)
		rc = bs_ladder_exact_step(e->ladder, step, count, i < 0 ? e->image : NULL,
					  &ms[i < 0 ? 0 : i], why);
	if (rc != 0)
		return rc;
	error = exact_error(e, count);
	if (count < e->samples)
		(void)snprintf(how, sizeof(how), "run on %llu samples of %llu, scaled",
			       (unsigned long long)count, (unsigned long long)e->samples);
	else
		(void)snprintf(how, sizeof(how), "all samples");
	record(b, name, ms, runs, (double)e->samples / (double)count, error, how, &median);
	line(exact_rungs[step].name, exact_rungs[step].paper, e->before, e->first, median, error,
	     how);
	e->before = median;
	e->first = e->first > 0.0 ? e->first : median;
	return 0;
}

/* Every block, tile and unrolling, as the authors did; the best is used from then on. */
static int search(struct exact *e, struct bs_fail *why)
{
	const uint64_t count = e->samples < TUNE_COUNT ? e->samples : TUNE_COUNT;
	struct bs_ladder_config best = { 128, 512, 8 };
	double least = INFINITY;
	double worst = 0.0;

	(void)printf("  search, ms of %llu samples at the best unrolling (in brackets):\n  %8s",
		     (unsigned long long)count, "tile");
	for (int t = 0; t < BS_LADDER_THREADS; t++)
		(void)printf("  %7u threads", bs_ladder_threads[t]);
	(void)printf("\n");
	for (int i = 0; i < BS_LADDER_TILES; i++) {
		(void)printf("  %8u", bs_ladder_tiles[i]);
		for (int t = 0; t < BS_LADDER_THREADS; t++) {
			double cell = INFINITY;
			uint32_t unroll = 0;

			for (int u = 0; u < BS_LADDER_UNROLLS; u++) {
				const struct bs_ladder_config c = { bs_ladder_threads[t],
								    bs_ladder_tiles[i],
								    bs_ladder_unrolls[u] };
				double ms = 0.0;
				int rc;

				bs_ladder_exact_configure(e->ladder, &c);
				rc = i + t == 0 ? bs_ladder_exact_step(e->ladder, BS_LADDER_TUNE,
								       count, NULL, &ms, why)
						: 0; /* loads the kernel */
				if (rc == 0)
					rc = bs_ladder_exact_step(e->ladder, BS_LADDER_TUNE, count,
								  NULL, &ms, why);
				if (rc != 0)
					return rc;
				worst = ms > worst ? ms : worst;
				if (ms < cell) {
					cell = ms;
					unroll = c.unroll;
				}
				if (ms < least) {
					least = ms;
					best = c;
				}
			}
			(void)printf("  %9.3f [%2u]", cell, unroll);
		}
		(void)printf("\n");
	}
	(void)printf("  best: %u threads, tiles of %u, unrolled by %u: %.3f ms; worst %.3f ms\n",
		     best.threads, best.tile, best.unroll, least, worst);
	bs_ladder_exact_configure(e->ladder, &best);
	return 0;
}

static int exact_ladder(struct bs_bench *b, struct exact *e)
{
	struct bs_fail why = { 0, "" };
	int failed = 0;
	int rc = bs_ladder_exact_open(&e->ladder, e->n, e->samples, e->k, e->d, &why);

	if (rc != 0) {
		(void)printf("  %s\n", why.text);
		return 1;
	}
	head();
	for (int s = 0; s < BS_LADDER_EXACT_STEPS; s++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "ladder-%s-%s", e->word, exact_rungs[s].name);
		if (!bs_bench_wanted(b, name))
			continue;
		rc = s == BS_LADDER_TUNE ? search(e, &why) : 0;
		if (rc == 0)
			rc = exact_rung(b, e, (enum bs_ladder_exact_step)s, &why);
		if (rc != 0)
			(void)printf("  %-14s %8s  %s\n", exact_rungs[s].name, exact_rungs[s].paper,
				     why.text);
		failed |= rc != 0 && rc != BS_ERR_UNSUPPORTED;
	}
	bs_ladder_exact_close(e->ladder);
	return failed;
}

static int exact_ladders(struct bs_bench *b)
{
	struct exact e = { .n = { 128, 128, 128 }, .samples = 284592 };
	float *k = malloc(e.samples * 3 * sizeof(float));
	float *d = malloc(e.samples * 2 * sizeof(float));
	int failed = 0;

	e.image = malloc((size_t)2 * 128 * 128 * 128 * sizeof(float));
	if (k != NULL && d != NULL && e.image != NULL) {
		bs_bench_uniform(k, e.samples * 3, 1.0, 1);
		bs_bench_uniform(d, e.samples * 2, 1.0, 2);
		e.k = k;
		for (int q = 0; q < 2; q++) {
			(void)printf(" exact %s, 128^3 voxels, 284,592 samples\n",
				     q ? "Q at the image's voxels" : "F^H d");
			e.word = q ? "q" : "fhd";
			e.d = q ? NULL : d;
			e.before = e.first = 0.0;
			failed |= exact_ladder(b, &e);
		}
	} else {
		(void)printf("  no memory\n");
		failed = 1;
	}
	free(k);
	free(d);
	free(e.image);
	return failed;
}

/* ---- gridding ------------------------------------------------------------------------------- */

#define CELLS   512
#define REPEATS 50 /* of a rung, in one graph */
#define RUNS    20

static double grid_error(const float *got, const double *want)
{
	double err = 0.0;
	double ref = 0.0;

	for (size_t i = 0; i < (size_t)2 * CELLS * CELLS; i++) {
		err += (got[i] - want[i]) * (got[i] - want[i]);
		ref += want[i] * want[i];
	}
	return sqrt(err / ref);
}

static int grid_rungs_run(struct bs_bench *b, struct bs_ladder_grid *l, uint64_t samples,
			  float *grid, const double *want)
{
	double before = 0.0;
	double first = 0.0;
	int failed = 0;

	head();
	for (int s = 0; s < BS_LADDER_GRID_STEPS; s++) {
		struct bs_fail why = { 0, "" };
		double ms[RUNS];
		double median;
		double error;
		char name[64];
		int rc = 0;

		(void)snprintf(
			name, sizeof(name), "ladder-grid-%llu-%s", (unsigned long long)samples,
			s == BS_LADDER_GRID_SECTORS_OURS ? "ours-sectors" : grid_rungs[s].name);
		if (!bs_bench_wanted(b, name))
			continue;
		for (int r = -1; r < RUNS && rc == 0; r++)
			rc = bs_ladder_grid_step(l, (enum bs_ladder_grid_step)s, REPEATS,
						 r < 0 ? grid : NULL, &ms[r < 0 ? 0 : r], &why);
		if (rc != 0) {
			(void)printf("  %-14s %8s  %s\n", grid_rungs[s].name, grid_rungs[s].paper,
				     why.text);
			failed = 1;
			continue;
		}
		error = grid_error(grid, want);
		record(b, name, ms, RUNS, 1.0, error, "one of 50 in a graph", &median);
		line(grid_rungs[s].name, grid_rungs[s].paper, before, first, median, error, "");
		before = median;
		first = first > 0.0 ? first : median;
	}
	return failed;
}

static int grid_ladder(struct bs_bench *b, uint64_t samples)
{
	const size_t cells = (size_t)CELLS * CELLS;
	float *x = malloc(samples * 2 * sizeof(float));
	float *d = malloc(samples * 2 * sizeof(float));
	float *grid = malloc(2 * cells * sizeof(float));
	double *want = malloc(2 * cells * sizeof(double));
	struct bs_ladder_grid *l = NULL;
	struct bs_fail why = { 0, "" };
	double sigma = 0.0;
	int rc;

	if (x == NULL || d == NULL || grid == NULL || want == NULL) {
		rc = bs_fail(&why, BS_ERR_NOMEM, "no memory");
	} else {
		bs_bench_uniform(x, samples * 2, CELLS, 3);
		bs_bench_uniform(d, samples * 2, 1.0, 4);
		rc = bs_ladder_grid_open(&l, CELLS, samples, x, d, &sigma, &why);
	}
	(void)printf(
		" gridding, %llu samples on 512^2, Gaussian window of 8 cells, spreading only\n",
		(unsigned long long)samples);
	if (rc != 0) {
		(void)printf("  %s\n", why.text);
	} else {
		true_grid(want, CELLS, x, d, samples, sigma);
		rc = grid_rungs_run(b, l, samples, grid, want);
	}
	bs_ladder_grid_close(l);
	free(x);
	free(d);
	free(grid);
	free(want);
	return rc != 0;
}

static int run(struct bs_bench *b)
{
	struct bs_gpu_info gpu;
	struct bs_fail why = { 0, "" };
	int failed;

	if (bs_gpu_probe(&gpu, &why) != 0) {
		(void)printf("needs a GPU: %s\n", why.text);
		return 0;
	}
	(void)printf("%s%s\n", sources, gpu.name);
	failed = grid_ladder(b, 5000);
	failed |= grid_ladder(b, 8192);
	failed |= exact_ladders(b);
	return failed;
}
#endif

int bs_paper_ladder(int argc, char **argv)
{
	static const char usage[] =
		"usage: paper ladder [options]\n"
		"The papers' optimizations, one after the other, timed on this GPU.\n"
		"  --rows PATTERN  shell pattern of row names, e.g. 'ladder-grid*'\n"
		"  --json FILE     also write the rows there\n";
	struct bs_bench b;
	int rc = bs_bench_options(&b, "paper ladder", usage, argc, argv);

	if (rc != 0)
		return rc < 0 ? 0 : rc;
	if (optind < argc) {
		(void)fprintf(stderr, "paper ladder: unexpected '%s'\n", argv[optind]);
		return 2;
	}
	if (bs_bench_open(&b) != 0)
		return 1;
	(void)printf("The papers' optimizations on this GPU\n");
	rc = run(&b);
	return bs_bench_close(&b) | rc;
}
