/*
 * test/unit/gpu/calibrate/test_espirit.c - coil maps against the definition in double precision
 *
 * Bounds. The operator works in single precision after the eigenvectors of the Gram matrix: each
 * element of a voxel's matrix is a sum of at most a few thousand products with rounding 2^-24, and
 * the matrix has norm 1: MATRIX = 4e-6 is 64 roundings. An eigenvalue differs by no more (Weyl), an
 * eigenvector by MATRIX over the distance to the next eigenvalue (Davis and Kahan). The first one
 * is taken out of the matrix before the second is looked for: its own error turns the second by as
 * much times the ratio of their eigenvalues.
 */
#include "core/thread/team.h"
#include "gpu/calibrate/espirit.h"
#include "test/support/check.h"

#include <complex.h>
#include <string.h>

#define TAU    6.28318530717958647692
#define MATRIX 4e-6

/* Eigenvalues, descending, and vectors (columns of v) of a Hermitian a[n][n], by Jacobi. */
static void jacobi(int n, double complex *a, double *value, double complex *v)
{
	for (int i = 0; i < n * n; i++)
		v[i] = i % (n + 1) == 0;
	for (int sweep = 0; sweep < 60; sweep++) {
		double off = 0;

		for (int p = 0; p < n; p++)
			for (int q = p + 1; q < n; q++) {
				double complex g = a[p * n + q];
				double size = cabs(g);
				double theta, t, c;
				double complex s;

				off += size;
				if (size < 1e-300)
					continue;
				theta = creal(a[q * n + q] - a[p * n + p]) / (2 * size);
				t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
				c = 1 / sqrt(t * t + 1);
				s = t * c * g / size;
				for (int k = 0; k < n; k++) { /* columns */
					double complex x = a[k * n + p];
					double complex y = a[k * n + q];
					double complex vx = v[k * n + p];
					double complex vy = v[k * n + q];

					a[k * n + p] = c * x - conj(s) * y;
					a[k * n + q] = s * x + c * y;
					v[k * n + p] = c * vx - conj(s) * vy;
					v[k * n + q] = s * vx + c * vy;
				}
				for (int k = 0; k < n; k++) { /* rows */
					double complex x = a[p * n + k];
					double complex y = a[q * n + k];

					a[p * n + k] = c * x - s * y;
					a[q * n + k] = conj(s) * x + c * y;
				}
			}
		if (off < 1e-14 * n)
			break;
	}
	for (int i = 0; i < n; i++)
		value[i] = creal(a[i * n + i]);
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			if (value[j] > value[i]) {
				double t = value[i];

				value[i] = value[j];
				value[j] = t;
				for (int k = 0; k < n; k++) {
					double complex x = v[k * n + i];

					v[k * n + i] = v[k * n + j];
					v[k * n + j] = x;
				}
			}
}

static uint32_t volume(const uint32_t n[3])
{
	return n[0] * n[1] * n[2];
}

/* Index of element i of a box of size `box` that lies at `place` of a grid of size `grid`. */
static uint32_t at(const uint32_t *grid, const uint32_t *box, uint32_t i, const uint32_t place[3])
{
	uint32_t x = i % box[0] + place[0];
	uint32_t y = i / box[0] % box[1] + place[1];
	uint32_t z = i / box[0] / box[1] + place[2];

	return (z * grid[1] + y) * grid[0] + x;
}

