/* test/simulate/simulate.c - the simulator's program; see simulate.h */
#include "test/simulate/simulate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "test/simulate/faults.h"
#include "test/simulate/schedule.h"
#include "test/simulate/service.h"
#include "test/support/check.h"

#define SCHEDULES (CHECK_SANITIZED ? 1000u : 10000u)
#define FAILURES  5u /* are told in full */

int64_t sim_now;
uint64_t sim_state;
bool sim_verbose;

static char broken[512];

void sim_say(const char *words, ...)
{
	va_list ap;

	printf("%12.3f  ", (double)sim_now * 1e-6);
	va_start(ap, words);
	(void)vprintf(words, ap);
	va_end(ap);
	printf("\n");
}

void sim_broken(const char *words, ...)
{
	va_list ap;

	if (broken[0] != '\0')
		return;
	va_start(ap, words);
	(void)vsnprintf(broken, sizeof(broken), words, ap);
	va_end(ap);
	SAY("BROKEN: %s", broken);
}

bool sim_is_broken(void)
{
	return broken[0] != '\0';
}

static int usage(void)
{
	(void)fprintf(stderr, "simulate [--schedules N] [--first SEED]   many schedules\n"
			      "simulate --seed SEED [-v]                 one, with its story\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct schedule_sums sums = { 0 };
	uint64_t schedules = SCHEDULES;
	uint64_t first = 1;
	uint64_t failed = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-v") == 0) {
			sim_verbose = true;
		} else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0) {
			first = strtoull(argv[++i], NULL, 10);
			schedules = 1;
		} else if (i + 1 < argc && strcmp(argv[i], "--first") == 0) {
			first = strtoull(argv[++i], NULL, 10);
		} else if (i + 1 < argc && strcmp(argv[i], "--schedules") == 0) {
			schedules = strtoull(argv[++i], NULL, 10);
		} else {
			return usage();
		}
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	bs_clock_script(&sim_now);
	service_make();
	for (uint64_t seed = first; seed - first < schedules; seed++) {
		broken[0] = '\0';
		if (schedule_run(seed, &sums))
			continue;
		if (failed++ < FAILURES) {
			printf("# seed %llu: %s\n", (unsigned long long)seed, broken);
			faults_print();
			printf("#   again: %s --seed %llu -v\n", argv[0], (unsigned long long)seed);
		}
	}
	faults_table();
	CHECK(sums.fewest_steps >= SCHEDULE_STEPS && sums.fewest_faults >= SCHEDULE_FAULTS,
	      "%llu schedules of at least %llu steps and %llu faults; %llu steps, %llu faults and "
	      "%llu scans in all",
	      (unsigned long long)schedules, (unsigned long long)sums.fewest_steps,
	      (unsigned long long)sums.fewest_faults, (unsigned long long)sums.steps,
	      (unsigned long long)sums.faults, (unsigned long long)sums.scans);
	CHECK(failed == 0,
	      "%llu schedules broke a promise; at rest at most %.1f s after the last fault",
	      (unsigned long long)failed, (double)sums.longest_ns * 1e-9);
	return check_done();
}
