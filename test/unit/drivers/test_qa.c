/*
 * test/unit/drivers/test_qa.c - the step that measures a phantom, on discs whose uniformity, ghost,
 * noise and drift are known
 */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/step/door.h"
#include "drivers/step/start.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define N 128u /* voxels of an axis */
#define R 40.0 /* radius of the disc, around (66, 60) */

enum { MEAN, UNIFORMITY, GHOSTING, SNR, DRIFT, CENTER_X, CENTER_Y };
struct truth {
	double signal, shading, ghost, noise; /* shading: relative, at the radius, along x */
};

static char dir[] = "/tmp/test_qa.XXXXXX";
static struct bs_door door;
static float image[N * N], out[N * N];
static pid_t pid;

static double gauss(uint64_t *state)
{
	const double u = check_uniform(state);

	return sqrt(-2.0 * log(u > 1e-300 ? u : 1e-300)) * cos(2.0 * M_PI * check_uniform(state));
}

/* A disc in air; the ghost lies above and below it alone. */
static void draw(const struct truth *t)
{
	static uint64_t state = 11;

	for (unsigned y = 0; y < N; y++)
		for (unsigned x = 0; x < N; x++) {
			const double u = (double)x - 66.0;
			const double v = (double)y - 60.0;
			const double in = t->signal * (1.0 + t->shading * u / R);
			const double air = fabs(u) < 0.6 * R ? t->ghost : 0.0;

			image[y * N + x] = (float)((u * u + v * v <= R * R ? in : air) +
						   t->noise * gauss(&state));
		}
}

static void start(void)
{
	struct bs_step_spec spec = { .name = "qa" };
	struct bs_fail why = { 0 };

	(void)snprintf(spec.dir, sizeof(spec.dir), "%s", dir);
	(void)snprintf(spec.command, sizeof(spec.command), "%.180s/drivers/step/qa/qa %s",
		       getenv("BUILD"), dir);
	CHECK(bs_step_start(&pid, &spec, NULL, &why) == 0, "the step starts %s", why.text);
	AWAIT((bs_door_look(&door), bs_door_ready(&door)));
}

static void stop(void)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	AWAIT((bs_door_look(&door), door.memory == NULL));
}

static struct bs_step_result measure(const struct truth *t)
{
	const struct bs_mrd_image head = { .data_type = 5,
					   .image_type = 1,
					   .matrix_size = { N, N, 1 },
					   .channels = 1,
					   .slice = 2 };
	const struct bs_door_job job = { .head = &head,
					 .pixels = image,
					 .bytes = sizeof(image),
					 .scan = 1,
					 .by_ns = INT64_MAX };
	struct bs_step_result r = { 0 };

	draw(t);
	bs_door_run(&door, &job, out, &r);
	CHECK(r.verdict == BS_STEP_NUMBERED && (r.numbers == 7 || t->signal == 0.0),
	      "measured: %s, %u numbers", bs_step_verdict_name(r.verdict), r.numbers);
	return r;
}

static void is(const char *what, double v, double want, double off)
{
	CHECK(fabs(v - want) <= off, "%s %.4f, should be %.4f within %.4f", what, v, want, off);
}

/* Waits until the file has as many lines. */
static bool has_lines(const char *name, int lines)
{
	char path[64];
	int n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	for (int c; f != NULL && (c = fgetc(f)) != EOF;)
		n += c == '\n';
	if (f != NULL)
		(void)fclose(f);
	return n >= lines;
}

int main(void)
{
	struct bs_step_result r;
	struct bs_fail why;
	char command[64];

	if (mkdtemp(dir) == NULL || bs_door_open(&door, dir, "qa", sizeof(image), 0.0, &why) != 0)
		abort();
	start();
	r = measure(&(struct truth){ 100.0, 0.0, 0.0, 0.0 });
	is("mean", r.number[MEAN], 100.0, 1e-4);
	is("uniformity", r.number[UNIFORMITY], 100.0, 1e-4);
	is("ghosting", r.number[GHOSTING], 0.0, 1e-4);
	is("SNR of the first image", r.number[SNR], 0.0, 0.0);
	is("drift", r.number[DRIFT], 0.0, 0.0);
	is("center x", r.number[CENTER_X], 66.0, 0.5);
	is("center y", r.number[CENTER_Y], 60.0, 0.5);
	/* the outermost discs, of 3 voxels' radius, end at 0.84 of the object's: 31 off, or 32 */
	r = measure(&(struct truth){ 100.0, 0.1, 0.0, 0.0 });
	is("uniformity", r.number[UNIFORMITY], 100.0 - 0.1 * 100.0 * 31.5 / R, 0.13);
	r = measure(&(struct truth){ 100.0, 0.0, 2.0, 0.0 });
	is("ghosting", r.number[GHOSTING], 2.0, 1e-3);
	r = measure(&(struct truth){ 103.0, 0.0, 0.0, 0.0 });
	is("drift", r.number[DRIFT], 3.0, 1e-3);
	(void)measure(&(struct truth){ 100.0, 0.0, 0.0, 1.0 });
	r = measure(&(struct truth){ 100.0, 0.0, 0.0, 1.0 });
	/* 4 standard deviations of an estimate from five squares' 320 voxels: 1 / sqrt(2 n) */
	is("SNR", r.number[SNR], 100.0, 4.0 * 100.0 / sqrt(2.0 * 320.0));
	r = measure(&(struct truth){ 0.0, 0.0, 0.0, 0.0 });
	CHECK(r.numbers == 0, "an image without an object has no numbers");
	AWAIT(has_lines("qa.svg", 12));
	CHECK(has_lines("qa.csv", 6) && has_lines("qa.prom", 14) && has_lines("qa.svg", 12),
	      "a line for each image, metrics, a picture");
	stop();
	start();
	r = measure(&(struct truth){ 110.0, 0.0, 0.0, 0.0 });
	is("drift, from the folder's first image, in a later process", r.number[DRIFT], 10.0, 1e-3);
	stop();
	bs_door_close(&door);
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) == 0 ? check_done() : 1;
}
