/* test/simulate/simulate.c - the simulator's program; see simulate.h */
/* Holds: W4, W5, W7, W12, W60, W63, W68, W70, W72, W73, W75, L4, T1, T2 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "test/simulate/simulate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "test/simulate/emit/emit.h"
#include "test/simulate/faults.h"
#include "test/simulate/places.h"
#include "test/simulate/schedule.h"
#include "test/simulate/service.h"
#include "test/simulate/totals.h"
#include "test/support/check.h"

#define IMAGES    150u
#define SCHEDULES (CHECK_SANITIZED ? 1000u : 10000u)
#define FAILURES  5u  /* of a process are told in full */
#define AGAIN     64u /* schedules of a process are run once more at its end, and are the same */
#define JOBS_MAX  256u
#define MANY      100000u /* of so many schedules each thing that is counted happens in some */

int64_t sim_now;
uint64_t sim_state;
bool sim_verbose;
uint32_t sim_images = IMAGES;

static char broken[512];
static const char *program;

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
	(void)fprintf(stderr,
		      "simulate [--schedules N] [--first SEED] [--jobs N] [--places]   many\n"
		      "simulate --seed SEED [-v]   one, with its story\n"
		      "--images N   of 1000 schedules so many are of images (150)\n");
	return 2;
}

/* What the schedule came to; the same seed gives the same. */
static uint64_t run(uint64_t seed)
{
	broken[0] = '\0';
	(void)schedule_run(seed);
	return sim_state ^ (uint64_t)sim_now << 20 ^ schedule_steps();
}

/* Not counted. */
static uint64_t run_again(uint64_t seed)
{
	static struct sim_totals uncounted;
	struct sim_totals *counted = sim_totals;
	uint64_t came_to;

	sim_totals = &uncounted;
	came_to = run(seed);
	sim_totals = counted;
	return came_to;
}

static void tell(uint64_t seed, uint64_t came_to)
{
	char words[sizeof(broken)];

	printf("# seed %llu: %s\n", (unsigned long long)seed, broken);
	faults_print();
	(void)snprintf(words, sizeof(words), "%s", broken);
	printf("#   again: %s --seed %llu -v%s\n", program, (unsigned long long)seed,
	       run_again(seed) == came_to && strcmp(words, broken) == 0
		       ? ""
		       : " (it came out differently when it was run again at once)");
}

/* Seeds first, first + stride, ... below end. Returns how many came out differently once more. */
static unsigned run_all(uint64_t first, uint64_t end, uint64_t stride)
{
	uint64_t came_to[AGAIN];
	unsigned differ = 0;

	for (uint64_t seed = first, n = 0; seed < end; seed += stride, n++) {
		const uint64_t this = run(seed);

		if (n < AGAIN)
			came_to[n] = this;
		if (sim_is_broken() && sim_totals->failed++ < FAILURES)
			tell(seed, this);
	}
	for (uint64_t seed = first, n = 0; seed < end && n < AGAIN && !sim_verbose;
	     seed += stride, n++)
		if (run_again(seed) != came_to[n] && differ++ < FAILURES)
			printf("# seed %llu came out differently\n", (unsigned long long)seed);
	return differ;
}

/* A process each; what they count lies in memory that they share. */
static unsigned run_jobs(uint64_t first, uint64_t end, unsigned jobs, struct sim_totals *totals)
{
	unsigned bad = 0;

	(void)fflush(stdout);
	for (unsigned i = 0; i < jobs; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			abort();
		if (pid > 0)
			continue;
		sim_totals = &totals[i];
		bad = run_all(first + i, end, jobs);
		(void)fflush(stdout);
		_exit(bad > 0);
	}
	for (unsigned i = 0; i < jobs; i++) {
		int status = 0;

		if (wait(&status) < 0 || status != 0)
			bad++;
	}
	return bad;
}

static void conclude(const struct sim_totals *t, uint64_t first, uint64_t schedules, unsigned bad,
		     bool places)
{
	totals_print(t, places);
	CHECK(places_count() <= PLACES_MAX, "%u places", places_count());
	CHECK(t->schedules == schedules && t->fewest_steps >= SCHEDULE_STEPS &&
		      t->fewest_faults >= SCHEDULE_FAULTS,
	      "schedules of at least %llu steps and %llu faults",
	      (unsigned long long)t->fewest_steps, (unsigned long long)t->fewest_faults);
	for (unsigned i = 0; i < SEEN_MAX && schedules >= MANY && sim_images == IMAGES; i++)
		CHECK(t->seen[i] > 0, "%s", totals_seen((enum sim_seen)i));
	CHECK(bad == 0, "schedules that were run again came out the same");
	CHECK(t->failed == 0,
	      "seeds %llu to %llu: %llu schedules, %llu steps, %llu faults, %llu scans, at rest at "
	      "most %.1f s after the last fault, %llu violations",
	      (unsigned long long)first, (unsigned long long)(first + schedules - 1),
	      (unsigned long long)t->schedules, (unsigned long long)t->steps,
	      (unsigned long long)t->faults, (unsigned long long)t->scans,
	      (double)t->longest_ns * 1e-9, (unsigned long long)t->failed);
}

int main(int argc, char **argv)
{
	static struct sim_totals sum;
	uint64_t schedules = SCHEDULES;
	uint64_t first = 1;
	unsigned jobs = 1;
	unsigned bad;
	bool places = false; /* where no kill ever struck is told */
	struct sim_totals *totals;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-v") == 0) {
			sim_verbose = true;
		} else if (strcmp(argv[i], "--places") == 0) {
			places = true;
		} else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0) {
			first = strtoull(argv[++i], NULL, 10);
			schedules = 1;
		} else if (i + 1 < argc && strcmp(argv[i], "--first") == 0) {
			first = strtoull(argv[++i], NULL, 10);
		} else if (i + 1 < argc && strcmp(argv[i], "--schedules") == 0) {
			schedules = strtoull(argv[++i], NULL, 10);
		} else if (i + 1 < argc && strcmp(argv[i], "--images") == 0) {
			sim_images = (uint32_t)strtoul(argv[++i], NULL, 10);
		} else if (i + 1 < argc && strcmp(argv[i], "--jobs") == 0) {
			jobs = (unsigned)strtoul(argv[++i], NULL, 10);
		} else {
			return usage();
		}
	}
	if (jobs < 1 || jobs > JOBS_MAX || schedules < 1)
		return usage();
	program = argv[0];
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	bs_clock_script(&sim_now);
	totals = mmap(NULL, jobs * sizeof(*totals), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (totals == MAP_FAILED)
		abort();
	sim_totals = totals;
	service_make();
	emit_make();
	bad = jobs == 1 ? run_all(first, first + schedules, 1)
			: run_jobs(first, first + schedules, jobs, totals);
	for (unsigned i = 0; i < jobs; i++)
		totals_add(&sum, &totals[i]);
	conclude(&sum, first, schedules, bad, places);
	return check_done();
}
