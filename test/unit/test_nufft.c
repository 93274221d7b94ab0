/* test/unit/test_nufft.c - the host NUFFT against a direct sum in double precision */
#define _GNU_SOURCE /* M_PI */
#include <string.h>
#include <unistd.h>

#include "core/team.h"
#include "gpu/isa.h"
#include "gpu/nufft.h"
#include "gpu/simd.h"
#include "test/check.h"

static uint64_t seed = 88172645463325252u;
static struct bs_team *team;

static float *random_floats(size_t n, double amplitude)
{
	float *p = malloc(n * sizeof(float));

	for (size_t i = 0; i < n; i++)
		p[i] = (float)(amplitude * (2.0 * check_uniform(&seed) - 1.0));
	return p;
}

/* Spokes through the center over a sphere or circle (or line), every radius up to the edge. */
static float *radial(uint32_t dims, uint64_t samples)
{
	float *k = malloc(samples * dims * sizeof(float));
	uint64_t along = 50;

	for (uint64_t m = 0; m < samples; m++) {
		double r = (double)(m % along) / (double)along - 0.5;
		double a = 2.399963229728653 * (double)(m / along);
		double z = dims == 3 ? 2.0 * fmod(0.618034 * (double)(m / along), 1.0) - 1.0 : 0.0;
		double d[3] = { cos(a) * sqrt(1.0 - z * z), sin(a) * sqrt(1.0 - z * z), z };

		for (uint32_t i = 0; i < dims; i++)
			k[m * dims + i] = (float)(dims == 1 ? r : r * d[i]);
	}
	return k;
}

/* e[m][i] = exp(sign i2pi k_m (i - N/2)) on one axis. */
static double *phases(const float *k, uint32_t dims, uint32_t axis, uint64_t samples, uint32_t n)
{
	double *e = malloc(samples * n * 2 * sizeof(double));

	for (uint64_t m = 0; m < samples; m++)
		for (uint32_t i = 0; i < n; i++) {
			double a = 2.0 * M_PI * (double)k[m * dims + axis] * ((double)i - n / 2);

			e[2 * (m * n + i)] = cos(a);
			e[2 * (m * n + i) + 1] = sin(a);
		}
	return e;
}

struct exact {
	double *e[3];
	uint32_t n[3], coils;
	uint64_t samples;
};

static struct exact exact_open(const struct bs_nufft_spec *s, const float *k)
{
	struct exact x = { .coils = s->coils, .samples = s->samples };

	for (uint32_t a = 0; a < 3; a++) {
		x.n[a] = s->matrix[a];
		x.e[a] = a < s->dims ? phases(k, s->dims, a, s->samples, s->matrix[a]) : NULL;
	}
	return x;
}

static void exact_close(struct exact *x)
{
	for (int a = 0; a < 3; a++)
		free(x->e[a]);
}

/* The whole model, one term a time: to the image (adjoint) or to the samples. */
static void exact_sum(const struct exact *x, const float *weight, const float *from, float *to,
		      int adjoint)
{
	size_t voxels = (size_t)x->n[0] * x->n[1] * x->n[2];
	size_t out = (adjoint ? voxels : x->samples) * x->coils * 2;
	double *sum = calloc(out, sizeof(double));

	for (uint64_t m = 0; m < x->samples; m++)
		for (size_t v = 0; v < voxels; v++) {
			size_t at[3] = { v % x->n[0], v / x->n[0] % x->n[1],
					 v / x->n[0] / x->n[1] };
			double re = 1.0;
			double im = 0.0;

			for (int a = 0; a < 3 && x->e[a] != NULL; a++) {
				const double *e = x->e[a] + 2 * (m * x->n[a] + at[a]);
				double t = re * e[0] - im * e[1];

				im = re * e[1] + im * e[0];
				re = t;
			}
			if (!adjoint)
				im = -im;
			for (uint32_t c = 0; c < x->coils; c++) {
				size_t s = adjoint ? c * x->samples + m : c * voxels + v;
				size_t d = adjoint ? c * voxels + v : c * x->samples + m;
				double w = adjoint && weight != NULL ? (double)weight[m] : 1.0;

				sum[2 * d] += w * (re * from[2 * s] - im * from[2 * s + 1]);
				sum[2 * d + 1] += w * (re * from[2 * s + 1] + im * from[2 * s]);
			}
		}
	for (size_t i = 0; i < out; i++)
		to[i] = (float)sum[i];
	free(sum);
}

