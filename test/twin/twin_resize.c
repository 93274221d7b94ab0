/*
 * test/twin/twin_resize.c - the image on another matrix, and the combination behind it, on the
 * device: against the definition in double precision and against the host
 *
 * The bounds are those of test/unit/gpu/test_resize.c: a few roundings of 6e-8 a factor of the
 * lengths.
 */
#include "test/support/check.h"
#include "core/thread/team.h"
#include "gpu/image/combine.h"
#include "gpu/image/resize.h"
#include "test/support/resized.h"
#include "test/twin/device.h"

#define IMAGES 3u

static uint64_t seed = 90210;

static const struct bs_resize_spec specs[] = {
	{ { 15, 16, 1 }, { 32, 33, 1 }, IMAGES },     { { 64, 48, 1 }, { 48, 64, 1 }, IMAGES },
	{ { 160, 7, 1 }, { 192, 7, 1 }, IMAGES },     { { 9, 220, 1 }, { 9, 160, 1 }, IMAGES },
	{ { 37, 61, 1 }, { 61, 37, 1 }, IMAGES },     { { 12, 10, 9 }, { 9, 16, 20 }, IMAGES },
	{ { 16, 17, 4 }, { 16, 17, 16 }, IMAGES },    { { 20, 21, 22 }, { 11, 10, 7 }, IMAGES },
	{ { 1, 17, 5 }, { 1, 34, 5 }, IMAGES },       { { 1, 2, 1 }, { 4, 4, 4 }, IMAGES },
	{ { 256, 256, 1 }, { 512, 512, 1 }, IMAGES },
};

static void one(const struct bs_resize_spec *s)
{
	const size_t n = 2 * (size_t)s->from[0] * s->from[1] * s->from[2];
	const size_t m = 2 * (size_t)s->to[0] * s->to[1] * s->to[2];
	float *in = malloc(n * IMAGES * 4);
	float *want = malloc(m * IMAGES * 4);
	float *out = malloc(m * IMAGES * 4);
	float *again = malloc(m * IMAGES * 4);
	struct bs_resize_cuda *r = NULL;
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_devmem_open(&mem, bs_resize_cuda_bytes(s), "twin", &why);

	fill_random(in, n * IMAGES, &seed);
	for (uint32_t i = 0; i < IMAGES; i++)
		resized(want + i * m, in + i * n, s->from, s->to);
	float *from = device_copy(in, n * IMAGES);
	float *to = device_copy(NULL, m * IMAGES);

	if (rc == 0)
		rc = bs_resize_cuda_plan(&r, s, &mem, &why);
	CHECK(rc == 0 && bs_devmem_round(mem.used) == mem.size,
	      "%ux%ux%u to %ux%ux%u: bytes says what plan takes %s", s->from[0], s->from[1],
	      s->from[2], s->to[0], s->to[1], s->to[2], why.text);
	if (rc == 0)
		rc = bs_resize_cuda_run(r, from, to, NULL, &why);
	(void)fetch(out, to, m * IMAGES);
	if (rc == 0)
		rc = bs_resize_cuda_run(r, from, to, NULL, &why);
	(void)fetch(again, to, m * IMAGES);
	const double e = check_rel(out, want, m * IMAGES);

	CHECK(rc == 0 && e <= 1e-6 && memcmp(out, again, m * IMAGES * 4) == 0,
	      "%ux%ux%u to %ux%ux%u: error %.1e, the same bytes again %s", s->from[0], s->from[1],
	      s->from[2], s->to[0], s->to[1], s->to[2], e, why.text);
	bs_resize_cuda_close(r);
	bs_devmem_close(&mem);
	(void)cudaFree(from);
	(void)cudaFree(to);
	free(in);
	free(want);
	free(out);
	free(again);
}

/* The same protocol on the host and on the device. */
static void combine(const struct bs_protocol *p)
{
	const size_t n = 2 * (size_t)bs_protocol_voxels(p) * p->coils;
	const size_t m = (size_t)bs_protocol_image_bytes(p) / 4;
	float *in = malloc(n * 4);
	float *maps = malloc(n * 4);
	float *want = malloc(m * 4);
	float *out = malloc(m * 4);
	struct bs_combiner_cuda *c = NULL;
	struct bs_combiner *h = NULL;
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_devmem mem = { 0 };
	const struct bs_flow none = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_combiner_need(p, &need, &why);

	fill_random(in, n, &seed);
	fill_random(maps, n, &seed);
	float *d_in = device_copy(in, n);
	float *d_maps = device_copy(maps, n);
	float *d_out = device_copy(NULL, m);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_combiner_plan(&h, p, &arena, team, &why);
	if (rc == 0)
		rc = bs_devmem_open(&mem, bs_combiner_cuda_bytes(p), "twin", &why);
	if (rc == 0)
		rc = bs_combiner_cuda_plan(&c, p, &mem, &why);
	CHECK(rc == 0 && bs_devmem_round(mem.used) == mem.size, "bytes says what plan takes %s",
	      why.text);
	if (rc == 0)
		bs_combiner_run(h, in, maps, &none, want);
	if (rc == 0)
		rc = bs_combiner_cuda_run(c, d_in, d_maps, &none, d_out, NULL, &why);
	(void)fetch(out, d_out, m);
	const double e = check_rel(out, want, m);

	/* both have the 3e-7 of their transforms */
	CHECK(rc == 0 && e <= 1e-6, "method %s, combine %d, output %d, %ux%u to %ux%u: %.1e %s",
	      bs_method_name(p->method), p->combine, p->output, p->matrix[0], p->matrix[1],
	      p->image_matrix[0], p->image_matrix[1], e, why.text);
	bs_combiner_cuda_close(c);
	bs_combiner_close(h);
	bs_arena_close(&arena);
	bs_devmem_close(&mem);
	(void)cudaFree(d_in);
	(void)cudaFree(d_maps);
	(void)cudaFree(d_out);
	free(in);
	free(maps);
	free(want);
	free(out);
}

static void combinations(void)
{
	static const uint32_t sizes[][2] = { { 40, 27 }, { 64, 48 }, { 21, 48 }, { 40, 13 } };
	struct bs_protocol p;

	memset(&p, 0, sizeof(p));
	p.dims = 2;
	p.coils = 5;
	p.matrix[0] = 40;
	p.matrix[1] = 27;
	p.matrix[2] = p.image_matrix[2] = 1;
	bs_plan_make(&p);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int how = BS_COMBINE_NONE; how <= BS_COMBINE_SENSE; how++)
			for (int o = BS_OUTPUT_MAGNITUDE; o <= BS_OUTPUT_COMPLEX; o++) {
				p.method = BS_METHOD_GRIDDING;
				p.combine = (enum bs_combine)how;
				p.output = (enum bs_output)o;
				p.image_matrix[0] = sizes[i][0];
				p.image_matrix[1] = sizes[i][1];
				bs_plan_make(&p);
				combine(&p);
				if (how != BS_COMBINE_SENSE)
					continue;
				p.method = BS_METHOD_SENSE;
				bs_plan_make(&p);
				combine(&p);
			}
}

static void compare_all(void)
{
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		one(&specs[i]);
	combinations();
}

int main(void)
{
	return twin_main("images on another matrix", 2, compare_all);
}
