/*
 * test/bench/rows.h - what a bench measures and how it is written down; shared with the papers'
 * ladders
 *
 * A row is one figure: the median, minimum and count of repetitions, beside a reference figure of
 * the same work where there is one. Rows go to standard output and, with --json, into a file.
 */
#ifndef BS_TEST_BENCH_ROWS_H
#define BS_TEST_BENCH_ROWS_H

#include <stdint.h>
#include <stdio.h>

struct bs_bench {
	const char *program; /* for messages */
	const char *pattern; /* fnmatch: rows to run */
	int threads;
	double seconds; /* to spend on each row, about */
	const char *json_path;
	FILE *json; /* NULL: none */
	int rows;   /* written so far */
};

struct bs_bench_row {
	const char *name;
	double median_ms, min_ms;
	int n;
	double reference_ms; /* 0: none */
	const char *detail;  /* the stages, the plan's choices; "" */
};

/* Reads --rows, --threads, --seconds, --json, --help; optind is then at the first word after them.
 * 0; 2: something is wrong and has been said; -1: the usage was asked for and has been printed. */
int bs_bench_options(struct bs_bench *b, const char *program, const char *usage, int argc,
		     char **argv);
/* The JSON file, where one is asked for: 0, or 1 when it cannot be written, which has been said. */
int bs_bench_open(struct bs_bench *b);
int bs_bench_close(struct bs_bench *b);

/* 1 when the row is wanted. */
int bs_bench_wanted(const struct bs_bench *b, const char *name);
void bs_bench_write(struct bs_bench *b, const struct bs_bench_row *row);
/* Into the JSON file alone. */
void bs_bench_json(struct bs_bench *b, const struct bs_bench_row *row);
/* Sorts the times and fills median, min, n. */
void bs_bench_sum(struct bs_bench_row *row, double *ms, int n);

#endif