/* The projection onto the kernels, [n][n], n = coils x kernel. */
static double complex *projection(const struct bs_espirit_spec *s, const float *block)
{
	int n = (int)(s->coils * volume(s->kernel));
	uint32_t element = volume(s->kernel);
	uint32_t samples = volume(s->block);
	double complex *a = calloc((size_t)n * n, sizeof(*a));
	double complex *v = calloc((size_t)n * n, sizeof(*a));
	double complex *p = calloc((size_t)n * n, sizeof(*a));
	double *value = calloc((size_t)n, sizeof(*value));
	double complex *column = calloc((size_t)n, sizeof(*column));

	for (uint32_t z = 0; z + s->kernel[2] <= s->block[2]; z++)
		for (uint32_t y = 0; y + s->kernel[1] <= s->block[1]; y++)
			for (uint32_t x = 0; x + s->kernel[0] <= s->block[0]; x++) {
				const uint32_t place[3] = { x, y, z };

				for (int i = 0; i < n; i++) {
					const float *d =
						block + 2 * ((uint32_t)i / element * samples +
							     at(s->block, s->kernel,
								(uint32_t)i % element, place));

					column[i] = d[0] + I * (double)d[1];
				}
				for (int i = 0; i < n; i++)
					for (int j = 0; j < n; j++)
						a[i * n + j] += column[i] * conj(column[j]);
			}
	jacobi(n, a, value, v);
	for (int k = 0; k < n && value[k] > s->threshold * value[0]; k++)
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
				p[i * n + j] += v[i * n + k] * conj(v[j * n + k]);
	free(a);
	free(v);
	free(value);
	free(column);
	return p;
}

/* The matrix of a voxel, by the definition: kernels' images, and their products. */
static void matrix_of(const struct bs_espirit_spec *s, const double complex *p, const int v[3],
		      double complex *g)
{
	uint32_t element = volume(s->kernel);
	uint32_t n = s->coils * element;
	const uint32_t origin[3] = { 0 };
	double complex *turn = calloc(element, sizeof(*turn));

	for (uint32_t i = 0; i < element; i++) {
		uint32_t where = at(s->kernel, s->kernel, i, origin);
		double angle = 0;

		angle += (double)(where % s->kernel[0]) * v[0] / s->field[0];
		angle += (double)(where / s->kernel[0] % s->kernel[1]) * v[1] / s->field[1];
		angle += (double)(where / s->kernel[0] / s->kernel[1]) * v[2] / s->field[2];
		turn[i] = cexp(I * TAU * angle);
	}
	for (uint32_t c = 0; c < s->coils; c++)
		for (uint32_t d = 0; d < s->coils; d++) {
			double complex sum = 0;

			for (uint32_t i = 0; i < element; i++)
				for (uint32_t j = 0; j < element; j++)
					sum += turn[i] * conj(turn[j]) *
					       p[(c * element + i) * n + d * element + j];
			g[c * s->coils + d] = sum / element;
		}
	free(turn);
}

/* Coils with a smooth sensitivity each over a few disks, and some noise: lower and lower rank. */
static void fill(float *block, const struct bs_espirit_spec *s, double noise, uint64_t seed)
{
	uint32_t samples = volume(s->block);
	double at0[3][3], coil[64][3];

	for (int i = 0; i < 9; i++)
		at0[i / 3][i % 3] = 0.5 * (check_uniform(&seed) - 0.5);
	for (uint32_t i = 0; i < 3 * s->coils; i++)
		coil[i / 3][i % 3] = TAU * (check_uniform(&seed) - 0.5);
	for (uint32_t c = 0; c < s->coils; c++)
		for (uint32_t i = 0; i < samples; i++) {
			double k[3] = { (double)(i % s->block[0]) - s->block[0] / 2,
					(double)(i / s->block[0] % s->block[1]) - s->block[1] / 2,
					(double)(i / s->block[0] / s->block[1]) - s->block[2] / 2 };
			double complex sum = 0;

			for (int o = 0; o < 3; o++) {
				double r = 0.3;
				double angle = 0;

				for (int a = 0; a < 3; a++) {
					double q = k[a] + coil[c][a] / TAU;

					r += 0.4 * q * q;
					angle += at0[o][a] * q;
				}
				sum += cexp(-I * TAU * angle) / r;
			}
			block[2 * (c * samples + i)] =
				(float)(creal(sum) + noise * (check_uniform(&seed) - 0.5));
			block[2 * (c * samples + i) + 1] =
				(float)(cimag(sum) + noise * (check_uniform(&seed) - 0.5));
		}
}

