/* test/mutate/object.c - see scan.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/mutate/scan.h"

#define PI 3.14159265358979323846

static double complex cis(double turns)
{
	return cexp(2.0 * PI * I * turns);
}

/* A ball with soft edges: 1 within, 0 without. */
static double ball(const double at[3], double x, double y, double z, double radius)
{
	const double r = sqrt((at[0] - x) * (at[0] - x) + (at[1] - y) * (at[1] - y) +
			      (at[2] - z) * (at[2] - z));

	return 1.0 / (1.0 + exp((r - radius) * 60.0));
}

/* Each frame has a ball at a place of its own. */
static double complex density(const struct frame *f, const double at[3])
{
	const uint32_t *n = f->at;
	const uint32_t key =
		n[SLICE] + 3 * n[CONTRAST] + 7 * n[PHASE] + 11 * n[SET] + 17 * n[REPETITION];
	const double turn = 0.61803 * key + 0.1;
	const double wave = 0.1 + 0.15 * at[0] - 0.1 * at[1] + 0.05 * sin(5.0 * at[1]);

	return (ball(at, 0.02, -0.01, 0.0, 0.38) - 0.5 * ball(at, -0.1, 0.15, 0.1, 0.1) +
		0.9 * ball(at, 0.2 * cos(2 * PI * turn), 0.2 * sin(2 * PI * turn), 0.0, 0.1)) *
	       pow(0.9, n[CONTRAST]) * cis(wave + 0.07 * n[SET]);
}

static double complex coil(const struct plan *p, uint32_t c, const double at[3])
{
	const double turn = (double)c / p->coils;
	const double x = 0.6 * cos(2 * PI * turn) - at[0];
	const double y = 0.6 * sin(2 * PI * turn) - at[1];
	const double z = (c % 2 == 0 ? 0.3 : -0.3) - at[2];

	return cis(turn + 0.1 * at[1]) / (1.0 + 4.0 * (x * x + y * y + z * z));
}

static uint32_t rows(const struct plan *p)
{
	return p->path == PATH_RADIAL ? p->nx : p->ny;
}

static void see(const struct plan *p, struct frame *f)
{
	const uint32_t ny = rows(p);
	double complex *to = f->images;

	for (uint32_t c = 0; c < p->coils; c++)
		for (uint32_t z = 0; z < p->nz; z++)
			for (uint32_t y = 0; y < ny; y++)
				for (uint32_t x = 0; x < p->nx; x++) {
					const double at[3] = {
						((double)x - p->nx / 2) / p->nx,
						((double)y - ny / 2) / ny,
						p->nz > 1 ? ((double)z - p->nz / 2) / p->nz : 0.0
					};

					*to++ = density(f, at) * coil(p, c, at);
				}
}

/* out[inner][k] = sum over n of in[inner][n] exp(-2 pi i k n), of each of many rows. */
static void sum_axis(double complex *to, const double complex *from, size_t outer, uint32_t n,
		     size_t inner, const double *k, uint32_t ks, double sign)
{
	double complex *wave = malloc(sizeof(*wave) * n * ks);

	for (uint32_t i = 0; i < ks; i++)
		for (uint32_t m = 0; m < n; m++)
			wave[i * n + m] = cis(sign * k[i] * ((double)m - n / 2));
	for (size_t o = 0; o < outer; o++)
		for (uint32_t i = 0; i < ks; i++)
			for (size_t in = 0; in < inner; in++) {
				double complex sum = 0.0;

				for (uint32_t m = 0; m < n; m++)
					sum += from[(o * n + m) * inner + in] * wave[i * n + m];
				to[(o * ks + i) * inner + in] = sum;
			}
	free(wave);
}

static double *even(uint32_t n)
{
	double *k = malloc(sizeof(*k) * n);

	for (uint32_t i = 0; i < n; i++)
		k[i] = ((double)i - n / 2) / n;
	return k;
}

