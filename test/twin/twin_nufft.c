/*
 * test/twin/twin_nufft.c - CUDA gridding against the host twin and a direct sum in double precision
 *
 * Bounds: both twins within the accuracy asked for of the direct sum (single precision leaves up to
 * 5e-6 where 1e-6 is asked: window.c's roundoff rule and the FFT); the twins within 1e-5 of each
 * other at 1e-6, which is twice that.
 */
#define _GNU_SOURCE /* M_PI */
#include "test/check.h"

#if BS_GPU
#include <cuda_runtime_api.h>
#include <string.h>

#include "core/team.h"
#include "gpu/nufft_choice.h"
#include "gpu/nufft_cuda.h"
#include "gpu/nufft_tune.h"
#include "test/twin/timing.h"

#define POINTS 40 /* voxels and samples that are summed directly */

static uint64_t seed = 88172645463325252u;
static struct bs_team *team;

enum path { RANDOM, RADIAL, STACK };

struct trial {
	const char *name;
	enum path path;
	uint32_t dims, matrix[3], coils;
	uint64_t samples, chunk;
	double accuracy;
};

struct fixture {
	const struct trial *t;
	struct bs_nufft_spec spec;
	uint64_t voxels;
	float *k, *weight, *data, *image; /* inputs of both directions */
	float *out_image, *out_data;      /* CUDA's */
	float *dev_data, *dev_image;
	struct bs_devmem mem;
	struct bs_nufft_cuda *cuda;
	cudaStream_t stream; /* of a measurement */
};

static float *random_floats(uint64_t n, double from, double to)
{
	float *p = malloc(n * sizeof(float));

	for (uint64_t i = 0; i < n; i++)
		p[i] = (float)(from + (to - from) * check_uniform(&seed));
	return p;
}

static float inside(double k)
{
	float f = (float)(k - floor(k + 0.5));

	return f >= 0.5f ? -0.5f : f;
}

static float *path_of(const struct trial *t)
{
	float *k = malloc(t->samples * t->dims * sizeof(float));

	for (uint64_t m = 0; m < t->samples; m++) {
		double r = (double)(m % 128) / 128.0 - 0.5;
		double a = 2.399963229728653 * (double)(m / 128);
		double z = t->dims == 3 ? 2.0 * fmod(0.618034 * (double)(m / 128), 1.0) - 1.0 : 0.0;
		double d[3] = { r * cos(a) * sqrt(1.0 - z * z), r * sin(a) * sqrt(1.0 - z * z),
				r * z };

		if (t->path == STACK) { /* the same plane at every kz */
			uint64_t each = t->samples / t->matrix[2];

			a = 0.37 * (double)(m % each);
			r = 0.49 * sqrt((double)(m % each) / (double)each);
			d[0] = r * cos(a);
			d[1] = r * sin(a);
			d[2] = ((double)(m / each) - t->matrix[2] / 2) / t->matrix[2];
		}
		for (uint32_t i = 0; i < t->dims; i++)
			k[m * t->dims + i] =
				inside(t->path == RANDOM ? check_uniform(&seed) : d[i]);
	}
	return k;
}

static void make_inputs(struct fixture *f, const struct trial *t)
{
	uint64_t v;

	memset(f, 0, sizeof(*f));
	f->t = t;
	f->spec = (struct bs_nufft_spec){ .dims = t->dims,
					  .coils = t->coils,
					  .samples = t->samples,
					  .chunk = t->chunk,
					  .states = 2,
					  .accuracy = t->accuracy };
	memcpy(f->spec.matrix, t->matrix, sizeof(t->matrix));
	f->voxels = v = (uint64_t)t->matrix[0] * t->matrix[1] * t->matrix[2];
	f->k = path_of(t);
	f->weight = random_floats(t->samples, 0.5, 1.5);
	f->data = random_floats(2 * t->samples * t->coils, -1.0, 1.0);
	f->image = random_floats(2 * v * t->coils, -1.0, 1.0);
	f->out_image = malloc(v * t->coils * 8);
	f->out_data = malloc(t->samples * t->coils * 8);
}

static void close_plan(struct fixture *f)
{
	bs_nufft_cuda_close(f->cuda);
	bs_devmem_close(&f->mem);
	f->cuda = NULL;
}

