/*
 * test/twin/twin_multi_sense.c - least squares with sensitivities in one to eight parts, in double
 *
 * Parts lie as in twin_multi.c. Eight iterations on a matrix of condition below 100: 100 times 1e-6.
 */
#include "test/support/check.h"

#if BS_GPU
#include "gpu/multi/multi.h"
#include "test/twin/device.h"
#include "test/twin/layouts.h"

#define SX      14
#define SY      11
#define SV      (SX * SY)
#define COILS   8
#define SAMPLES 260
#define STEPS   8

struct dense {
	double f[SAMPLES][SV][2]; /* exp(-i2pi k.n) */
	double s[COILS][SV][2];
	double lambda;
	const struct bs_csr *gram; /* NULL: identity */
};

static void multiply(double out[2], const double a[2], const double b[2], int conjugate)
{
	const double bi = conjugate ? -b[1] : b[1];
	const double re = a[0] * b[0] - a[1] * bi;

	out[1] = a[0] * bi + a[1] * b[0];
	out[0] = re;
}

/* out = sum_c S_c^H F^H F S_c in + lambda R in */
static void dense_apply(const struct dense *a, double (*out)[2], double (*in)[2])
{
	static double d[SAMPLES][2];

	for (int v = 0; v < SV; v++) {
		out[v][0] = a->gram == NULL ? a->lambda * in[v][0] : 0.0;
		out[v][1] = a->gram == NULL ? a->lambda * in[v][1] : 0.0;
		for (uint64_t e = a->gram != NULL ? a->gram->start[v] : 0;
		     a->gram != NULL && e < a->gram->start[v + 1]; e++)
			for (int i = 0; i < 2; i++)
				out[v][i] += a->lambda * a->gram->value[e] * in[a->gram->col[e]][i];
	}
	for (int c = 0; c < COILS; c++) {
		for (int m = 0; m < SAMPLES; m++) {
			d[m][0] = d[m][1] = 0.0;
			for (int v = 0; v < SV; v++) {
				double t[2];

				multiply(t, in[v], a->s[c][v], 0);
				multiply(t, t, a->f[m][v], 0);
				d[m][0] += t[0];
				d[m][1] += t[1];
			}
		}
		for (int v = 0; v < SV; v++) {
			double sum[2] = { 0.0, 0.0 };

			for (int m = 0; m < SAMPLES; m++) {
				double t[2];

				multiply(t, d[m], a->f[m][v], 1);
				sum[0] += t[0];
				sum[1] += t[1];
			}
			multiply(sum, sum, a->s[c][v], 1);
			out[v][0] += sum[0];
			out[v][1] += sum[1];
		}
	}
}

static double dense_dot(double (*a)[2], double (*b)[2])
{
	double sum = 0.0;

	for (int v = 0; v < SV; v++)
		sum += a[v][0] * b[v][0] + a[v][1] * b[v][1];
	return sum;
}

/* The same iterations in double. */
static void dense_solve(const struct dense *a, const float *d, float *out)
{
	static double x[SV][2];
	static double r[SV][2];
	static double p[SV][2];
	static double q[SV][2];
	double rr;

	memset(x, 0, sizeof(x));
	memset(r, 0, sizeof(r));
	for (int c = 0; c < COILS; c++)
		for (int v = 0; v < SV; v++)
			for (int m = 0; m < SAMPLES; m++) {
				const double y[2] = { d[2 * (c * SAMPLES + m)],
						      d[2 * (c * SAMPLES + m) + 1] };
				double t[2];

				multiply(t, y, a->f[m][v], 1);
				multiply(t, t, a->s[c][v], 1);
				r[v][0] += t[0];
				r[v][1] += t[1];
			}
	memcpy(p, r, sizeof(p));
	rr = dense_dot(r, r);
	for (int i = 0; i < STEPS; i++) {
		double alpha;
		double next;

		dense_apply(a, q, p);
		alpha = rr / dense_dot(p, q);
		for (int v = 0; v < 2 * SV; v++) {
			x[v / 2][v % 2] += alpha * p[v / 2][v % 2];
			r[v / 2][v % 2] -= alpha * q[v / 2][v % 2];
		}
		next = dense_dot(r, r);
		for (int v = 0; v < 2 * SV; v++)
			p[v / 2][v % 2] = r[v / 2][v % 2] + next / rr * p[v / 2][v % 2];
		rr = next;
	}
	for (int v = 0; v < 2 * SV; v++)
		out[v] = (float)x[v / 2][v % 2];
}

/* Differences along x: W^H W has 2 (1 at the ends) and -1 beside. */
static int make_gram(struct bs_csr *gram)
{
	struct bs_fail why = { 0 };
	uint64_t e = 0;
	int rc = bs_csr_open(gram, SV, SV, 3 * SV - 2 * (SV / SX), false, &why);

	for (uint64_t v = 0; v < SV && rc == 0; v++) {
		const int left = v % SX > 0;
		const int right = v % SX < SX - 1;

		gram->start[v] = e;
		if (left) {
			gram->col[e] = (uint32_t)(v - 1);
			gram->value[e++] = -1.0f;
		}
		gram->col[e] = (uint32_t)v;
		gram->value[e++] = (float)(left + right);
		if (right) {
			gram->col[e] = (uint32_t)(v + 1);
			gram->value[e++] = -1.0f;
		}
	}
	if (rc == 0)
		gram->start[SV] = e;
	return rc == 0 ? bs_csr_seal(gram, &why) : rc;
}

