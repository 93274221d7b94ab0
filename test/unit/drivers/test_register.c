/*
 * test/unit/drivers/test_register.c - the step that registers volumes, on a head drawn at known
 * poses: how far off it is, with noise and without, and how long it takes
 */
/* Holds: T7 */
#define _GNU_SOURCE
#include <time.h>

#include "test/support/step/head.h"

#define POSES 24u
/*
 * Without noise: what is left of the interpolation. Navigators of 32^3 voxels of 8 mm were found to
 * be good to 0.1 mm and 0.2 degrees in vivo (Tisdall et al., Magn Reson Med 2012;68:389-399); the
 * arithmetic may take a fifth of that. With noise: these and so many times the Cramer-Rao bound.
 */
#define OFF_MM      0.02
#define OFF_DEGREES 0.04
#define BOUNDS      4.0

static struct register_step step;

/* Processor time of the step's process: others that are busy do not count. */
static int64_t cpu_ns(void)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(step.pid, &clock) == 0)
		(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
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
	r = measure(&step, scan, 1);
	CHECK(r.verdict == BS_STEP_NUMBERED && r.numbers == 8 && r.number[0] == 0.0,
	      "the first volume: %s, %u numbers", bs_step_verdict_name(r.verdict), r.numbers);
	for (unsigned i = 0; i < POSES; i++) {
		const struct pose p = any_pose(mm, degrees);

		draw(&p, noise, 0.8);
		r = measure(&step, scan, i + 2);
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

/* Where the site asks for a GPU, and there is none, the step ends; it says why. */
static void ask_for_gpu(void)
{
	char dir[] = "/tmp/test_register.XXXXXX";
	struct register_step s;
	int status = 0;

	if (mkdtemp(dir) == NULL)
		abort();
	start_register(&s, dir, "cuda");
	AWAIT((bs_door_look(&s.door), waitpid(s.pid, &status, WNOHANG) == s.pid));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1, "no GPU where one was asked for: %d",
	      status);
	bs_door_close(&s.door);
	(void)rmdir(dir);
}

int main(void)
{
	char dir[] = "/tmp/test_register.XXXXXX";
	struct bs_step_result r;

	if (mkdtemp(dir) == NULL || setenv("CUDA_VISIBLE_DEVICES", "", 1) != 0)
		abort();
	start_register(&step, dir, "");
	AWAIT((bs_door_look(&step.door), bs_door_ready(&step.door)));
	poses(1, 3.0, 2.0, 0.0);
	poses(2, 12.0, 8.0, 0.0);
	poses(3, 3.0, 2.0, 0.02); /* SNR 50, in both volumes */
	matrix[0] = 31;
	matrix[2] = 27;
	poses(4, 3.0, 2.0, 0.0);
	memset(image, 0, sizeof(image));
	r = measure(&step, 5, 1);
	CHECK(r.verdict == BS_STEP_NUMBERED, "an empty volume is none to trip over: %s",
	      bs_step_verdict_name(r.verdict));
	r = measure(&step, 5, 2);
	CHECK(r.verdict == BS_STEP_NUMBERED && fabs(r.number[0]) < 1e-6,
	      "nor is the next one: %s, %g mm", bs_step_verdict_name(r.verdict), r.number[0]);
	end_register(&step, dir);
	ask_for_gpu();
	return check_done();
}
