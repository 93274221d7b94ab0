/*
 * test/support/step/head.h - a head drawn at known poses, for the step that registers volumes, and
 * that step as a process
 */
#ifndef BS_TEST_SUPPORT_STEP_HEAD_H
#define BS_TEST_SUPPORT_STEP_HEAD_H

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/step/door.h"
#include "drivers/step/start.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define N  32u /* voxels, an axis of a navigator, and of the images' room */
#define MM 8.0 /* of a voxel: a navigator's */

struct pose {
	double t[3], w[3]; /* mm; degrees, along the axis */
};

struct register_step {
	struct bs_door door;
	pid_t pid;
};

static uint32_t matrix[3] = { N, N, N };
static float image[N * N * N], out[N * N * N];
static uint64_t state = 5;

static inline double gauss(void)
{
	const double u = check_uniform(&state);

	return sqrt(-2.0 * log(u > 1e-300 ? u : 1e-300)) * cos(2.0 * M_PI * check_uniform(&state));
}

/* Turns x about a vector by its length in degrees, back. */
static inline void turn_back(double x[3], const double degrees[3])
{
	const double length =
		sqrt(degrees[0] * degrees[0] + degrees[1] * degrees[1] + degrees[2] * degrees[2]);
	const double a = -length * M_PI / 180.0;
	double k[3], y[3], along = 0.0;

	if (length == 0.0)
		return;
	for (int i = 0; i < 3; i++) {
		k[i] = degrees[i] / length;
		along += k[i] * x[i];
	}
	for (int i = 0; i < 3; i++) {
		const int b = (i + 1) % 3, c = (i + 2) % 3;

		y[i] = x[i] * cos(a) + (k[b] * x[c] - k[c] * x[b]) * sin(a) +
		       k[i] * along * (1.0 - cos(a));
	}
	memcpy(x, y, sizeof(y));
}

/* A head at rest: ellipsoids whose edges are as wide as a voxel. x: mm from the center. */
static inline double head(const double x[3])
{
	static const struct {
		double at[3], radius[3], value;
	} part[] = {
		{ { 0, -4, 6 }, { 78, 92, 72 }, 1.0 },    { { 0, -4, 6 }, { 70, 84, 64 }, -0.4 },
		{ { -26, 12, 10 }, { 12, 30, 16 }, 0.5 }, { { 24, 10, 4 }, { 14, 26, 20 }, 0.5 },
		{ { 4, -50, -20 }, { 22, 14, 18 }, 0.4 }, { { 2, 64, -30 }, { 12, 18, 12 }, 0.7 }
	};
	double sum = 0.0;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		double r = 0.0, least = 1e9;

		for (int a = 0; a < 3; a++) {
			const double u = (x[a] - part[i].at[a]) / part[i].radius[a];

			r += u * u;
			least = fmin(least, part[i].radius[a]);
		}
		sum += part[i].value / (1.0 + exp((sqrt(r) - 1.0) * least / (0.4 * MM)));
	}
	return sum;
}

/* Draws the head in a pose. */
static inline void draw(const struct pose *p, double noise, double bright)
{
	for (unsigned i = 0; i < matrix[0] * matrix[1] * matrix[2]; i++) {
		const unsigned row = i / matrix[0];
		const unsigned at[3] = { i % matrix[0], row % matrix[1], row / matrix[1] };
		double x[3];

		for (int a = 0; a < 3; a++)
			x[a] = ((double)at[a] - matrix[a] / 2) * MM - p->t[a];
		turn_back(x, p->w);
		image[i] = (float)(bright * head(x) + noise * gauss());
	}
}

/* A pose of up to so many mm and degrees, each axis. */
static inline struct pose any_pose(double mm, double degrees)
{
	struct pose p;

	for (int a = 0; a < 3; a++) {
		p.t[a] = mm * (2.0 * check_uniform(&state) - 1.0);
		p.w[a] = degrees * (2.0 * check_uniform(&state) - 1.0);
	}
	return p;
}

/* Starts the step with a word, "host" or "cuda" or none. dir: a folder of its own. */
static inline void start_register(struct register_step *s, const char *dir, const char *word)
{
	struct bs_step_spec spec = { .name = "register" };
	struct bs_fail why = { 0 };

	CHECK(bs_door_open(&s->door, dir, "register", sizeof(image), 1000.0, &why) == 0,
	      "opened %s", why.text);
	(void)snprintf(spec.dir, sizeof(spec.dir), "%s", dir);
	(void)snprintf(spec.command, sizeof(spec.command),
		       "%.200s/drivers/step/register/register %s", getenv("BUILD"), word);
	CHECK(bs_step_start(&s->pid, &spec, NULL, &why) == 0, "the step starts %s", why.text);
}

static inline void end_register(struct register_step *s, const char *dir)
{
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, 0);
	bs_door_close(&s->door);
	(void)rmdir(dir);
}

static inline struct bs_step_result measure(struct register_step *s, uint32_t scan, uint32_t number)
{
	const struct bs_mrd_image head_ = {
		.data_type = 5,
		.image_type = 1,
		.matrix_size = { (uint16_t)matrix[0], (uint16_t)matrix[1], (uint16_t)matrix[2] },
		.field_of_view = { (float)(matrix[0] * MM), (float)(matrix[1] * MM),
				   (float)(matrix[2] * MM) },
		.channels = 1
	};
	const struct bs_door_job job = { .head = &head_,
					 .pixels = image,
					 .bytes =
						 matrix[0] * matrix[1] * matrix[2] * sizeof(*image),
					 .scan = scan,
					 .image = number,
					 .by_ns = INT64_MAX };
	struct bs_step_result r = { 0 };

	bs_door_run(&s->door, &job, out, &r);
	return r;
}

static inline double distance(const double *a, const double *b)
{
	return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
		    (a[2] - b[2]) * (a[2] - b[2]));
}

static inline int by_time(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

#endif
