/* test/unit/core/tool/test_phantom.c - the closed form against quadrature, coils, the image */
#include "core/tool/phantom/coils.h"
#include "core/tool/phantom/field.h"
#include "core/tool/phantom/noise.h"
#include "core/tool/phantom/phantom.h"

#include <string.h>

#include "test/support/check.h"

#define PI    3.141592653589793
#define NODES 40

/* Gauss-Legendre nodes and weights on [-1, 1] by Newton's method. */
static void gauss(int n, double *x, double *w)
{
	for (int i = 0; i < n; i++) {
		double z = cos(PI * (i + 0.75) / (n + 0.5));
		double slope = 1.0;

		for (int it = 0; it < 100; it++) {
			double p0 = 1.0;
			double p1 = z;

			for (int j = 2; j <= n; j++) {
				double p2 = ((2 * j - 1) * z * p1 - (j - 1) * p0) / j;

				p0 = p1;
				p1 = p2;
			}
			slope = n * (z * p1 - p0) / (z * z - 1.0);
			z -= p1 / slope;
		}
		x[i] = z;
		w[i] = 2.0 / ((1.0 - z * z) * slope * slope);
	}
}

/* A point of the unit ball, mapped into an ellipsoid, in voxels. */
static void place(const struct bs_phantom *ph, const struct bs_ellipsoid *e, const double u[3],
		  double x[3])
{
	double a = e->axis[0] * u[0];
	double b = e->axis[1] * u[1];

	x[0] = (e->center[0] + e->cosine * a - e->sine * b) * ph->matrix[0] / 2.0;
	x[1] = (e->center[1] + e->sine * a + e->cosine * b) * ph->matrix[1] / 2.0;
	x[2] = (e->center[2] + e->axis[2] * u[2]) * ph->matrix[2] / 2.0;
}

static void add_point(const struct bs_coils *c, uint32_t coil, const double *k, uint32_t dims,
		      const double x[3], double weight, double out[2])
{
	double s[2] = { 1.0, 0.0 };
	double turn = 0.0;

	for (uint32_t d = 0; d < dims; d++)
		turn -= 2.0 * PI * k[d] * x[d];
	if (c)
		bs_coils_at(c, coil, x, s);
	out[0] += weight * (s[0] * cos(turn) - s[1] * sin(turn));
	out[1] += weight * (s[0] * sin(turn) + s[1] * cos(turn));
}

/* The integral over one ellipse or ellipsoid in polar coordinates: converges exponentially. */
static void quadrature(const struct bs_phantom *ph, const struct bs_ellipsoid *e,
		       const struct bs_coils *c, uint32_t coil, const double *k, double out[2])
{
	double node[NODES];
	double weight[NODES];
	int around = 2 * NODES;
	int up = ph->dims > 2 ? NODES : 1;
	double unit = e->intensity * e->axis[0] * e->axis[1] * (2.0 * PI / around);

	gauss(NODES, node, weight);
	for (uint32_t d = 0; d < ph->dims; d++)
		unit *= ph->matrix[d] / 2.0;
	if (ph->dims > 2)
		unit *= e->axis[2];
	for (int i = 0; i < NODES; i++) {
		double r = 0.5 * (node[i] + 1.0);

		for (int j = 0; j < up; j++) {
			double z = ph->dims > 2 ? node[j] : 0.0;
			double flat = sqrt(1.0 - z * z);
			double w = unit * 0.5 * weight[i] * (ph->dims > 2 ? r * r * weight[j] : r);

			for (int m = 0; m < around; m++) {
				double t = 2.0 * PI * m / around;
				double u[3] = { r * flat * cos(t), r * flat * sin(t), r * z };
				double x[3];

				place(ph, e, u, x);
				add_point(c, coil, k, ph->dims, x, w, out);
			}
		}
	}
}

static void brute(const struct bs_phantom *ph, const struct bs_coils *c, uint32_t coil,
		  const double *k, double out[2])
{
	out[0] = out[1] = 0.0;
	for (uint32_t i = 0; i < ph->parts; i++)
		quadrature(ph, &ph->part[i], c, coil, k, out);
}