/* W itself: x + 1 less x. */
static int make_w(struct bs_csr *w)
{
	const uint64_t rows = SV - SV / SX;
	struct bs_fail why = { 0 };
	int rc = bs_csr_open(w, rows, SV, 2 * rows, false, &why);

	for (uint64_t r = 0; r < rows && rc == 0; r++) {
		const uint64_t v = r / (SX - 1) * SX + r % (SX - 1);

		w->start[r] = 2 * r;
		w->col[2 * r] = (uint32_t)v;
		w->col[2 * r + 1] = (uint32_t)v + 1;
		w->value[2 * r] = -1.0f;
		w->value[2 * r + 1] = 1.0f;
	}
	if (rc == 0)
		w->start[rows] = 2 * rows;
	return rc == 0 ? bs_csr_seal(w, &why) : rc;
}

static void check_sense(int with_w)
{
	static struct dense a;
	static float k[SAMPLES * 2];
	static float d[COILS * SAMPLES * 2];
	static float maps[COILS * SV * 2];
	static float want[SV * 2];
	static float got[SV * 2];
	struct bs_multi_sense_spec s = { .dims = 2,
					 .matrix = { SX, SY, 1 },
					 .coils = COILS,
					 .iterations = STEPS,
					 .samples = SAMPLES,
					 .lambda = 40.0 };
	struct bs_csr gram = { 0 };
	struct bs_csr w = { 0 };
	uint64_t hash[BS_DEVICES_MAX + 1] = { 0 };
	uint64_t seed = 12;

	fill_k(k, SAMPLES * 2, &seed);
	fill_random(d, COILS * SAMPLES * 2, &seed);
	for (int i = 0; i < COILS * SV * 2; i++) {
		maps[i] = (float)(0.4 + 0.6 * check_uniform(&seed));
		a.s[i / 2 / SV][i / 2 % SV][i % 2] = maps[i];
	}
	for (int m = 0; m < SAMPLES; m++)
		for (int v = 0; v < SV; v++) {
			const double t = 6.283185307179586476925 *
					 (k[2 * m] * (v % SX - SX / 2) +
					  k[2 * m + 1] * (double)(v / SX - SY / 2));

			a.f[m][v][0] = cos(t);
			a.f[m][v][1] = -sin(t);
		}
	a.lambda = s.lambda;
	CHECK(!with_w || (make_gram(&gram) == 0 && make_w(&w) == 0), "W and W^H W");
	a.gram = with_w ? &gram : NULL;
	dense_solve(&a, d, want);
	for (int l = 0; l < layout_count; l++) {
		struct bs_multi_sense *m = NULL;
		struct bs_fail why = { 0 };
		char words[256];
		struct bs_link *link = open_link(&layouts[l], words, sizeof(words));
		uint64_t *known = &hash[layouts[l].parts];
		double ms;
		double residual = 0.0;
		int rc;

		if (link == NULL)
			continue;
		rc = bs_multi_sense_open(&m, link, &s, k, maps, with_w ? &w : NULL, &why);
		if (rc == 0)
			rc = bs_multi_sense_load(m, d, &why);
		for (int r = 0; r < 2 && rc == 0; r++) {
			rc = bs_multi_sense_run(m, got, &ms, &residual, &why);
			const uint64_t h = rc == 0 ? hash_of(got, (size_t)2 * SV) : 0;

			*known = *known == 0 ? h : *known;
			CHECK(rc == 0 && *known == h, "sense, the same bytes, run %d %s", r,
			      why.text);
		}
		CHECK(rc == 0 && check_rel(got, want, (size_t)2 * SV) <= 1e-4,
		      "sense, %s, %s: %.2e, residual %.2e %s", with_w ? "W" : "identity", words,
		      rc == 0 ? check_rel(got, want, (size_t)2 * SV) : NAN, residual, why.text);
		bs_multi_sense_close(m);
		bs_link_close(link);
	}
	bs_csr_close(&gram);
	bs_csr_close(&w);
}

/* Each part has a coil. */
static void check_refusal(void)
{
	static const int zeros[2];
	const struct bs_multi_sense_spec one = {
		.dims = 2, .matrix = { 8, 8, 1 }, .coils = 1, .iterations = 1, .samples = 1
	};
	struct bs_multi_sense *m = NULL;
	struct bs_link *link = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_link_open(&link, 2, zeros, BS_LINK_COPY, &why);

	CHECK(rc == 0, "two parts %s", why.text);
	if (rc == 0)
		CHECK(bs_multi_sense_open(&m, link, &one, NULL, NULL, NULL, &why) == BS_ERR_SIZE,
		      "one coil on two refused: %s", why.text);
	bs_link_close(link);
}
#endif

int main(void)
{
#if BS_GPU
	struct bs_gpu_info gpu;
	uint32_t devices;

	if (!device_answers("sense on several GPUs", &gpu))
		return check_done();
	devices = bs_link_devices();
	if (devices < 2)
		SKIP("a GPU for each part: there is %u here", devices);
	const int small = getenv("BORESIDE_SMALL") != NULL; /* under compute-sanitizer */

	list_layouts(small ? 1 : devices);
	check_refusal();
	check_sense(0);
	if (!small)
		check_sense(1);
#else
	SKIP("sense on several GPUs: built with GPU=0");
#endif
	return check_done();
}