static void measure_grid(const struct plan *p, struct frame *f)
{
	const uint32_t ns = plan_samples(p);
	const size_t most = (size_t)p->coils * p->nz * p->ny * ns;
	double complex *part = malloc(sizeof(*part) * most);
	double *kx = even(ns);
	double *ky = even(p->ny);
	double *kz = even(p->nz);

	sum_axis(f->k, f->images, (size_t)p->coils * p->nz * p->ny, p->nx, 1, kx, ns, -1.0);
	sum_axis(part, f->k, (size_t)p->coils * p->nz, p->ny, ns, ky, p->ny, -1.0);
	sum_axis(f->k, part, p->coils, p->nz, (size_t)p->ny * ns, kz, p->nz, -1.0);
	free(part);
	free(kx);
	free(ky);
	free(kz);
}

void object_spoke(const struct plan *p, uint32_t spoke, uint32_t sample, double k[2])
{
	const uint32_t ns = plan_samples(p);
	const double turn = 0.5 * spoke / p->ny;
	const double r = ((double)sample - ns / 2) / ns;

	k[0] = r * cos(2 * PI * turn);
	k[1] = r * sin(2 * PI * turn);
}

static void measure_spokes(const struct plan *p, struct frame *f)
{
	const uint32_t ns = plan_samples(p);
	const uint32_t n = p->nx;

	for (uint32_t spoke = 0; spoke < p->ny; spoke++)
		for (uint32_t j = 0; j < ns; j++) {
			double k[2];

			object_spoke(p, spoke, j, k);
			for (uint32_t c = 0; c < p->coils; c++) {
				const double complex *from = f->images + (size_t)c * n * n;
				double complex sum = 0.0;

				for (uint32_t y = 0; y < n; y++) {
					double complex along = 0.0;
					double complex turn = cis(k[0] * (double)(n / 2));
					const double complex step = cis(-k[0]);

					for (uint32_t x = 0; x < n; x++, turn *= step)
						along += from[y * n + x] * turn;
					sum += along * cis(-k[1] * ((double)y - n / 2));
				}
				f->k[((size_t)c * p->ny + spoke) * ns + j] = sum;
			}
		}
}

void object_measure(const struct plan *p, struct frame *f)
{
	see(p, f);
	if (p->path == PATH_RADIAL)
		measure_spokes(p, f);
	else
		measure_grid(p, f);
}

static void add_squares(double *rss, const double complex *image, size_t voxels, double scale,
			double weight)
{
	for (size_t v = 0; v < voxels; v++) {
		const double m = cabs(image[v]) * scale * weight;

		rss[v] += m * m;
	}
}

/* Places of an image's voxels along an axis, in turns of the finest k. */
static double *places(uint32_t matrix, double voxel, uint32_t k)
{
	double *at = malloc(sizeof(*at) * matrix);

	for (uint32_t i = 0; i < matrix; i++)
		at[i] = ((double)i - matrix / 2) * voxel / k;
	return at;
}

/* Oversampled lines are cropped before their voxels are divided. */
static void finer(double complex *out, const double complex *from, size_t rows,
		  const struct plan *p, double *x, uint32_t voxels, uint32_t samples)
{
	double complex *cropped = malloc(sizeof(*cropped) * rows * p->nx);
	double complex *k = malloc(sizeof(*k) * rows * p->nx);
	double *own = places(p->nx, 1.0, samples);
	double *lines = even(p->nx);

	sum_axis(cropped, from, rows, samples, 1, own, p->nx, 1.0);
	sum_axis(k, cropped, rows, p->nx, 1, lines, p->nx, -1.0);
	for (uint32_t i = 0; i < voxels; i++)
		x[i] *= (double)samples / p->nx;
	sum_axis(out, k, rows, p->nx, 1, x, voxels, 1.0);
	for (size_t i = 0; i < rows * voxels; i++)
		out[i] /= p->nx;
	free(cropped);
	free(k);
	free(own);
	free(lines);
}