static int run(const struct bs_espirit_spec *s, int members, const float *block, float *maps,
	       float *values, struct bs_fail *why)
{
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	struct bs_espirit *plan = NULL;
	int rc = bs_espirit_need(s, &need, why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_team_open(&team, members, why);
	if (rc == 0)
		rc = bs_espirit_plan(&plan, s, &arena, team, why);
	if (rc == 0) {
		CHECK(arena.size == arena.used, "need says what plan takes: %zu of %zu", arena.used,
		      arena.size);
		rc = bs_espirit_run(plan, s->block, block, maps, values, why);
	}
	bs_espirit_close(plan);
	bs_team_close(team);
	bs_arena_close(&arena);
	return rc;
}

/* The largest errors of eigenvalues and vectors, each over its bound. */
struct worst {
	double value, vector, turned, cropped;
	uint32_t compared;
};

static void voxel(const struct bs_espirit_spec *s, const double complex *p, uint32_t i,
		  const float *maps, const float *values, struct worst *w)
{
	uint32_t voxels = volume(s->matrix);
	uint32_t C = s->coils;
	double complex g[32 * 32];
	double complex vec[32 * 32];
	double value[32];
	const int v[3] = { (int)(i % s->matrix[0]) - (int)(s->matrix[0] / 2),
			   (int)(i / s->matrix[0] % s->matrix[1]) - (int)(s->matrix[1] / 2),
			   (int)(i / s->matrix[0] / s->matrix[1]) - (int)(s->matrix[2] / 2) };

	matrix_of(s, p, v, g);
	jacobi((int)C, g, value, vec);
	for (uint32_t set = 0; set < s->sets; set++) {
		const float *map = maps + 2 * ((size_t)set * C * voxels + i);
		double gap = fmin(set > 0 ? value[set - 1] - value[set] : 1,
				  set + 1 < C ? value[set] - value[set + 1] : 1);
		double complex dot = 0;
		double power = 0;
		double error;

		for (uint32_t c = 0; c < C; c++) {
			double complex m = map[2 * (size_t)c * voxels] +
					   I * (double)map[2 * (size_t)c * voxels + 1];

			dot += conj(vec[c * C + set]) * m;
			power += creal(m) * creal(m) + cimag(m) * cimag(m);
		}
		error = fabs(values[set * voxels + i] - value[set]) / MATRIX;
		w->value = fmax(w->value, error);
		if (values[set * voxels + i] < (float)s->crop) {
			w->cropped = fmax(w->cropped, power);
			continue;
		}
		if (gap < 1e-3)
			continue;
		w->compared++;
		error = sqrt(fmax(0, power - creal(dot) * creal(dot) - cimag(dot) * cimag(dot)));
		if (set > 0)
			error /= 1 + value[0] / value[set];
		w->vector = fmax(w->vector, error * gap / MATRIX);
		w->turned = fmax(w->turned, fabs(power - 1));
	}
}

static void one(const struct bs_espirit_spec *s, double noise, uint64_t seed)
{
	uint32_t voxels = volume(s->matrix);
	size_t floats = (size_t)2 * s->sets * s->coils * voxels;
	float *block = malloc((size_t)8 * s->coils * volume(s->block));
	float *maps = malloc(2 * floats * sizeof(float));
	float *values = malloc((size_t)2 * s->sets * voxels * sizeof(float));
	struct bs_fail why = { 0 };
	double complex *p;
	struct worst w = { 0 };

	fill(block, s, noise, seed);
	CHECK(run(s, 1, block, maps, values, &why) == 0, "%u coils, block %u x %u x %u: %s",
	      s->coils, s->block[0], s->block[1], s->block[2], why.text);
	CHECK(run(s, 3, block, maps + floats, values + (size_t)s->sets * voxels, &why) == 0 &&
		      memcmp(maps, maps + floats, floats * 4) == 0,
	      "the same bytes with three threads %s", why.text);
	p = projection(s, block);
	for (uint32_t i = 0; i<voxels; i += voxels> 300 ? 7 : 1)
		voxel(s, p, i, maps, values, &w);
	CHECK(w.compared > 0 && w.value <= 1 && w.vector <= 1,
	      "%u maps: eigenvalues %.2f, vectors %.2f of their bounds", w.compared, w.value,
	      w.vector);
	CHECK(w.turned < 1e-5 && w.cropped == 0, "length 1 (%.1e), or cropped to 0", w.turned);
	free(p);
	free(block);
	free(maps);
	free(values);
}

static void refusals(void)
{
	struct bs_espirit_spec s = { .coils = 4,
				     .sets = 1,
				     .block = { 8, 8, 1 },
				     .kernel = { 4, 4, 1 },
				     .field = { 16, 16, 1 },
				     .matrix = { 16, 16, 1 },
				     .threshold = 1e-3,
				     .crop = 0.8 };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	float *block = calloc(2 * 4 * 64, 4);
	float *maps = calloc(2 * 4 * 256, 4);

	CHECK(run(&s, 1, block, maps, NULL, &why) == BS_ERR_VALUE, "zeros: %s", why.text);
	block[17] = NAN;
	CHECK(run(&s, 1, block, maps, NULL, &why) == BS_ERR_VALUE, "not finite: %s", why.text);
	s.kernel[1] = 9;
	CHECK(bs_espirit_need(&s, &need, &why) == BS_ERR_CONFIG, "kernel: %s", why.text);
	s.kernel[1] = 4;
	s.sets = 5;
	CHECK(bs_espirit_need(&s, &need, &why) == BS_ERR_CONFIG, "sets: %s", why.text);
	s.sets = 1;
	s.coils = 64;
	s.block[2] = 24;
	s.kernel[2] = 8;
	s.block[0] = s.block[1] = 100;
	CHECK(bs_espirit_need(&s, &need, &why) == BS_ERR_CONFIG, "equations: %s", why.text);
	free(block);
	free(maps);
}

int main(void)
{
	/* rows of places, then of elements; cropping by field > matrix; odd sizes; 3D; two sets */
	static const struct bs_espirit_spec specs[] = {
		{ 3, 1, { 9, 8, 1 }, { 4, 4, 1 }, { 20, 17, 1 }, { 20, 17, 1 }, 1e-3, 0.6 },
		{ 5, 1, { 7, 6, 1 }, { 4, 4, 1 }, { 38, 31, 1 }, { 19, 31, 1 }, 1e-3, 0.7 },
		{ 4, 2, { 8, 8, 1 }, { 3, 3, 1 }, { 33, 16, 1 }, { 33, 16, 1 }, 1e-3, 0.2 },
		{ 20, 1, { 12, 10, 1 }, { 2, 2, 1 }, { 40, 40, 1 }, { 40, 40, 1 }, 1e-3, 0.8 },
		{ 32, 1, { 6, 5, 1 }, { 2, 1, 1 }, { 16, 18, 1 }, { 16, 18, 1 }, 1e-3, 0.8 },
		{ 3, 1, { 6, 5, 4 }, { 3, 2, 2 }, { 13, 12, 5 }, { 13, 12, 5 }, 1e-3, 0.5 },
		{ 4, 2, { 5, 4, 4 }, { 3, 3, 2 }, { 17, 9, 4 }, { 16, 9, 4 }, 1e-2, 0.3 },
		{ 1, 1, { 6, 6, 1 }, { 3, 3, 1 }, { 16, 16, 1 }, { 16, 16, 1 }, 1e-3, 0.0 },
	};

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		one(&specs[i], i % 2 ? 0.02 : 0.002, 11 + i);
	refusals();
	return check_done();
}
