/* test/bench/rows.c - see rows.h */
#include "test/bench/rows.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static int wrong(const struct bs_bench *b, const char *option, const char *value, const char *want)
{
	(void)fprintf(stderr, "%s: %s '%s': %s\n", b->program, option, value, want);
	return 2;
}

int bs_bench_options(struct bs_bench *b, const char *program, const char *usage, int argc,
		     char **argv)
{
	static const struct option options[] = {
		{ "rows", required_argument, NULL, 'r' },
		{ "threads", required_argument, NULL, 't' },
		{ "seconds", required_argument, NULL, 's' },
		{ "json", required_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	char *end;
	int c;

	*b = (struct bs_bench){ .program = program, .pattern = "*", .threads = 2, .seconds = 1.0 };
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (c) {
		case 'r':
			b->pattern = optarg;
			break;
		case 'j':
			b->json_path = optarg;
			break;
		case 't':
			b->threads = (int)strtol(optarg, &end, 10);
			if (end == optarg || *end != '\0' || b->threads < 1 || b->threads > 64)
				return wrong(b, "--threads", optarg, "1 to 64");
			break;
		case 's':
			b->seconds = strtod(optarg, &end);
			if (end == optarg || *end != '\0' ||
			    !(b->seconds > 0.0 && b->seconds < 3600.0))
				return wrong(b, "--seconds", optarg, "above 0, below 3600");
			break;
		case 'h':
			(void)fputs(usage, stdout);
			return -1;
		default:
			return 2; /* getopt has named it */
		}
	return 0;
}

static int cannot_write(const struct bs_bench *b)
{
	(void)fprintf(stderr, "%s: %s: %s\n", b->program, b->json_path, strerror(errno));
	return 1;
}

int bs_bench_open(struct bs_bench *b)
{
	if (b->json_path == NULL)
		return 0;
	b->json = fopen(b->json_path, "w");
	return b->json != NULL ? 0 : cannot_write(b);
}

int bs_bench_close(struct bs_bench *b)
{
	if (b->json == NULL)
		return 0;
	(void)fprintf(b->json, "%s\n", b->rows == 0 ? "[]" : "\n]");
	return fclose(b->json) == 0 ? 0 : cannot_write(b);
}

int bs_bench_wanted(const struct bs_bench *b, const char *name)
{
	char one[256];

	for (const char *at = b->pattern;; at++) {
		const size_t n = strcspn(at, "|");

		(void)snprintf(one, sizeof(one), "%.*s", (int)n, at);
		if (fnmatch(one, name, 0) == 0)
			return 1;
		at += n;
		if (*at == '\0')
			return 0;
	}
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
