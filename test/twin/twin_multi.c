/*
 * test/twin/twin_multi.c - one scan in one to eight parts, against double precision and one part
 *
 * On one GPU the parts share it, which tests everything but the wires; on several each part has its
 * own, by NCCL and by copies: those must agree bit for bit, nothing is added on the way.
 * exact: as twin_exact, 1e-5; the phase of a slab's center adds about 2e-7. gridding: asked for
 * 1e-3, of which the window takes half and the rest covers float. sense: eight iterations on a
 * matrix of condition below 100, 100 times 1e-6.
 */
#include "test/check.h"

#if BS_GPU
#include "gpu/exact.h"
#include "gpu/multi.h"
#include "gpu/q.h"
#include "test/twin/device.h"

static struct bs_team *team;

/* Where parts lie: all on the first device, or each on its own. */
struct layout {
	uint32_t parts;
	int own;
	enum bs_link_kind kind;
};

static struct layout layouts[24];
static int layout_count;

static void list_layouts(uint32_t devices)
{
	static const uint32_t shared[] = { 1, 2, 3, 5, 8 };

	for (unsigned i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		layouts[layout_count++] = (struct layout){ shared[i], 0, BS_LINK_COPY };
	for (uint32_t n = 2; n <= devices; n++) {
		layouts[layout_count++] = (struct layout){ n, 1, BS_LINK_COPY };
		layouts[layout_count++] = (struct layout){ n, 1, BS_LINK_NCCL };
	}
}

/* NULL: said why. */
static struct bs_link *open_link(const struct layout *l, char *words, size_t size)
{
	static const int zeros[BS_DEVICES_MAX];
	struct bs_link *link = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_link_open(&link, l->parts, l->own ? NULL : zeros, l->kind, &why);

	if (rc == BS_ERR_UNSUPPORTED && l->kind == BS_LINK_NCCL) {
		SKIP("%u GPUs by NCCL: %s", l->parts, why.text);
		return NULL;
	}
	CHECK(rc == 0, "link of %u parts %s", l->parts, why.text);
	if (rc == 0)
		(void)snprintf(words, size, "%u parts, %s, %s", l->parts,
			       l->own ? "a GPU each" : "one GPU", bs_link_name(link));
	return rc == 0 ? link : NULL;
}

struct exact_shape {
	enum bs_exact_sum sum;
	uint32_t dims, matrix[3], coils;
	uint64_t samples;
};

static const struct exact_shape exact_shapes[] = {
	{ BS_EXACT_FHD, 3, { 20, 37, 11 }, 2, 500 }, { BS_EXACT_FHD, 2, { 24, 33, 1 }, 3, 400 },
	{ BS_EXACT_FHD, 3, { 16, 3, 5 }, 1, 300 },   { BS_EXACT_FHD, 3, { 16, 32, 16 }, 1, 1100 },
	{ BS_EXACT_Q, 3, { 12, 17, 9 }, 1, 500 },    { BS_EXACT_Q, 2, { 24, 20, 1 }, 1, 400 },
};

static int host_exact(const struct exact_shape *s, const float *k, const float *w, const float *d,
		      float *out)
{
	struct bs_exact_spec e = { .dims = s->dims,
				   .coils = s->coils,
				   .samples = s->samples,
				   .states = 1,
				   .twice = true };
	struct bs_q_spec q = { .dims = s->dims, .samples = s->samples, .sum = BS_SUM_EXACT };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_exact *plan = NULL;
	struct bs_fail why = { 0 };
	int rc;

	memcpy(e.matrix, s->matrix, sizeof(e.matrix));
	memcpy(q.matrix, s->matrix, sizeof(q.matrix));
	if (s->sum == BS_EXACT_Q)
		return bs_q_make(out, &q, k, w, team, NULL, NULL, &why);
	rc = bs_exact_need(&e, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_exact_plan(&plan, &e, k, w, &arena, team, &why);
	if (rc == 0)
		bs_exact_adjoint(plan, d, out);
	bs_exact_close(plan);
	bs_arena_close(&arena);
	return rc;
}

/* Host arrays of a shape. */
struct exact_data {
	struct bs_multi_exact_spec spec;
	float *k, *w, *d, *want, *got, *again;
	size_t floats;
};

static void open_data(struct exact_data *a, const struct exact_shape *s)
{
	uint64_t seed = 31 + s->samples;

	a->spec = (struct bs_multi_exact_spec){
		.sum = s->sum, .dims = s->dims, .coils = s->coils, .samples = s->samples
	};
	memcpy(a->spec.matrix, s->matrix, sizeof(a->spec.matrix));
	a->floats = bs_multi_exact_floats(&a->spec);
	a->k = malloc(s->samples * s->dims * sizeof(float));
	a->w = malloc(s->samples * sizeof(float));
	a->d = malloc(s->samples * s->coils * 2 * sizeof(float));
	a->want = malloc(a->floats * sizeof(float));
	a->got = malloc(a->floats * sizeof(float));
	a->again = malloc(a->floats * sizeof(float));
	fill_k(a->k, s->samples * s->dims, &seed);
	fill_random(a->d, s->samples * s->coils * 2, &seed);
	for (uint64_t m = 0; m < s->samples; m++)
		a->w[m] = (float)check_uniform(&seed);
	CHECK(host_exact(s, a->k, a->w, a->d, a->want) == 0, "host sum");
}

static void close_data(struct exact_data *a)
{
	free(a->k);
	free(a->w);
	free(a->d);
	free(a->want);
	free(a->got);
	free(a->again);
}

/* Two results of one plan, in again and got; info: of the first part's share. */
static int run_exact(struct exact_data *a, struct bs_link *link, struct bs_exact_cuda_info *info,
		     struct bs_fail *why)
{
	struct bs_multi_exact *m = NULL;
	double ms;
	int rc = bs_multi_exact_open(&m, link, &a->spec, a->k, a->w, why);

	if (rc == 0)
		bs_multi_exact_info(m, 0, info);
	if (rc == 0 && a->spec.sum == BS_EXACT_FHD)
		rc = bs_multi_exact_load(m, a->d, why);
	if (rc == 0)
		rc = bs_multi_exact_run(m, a->again, &ms, why);
	if (rc == 0)
		rc = bs_multi_exact_run(m, a->got, &ms, why);
	bs_multi_exact_close(m);
	return rc;
}

static void check_exact(const struct exact_shape *s)
{
	struct exact_data a;
	uint64_t hash[BS_DEVICES_MAX + 1] = { 0 };

	open_data(&a, s);
	for (int l = 0; l < layout_count; l++) {
		struct bs_exact_cuda_info info;
		struct bs_fail why = { 0 };
		char words[256];
		struct bs_link *link = open_link(&layouts[l], words, sizeof(words));

		if (link == NULL)
			continue;
		const int rc = run_exact(&a, link, &info, &why);
		const double error = rc == 0 ? check_rel(a.got, a.want, a.floats) : NAN;
		const uint64_t h = rc == 0 ? hash_of(a.got, a.floats) : 0;
		uint64_t *known = &hash[layouts[l].parts];

		CHECK(error <= 1e-5, "%s %ux%ux%u, %u coils, %s: %.2e %s",
		      s->sum == BS_EXACT_Q ? "Q" : "F^H d", s->matrix[0], s->matrix[1],
		      s->matrix[2], s->coils, words, error, why.text);
		CHECK(rc == 0 && hash_of(a.again, a.floats) == h && (*known == 0 || *known == h),
		      "the same bytes in every run and by every transport");
		*known = h;
		bs_link_close(link);
	}
	close_data(&a);
}

/* Several tiles of q and of columns in every share: parts split both. */
static const struct exact_shape part_shapes[] = {
	{ BS_EXACT_FHD, 3, { 20, 70, 40 }, 2, 700 },
	{ BS_EXACT_FHD, 2, { 20, 150, 1 }, 2, 700 },
	{ BS_EXACT_Q, 3, { 12, 35, 40 }, 1, 700 },
};

/* A share whose voxels are summed in parts, each over all chunks, has the bytes of one that is not. */
static void check_parts(const struct exact_shape *s)
{
	struct exact_data a;

	open_data(&a, s);
	a.spec.chunk = 256;
	for (int l = 0; l < layout_count; l++) {
		uint64_t hash[2] = { 0, 0 };
		char words[256];
		struct bs_link *link = open_link(&layouts[l], words, sizeof(words));

		for (int split = 0; link != NULL && split < 2; split++) {
			struct bs_exact_cuda_info info = { 0 };
			struct bs_fail why = { 0 };

			a.spec.parts = split ? 9 : 1;
			const int rc = run_exact(&a, link, &info, &why);

			hash[split] = rc == 0 ? hash_of(a.got, a.floats) : 0;
			CHECK(rc == 0 && check_rel(a.got, a.want, a.floats) <= 1e-5 &&
				      hash_of(a.again, a.floats) == hash[split] &&
				      hash[split] == hash[0],
			      "%s, %s, the first share in %u parts of %u chunks: %.2e %s",
			      s->sum == BS_EXACT_Q ? "Q" : "F^H d", words, info.parts, info.chunks,
			      rc == 0 ? check_rel(a.got, a.want, a.floats) : NAN, why.text);
			CHECK(info.chunks == 3 && (split ? info.parts > 1 : info.parts == 1) &&
				      info.steps == (uint64_t)info.parts * info.chunks,
			      "%llu steps", (unsigned long long)info.steps);
		}
		bs_link_close(link);
	}
	close_data(&a);
}

/* Parts that plan of the sum makes by itself; 0: it failed. */
static uint32_t parts_alone(const struct bs_multi_exact_spec *s, const float *k)
{
	struct bs_exact_cuda_spec e = {
		.sum = s->sum, .dims = s->dims, .coils = 1, .states = 1, .samples = s->samples
	};
	struct bs_exact_cuda_info info = { 0 };
	struct bs_devmem mem = { 0 };
	struct bs_exact_cuda *plan = NULL;
	struct bs_fail why = { 0 };
	uint64_t bytes = 0;
	float *dk = device_copy(k, s->samples * s->dims);

	memcpy(e.matrix, s->matrix, sizeof(e.matrix));
	int rc = bs_exact_cuda_need(&e, &bytes, &why);

	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes, "twin_multi", &why);
	if (rc == 0)
		rc = bs_exact_cuda_plan(&plan, &e, dk, NULL, &mem, &why);
	if (rc == 0)
		bs_exact_cuda_info(plan, &info);
	bs_exact_cuda_close(plan);
	bs_devmem_close(&mem);
	(void)cudaFree(dk);
	return info.parts;
}

/* Q of 128^3: too many sums for the caches on one GPU, which goes in parts as for itself; not on four. */
static void check_choice(void)
{
	static const int zeros[4];
	static float k[300 * 3];
	const struct bs_multi_exact_spec spec = { .sum = BS_EXACT_Q,
						  .dims = 3,
						  .matrix = { 128, 128, 128 },
						  .coils = 1,
						  .samples = 300 };
	struct bs_fail why = { 0 };
	uint64_t seed = 5;

	fill_k(k, (size_t)300 * 3, &seed);
	const uint32_t alone = parts_alone(&spec, k);

	for (uint32_t n = 1; n <= 4; n += 3) {
		struct bs_exact_cuda_info info = { 0 };
		struct bs_multi_exact *m = NULL;
		struct bs_link *link = NULL;
		int rc = bs_link_open(&link, n, zeros, BS_LINK_COPY, &why);

		if (rc == 0)
			rc = bs_multi_exact_open(&m, link, &spec, k, NULL, &why);
		if (rc == 0)
			bs_multi_exact_info(m, 0, &info);
		CHECK(rc == 0 && info.parts == (n == 1 ? alone : 1) && alone > 1 && !info.streamed,
		      "Q of 128^3 over %u: %u parts, sums %s; by itself %u %s", n, info.parts,
		      info.streamed ? "leave the caches" : "cached", alone, why.text);
		bs_multi_exact_close(m);
		bs_link_close(link);
	}
}

/* ---- gridding ------------------------------------------------------------------------------- */

static void true_squares(const struct bs_nufft_spec *s, const float *k, const float *w,
			 const float *d, float *out)
{
	const double turn = 6.283185307179586476925;
	const size_t voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];

	for (size_t v = 0; v < voxels; v++) {
		const double at[3] = { (double)(v % s->matrix[0]) - s->matrix[0] / 2,
				       (double)(v / s->matrix[0] % s->matrix[1]) - s->matrix[1] / 2,
				       0.0 };
		double sum = 0.0;

		for (uint32_t c = 0; c < s->coils; c++) {
			double re = 0.0;
			double im = 0.0;

			for (uint64_t m = 0; m < s->samples; m++) {
				const float *q = d + 2 * (c * s->samples + m);
				const double t = turn * (k[2 * m] * at[0] + k[2 * m + 1] * at[1]);

				re += w[m] * (q[0] * cos(t) - q[1] * sin(t));
				im += w[m] * (q[0] * sin(t) + q[1] * cos(t));
			}
			sum += re * re + im * im;
		}
		out[v] = (float)sqrt(sum);
	}
}

