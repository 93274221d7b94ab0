/*
 * test/unit/gpu/test_phasestep.c - the phase from echo to echo against a direct computation in
 * double precision, where there is signal and where there is none; a phase that wraps; the same
 * bytes for any team. And a map on another matrix.
 */
#define _GNU_SOURCE /* M_PI */
#include "gpu/image/phasestep.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/image/linear.h"
#include "test/support/check.h"

struct echoes {
	uint32_t n[3], coils;
	uint64_t voxels;
	float *first, *second, *turn;
};

static void open_echoes(struct echoes *e, uint32_t x, uint32_t y, uint32_t z, uint32_t coils)
{
	*e = (struct echoes){ .n = { x, y, z }, .coils = coils, .voxels = (uint64_t)x * y * z };
	e->first = calloc(e->voxels * coils, 8);
	e->second = calloc(e->voxels * coils, 8);
	e->turn = calloc(e->voxels, 4);
	if (e->first == NULL || e->second == NULL || e->turn == NULL)
		exit(1);
}

static void close_echoes(struct echoes *e)
{
	free(e->first);
	free(e->second);
	free(e->turn);
}

/* A ball that takes up this share of each axis; its phase, and that of all around it. */
static void fill(struct echoes *e, double size, double slope, double noise)
{
	unsigned seed = 1;

	for (uint64_t v = 0; v < e->voxels; v++) {
		const uint32_t at[3] = { (uint32_t)(v % e->n[0]), (uint32_t)(v / e->n[0] % e->n[1]),
					 (uint32_t)(v / e->n[0] / e->n[1]) };
		double r = 0.0;
		double phase = 0.3;

		for (int a = 0; a < 3; a++) {
			const double u = e->n[a] > 1 ? ((double)at[a] + 0.5) / e->n[a] - 0.5 : 0.0;

			r += 4.0 * u * u;
			phase += slope * (a + 1) * u;
		}
		for (uint32_t c = 0; c < e->coils; c++) {
			const double s = (r < size * size ? 1.0 : 0.0) / (1.0 + c);
			float *f = e->first + 2 * (c * e->voxels + v);
			float *g = e->second + 2 * (c * e->voxels + v);

			for (int i = 0; i < 2; i++) {
				seed = seed * 1664525u + 1013904223u;
				f[i] = (float)(noise * (seed / 2147483648.0 - 1.0));
				seed = seed * 1664525u + 1013904223u;
				g[i] = (float)(noise * (seed / 2147483648.0 - 1.0));
			}
			f[0] += (float)(s * cos(c));
			f[1] += (float)(s * sin(c));
			g[0] += (float)(0.8 * s * cos(phase + c));
			g[1] += (float)(0.8 * s * sin(phase + c));
		}
	}
}

static bool run(struct echoes *e, int threads)
{
	struct bs_arena arena = { 0 };
	struct bs_need need = { 0 };
	struct bs_team *team = NULL;
	struct bs_phasestep *t = NULL;
	struct bs_fail why = { 0 };
	bool whole = false;

	if (bs_team_open(&team, threads, &why) == 0 && bs_phasestep_need(e->n, &need, &why) == 0 &&
	    bs_arena_open(&arena, need.total_bytes, &why) == 0 &&
	    bs_phasestep_plan(&t, e->n, e->coils, &arena, team, &why) == 0) {
		CHECK(need.total_bytes - arena.used < need.parts * BS_ALIGN,
		      "need says what plan takes");
		whole = bs_phasestep_run(t, e->first, e->second, e->turn);
	}
	CHECK(t != NULL, "planned: %s", why.text);
	bs_phasestep_close(t);
	bs_arena_close(&arena);
	bs_team_close(team);
	return whole;
}

/* p of the header, smoothed. */
static double complex product(const struct echoes *e, const int64_t at[3])
{
	double complex sum = 0.0;

	for (int64_t z = at[2] - 1; z <= at[2] + 1; z++)
		for (int64_t y = at[1] - 1; y <= at[1] + 1; y++)
			for (int64_t x = at[0] - 1; x <= at[0] + 1; x++) {
				const double w = (x == at[0] ? 0.5 : 0.25) *
						 (y == at[1] ? 0.5 : 0.25) *
						 (z == at[2] ? 0.5 : 0.25);
				uint64_t v;

				if (x < 0 || y < 0 || z < 0 || x >= e->n[0] || y >= e->n[1] ||
				    z >= e->n[2])
					continue;
				v = (uint64_t)((z * e->n[1] + y) * e->n[0] + x);
				for (uint32_t c = 0; c < e->coils; c++) {
					const float *f = e->first + 2 * (c * e->voxels + v);
					const float *g = e->second + 2 * (c * e->voxels + v);

					sum += w * ((double)f[0] - (double)f[1] * I) *
					       ((double)g[0] + (double)g[1] * I);
				}
			}
	return sum;
}

static double complex at_voxel(const struct echoes *e, uint64_t v)
{
	const int64_t at[3] = { (int64_t)(v % e->n[0]), (int64_t)(v / e->n[0] % e->n[1]),
				(int64_t)(v / e->n[0] / e->n[1]) };

	return product(e, at);
}

