/*
 * test/bench/stream/step.c - what a step adds to an image: the copy there, an identity in a process
 * of its own, the copy back with a look for what is no number, two wakes
 *
 * STEP: the step's command; else the tests' own, built beside this program.
 * SPIN: the service's side polls for the answer. EVERY_US: time from one image to the next, else
 * half a millisecond after it. IMAGES: how many of each size. Images are squares of floats.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/step/door.h"
#include "drivers/step/start.h"
#include "test/bench/bench.h"

#define IMAGES   4000 /* at most */
#define PAUSE_NS 500000

static int by_time(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a;
	const int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Runs images of so many bytes, and prints the quantiles of their times. */
static int run_images(struct bs_door *d, size_t bytes)
{
	static int64_t ns[IMAGES];
	const char *given = getenv("IMAGES");
	const int images = given != NULL && atoi(given) < IMAGES ? atoi(given) : IMAGES;
	const int64_t every_ns = getenv("EVERY_US") != NULL ? atoll(getenv("EVERY_US")) * 1000 : 0;
	int64_t next_ns = bs_now_ns();
	uint16_t side = 1;
	float *in = calloc(1, bytes);
	float *out = calloc(1, bytes);
	int used = 0;

	while ((size_t)side * side * sizeof(float) < bytes)
		side *= 2;
	const struct bs_mrd_image head = { .data_type = 5,
					   .image_type = 1,
					   .channels = 1,
					   .matrix_size = { side, side, 1 },
					   .field_of_view = { side, side, 1 } };
	for (int i = 0; in != NULL && out != NULL && i < images; i++) {
		const struct bs_door_job job = { .head = &head,
						 .pixels = in,
						 .bytes = bytes,
						 .scan = 1,
						 .image = (uint32_t)i,
						 .by_ns = INT64_MAX,
						 .spin_ns = getenv("SPIN") ? 1000000 : 0 };
		struct bs_step_result r;

		next_ns += every_ns;
		bs_sleep_ns(every_ns > 0 ? next_ns - bs_now_ns() : PAUSE_NS);
		bs_door_look(d);
		bs_door_run(d, &job, out, &r);
		used += r.verdict == BS_STEP_USED;
		ns[i] = r.ns;
	}
	free(in);
	free(out);
	qsort(ns, (size_t)images, sizeof(*ns), by_time);
	(void)printf(
		"%8zu bytes: p50 %7.1f  p90 %7.1f  p99 %7.1f  p99.9 %7.1f  max %7.1f us, N %d\n",
		bytes, (double)ns[images / 2] * 1e-3, (double)ns[images * 9 / 10] * 1e-3,
		(double)ns[images * 99 / 100] * 1e-3, (double)ns[images * 999 / 1000] * 1e-3,
		(double)ns[images - 1] * 1e-3, used);
	return used != images;
}

int bs_bench_step(struct bs_bench *b)
{
	char dir[] = "/tmp/boreside-bench-XXXXXX";
	const char *given = getenv("STEP");
	struct bs_step_spec spec = { .name = "bench" };
	struct bs_fail why = { 0 };
	struct bs_door door;
	char self[512];
	pid_t pid = 0;
	int failed = 0;

	(void)b;
	if (mkdtemp(dir) == NULL || !bs_bench_find_service(self))
		return 1;
	*strrchr(self, '/') = '\0';
	(void)snprintf(spec.command, sizeof(spec.command), "%.200s%s", given != NULL ? given : self,
		       given != NULL ? "" : "/../support/step/unruly identity");
	if (bs_door_open(&door, dir, spec.name, 4u << 20, 0.0, &why) != 0 ||
	    bs_step_start(&pid, &spec, dir, &why) != 0) {
		(void)fprintf(stderr, "bench: %s\n", why.text);
		return 1;
	}
	while (!bs_door_ready(&door) && waitpid(pid, NULL, WNOHANG) == 0)
		bs_door_look(&door);
	for (size_t bytes = 16384; bytes <= 4u << 20; bytes *= 4)
		failed |= run_images(&door, bytes);
	bs_door_close(&door);
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
	(void)rmdir(dir);
	return failed;
}
