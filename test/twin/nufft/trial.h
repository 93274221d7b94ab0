/*
 * test/twin/nufft/trial.h - one trial of CUDA gridding: a trajectory, inputs, a plan, both
 * directions
 *
 * For twin tests built with GPU=1. Inputs come from one seed: the same in every run of a program.
 */
#ifndef BS_TEST_TWIN_NUFFT_TRIAL_H
#define BS_TEST_TWIN_NUFFT_TRIAL_H

#include <cuda_runtime_api.h>
#include <string.h>

#include "core/thread/team.h"
#include "gpu/nufft/nufft_cuda.h"
#include "test/support/check.h"
#include "test/twin/device.h"

static uint64_t seed = 88172645463325252u;

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

static inline float *random_floats(uint64_t n, double from, double to)
{
	float *p = malloc(n * sizeof(float));

	for (uint64_t i = 0; i < n; i++)
		p[i] = (float)(from + (to - from) * check_uniform(&seed));
	return p;
}

static inline float inside(double k)
{
	float f = (float)(k - floor(k + 0.5));

	return f >= 0.5f ? -0.5f : f;
}

static inline float *path_of(const struct trial *t)
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

static inline void make_inputs(struct fixture *f, const struct trial *t)
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

static inline void close_plan(struct fixture *f)
{
	bs_nufft_cuda_close(f->cuda);
	bs_devmem_close(&f->mem);
	f->cuda = NULL;
}

static inline int open_plan(struct fixture *f, struct bs_fail *why)
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

static inline void release(struct fixture *f)
{
	close_plan(f);
	free(f->k);
	free(f->weight);
	free(f->data);
	free(f->image);
	free(f->out_image);
	free(f->out_data);
}

static inline bool up(float *to, const float *from, uint64_t floats)
{
	return cudaMemcpy(to, from, floats * 4, cudaMemcpyHostToDevice) == cudaSuccess;
}

/* The output is poisoned first: every element must be written. */
static inline bool adjoint(struct fixture *f, float *out)
{
	uint64_t n = 2 * f->voxels * f->t->coils;
	struct bs_fail why;

	return up(f->dev_data, f->data, 2 * f->t->samples * f->t->coils) &&
	       cudaMemset(f->dev_image, 0xff, n * 4) == cudaSuccess &&
	       bs_nufft_cuda_adjoint(f->cuda, f->dev_data, f->dev_image, NULL, &why) == 0 &&
	       fetch(out, f->dev_image, n);
}

static inline bool forward(struct fixture *f, float *out)
{
	uint64_t n = 2 * f->t->samples * f->t->coils;
	struct bs_fail why;

	return up(f->dev_image, f->image, 2 * f->voxels * f->t->coils) &&
	       cudaMemset(f->dev_data, 0xff, n * 4) == cudaSuccess &&
	       bs_nufft_cuda_forward(f->cuda, f->dev_image, f->dev_data, NULL, &why) == 0 &&
	       fetch(out, f->dev_data, n);
}

/* Any order of arrival, other frames in between: the bytes of one adjoint. */
static inline void incremental(struct fixture *f)
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
	     fetch(image, f->dev_image, n);
	CHECK(ok && memcmp(image, f->out_image, n * 4) == 0,
	      "%s: samples in pieces, out of order, give the bytes of one adjoint", t->name);
	free(image);
}

/* Under compute-sanitizer: the same kernels, a tenth of the samples, half the matrix. */
static inline struct trial shrunk(const struct trial *t)
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

#endif
