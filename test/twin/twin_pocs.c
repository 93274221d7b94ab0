/*
 * test/twin/twin_pocs.c - partial Fourier by projections on the device against the host's; the same
 * bytes every run
 *
 * Bound 1e-5, relative: that of test/unit/gpu/test_pocs.c against double precision. Both transform
 * some tens of times in float, at some 1e-7 each.
 */
#define _DEFAULT_SOURCE /* M_PI */
#include "test/support/check.h"
#include "core/thread/team.h"
#include "gpu/image/pocs_cuda.h"
#include "test/twin/device.h"

#define RUNS 3

static uint64_t seed = 86;

struct problem {
	const char *name;
	struct bs_pocs_spec s;
	struct bs_pocs_span spans[3];
};

/* Smooth, so that the center of k-space says something about the phase; and noise. */
static void fill_images(float *v, const struct bs_pocs_spec *s)
{
	for (uint32_t c = 0; c < s->images; c++)
		for (uint32_t z = 0; z < s->size[2]; z++)
			for (uint32_t y = 0; y < s->size[1]; y++)
				for (uint32_t x = 0; x < s->size[0]; x++, v += 2) {
					const double at = 0.3 * c + 2.0 * x / s->size[0] +
							  1.5 * y / s->size[1] +
							  1.1 * z / s->size[2];
					const double size =
						1.0 +
						0.5 * sin(9.0 * M_PI * x / s->size[0]) *
							cos(7.0 * M_PI * y / s->size[1]) +
						0.1 * (check_uniform(&seed) - 0.5);

					v[0] = (float)(size * cos(at));
					v[1] = (float)(size * sin(at));
				}
}

static int host_run(const struct problem *t, const float *images, size_t n, float *out,
		    struct bs_fail *why)
{
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_pocs *plan = NULL;
	float *in = malloc(n * 4);
	int rc = bs_pocs_need(&t->s, &need, why);

	memcpy(in, images, n * 4);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_pocs_plan(&plan, &t->s, &arena, team, why);
	if (rc == 0)
		bs_pocs_run(plan, t->spans, in, out);
	bs_pocs_close(plan);
	bs_arena_close(&arena);
	free(in);
	return rc;
}

static void compare(const struct problem *t)
{
	const size_t n = (size_t)2 * t->s.size[0] * t->s.size[1] * t->s.size[2] * t->s.images;
	const size_t kept =
		(size_t)2 * t->s.matrix[0] * t->s.matrix[1] * t->s.matrix[2] * t->s.images;
	float *images = malloc(n * 4);
	float *want = malloc(kept * 4);
	float *got = malloc(kept * 4);
	float *first = malloc(kept * 4);
	float *spare = device_copy(NULL, n);
	float *out = device_copy(NULL, kept);
	struct bs_pocs_cuda *plan = NULL;
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	uint64_t bytes = 0;
	int same = 1;
	int rc;

	fill_images(images, &t->s);
	rc = host_run(t, images, n, want, &why);
	if (rc == 0)
		rc = bs_pocs_cuda_need(&t->s, &bytes, &why);
	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes, "twin", &why);
	if (rc == 0)
		rc = bs_pocs_cuda_plan(&plan, &t->s, &mem, &why);
	CHECK(rc == 0 && bs_devmem_round(mem.used) == bytes, "%s: plan takes what need says %s",
	      t->name, why.text);
	mem.sealed = true;
	for (int run = 0; rc == 0 && run < RUNS; run++) {
		float *in = device_copy(images, n);

		rc = bs_pocs_cuda_run(plan, t->spans, in, spare, out, NULL, &why);
		if (rc == 0 && !fetch(run == 0 ? first : got, out, kept))
			rc = -1;
		same &= run == 0 || memcmp(first, got, kept * 4) == 0;
		(void)cudaFree(in);
	}
	CHECK(rc == 0 && check_rel(first, want, kept) <= 1e-5 && same,
	      "%s: differs by %.1e, the same bytes every run %s", t->name,
	      check_rel(first, want, kept), why.text);
	bs_pocs_cuda_close(plan);
	bs_devmem_close(&mem);
	(void)cudaFree(spare);
	(void)cudaFree(out);
	free(images);
	free(want);
	free(got);
	free(first);
}

static void all(void)
{
	/* clang-format off */
	static const struct problem problems[] = {
		{ "lines end early, 160 x 192, 8 images", { { 160, 192, 1 }, { 160, 160, 1 }, 8, 10,
		  0.5 }, { { 0, 160 }, { 0, 120 }, { 0, 1 } } },
		{ "lines begin late, 220 x 220", { { 220, 220, 1 }, { 110, 220, 1 }, 3, 10, 0.5 }, {
		  { 0, 220 }, { 57, 220 }, { 0, 1 } } },
		{ "asymmetric echo, odd sizes", { { 127, 61, 1 }, { 64, 33, 1 }, 5, 7, 0.3 }, {
		  { 31, 127 }, { 0, 61 }, { 0, 1 } } },
		{ "echo and lines", { { 96, 90, 1 }, { 48, 90, 1 }, 2, 12, 1.0 }, { { 20, 96 },
		  { 0, 60 }, { 0, 1 } } },
		{ "a slab: partitions alone", { { 32, 32, 12 }, { 32, 32, 8 }, 4, 10, 0.5 }, {
		  { 0, 32 }, { 0, 32 }, { 4, 12 } } },
		{ "3D, all three axes, no taper", { { 45, 38, 22 }, { 30, 38, 22 }, 2, 5, 0.0 }, {
		  { 12, 45 }, { 0, 27 }, { 3, 22 } } },
		{ "3D, lines and partitions", { { 33, 40, 16 }, { 33, 20, 9 }, 1, 8, 0.5 }, {
		  { 0, 33 }, { 9, 40 }, { 0, 12 } } },
		{ "whole: cropped", { { 50, 31, 3 }, { 20, 31, 2 }, 2, 4, 0.5 }, { { 0, 50 },
		  { 0, 31 }, { 0, 3 } } },
		{ "a partial axis without its center: cropped", { { 50, 30, 1 }, { 20, 30, 1 }, 2,
		  4, 0.5 }, { { 0, 50 }, { 0, 14 }, { 0, 1 } } },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		compare(&problems[i]);
}

int main(void)
{
	return twin_main("partial Fourier on the GPU", 2, all);
}
