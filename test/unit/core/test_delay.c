/* test/unit/core/test_delay.c - delays put on a table, and found again in spokes that have them */
#include "core/tool/phantom/coils.h"
#include "core/random.h"
#include "core/traj/delay.h"

#include <string.h>

#include "test/support/check.h"

#define COILS   4u
#define SAMPLES 192u
#define GOLDEN  1.9416110387254666 /* 111.246 degrees */

static struct bs_fail why;

/* Spokes of the phantom: k as asked, data where S moves them. */
static void scan(struct bs_spokes *s, float *k, float *data, uint32_t spokes, const double S[3],
		 double noise)
{
	const uint32_t matrix[3] = { 96, 96, 1 };
	struct bs_random random;
	struct bs_phantom ph;
	struct bs_coils coils;
	double peak = 0.0;

	CHECK(bs_phantom_make(&ph, 2, matrix, 0, 1, 0, &why) == 0, "phantom %s", why.text);
	CHECK(bs_coils_make(&coils, COILS, 2, matrix, &why) == 0, "coils %s", why.text);
	bs_random_seed(&random, 5);
	for (uint32_t r = 0; r < spokes; r++) {
		const double u[2] = { cos(GOLDEN * r), sin(GOLDEN * r) };
		const double moved[2] = { (S[0] * u[0] + S[2] * u[1]) / SAMPLES,
					  (S[2] * u[0] + S[1] * u[1]) / SAMPLES };
		float at[2 * SAMPLES];

		for (uint32_t i = 0; i < SAMPLES; i++)
			for (int a = 0; a < 2; a++) {
				const double asked = u[a] * ((double)i - SAMPLES / 2) / SAMPLES;

				k[2 * ((size_t)r * SAMPLES + i) + a] = (float)asked;
				at[2 * i + a] = (float)(asked + moved[a]);
			}
		bs_coils_sample(&coils, &ph, at, SAMPLES, data + 2 * (size_t)r * COILS * SAMPLES);
	}
	for (size_t i = 0; i < 2 * (size_t)spokes * COILS * SAMPLES; i++)
		peak = fmax(peak, fabs((double)data[i]));
	for (size_t i = 0; noise > 0.0 && i < (size_t)spokes * COILS * SAMPLES; i++) {
		double n[2];

		bs_random_normal(&random, n);
		data[2 * i] += (float)(noise * peak * n[0]);
		data[2 * i + 1] += (float)(noise * peak * n[1]);
	}
	*s = (struct bs_spokes){ spokes, SAMPLES, COILS, k, data, 0, 0, NULL };
}

/*
 * limit: without noise what floats and 32 taps leave; with noise five of the estimate's standard
 * deviations, which over eight seeds are 1.1e-3.
 */
static void found(const double S[3], uint32_t spokes, double noise, double limit)
{
	static float k[64 * SAMPLES * 2];
	static float data[64 * COILS * SAMPLES * 2];
	struct bs_spokes s;
	struct bs_delays d;
	int rc;

	scan(&s, k, data, spokes, S, noise);
	rc = bs_delay_estimate(&d, &s, &why);
	CHECK(rc == 0, "%u spokes with delays %g %g %g: %s", spokes, S[0], S[1], S[2],
	      rc == 0 ? "found" : why.text);
	CHECK(rc == 0 && fabs(d.axis[0] - S[0]) <= limit && fabs(d.axis[1] - S[1]) <= limit &&
		      fabs(d.cross - S[2]) <= limit,
	      "%.6f %.6f %.6f from %u spokes, noise %g: within %g", d.axis[0], d.axis[1], d.cross,
	      spokes, noise, limit);
	CHECK(rc != 0 || d.after <= d.before, "the spokes differ by %g, before by %g", d.after,
	      d.before);
}

