/*
 * test/unit/gpu/test_unwarp.c - voxels moved back along EPI's blips: against the definition in
 * double precision on random images, for any team; what was moved comes back
 */
#define _GNU_SOURCE /* for M_PI */
#include "test/support/plan/unwarped.h"

#include <string.h>

#include "test/support/check.h"
#include "test/support/plan/planned.h"

static uint64_t seed = 1771;
static struct bs_fail why;

static struct bs_protocol epi(uint32_t nx, uint32_t ny, uint32_t coils, double spacing_us)
{
	struct bs_protocol p = lines_of(nx, ny, 1, nx, coils);

	p.slices = 2;
	p.field.from = BS_FIELD_STUDY;
	p.field.echo_spacing_us = spacing_us;
	return planned_host(p);
}

static float *random_values(size_t n, double most)
{
	float *x = malloc(n * sizeof(*x));

	for (size_t i = 0; i < n; i++)
		x[i] = (float)(2.0 * most * (check_uniform(&seed) - 0.5));
	return x;
}

/* Runs the second slice by a team of so many members. */
static void run(float *out, const struct bs_protocol *p, const float *hz, bool falling,
		const float *images, int members)
{
	struct bs_team *team;

	if (bs_team_open(&team, members, &why) != 0)
		exit(1);
	bs_unwarp(team, p, hz + bs_protocol_voxels(p), falling, images, out);
	bs_team_close(team);
}

/* hz: largest field, over which neighbors in y may also change places */
static void against_definition(uint32_t nx, uint32_t ny, uint32_t coils, double hz, bool falling)
{
	const struct bs_protocol p = epi(nx, ny, coils, 500.0);
	const size_t voxels = (size_t)nx * ny;
	float *field = random_values(2 * voxels, hz);
	float *in = random_values(2 * voxels * coils, 1.0);
	float *want = malloc(voxels * coils * 8);
	float *out = malloc(voxels * coils * 8);
	float *again = malloc(voxels * coils * 8);
	double e;

	field[voxels] = 0.0f; /* where a voxel stays, and where it moves by whole voxels */
	field[2 * voxels - nx] = (float)(3.0 / (500e-6 * ny));
	unwarped(want, &p, field + voxels, falling, in);
	run(out, &p, field, falling, in, 1);
	run(again, &p, field, falling, in, 3);
	e = check_rel(out, want, 2 * voxels * coils);
	/* single precision of the weights and of sums over ny */
	CHECK(e <= 1e-6, "%ux%u, %u coils, up to %g Hz, %s: error %.1e", nx, ny, coils, hz,
	      falling ? "falling" : "rising", e);
	CHECK(memcmp(out, again, voxels * coils * 8) == 0, "the same bytes by three threads");
	free(field);
	free(in);
	free(want);
	free(out);
	free(again);
}

/* A smooth image at y + v(y), with the size that a voxel then has, comes back to y. */
static void comes_back(bool falling)
{
	const struct bs_protocol p = epi(1, 64, 1, 250.0);
	const double way = falling ? -1.0 : 1.0;
	float hz[128], in[128], out[128];
	double worst = 0.0;

	for (int y = 0; y < 64; y++) /* v = 3 sin(2 pi y/64): 12 of 64 voxels at the steepest */
		hz[y] = hz[64 + y] = (float)(way * 3.0 / (250e-6 * 64) * sin(y * M_PI / 32.0));
	for (int n = 0; n < 64; n++) {
		double y = n;

		for (int i = 0; i < 60; i++) /* y + v(y) = n */
			y = n - 3.0 * sin(y * M_PI / 32.0);
		in[2 * n] = (float)(exp(-(y - 30) * (y - 30) / 50) /
				    (1.0 + 3.0 * M_PI / 32.0 * cos(y * M_PI / 32.0)));
		in[2 * n + 1] = 0.0f;
	}
	run(out, &p, hz, falling, in, 1);
	for (int y = 0; y < 64; y++)
		worst = fmax(worst, fabs(out[2 * y] - exp(-(y - 30) * (y - 30) / 50.0)));
	/* differences of neighbors are the slope to h^2/6 v''' = 3 (pi/32)^3/6: 5e-4 */
	CHECK(worst <= 1e-3, "what was moved comes back, %s: %.1e", falling ? "falling" : "rising",
	      worst);
}

int main(void)
{
	for (int falling = 0; falling < 2; falling++) {
		against_definition(17, 15, 3, 40.0, falling != 0);
		against_definition(33, 24, 1, 90.0, falling != 0);
		against_definition(16, 61, 5, 900.0, falling != 0);
		against_definition(5, 64, 2, 12.0, falling != 0);
		against_definition(3, 2, 2, 12.0, falling != 0);
		comes_back(falling != 0);
	}
	return check_done();
}
