/*
 * test/unit/drivers/test_register.c - the step that registers volumes, on a head drawn at known
 * poses: how far off it is, with noise and without, and how long it takes
 */
/* Holds: T7 */
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

#define N     32u
#define MM    8.0 /* of a voxel: a navigator's */
#define POSES 24u
/*
 * Without noise: what is left of the interpolation. Navigators of 32^3 voxels of 8 mm were found to
 * be good to 0.1 mm and 0.2 degrees in vivo (Tisdall et al., Magn Reson Med 2012;68:389-399); the
 * arithmetic may take a fifth of that. With noise: these and so many times the Cramer-Rao bound.
 */
#define OFF_MM      0.02
#define OFF_DEGREES 0.04
#define BOUNDS      4.0

struct pose {
	double t[3], w[3]; /* mm; degrees, along the axis */
};

static char dir[] = "/tmp/test_register.XXXXXX";
static struct bs_door door;
static float image[N * N * N], out[N * N * N];
static pid_t pid;
static uint64_t state = 5;

static double gauss(void)
{
	const double u = check_uniform(&state);

	return sqrt(-2.0 * log(u > 1e-300 ? u : 1e-300)) * cos(2.0 * M_PI * check_uniform(&state));
}

/* Turns x about a vector by its length in degrees, back. */
static void turn_back(double x[3], const double degrees[3])
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
static double head(const double x[3])
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

static void draw(const struct pose *p, double noise, double bright)
{
	for (unsigned i = 0; i < N * N * N; i++) {
		double x[3] = { i % N * MM, i / N % N * MM, i / N / N * MM };

		for (int a = 0; a < 3; a++)
			x[a] -= N / 2 * MM + p->t[a];
		turn_back(x, p->w);
		image[i] = (float)(bright * head(x) + noise * gauss());
	}
}

static struct bs_step_result measure(uint32_t scan, uint32_t number)
{
	const struct bs_mrd_image head_ = { .data_type = 5,
					    .image_type = 1,
					    .matrix_size = { N, N, N },
					    .field_of_view = { N * MM, N * MM, N * MM },
					    .channels = 1 };
	const struct bs_door_job job = { .head = &head_,
					 .pixels = image,
					 .bytes = sizeof(image),
					 .scan = scan,
					 .image = number,
					 .by_ns = INT64_MAX };
	struct bs_step_result r = { 0 };

	bs_door_run(&door, &job, out, &r);
	return r;
}

static double distance(const double *a, const double *b)
{
	return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
		    (a[2] - b[2]) * (a[2] - b[2]));
}

