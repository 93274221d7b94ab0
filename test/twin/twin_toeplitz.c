/*
 * test/twin/twin_toeplitz.c - the Toeplitz operator: CUDA against the host, random images
 *
 * Both run in single precision, about 8 roundings a point and axis: a few 1e-7, so 1e-5 for the
 * twin.
 */
#include "test/support/check.h"
#include "gpu/toeplitz/q.h"
#include "gpu/toeplitz/toeplitz.h"
#include "gpu/toeplitz/toeplitz_cuda.h"
#include "test/twin/device.h"
#include "test/twin/timing.h"

#define SAMPLES 200u

static struct bs_gpu_info gpu;

struct problem {
	struct bs_toeplitz_spec spec;
	size_t voxels;
	float *q, *in, *maps, *want, *want_sense;
	size_t q_floats;
};

static void make_problem(struct problem *p, uint32_t dims, uint32_t x, uint32_t y, uint32_t z,
			 uint32_t coils)
{
	struct bs_q_spec q = {
		.dims = dims, .matrix = { x, y, z }, .samples = SAMPLES, .sum = BS_SUM_EXACT
	};
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_toeplitz *host = NULL;
	struct bs_fail why = { 0 };
	uint64_t seed = 3 + x;
	float k[SAMPLES * 3];

	p->spec = (struct bs_toeplitz_spec){ .dims = dims, .matrix = { x, y, z }, .coils = coils };
	p->voxels = (size_t)x * y * z;
	p->q_floats = 2 * bs_q_size(&q);
	p->q = malloc(p->q_floats * 4);
	p->in = malloc(p->voxels * coils * 8);
	p->maps = malloc(p->voxels * coils * 8);
	p->want = malloc(p->voxels * coils * 8);
	p->want_sense = malloc(p->voxels * 8);
	fill_k(k, SAMPLES * 3, &seed);
	fill_random(p->in, p->voxels * coils * 2, &seed);
	fill_random(p->maps, p->voxels * coils * 2, &seed);
	int rc = bs_q_make(p->q, &q, k, NULL, &(struct bs_q_making){ .team = team }, &why);

	if (rc == 0)
		rc = bs_toeplitz_need(&p->spec, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_toeplitz_plan(&host, &p->spec, p->q, &arena, team, &why);
	CHECK(rc == 0, "host plan %ux%ux%u %s", x, y, z, why.text);
	if (rc == 0) {
		bs_toeplitz_apply(host, coils, p->in, p->want);
		bs_toeplitz_sense(host, coils, p->maps, p->in, p->want_sense);
	}
	bs_toeplitz_close(host);
	bs_arena_close(&arena);
}

static void drop_problem(struct problem *p)
{
	free(p->q);
	free(p->in);
	free(p->maps);
	free(p->want);
	free(p->want_sense);
}

static void compare(const struct problem *p, struct bs_toeplitz_cuda *plan, int runs)
{
	const size_t n = p->voxels * p->spec.coils * 2;
	struct bs_fail why = { 0 };
	float *in = device_copy(p->in, n);
	float *maps = device_copy(p->maps, n);
	float *out = device_copy(NULL, n);
	float *got = malloc(n * 4);
	uint64_t first = 0;
	int same = 1;
	int rc = 0;

	for (int r = 0; r < runs && rc == 0; r++) {
		rc = bs_toeplitz_cuda_apply(plan, p->spec.coils, in, out, NULL, &why);
		if (rc == 0 && !fetch(got, out, n))
			rc = bs_fail(&why, BS_ERR_GPU, "fetch");
		first = r == 0 ? hash_of(got, n) : first;
		same &= hash_of(got, n) == first;
	}
	CHECK(rc == 0 && same, "%d runs, one hash %s", runs, why.text);
	CHECK(check_rel(got, p->want, n) <= 1e-5, "apply %ux%ux%u, %u coils: %.2e",
	      p->spec.matrix[0], p->spec.matrix[1], p->spec.matrix[2], p->spec.coils,
	      check_rel(got, p->want, n));
	rc = bs_toeplitz_cuda_sense(plan, p->spec.coils, maps, in, NULL, in, NULL, &why);
	if (rc == 0 && !fetch(got, in, p->voxels * 2))
		rc = bs_fail(&why, BS_ERR_GPU, "fetch");
	CHECK(rc == 0 && check_rel(got, p->want_sense, p->voxels * 2) <= 1e-5,
	      "sense %ux%ux%u, %u coils, in place: %.2e %s", p->spec.matrix[0], p->spec.matrix[1],
	      p->spec.matrix[2], p->spec.coils, check_rel(got, p->want_sense, p->voxels * 2),
	      why.text);
	(void)cudaFree(in);
	(void)cudaFree(maps);
	(void)cudaFree(out);
	free(got);
}

/* 3D, y and z padded to one size of 80 to 512: a plane fits a cluster. */
static bool has_planes(const struct bs_toeplitz_spec *s)
{
	const int g = bs_toeplitz_cuda_padded(3, s->matrix[1]);

	return reach.overlaps && s->dims == 3 && g == bs_toeplitz_cuda_padded(3, s->matrix[2]) &&
	       g >= 80 && g <= 512;
}

/* By planes and with a pass for each axis the sums are the same, so are the bytes. */
static void passes(const struct problem *p, struct bs_toeplitz_cuda *plan, const float *q)
{
	const size_t n = p->voxels * p->spec.coils * 2;
	struct bs_toeplitz_spec s = p->spec;
	struct bs_toeplitz_cuda *own = NULL;
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	float *in = device_copy(p->in, n);
	float *out = device_copy(NULL, n);
	float *got = malloc(n * 4);
	uint64_t hash[2] = { 0, 1 };
	uint64_t bytes = 0;
	int rc = bs_toeplitz_cuda_apply(plan, s.coils, in, out, NULL, &why);

	hash[0] = rc == 0 && fetch(got, out, n) ? hash_of(got, n) : 0;
	s.apart = true;
	rc = rc == 0 ? bs_toeplitz_cuda_need(&s, &bytes, &why) : rc;
	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes, "twin_toeplitz", &why);
	if (rc == 0)
		rc = bs_toeplitz_cuda_plan(&own, &s, q, &mem, &why);
	if (rc == 0 && cudaMemset(out, 0xff, n * 4) != cudaSuccess)
		rc = bs_fail(&why, BS_ERR_GPU, "poison");
	if (rc == 0)
		rc = bs_toeplitz_cuda_apply(own, s.coils, in, out, NULL, &why);
	hash[1] = rc == 0 && fetch(got, out, n) ? hash_of(got, n) : 1;
	CHECK(rc == 0 && check_rel(got, p->want, n) <= 1e-5 && hash[0] == hash[1],
	      "apply %ux%ux%u, %u coils, a pass an axis: the bytes of planes %s", s.matrix[0],
	      s.matrix[1], s.matrix[2], s.coils, why.text);
	CHECK(own == NULL ||
		      bs_toeplitz_cuda_bytes(own, s.coils) > bs_toeplitz_cuda_bytes(plan, s.coils),
	      "the plan itself is by planes");
	bs_toeplitz_cuda_close(own);
	bs_devmem_close(&mem);
	(void)cudaFree(in);
	(void)cudaFree(out);
	free(got);
}