static void test_transform(enum bs_phantom_object object, uint32_t dims, uint32_t slices,
			   uint32_t contrast)
{
	/* an anisotropic matrix: the phantom stretches with it */
	const uint32_t matrix[3] = { 20, 16, 24 };
	static const double at[6][3] = { { 0, 0, 0 },           { 1e-7, 2e-7, -1e-7 },
					 { .013, -.004, .009 }, { .11, .2, -.07 },
					 { -.5, .31, .25 },     { .43, -.5, -.5 } };
	struct bs_phantom ph;
	double worst = 0.0;
	double top = 0.0;

	if (bs_phantom_of(&ph, object, dims, matrix, slices / 2, slices, contrast, NULL)) {
		CHECK(0, "phantom in %u dimensions", dims);
		return;
	}
	for (int i = 0; i < (dims > 2 ? 4 : 6); i++) {
		double fast[2];
		double slow[2];

		bs_phantom_transform(&ph, at[i], fast);
		brute(&ph, NULL, 0, at[i], slow);
		worst = fmax(worst, hypot(fast[0] - slow[0], fast[1] - slow[1]));
		top = fmax(top, hypot(slow[0], slow[1]));
	}
	/* both are sums of ten terms in double precision, the quadrature of 1e5 points */
	CHECK(worst < 1e-11 * top,
	      "%s in %uD, %u slices, contrast %u: closed form within %.1e of quadrature",
	      object == BS_PHANTOM_HEAD ? "head" : "marker", dims, slices, contrast, worst / top);
}

/* The series of the ball's transform meets the closed form where they change over. */
static void test_series(void)
{
	struct bs_phantom ph = { .dims = 3, .matrix = { 2, 2, 2 }, .parts = 1 };
	double edge = 0.1 / (2.0 * PI);
	double lo[3] = { edge * (1.0 - 1e-12), 0, 0 };
	double hi[3] = { edge * (1.0 + 1e-12), 0, 0 };
	double a[2];
	double b[2];

	ph.part[0] = (struct bs_ellipsoid){ .intensity = 1.0, .axis = { 1, 1, 1 }, .cosine = 1.0 };
	bs_phantom_transform(&ph, lo, a);
	bs_phantom_transform(&ph, hi, b);
	/* sin x - x cos x loses x^3/3 of x to cancellation: 2e-16 / 3e-3 at x = 0.1 */
	CHECK(fabs(a[0] - b[0]) < 1e-12, "series and closed form meet to %.1e", fabs(a[0] - b[0]));
}

/*
 * The points are smooth: a sum over the voxels' centers is their transform, but for what lies
 * beyond half a cycle per voxel, exp(-pi 2.5^2) = 3e-9, of the largest.
 */
static void test_points(uint32_t dims)
{
	const uint32_t matrix[3] = { 48, 40, dims > 2 ? 32 : 1 };
	static const double at[3][3] = { { 0, 0, 0 }, { .07, -.11, .05 }, { -.2, .13, -.09 } };
	const size_t plane = (size_t)matrix[0] * matrix[1];
	float *image = malloc(plane * matrix[2] * sizeof(*image));
	struct bs_phantom ph;
	double worst = 0.0;
	double top[2] = { 0 };

	if (image == NULL ||
	    bs_phantom_of(&ph, BS_PHANTOM_POINTS, dims, matrix, 0, 1, 0, NULL) != 0) {
		CHECK(0, "points in %u dimensions", dims);
		free(image);
		return;
	}
	bs_phantom_image(&ph, 1, image, NULL);
	for (int i = 0; i < 3; i++) {
		double sum[2] = { 0 };
		double is[2];

		for (size_t v = 0; v < plane * matrix[2]; v++) {
			const double x = (double)(v % matrix[0]) - 24;
			const double y = (double)(v / matrix[0] % matrix[1]) - 20;
			const double z = dims > 2 ? (double)(v / plane) - 16 : 0.0;
			const double turn = 2.0 * PI * (at[i][0] * x + at[i][1] * y + at[i][2] * z);

			sum[0] += (double)image[v] * cos(turn);
			sum[1] -= (double)image[v] * sin(turn);
		}
		bs_phantom_transform(&ph, at[i], is);
		if (i == 0)
			memcpy(top, is, sizeof(top));
		worst = fmax(worst, hypot(sum[0] - is[0], sum[1] - is[1]));
	}
	/* single precision of the image's values */
	CHECK(worst < 1e-6 * hypot(top[0], top[1]), "points in %uD: within %.1e of their sum", dims,
	      worst / hypot(top[0], top[1]));
	free(image);
}

