/*
 * test/twin/nufft/twin_nufft.c - CUDA gridding against the host twin and a direct sum in double
 * precision
 *
 * Bounds: both twins within the accuracy asked for of the direct sum, and within twice that of each
 * other. twin_nufft_places.c has the largest errors.
 */
#define _GNU_SOURCE /* M_PI */
#include "test/support/check.h"
#include "test/twin/nufft/trial.h"

#define POINTS 40 /* voxels and samples that are summed directly */

static int prepare(struct fixture *f, const struct trial *t, struct bs_fail *why)
{
	make_inputs(f, t);
	return open_plan(f, why);
}

static double angle(const struct fixture *f, uint64_t m, uint64_t voxel)
{
	const uint32_t *n = f->t->matrix;
	const float *k = f->k + m * f->t->dims;
	double x[3] = { (double)(voxel % n[0]) - n[0] / 2, (double)(voxel / n[0] % n[1]) - n[1] / 2,
			(double)(voxel / n[0] / n[1]) - n[2] / 2 };
	double a = 0.0;

	for (uint32_t i = 0; i < f->t->dims; i++)
		a += (double)k[i] * x[i];
	return 2.0 * M_PI * a;
}

/* Relative error at some voxels (samples) of every coil, by the direct sum. */
static double error_adjoint(const struct fixture *f, const float *out)
{
	double e = 0.0;
	double r = 0.0;

	for (int i = 0; i < POINTS; i++) {
		uint64_t v = (uint64_t)(check_uniform(&seed) * (double)f->voxels);
		uint32_t c = (uint32_t)i % f->t->coils;
		double re = 0.0;
		double im = 0.0;

		for (uint64_t m = 0; m < f->t->samples; m++) {
			const float *d = f->data + 2 * (c * f->t->samples + m);
			double a = angle(f, m, v);
			double w = (double)f->weight[m];

			re += w * (d[0] * cos(a) - d[1] * sin(a));
			im += w * (d[0] * sin(a) + d[1] * cos(a));
		}
		const float *o = out + 2 * (c * f->voxels + v);
		e += (o[0] - re) * (o[0] - re) + (o[1] - im) * (o[1] - im);
		r += re * re + im * im;
	}
	return sqrt(e / r);
}

static double error_forward(const struct fixture *f, const float *out)
{
	double e = 0.0;
	double r = 0.0;

	for (int i = 0; i < POINTS; i++) {
		uint64_t m = (uint64_t)(check_uniform(&seed) * (double)f->t->samples);
		uint32_t c = (uint32_t)i % f->t->coils;
		double re = 0.0;
		double im = 0.0;

		for (uint64_t v = 0; v < f->voxels; v++) {
			const float *d = f->image + 2 * (c * f->voxels + v);
			double a = -angle(f, m, v);

			re += d[0] * cos(a) - d[1] * sin(a);
			im += d[0] * sin(a) + d[1] * cos(a);
		}
		const float *o = out + 2 * (c * f->t->samples + m);
		e += (o[0] - re) * (o[0] - re) + (o[1] - im) * (o[1] - im);
		r += re * re + im * im;
	}
	return sqrt(e / r);
}

