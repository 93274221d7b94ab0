/*
 * test/twin/twin_exact.c - exact F^H d and Q: CUDA against the host's sums in double
 *
 * single: fp16 pairs carry 22 bits, sums run 256 samples between flushes: a few 1e-6 at most, so
 * 1e-5. fast: three factors rounded to 11 bits, each 2^-11 at worst: 1.5e-3.
 */
#include "test/support/check.h"
#include "gpu/exact/exact.h"
#include "gpu/exact/exact_cuda.h"
#include "gpu/toeplitz/q.h"
#include "test/twin/device.h"

#define RUNS 100

struct shape {
	uint32_t dims, matrix[3], coils;
	uint64_t samples;
	uint32_t chunk;
};

static const struct shape shapes[] = {
	{ 3, { 16, 16, 16 }, 1, 1000, 0 },    { 3, { 37, 22, 19 }, 2, 777, 0 },
	{ 3, { 48, 64, 31 }, 1, 4099, 1024 }, { 2, { 64, 48, 1 }, 3, 5000, 1024 },
	{ 2, { 33, 50, 1 }, 1, 257, 0 },      { 3, { 20, 18, 1 }, 1, 300, 0 },
	{ 3, { 32, 32, 4 }, 2, 2000, 0 },     { 3, { 20, 33, 3 }, 1, 777, 0 },
	{ 2, { 5, 7, 1 }, 2, 300, 0 },        { 2, { 1, 16, 1 }, 1, 300, 0 },
};

/* The host's F^H d in double, rounded to float: 6e-8. */
static void host_sum(const struct shape *s, const float *k, const float *w, const float *d,
		     float *image)
{
	struct bs_exact_spec e = { .dims = s->dims,
				   .coils = s->coils,
				   .samples = s->samples,
				   .states = 1,
				   .twice = true };
	struct bs_need need = { 0 };
	struct bs_arena arena;
	struct bs_exact *plan = NULL;
	struct bs_fail why = { 0 };

	memcpy(e.matrix, s->matrix, sizeof(e.matrix));
	int rc = bs_exact_need(&e, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_exact_plan(&plan, &e, k, w, &arena, team, &why);
	CHECK(rc == 0, "host plan %s", why.text);
	if (rc == 0)
		bs_exact_adjoint(plan, d, image);
	bs_exact_close(plan);
	bs_arena_close(&arena);
}

/* runs times on the device; the hashes must agree. n: floats of the result. */
static int device_sum(const struct bs_exact_cuda_spec *s, const float *k, const float *w,
		      const float *d, float *out, size_t n, int runs)
{
	struct bs_devmem mem = { 0 };
	struct bs_exact_cuda *plan = NULL;
	struct bs_fail why = { 0 };
	uint64_t bytes = 0;
	uint64_t first = 0;
	int same = 1;
	float *dk = device_copy(k, s->samples * s->dims);
	float *dw = w != NULL ? device_copy(w, s->samples) : NULL;
	float *dd = d != NULL ? device_copy(d, 2 * s->samples * s->coils) : NULL;
	float *result = device_copy(NULL, n);
	int rc = bs_exact_cuda_need(s, &bytes, &why);

	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes, "twin_exact", &why);
	if (rc == 0)
		rc = bs_exact_cuda_plan(&plan, s, dk, dw, &mem, &why);
	for (int r = 0; r < runs && rc == 0; r++) {
		rc = bs_exact_cuda_sum(plan, s->states - 1, dd, s->samples, result, NULL, &why);
		if (rc == 0 && !fetch(out, result, n))
			rc = bs_fail(&why, BS_ERR_GPU, "the result could not be fetched");
		if (r == 0)
			first = hash_of(out, n);
		same &= hash_of(out, n) == first;
	}
	CHECK(rc == 0, "device sum %s", why.text);
	CHECK(same, "%d runs, one hash", runs);
	bs_exact_cuda_close(plan);
	bs_devmem_close(&mem);
	(void)cudaFree(dk);
	(void)cudaFree(dw);
	(void)cudaFree(dd);
	(void)cudaFree(result);
	return rc;
}

static const char *const routes[] = { "auto", "wgmma", "mma" };