static void from_lines(const struct plan *p, const struct frame *f, uint32_t c, bool whole,
		       const uint32_t m[3], const double voxel[3], double complex *out)
{
	const uint32_t ns = plan_samples(p);
	const size_t size = (size_t)p->nz * p->ny * ns;
	double complex *k = malloc(sizeof(*k) * size);
	double complex *along_z = malloc(sizeof(*k) * m[2] * p->ny * ns);
	double complex *along_y = malloc(sizeof(*k) * m[2] * m[1] * ns);
	double *x = places(m[0], voxel[0], ns);
	double *y = places(m[1], voxel[1], p->ny);
	double *z = places(m[2], voxel[2], p->nz);

	for (size_t row = 0; row < (size_t)p->nz * p->ny; row++)
		for (uint32_t j = 0; j < ns; j++)
			k[row * ns + j] =
				whole || (f->came[row] != 0 && j >= p->early && j < ns - p->late)
					? f->k[c * size + row * ns + j]
					: 0.0;
	sum_axis(along_z, k, 1, p->nz, (size_t)p->ny * ns, z, m[2], 1.0);
	sum_axis(along_y, along_z, m[2], p->ny, ns, y, m[1], 1.0);
	if (voxel[0] < 1.0)
		finer(out, along_y, (size_t)m[2] * m[1], p, x, m[0], ns);
	else
		sum_axis(out, along_y, (size_t)m[2] * m[1], ns, 1, x, m[0], 1.0);
	free(k);
	free(along_z);
	free(along_y);
	free(x);
	free(y);
	free(z);
}

void object_image(const struct plan *p, const struct frame *f, bool whole, const double *weight,
		  const uint32_t matrix[3], const double voxel[3], double *rss)
{
	const size_t voxels = (size_t)matrix[0] * matrix[1] * matrix[2];
	const double unit = 1.0 / sqrt((double)plan_samples(p) * p->ny * p->nz) * f->scale;
	double complex *image = malloc(sizeof(*image) * voxels);

	memset(rss, 0, sizeof(*rss) * voxels);
	for (uint32_t c = 0; c < p->coils; c++) {
		from_lines(p, f, c, whole, matrix, voxel, image);
		add_squares(rss, image, voxels, unit, weight[c]);
	}
	for (size_t v = 0; v < voxels; v++)
		rss[v] = sqrt(rss[v]);
	free(image);
}

void object_adjoint(const struct plan *p, const struct frame *f, const double *weight, double *rss)
{
	const uint32_t ns = plan_samples(p);
	const uint32_t n = p->nx;
	const size_t voxels = (size_t)n * n;
	double complex *image = malloc(sizeof(*image) * voxels);

	memset(rss, 0, sizeof(*rss) * voxels);
	for (uint32_t c = 0; c < p->coils; c++) {
		memset(image, 0, sizeof(*image) * voxels);
		for (uint32_t spoke = 0; spoke < p->ny; spoke++)
			for (uint32_t j = 0; j < ns; j++) {
				const double off = fabs((double)j - ns / 2);
				double complex d = f->k[((size_t)c * p->ny + spoke) * ns + j];
				double k[2];

				object_spoke(p, spoke, j, k);
				d *= off > 0.0 ? off : 0.25; /* a quarter of a step at 0 */
				for (uint32_t y = 0; y < n; y++) {
					double complex turn = d * cis(k[1] * ((double)y - n / 2)) *
							      cis(-k[0] * (double)(n / 2));
					const double complex step = cis(k[0]);

					for (uint32_t x = 0; x < n; x++, turn *= step)
						image[y * n + x] += turn;
				}
			}
		add_squares(rss, image, voxels, 1.0, weight[c]);
	}
	for (size_t v = 0; v < voxels; v++)
		rss[v] = sqrt(rss[v]);
	free(image);
}
