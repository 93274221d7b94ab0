/* test/bench/plain.c - see plain.h */
#define _DEFAULT_SOURCE /* M_PI */
#include "test/bench/plain.h"

#ifdef BS_FFTW
#include <fftw3.h>
#endif
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct plain_sum {
	const float *k, *d, *voxels;
	uint64_t samples;
	float *out;
};

static void sum_voxel(void *arg, int v, int member)
{
	const struct plain_sum *s = arg;
	const float *restrict k = s->k;
	const float *restrict d = s->d;
	const float *at = s->voxels + 3 * (size_t)v;
	const float x = at[0];
	const float y = at[1];
	const float z = at[2];
	const float turn = 2.0f * (float)M_PI;
	float re = 0.0f;
	float im = 0.0f;

	(void)member;
	for (uint64_t m = 0; m < s->samples; m++) {
		float t = turn * (k[3 * m] * x + k[3 * m + 1] * y + k[3 * m + 2] * z);
		float c = cosf(t);
		float i = sinf(t);

		re += d[2 * m] * c - d[2 * m + 1] * i;
		im += d[2 * m] * i + d[2 * m + 1] * c;
	}
	s->out[2 * (size_t)v] = re;
	s->out[2 * (size_t)v + 1] = im;
}

void bs_plain_fhd(struct bs_team *team, const float *k, const float *d, uint64_t samples,
		  const float *voxels, int count, float *out)
{
	struct plain_sum s = { k, d, voxels, samples, out };

	bs_team_run(team, sum_voxel, &s, count);
}

#ifdef BS_FFTW
struct bs_plain_padded {
	uint32_t n[3], grid[3];
	struct bs_team *team;
	fftwf_complex *data;
	float *spectrum;
	fftwf_plan forward, inverse;
	const float *in;
	float *out;
};

int bs_plain_padded_open(struct bs_plain_padded **out, uint32_t dims, const uint32_t matrix[3],
			 struct bs_team *team, struct bs_fail *why)
{
	struct bs_plain_padded *p = calloc(1, sizeof(*p));
	int g[3];
	size_t size = 1;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "padded transform");
	for (uint32_t a = 0; a < 3; a++) {
		p->n[a] = matrix[a];
		p->grid[a] = a < dims ? 2 * matrix[a] : 1;
		g[2 - a] = (int)p->grid[a];
		size *= p->grid[a];
	}
	p->team = team;
	p->data = fftwf_malloc(size * 8);
	p->spectrum = fftwf_malloc(size * 4);
	if (p->data != NULL && p->spectrum != NULL) {
		for (size_t i = 0; i < size; i++)
			p->spectrum[i] = 1.0f / (float)size;
		(void)fftwf_init_threads();
		fftwf_plan_with_nthreads(bs_team_members(team));
		p->forward = fftwf_plan_dft(3, g, p->data, p->data, FFTW_FORWARD, FFTW_MEASURE);
		p->inverse = fftwf_plan_dft(3, g, p->data, p->data, FFTW_BACKWARD, FFTW_MEASURE);
		fftwf_plan_with_nthreads(1);
	}
	if (p->forward == NULL || p->inverse == NULL) {
		bs_plain_padded_close(p);
		return bs_fail(why, BS_ERR_NOMEM, "padded transform of %zu values", size);
	}
	*out = p;
	return 0;
}

void bs_plain_padded_close(struct bs_plain_padded *p)
{
	if (p == NULL)
		return;
	fftwf_destroy_plan(p->forward);
	fftwf_destroy_plan(p->inverse);
	fftwf_free(p->data);
	fftwf_free(p->spectrum);
	free(p);
}

static void pad_row(void *arg, int row, int member) /* rows of the grid */
{
	struct bs_plain_padded *p = arg;
	uint32_t y = (uint32_t)row % p->grid[1];
	uint32_t z = (uint32_t)row / p->grid[1];
	fftwf_complex *to = p->data + (size_t)row * p->grid[0];

	(void)member;
	memset(to, 0, (size_t)p->grid[0] * 8);
	if (y < p->n[1] && z < p->n[2])
		memcpy(to, p->in + 2 * ((size_t)z * p->n[1] + y) * p->n[0], (size_t)p->n[0] * 8);
}

static void multiply_row(void *arg, int row, int member)
{
	struct bs_plain_padded *p = arg;
	float *restrict to = (float *)(p->data + (size_t)row * p->grid[0]);
	const float *restrict s = p->spectrum + (size_t)row * p->grid[0];

	(void)member;
	for (size_t x = 0; x < p->grid[0]; x++) {
		to[2 * x] *= s[x];
		to[2 * x + 1] *= s[x];
	}
}

static void crop_row(void *arg, int row, int member) /* rows of the image */
{
	struct bs_plain_padded *p = arg;
	uint32_t y = (uint32_t)row % p->n[1];
	uint32_t z = (uint32_t)row / p->n[1];

	(void)member;
	memcpy(p->out + 2 * (size_t)row * p->n[0],
	       p->data + ((size_t)z * p->grid[1] + y) * p->grid[0], (size_t)p->n[0] * 8);
}

void bs_plain_padded_apply(struct bs_plain_padded *p, const float *in, float *out)
{
	p->in = in;
	p->out = out;
	bs_team_run(p->team, pad_row, p, (int)(p->grid[1] * p->grid[2]));
	fftwf_execute(p->forward);
	bs_team_run(p->team, multiply_row, p, (int)(p->grid[1] * p->grid[2]));
	fftwf_execute(p->inverse);
	bs_team_run(p->team, crop_row, p, (int)(p->n[1] * p->n[2]));
}
#else
int bs_plain_padded_open(struct bs_plain_padded **p, uint32_t dims, const uint32_t matrix[3],
			 struct bs_team *team, struct bs_fail *why)
{
	(void)p;
	(void)dims;
	(void)matrix;
	(void)team;
	return bs_fail(why, BS_ERR_CONFIG, "built without FFTW (libfftw3-dev)");
}

void bs_plain_padded_apply(struct bs_plain_padded *p, const float *in, float *out)
{
	(void)p;
	(void)in;
	(void)out;
}

void bs_plain_padded_close(struct bs_plain_padded *p)
{
	(void)p;
}
#endif