/* Processor time of the step's process: others that are busy do not count. */
static int64_t cpu_ns(void)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) == 0)
		(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_time(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Inverts a symmetric matrix of 6 x 6 in place, by Gauss and Jordan. */
static void invert(double a[6][6])
{
	for (int k = 0; k < 6; k++) {
		const double pivot = a[k][k];

		a[k][k] = 1.0;
		for (int j = 0; j < 6; j++)
			a[k][j] /= pivot;
		for (int i = 0; i < 6; i++) {
			const double f = a[i][k];

			if (i == k)
				continue;
			a[i][k] = 0.0;
			for (int j = 0; j < 6; j++)
				a[i][j] -= f * a[k][j];
		}
	}
}

/*
 * The least deviation, by Cramer and Rao, that a pose can have: of its place, mm, and its angle,
 * degrees, where both volumes have this noise.
 */
static void bound(double least[2], double noise)
{
	static float up[6][N * N * N];
	double a[6][6] = { { 0.0 } };

	for (int k = 0; k < 6; k++) {
		struct pose p = { { 0.0 }, { 0.0 } };

		(k < 3 ? p.t : p.w)[k % 3] = 0.5;
		draw(&p, 0.0, 1.0);
		memcpy(up[k], image, sizeof(image));
		(k < 3 ? p.t : p.w)[k % 3] = -0.5;
		draw(&p, 0.0, 1.0);
		for (unsigned i = 0; i < N * N * N; i++)
			up[k][i] -= image[i];
	}
	for (int k = 0; k < 36; k++)
		for (unsigned i = 0; i < N * N * N; i++)
			a[k / 6][k % 6] +=
				(double)up[k / 6][i] * (double)up[k % 6][i] / (2.0 * noise * noise);
	invert(a);
	least[0] = sqrt(a[0][0] + a[1][1] + a[2][2]);
	least[1] = sqrt(a[3][3] + a[4][4] + a[5][5]);
}

/* Random poses of up to so many mm and degrees. */
static void poses(uint32_t scan, double mm, double degrees, double noise)
{
	static const struct pose rest;
	int64_t ns[POSES];
	double off[2] = { 0.0, 0.0 }, squares[2] = { 0.0, 0.0 }, least[2] = { 0.0, 0.0 };
	struct bs_step_result r;

	if (noise > 0.0)
		bound(least, noise);
	const int64_t from_ns = cpu_ns();

	draw(&rest, noise, 1.0);
	r = measure(scan, 1);
	CHECK(r.verdict == BS_STEP_NUMBERED && r.numbers == 8 && r.number[0] == 0.0,
	      "the first volume: %s, %u numbers", bs_step_verdict_name(r.verdict), r.numbers);
	for (unsigned i = 0; i < POSES; i++) {
		struct pose p;

		for (int a = 0; a < 3; a++) {
			p.t[a] = mm * (2.0 * check_uniform(&state) - 1.0);
			p.w[a] = degrees * (2.0 * check_uniform(&state) - 1.0);
		}
		draw(&p, noise, 0.8);
		r = measure(scan, i + 2);
		for (int k = 0; k < 2; k++) {
			const double d = distance(r.number + 3 * k, k == 0 ? p.t : p.w);

			off[k] = fmax(off[k], d);
			squares[k] += d * d / POSES;
		}
		ns[i] = r.ns;
	}
	qsort(ns, POSES, sizeof(*ns), by_time);
	printf("# off by %.4f mm, %.4f degrees RMS; the least there can be: %.4f, %.4f\n",
	       sqrt(squares[0]), sqrt(squares[1]), least[0], least[1]);
	CHECK(off[0] <= OFF_MM + BOUNDS * least[0] && off[1] <= OFF_DEGREES + BOUNDS * least[1],
	      "%u poses, each axis up to %g mm and %g degrees, noise %g: off by %.4f mm, %.4f "
	      "degrees at most",
	      POSES, mm, degrees, noise, off[0], off[1]);
	printf("# %.1f ms, at most %.1f; unlike %.3f, first %g\n", (double)ns[POSES / 2] * 1e-6,
	       (double)ns[POSES - 1] * 1e-6, r.number[6], r.number[7]);
	CHECK((cpu_ns() - from_ns) / (POSES + 1) < 150 * INT64_C(1000000),
	      "a volume takes %.1f ms of a core",
	      (double)(cpu_ns() - from_ns) / (POSES + 1) * 1e-6);
}

int main(void)
{
	struct bs_step_spec spec = { .name = "register" };
	struct bs_step_result r;
	struct bs_fail why = { 0 };

	if (mkdtemp(dir) == NULL)
		abort();
	CHECK(bs_door_open(&door, dir, "register", sizeof(image), 1000.0, &why) == 0, "opened %s",
	      why.text);
	(void)snprintf(spec.dir, sizeof(spec.dir), "%s", dir);
	(void)snprintf(spec.command, sizeof(spec.command), "%.200s/drivers/step/register/register",
		       getenv("BUILD"));
	CHECK(bs_step_start(&pid, &spec, NULL, &why) == 0, "the step starts %s", why.text);
	AWAIT((bs_door_look(&door), bs_door_ready(&door)));
	poses(1, 3.0, 2.0, 0.0);
	poses(2, 12.0, 8.0, 0.0);
	poses(3, 3.0, 2.0, 0.02); /* SNR 50, in both volumes */
	memset(image, 0, sizeof(image));
	r = measure(4, 1);
	CHECK(r.verdict == BS_STEP_NUMBERED, "an empty volume is none to trip over: %s",
	      bs_step_verdict_name(r.verdict));
	r = measure(4, 2);
	CHECK(r.verdict == BS_STEP_NUMBERED && fabs(r.number[0]) < 1e-6,
	      "nor is the next one: %s, %g mm", bs_step_verdict_name(r.verdict), r.number[0]);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	bs_door_close(&door);
	(void)rmdir(dir);
	return check_done();
}