static void test_image(uint32_t dims)
{
	const uint32_t n = 64;
	const uint32_t matrix[3] = { n, n, dims > 2 ? n : 1 };
	size_t voxels = (size_t)n * n * matrix[2];
	float *image = malloc(voxels * sizeof(*image));
	float *hard = malloc(voxels * sizeof(*hard));
	const double at[3][3] = { { 0 }, { 1.0 / n, -1.0 / n, 0.5 / n }, { 2.0 / n, 1.5 / n, 0 } };
	struct bs_team *team = NULL;
	struct bs_phantom ph;
	double worst = 0.0;
	double peak = 0.0;
	int outside = 0;

	if (!image || !hard || bs_phantom_make(&ph, dims, matrix, 0, 1, 0, NULL) ||
	    bs_team_open(&team, 2, NULL)) {
		CHECK(0, "image of %u^%u", n, dims);
		goto out;
	}
	bs_phantom_image(&ph, dims > 2 ? 4 : 8, image, team);
	bs_phantom_image(&ph, 1, hard, NULL);
	for (int i = 0; i < 3; i++) {
		double want[2];
		double sum[2] = { 0 };

		bs_phantom_transform(&ph, at[i], want);
		for (size_t v = 0; v < voxels; v++) {
			double x[3] = { (double)(v % n) - n / 2, (double)(v / n % n) - n / 2,
					dims > 2 ? (double)(v / n / n) - n / 2 : 0.0 };

			add_point(NULL, 0, at[i], dims, x, image[v], sum);
		}
		for (uint32_t d = 0; d < dims; d++) { /* the mean over a voxel is a box filter */
			double a = PI * at[i][d];

			want[0] *= a != 0.0 ? sin(a) / a : 1.0;
			want[1] *= a != 0.0 ? sin(a) / a : 1.0;
		}
		worst = fmax(worst, hypot(sum[0] - want[0], sum[1] - want[1]));
		peak = fmax(peak, hypot(want[0], want[1]));
	}
	/*
	 * Some pi N voxels (pi N^2 in 3D) are cut by the skull's edges of height 1 (2 in 3D); each
	 * cover is off by less than half a step, 1/(2 sub). Independent errors of that size give 3
	 * standard deviations of:
	 */
	double cut = dims > 2 ? 2.0 * PI * n * n : 2.0 * PI * n;
	double bound = 3.0 * sqrt(cut) * (dims > 2 ? 2.0 / 8 : 1.0 / 16);

	CHECK(worst < bound, "%uD image: its sums are the transform to %.2e of %.0f (bound %.2e)",
	      dims, worst, peak, bound);
	for (size_t v = 0; v < voxels; v++)
		outside += fabsf(image[v] - hard[v]) > 2.0f || !(image[v] >= -1e-6f);
	CHECK(!outside, "%uD image: no voxel negative, none far from its center's value", dims);
	/* the brain below the center: 1 - 0.8, or 2 - 0.8 */
	size_t mid = (size_t)(dims > 2 ? n / 2 : 0) * n * n + (size_t)(n / 2 + 10) * n + n / 2;

	CHECK(fabsf(image[mid] - (dims > 2 ? 1.2f : 0.2f)) < 1e-6f, "%uD image: brain is %g", dims,
	      (double)image[mid]);
out:
	bs_team_close(team);
	free(image);
	free(hard);
}

#define SIDE 20u

/* The relative difference of the marker's image and itself with axes in another order, some of
 * them backwards (bits of flips). */
