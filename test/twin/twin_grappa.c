/*
 * test/twin/twin_grappa.c - missing lines filled on the device and on the host, from the same
 * weights; the same bytes every run
 *
 * Bound 1e-5, relative: sums of at most a thousand products in float, in another order: eps sqrt(n)
 * is 2e-6, and the phases are applied to the samples here, to the weights there.
 */
#include "test/support/check.h"
#include "core/thread/team.h"
#include "gpu/grappa/grappa_cuda.h"
#include "test/twin/device.h"

#define RUNS 20

static uint64_t seed = 1202;

/* Every step-th line, shifted by shift from partition to partition, and a block in the middle. */
static void measure(const struct bs_grappa_spec *s, uint8_t *have, uint32_t step, uint32_t shift)
{
	for (uint32_t l = 0; l < s->encoded[1] * s->encoded[2]; l++) {
		const uint32_t y = l % s->encoded[1];
		const uint32_t z = l / s->encoded[1];

		have[l] = (y + shift * z) % step == 0 ||
			  (y >= s->encoded[1] / 2 - 3 && y < s->encoded[1] / 2 + 3 &&
			   z + 2 >= s->encoded[2] / 2 && z < s->encoded[2] / 2 + 2);
	}
}

/* The host's weights and lines, and the device's lines. */
static void compare(const struct bs_grappa_spec *s, const struct bs_grappa *host, const float *in,
		    const float *want, size_t n, bool wrapped)
{
	struct bs_grappa_cuda *g = NULL;
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	float *out = malloc(n * 4);
	float *data = NULL;
	uint64_t first = 0;
	int same = 1;
	int rc = bs_devmem_open(&mem, bs_grappa_cuda_bytes(s), "twin", &why);

	if (rc == 0)
		rc = bs_grappa_cuda_plan(&g, s, &mem, &why);
	CHECK(rc == 0 && bs_devmem_round(mem.used) == mem.size,
	      "%u coils, %u x %u lines: bytes says what plan takes %s", s->coils, s->encoded[1],
	      s->encoded[2], why.text);
	if (rc == 0)
		rc = bs_grappa_cuda_load(g, host, NULL, &why);
	for (int run = 0; rc == 0 && run < (small() ? 2 : RUNS); run++) {
		(void)cudaFree(data);
		data = device_copy(in, n);
		rc = bs_grappa_cuda_fill(g, data, wrapped, NULL, &why);
		if (rc == 0 && !fetch(out, data, n))
			rc = -1;
		if (run == 0)
			first = hash_of(out, n);
		same &= hash_of(out, n) == first;
	}
	CHECK(rc == 0 && check_rel(out, want, n) <= 1e-5 && same,
	      "%u coils, %u x %u lines%s: differs by %.1e, the same bytes in each run %s", s->coils,
	      s->encoded[1], s->encoded[2], wrapped ? ", wrapped" : "", check_rel(out, want, n),
	      why.text);
	(void)cudaFree(data);
	bs_grappa_cuda_close(g);
	bs_devmem_close(&mem);
	free(out);
}

static void one(const struct bs_grappa_spec *s, uint32_t step, uint32_t shift)
{
	const size_t lines = (size_t)s->encoded[1] * s->encoded[2];
	const size_t n = 2 * lines * s->columns * s->coils;
	const size_t cal = (size_t)2 * s->encoded[0] * s->lines[0] * s->lines[1] * s->coils;
	float *calibration = malloc(cal * 4);
	float *in = malloc(n * 4);
	float *want = malloc(n * 4);
	uint8_t *have = malloc(lines);
	struct bs_grappa_lines box = { .at = calibration,
				       .y_step = s->encoded[0],
				       .z_step = (size_t)s->encoded[0] * s->lines[0],
				       .lines = { s->lines[0], s->lines[1] },
				       .version = 1 };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_grappa *host = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_grappa_need(s, &need, &why);

	box.coil_step = box.z_step * s->lines[1];
	fill_random(calibration, cal, &seed);
	fill_random(in, n, &seed);
	measure(s, have, step, shift);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_grappa_plan(&host, s, &arena, team, &why);
	if (rc == 0)
		rc = bs_grappa_prepare(host, 0, have, &box, &why);
	CHECK(rc == 0, "%u coils: weights %s", s->coils, why.text);
	for (int wrapped = 0; rc == 0 && wrapped < 2; wrapped++) {
		memcpy(want, in, n * 4);
		bs_grappa_fill(host, want, wrapped);
		compare(s, host, in, want, n, wrapped);
	}
	bs_grappa_close(host);
	bs_arena_close(&arena);
	free(calibration);
	free(in);
	free(want);
	free(have);
}

static void compare_all(void)
{
	static const struct bs_grappa_spec plane = { { 192, 160, 1 }, 160, 12,   { 5, 9, 1 }, 2, 32,
						     { 24, 1 },       1,   3e-3, true };
	static const struct bs_grappa_spec odd = { { 61, 33, 1 }, 31, 3,    { 3, 5, 1 }, 0, 32,
						   { 14, 1 },     1,  1e-3, false };
	static const struct bs_grappa_spec volume = { { 48, 21, 13 }, 48, 4,    { 5, 5, 5 }, 8, 300,
						      { 9, 9 },       1,  1e-2, false };
	static const struct bs_grappa_spec many = { { 40, 24, 1 }, 40, 32,   { 3, 5, 1 }, 2, 16,
						    { 16, 1 },     1,  1e-3, true };

	one(&plane, 4, 0);
	one(&odd, 2, 0);
	one(&volume, 4, 2);
	one(&many, 3, 0);
}

int main(void)
{
	return twin_main("GRAPPA on the device", 2, compare_all);
}
