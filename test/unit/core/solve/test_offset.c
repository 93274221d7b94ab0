/*
 * test/unit/core/solve/test_offset.c - the offset between two contrasts of one object, by parts of
 * a voxel, with noise; what is no object is not found
 */
#include "core/solve/offset.h"

#include <string.h>

#include "core/random.h"
#include "test/support/check.h"

#define N 32

static float image[N * N * N][2], reference[N * N * N][2], work[2 * N * N * N];
static const uint32_t matrix[3] = { N, N, N };

static const struct {
	double value[2], center[3], radius[3];
} parts[] = {
	{ { 0.55, 0.8 }, { 0, 0, 0 }, { 11, 9, 10 } },
	{ { 0.45, -0.5 }, { -3.5, 1, 1 }, { 1.8, 5, 3 } },
	{ { 0.45, -0.5 }, { 3.5, 1, 1 }, { 1.8, 5, 3 } },
	{ { -0.15, 0.25 }, { 0, -5.5, -3 }, { 6, 2.5, 4 } },
	{ { 0.4, 0.0 }, { 7, 3, 2 }, { 2.5, 2.5, 2.5 } },
};

/* The mean over a voxel, by 4^3 points. */
static double value(int contrast, const double at[3])
{
	double sum = 0.0;

	for (int i = 0; i < 64; i++)
		for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
			double r = 0.0;

			for (int a = 0; a < 3; a++) {
				const int point = a == 0 ? i % 4 : a == 1 ? i / 4 % 4 : i / 16;
				const double d = (at[a] + (point - 1.5) / 4 - parts[p].center[a]) /
						 parts[p].radius[a];

				r += d * d;
			}
			sum += r <= 1.0 ? parts[p].value[contrast] / 64 : 0.0;
		}
	return sum;
}

static void make(float (*to)[2], int contrast, const double off[3], double noise)
{
	struct bs_random r;

	bs_random_seed(&r, 7);
	for (int v = 0; v < N * N * N; v++) {
		const double at[] = { v % N - N / 2 - off[0], v / N % N - N / 2 - off[1],
				      v / N / N - N / 2 - off[2] };
		const double m = value(contrast, at);
		double n[2];

		/* the image has a phase, the reference has none */
		to[v][0] = (float)(m * (contrast == 0 ? cos(0.1 * at[0]) : 1.0));
		to[v][1] = (float)(m * (contrast == 0 ? sin(0.1 * at[0]) : 0.0));
		bs_random_normal(&r, n);
		to[v][0] += (float)(noise * n[0]);
		to[v][1] += (float)(noise * n[1]);
	}
}

static void test_offsets(void)
{
	static const double off[][4] = { { 0, 0, 0, 0 },        { 0.25, 0, 0, 0.05 },
					 { 0.5, 0.5, -0.5, 0 }, { 1, 0.3, -0.6, 0.1 },
					 { -1.5, 0, 0.5, 0.1 }, { 2, 1, -3, 0.05 } };
	struct bs_offset o;

	make(reference, 1, (const double[]){ 0, 0, 0 }, 0.0);
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		double worst = 0.0;

		make(image, 0, off[i], off[i][3]);
		bs_offset_find(&o, matrix, &image[0][0], 1, &reference[0][0], work);
		for (int a = 0; a < 3; a++)
			worst = fmax(worst, fabs((double)o.voxels[a] - off[i][a]));
		CHECK(o.found && worst < 0.15, "%g, %g, %g voxels, noise %g: to %.3f", off[i][0],
		      off[i][1], off[i][2], off[i][3], worst);
	}
}

static void test_none(void)
{
	struct bs_offset o;
	struct bs_random r;

	bs_random_seed(&r, 3);
	for (int v = 0; v < N * N * N; v++) {
		double n[2];

		bs_random_normal(&r, n);
		image[v][0] = (float)n[0];
		image[v][1] = (float)n[1];
	}
	bs_offset_find(&o, matrix, &image[0][0], 1, &reference[0][0], work);
	CHECK(!o.found && o.length == BS_OFFSET_MOST, "in noise no offset is found");
	make(image, 0, (const double[]){ 7, 0, 0 }, 0.0);
	bs_offset_find(&o, matrix, &image[0][0], 1, &reference[0][0], work);
	CHECK(!o.found, "one beyond the range is not found");
	memset(image, 0, sizeof(image));
	bs_offset_find(&o, matrix, &image[0][0], 1, &reference[0][0], work);
	CHECK(!o.found, "an image of zeros has none");
}

/* Of two images the root of the sum of squares counts; a plane has no third axis. */
static void test_shapes(void)
{
	static float two[2][N * N][2];
	const uint32_t plane[3] = { N, N, 1 };
	struct bs_offset o;

	make(reference, 1, (const double[]){ 0, 0, 0 }, 0.0);
	make(image, 0, (const double[]){ 1, -2, 0 }, 0.0);
	for (int v = 0; v < N * N; v++)
		for (int i = 0; i < 2; i++) {
			two[i][v][0] = image[N * N * N / 2 + v][0] * (i == 0 ? 0.6f : 0.8f);
			two[i][v][1] = image[N * N * N / 2 + v][1] * (i == 0 ? 0.6f : 0.8f);
		}
	bs_offset_find(&o, plane, &two[0][0][0], 2, &reference[N * N * N / 2][0], work);
	CHECK(o.found && fabsf(o.voxels[0] - 1.0f) < 0.15f && fabsf(o.voxels[1] + 2.0f) < 0.15f &&
		      o.voxels[2] == 0.0f,
	      "in a plane, of two images: %.2f, %.2f, %.2f", (double)o.voxels[0],
	      (double)o.voxels[1], (double)o.voxels[2]);
}

int main(void)
{
	test_offsets();
	test_none();
	test_shapes();
	return check_done();
}
