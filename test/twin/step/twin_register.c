/*
 * test/twin/step/twin_register.c - the step that registers volumes, on the host and on a GPU: the
 * same poses, the same bytes again, and how long a volume takes
 *
 * Both work in doubles, the sums in another order. The volumes are floats, whose last bit may
 * differ: by 6e-8 of a value. Noise of 2e-2 moves a pose by some 0.2 degrees and less mm
 * (test_register), so this by less than 1e-6.
 */
#define _GNU_SOURCE
#include "test/support/step/head.h"

#include "test/twin/device.h"

#define POSES 50u
#define BOUND 1e-6 /* mm, degrees */

static struct register_step host, cuda;
static int64_t host_ns[POSES * 4], cuda_ns[POSES * 4];
static unsigned count; /* of the times */

/* A first volume and random poses of it, each axis up to so many mm and degrees. */
static void poses(uint32_t scan, double mm, double degrees, double noise)
{
	static const struct pose rest;
	const unsigned n = small() ? 2 : POSES;
	double off[2] = { 0.0, 0.0 }, unlike = 0.0;
	unsigned same = 0;

	draw(&rest, noise, 1.0);
	(void)measure(&host, scan, 1);
	(void)measure(&cuda, scan, 1);
	for (unsigned i = 0; i < n; i++) {
		const struct pose p = any_pose(mm, degrees);

		draw(&p, noise, 0.8);
		const struct bs_step_result a = measure(&host, scan, i + 2);
		const struct bs_step_result b = measure(&cuda, scan, i + 2);
		const struct bs_step_result c = measure(&cuda, scan, i + 2);

		for (int k = 0; k < 2; k++)
			off[k] = fmax(off[k], distance(a.number + 3 * k, b.number + 3 * k));
		unlike = fmax(unlike, fabs(a.number[6] - b.number[6]));
		same += b.numbers == 8 && distance(b.number, (double[3]){ 0.0 }) > 0.0 &&
			memcmp(b.number, c.number, sizeof(b.number)) == 0;
		host_ns[count] = a.ns;
		cuda_ns[count++] = b.ns;
	}
	CHECK(off[0] <= BOUND && off[1] <= BOUND && unlike <= BOUND,
	      "%u x %u x %u, up to %g mm and %g degrees, noise %g: %.1e mm, %.1e degrees apart, "
	      "unlikeness %.1e",
	      matrix[0], matrix[1], matrix[2], mm, degrees, noise, off[0], off[1], unlike);
	CHECK(same == n, "%u of %u poses have the same bytes again", same, n);
}

static void print_times(const char *where, int64_t *ns)
{
	qsort(ns, count, sizeof(*ns), by_time);
	printf("# %s: %u volumes, median %.2f ms, at most %.2f\n", where, count,
	       (double)ns[count / 2] * 1e-6, (double)ns[count - 1] * 1e-6);
}

static void compare_all(void)
{
	char at[2][32] = { "/tmp/twin_register.XXXXXX", "/tmp/twin_register.XXXXXX" };

	if (mkdtemp(at[0]) == NULL || mkdtemp(at[1]) == NULL)
		abort();
	start_register(&host, at[0], "host");
	start_register(&cuda, at[1], "cuda");
	AWAIT((bs_door_look(&host.door), bs_door_ready(&host.door)));
	AWAIT((bs_door_look(&cuda.door), bs_door_ready(&cuda.door)));
	poses(1, 3.0, 2.0, 0.0);
	poses(2, 12.0, 8.0, 0.0);
	poses(3, 3.0, 2.0, 0.02);
	poses(4, 12.0, 8.0, 0.05);
	print_times("host", host_ns);
	print_times("cuda", cuda_ns);
	count = 0;
	matrix[0] = 31;
	matrix[2] = 27;
	poses(5, 3.0, 2.0, 0.0);
	end_register(&host, at[0]);
	end_register(&cuda, at[1]);
}

int main(void)
{
	return twin_main("the step that registers volumes", 0, compare_all);
}
