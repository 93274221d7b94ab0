/*
 * test/bench/stream/lag.h - how far durable lags behind held, by a sender's books; how times are
 * printed
 */
#ifndef BS_TEST_BENCH_LAG_H
#define BS_TEST_BENCH_LAG_H

#include "test/bench/bench.h"
#include "test/bench/stream/stream.h"

/* A number of the environment, or what it is without. */
unsigned lag_setting(const char *name, unsigned standard);
/* Of the site file: a log and a key that signs it (side 0), or a log (side 1), in folder dir. */
bool lag_put_log(char *out, size_t cap, const char *dir, int side);
struct stream lag_stream(void);
/* One side alone, or two in turns, each with its service: plays, prints. */
bool lag_play(struct bs_bench *b, struct side *side, unsigned sides, unsigned turns, unsigned n);

void lag_print_times(const char *what, const struct times *t);
void lag_print_ratio(const char *const mode[2], const char *what, const struct times *first,
		     const struct times *second, double q);
void lag_print_json(struct bs_bench *b, const char *name, const struct times *t, double reference);

#endif
