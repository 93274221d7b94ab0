/*
 * test/twin/twin_ladder.c - every rung of the papers' ladders against sums in double precision
 *
 * exact: the phase k.x is rounded to float: five roundings of at most 24 turns, 2^-24 each, are
 * 7e-6 turns or 4.5e-5 rad, and the special function units add 2^-20; worst case 1e-4. ours 1e-5.
 * grid: the exponential to a few 2^-24 and the position's rounding, 1e-5; a table of 128 steps a
 * cell, linear between: (1/128)^2 / 8 of the second derivative, 1 / sigma^2, on each axis: 2e-5 in
 * all.
 */
#include "test/support/check.h"
#include "test/paper/ladder/ladder.h"
#include "test/paper/ladder/truth.h"
#include "test/twin/device.h"

static const char *const exact_names[BS_LADDER_EXACT_STEPS] = {
	"Base", "RegAlloc", "Layout", "ConstMem", "FastTrig", "Tune", "Multi", "ours",
};

static const char *const grid_names[BS_LADDER_GRID_STEPS] = {
	"naive", "cache", "aligned", "table", "sectors", "blocks", "ours, sectors", "ours",
};

static void true_image(float *image, const uint32_t n[3], const float *k, const float *d,
		       uint64_t samples)
{
	const double turn = 6.283185307179586476925;
	const size_t voxels = (size_t)n[0] * n[1] * n[2];

	for (size_t v = 0; v < voxels; v++) {
		const double x = (double)(v % n[0]) - (double)(n[0] / 2);
		const double y = (double)(v / n[0] % n[1]) - (double)(n[1] / 2);
		const double z = (double)(v / n[0] / n[1]) - (double)(n[2] / 2);
		double re = 0.0;
		double im = 0.0;

		for (uint64_t m = 0; m < samples; m++) {
			const double t =
				turn * (k[3 * m] * x + k[3 * m + 1] * y + k[3 * m + 2] * z);
			const double a = d != NULL ? d[2 * m] : 1.0;
			const double b = d != NULL ? d[2 * m + 1] : 0.0;

			re += a * cos(t) - b * sin(t);
			im += a * sin(t) + b * cos(t);
		}
		image[2 * v] = (float)re;
		image[2 * v + 1] = (float)im;
	}
}

/* Every configuration that the search may choose, or the first one alone. */
static void check_configs(struct bs_ladder_exact *l, uint64_t samples, const float *want,
			  float *got, size_t floats)
{
	double worst = 0.0;
	int ran = 0;

	for (int t = 0; t < BS_LADDER_THREADS; t++)
		for (int i = 0; i < BS_LADDER_TILES; i++)
			for (int u = 0; u < BS_LADDER_UNROLLS; u++) {
				const struct bs_ladder_config c = { bs_ladder_threads[t],
								    bs_ladder_tiles[i],
								    bs_ladder_unrolls[u] };
				struct bs_fail why = { 0 };
				double ms;
				double error;

				bs_ladder_exact_configure(l, &c);
				if (bs_ladder_exact_step(l, BS_LADDER_TUNE, samples, got, &ms,
							 &why) != 0) {
					CHECK(0, "Tune, %u threads, tile %u, unroll %u: %s",
					      c.threads, c.tile, c.unroll, why.text);
					return;
				}
				error = check_rel(got, want, floats);
				worst = error > worst || isnan(error) ? error : worst;
				ran++;
			}
	CHECK(worst <= 1e-4, "Tune in all %d configurations: worst %.2e", ran, worst);
}