static void check_grid(void)
{
	struct bs_nufft_spec s = { .dims = 2,
				   .matrix = { 40, 36, 1 },
				   .coils = 5,
				   .samples = 900,
				   .states = 1,
				   .accuracy = 1e-3 };
	const size_t n = (size_t)40 * 36;
	uint64_t seed = 8;
	float *k = malloc(s.samples * 2 * sizeof(float));
	float *w = malloc(s.samples * sizeof(float));
	float *d = malloc(s.samples * s.coils * 2 * sizeof(float));
	float *want = malloc(n * sizeof(float));
	float *got = malloc(n * sizeof(float));
	uint64_t hash[BS_DEVICES_MAX + 1] = { 0 };

	fill_k(k, s.samples * 2, &seed);
	fill_random(d, s.samples * s.coils * 2, &seed);
	for (uint64_t m = 0; m < s.samples; m++)
		w[m] = (float)check_uniform(&seed);
	true_squares(&s, k, w, d, want);
	for (int l = 0; l < layout_count; l++) {
		struct bs_multi_grid *m = NULL;
		struct bs_fail why = { 0 };
		char words[256];
		struct bs_link *link = open_link(&layouts[l], words, sizeof(words));
		uint64_t *known = &hash[layouts[l].parts];
		uint64_t h = 0;
		double ms;
		int rc;

		if (link == NULL)
			continue;
		rc = bs_multi_grid_open(&m, link, &s, k, w, &why);
		if (rc == 0)
			rc = bs_multi_grid_load(m, d, &why);
		for (int r = 0; r < 2 && rc == 0; r++) {
			rc = bs_multi_grid_run(m, got, &ms, &why);
			h = rc == 0 ? hash_of(got, n) : 0;
			*known = *known == 0 ? h : *known;
			CHECK(rc == 0 && *known == h, "gridding, the same bytes, run %d %s", r,
			      why.text);
		}
		CHECK(rc == 0 && check_rel(got, want, n) <= 1e-3,
		      "gridding, root of squares of 5 coils, %s: %.2e %s", words,
		      rc == 0 ? check_rel(got, want, n) : NAN, why.text);
		bs_multi_grid_close(m);
		bs_link_close(link);
	}
	free(k);
	free(w);
	free(d);
	free(want);
	free(got);
}

