/*
 * test/twin/twin_forward.c - the exact forward sum on the GPU against the host's in double
 * precision
 *
 * Bound 1e-5 relative: Horner's rule over sixteen factors each way, about 16 x 6e-8 of phase at
 * worst.
 */
#include "test/support/check.h"

#if BS_GPU
#include "core/thread/team.h"
#include "gpu/exact/exact.h"
#include "gpu/exact/exact_cuda.h"
#include "test/twin/device.h"

static void compare(struct bs_team *team, uint32_t dims, uint32_t x, uint32_t y, uint32_t z,
		    uint32_t coils, uint64_t samples)
{
	struct bs_exact_spec h = { .dims = dims,
				   .matrix = { x, y, z },
				   .coils = coils,
				   .samples = samples,
				   .forward = true,
				   .twice = true };
	struct bs_exact_forward_spec s = { dims, { x, y, z }, coils, samples };
	const size_t values = (size_t)x * y * z * coils * 2;
	const size_t n = (size_t)samples * coils * 2;
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_exact *plan = NULL;
	struct bs_fail why = { 0 };
	float *k = malloc((size_t)samples * dims * 4);
	float *image = malloc(values * 4);
	float *want = malloc(n * 4);
	float *got = malloc(n * 4);
	uint64_t seed = x + samples;
	uint64_t hash = 0;
	void *work = NULL;
	int same = 1;
	int rc;

	fill_k(k, (size_t)samples * dims, &seed);
	fill_random(image, values, &seed);
	rc = bs_exact_need(&h, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_exact_plan(&plan, &h, k, NULL, &arena, team, &why);
	if (rc == 0)
		bs_exact_forward(plan, image, want);
	float *dk = device_copy(k, (size_t)samples * dims);
	float *di = device_copy(image, values);
	float *dd = device_copy(NULL, n);

	if (rc == 0 && cudaMalloc(&work, bs_exact_forward_bytes(&s)) != cudaSuccess)
		rc = BS_ERR_NOMEM;
	for (int run = 0; rc == 0 && run < 3; run++) {
		rc = bs_exact_cuda_forward(&s, dk, di, dd, work, NULL, &why);
		if (rc == 0 && !fetch(got, dd, n))
			rc = BS_ERR_GPU;
		same &= run == 0 || hash_of(got, n) == hash;
		hash = hash_of(got, n);
	}
	double e = check_rel(got, want, n);

	CHECK(rc == 0 && e <= 1e-5, "forward %ux%ux%u, %u coils, %llu samples: %.1e %s", x, y, z,
	      coils, (unsigned long long)samples, e, why.text);
	CHECK(rc == 0 && same, "three runs, the same bytes");
	(void)cudaFree(dk);
	(void)cudaFree(di);
	(void)cudaFree(dd);
	(void)cudaFree(work);
	bs_exact_close(plan);
	bs_arena_close(&arena);
	free(k);
	free(image);
	free(want);
	free(got);
}
#endif

int main(void)
{
#if BS_GPU
	struct bs_gpu_info gpu;
	struct bs_team *team = NULL;
	struct bs_fail why;

	if (!device_answers("the exact forward sum", &gpu))
		return check_done();
	CHECK(bs_team_open(&team, 4, &why) == 0, "team");
	compare(team, 2, 64, 48, 1, 3, 1000);
	compare(team, 2, 37, 51, 1, 1, 333);
	compare(team, 3, 32, 32, 32, 2, 5000);
	compare(team, 3, 31, 17, 45, 1, 257);
	compare(team, 3, 16, 16, 16, 1, 1);
	if (!small())
		compare(team, 2, 256, 256, 1, 1, 20000);
	bs_team_close(team);
#else
	SKIP("the exact forward sum on the GPU: built with GPU=0");
#endif
	return check_done();
}
