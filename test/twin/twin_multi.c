/*
 * test/twin/twin_multi.c - exact sums and gridding in one to eight parts, against double precision
 *
 * On one GPU the parts share it, which tests everything but the wires; on several each part has its
 * own, by NCCL and by copies: those must agree bit for bit, nothing is added on the way.
 * exact: as twin_exact, 1e-5; the phase of a slab's center adds about 2e-7. gridding: asked for
 * 1e-3, of which the window takes half and the rest covers float. sense: twin_multi_sense.c
 */
#include "test/support/check.h"

#if BS_GPU
#include "gpu/exact/exact.h"
#include "gpu/multi/multi.h"
#include "gpu/toeplitz/q.h"
#include "test/twin/device.h"
#include "test/twin/layouts.h"

static struct bs_team *team;

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

#define Q_SAMPLES 20000 /* several chunks' worth of groups */

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
	static float k[Q_SAMPLES * 3];
	const struct bs_multi_exact_spec spec = { .sum = BS_EXACT_Q,
						  .dims = 3,
						  .matrix = { 128, 128, 128 },
						  .coils = 1,
						  .samples = Q_SAMPLES };
	struct bs_fail why = { 0 };
	uint64_t seed = 5;

	fill_k(k, (size_t)Q_SAMPLES * 3, &seed);
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
		CHECK(rc == 0 && info.state_bytes * n <= 80000000,
		      "its tiles fill the device: %llu bytes of sums, one set of 67,108,864 / %u",
		      (unsigned long long)info.state_bytes, n);
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
	bs_team_close(team);
#else
	SKIP("one scan on several GPUs: built with GPU=0");
#endif
	return check_done();
}