/* Coils that take turns, the last one short: the bytes of all coils together, in less memory. */
static void turns(const struct problem *p, struct bs_toeplitz_cuda *plan, const float *q)
{
	const size_t n = p->voxels * p->spec.coils * 2;
	float *in = device_copy(p->in, n);
	float *maps = device_copy(p->maps, n);
	float *out = device_copy(NULL, n);
	float *got = malloc(n * 4);
	struct bs_fail why = { 0 };
	uint64_t whole[2] = { 0, 0 };
	uint64_t bytes[2] = { 0, 0 };
	int rc = bs_toeplitz_cuda_need(&p->spec, &bytes[0], &why);

	for (uint32_t turn = p->spec.coils; rc == 0 && turn > 0; turn--) {
		struct bs_toeplitz_spec s = p->spec;
		struct bs_toeplitz_cuda *own = plan;
		struct bs_devmem mem = { 0 };
		uint64_t hash[2] = { 0, 0 };

		s.turn = turn;
		rc = bs_toeplitz_cuda_need(&s, &bytes[1], &why);
		if (rc == 0 && turn < s.coils)
			rc = bs_devmem_open(&mem, bytes[1], "twin_toeplitz", &why);
		if (rc == 0 && turn < s.coils)
			rc = bs_toeplitz_cuda_plan(&own, &s, q, &mem, &why);
		if (rc == 0)
			rc = bs_toeplitz_cuda_apply(own, s.coils, in, out, NULL, &why);
		hash[0] = rc == 0 && fetch(got, out, n) ? hash_of(got, n) : 0;
		if (rc == 0)
			rc = bs_toeplitz_cuda_sense(own, s.coils, maps, in, NULL, out, NULL, &why);
		hash[1] =
			rc == 0 && fetch(got, out, p->voxels * 2) ? hash_of(got, p->voxels * 2) : 0;
		if (turn == s.coils)
			memcpy(whole, hash, sizeof(whole));
		CHECK(rc == 0 && hash[0] != 0 && memcmp(whole, hash, sizeof(whole)) == 0 &&
			      bytes[1] <= bytes[0],
		      "%ux%ux%u, %u coils, %u a turn: the same bytes, in %llu of %llu %s",
		      s.matrix[0], s.matrix[1], s.matrix[2], s.coils, turn,
		      (unsigned long long)bytes[1], (unsigned long long)bytes[0], why.text);
		if (turn < s.coils) {
			CHECK(bs_toeplitz_cuda_sense(own, s.coils, maps, in, NULL, in, NULL,
						     &why) == BS_ERR_SIZE,
			      "in place refused: %s", why.text);
			why.text[0] = '\0';
			bs_toeplitz_cuda_close(own);
		}
		bs_devmem_close(&mem);
	}
	CHECK(rc == 0, "turns %s", why.text);
	(void)cudaFree(in);
	(void)cudaFree(maps);
	(void)cudaFree(out);
	free(got);
}