/* The sum over the voxel's block of 2^level an axis. */
static double complex block(const struct echoes *e, uint64_t v, int level)
{
	const uint64_t of[3] = { (v % e->n[0]) >> level, (v / e->n[0] % e->n[1]) >> level,
				 (v / e->n[0] / e->n[1]) >> level };
	double complex sum = 0.0;

	for (uint64_t w = 0; w < e->voxels; w++)
		if ((w % e->n[0]) >> level == of[0] && (w / e->n[0] % e->n[1]) >> level == of[1] &&
		    (w / e->n[0] / e->n[1]) >> level == of[2])
			sum += at_voxel(e, w);
	return sum;
}

/* Single precision of p: an angle of 1e-7 over the threshold's share of the largest, 1e-2. */
static void against_direct(uint32_t x, uint32_t y, uint32_t z, uint32_t coils)
{
	struct echoes e;
	double most = 0.0;
	double worst = 0.0;
	uint32_t filled = 0;

	open_echoes(&e, x, y, z, coils);
	fill(&e, 0.7, 0.9, 1e-3);
	CHECK(run(&e, 3), "%u x %u x %u: it does not wrap", x, y, z);
	for (uint64_t v = 0; v < e.voxels; v++)
		most = fmax(most, cabs(at_voxel(&e, v)));
	for (uint64_t v = 0; v < e.voxels; v++) {
		double complex p = at_voxel(&e, v);
		const double size = cabs(p);

		if (fabs(size / (0.01 * most) - 1.0) < 1e-5)
			continue; /* on the threshold */
		filled += size < 0.01 * most;
		for (int l = 1; cabs(p) < 0.01 * most && l < 8; l++)
			p = block(&e, v, l);
		worst = fmax(worst, fabs(remainder((double)e.turn[v] - carg(p), 2.0 * M_PI)));
	}
	CHECK(worst < 3e-5, "%u x %u x %u, %u coils: %.1e rad off, %u voxels without signal", x, y,
	      z, coils, worst, filled);
	close_echoes(&e);
}

static void wraps(void)
{
	struct echoes e;
	float *once;

	open_echoes(&e, 33, 30, 1, 2);
	fill(&e, 0.9, 5.0, 1e-3);
	CHECK(!run(&e, 1), "a phase of more than a turn over the object");
	fill(&e, 0.5, 2.0, 0.02);
	CHECK(run(&e, 1), "noise around the object does not count");
	once = malloc(e.voxels * 4);
	if (once == NULL)
		exit(1);
	memcpy(once, e.turn, e.voxels * 4);
	CHECK(run(&e, 4) && memcmp(once, e.turn, e.voxels * 4) == 0, "the same bytes by 4 threads");
	free(once);
	close_echoes(&e);
}

/* A plane stays a plane, to the outermost voxels; a voxel in the middle stays where it is. */
static void linear(const uint32_t from[3], const uint32_t to[3])
{
	const uint64_t sizes[2] = { (uint64_t)from[0] * from[1] * from[2],
				    (uint64_t)to[0] * to[1] * to[2] };
	float *in = calloc(sizes[0], 4);
	float *out = calloc(sizes[1], 4);
	double worst = 0.0;

	if (in == NULL || out == NULL)
		exit(1);
	for (uint64_t v = 0; v < sizes[0]; v++) {
		const uint64_t at[3] = { v % from[0], v / from[0] % from[1],
					 v / from[0] / from[1] };

		for (int a = 0; a < 3; a++)
			in[v] += (float)((a + 1) * ((double)at[a] - from[a] / 2) / from[a]);
	}
	bs_linear_resize(in, from, out, to);
	for (uint64_t v = 0; v < sizes[1]; v++) {
		const uint64_t at[3] = { v % to[0], v / to[0] % to[1], v / to[0] / to[1] };
		double want = 0.0;

		for (int a = 0; a < 3; a++) {
			const double first = -(double)(from[a] / 2) / from[a];
			const double last = ((double)from[a] - 1 - from[a] / 2) / from[a];
			const double u = ((double)at[a] - to[a] / 2) / to[a];

			want += (a + 1) * fmin(fmax(u, first), last);
		}
		worst = fmax(worst, fabs((double)out[v] - want));
	}
	CHECK(worst < 1e-6, "%u x %u x %u to %u x %u x %u: a plane within %.1e", from[0], from[1],
	      from[2], to[0], to[1], to[2], worst);
	free(in);
	free(out);
}

int main(void)
{
	against_direct(13, 17, 1, 3);
	against_direct(9, 6, 5, 2);
	against_direct(1, 7, 1, 1);
	wraps();
	linear((const uint32_t[3]){ 8, 5, 1 }, (const uint32_t[3]){ 13, 16, 1 });
	linear((const uint32_t[3]){ 12, 9, 7 }, (const uint32_t[3]){ 5, 9, 11 });
	return check_done();
}
