/*
 * test/twin/twin_unwarp.c - voxels moved back along EPI's blips on the device: against the
 * definition in double precision, and the same bytes again
 *
 * The bound is that of test/unit/gpu/test_unwarp.c: single precision of the weights and the sums.
 */
#include "test/support/plan/unwarped.h"

#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "test/twin/device.h"

static uint64_t seed = 1772;

static void one(uint32_t nx, uint32_t ny, uint32_t coils, float most_hz, bool falling)
{
	struct bs_protocol p = lines_of(nx, ny, 1, nx, coils);
	const size_t voxels = (size_t)nx * ny;
	const size_t n = 2 * voxels * coils;
	float *hz = malloc(voxels * 4);
	float *in = malloc(n * 4);
	float *want = malloc(n * 4);
	float *out = malloc(n * 4);
	float *again = malloc(n * 4);
	struct bs_fail why = { 0 };
	int rc;

	p.field.from = BS_FIELD_STUDY;
	p.field.echo_spacing_us = 500.0;
	p = planned(p);
	fill_random(in, n, &seed);
	fill_random(hz, voxels, &seed);
	for (size_t i = 0; i < voxels; i++)
		hz[i] *= 2.0f * most_hz;
	unwarped(want, &p, hz, falling, in);
	float *map = device_copy(hz, voxels);
	float *from = device_copy(in, n);
	float *to = device_copy(NULL, n);

	rc = bs_unwarp_cuda(&p, map, falling, from, to, NULL, &why);
	(void)fetch(out, to, n);
	if (rc == 0)
		rc = bs_unwarp_cuda(&p, map, falling, from, to, NULL, &why);
	(void)fetch(again, to, n);
	const double e = check_rel(out, want, n);

	CHECK(rc == 0 && e <= 1e-6 && memcmp(out, again, n * 4) == 0,
	      "%ux%u, %u coils, up to %g Hz, %s: error %.1e %s", nx, ny, coils, (double)most_hz,
	      falling ? "falling" : "rising", e, why.text);
	(void)cudaFree(map);
	(void)cudaFree(from);
	(void)cudaFree(to);
	free(hz);
	free(in);
	free(want);
	free(out);
	free(again);
}

static void compare_all(void)
{
	for (int falling = 0; falling < 2; falling++) {
		one(17, 15, 3, 40.0f, falling != 0);
		one(33, 24, 1, 90.0f, falling != 0);
		one(130, 61, 13, 900.0f, falling != 0);
		one(64, 64, 8, 12.0f, falling != 0);
	}
}

int main(void)
{
	return twin_main("voxels moved back along the blips", 2, compare_all);
}
