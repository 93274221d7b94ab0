/*
 * test/twin/twin_unfold.c - Cartesian SENSE on the GPU against the host's; the same bytes every run
 *
 * Twelve iterations on systems of condition some tens: each adds a few single-precision roundings
 * to what the transforms differ by (1e-6), so 1e-5 for the images.
 */
#include "test/support/check.h"
#include "gpu/image/unfold.h"
#include "gpu/image/unfold_cuda.h"
#include "test/twin/device.h"

#define RUNS       20
#define ITERATIONS 12u

struct problem {
	const char *name;
	struct bs_unfold_spec s;
	uint32_t step; /* of lines, shifted by one from partition to partition */
	bool w;
	uint32_t alone; /* slice that lines hold alone; 0: they hold all */
};

struct parts {
	size_t voxels, values, input; /* of an image; of the maps; of the coil images */
	float *others, *maps; /* maps of another group, where there are groups; and of this one */
	float *images, *want, *got;
	uint8_t *lines;
	struct bs_unfold_group group;
	struct bs_csr w;
};

/* Differences between neighbors in memory, and a row that holds the level. */
static int make_w(struct bs_csr *w, size_t voxels)
{
	const size_t n = voxels - 1;

	if (bs_csr_open(w, n + 1, voxels, 2 * n + 1, false, NULL) != 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		w->col[2 * i] = (uint32_t)i;
		w->col[2 * i + 1] = (uint32_t)i + 1;
		w->value[2 * i] = -0.7f;
		w->value[2 * i + 1] = 0.7f;
		w->start[i + 1] = 2 * (i + 1);
	}
	w->col[2 * n] = 0;
	w->value[2 * n] = 0.5f;
	w->start[n + 1] = 2 * n + 1;
	return bs_csr_seal(w, NULL) == 0;
}

static int host(const struct problem *t, const struct parts *p, struct bs_pcg_result *result)
{
	const struct bs_pcg_stop stop = { t->s.iterations, 0.0, INT64_MAX };
	struct bs_unfold *plan = NULL;
	struct bs_arena arena = { 0 };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_unfold_need(&t->s, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_unfold_plan(&plan, &t->s, t->w ? &p->w : NULL, &arena, team, &why);
	CHECK(rc == 0, "%s: host %s", t->name, why.text);
	if (rc == 0 && t->s.group > 0)
		bs_unfold_hold(plan, &p->group);
	if (rc == 0)
		bs_unfold_solve(plan, p->maps, p->lines, p->images, p->want, &stop, result);
	bs_unfold_close(plan);
	bs_arena_close(&arena);
	return rc;
}

static void device(const struct problem *t, const struct parts *p, struct bs_pcg_result *result)
{
	const size_t n = p->voxels * t->s.sets * 2;
	struct bs_unfold_cuda *plan = NULL;
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	/* of slices at once, maps of another group come first, for which a solve is made before */
	const uint64_t before = t->s.group > 0 ? p->values : 0;
	float *maps = device_copy(p->others, (before + p->values) * 2);
	float *images = device_copy(p->images, p->input * 2);
	float *rho = device_copy(NULL, n);
	uint64_t bytes = 0;
	uint64_t first = 0;
	int same = 1;
	int rc = bs_unfold_cuda_need(&t->s, t->w ? &p->w : NULL, &bytes, &why);

	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes, "twin", &why);
	if (rc == 0)
		rc = bs_unfold_cuda_plan(&plan, &t->s, t->w ? &p->w : NULL, maps, images, rho, 0.0,
					 &mem, &why);
	CHECK(rc == 0 && bs_devmem_round(mem.used) == mem.size,
	      "%s: plan takes what need states: %zu of %zu %s", t->name, mem.used, mem.size,
	      why.text);
	if (rc == 0 && t->s.group > 0) {
		bs_unfold_cuda_hold(plan, &p->group, 0);
		rc = bs_unfold_cuda_solve(plan, p->lines, t->s.iterations, INT64_MAX, NULL, result,
					  &why);
		bs_unfold_cuda_hold(plan, &p->group, before);
	}
	for (int run = 0; rc == 0 && run < (small() ? 2 : RUNS); run++) {
		/* every other one watched: under a deadline that is far */
		rc = bs_unfold_cuda_solve(plan, p->lines, t->s.iterations,
					  run % 2 == 0 ? INT64_MAX : INT64_MAX - 1, NULL, result,
					  &why);
		if (rc == 0 && !fetch(p->got, rho, n))
			rc = -1;
		if (run == 0)
			first = hash_of(p->got, n);
		same &= hash_of(p->got, n) == first;
	}
	CHECK(rc == 0 && same, "%s: the same bytes every run %s", t->name, why.text);
	bs_unfold_cuda_close(plan);
	bs_devmem_close(&mem);
	(void)cudaFree(maps);
	(void)cudaFree(images);
	(void)cudaFree(rho);
}