static void check_exact(const uint32_t n[3], uint64_t samples, int q)
{
	uint64_t seed = 3 + samples;
	const size_t floats = (size_t)2 * n[0] * n[1] * n[2];
	float *k = malloc(samples * 3 * sizeof(float));
	float *d = malloc(samples * 2 * sizeof(float));
	float *want = malloc(floats * sizeof(float));
	float *got = malloc(floats * sizeof(float));
	struct bs_ladder_exact *l = NULL;
	struct bs_fail why = { 0 };

	fill_k(k, samples * 3, &seed);
	fill_random(d, samples * 2, &seed);
	true_image(want, n, k, q ? NULL : d, samples);
	CHECK(bs_ladder_exact_open(&l, n, samples, k, q ? NULL : d, &why) == 0, "open %s",
	      why.text);
	for (int s = 0; l != NULL && s < BS_LADDER_EXACT_STEPS; s++) {
		double ms = 0.0;
		int rc = bs_ladder_exact_step(l, (enum bs_ladder_exact_step)s, samples, got, &ms,
					      &why);
		double error;

		if (rc == BS_ERR_UNSUPPORTED) {
			SKIP("%s: %s", exact_names[s], why.text);
			continue;
		}
		error = rc == 0 ? check_rel(got, want, floats) : NAN;
		CHECK(error <= (s == BS_LADDER_OURS ? 1e-5 : 1e-4),
		      "%s %ux%ux%u, %llu samples, %s: %.2e %s", q ? "Q" : "F^H d", n[0], n[1], n[2],
		      (unsigned long long)samples, exact_names[s], error, rc != 0 ? why.text : "");
	}
	if (l != NULL && !small())
		check_configs(l, samples, want, got, floats);
	bs_ladder_exact_close(l);
	free(k);
	free(d);
	free(want);
	free(got);
}

static void check_grid(uint32_t cells, uint64_t samples, int clustered)
{
	uint64_t seed = 11 + samples;
	const size_t floats = (size_t)2 * cells * cells;
	float *x = malloc(samples * 2 * sizeof(float));
	float *d = malloc(samples * 2 * sizeof(float));
	double *sum = malloc(floats * sizeof(double));
	float *want = malloc(floats * sizeof(float));
	float *got = malloc(floats * sizeof(float));
	struct bs_ladder_grid *l = NULL;
	struct bs_fail why = { 0 };
	double sigma = 0.0;

	fill_k(x, samples * 2, &seed);
	fill_random(d, samples * 2, &seed);
	for (uint64_t i = 0; i < 2 * samples; i++) /* clustered: near the grid's edge and corner */
		x[i] = clustered
			       ? (x[i] < 0.0f ? -0.5f - 0.1f * x[i] : 0.5f - 0.1f * x[i] - 1e-4f) *
					 (float)cells
			       : x[i] * (float)cells;
	CHECK(bs_ladder_grid_open(&l, cells, samples, x, d, &sigma, &why) == 0, "open %s",
	      why.text);
	if (l != NULL)
		true_grid(sum, (int)cells, x, d, samples, sigma);
	for (size_t i = 0; l != NULL && i < floats; i++)
		want[i] = (float)sum[i];
	for (int s = 0; l != NULL && s < BS_LADDER_GRID_STEPS; s++) {
		double ms = 0.0;
		int rc = bs_ladder_grid_step(l, (enum bs_ladder_grid_step)s, 3, got, &ms, &why);
		double error = rc == 0 ? check_rel(got, want, floats) : NAN;
		const int table =
			s == BS_LADDER_TABLE || s == BS_LADDER_SECTORS || s == BS_LADDER_BLOCKS;

		CHECK(error <= (table ? 2e-5 : 1e-5),
		      "grid %u^2, %llu samples%s, %s: %.2e, %.4f ms %s", cells,
		      (unsigned long long)samples, clustered ? " at the edges" : "", grid_names[s],
		      error, ms, rc != 0 ? why.text : "");
	}
	bs_ladder_grid_close(l);
	free(x);
	free(d);
	free(sum);
	free(want);
	free(got);
}

static void compare_all(void)
{
	static const uint32_t cube[3] = { 24, 20, 16 };
	static const uint32_t odd[3] = { 17, 9, 13 };

	check_grid(64, 300, 0);
	check_grid(64, 300, 1);
	check_exact(odd, 333, 0);
	if (!small()) { /* not under compute-sanitizer */
		check_grid(512, 5000, 0);
		check_grid(512, 8192, 0);
		check_grid(96, 40000, 0);
		check_exact(cube, 2500, 0);
		check_exact(cube, 2500, 1);
	}
}

int main(void)
{
	return twin_main("the papers' ladders", 0, compare_all);
}
