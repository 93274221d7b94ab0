/*
 * test/unit/gpu/calibrate/test_compress.c - whitening, coil compression and the mixing of coils
 * by definition
 *
 * Bounds: dense.h's factors have residuals of a small multiple of n eps (test_dense.c); a product
 * of matrices adds n eps of the factors' norms. 1e-12 is 64 eps times 64 coils, with the condition
 * of what is inverted here, below 10, to spare. Float sums of n products: n 2^-24 of
 * their magnitudes.
 */
#include "gpu/calibrate/along.h"
#include "gpu/calibrate/compress.h"
#include "gpu/calibrate/mix.h"

#include <complex.h>
#include <string.h>

#include "test/support/check.h"

#define N     17 /* coils */
#define V     5  /* virtual */
#define LINES 40
#define TIGHT 1e-12

typedef double complex z;

static uint64_t seed = 7;

static double normal(void)
{
	double r = sqrt(-2.0 * log(1.0 - check_uniform(&seed)));

	return r * cos(2.0 * acos(-1.0) * check_uniform(&seed));
}

static float data[N * LINES * 2];

/* Signals of `rank` sources in all coils, and noise of this deviation. */
static void make_data(uint32_t rank, double noise)
{
	z mix[N * N];
	z source[N];

	for (uint32_t i = 0; i < N * N; i++)
		mix[i] = normal() + I * normal();
	for (uint32_t s = 0; s < LINES; s++) {
		for (uint32_t k = 0; k < rank; k++)
			source[k] = (normal() + I * normal()) / (1 + k);
		for (uint32_t c = 0; c < N; c++) {
			z v = noise * (normal() + I * normal());

			for (uint32_t k = 0; k < rank; k++)
				v += mix[c + N * k] * source[k];
			data[2 * (c * LINES + s)] = (float)creal(v);
			data[2 * (c * LINES + s) + 1] = (float)cimag(v);
		}
	}
}

static void gram_of(double *gram)
{
	memset(gram, 0, sizeof(*gram) * N * N);
	bs_gram_add(gram, N, LINES, data, LINES);
}

static void make_noise(struct bs_noise *n)
{
	struct bs_scan_info info = { 0 };
	double gram[N * N];

	make_data(N, 1.0);
	gram_of(gram);
	bs_noise_start(n, &info);
	bs_noise_add(n, gram, N, LINES, 1.0f);
}

/* The largest element of A B A^H - I for A[rows][N] and Hermitian B (NULL: the identity). */
static double off_white(const z *a, uint32_t rows, const z *b)
{
	double worst = 0.0;

	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < rows; j++) {
			z sum = i == j ? -1.0 : 0.0;

			for (uint32_t p = 0; p < N; p++)
				for (uint32_t q = 0; q < N; q++)
					if (b != NULL || p == q)
						sum += a[i + rows * p] *
						       (b != NULL ? b[p + N * q] : 1.0) *
						       conj(a[j + rows * q]);
			worst = fmax(worst, cabs(sum));
		}
	return worst;
}

static void test_whiten(void)
{
	static struct bs_noise n;
	z w[N * N];
	z psi[N * N];
	z moved[N * N];
	struct bs_fail why = { 0 };
	double above = 0.0;
	bool same = true;

	make_noise(&n);
	bs_noise_covariance(&n, 0.25, (double *)psi);
	CHECK(bs_whiten((double *)w, &n, 0.25, &why) == 0, "whitened %s", why.text);
	CHECK(off_white(w, N, psi) < TIGHT, "W Psi W^H is the identity: %.1e",
	      off_white(w, N, psi));
	for (uint32_t j = 0; j < N; j++)
		for (uint32_t i = 0; i < j; i++)
			above += cabs(w[i + N * j]);
	CHECK(above == 0.0, "W is lower triangular");
	n.match.by = BS_MATCHED_NAME;
	for (uint32_t i = 0; i < N; i++)
		n.match.of[i] = (uint8_t)((3 * i + 1) % N);
	CHECK(bs_whiten((double *)moved, &n, 0.25, &why) == 0, "whitened %s", why.text);
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t j = 0; j < N; j++)
			same = same && moved[i + N * n.match.of[j]] == w[i + N * j];
	CHECK(same, "channels in another order: columns go with them, rows do not");
	n.match.by = BS_MATCHED_OWN;
	n.samples = N - 1;
	CHECK(bs_whiten((double *)w, &n, 1.0, &why) == BS_ERR_VALUE, "too few samples: %s",
	      why.text);
	n.samples = LINES;
	for (uint32_t i = 0; i < N; i++)
		n.sum[3 * N + i] = n.sum[i * N + 3] = 0.0;
	CHECK(bs_whiten((double *)w, &n, 1.0, &why) == BS_ERR_VALUE, "a dead channel: %s",
	      why.text);
}