static void check_fhd(const struct shape *s)
{
	uint64_t seed = 17 + s->samples;
	size_t voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	size_t n = 2 * voxels * s->coils;
	float *k = malloc(s->samples * s->dims * 4);
	float *w = malloc(s->samples * 4);
	float *d = malloc(2 * s->samples * s->coils * 4);
	float *want = malloc(n * 4);
	float *got = malloc(n * 4);

	fill_k(k, s->samples * s->dims, &seed);
	fill_random(w, s->samples, &seed);
	fill_random(d, 2 * s->samples * s->coils, &seed);
	for (uint64_t m = 0; m < s->samples; m += 13) /* the range of real k-space */
		for (uint32_t c = 0; c < 2 * s->coils; c++)
			d[(c / 2 * s->samples + m) * 2 + c % 2] *= 1e4f;
	host_sum(s, k, w, d, want);
	for (int route = BS_EXACT_WGMMA; route <= BS_EXACT_MMA; route++)
		for (int fast = 0; fast < 2; fast++) {
			struct bs_exact_cuda_spec e = { .sum = BS_EXACT_FHD,
							.precision = fast ? BS_EXACT_FAST
									  : BS_EXACT_SINGLE,
							.route = (enum bs_exact_route)route,
							.dims = s->dims,
							.coils = s->coils,
							.states = 2,
							.samples = s->samples,
							.chunk = s->chunk };
			double error;

			if (route == BS_EXACT_WGMMA && !reach.wgmma) {
				SKIP("%s: compute capability %u.%u%s", routes[route], gpu.major,
				     gpu.minor, bs_reach_as());
				continue;
			}
			memcpy(e.matrix, s->matrix, sizeof(e.matrix));
			if (device_sum(&e, k, w, d, got, n, 3) != 0)
				continue;
			error = check_rel(got, want, n);
			CHECK(error <= (fast ? 1.5e-3 : 1e-5),
			      "F^H d %ux%ux%u, %llu samples, %u coils, %s %s: %.2e", s->matrix[0],
			      s->matrix[1], s->matrix[2], (unsigned long long)s->samples, s->coils,
			      routes[route], fast ? "fast" : "single", error);
		}
	free(k);
	free(w);
	free(d);
	free(want);
	free(got);
}

static void check_q(const struct shape *s)
{
	uint64_t seed = 5 + s->samples;
	struct bs_q_spec q = { .dims = s->dims, .samples = s->samples, .sum = BS_SUM_EXACT };
	struct bs_exact_cuda_spec e = { .sum = BS_EXACT_Q,
					.dims = s->dims,
					.coils = 1,
					.states = 1,
					.samples = s->samples,
					.chunk = s->chunk };
	struct bs_fail why = { 0 };
	float *k = malloc(s->samples * s->dims * 4);
	float *w = malloc(s->samples * 4);

	memcpy(q.matrix, s->matrix, sizeof(q.matrix));
	memcpy(e.matrix, s->matrix, sizeof(e.matrix));
	size_t n = 2 * bs_q_size(&q);
	float *want = malloc(n * 4);
	float *got = malloc(n * 4);

	fill_k(k, s->samples * s->dims, &seed);
	for (uint64_t m = 0; m < s->samples; m++)
		w[m] = (float)check_uniform(&seed);
	CHECK(bs_q_make(want, &q, k, w, &(struct bs_q_making){ .team = team }, &why) == 0,
	      "host Q %s", why.text);
	if (device_sum(&e, k, w, NULL, got, n, 2) == 0) {
		double error = check_rel(got, want, n);

		CHECK(error <= 1e-5, "Q %ux%ux%u, %llu samples: %.2e", s->matrix[0], s->matrix[1],
		      s->matrix[2], (unsigned long long)s->samples, error);
	}
	free(k);
	free(w);
	free(want);
	free(got);
}

/*
 * The voxels split into parts, and where the sums are kept, change no byte; a part may begin within
 * a coil.
 */