static double changed(const float *image, const uint32_t order[3], uint32_t flips)
{
	double difference = 0.0;
	double norm = 0.0;

	for (uint32_t v = 0; v < SIDE * SIDE * SIDE; v++) {
		uint32_t at[3] = { v % SIDE, v / SIDE % SIDE, v / SIDE / SIDE };
		uint32_t to[3];
		double d;

		for (uint32_t a = 0; a < 3; a++)
			to[a] = flips >> a & 1 ? SIDE - 1 - at[order[a]] : at[order[a]];
		d = (double)image[v] - image[to[0] + SIDE * (to[1] + SIDE * to[2])];
		difference += d * d;
		norm += (double)image[v] * image[v];
	}
	return sqrt(difference / norm);
}

static void test_marker(void)
{
	static const uint32_t orders[6][3] = { { 0, 1, 2 }, { 1, 0, 2 }, { 2, 1, 0 },
					       { 0, 2, 1 }, { 1, 2, 0 }, { 2, 0, 1 } };
	const uint32_t matrix[3] = { SIDE, SIDE, SIDE };
	float *image = malloc(sizeof(float) * SIDE * SIDE * SIDE);
	struct bs_phantom ph;
	double least = 1e9;

	if (image == NULL || bs_phantom_of(&ph, BS_PHANTOM_MARKER, 3, matrix, 0, 1, 0, NULL)) {
		CHECK(0, "a marker");
		return;
	}
	bs_phantom_image(&ph, 2, image, NULL);
	for (uint32_t o = 0; o < 6; o++)
		for (uint32_t flips = o == 0; flips < 8; flips++)
			least = fmin(least, changed(image, orders[o], flips));
	/* a ball of 1/20 of the volume moves: far above what noise or ringing change */
	CHECK(least > 0.2, "each of 47 flips, swaps and turns changes the marker by %.2f and more",
	      least);
	free(image);
}

#define NOISY 5u

/* The sample covariance of what is drawn, and the white one of spread 1. */
static void test_noise(void)
{
	enum { SAMPLES = 4000 };
	static float data[2 * NOISY * SAMPLES];
	static double work[2 * SAMPLES];
	float psi[2 * NOISY * NOISY];
	double trace = 0.0;
	uint32_t wrong = 0;
	struct bs_coil_noise n;
	struct bs_random random;
	struct bs_fail why;

	bs_random_seed(&random, 3);
	if (bs_coil_noise_make(&n, NOISY, 4.0, 0.6, 7, &why)) {
		CHECK(0, "%s", why.text);
		return;
	}
	bs_coil_noise_add(&n, &random, sqrt(2.0), SAMPLES, data, work);
	bs_coil_noise_covariance(&n, 2.0, psi);
	for (uint32_t i = 0; i < NOISY; i++) {
		trace += (double)psi[2 * (i + NOISY * i)];
		for (uint32_t j = 0; j < NOISY; j++) {
			const float *want = psi + 2 * (i + NOISY * j);
			double scale =
				sqrt((double)psi[2 * (i + NOISY * i)] * psi[2 * (j + NOISY * j)]);
			double sum[2] = { 0 };

			for (uint32_t s = 0; s < SAMPLES; s++) {
				const float *a = data + 2 * ((size_t)i * SAMPLES + s);
				const float *b = data + 2 * ((size_t)j * SAMPLES + s);

				sum[0] += ((double)a[0] * b[0] + (double)a[1] * b[1]) / SAMPLES;
				sum[1] += ((double)a[1] * b[0] - (double)a[0] * b[1]) / SAMPLES;
			}
			/* an entry's deviation is scale/sqrt(samples); 5 of them */
			wrong += hypot(sum[0] - want[0], sum[1] - want[1]) >
				 5.0 * scale / sqrt(SAMPLES);
			wrong += i == j + 1 && fabs(hypot(want[0], want[1]) / scale - 0.6) > 1e-6;
			wrong += want[0] != psi[2 * (j + NOISY * i)] ||
				 want[1] != -psi[2 * (j + NOISY * i) + 1];
		}
	}
	CHECK(wrong == 0 && fabs(trace / (2.0 * NOISY) - 1.0) < 1e-6,
	      "correlated noise has its covariance: %u entries wrong, mean power %.3f", wrong,
	      trace / NOISY);
	bs_coil_noise_make(&n, NOISY, 1.0, 0.0, 7, NULL);
	bs_coil_noise_covariance(&n, 2.0, psi);
	for (uint32_t i = 0; i < NOISY * NOISY; i++)
		wrong += psi[2 * i] != (i % (NOISY + 1) == 0 ? 2.0f : 0.0f) ||
			 psi[2 * i + 1] != 0.0f;
	CHECK(wrong == 0, "spread 1 without correlation is white");
}

