/*
 * test/bench/bench.h - what boreside bench measures and how it is written down
 *
 * Each group (a file beside this one) has rows; a row is one figure: the median, minimum and count of
 * repetitions, beside a reference figure of the same work where there is one.
 */
#ifndef BS_TEST_BENCH_BENCH_H
#define BS_TEST_BENCH_BENCH_H

#include <stdint.h>
#include <stdio.h>

struct bs_bench {
	const char *pattern; /* fnmatch: rows to run */
	int threads;
	double seconds; /* to spend on each row, about */
	FILE *json;     /* NULL: none */
	int rows;       /* written so far */
};

struct bs_bench_row {
	const char *name;
	double median_ms, min_ms;
	int n;
	double reference_ms; /* 0: none */
	const char *detail;  /* the stages, the plan's choices; "" */
};

/* 1 when the row is wanted. */
int bs_bench_wanted(const struct bs_bench *b, const char *name);
void bs_bench_write(struct bs_bench *b, const struct bs_bench_row *row);
/* Into the JSON file alone. */
void bs_bench_json(struct bs_bench *b, const struct bs_bench_row *row);
/* Sorts the times and fills median, min, n. */
void bs_bench_sum(struct bs_bench_row *row, double *ms, int n);

/* 0, or 1 when something failed. */
int bs_bench_nufft(struct bs_bench *b);
int bs_bench_ls(struct bs_bench *b);
int bs_bench_tune(struct bs_bench *b);
int bs_bench_ladder(struct bs_bench *b);
int bs_bench_gpu(struct bs_bench *b);
int bs_bench_multi(struct bs_bench *b);

#endif