static void one(const struct problem *t)
{
	const struct bs_unfold_spec *s = &t->s;
	const double cycles[] = { 0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0 };
	struct parts p = { .voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2],
			   .group = { t->alone, t->alone > 0 ? t->alone + 1 : s->matrix[2],
				      cycles } };
	struct bs_pcg_result a = { 0 };
	struct bs_pcg_result b = { 0 };
	uint64_t seed = 77;
	double e;

	p.values = p.voxels * s->coils * s->sets;
	p.others = malloc(p.values * (s->group > 0 ? 16 : 8));
	p.maps = p.others + (s->group > 0 ? 2 * p.values : 0);
	p.input = s->group > 0 ? (size_t)s->coils * s->encoded[0] * s->matrix[0]
			       : p.voxels * s->coils;
	p.images = malloc(p.input * 8);
	p.want = malloc(p.voxels * s->sets * 8);
	p.got = malloc(p.voxels * s->sets * 8);
	p.lines = malloc((size_t)s->encoded[0] * s->encoded[1]);
	fill_random(p.others, (size_t)(p.maps - p.others), &seed);
	fill_random(p.maps, p.values * 2, &seed);
	fill_random(p.images, p.input * 2, &seed);
	for (uint32_t l = 0; l < s->encoded[0] * s->encoded[1]; l++)
		p.lines[l] = (l % s->encoded[0] + l / s->encoded[0]) % t->step == 0;
	if (t->w)
		CHECK(make_w(&p.w, p.voxels), "%s: W", t->name);
	if (host(t, &p, &a) == 0) {
		device(t, &p, &b);
		e = check_rel(p.got, p.want, p.voxels * s->sets * 2);
		CHECK(e <= 1e-5, "%s: image %.1e of the host's <= 1e-5", t->name, e);
		CHECK(a.iterations == b.iterations &&
			      fabs(a.residual - b.residual) <= 1e-4 * a.residual + 1e-6,
		      "%s: %u iterations to %.2e, the host %u to %.2e", t->name, b.iterations,
		      b.residual, a.iterations, a.residual);
	}
	if (t->w)
		bs_csr_close(&p.w);
	free(p.others);
	free(p.images);
	free(p.want);
	free(p.got);
	free(p.lines);
}

static void compare_all(void)
{
	const struct problem problems[] = {
		{ "2D", { { 64, 1 }, { 48, 64, 1 }, 8, 1, ITERATIONS, 0.05, 0, 0 }, 2, false, 0 },
		{ "2D, odd",
		  { { 45, 1 }, { 31, 45, 1 }, 5, 1, ITERATIONS, 0.05, 0, 0 },
		  3,
		  false,
		  0 },
		{ "2D, fewer rows than lines",
		  { { 40, 1 }, { 33, 30, 1 }, 4, 1, ITERATIONS, 0.1, 0, 0 },
		  2,
		  false,
		  0 },
		{ "two sets",
		  { { 36, 1 }, { 20, 36, 1 }, 8, 2, ITERATIONS, 0.1, 0, 0 },
		  2,
		  false,
		  0 },
		{ "W", { { 32, 1 }, { 32, 32, 1 }, 4, 1, ITERATIONS, 0.1, 0, 0 }, 2, true, 0 },
		{ "3D", { { 24, 20 }, { 18, 24, 17 }, 6, 1, ITERATIONS, 0.1, 0, 0 }, 3, false, 0 },
		{ "3D, W",
		  { { 20, 12 }, { 16, 20, 12 }, 4, 1, ITERATIONS, 0.1, 0, 0 },
		  2,
		  true,
		  0 },
		{ "160 x 192, 32 coils",
		  { { 192, 1 }, { 160, 192, 1 }, 32, 1, ITERATIONS, 0.05, 0, 0 },
		  4,
		  false,
		  0 },
		{ "2 slices at once, odd",
		  { { 45, 1 }, { 31, 45, 2 }, 6, 1, ITERATIONS, 0.05, 31 * 45 * 6, 0 },
		  1,
		  false,
		  0 },
		{ "3 slices at once, R = 2, fewer rows",
		  { { 40, 1 }, { 33, 29, 3 }, 8, 1, ITERATIONS, 0.1, 33 * 29 * 8, 0 },
		  2,
		  false,
		  0 },
		{ "4 slices at once",
		  { { 104, 1 }, { 104, 104, 4 }, 12, 1, ITERATIONS, 0.1, 104 * 104 * 12, 0 },
		  2,
		  false,
		  0 },
		{ "one of 3 slices alone",
		  { { 36, 1 }, { 20, 36, 3 }, 5, 1, ITERATIONS, 0.1, 20 * 36 * 5, 0 },
		  1,
		  false,
		  1 },
	};

	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		one(&problems[i]);
}

int main(void)
{
	return twin_main("twins of Cartesian SENSE", 2, compare_all);
}
