/*
 * test/bench/power.h - millijoules of one run of a work on the GPU, where ENERGY=SECONDS asks
 *
 * open -> measure* -> close; around rows that are timed, one thread. open sleeps for three seconds
 * (idle: what the board takes then, a context open) and says in `words` what was found, or why
 * there is no energy. measure: the work back to back for SECONDS, as a graph or launched as it is;
 * the board's mean power between two steps of NVML's counter (gpu/tool/energy.h) times the time
 * of a run. The idle board's share is in it. mj stays 0 where nothing is asked for or known.
 */
#ifndef BS_TEST_BENCH_POWER_H
#define BS_TEST_BENCH_POWER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"
#include "gpu/device/stopwatch.h"

#ifdef __cplusplus
extern "C" {
#endif

void bs_power_open(const char *bus, char *words, size_t cap);
bool bs_power_asked(void);
/* ms: of one run, about. */
int bs_power_measure(struct bs_stopwatch *w, bool graph, bs_stopwatch_work work, void *arg,
		     double ms, double *mj, struct bs_fail *why);
void bs_power_close(void);

#ifdef __cplusplus
}
#endif
#endif
