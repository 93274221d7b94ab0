/* test/bench/main.c - boreside bench: the operators' timings beside a reference, as a table and as JSON */
#include "board/command/command.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "test/bench/bench.h"

/* A group is run by its word; without a word those that are not `named` only, or whose word the
 * pattern begins with. */
static const struct {
	const char *word, *title;
	int (*run)(struct bs_bench *b);
	bool named;
} groups[] = {
	{ "nufft",
	  "NUFFT, accuracy 1e-3, plan made; reference: FINUFFT 2.6, two cores of an AMD EPYC",
	  bs_bench_nufft, false },
	{ "ls", "Least squares, plans made; references as each row says", bs_bench_ls, false },
	{ "gpu", "The speed demand on this GPU, device time of a graph", bs_bench_gpu,
	  BS_GPU == 0 },
	{ "ladder", "The papers' optimizations on this GPU", bs_bench_ladder, true },
	{ "tune",
	  "Variants of the GPU's operators, 1e-3, device time of a graph; reference: the project's demand",
	  bs_bench_tune, true },
	{ "multi", "One scan on several GPUs", bs_bench_multi, true },
};

static bool group_wanted(size_t i, const char *word, const char *pattern)
{
	if (word != NULL)
		return strcmp(groups[i].word, word) == 0;
	return !groups[i].named || strncmp(pattern, groups[i].word, strlen(groups[i].word)) == 0 ||
	       (strcmp(groups[i].word, "tune") == 0 && strncmp(pattern, "gpu tune", 8) == 0);
}

static bool group_known(const char *word)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strcmp(groups[i].word, word) == 0)
			return true;
	return false;
}

int bs_bench_wanted(const struct bs_bench *b, const char *name)
{
	return fnmatch(b->pattern, name, 0) == 0;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

void bs_bench_sum(struct bs_bench_row *row, double *ms, int n)
{
	qsort(ms, (size_t)n, sizeof(*ms), ascending);
	row->n = n;
	row->min_ms = ms[0];
	row->median_ms = n % 2 != 0 ? ms[n / 2] : 0.5 * (ms[n / 2 - 1] + ms[n / 2]);
}

void bs_bench_write(struct bs_bench *b, const struct bs_bench_row *r)
{
	(void)printf("%-34s %9.3f %9.3f %6d", r->name, r->median_ms, r->min_ms, r->n);
	if (r->reference_ms > 0.0)
		(void)printf(" %9.2f %6.2f", r->reference_ms, r->reference_ms / r->median_ms);
	else
		(void)printf(" %9s %6s", "", "");
	(void)printf("  %s\n", r->detail);
	(void)fflush(stdout);
	bs_bench_json(b, r);
}

void bs_bench_json(struct bs_bench *b, const struct bs_bench_row *r)
{
	if (b->json == NULL)
		return;
	(void)fprintf(b->json,
		      "%s\n  {\"row\": \"%s\", \"median_ms\": %.6f, \"min_ms\": %.6f, \"n\": %d, "
		      "\"reference_ms\": %.3f, \"threads\": %d, \"detail\": \"%s\"}",
		      b->rows++ == 0 ? "[" : ",", r->name, r->median_ms, r->min_ms, r->n,
		      r->reference_ms, b->threads, r->detail);
}

static int usage(void)
{
	(void)fprintf(
		stderr,
		"usage: boreside bench [GROUP] [--rows PATTERN] [--threads N] "
		"[--seconds S] [--json FILE]\n"
		"  GROUP           nufft, ls, gpu (all by default), ladder, tune or multi (GPU)\n"
		"  --rows PATTERN  shell pattern of row names, e.g. 'radial2d*'\n"
		"  --threads N     the team (2)\n"
		"  --seconds S     about this long on each row (1)\n"
		"  --json FILE     also write the rows there\n");
	return 2;
}

int bs_cmd_bench(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rows", required_argument, NULL, 'r' },
		{ "threads", required_argument, NULL, 't' },
		{ "seconds", required_argument, NULL, 's' },
		{ "json", required_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct bs_bench b = { .pattern = "*", .threads = 2, .seconds = 1.0 };
	const char *json = NULL;
	const char *word;
	int failed = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end = NULL;

		if (c == 'r')
			b.pattern = optarg;
		else if (c == 'j')
			json = optarg;
		else if (c == 't')
			b.threads = (int)strtol(optarg, &end, 10);
		else if (c == 's')
			b.seconds = strtod(optarg, &end);
		else
			return usage();
		if (end != NULL && (end == optarg || *end != '\0'))
			return usage();
	}
	word = optind < argc ? argv[optind++] : NULL;
	if (optind != argc || (word != NULL && !group_known(word)) || b.threads < 1 ||
	    b.threads > 64 || !(b.seconds > 0.0 && b.seconds < 3600.0))
		return usage();
	if (json != NULL && (b.json = fopen(json, "w")) == NULL) {
		(void)fprintf(stderr, "boreside bench: %s: %s\n", json, strerror(errno));
		return 1;
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (!group_wanted(i, word, b.pattern))
			continue;
		if (groups[i].named)
			(void)printf("%s\n", groups[i].title);
		else
			(void)printf("%s; %d threads\n%-34s %9s %9s %6s %9s %6s\n", groups[i].title,
				     b.threads, "row", "median ms", "min ms", "N", "reference",
				     "ratio");
		failed |= groups[i].run(&b);
	}
	if (b.json != NULL) {
		(void)fprintf(b.json, "%s\n", b.rows == 0 ? "[]" : "\n]");
		if (fclose(b.json) != 0) {
			(void)fprintf(stderr, "boreside bench: %s: %s\n", json, strerror(errno));
			failed = 1;
		}
	}
	return failed;
}
