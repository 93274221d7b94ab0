/* test/unit/core/tool/test_spread.c - the width of known point spreads */
#include "core/tool/spread.h"

#include <string.h>

#include "test/support/check.h"

#define NX 40
#define NY 24
#define NZ 20

static float image[NZ][NY][NX][2];
static const uint32_t matrix[3] = { NX, NY, NZ };

/* The way around a periodic axis. */
static double apart(int a, int b, int n)
{
	int d = abs(a - b);

	return d < n - d ? d : n - d;
}

/* A Gaussian of three widths, with a phase, centered on a voxel. */
static void fill(const int at[3], const double fwhm[3])
{
	for (int z = 0; z < NZ; z++)
		for (int y = 0; y < NY; y++)
			for (int x = 0; x < NX; x++) {
				double d[3] = { apart(x, at[0], NX), apart(y, at[1], NY),
						apart(z, at[2], NZ) };
				double e = 0.0;

				for (int i = 0; i < 3; i++)
					e += 4.0 * log(2.0) * d[i] * d[i] / (fwhm[i] * fwhm[i]);
				image[z][y][x][0] = (float)(exp(-e) * cos(0.3 * x));
				image[z][y][x][1] = (float)(exp(-e) * sin(0.3 * x));
			}
}

int main(void)
{
	static const int at[2][3] = { { 20, 12, 10 }, { 1, 23, 0 } };
	static const double fwhm[3] = { 7.0, 4.0, 2.5 };

	for (int i = 0; i < 2; i++) {
		const uint32_t voxel[3] = { (uint32_t)at[i][0], (uint32_t)at[i][1],
					    (uint32_t)at[i][2] };

		fill(at[i], fwhm);
		for (uint32_t a = 0; a < 3; a++) {
			double w = bs_spread_width(&image[0][0][0][0], matrix, voxel, a);
			/*
			 * a chord departs from the curve by h^2/8 f'' at most, f'' < 8 log 2/w^2 at
			 * the half, the slope there is 2 log 2/w; two flanks
			 */
			double off = 2.0 * (8.0 * log(2.0) / (fwhm[a] * fwhm[a]) / 8.0) /
				     (2.0 * log(2.0) / fwhm[a]);

			CHECK(fabs(w - fwhm[a]) < off,
			      "voxel %d, axis %u: width %.3f of %.1f, to %.3f", i, a, w, fwhm[a],
			      off);
		}
	}
	const uint32_t voxel[3] = { 3, 3, 3 };

	memset(image, 0, sizeof(image));
	CHECK(bs_spread_width(&image[0][0][0][0], matrix, voxel, 1) == 0.0, "nothing has no width");
	image[3][3][3][0] = 2.0f;
	CHECK(bs_spread_width(&image[0][0][0][0], matrix, voxel, 2) == 1.0,
	      "one voxel is one wide");
	image[3][3][3][1] = NAN;
	CHECK(bs_spread_width(&image[0][0][0][0], matrix, voxel, 2) == 0.0, "NaN has no width");
	for (int x = 0; x < NX; x++)
		image[5][5][x][1] = 1.0f;
	const uint32_t line[3] = { 7, 5, 5 };

	CHECK(bs_spread_width(&image[0][0][0][0], matrix, line, 0) == NX,
	      "a line is as wide as the field");
	return check_done();
}