/* Samples in a field, against sums whose every phase is computed by itself. */
static void test_field(uint32_t dims)
{
	enum { SAMPLES = 300 };
	const uint32_t matrix[3] = { 9, 8, dims > 2 ? 5 : 1 };
	static float k[SAMPLES * 3];
	static float data[2 * 2 * SAMPLES];
	static double work[4000];
	float image[9 * 8 * 5];
	float hz[9 * 8 * 5];
	uint32_t voxels = 72 * matrix[2];
	struct bs_field_object *o = NULL;
	struct bs_coils c;
	double worst = 0.0;
	double top = 0.0;
	double most = 0.0;

	bs_field_map(dims, matrix, 0.3, 150.0, hz);
	for (uint32_t v = 0; v < voxels; v++) {
		image[v] = v % 7 == 0 ? 0.0f : (float)sin(v);
		most = fmax(most, fabs((double)hz[v]));
	}
	for (uint32_t i = 0; i < SAMPLES * dims; i++)
		k[i] = (float)(0.5 * sin(0.37 * i * i));
	if (bs_coils_make(&c, 2, dims, matrix, NULL) || bs_field_open(&o, &c, image, hz, NULL) ||
	    bs_field_work(o) > sizeof(work) / sizeof(work[0])) {
		CHECK(0, "an image in a field");
		bs_field_close(o);
		return;
	}
	bs_field_sample(o, k, 2e-3, 1e-4, SAMPLES, data, work);
	for (uint32_t s = 0; s < SAMPLES; s += 23)
		for (uint32_t coil = 0; coil < 2; coil++) {
			double sum[2] = { 0 };

			for (uint32_t v = 0; v < voxels; v++) {
				double x[3] = { (double)(v % 9) - 4, (double)(v / 9 % 8) - 4,
						dims > 2 ? (double)(v / 72) - 2 : 0.0 };
				double turn = (double)hz[v] * (2e-3 + 1e-4 * s);
				double seen[2];

				for (uint32_t d = 0; d < dims; d++)
					turn += (double)k[s * dims + d] * x[d];
				turn *= -2.0 * PI;
				bs_coils_at(&c, coil, x, seen);
				sum[0] += image[v] * (seen[0] * cos(turn) - seen[1] * sin(turn));
				sum[1] += image[v] * (seen[0] * sin(turn) + seen[1] * cos(turn));
			}
			worst = fmax(worst, hypot(data[2 * (coil * SAMPLES + s)] - sum[0],
						  data[2 * (coil * SAMPLES + s) + 1] - sum[1]));
			top = fmax(top, hypot(sum[0], sum[1]));
		}
	/* one rounding to single precision */
	CHECK(worst < 6e-8 * top, "%uD: samples in a field are the sums to %.1e", dims,
	      worst / top);
	CHECK(most > 100.0 && most <= 150.0,
	      "%uD: a field of %.0f Hz where up to 150 are asked for", dims, most);
	bs_field_close(o);
}