/* ||d - A^H A d||^2 / ||d||^2 of the data: what compression without whitening loses. */
static double lost(const z *a, uint32_t rows)
{
	double off = 0.0;
	double all = 0.0;

	for (uint32_t s = 0; s < LINES; s++) {
		z d[N];
		z u[N] = { 0 };

		for (uint32_t c = 0; c < N; c++)
			d[c] = data[2 * (c * LINES + s)] + I * data[2 * (c * LINES + s) + 1];
		for (uint32_t v = 0; v < rows; v++)
			for (uint32_t c = 0; c < N; c++)
				u[v] += a[v + rows * c] * d[c];
		for (uint32_t c = 0; c < N; c++) {
			z e = d[c];

			for (uint32_t v = 0; v < rows; v++)
				e -= conj(a[v + rows * c]) * u[v];
			off += creal(e * conj(e));
			all += creal(d[c] * conj(d[c]));
		}
	}
	return off / all;
}

static void test_compress(void)
{
	static struct bs_noise n;
	static unsigned char work[1 << 17];
	struct bs_fail why = { 0 };
	double gram[N * N];
	double kept;
	z a[N * N];
	z w[N * N];
	z psi[N * N];

	CHECK(bs_compress_bytes(N) <= sizeof(work), "%zu bytes of work", bs_compress_bytes(N));
	make_noise(&n);
	make_data(V, 0.0);
	gram_of(gram);
	CHECK(bs_compress((double *)a, &(struct bs_compressing){ V, N, 1, gram, NULL, work }, &kept,
			  &why) == 0,
	      "%s", why.text);
	CHECK(off_white(a, V, NULL) < TIGHT, "rows are orthonormal: %.1e", off_white(a, V, NULL));
	/* the data are floats: what is beyond the rank is their rounding */
	CHECK(lost(a, V) < 1e-13 && fabs(kept - 1.0) < 1e-13,
	      "%d sources in %d virtual coils: %.1e", V, V, lost(a, V));
	make_data(V + 4, 0.1);
	gram_of(gram);
	(void)bs_compress((double *)a, &(struct bs_compressing){ V, N, 1, gram, NULL, work }, &kept,
			  &why);
	CHECK(fabs(lost(a, V) - (1.0 - kept)) < TIGHT && kept < 0.999,
	      "what is said to be lost is lost: %.4f of %.4f", lost(a, V), 1.0 - kept);
	(void)bs_whiten((double *)w, &n, 1.0, &why);
	bs_noise_covariance(&n, 1.0, (double *)psi);
	CHECK(bs_compress((double *)a, &(struct bs_compressing){ V, N, 1, gram, (double *)w, work },
			  &kept, &why) == 0,
	      "%s", why.text);
	CHECK(off_white(a, V, psi) < TIGHT, "after whitening, noise stays white: %.1e",
	      off_white(a, V, psi));
	memset(gram, 0, sizeof(gram));
	CHECK(bs_compress((double *)a, &(struct bs_compressing){ V, N, 1, gram, NULL, work }, &kept,
			  &why) == BS_ERR_VALUE,
	      "no signal: %s", why.text);
}

static double apart(const z *a, const z *b)
{
	double sum = 0.0;

	for (uint32_t i = 0; i < V * N; i++)
		sum += creal((a[i] - b[i]) * conj(a[i] - b[i]));
	return sqrt(sum);
}