static int open_plan(struct fixture *f, struct bs_fail *why)
{
	const struct trial *t = f->t;
	struct bs_need need = { 0 };
	int rc;

	bs_need_add(&need, "image", 1, bs_devmem_round(f->voxels * t->coils * 8));
	bs_need_add(&need, "data", 1, bs_devmem_round(t->samples * t->coils * 8));
	rc = bs_nufft_cuda_need(&f->spec, &need, why);
	if (rc == 0)
		rc = bs_devmem_open(&f->mem, need.total_bytes, t->name, why);
	if (rc != 0)
		return rc;
	f->dev_image = bs_devmem_take(&f->mem, f->voxels * t->coils * 8);
	f->dev_data = bs_devmem_take(&f->mem, t->samples * t->coils * 8);
	rc = bs_nufft_cuda_plan(&f->cuda, &f->spec, f->k, f->weight, &f->mem, why);
	f->mem.sealed = true;
	return rc;
}

static void release(struct fixture *f)
{
	close_plan(f);
	free(f->k);
	free(f->weight);
	free(f->data);
	free(f->image);
	free(f->out_image);
	free(f->out_data);
}

static int prepare(struct fixture *f, const struct trial *t, struct bs_fail *why)
{
	make_inputs(f, t);
	return open_plan(f, why);
}

static bool up(float *to, const float *from, uint64_t floats)
{
	return cudaMemcpy(to, from, floats * 4, cudaMemcpyHostToDevice) == cudaSuccess;
}

static bool down(float *to, const float *from, uint64_t floats)
{
	return cudaMemcpy(to, from, floats * 4, cudaMemcpyDeviceToHost) == cudaSuccess;
}

/* The output is poisoned first: every element must be written. */
static bool adjoint(struct fixture *f, float *out)
{
	uint64_t n = 2 * f->voxels * f->t->coils;
	struct bs_fail why;

	return up(f->dev_data, f->data, 2 * f->t->samples * f->t->coils) &&
	       cudaMemset(f->dev_image, 0xff, n * 4) == cudaSuccess &&
	       bs_nufft_cuda_adjoint(f->cuda, f->dev_data, f->dev_image, NULL, &why) == 0 &&
	       down(out, f->dev_image, n);
}