static void check_size(uint32_t dims, uint32_t x, uint32_t y, uint32_t z, uint32_t coils, int runs)
{
	struct problem p;
	struct bs_devmem mem = { 0 };
	struct bs_toeplitz_cuda *plan = NULL;
	struct bs_fail why = { 0 };
	uint64_t bytes = 0;

	make_problem(&p, dims, x, y, z, coils);
	float *q = device_copy(p.q, p.q_floats);
	int rc = bs_toeplitz_cuda_need(&p.spec, &bytes, &why);

	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes, "twin_toeplitz", &why);
	if (rc == 0)
		rc = bs_toeplitz_cuda_plan(&plan, &p.spec, q, &mem, &why);
	CHECK(rc == 0, "plan %ux%ux%u %s", x, y, z, why.text);
	if (rc == 0) {
		compare(&p, plan, runs);
		if (has_planes(&p.spec))
			passes(&p, plan, q);
		if (dims == 3 && coils > 2 && coils < 8)
			turns(&p, plan, q);
	}
	bs_toeplitz_cuda_close(plan);
	bs_devmem_close(&mem);
	(void)cudaFree(q);
	drop_problem(&p);
}

static void compare_all(void)
{
	static const uint32_t padded[] = { 64,  80,  96,  112, 128, 160, 192, 224, 256,
					   288, 320, 384, 448, 512, 640, 768, 896, 1024 };
	const int sizes = (int)(sizeof(padded) / sizeof(padded[0]));

	check_size(3, 16, 16, 16, 1, 2);
	check_size(3, 37, 22, 19, 2, 2);
	check_size(3, 65, 17, 33, 1, 2);
	check_size(3, 20, 18, 16, 3, 2);
	check_size(3, 20, 41, 44, 5, 2); /* by planes, too */
	check_size(3, 9, 40, 61, 2, 2);  /* y and z in one pass, clusters of two */
	check_size(3, 17, 65, 90, 2, 2); /* of eight */
	/* every padded size: x, then y and z, at its most and at its least voxels, odd ones */
	for (int i = 0; i < sizes; i++) {
		const uint32_t low = i == 0 ? 1 : padded[i - 1] / 2 + 1;
		const uint32_t high = padded[i] / 2;

		CHECK(bs_toeplitz_cuda_padded(3, low) == (int)padded[i] &&
			      bs_toeplitz_cuda_padded(3, high) == (int)padded[i],
		      "%u to %u voxels on %u", low, high, padded[i]);
		check_size(3, high, 3, 2, 2, 2);
		check_size(3, 5, low, 7, 1, 2);
		check_size(2, 9, high, 1, 2, 2);
		check_size(2, low, high, 1, 1, 2);
		if (high <= 320 && !small())
			check_size(2, low, high, 1, 2, 2);
		if (high <= 256 && !small())
			check_size(3, 2, high, low, 2, 2);
	}
	CHECK(bs_toeplitz_cuda_padded(3, 513) == 0 && bs_toeplitz_cuda_padded(3, 0) == 0 &&
		      bs_toeplitz_cuda_padded(2, 513) == 0 && bs_toeplitz_cuda_padded(2, 0) == 0,
	      "no more");
	check_size(2, 33, 50, 1, 3, 2);
	/* thin: slabs, few partitions, rows and columns */
	check_size(3, 32, 32, 4, 2, 2);
	check_size(3, 20, 33, 3, 1, 2);
	check_size(3, 17, 16, 1, 2, 2);
	check_size(2, 5, 7, 1, 2, 2);
	check_size(2, 1, 16, 1, 1, 2);
	if (!small()) {
		check_size(2, 256, 256, 1, 1, 2);
		check_size(2, 256, 256, 1, 8, 2);
		check_size(2, 256, 256, 1, 32, 2);
		check_size(2, 320, 320, 1, 16, 2);
		check_size(2, 300, 512, 1, 1, 2);
		check_size(3, 64, 64, 64, 1, 100);
		check_size(3, 128, 128, 128, 1, 10);
		check_size(3, 160, 96, 5, 2, 2);
		check_size(3, 160, 160, 160, 1, 2);
		check_size(3, 48, 192, 191, 2, 2);
		check_size(3, 33, 220, 219, 2, 2);
	}
}

int main(void)
{
	return twin_main("Toeplitz operator on the GPU", 8, compare_all);
}