/* Against the definition, written out: k + S (k[i+1] - k[i-1]) / 2. */
static void applied(void)
{
	const float axis[3] = { 0.5f, -1.25f, 2.0f };
	const float cross[3] = { 0.25f, 0.125f, -0.375f };
	const double S[3][3] = { { 0.5, 0.25, 0.125 },
				 { 0.25, -1.25, -0.375 },
				 { 0.125, -0.375, 2.0 } };
	struct bs_random random;
	struct bs_traj t;
	float asked[2 * 7 * 3];
	double worst = 0.0;

	bs_random_seed(&random, 3);
	CHECK(bs_traj_open(&t, 3, 7, 2, &why) == 0, "table %s", why.text);
	for (size_t i = 0; i < 42; i++)
		asked[i] = t.k[i] = (float)(0.2 * bs_random_uniform(&random) - 0.1);
	bs_delay_apply(&t, axis, cross);
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < 7; i++)
			for (int a = 0; a < 3; a++) {
				const float *k = asked + r * 21;
				const int from = i > 0 ? i - 1 : 0;
				const int to = i < 6 ? i + 1 : 6;
				double want = k[i * 3 + a];

				for (int b = 0; b < 3; b++)
					want += S[a][b] *
						((double)k[to * 3 + b] - k[from * 3 + b]) /
						(to - from);
				worst = fmax(worst, fabs(want - t.k[r * 21 + i * 3 + a]));
			}
	CHECK(worst <= 1e-7, "each sample moves along its readout: off by %g", worst);
	bs_traj_close(&t);
}

/* A readout that passes 0.5 goes on at -0.5: no step across the whole of k-space. */
static void wraps(void)
{
	const float axis[3] = { 0.5f, 0.0f, 0.0f };
	const float none[3] = { 0.0f, 0.0f, 0.0f };
	struct bs_traj t;

	CHECK(bs_traj_open(&t, 2, 4, 1, &why) == 0, "table %s", why.text);
	for (int i = 0; i < 4; i++)
		t.k[2 * i] = (float)(i < 2 ? 0.46875 + i / 64.0 : -0.5 + (i - 2) / 64.0);
	bs_delay_apply(&t, axis, none);
	for (int i = 0; i < 4; i++) {
		const double want = 0.46875 + (i + 0.5) / 64.0 - (i >= 2 ? 1.0 : 0.0);

		CHECK(fabs(t.k[2 * i] - want) < 1e-7, "sample %d is at %g, wanted %g", i,
		      (double)t.k[2 * i], want);
	}
	bs_traj_close(&t);
}

static void refused(void)
{
	static float k[8 * SAMPLES * 2];
	static float data[8 * COILS * SAMPLES * 2];
	const double none[3] = { 0.0, 0.0, 0.0 };
	struct bs_spokes s;
	struct bs_delays d;

	scan(&s, k, data, 8, none, 0.0);
	for (uint32_t i = 0; i < SAMPLES; i++) /* a curved readout */
		k[2 * (3 * SAMPLES + i)] += 0.02f * (float)i * (float)i / SAMPLES / SAMPLES;
	CHECK(bs_delay_estimate(&d, &s, &why) == BS_ERR_TRAJECTORY && strstr(why.text, "readout 3"),
	      "a curve: %s", why.text);
	scan(&s, k, data, 8, none, 0.0);
	for (uint32_t r = 1; r < 8; r++) /* all along the first */
		memcpy(k + 2 * (size_t)r * SAMPLES, k, SAMPLES * 2 * sizeof(*k));
	CHECK(bs_delay_estimate(&d, &s, &why) == BS_ERR_TRAJECTORY && strstr(why.text, "cross"),
	      "parallel spokes: %s", why.text);
	scan(&s, k, data, 8, none, 0.0);
	memset(data, 0, sizeof(data));
	CHECK(bs_delay_estimate(&d, &s, &why) == BS_ERR_VALUE, "no signal: %s", why.text);
	s.coils = BS_COILS_MAX + 1;
	CHECK(bs_delay_estimate(&d, &s, &why) == BS_ERR_SIZE, "too many coils: %s", why.text);
}

int main(void)
{
	applied();
	wraps();
	found((const double[3]){ 0.0, 0.0, 0.0 }, 16, 0.0, 1e-4);
	found((const double[3]){ 0.31, -0.22, 0.10 }, 16, 0.0, 1e-4);
	found((const double[3]){ -1.7, 2.4, -0.6 }, 16, 0.0, 1e-4);
	found((const double[3]){ 5.3, 4.1, 0.0 }, 32, 0.0, 1e-4);
	found((const double[3]){ 0.31, -0.22, 0.10 }, 64, 0.002, 6e-3);
	refused();
	return check_done();
}