static void check_parts(enum bs_exact_sum sum)
{
	struct bs_exact_cuda_spec e = { .sum = sum,
					.dims = 3,
					.matrix = { 20, 18, 130 },
					.coils = sum == BS_EXACT_Q ? 1 : 2,
					.states = 1,
					.samples = 700,
					.chunk = 256 };
	uint64_t seed = 31;
	struct bs_q_spec q = { .dims = 3, .matrix = { 20, 18, 130 } };
	const size_t n = sum == BS_EXACT_Q ? 2 * bs_q_size(&q) : (size_t)2 * 20 * 18 * 130 * 2;
	float *k = malloc(e.samples * 3 * 4);
	float *d = malloc(e.samples * e.coils * 2 * 4);
	float *first = malloc(n * 4);
	float *got = malloc(n * 4);

	fill_k(k, e.samples * 3, &seed);
	fill_random(d, e.samples * e.coils * 2, &seed);
	for (uint64_t m = 0; m < e.samples; m++) /* another scale for each group */
		for (uint32_t c = 0; c < 2 * e.coils; c++)
			d[2 * e.samples * (c / 2) + 2 * m + c % 2] *= (float)(1u << m / 256 * 3);
	for (e.parts = 1; e.parts <= 7; e.parts++)
		for (e.stream = 1; e.stream <= 2; e.stream++) {
			const int one = e.parts == 1 && e.stream == 1;

			if (device_sum(&e, k, NULL, sum == BS_EXACT_Q ? NULL : d, one ? first : got,
				       n, 1) != 0 ||
			    one)
				continue;
			CHECK(memcmp(first, got, n * 4) == 0,
			      "%s in %u parts, sums %s: the bytes of one part",
			      sum == BS_EXACT_Q ? "Q" : "F^H d of two coils", e.parts,
			      e.stream == 2 ? "leave the caches" : "cached");
		}
	free(k);
	free(d);
	free(first);
	free(got);
}

/* Chunks one by one make what sum makes; a chunk out of its order is refused. */
static void check_chunks(void)
{
	const struct bs_exact_cuda_spec e = { .dims = 3,
					      .matrix = { 20, 18, 70 },
					      .coils = 1,
					      .states = 1,
					      .samples = 700,
					      .chunk = 256,
					      .parts = 2 };
	const size_t n = (size_t)20 * 18 * 70 * 2;
	struct bs_exact_cuda_info info = { 0 };
	struct bs_devmem mem = { 0 };
	struct bs_exact_cuda *plan = NULL;
	struct bs_fail why = { 0 };
	uint64_t bytes = 0;
	uint64_t seed = 77;
	float *k = malloc(e.samples * 3 * 4);
	float *d = malloc(e.samples * 2 * 4);
	float *want = malloc(n * 4);
	float *got = malloc(n * 4);

	fill_k(k, e.samples * 3, &seed);
	fill_random(d, e.samples * 2, &seed);
	(void)device_sum(&e, k, NULL, d, want, n, 1);
	float *dk = device_copy(k, e.samples * 3);
	float *dd = device_copy(d, e.samples * 2);
	float *out = device_copy(NULL, n);
	int rc = bs_exact_cuda_need(&e, &bytes, &why);

	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes, "twin_exact", &why);
	if (rc == 0)
		rc = bs_exact_cuda_plan(&plan, &e, dk, NULL, &mem, &why);
	CHECK(rc == 0, "plan %s", why.text);
	if (rc == 0) {
		bs_exact_cuda_info(plan, &info);
		CHECK(info.parts == 2 && info.chunks == 3, "%u parts, %u chunks", info.parts,
		      info.chunks);
		bs_exact_cuda_begin(plan, 0);
		CHECK(bs_exact_cuda_chunk(plan, 0, 1, dd, e.samples, NULL, &why) == BS_ERR_STATE,
		      "refused: %s", why.text);
	}
	for (uint32_t i = 0; i < info.chunks && rc == 0; i++) {
		CHECK(bs_exact_cuda_finish(plan, 0, out, NULL, &why) == BS_ERR_STATE,
		      "after %u chunks refused: %s", i, why.text);
		rc = bs_exact_cuda_chunk(plan, 0, i, dd, e.samples, NULL, &why);
		CHECK(rc == 0, "chunk %u %s", i, why.text);
	}
	if (rc == 0)
		CHECK(bs_exact_cuda_chunk(plan, 0, info.chunks, dd, e.samples, NULL, &why) ==
			      BS_ERR_STATE,
		      "refused: %s", why.text);
	CHECK(rc == 0 && bs_exact_cuda_finish(plan, 0, out, NULL, &why) == 0 &&
		      fetch(got, out, n) && memcmp(got, want, n * 4) == 0,
	      "chunk by chunk, the bytes of sum %s", why.text);
	bs_exact_cuda_close(plan);
	bs_devmem_close(&mem);
	(void)cudaFree(dk);
	(void)cudaFree(dd);
	(void)cudaFree(out);
	free(k);
	free(d);
	free(want);
	free(got);
}

