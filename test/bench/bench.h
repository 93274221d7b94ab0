/*
 * test/bench/bench.h - the groups of the program bench, one or two files each, beside this one
 *
 * Each writes its rows (rows.h). Returns 0, or 1 when something failed.
 */
#ifndef BS_TEST_BENCH_BENCH_H
#define BS_TEST_BENCH_BENCH_H

#include <stdbool.h>

#include "test/bench/rows.h"

int bs_bench_nufft(struct bs_bench *b);
int bs_bench_ls(struct bs_bench *b);
int bs_bench_tune(struct bs_bench *b);
int bs_bench_gpu(struct bs_bench *b);
/* Recordings: DATA of the environment; the service that simulates: as below. */
int bs_bench_real(struct bs_bench *b);
int bs_bench_arm(struct bs_bench *b);
int bs_bench_multi(struct bs_bench *b);
int bs_bench_log(struct bs_bench *b);
int bs_bench_seal(struct bs_bench *b);
int bs_bench_step(struct bs_bench *b);
/* The service that BORESIDE names; without it the one that was built with this program. */
int bs_bench_service(struct bs_bench *b);
int bs_bench_durable(struct bs_bench *b);
/* The same stream in two ways, in turns: stream/durable.c. */
int bs_bench_beside(struct bs_bench *b);
int bs_bench_prepared(struct bs_bench *b);
int bs_bench_sealed(struct bs_bench *b);
int bs_bench_signed(struct bs_bench *b);
int bs_bench_previews(struct bs_bench *b);
int bs_bench_second_protocol(struct bs_bench *b);

/* This program's path; and BORESIDE is set, to what was built beside it unless it was before. */
bool bs_bench_find_service(char self[512]);

/* The receiving end of the service group's reference, in a process of its own; does not return. */
_Noreturn void bs_bench_bare_receiver(const char *url);
/* Likewise who sends to the second service (stream/second.h). */
_Noreturn void bs_bench_second(const char *kspace, const char *archive);

#endif
