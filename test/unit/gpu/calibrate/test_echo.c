/*
 * test/unit/gpu/calibrate/test_echo.c - navigators, the fit to phase-correction lines, ramps:
 * against sums
 * over random objects in double precision, at even and odd sizes
 */
#include "core/tool/ramps.h"
#include "gpu/calibrate/echo.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "gpu/calibrate/dense.h"
#include "test/support/check.h"

#define MOST 160
#define PI   3.14159265358979323846

typedef double complex cd;

/* CMPLX is not in every compiler's complex.h; here all parts are finite. */
static cd pair(double re, double im)
{
	return re + im * I;
}

static uint64_t seed = 23;
static struct bs_fail why;

static double signed_one(void)
{
	return 2.0 * check_uniform(&seed) - 1.0;
}

static cd random_complex(void)
{
	const double re = signed_one();

	return pair(re, signed_one());
}

static void navigators(void)
{
	enum { COILS = 3, SAMPLES = 17, STRIDE = 20 };
	static float a[COILS][SAMPLES][2];
	static float b[COILS][STRIDE][2];
	cd sum = 0.0;
	double noisy;

	for (int i = -3; i <= 3; i++) {
		for (int c = 0; c < COILS; c++)
			for (int s = 0; s < SAMPLES; s++) {
				const cd v = random_complex();
				const cd w = v * cexp(pair(0.0, i));

				a[c][s][0] = (float)creal(v);
				a[c][s][1] = (float)cimag(v);
				b[c][s][0] = (float)creal(w);
				b[c][s][1] = (float)cimag(w);
			}
		/* each of the 51 products is right to 2^-22 */
		CHECK(fabs(bs_navigator_phase(COILS, SAMPLES, a[0][0], b[0][0], STRIDE) - i) < 1e-6,
		      "a phase of %d", i);
	}
	for (int c = 0; c < COILS; c++)
		for (int s = 0; s < SAMPLES; s++) {
			b[c][s][0] += (float)(0.3 * signed_one());
			sum += conj(pair(a[c][s][0], a[c][s][1])) * pair(b[c][s][0], b[c][s][1]);
		}
	noisy = bs_navigator_phase(COILS, SAMPLES, a[0][0], b[0][0], STRIDE);
	CHECK(fabs(noisy - carg(sum)) < 1e-12, "with noise %g, the sum's %g", noisy, carg(sum));
}

static void fits(void)
{
	static const uint32_t sizes[] = { 2, 15, 24, 37, 160 };
	static const double phases[] = { 0.0, 1.0, -3.0, 3.1 };
	static double p[2 * MOST];

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
		for (int f = 0; f < 4; f++) {
			const uint32_t n = sizes[k];
			const double slope = n > 2 ? -2.0 * PI * (1.7 - f) / n : 0.0;
			struct bs_echo_fit fit;

			for (uint32_t i = 0; i < n; i++) {
				const cd v = fabs(signed_one()) *
					     cexp(pair(0.0, phases[f] + slope * bs_echo_x(n, i)));

				p[2 * i] = creal(v);
				p[2 * i + 1] = cimag(v);
			}
			fit = bs_echo_fit(n, p);
			CHECK(fabs(remainder(fit.phase - phases[f], 2.0 * PI)) < 1e-12 &&
				      fabs(fit.slope - slope) < 1e-12,
			      "%u voxels: %g + %g x, not %g + %g x", n, fit.phase, fit.slope,
			      phases[f], slope);
		}
}