/* Coils whose mixture changes slowly along x: neighbors' matrices do, too. */
static void test_aligned(void)
{
	enum { PLACES = 9 };
	static unsigned char work[1 << 17];
	static double gram[PLACES][N * N];
	static z a[PLACES][V * N], alone[V * N], before[V * N];
	z from[N * V], to[N * V];
	struct bs_fail why = { 0 };
	double kept;
	double step = 0.0;
	double skew = 0.0;
	double off = 0.0;
	double jump = 0.0;

	for (uint32_t i = 0; i < N * V; i++) {
		from[i] = normal() + I * normal();
		to[i] = normal() + I * normal();
	}
	for (uint32_t x = 0; x < PLACES; x++) {
		for (uint32_t s = 0; s < LINES; s++)
			for (uint32_t c = 0; c < N; c++) {
				z v = 0.0;
				uint64_t at = 1 + s;

				for (uint32_t k = 0; k < V; k++) {
					const double size[V] = { 1 + 2.0 * x, 17 - 2.0 * x, 3, 2,
								 1 };
					z source = check_uniform(&at) - 0.5 +
						   I * (check_uniform(&at) - 0.5);

					source *= size[k];

					v += source * (from[c + N * k] + 0.02 * x * to[c + N * k]);
				}
				data[2 * (c * LINES + s)] = (float)creal(v);
				data[2 * (c * LINES + s) + 1] = (float)cimag(v);
			}
		gram_of(gram[x]);
	}
	CHECK(bs_compress_aligned((double *)a,
				  &(struct bs_compressing){ V, N, PLACES, gram[0], NULL, work },
				  &kept, &why) == 0,
	      "aligned %s", why.text);
	for (uint32_t x = 0; x < PLACES; x++) {
		off = fmax(off, off_white(a[x], V, NULL));
		(void)bs_compress((double *)alone,
				  &(struct bs_compressing){ V, N, 1, gram[x], NULL, work }, &kept,
				  &why);
		if (x > 0)
			jump = fmax(jump, apart(alone, before));
		memcpy(before, alone, sizeof(before));
		if (x == 0)
			continue;
		step = fmax(step, apart(a[x], a[x - 1]));
		for (uint32_t i = 0; i < V; i++)
			for (uint32_t j = 0; j < V; j++) {
				z sum = 0.0;

				for (uint32_t c = 0; c < N; c++)
					sum += a[x][i + V * c] * conj(a[x - 1][j + V * c]) -
					       conj(a[x][j + V * c]) * a[x - 1][i + V * c];
				skew = fmax(skew, cabs(sum));
			}
	}
	CHECK(off < TIGHT && kept > 1.0 - 1e-12, "rows orthonormal: %.1e, nothing lost", off);
	/* the nearest unitary turn makes A_x A_{x-1}^H Hermitian (polar decomposition) */
	CHECK(skew < TIGHT, "no turn is nearer to the neighbor: %.1e", skew);
	/*
	 * Each mixture moves by 2 % a step, V of them; where the strongest source becomes another
	 * one, the eigenvectors by themselves change places: by the root of 4 at most.
	 */
	CHECK(step < 0.04 * sqrt(V) && jump > 1.0, "steps of %.3f; not aligned up to %.3f", step,
	      jump);
}

static void test_mix(void)
{
	enum { OUT = 70 };
	static float in[64 * 131 * 2], out[64 * OUT * 2], again[64 * OUT * 2], matrix[64 * 64 * 2];
	static const struct {
		uint32_t v, n, samples;
	} sizes[] = { { 1, 1, 1 }, { 8, 20, 64 }, { 5, 17, 67 }, { 64, 64, 3 }, { 32, 33, 65 } };

	for (uint32_t t = 0; t < sizeof(sizes) / sizeof(sizes[0]); t++) {
		const uint32_t v = sizes[t].v;
		const uint32_t n = sizes[t].n;
		const uint32_t samples = sizes[t].samples;
		double worst = 0.0;

		for (uint32_t i = 0; i < n * 131 * 2; i++)
			in[i] = (float)normal();
		for (uint32_t i = 0; i < v * n * 2; i++)
			matrix[i] = (float)normal();
		memset(out, 0, sizeof(out));
		bs_mix(out, OUT, &(struct bs_mix){ matrix, v, n }, samples, in, 131);
		for (uint32_t i = 0; i < v; i++)
			for (uint32_t s = 0; s < OUT; s++) {
				z want = 0.0;
				double size = 1e-30;

				for (uint32_t c = 0; s < samples && c < n; c++) {
					const float *m = matrix + 2 * (i * n + c);
					const float *d = in + 2 * (c * 131 + s);
					const z part = (m[0] + I * m[1]) * (d[0] + I * d[1]);

					want += part;
					size += cabs(part);
				}
				const float *got = out + 2 * (i * OUT + s);

				worst = fmax(worst, cabs(got[0] + I * got[1] - want) / size);
			}
		CHECK(worst < 2.0 * (n + 1) * 0x1p-24, "%u of %u coils, %u samples: %.1e", v, n,
		      samples, worst);
		bs_mix(again, OUT, &(struct bs_mix){ matrix, v, n }, samples, in, 131);
		CHECK(memcmp(out, again, sizeof(float) * 2 * samples) == 0, "the same bytes again");
	}
}