static bool forward(struct fixture *f, float *out)
{
	uint64_t n = 2 * f->t->samples * f->t->coils;
	struct bs_fail why;

	return up(f->dev_image, f->image, 2 * f->voxels * f->t->coils) &&
	       cudaMemset(f->dev_data, 0xff, n * 4) == cudaSuccess &&
	       bs_nufft_cuda_forward(f->cuda, f->dev_image, f->dev_data, NULL, &why) == 0 &&
	       down(out, f->dev_data, n);
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
	double bound = t->accuracy <= 1e-6 ? 1e-5 : 2.0 * t->accuracy;
	int rc = bs_nufft_need(&f->spec, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_nufft_plan(&host, &f->spec, f->k, f->weight, &arena, team, "", &why);
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

/* Any order of arrival, other frames in between: the bytes of one adjoint. */
static void incremental(struct fixture *f)
{
	const struct trial *t = f->t;
	uint64_t n = 2 * f->voxels * t->coils;
	uint64_t size = (t->samples + 6) / 7;
	float *image = malloc(n * 4);
	struct bs_fail why = { 0 };
	bool ok = bs_nufft_cuda_begin(f->cuda, 1, NULL, &why) == 0 &&
		  bs_nufft_cuda_begin(f->cuda, 0, NULL, &why) == 0;

	for (uint64_t i = 0; ok && i < 7; i++) {
		uint64_t first = (i * 3 + 2) % 7 * size;
		uint64_t count = first >= t->samples         ? 0
				 : t->samples - first < size ? t->samples - first
							     : size;
		float *to = bs_nufft_cuda_samples(f->cuda, 1);

		if (count == 0)
			continue;
		ok = cudaMemcpy2D(to + 2 * first, t->samples * 8, f->data + 2 * first,
				  t->samples * 8, count * 8, t->coils,
				  cudaMemcpyHostToDevice) == cudaSuccess &&
		     bs_nufft_cuda_arrived(f->cuda, 1, first, count, NULL, &why) == 0;
	}
	ok = ok && bs_nufft_cuda_settle(f->cuda, 1, NULL, &why) == 0 &&
	     bs_nufft_cuda_finish(f->cuda, 1, f->dev_image, NULL, &why) == 0 &&
	     down(image, f->dev_image, n);
	CHECK(ok && memcmp(image, f->out_image, n * 4) == 0,
	      "%s: samples in pieces, out of order, give the bytes of one adjoint", t->name);
	free(image);
}

static void try(const struct trial *t, bool pieces)
{
	struct fixture f;
	struct bs_fail why = { 0 };
	struct bs_nufft_info info;
	int rc = prepare(&f, t, &why);
	double bound = t->accuracy <= 1e-6 ? 5e-6 : t->accuracy;

	CHECK(rc == 0, "%s: planned%s%s", t->name, rc ? ": " : "", rc ? why.text : "");
	if (rc == 0 && adjoint(&f, f.out_image) && forward(&f, f.out_data)) {
		double a = error_adjoint(&f, f.out_image);
		double b = error_forward(&f, f.out_data);

		bs_nufft_cuda_info(f.cuda, &info);
		CHECK(a <= bound && b <= bound,
		      "%s (%u coils, %s, width %g, grid %u x %u x %u): adjoint %.1e, forward %.1e from "
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

static uint64_t hash(const float *p, uint64_t floats)
{
	const unsigned char *b = (const unsigned char *)p;
	uint64_t h = 14695981039346656037u;

	for (uint64_t i = 0; i < floats * 4; i++)
		h = (h ^ b[i]) * 1099511628211u;
	return h;
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
					     ? hash(f.out_image, 2 * f.voxels * t->coils)
					     : (uint64_t)i;

			first = i == 0 ? h : first;
			same += h == first;
		}
	CHECK(same == 100, "%s: 100 runs, one hash (%d)", t->name, same);
	release(&f);
}

static int run_adjoint(void *arg)
{
	struct fixture *f = arg;
	struct bs_fail why;

	return bs_nufft_cuda_adjoint(f->cuda, f->dev_data, f->dev_image, f->stream, &why);
}

static int run_forward(void *arg)
{
	struct fixture *f = arg;
	struct bs_fail why;

	return bs_nufft_cuda_forward(f->cuda, f->dev_image, f->dev_data, f->stream, &why);
}

/* One choice: against the direct sum and the host twin (whose answers are given), twice the same
 * bytes, and in pieces. A choice that this trial cannot have is none of its own. */
static void candidate(struct fixture *f, const struct bs_tune *tune, const float *host_image,
		      const float *host_data, int *tried)
{
	const struct trial *t = f->t;
	const uint64_t voxels = 2 * f->voxels * t->coils;
	const uint64_t samples = 2 * t->samples * t->coils;
	const double bound = t->accuracy <= 1e-6 ? 1e-5 : 2.0 * t->accuracy;
	struct bs_nufft_choice other;
	struct bs_fail why = { 0 };
	char words[BS_TUNE_TEXT];
	double ms[2] = { 0.0, 0.0 };
	uint64_t h;
	int rc;

	(void)bs_tune_text(words, &bs_nufft_tunable, tune);
	f->spec.tune = tune;
	rc = bs_nufft_choose(&other, &f->spec, t->path == STACK,
			     t->path == STACK ? t->samples / t->matrix[2] : 0, &why);
	if (rc == BS_ERR_UNSUPPORTED)
		return;
	rc = open_plan(f, &why);
	if (rc == BS_ERR_UNSUPPORTED) { /* these samples are not for it */
		close_plan(f);
		return;
	}
	(*tried)++;
	CHECK(rc == 0, "%s, %s: planned%s%s", t->name, words, rc ? ": " : "", rc ? why.text : "");
	if (rc == 0 && (!adjoint(f, f->out_image) || !forward(f, f->out_data))) {
		CHECK(false, "%s, %s: ran: %s", t->name, words,
		      cudaGetErrorString(cudaGetLastError()));
	} else if (rc == 0) {
		const double a = check_rel(f->out_image, host_image, voxels);
		const double b = check_rel(f->out_data, host_data, samples);

		h = hash(f->out_image, voxels);
		if (getenv("BORESIDE_SMALL") == NULL) { /* under a sanitizer times say nothing */
			ms[0] = time_ms(run_adjoint, f, &f->stream);
			ms[1] = time_ms(run_forward, f, &f->stream);
			f->stream = NULL;
		}
		CHECK(a <= bound && b <= bound,
		      "%s, %s: twins differ by %.1e adjoint, %.1e forward; at most %.0e; %.4f and %.4f ms",
		      t->name, words, a, b, bound, ms[0], ms[1]);
		CHECK(adjoint(f, f->out_image) && hash(f->out_image, voxels) == h,
		      "%s, %s: the same bytes again", t->name, words);
		if (getenv("BORESIDE_SMALL") == NULL)
			incremental(f);
	}
	close_plan(f);
}

/* Every value of every field, alone, and with the choices that lead to other kernels beside it. */
static void candidates(const struct trial *t)
{
	struct bs_arena arena;
	struct bs_need need = { 0 };
	struct bs_nufft *host = NULL;
	struct bs_fail why = { 0 };
	struct bs_tune tune = { 0 };
	struct fixture f;
	int tried = 0;
	int rc;

	make_inputs(&f, t);
	float *image = malloc(f.voxels * t->coils * 8);
	float *data = malloc(t->samples * t->coils * 8);

	rc = bs_nufft_need(&f.spec, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_nufft_plan(&host, &f.spec, f.k, f.weight, &arena, team, "", &why);
	CHECK(rc == 0, "%s: host twin planned%s%s", t->name, rc ? ": " : "", rc ? why.text : "");
	if (rc == 0) {
		bs_nufft_adjoint(host, f.data, image);
		bs_nufft_forward(host, f.image, data);
		candidate(&f, &tune, image, data, &tried);
		for (uint32_t s = 0; s < bs_nufft_stage_count; s++)
			for (uint32_t v = 0; v < BS_TUNE_VALUES && bs_nufft_stages[s].value[v];
			     v++) {
				memset(&tune, 0, sizeof(tune));
				tune.v[bs_nufft_stages[s].field] = bs_nufft_stages[s].value[v];
				candidate(&f, &tune, image, data, &tried);
			}
		for (uint32_t taps = 4; taps <= 8; taps++)
			for (uint32_t lanes = 1; lanes <= 4; lanes *= 2) {
				memset(&tune, 0, sizeof(tune));
				tune.v[BS_NUFFT_TAPS] = taps;
				tune.v[BS_NUFFT_LANES] = lanes;
				tune.v[BS_NUFFT_LINES] = 2;
				tune.v[BS_NUFFT_PARTS] = 4;
				tune.v[t->dims == 3 ? BS_NUFFT_ROUTE : BS_NUFFT_FOLD] = 2;
				if (t->path == STACK)
					tune.v[BS_NUFFT_ROUTE] = 0;
				candidate(&f, &tune, image, data, &tried);
			}
		bs_nufft_close(host);
		bs_arena_close(&arena);
	}
	CHECK(tried >= 8, "%s: %d choices", t->name, tried);
	free(image);
	free(data);
	release(&f);
}

/* Each length with transforms in registers, in all directions and layouts (chunks: rows inward),
 * against the general ones: two roundings of the same sums. */
static void lengths(void)
{
	static const uint32_t grid[] = { 96, 160, 192, 300, 320, 360, 375, 384 };
	struct trial t = { "lengths", RANDOM, 2, { 0, 0, 1 }, 3, 1500, 600, 0.0 };

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++) {
		struct bs_fail why = { 0 };
		struct bs_nufft_info info = { 0 };
		struct bs_tune general = { 0 };
		struct bs_tune registers = { 0 };
		struct fixture f;
		float *image;
		float *data;
		int rc;

		/* odd matrices, and an oversampling that gives this grid on both axes */
		t.matrix[0] = t.matrix[1] = grid[i] * 2 / 3 | 1;
		make_inputs(&f, &t);
		f.spec.width = 5.0;
		f.spec.oversampling = (grid[i] - 0.25) / t.matrix[0];
		general.v[BS_NUFFT_LINES] = 1;
		registers.v[BS_NUFFT_LINES] = 2;
		image = malloc(f.voxels * t.coils * 8);
		data = malloc(t.samples * t.coils * 8);
		f.spec.tune = &general;
		rc = open_plan(&f, &why);
		if (rc == 0)
			bs_nufft_cuda_info(f.cuda, &info);
		if (rc == 0 && (!adjoint(&f, image) || !forward(&f, data)))
			rc = bs_fail(&why, BS_ERR_GPU, "did not run");
		close_plan(&f);
		f.spec.tune = &registers;
		if (rc == 0)
			rc = open_plan(&f, &why);
		if (rc == 0 && (!adjoint(&f, f.out_image) || !forward(&f, f.out_data)))
			rc = bs_fail(&why, BS_ERR_GPU, "did not run");
		close_plan(&f);
		const double a = check_rel(f.out_image, image, 2 * f.voxels * t.coils);
		const double b = check_rel(f.out_data, data, 2 * t.samples * t.coils);

		CHECK(rc == 0 && info.grid[0] == grid[i] && info.grid[1] == grid[i] && a <= 2e-6 &&
			      b <= 2e-6,
		      "lines of %u: in registers %.1e and %.1e from the general ones %s", grid[i],
		      a, b, why.text);
		free(image);
		free(data);
		release(&f);
	}
}

/* Under compute-sanitizer: the same kernels, a tenth of the samples, half the matrix. */
static struct trial shrunk(const struct trial *t)
{
	struct trial s = *t;

	if (getenv("BORESIDE_SMALL") == NULL)
		return s;
	if (s.samples >= 5000) {
		s.samples /= 10;
		s.chunk /= 10;
	}
	for (uint32_t a = 0; a < s.dims; a++)
		if (s.matrix[a] >= 30)
			s.matrix[a] /= 2;
	return s;
}

static void all_candidates(void)
{
	static const struct trial small[] = {
		{ "2D one coil", RADIAL, 2, { 96, 80, 1 }, 1, 20000, 0, 1e-3 },
		{ "2D few samples", RANDOM, 2, { 96, 80, 1 }, 1, 700, 0, 1e-3 },
		{ "2D five coils in chunks", RANDOM, 2, { 61, 75, 1 }, 5, 9000, 2500, 1e-3 },
		{ "3D one coil", RANDOM, 3, { 40, 33, 36 }, 1, 9000, 0, 1e-3 },
		{ "3D three coils in chunks", RANDOM, 3, { 33, 40, 29 }, 3, 9000, 2500, 1e-3 },
		{ "3D stack", STACK, 3, { 48, 40, 12 }, 3, 12000, 0, 1e-3 },
	};
	static const struct trial large[] = {
		{ "3D random 128^3", RANDOM, 3, { 128, 128, 128 }, 1, 284592, 0, 1e-3 },
		{ "2D radial 256^2", RADIAL, 2, { 256, 256, 1 }, 1, 131072, 0, 1e-3 },
	};

	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
		const struct trial t = shrunk(&small[i]);

		candidates(&t);
	}
	if (getenv("BORESIDE_SMALL") == NULL)
		for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
			candidates(&large[i]);
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
	};
	const size_t n = sizeof(trials) / sizeof(trials[0]);

	for (size_t i = 0; i < n; i++) {
		const struct trial t = shrunk(&trials[i]);

		try(&t, true);
		if (i == 4 || i == 8 || i == 10)
			repeat(&t);
	}
}
#endif

int main(void)
{
#if BS_GPU
	struct bs_gpu_info gpu;
	struct bs_fail why;

	if (bs_gpu_probe(&gpu, &why) != 0) {
		SKIP("CUDA gridding: %s", why.text);
		return check_done();
	}
	if (bs_team_open(&team, 2, &why) != 0) {
		CHECK(false, "%s", why.text);
		return check_done();
	}
	all();
	lengths();
	all_candidates();
	bs_team_close(team);
#else
	SKIP("CUDA gridding: built with GPU=0");
#endif
	return check_done();
}
