/*
 * test/twin/twin_mix.c - coils mixed by a small matrix: CUDA against the host
 *
 * Both sum n products of floats in the same order and may fuse each: 2 (n + 1) 2^-24 of the sum of
 * their magnitudes apart at most, which for 64 coils of random data is below 1e-5 of the result.
 */
#include "test/support/check.h"

#if BS_GPU
#include "gpu/calibrate/mix.h"
#include "test/twin/device.h"

#define MOST (64 * 1003 * 2)

static const struct {
	uint32_t virtual_coils, coils, samples, stride, out_stride;
} sizes[] = { { 1, 1, 1, 1, 1 },
	      { 8, 20, 128, 128, 128 },
	      { 5, 17, 129, 140, 133 },
	      { 64, 64, 1000, 1003, 1001 },
	      { 9, 33, 127, 127, 127 } };

static float data[MOST], matrix[64 * 64 * 2], host[MOST], cuda[MOST];

static void compare(size_t i, uint64_t *seed)
{
	const uint32_t v = sizes[i].virtual_coils;
	const uint32_t n = sizes[i].coils;
	const size_t in = (size_t)2 * n * sizes[i].stride;
	const size_t out = (size_t)2 * v * sizes[i].out_stride;
	struct bs_fail why = { 0 };
	uint64_t hash = 0;

	fill_random(data, in, seed);
	fill_random(matrix, (size_t)2 * v * n, seed);
	float *d = device_copy(data, in);
	float *m = device_copy(matrix, (size_t)2 * v * n);
	float *o = device_copy(NULL, out);

	CHECK(d != NULL && m != NULL && o != NULL, "memory on the device");
	if (d == NULL || m == NULL || o == NULL)
		return;
	for (int turn = 0; turn < 2; turn++) {
		CHECK(bs_mix_cuda(o, sizes[i].out_stride, m, v, n, sizes[i].samples, d,
				  sizes[i].stride, NULL, &why) == 0 &&
			      fetch(cuda, o, out),
		      "%u of %u coils, %u samples %s", v, n, sizes[i].samples, why.text);
		CHECK(turn == 0 || hash_of(cuda, out) == hash, "the same bytes again");
		hash = hash_of(cuda, out);
	}
	/* what lies between the rows stays */
	memset(host, 0x7f, out * sizeof(float));
	bs_mix(host, sizes[i].out_stride, matrix, v, n, sizes[i].samples, data, sizes[i].stride);
	for (size_t r = 0; r < v; r++) {
		const size_t at = 2 * r * sizes[i].out_stride;
		const size_t used = (size_t)2 * sizes[i].samples;

		CHECK(check_rel(cuda + at, host + at, used) < 1e-5 &&
			      memcmp(cuda + at + used, host + at + used,
				     (2 * (size_t)sizes[i].out_stride - used) * sizeof(float)) == 0,
		      "virtual coil %zu: %.1e", r, check_rel(cuda + at, host + at, used));
	}
	(void)cudaFree(d);
	(void)cudaFree(m);
	(void)cudaFree(o);
}

int main(void)
{
	struct bs_gpu_info gpu;
	uint64_t seed = 3;

	if (!device_answers("mixing of coils", &gpu))
		return 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		compare(i, &seed);
	return check_done();
}
#else
int main(void)
{
	SKIP("mixing of coils: this build has no CUDA");
	return 0;
}
#endif