/* Least squares of the argument, weighted: its normal equations hold where noise bends the line. */
static void fit_of_noise(void)
{
	enum { N = 37 };
	double p[2 * N];
	double r0 = 0.0;
	double r1 = 0.0;
	double all = 0.0;
	struct bs_echo_fit fit;

	for (uint32_t i = 0; i < N; i++) {
		const cd v = (1.2 + signed_one()) *
			     cexp(pair(0.0, 0.4 - 0.11 * bs_echo_x(N, i) + 0.2 * signed_one()));

		p[2 * i] = creal(v);
		p[2 * i + 1] = cimag(v);
	}
	fit = bs_echo_fit(N, p);
	for (uint32_t i = 0; i < N; i++) {
		const cd v = pair(p[2 * i], p[2 * i + 1]);
		const double x = bs_echo_x(N, i);
		const double left = carg(v * cexp(pair(0.0, -fit.phase - fit.slope * x)));

		r0 += cabs(v) * left;
		r1 += cabs(v) * left * x;
		all += cabs(v) * fabs(left);
	}
	CHECK(fabs(r0) < 1e-10 * all && fabs(r1) < 1e-10 * N * all && all > 0.1,
	      "of what is left: %g, %g of %g", r0, r1, all);
	for (uint32_t i = 0; i < 2 * N; i++)
		p[i] = 0.0;
	fit = bs_echo_fit(N, p);
	CHECK(fit.phase == 0.0 && fit.slope == 0.0, "nothing has no phase");
	p[2 * 5] = -1.0;
	fit = bs_echo_fit(N, p);
	CHECK(fabs(fabs(fit.phase) - PI) < 1e-12 && fit.slope == 0.0, "one voxel has no slope");
}

/* An object in the middle of n voxels, sampled at k: the matrix gives its samples on the grid. */
static void ramps(uint32_t n, uint32_t ramp_us, double share, double most)
{
	struct bs_trapezoid t;
	cd *object = calloc(n, sizeof(*object));
	float *matrix = malloc((size_t)n * n * 8);
	void *work = aligned_alloc(16, bs_ramps_bytes(n));
	cd *sample = malloc(n * sizeof(*sample));
	double worst = 0.0;
	double norm = 0.0;
	double raw = 0.0;
	const int32_t half = (int32_t)(share * n / 2.0);

	if (bs_trapezoid_make(&t, n, 5.0, ramp_us, &why) != 0 ||
	    bs_ramps_matrix(matrix, &t, work, &why) != 0) {
		CHECK(0, "%u samples: %s", n, why.text);
		exit(1);
	}
	for (int32_t x = -half; x < half; x++)
		object[x + (int32_t)(n / 2)] = random_complex();
	for (uint32_t s = 0; s < n; s++) {
		sample[s] = 0.0;
		for (uint32_t i = 0; i < n; i++)
			sample[s] +=
				object[i] * cexp(pair(0.0, -2.0 * PI * bs_trapezoid_k(&t, s) *
								   ((double)i - (double)(n / 2))));
	}
	for (uint32_t j = 0; j < n; j++) {
		cd got = 0.0;
		cd want = 0.0;

		for (uint32_t i = 0; i < n; i++) {
			const double u = ((double)j - (double)(n / 2)) / n;

			got += pair(matrix[2 * ((size_t)j * n + i)],
				    matrix[2 * ((size_t)j * n + i) + 1]) *
			       sample[i];
			want += object[i] *
				cexp(pair(0.0, -2.0 * PI * u * ((double)i - (double)(n / 2))));
		}
		worst = fmax(worst, cabs(got - want));
		raw = fmax(raw, cabs(sample[j] - want));
		norm = fmax(norm, cabs(want));
	}
	CHECK(worst <= most * norm, "%u samples, ramps of %u us, an object on %g of them: %g of %g",
	      n, ramp_us, share, worst, norm);
	CHECK(ramp_us == 0 ? raw <= 1e-12 * norm : raw > 0.3 * norm, "as it was sampled: %g", raw);
	free(sample);
	free(work);
	free(matrix);
	free(object);
}

int main(void)
{
	CHECK(bs_dense_open(NULL) == 0, "LAPACK is loaded");
	navigators();
	fits();
	fit_of_noise();
	/* evenly spaced: the identity, to the rounding of floats */
	ramps(64, 0, 1.0, 0x1p-24);
	ramps(37, 0, 1.0, 0x1p-24);
	/*
	 * on ramps, twice oversampled as scanners do: what lambda takes, with the share of an
	 * object that looks like one at the edges: half of what is measured is allowed on top
	 */
	ramps(64, 100, 0.5, 3.2e-3);
	ramps(128, 240, 0.5, 1.7e-2);
	ramps(64, 40, 0.8, 4.1e-3);
	return check_done();
}