static void test_coils(uint32_t dims)
{
	const uint32_t matrix[3] = { 16, 16, dims > 2 ? 16 : 1 };
	const uint32_t coils = 5;
	static const float k[3][3] = { { 0.03125f, -0.25f, 0.125f },
				       { 0, 0, 0 },
				       { -0.5f, 0.25f, 0 } };
	float flat[9];
	float data[2 * 5 * 3];
	float maps[2 * 5 * 4096];
	struct bs_phantom ph;
	struct bs_coils c;
	double worst = 0.0;
	double top = 0.0;
	double rss[2] = { 1e9, 0.0 };
	double most = 0.0;
	size_t voxels = (size_t)16 * 16 * matrix[2];

	if (bs_phantom_make(&ph, dims, matrix, 0, 1, 0, NULL) ||
	    bs_coils_make(&c, coils, dims, matrix, NULL)) {
		CHECK(0, "%u coils", coils);
		return;
	}
	for (int i = 0; i < 3; i++)
		memcpy(flat + (size_t)i * dims, k[i], dims * sizeof(float));
	bs_coils_sample(&c, &ph, flat, 3, data);
	for (uint32_t i = 0; i < coils; i += 2)
		for (int s = 0; s < 3; s += 2) {
			double at[3] = { k[s][0], k[s][1], k[s][2] };
			double slow[2];

			brute(&ph, &c, i, at, slow);
			worst = fmax(worst, hypot(data[2 * (i * 3 + s)] - slow[0],
						  data[2 * (i * 3 + s) + 1] - slow[1]));
			top = fmax(top, hypot(slow[0], slow[1]));
		}
	/* one rounding to single precision */
	CHECK(worst < 1.2e-7 * top,
	      "%uD coils: shifted sums within %.1e of the product's quadrature", dims, worst / top);
	bs_coils_maps(&c, maps);
	for (size_t v = 0; v < voxels; v++) {
		double sum = 0.0;

		for (uint32_t i = 0; i < coils; i++) {
			const float *s = maps + 2 * (i * voxels + v);
			double square = (double)s[0] * s[0] + (double)s[1] * s[1];

			most = fmax(most, sqrt(square));
			sum += square;
		}
		rss[0] = fmin(rss[0], sqrt(sum));
		rss[1] = fmax(rss[1], sqrt(sum));
	}
	CHECK(most < 1.3 && rss[0] > 0.3,
	      "%uD coils: at most %.2f, root sum of squares %.2f to %.2f", dims, most, rss[0],
	      rss[1]);
	bs_coils_make(&c, 1, dims, matrix, NULL);
	bs_coils_maps(&c, maps);
	CHECK(maps[0] == 1.0f && maps[1] == 0.0f && maps[2 * voxels - 2] == 1.0f,
	      "one coil is uniform");
}

static void test_refused(void)
{
	const uint32_t matrix[3] = { 16, 0, 16 };
	const uint32_t good[3] = { 16, 16, 16 };
	struct bs_phantom ph;
	struct bs_coils c;
	struct bs_coil_noise n;
	struct bs_fail why;

	CHECK(bs_phantom_make(&ph, 2, matrix, 0, 1, 0, &why) == BS_ERR_SIZE, "%s", why.text);
	CHECK(bs_phantom_make(&ph, 2, good, 3, 3, 0, &why) == BS_ERR_SIZE, "%s", why.text);
	CHECK(bs_phantom_make(&ph, 3, good, 0, 1, 3, &why) == BS_ERR_UNSUPPORTED, "%s", why.text);
	CHECK(bs_coils_make(&c, 65, 3, good, &why) == BS_ERR_SIZE, "%s", why.text);
	CHECK(bs_coil_noise_make(&n, 65, 1.0, 0.0, 0, &why) == BS_ERR_SIZE, "%s", why.text);
	CHECK(bs_coil_noise_make(&n, 4, 0.5, 0.0, 0, &why) == BS_ERR_USAGE, "%s", why.text);
	CHECK(bs_coil_noise_make(&n, 4, 1.0, NAN, 0, &why) == BS_ERR_USAGE, "%s", why.text);
}

int main(void)
{
	test_transform(BS_PHANTOM_HEAD, 2, 1, 0);
	test_transform(BS_PHANTOM_HEAD, 2, 9, 1);
	test_transform(BS_PHANTOM_HEAD, 3, 1, 2);
	test_transform(BS_PHANTOM_MARKER, 2, 1, 0);
	test_transform(BS_PHANTOM_MARKER, 3, 1, 1);
	test_points(2);
	test_points(3);
	test_marker();
	test_noise();
	test_series();
	test_image(2);
	test_image(3);
	test_field(2);
	test_field(3);
	test_coils(2);
	test_coils(3);
	test_refused();
	return check_done();
}