static void against_host(struct fixture *f)
{
	const struct trial *t = f->t;
	struct bs_arena arena;
	struct bs_need need = { 0 };
	struct bs_nufft *host = NULL;
	struct bs_fail why = { 0 };
	float *image = malloc(f->voxels * t->coils * 8);
	float *data = malloc(t->samples * t->coils * 8);
	double bound = 2.0 * t->accuracy;
	int rc = bs_nufft_need(&f->spec, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_nufft_plan(&host, &f->spec, f->k, f->weight, &arena, team, &why);
	CHECK(rc == 0, "%s: host twin planned%s%s", t->name, rc ? ": " : "", rc ? why.text : "");
	if (rc != 0)
		return;
	bs_nufft_adjoint(host, f->data, image);
	bs_nufft_forward(host, f->image, data);
	double a = check_rel(f->out_image, image, 2 * f->voxels * t->coils);
	double b = check_rel(f->out_data, data, 2 * t->samples * t->coils);

	CHECK(a <= bound && b <= bound,
	      "%s: twins differ by %.1e adjoint, %.1e forward; at most %.0e", t->name, a, b, bound);
	bs_nufft_close(host);
	bs_arena_close(&arena);
	free(image);
	free(data);
}

static void try(const struct trial *t, bool pieces)
{
	struct fixture f;
	struct bs_fail why = { 0 };
	struct bs_nufft_info info;
	int rc = prepare(&f, t, &why);
	double bound = t->accuracy;

	CHECK(rc == 0, "%s: planned%s%s", t->name, rc ? ": " : "", rc ? why.text : "");
	if (rc == 0 && adjoint(&f, f.out_image) && forward(&f, f.out_data)) {
		double a = error_adjoint(&f, f.out_image);
		double b = error_forward(&f, f.out_data);

		bs_nufft_cuda_info(f.cuda, &info);
		CHECK(a <= bound && b <= bound,
		      "%s (%u coils, %s, width %g, grid %u x %u x %u): adjoint %.1e, forward %.1e "
		      "from "
		      "the direct sum; at most %.0e",
		      t->name, t->coils, info.route, info.width, info.grid[0], info.grid[1],
		      info.grid[2], a, b, bound);
		CHECK((t->path == STACK) == (strcmp(info.route, "stack") == 0), "%s: its route",
		      t->name);
		against_host(&f);
		if (pieces)
			incremental(&f);
	} else if (rc == 0) {
		CHECK(false, "%s: ran: %s", t->name, cudaGetErrorString(cudaGetLastError()));
	}
	release(&f);
}

static void repeat(const struct trial *t)
{
	struct fixture f;
	struct bs_fail why;
	uint64_t first = 0;
	int same = 0;

	if (prepare(&f, t, &why) == 0)
		for (int i = 0; i < 100; i++) {
			uint64_t h = adjoint(&f, f.out_image)
					     ? hash_of(f.out_image, 2 * f.voxels * t->coils)
					     : (uint64_t)i;

			first = i == 0 ? h : first;
			same += h == first;
		}
	CHECK(same == 100, "%s: 100 runs, one hash (%d)", t->name, same);
	release(&f);
}

static void all(void)
{
	static const struct trial trials[] = {
		{ "2D odd 1e-3", RANDOM, 2, { 37, 51, 1 }, 5, 5000, 0, 1e-3 },
		{ "2D odd 1e-6", RANDOM, 2, { 37, 51, 1 }, 13, 5000, 1300, 1e-6 },
		{ "2D small 1e-4", RANDOM, 2, { 16, 17, 1 }, 2, 300, 100, 1e-4 },
		{ "2D radial 1e-6", RADIAL, 2, { 128, 128, 1 }, 1, 25600, 3200, 1e-6 },
		{ "2D radial 1e-3", RADIAL, 2, { 128, 128, 1 }, 8, 25600, 3200, 1e-3 },
		{ "2D coarse 1e-1", RANDOM, 2, { 64, 48, 1 }, 3, 3000, 0, 1e-1 },
		{ "3D odd 1e-3", RANDOM, 3, { 31, 45, 27 }, 3, 9000, 0, 1e-3 },
		{ "3D odd 1e-5", RANDOM, 3, { 31, 45, 27 }, 2, 9000, 2000, 1e-5 },
		{ "3D odd 1e-6", RANDOM, 3, { 33, 29, 35 }, 8, 9000, 4000, 1e-6 },
		{ "3D one coil 1e-6", RADIAL, 3, { 32, 32, 32 }, 1, 30000, 0, 1e-6 },
		{ "3D stack 1e-3", STACK, 3, { 48, 40, 12 }, 3, 12000, 3000, 1e-3 },
		{ "3D stack 1e-6", STACK, 3, { 40, 40, 22 }, 2, 22000, 0, 1e-6 },
		{ "3D many samples, eight coils 1e-3",
		  RADIAL,
		  3,
		  { 32, 32, 32 },
		  8,
		  500000,
		  60000,
		  1e-3 },
		/* thin: slabs, few partitions, rows and columns */
		{ "2D 5x7 1e-4", RANDOM, 2, { 5, 7, 1 }, 2, 200, 0, 1e-4 },
		{ "2D 1x16 1e-4", RANDOM, 2, { 1, 16, 1 }, 1, 200, 0, 1e-4 },
		{ "3D 32x32x4 1e-4", RANDOM, 3, { 32, 32, 4 }, 3, 8000, 2000, 1e-4 },
		{ "3D 20x33x3 1e-6", RANDOM, 3, { 20, 33, 3 }, 2, 4000, 0, 1e-6 },
		{ "3D 17x16x1 1e-3", RANDOM, 3, { 17, 16, 1 }, 1, 2000, 500, 1e-3 },
		{ "3D 8x8x8 1e-5", RADIAL, 3, { 8, 8, 8 }, 4, 3000, 0, 1e-5 },
		{ "3D stack of 4 1e-4", STACK, 3, { 24, 20, 4 }, 3, 8000, 0, 1e-4 },
		{ "3D stack of 4, a column 1e-4", STACK, 3, { 1, 12, 4 }, 2, 4000, 0, 1e-4 },
	};
	const size_t n = sizeof(trials) / sizeof(trials[0]);

	for (size_t i = 0; i < n; i++) {
		const struct trial t = shrunk(&trials[i]);

		try(&t, true);
		if (i == 4 || i == 8 || i == 10)
			repeat(&t);
	}
}

int main(void)
{
	return twin_main("CUDA gridding", 2, all);
}
