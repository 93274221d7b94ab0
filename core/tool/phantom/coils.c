/* core/tool/phantom/coils.c - trigonometric sensitivities, and the phantom seen through them */
#include "core/tool/phantom/coils.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN 0.6180339887498949
/* period of a cosine in fields of view: with 3 it does not fall below -1/2 across the field */
#define PERIODS 3.0
/* period, in fields of view, for coils that are seen in a cut: they differ more */
#define NARROW 2.0

/* Finds the place of a coil, a unit vector; in 2D on a circle. */
static void stand(double at[3], uint32_t coil, uint32_t coils, uint32_t dims, double radians)
{
	double up = dims > 2 ? (2.0 * coil + 1.0) / coils - 1.0 : 0.0;
	double angle = 2.0 * M_PI * (dims > 2 ? coil * GOLDEN : (double)coil / coils) + radians;

	at[0] = sqrt(1.0 - up * up) * cos(angle);
	at[1] = sqrt(1.0 - up * up) * sin(angle);
	at[2] = up;
}

int bs_coils_make(struct bs_coils *c, uint32_t coils, uint32_t dims, const uint32_t matrix[3],
		  struct bs_fail *why)
{
	return bs_coils_rotated(c, coils, dims, matrix, 0.0, why);
}

int bs_coils_rotated(struct bs_coils *c, uint32_t coils, uint32_t dims, const uint32_t matrix[3],
		     double radians, struct bs_fail *why)
{
	memset(c, 0, sizeof(*c));
	if (!coils || coils > BS_COILS_MAX || dims < 2 || dims > 3)
		return bs_fail(why, BS_ERR_SIZE, "%u coils in %u dimensions", coils, dims);
	c->coils = coils;
	c->dims = dims;
	c->terms = coils == 1 ? 1 : 1 + 2 * dims;
	for (uint32_t d = 0; d < 3; d++)
		c->matrix[d] = d < dims ? matrix[d] : 1;
	for (uint32_t d = 0; d < dims && coils > 1; d++) {
		c->f[1 + 2 * d][d] = 1.0 / (PERIODS * c->matrix[d]);
		c->f[2 + 2 * d][d] = -1.0 / (PERIODS * c->matrix[d]);
	}
	for (uint32_t i = 0; i < coils; i++) {
		double phase = coils == 1 ? 0.0 : 2.0 * M_PI * i / coils;
		double at[3];

		stand(at, i, coils, dims, radians);
		for (uint32_t t = 0; t < c->terms; t++) {
			double height = coils == 1 ? 1.0 : 1.0 / (1.0 + dims);
			double angle = phase;

			if (t) {
				/*
				 * half of a cosine whose peak is at the coil's place, at/2 fields
				 * of view out
				 */
				uint32_t d = (t - 1) / 2;

				height *= 0.5;
				angle -= 2.0 * M_PI * c->f[t][d] * at[d] * c->matrix[d] / 2.0;
				/*
				 * the halves are unequal, which gives a phase that varies across
				 * the field
				 */
				height *= t % 2 ? 1.0 + 0.3 * at[d] : 1.0 - 0.3 * at[d];
			}
			c->a[i][t][0] = height * cos(angle);
			c->a[i][t][1] = height * sin(angle);
		}
	}
	return 0;
}

/*
 * A harmonic, m from -2 to 2, of ((1 + cos) / 2)^2 along an axis: 1 at the coil's place, at/2
 * fields of view out, and 0 a field of view from it. Its halves are unequal, too.
 */
static void harmonic(int m, double at, double w[2])
{
	static const double height[3] = { 0.375, 0.25, 0.0625 };
	const double unequal = m == 0 ? 1.0 : m > 0 ? 1.0 + 0.3 * at : 1.0 - 0.3 * at;
	const double angle = -2.0 * M_PI * m / NARROW * at / 2.0;

	w[0] = height[abs(m)] * unequal * cos(angle);
	w[1] = height[abs(m)] * unequal * sin(angle);
}