struct bench { /* a plan and all that it needs */
	struct bs_nufft_spec spec;
	struct bs_arena arena;
	struct bs_nufft *plan;
	size_t voxels, image_floats, data_floats;
};

static int open_plan(struct bench *b, const struct bs_nufft_spec *s, const float *k,
		     const float *weight, struct bs_team *t)
{
	struct bs_need need = { .parts = 0 };
	struct bs_fail why = { 0, "" };
	int rc = bs_nufft_need(s, &need, &why);

	memset(b, 0, sizeof(*b));
	b->spec = *s;
	b->voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	b->image_floats = b->voxels * s->coils * 2;
	b->data_floats = s->samples * s->coils * 2;
	if (rc == 0)
		rc = bs_arena_open(&b->arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_nufft_plan(&b->plan, s, k, weight, &b->arena, t, "", &why);
	if (rc != 0)
		printf("# %s\n", why.text);
	else if (b->arena.used != need.total_bytes)
		CHECK(0, "plan takes what need says: %zu of %llu bytes", b->arena.used,
		      (unsigned long long)need.total_bytes);
	return rc;
}

static void close_plan(struct bench *b)
{
	bs_nufft_close(b->plan);
	bs_arena_close(&b->arena);
}

/* Re <a, b> and Im <a, b> = sum conj(a) b */
static void inner(const float *a, const float *b, size_t floats, double *re, double *im)
{
	*re = *im = 0.0;
	for (size_t i = 0; i < floats; i += 2) {
		*re += (double)a[i] * b[i] + (double)a[i + 1] * b[i + 1];
		*im += (double)a[i] * b[i + 1] - (double)a[i + 1] * b[i];
	}
}

/* Both directions against the direct sum within bound, and against each other. */
static void against_exact(const struct bs_nufft_spec *s, const float *k, const float *weight,
			  double bound, const char *what)
{
	struct bench b;
	struct bs_nufft_info info;
	char name[160];

	if (open_plan(&b, s, k, weight, team) != 0) {
		CHECK(0, "%s: plan", what);
		close_plan(&b);
		return;
	}
	bs_nufft_info(b.plan, &info);
	(void)snprintf(name, sizeof(name), "%s %ux%ux%u coils %u width %g grid %ux%ux%u %s", what,
		       s->matrix[0], s->matrix[1], s->matrix[2], s->coils, info.width, info.grid[0],
		       info.grid[1], info.grid[2], info.route);
	struct exact x = exact_open(s, k);
	float *data = random_floats(b.data_floats, 1.0);
	float *image = random_floats(b.image_floats, 1.0);
	float *got = malloc((b.image_floats + b.data_floats) * sizeof(float));
	float *want = malloc((b.image_floats + b.data_floats) * sizeof(float));
	double e, re[2], im[2];

	bs_nufft_adjoint(b.plan, data, got);
	exact_sum(&x, weight, data, want, 1);
	e = check_rel(got, want, b.image_floats);
	CHECK(e <= bound, "%s: adjoint %.2e <= %.1e", name, e, bound);
	bs_nufft_forward(b.plan, image, want);
	exact_sum(&x, NULL, image, got, 0);
	e = check_rel(want, got, b.data_floats);
	CHECK(e <= bound, "%s: forward %.2e <= %.1e", name, e, bound);
	if (weight == NULL) {
		/* <A x, y> = <x, A' y> holds to roundoff, whatever the accuracy asked for */
		bs_nufft_adjoint(b.plan, data, got);
		inner(want, data, b.data_floats, &re[0], &im[0]);
		inner(image, got, b.image_floats, &re[1], &im[1]);
		double scale = 0.0;
		double t;

		inner(image, image, b.image_floats, &scale, &t);
		inner(got, got, b.image_floats, &e, &t);
		e = hypot(re[0] - re[1], im[0] - im[1]) / sqrt(scale * e);
		CHECK(e < 2e-6, "%s: adjointness %.1e", name, e);
	}
	free(data);
	free(image);
	free(got);
	free(want);
	exact_close(&x);
	close_plan(&b);
}

static void accuracies(void)
{
	static const struct {
		uint32_t dims, n[3], coils;
		uint64_t samples;
	} row[] = {
		{ 1, { 64, 1, 1 }, 1, 300 },  { 1, { 33, 1, 1 }, 3, 200 },
		{ 2, { 32, 24, 1 }, 1, 900 }, { 2, { 25, 33, 1 }, 2, 700 },
		{ 2, { 31, 16, 1 }, 8, 500 }, { 3, { 14, 12, 10 }, 1, 500 },
		{ 3, { 11, 9, 13 }, 3, 400 }, { 3, { 12, 10, 9 }, 8, 300 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		for (int digits = 1; digits <= 6; digits++) {
			struct bs_nufft_spec s = { .dims = row[i].dims,
						   .coils = row[i].coils,
						   .samples = row[i].samples,
						   .states = 1,
						   .accuracy = pow(10.0, -digits) };
			double bound = digits == 6 ? 5e-6 : s.accuracy;

			memcpy(s.matrix, row[i].n, sizeof(s.matrix));
			float *k = digits % 2 != 0 ? radial(s.dims, s.samples)
						   : random_floats(s.samples * s.dims, 0.49999);
			float *w = random_floats(s.samples, 1.0);

			against_exact(&s, k, i % 2 != 0 ? w : NULL, bound,
				      digits % 2 != 0 ? "radial" : "random");
			free(k);
			free(w);
		}
}

static void widths(void)
{
	/* bounds: the aliasing error of Beatty's fig. 3 for the pair, both axes, and a margin of 2 */
	static const struct {
		enum bs_window window;
		double width, oversampling, bound;
	} row[] = {
		{ BS_WINDOW_KAISER_BESSEL, 4, 2, 1.2e-3 },
		{ BS_WINDOW_KAISER_BESSEL, 5.5, 1.375, 2e-3 },
		{ BS_WINDOW_KAISER_BESSEL, 3, 1.25, 8e-2 },
		{ BS_WINDOW_KAISER_BESSEL, 8, 1.25, 5e-5 },
		{ BS_WINDOW_GAUSS, 6, 2, 2e-3 },
		{ BS_WINDOW_GAUSS, 7.5, 1.5, 3e-3 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bs_nufft_spec s = { .dims = 2,
					   .matrix = { 24, 21, 1 },
					   .coils = 1 + 2 * (i & 1),
					   .samples = 600,
					   .states = 1,
					   .window = row[i].window,
					   .width = row[i].width,
					   .oversampling = row[i].oversampling };
		float *k = random_floats(s.samples * 2, 0.5);

		against_exact(&s, k, NULL, row[i].bound,
			      row[i].window == BS_WINDOW_GAUSS ? "gauss" : "kaiser-bessel");
		free(k);
	}
	for (int digits = 1; digits <= 5; digits++) {
		struct bs_nufft_spec s = { .dims = 2,
					   .matrix = { 24, 21, 1 },
					   .coils = 1,
					   .samples = 600,
					   .states = 1,
					   .window = BS_WINDOW_GAUSS,
					   .accuracy = pow(10.0, -digits) };
		float *k = random_floats(s.samples * 2, 0.5);

		against_exact(&s, k, NULL, s.accuracy, "gauss by accuracy");
		free(k);
	}
}

static void tiny(void)
{
	static const uint32_t n[][3] = { { 1, 1, 1 },  { 2, 1, 1 }, { 3, 2, 1 },
					 { 1, 1, 16 }, { 2, 1, 3 }, { 1, 5, 1 } };
	static const uint64_t samples[] = { 1, 2, 7 };

	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		for (size_t j = 0; j < 3; j++)
			for (uint32_t dims = n[i][2] > 1   ? 3
					     : n[i][1] > 1 ? 2
							   : 1;
			     dims <= 3; dims++) {
				struct bs_nufft_spec s = { .dims = dims,
							   .coils = 1 + (uint32_t)j,
							   .samples = samples[j],
							   .states = 1,
							   .accuracy = 1e-5 };
				float *k = random_floats(s.samples * dims, 0.5);

				memcpy(s.matrix, n[i], sizeof(s.matrix));
				k[0] = j == 1 ? 0.5f : -0.5f;
				against_exact(&s, k, NULL, 1e-5, "tiny");
				free(k);
			}
}

static void many_coils(void)
{
	static const uint32_t coils[] = { 4, 5, 9, 13 };

	for (size_t i = 0; i < 4; i++) {
		struct bs_nufft_spec s = { .dims = 2,
					   .matrix = { 20, 18, 1 },
					   .coils = coils[i],
					   .samples = 300,
					   .states = 1,
					   .accuracy = 1e-4 };
		float *k = random_floats(s.samples * 2, 0.5);

		against_exact(&s, k, NULL, 1e-4, "coils");
		free(k);
	}
}

/* A stack: one in-plane path for each partition, in an order of its own, some partitions left out. */
static float *stack(uint32_t nz, uint64_t path, uint32_t partitions, int shuffled)
{
	float *k = malloc(path * partitions * 3 * sizeof(float));

	for (uint32_t p = 0; p < partitions; p++)
		for (uint64_t i = 0; i < path; i++) {
			uint64_t at = shuffled ? (i * 7 + p) % path : i;
			float *s = k + 3 * (p * path + i);
			double r = 0.49 * (double)at / (double)path;

			s[0] = (float)(r * cos(0.7 * (double)at));
			s[1] = (float)(r * sin(0.7 * (double)at));
			s[2] = (float)(((double)p - nz / 2) / nz);
			if (at < 3) /* the center, thrice */
				s[0] = s[1] = 0.0f;
		}
	return k;
}

static void stacks(void)
{
	static const struct {
		uint32_t nz, partitions, coils;
	} row[] = { { 8, 8, 1 }, { 14, 14, 2 }, { 9, 8, 1 }, { 5, 5, 3 }, { 16, 14, 1 } };

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bs_nufft_spec s = { .dims = 3,
					   .matrix = { 12, 15, row[i].nz },
					   .coils = row[i].coils,
					   .samples = 64ull * row[i].partitions,
					   .states = 1,
					   .accuracy = 1e-4 };
		float *k = stack(row[i].nz, 64, row[i].partitions, i % 2 == 0);
		float *w = random_floats(s.samples, 1.0);
		struct bench b;
		struct bs_nufft_info info = { .route = "" };

		if (open_plan(&b, &s, k, w, team) == 0)
			bs_nufft_info(b.plan, &info);
		CHECK(strcmp(info.route, "stack") == 0, "stack of %u partitions is found: %s",
		      row[i].partitions, info.route);
		close_plan(&b);
		against_exact(&s, k, NULL, 1e-4, "stack");
		against_exact(&s, k, w, 1e-4, "stack weighted");
		k[2] += 1e-4f; /* no longer one */
		against_exact(&s, k, NULL, 1e-4, "not a stack");
		free(k);
		free(w);
	}
}

/* Samples in an order of their own, in pieces, some of them never: as one adjoint of them all. */
static void incremental(const struct bs_nufft_spec *s, const float *k, const char *what)
{
	struct bench b;
	float *w = random_floats(s->samples, 1.0);

	if (open_plan(&b, s, k, w, team) != 0) {
		CHECK(0, "%s: plan", what);
		return;
	}
	float *data = random_floats(b.data_floats, 1.0);
	float *want = malloc(b.image_floats * sizeof(float));
	float *got = malloc(b.image_floats * sizeof(float));
	uint64_t piece = 37;
	uint64_t pieces = (s->samples + piece - 1) / piece;

	for (int missing = 0; missing < 2; missing++) {
		for (uint32_t c = 0; missing && c < s->coils; c++)
			memset(data + 2 * (c * s->samples + 2 * piece), 0,
			       2 * piece * sizeof(float));
		bs_nufft_adjoint(b.plan, data, want);
		for (int order = 0; order < 3; order++) {
			uint32_t state = s->states - 1;

			bs_nufft_begin(b.plan, state);
			for (uint64_t i = 0; order > 0 && i < pieces; i++) {
				uint64_t p = order == 1 ? i : pieces - 1 - i;
				uint64_t left = s->samples - p * piece;

				if (!missing || p != 2)
					bs_nufft_add(b.plan, state, p * piece,
						     left < piece ? left : piece,
						     data + 2 * p * piece, s->samples);
			}
			if (order == 0)
				bs_nufft_add(b.plan, state, 0, s->samples, data, s->samples);
			bs_nufft_finish(b.plan, state, got);
			CHECK(memcmp(got, want, b.image_floats * sizeof(float)) == 0,
			      "%s: %s%s equals one adjoint, bit for bit", what,
			      order == 0   ? "all at once"
			      : order == 1 ? "piece by piece"
					   : "backwards",
			      missing ? ", some never," : "");
		}
	}
	bs_nufft_begin(b.plan, 0);
	bs_nufft_finish(b.plan, 0, got);
	double sum = 0.0;

	for (size_t i = 0; i < b.image_floats; i++)
		sum += fabs((double)got[i]);
	CHECK(sum == 0.0, "%s: a frame without samples is zero", what);
	free(data);
	free(want);
	free(got);
	free(w);
	close_plan(&b);
}

static void increments(void)
{
	struct bs_nufft_spec s = { .dims = 2,
				   .matrix = { 64, 64, 1 },
				   .coils = 3,
				   .samples = 1000,
				   .states = 2,
				   .accuracy = 1e-3 };
	float *k = radial(2, s.samples);

	incremental(&s, k, "one chunk");
	s.chunk = 150;
	incremental(&s, k, "chunks of 150");
	s.coils = 11;
	s.chunk = 37;
	incremental(&s, k, "11 coils, chunks of 37");
	free(k);
	s = (struct bs_nufft_spec){ .dims = 3,
				    .matrix = { 16, 12, 8 },
				    .coils = 2,
				    .samples = 512,
				    .chunk = 64,
				    .states = 2,
				    .accuracy = 1e-3 };
	k = stack(8, 64, 8, 0);
	incremental(&s, k, "stack");
	free(k);
	k = random_floats(s.samples * 3, 0.5);
	incremental(&s, k, "3D");
	free(k);
}

/* The bytes must not depend on the number of threads. */
static void threads(void)
{
	static const struct {
		uint32_t dims, n[3], coils;
		uint64_t samples;
	} row[] = { { 2, { 96, 90, 1 }, 1, 20000 },
		    { 2, { 64, 64, 1 }, 8, 8000 },
		    { 3, { 24, 24, 24 }, 2, 9000 },
		    { 3, { 20, 20, 8 }, 1, 8 * 500 } };

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bs_nufft_spec s = { .dims = row[i].dims,
					   .coils = row[i].coils,
					   .samples = row[i].samples,
					   .states = 1,
					   .accuracy = 1e-4 };
		float *first = NULL;

		memcpy(s.matrix, row[i].n, sizeof(s.matrix));
		float *k = i == 3 ? stack(8, 500, 8, 0) : radial(s.dims, s.samples);
		float *data = random_floats(s.samples * s.coils * 2, 1.0);

		for (int members = 1; members <= 4; members++) {
			struct bs_team *t;
			struct bench b;

			if (bs_team_open(&t, members, NULL) != 0 ||
			    open_plan(&b, &s, k, NULL, t) != 0) {
				CHECK(0, "plan with %d threads", members);
				return;
			}
			size_t bytes = (b.image_floats + b.data_floats) * sizeof(float);
			float *got = malloc(bytes);

			bs_nufft_adjoint(b.plan, data, got);
			bs_nufft_forward(b.plan, got, got + b.image_floats);
			if (first == NULL)
				first = got;
			else
				CHECK(memcmp(first, got, bytes) == 0,
				      "%uD, %u coils: %d threads give the bytes of one", s.dims,
				      s.coils, members);
			if (first != got)
				free(got);
			close_plan(&b);
			bs_team_close(t);
		}
		free(first);
		free(k);
		free(data);
	}
}

/* Every width of cell and of window once, with the instruction set that is in force. */
static void kernels(const char *isa)
{
	static const uint32_t coils[] = { 1, 2, 4, 8 };

	for (size_t i = 0; i < 4; i++)
		for (uint32_t w = BS_TAPS_MIN; w <= BS_TAPS_MAX; w += 1 + (w > 4) * 2) {
			struct bs_nufft_spec s = { .dims = 2 + (w & 1),
						   .matrix = { 18, 14, 1 },
						   .coils = coils[i],
						   .samples = 150,
						   .states = 0,
						   .width = w,
						   .oversampling = 2.0 };
			/* aliasing falls by a factor of 8 to 10 a cell from 0.1 at two; then roundoff */
			double bound = fmax(0.2 * pow(8.0, 2.0 - w), 2e-6);
			float *k;

			s.matrix[2] = s.dims == 3 ? 6 : 1;
			k = i % 2 != 0 ? radial(s.dims, s.samples)
				       : random_floats(s.samples * s.dims, 0.5);
			against_exact(&s, k, NULL, bound, isa);
			free(k);
		}
}

/* Every instruction set that this machine has: the transform's lengths and directions. */
static void transforms(void)
{
	static const uint32_t size[] = { 1,  2,  3,  4,  5,  7,   8,   14, 16,
					 30, 49, 60, 64, 90, 125, 135, 320 };

	for (int isa = BS_ISA_V2; isa <= BS_ISA_V4; isa++) {
		const struct bs_simd *v;
		double worst = 0.0;

		bs_isa_cap((enum bs_isa)isa);
		if (isa > BS_ISA_V2 && bs_isa() != (enum bs_isa)isa)
			continue;
		v = bs_simd_best();
		for (size_t i = 0; i < 2 * sizeof(size) / sizeof(size[0]); i++) {
			uint32_t n = size[i / 2];
			size_t bytes = (size_t)n * v->lanes * 2 * sizeof(float);
			float *a = aligned_alloc(64, (bytes + 63) / 64 * 64);
			float *b = aligned_alloc(64, (bytes + 63) / 64 * 64);
			float *x = random_floats((size_t)n * v->lanes * 2, 1.0);
			struct bs_fft f;
			double sign = i % 2 != 0 ? 1.0 : -1.0;
			double e = 0.0;
			double r = 0.0;

			memcpy(a, x, bytes);
			(void)bs_fft_plan(&f, n);
			float *y = v->fft(&f, a, b, i % 2 != 0);

			for (uint32_t l = 0; l < v->lanes; l++)
				for (uint32_t j = 0; j < n; j++) {
					double re = 0.0;
					double im = 0.0;

					for (uint32_t m = 0; m < n; m++) {
						double p = sign * 2.0 * M_PI * (m * j % n) / n;
						const float *d = x + (size_t)m * v->lanes * 2 + l;

						re += d[0] * cos(p) - d[v->lanes] * sin(p);
						im += d[0] * sin(p) + d[v->lanes] * cos(p);
					}
					const float *g = y + (size_t)j * v->lanes * 2 + l;

					e += pow(g[0] - re, 2) + pow(g[v->lanes] - im, 2);
					r += re * re + im * im;
				}
			worst = fmax(worst, sqrt(e / r));
			bs_fft_close(&f);
			free(a);
			free(b);
			free(x);
		}
		/* roundoff grows with the passes: at most 8 of 2^-24, and the plain sum of a prime */
		CHECK(worst < 5e-7, "transform %s within roundoff: %.1e", v->name, worst);
		kernels(v->name);
	}
}

/* ---- independent vectors: NFFT's tests (data/README.md), 64 digits, dims 1 to 3 ---- */

static int read_vector(const char *path, struct bs_nufft_spec *s, float **k, float **image,
		       float **data)
{
	FILE *f = fopen(path, "r");
	double v;
	size_t voxels = 1;

	if (f == NULL || fscanf(f, "%u", &s->dims) != 1 || s->dims < 1 || s->dims > 3) {
		if (f != NULL)
			(void)fclose(f);
		return -1;
	}
	for (uint32_t a = 0; a < 3; a++)
		s->matrix[a] = 1;
	for (uint32_t a = 0; a < s->dims; a++) { /* their last index is the fastest */
		if (fscanf(f, "%u", &s->matrix[s->dims - 1 - a]) != 1)
			s->matrix[0] = 0;
		voxels *= s->matrix[s->dims - 1 - a];
	}
	int got = fscanf(f, "%lu", &s->samples) == 1;

	*k = calloc(s->samples * s->dims + 1, sizeof(float));
	*image = calloc(2 * voxels + 1, sizeof(float));
	*data = calloc(2 * s->samples + 1, sizeof(float));
	for (uint64_t i = 0; got && i < s->samples * s->dims; i++) {
		got = fscanf(f, "%lf", &v) == 1;
		(*k)[i / s->dims * s->dims + s->dims - 1 - i % s->dims] = (float)v;
	}
	for (size_t i = 0; got && i < 2 * voxels; i++) {
		got = fscanf(f, "%lf", &v) == 1;
		(*image)[i] = (float)v;
	}
	for (uint64_t i = 0; got && i < 2 * s->samples; i++) {
		got = fscanf(f, "%lf", &v) == 1;
		(*data)[i] = (float)v;
	}
	(void)fclose(f);
	return got ? 0 : -1;
}

static void vectors(void)
{
	static const uint32_t n1[] = { 1, 2, 4, 10, 20, 50 };
	static const uint32_t m1[] = { 1, 10, 20, 50 };
	const char *folder = getenv("DATA");
	char name[64];
	char path[512];
	int files = 0;
	double worst = 0.0;

	for (int i = 0; i < 2 * (24 + 8 + 1); i++) {
		struct bs_nufft_spec s = { .coils = 1, .states = 1, .accuracy = 1e-6 };
		float *k, *image, *data, *got;
		struct bench b;
		int j = i / 2;
		int adjoint = i % 2;

		if (j < 24)
			(void)snprintf(name, sizeof(name), "1d_%u_%u", n1[j / 4], m1[j % 4]);
		else if (j < 32)
			(void)snprintf(name, sizeof(name), "2d_%u_%u_%u", j & 1 ? 20u : 10u,
				       j & 2 ? 20u : 10u, j & 4 ? 50u : 20u);
		else
			(void)snprintf(name, sizeof(name), "3d_10_10_10_10");
		(void)snprintf(path, sizeof(path), "%s/nfft_ref/tests/data/nfft_%s%s.txt",
			       folder != NULL ? folder : "", adjoint ? "adjoint_" : "", name);
		if (folder == NULL || access(path, R_OK) != 0) {
			SKIP("independent vectors: no %s (set DATA)", path);
			return;
		}
		if (read_vector(path, &s, &k, &image, &data) != 0 ||
		    open_plan(&b, &s, k, NULL, team) != 0) {
			CHECK(0, "%s is read", path);
			return;
		}
		got = malloc((b.image_floats + b.data_floats) * sizeof(float));
		if (adjoint)
			bs_nufft_adjoint(b.plan, data, got);
		else
			bs_nufft_forward(b.plan, image, got);
		double e = adjoint ? check_rel(got, image, b.image_floats)
				   : check_rel(got, data, b.data_floats);

		worst = fmax(worst, e);
		if (!(e <= 5e-6))
			CHECK(0, "independent vector %s%s: %.1e", adjoint ? "adjoint " : "", name,
			      e);
		files++;
		close_plan(&b);
		free(k);
		free(image);
		free(data);
		free(got);
	}
	CHECK(files == 66 && worst <= 5e-6, "%d independent vectors, worst %.1e <= 5e-6", files,
	      worst);
}

static void refusals(void)
{
	struct bs_nufft_spec good = { .dims = 2,
				      .matrix = { 16, 16, 1 },
				      .coils = 1,
				      .samples = 10,
				      .states = 1,
				      .accuracy = 1e-3 };
	struct bs_nufft_spec s = good;
	struct bs_need need = { .parts = 0 };
	struct bs_fail why;
	struct bench b;
	float *k = random_floats(20, 0.5);

	s.dims = 4;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_CONFIG, "4 dimensions: %s", why.text);
	s = good;
	s.accuracy = 1e-9;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_CONFIG, "accuracy: %s", why.text);
	s = good;
	s.accuracy = 0;
	s.width = 40;
	s.oversampling = 2;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_CONFIG, "width: %s", why.text);
	s.width = 4;
	s.oversampling = (double)NAN;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_CONFIG, "oversampling: %s", why.text);
	s = good;
	s.samples = UINT64_MAX / 2;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_SIZE, "samples: %s", why.text);
	s = good;
	s.dims = 3;
	s.matrix[0] = s.matrix[1] = s.matrix[2] = 65536;
	CHECK(bs_nufft_need(&s, &need, &why) == BS_ERR_SIZE, "matrix: %s", why.text);
	k[7] = 0.6f;
	CHECK(open_plan(&b, &good, k, NULL, team) == BS_ERR_TRAJECTORY,
	      "k out of range is refused");
	close_plan(&b);
	k[7] = NAN;
	CHECK(open_plan(&b, &good, k, NULL, team) == BS_ERR_TRAJECTORY,
	      "k that is not a number is refused");
	close_plan(&b);
	free(k);
}

int main(void)
{
	if (bs_team_open(&team, 2, NULL) != 0)
		return 1;
	refusals();
	transforms();
	accuracies();
	widths();
	tiny();
	many_coils();
	stacks();
	increments();
	threads();
	vectors();
	bs_team_close(team);
	return check_done();
}
