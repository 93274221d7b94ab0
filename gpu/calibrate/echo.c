/* gpu/calibrate/echo.c - see echo.h */
#include "gpu/calibrate/echo.h"

#include <complex.h>
#include <math.h>

#include "gpu/calibrate/dense.h"

#define ROUNDS 3 /* rounds of least squares; one is enough where the noise is small */

typedef double complex cd;

/* Makes a complex number. CMPLX is not in every compiler's complex.h; here all parts are finite. */
static cd pair(double re, double im)
{
	return re + im * I;
}

double bs_navigator_phase(uint32_t coils, uint32_t samples, const float *a, const float *b,
			  size_t b_stride)
{
	double re = 0.0;
	double im = 0.0;

	for (uint32_t c = 0; c < coils; c++)
		for (uint32_t s = 0; s < samples; s++) {
			const float *x = a + 2 * ((size_t)c * samples + s);
			const float *y = b + 2 * (c * b_stride + s);

			re += (double)x[0] * y[0] + (double)x[1] * y[1];
			im += (double)x[0] * y[1] - (double)x[1] * y[0];
		}
	return atan2(im, re);
}

static cd at(const double *p, uint32_t i)
{
	return pair(p[2 * (size_t)i], p[2 * (size_t)i + 1]);
}

static cd without(const double *p, uint32_t n, uint32_t i, const struct bs_echo_fit *f)
{
	return at(p, i) * cexp(pair(0.0, -(f->phase + f->slope * bs_echo_x(n, i))));
}

/* Fits the remaining phase by weighted least squares. */
static void refine(struct bs_echo_fit *f, uint32_t n, const double *p)
{
	double w0 = 0.0;
	double w1 = 0.0;
	double w2 = 0.0;
	double y0 = 0.0;
	double y1 = 0.0;
	double det;

	for (uint32_t i = 0; i < n; i++) {
		const cd v = without(p, n, i, f);
		const double w = cabs(v);
		const double x = bs_echo_x(n, i);
		const double y = w > 0.0 ? carg(v) : 0.0;

		w0 += w;
		w1 += w * x;
		w2 += w * x * x;
		y0 += w * y;
		y1 += w * x * y;
	}
	det = w0 * w2 - w1 * w1;
	if (!(det > 1e-9 * w0 * w2)) /* a single voxel has no slope */
		return;
	f->phase += (w2 * y0 - w1 * y1) / det;
	f->slope += (w0 * y1 - w1 * y0) / det;
}

struct bs_echo_fit bs_echo_fit(uint32_t n, const double *p)
{
	struct bs_echo_fit f = { 0.0, 0.0 };
	cd steps = 0.0;
	cd rest = 0.0;

	for (uint32_t i = 0; i < n; i++) /* the step from the last x to the first is left out */
		if (i + 1 != (n + 1) / 2)
			steps += at(p, (i + 1) % n) * conj(at(p, i));
	f.slope = carg(steps);
	for (uint32_t i = 0; i < n; i++)
		rest += without(p, n, i, &f);
	f.phase = carg(rest);
	for (int i = 0; i < ROUNDS; i++)
		refine(&f, n, p);
	f.phase = remainder(f.phase, 2.0 * M_PI);
	return f;
}

size_t bs_ramps_bytes(uint32_t n)
{
	return (size_t)3 * n * n * sizeof(cd);
}

/* Returns the sum over n voxels of exp(-i 2 pi x u), divided by n. */
static cd kernel(uint32_t n, double u)
{
	const double wave = sin(M_PI * u);

	if (fabs(wave) < 1e-12)
		return 1.0;
	return sin(M_PI * n * u) / (n * wave) * (n % 2 == 0 ? cexp(pair(0.0, M_PI * u)) : 1.0);
}

int bs_ramps_matrix(float *matrix, const struct bs_trapezoid *t, void *work, struct bs_fail *why)
{
	const uint32_t n = t->samples;
	cd *a = work; /* [grid][sample] values of the samples' own places */
	cd *square = a + (size_t)n * n;
	cd *x = square + (size_t)n * n;

	for (uint32_t j = 0; j < n; j++)
		for (uint32_t s = 0; s < n; s++)
			a[(size_t)j * n + s] =
				kernel(n, bs_trapezoid_k(t, s) - ((double)j - (double)(n / 2)) / n);
	for (uint32_t j = 0; j < n; j++) /* makes A^H A, its lower triangle, and A^H */
		for (uint32_t i = 0; i < n; i++) {
			cd sum = i == j ? BS_RAMPS_LAMBDA : 0.0;

			for (uint32_t s = 0; i >= j && s < n; s++)
				sum += conj(a[(size_t)i * n + s]) * a[(size_t)j * n + s];
			square[i + (size_t)n * j] = sum;
			x[i + (size_t)n * j] = (1.0 + BS_RAMPS_LAMBDA) * conj(a[(size_t)i * n + j]);
		}
	if (bs_dense_solve(n, n, (double *)square, (double *)x, why) != 0)
		return why->code;
	for (uint32_t j = 0; j < n; j++)
		for (uint32_t s = 0; s < n; s++) {
			matrix[2 * ((size_t)j * n + s)] = (float)creal(x[j + (size_t)n * s]);
			matrix[2 * ((size_t)j * n + s) + 1] = (float)cimag(x[j + (size_t)n * s]);
		}
	return 0;
}