int bs_coils_cut(struct bs_coils *c, uint32_t coils, const uint32_t matrix[3], double up,
		 struct bs_fail *why)
{
	const int rc = bs_coils_make(c, coils, 2, matrix, why);

	if (rc != 0 || coils == 1)
		return rc;
	c->terms = BS_COIL_TERMS;
	for (uint32_t t = 0; t < c->terms; t++)
		for (uint32_t d = 0; d < 2; d++)
			c->f[t][d] = ((int)(d > 0 ? t / 5 : t % 5) - 2) / (NARROW * matrix[d]);
	for (uint32_t i = 0; i < coils; i++) {
		double at[3];
		double high;

		stand(at, i, coils, 3, 0.0);
		high = 0.5 + 0.5 * cos(2.0 * M_PI / NARROW * (up - at[2]) / 2.0);
		for (uint32_t t = 0; t < c->terms; t++) {
			double x[2];
			double y[2];
			double *a = c->a[i][t];

			harmonic((int)(t % 5) - 2, at[0], x);
			harmonic((int)(t / 5) - 2, at[1], y);
			a[0] = high * high * (x[0] * y[0] - x[1] * y[1]);
			a[1] = high * high * (x[0] * y[1] + x[1] * y[0]);
		}
	}
	return 0;
}

void bs_coils_at(const struct bs_coils *c, uint32_t coil, const double x[3], double out[2])
{
	out[0] = out[1] = 0.0;
	for (uint32_t t = 0; t < c->terms; t++) {
		double angle = 0.0;

		for (uint32_t d = 0; d < c->dims; d++)
			angle += 2.0 * M_PI * c->f[t][d] * x[d]; /* NOLINT: dims is 2 or 3 */
		out[0] += c->a[coil][t][0] * cos(angle) - c->a[coil][t][1] * sin(angle);
		out[1] += c->a[coil][t][0] * sin(angle) + c->a[coil][t][1] * cos(angle);
	}
}

void bs_coils_maps(const struct bs_coils *c, float *maps)
{
	size_t plane = (size_t)c->matrix[0] * c->matrix[1];
	size_t voxels = plane * c->matrix[2];

	for (uint32_t i = 0; i < c->coils; i++)
		for (size_t v = 0; v < voxels; v++) {
			double x[3] = { (double)(v % c->matrix[0]) - c->matrix[0] / 2,
					(double)(v / c->matrix[0] % c->matrix[1]) -
						c->matrix[1] / 2,
					(double)(v / plane) - c->matrix[2] / 2 };
			double s[2];

			bs_coils_at(c, i, x, s);
			maps[2 * (i * voxels + v)] = (float)s[0];
			maps[2 * (i * voxels + v) + 1] = (float)s[1];
		}
}

void bs_coils_sample(const struct bs_coils *c, const struct bs_phantom *ph, const float *k,
		     uint32_t samples, float *data)
{
	for (uint32_t s = 0; s < samples; s++, k += c->dims) {
		double f[BS_COIL_TERMS][2];

		for (uint32_t t = 0; t < c->terms; t++) {
			double at[3] = { 0 };

			for (uint32_t d = 0; d < c->dims; d++)
				at[d] = k[d] - c->f[t][d];
			bs_phantom_transform(ph, at, f[t]);
		}
		for (uint32_t i = 0; i < c->coils; i++) {
			double re = 0.0;
			double im = 0.0;

			for (uint32_t t = 0; t < c->terms; t++) {
				re += c->a[i][t][0] * f[t][0] - c->a[i][t][1] * f[t][1];
				im += c->a[i][t][0] * f[t][1] + c->a[i][t][1] * f[t][0];
			}
			data[2 * ((size_t)i * samples + s)] = (float)re;
			data[2 * ((size_t)i * samples + s) + 1] = (float)im;
		}
	}
}