/* By definition: to places and back by direct sums in double, a matrix at each. */
static void test_along(uint32_t n)
{
	enum { C = 3, R = 2, MOST = 10, STRIDE = 12 };
	float in[C * STRIDE * 2];
	float out[R * STRIDE * 2];
	double a[MOST * R * C * 2];
	float matrix[MOST * R * C * 2];
	double gram[MOST * C * C] = { 0 };
	struct bs_need need = { 0 };
	struct bs_arena arena;
	struct bs_along *along = NULL;
	struct bs_fail why = { 0 };
	z hybrid[C][MOST];
	double worst = 0.0;
	double square = 0.0;

	CHECK(bs_along_need(n, C, &need, &why) == 0 &&
		      bs_arena_open(&arena, need.total_bytes, &why) == 0 &&
		      bs_along_plan(&along, n, C, &arena, &why) == 0,
	      "planned for %u samples %s", n, why.text);
	for (uint32_t i = 0; i < C * STRIDE * 2; i++)
		in[i] = (float)normal();
	for (uint32_t i = 0; i < n * R * C * 2; i++)
		a[i] = normal();
	bs_along_matrix(matrix, a, R, C, n);
	bs_along_mix(along, out, STRIDE, matrix, R, in, STRIDE);
	bs_along_gram(along, gram, in, STRIDE);
	for (uint32_t c = 0; c < C; c++)
		for (uint32_t x = 0; x < n; x++) { /* place x lies at x - n / 2 */
			hybrid[c][x] = 0.0;
			for (uint32_t s = 0; s < n; s++)
				hybrid[c][x] +=
					(in[2 * (c * STRIDE + s)] +
					 I * in[2 * (c * STRIDE + s) + 1]) *
					cexp(I * 2.0 * acos(-1.0) * s * ((double)x - n / 2) / n);
		}
	for (uint32_t v = 0; v < R; v++)
		for (uint32_t s = 0; s < n; s++) {
			z sum = 0.0;

			for (uint32_t x = 0; x < n; x++)
				for (uint32_t c = 0; c < C; c++) {
					const double *m = a + 2 * (v + R * (c + (size_t)C * x));

					sum += (m[0] + I * m[1]) * hybrid[c][x] / n *
					       cexp(-I * 2.0 * acos(-1.0) * s *
						    ((double)x - n / 2) / n);
				}
			sum -= out[2 * (v * STRIDE + s)] + I * out[2 * (v * STRIDE + s) + 1];
			worst = fmax(worst, cabs(sum));
		}
	for (uint32_t x = 0; x < n; x++)
		for (uint32_t i = 0; i < C; i++)
			for (uint32_t j = 0; j <= i; j++) {
				const double *g = gram + (size_t)C * C * x;
				const z want = hybrid[i][x] * conj(hybrid[j][x]);
				const z got = g[i * C + j] + I * (j < i ? g[j * C + i] : 0.0);

				square = fmax(square, cabs(got - want));
			}
	/* values are a few, sums of n C of them; twice the transforms' log2 n roundings */
	CHECK(worst < 64.0 * n * 0x1p-24, "%u places, each its matrix: %.1e", n, worst);
	CHECK(square < 64.0 * n * 0x1p-24, "and its Gram matrix: %.1e", square);
	bs_along_close(along);
	bs_arena_close(&arena);
}

int main(void)
{
	CHECK(bs_dense_open(NULL) == 0, "LAPACK is loaded");
	test_whiten();
	test_compress();
	test_aligned();
	test_mix();
	test_along(10);
	test_along(9);
	test_along(1);
	return check_done();
}