/* exp(i2pi k.n) summed in double over one voxel; the full size is too long for the host's twin. */
static void plain_voxel(const float *k, const float *d, uint64_t samples, const int n[3],
			double sum[2])
{
	const double turn = 6.283185307179586476925;

	sum[0] = sum[1] = 0.0;
	for (uint64_t m = 0; m < samples; m++) {
		double t = (double)k[3 * m] * n[0] + (double)k[3 * m + 1] * n[1] +
			   (double)k[3 * m + 2] * n[2];
		double c = cos(turn * t);
		double s = sin(turn * t);

		sum[0] += d[2 * m] * c - d[2 * m + 1] * s;
		sum[1] += d[2 * m] * s + d[2 * m + 1] * c;
	}
}

static void check_full_size(void)
{
	struct bs_exact_cuda_spec e = { .sum = BS_EXACT_FHD,
					.dims = 3,
					.matrix = { 128, 128, 128 },
					.coils = 1,
					.states = 1,
					.samples = 284592 };
	uint64_t seed = 99;
	size_t n = (size_t)2 * 128 * 128 * 128;
	float *k = malloc(e.samples * 3 * 4);
	float *d = malloc(e.samples * 2 * 4);
	float *got = malloc(n * 4);
	double err = 0.0;
	double ref = 0.0;

	fill_k(k, e.samples * 3, &seed);
	fill_random(d, e.samples * 2, &seed);
	if (device_sum(&e, k, NULL, d, got, n, RUNS) == 0) {
		for (int v = 0; v < 100; v++) {
			int x = (int)(check_uniform(&seed) * 128.0);
			int y = (int)(check_uniform(&seed) * 128.0);
			int z = (int)(check_uniform(&seed) * 128.0);
			const int at[3] = { x - 64, y - 64, z - 64 };
			const float *g =
				got + 2 * (((size_t)z * 128 + (size_t)y) * 128 + (size_t)x);
			double sum[2];

			plain_voxel(k, d, e.samples, at, sum);
			err += (g[0] - sum[0]) * (g[0] - sum[0]) +
			       (g[1] - sum[1]) * (g[1] - sum[1]);
			ref += sum[0] * sum[0] + sum[1] * sum[1];
		}
		CHECK(sqrt(err / ref) <= 1e-5, "F^H d 128^3, 284,592 samples, 100 voxels: %.2e",
		      sqrt(err / ref));
	}
	free(k);
	free(d);
	free(got);
}

/* What is impossible is refused with a reason, before anything is allocated. */
static void check_refusals(void)
{
	struct bs_exact_cuda_spec e = {
		.dims = 3, .matrix = { 16, 16, 0 }, .coils = 1, .states = 1, .samples = 10
	};
	struct bs_fail why;
	uint64_t bytes;

	CHECK(bs_exact_cuda_need(&e, &bytes, &why) == BS_ERR_SIZE, "refused: %s", why.text);
	e.matrix[2] = 16;
	e.samples = 0;
	CHECK(bs_exact_cuda_need(&e, &bytes, &why) == BS_ERR_SIZE, "refused: %s", why.text);
	e.samples = 10;
	e.coils = 1000;
	CHECK(bs_exact_cuda_need(&e, &bytes, &why) == BS_ERR_SIZE, "refused: %s", why.text);
	e.coils = 1;
	e.parts = 65;
	CHECK(bs_exact_cuda_need(&e, &bytes, &why) == BS_ERR_SIZE, "refused: %s", why.text);
}

static void compare_all(void)
{
	check_refusals();
	const size_t count = small() ? 1 : sizeof(shapes) / sizeof(shapes[0]);

	for (size_t i = 0; i < count; i++) {
		check_fhd(&shapes[i]);
		check_q(&shapes[i]);
	}
	check_parts(BS_EXACT_FHD);
	check_parts(BS_EXACT_Q);
	check_chunks();
	if (!small())
		check_full_size();
}

int main(void)
{
	return twin_main("exact sums on the GPU", 4, compare_all);
}