/* ---- sense ---------------------------------------------------------------------------------- */

#define SX      14
#define SY      11
#define SV      (SX * SY)
#define COILS   3
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

static void check_sense(int with_gram)
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
	CHECK(!with_gram || make_gram(&gram) == 0, "W^H W");
	a.gram = with_gram ? &gram : NULL;
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
		rc = bs_multi_sense_open(&m, link, &s, k, maps, a.gram, &why);
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
		      "sense, %s, %s: %.2e, residual %.2e %s", with_gram ? "W" : "identity", words,
		      rc == 0 ? check_rel(got, want, (size_t)2 * SV) : NAN, residual, why.text);
		bs_multi_sense_close(m);
		bs_link_close(link);
	}
	bs_csr_close(&gram);
}

/* What cannot be is refused in words. */
static void check_refusals(uint32_t devices)
{
	static const int zeros[2];
	struct bs_link *link = NULL;
	struct bs_fail why = { 0 };

	CHECK(bs_link_open(&link, 9, NULL, BS_LINK_AUTO, &why) == BS_ERR_SIZE, "refused: %s",
	      why.text);
	if (devices < BS_DEVICES_MAX)
		CHECK(bs_link_open(&link, 8, NULL, BS_LINK_AUTO, &why) == BS_ERR_UNSUPPORTED,
		      "refused: %s", why.text);
	CHECK(bs_link_open(&link, 2, zeros, BS_LINK_NCCL, &why) == BS_ERR_UNSUPPORTED,
	      "refused: %s", why.text);
}
#endif

int main(void)
{
#if BS_GPU
	struct bs_gpu_info gpu;
	struct bs_fail why;
	uint32_t devices;

	if (!device_answers("one scan on several GPUs", &gpu))
		return check_done();
	CHECK(bs_team_open(&team, 2, &why) == 0, "team");
	devices = bs_link_devices();
	if (devices < 2)
		SKIP("a GPU for each part: there is %u here", devices);
	const int small = getenv("BORESIDE_SMALL") != NULL; /* under compute-sanitizer */

	list_layouts(small ? 1 : devices);
	check_refusals(devices);
	const size_t count = small ? 1 : sizeof(exact_shapes) / sizeof(exact_shapes[0]);

	for (size_t i = 0; i < count; i++)
		check_exact(&exact_shapes[i]);
	for (size_t i = 0; i < (small ? 1 : sizeof(part_shapes) / sizeof(part_shapes[0])); i++)
		check_parts(&part_shapes[i]);
	if (!small)
		check_choice();
	check_grid();
	check_sense(0);
	if (!small)
		check_sense(1);
	bs_team_close(team);
#else
	SKIP("one scan on several GPUs: built with GPU=0");
#endif
	return check_done();
}
