/* gpu/calibrate/along.c - see along.h */
#include "gpu/calibrate/along.h"

#include <complex.h>
#include <fftw3.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/gram.h"

/* FFTW's place j lies at x = j below n / 2, at j - n above: the place of along.h is x + n / 2. */
struct bs_along {
	uint32_t n, coils;
	float complex *hybrid; /* [coil][j] */
	float complex *line;   /* of one virtual coil */
	fftwf_plan to_x, to_k;
};

int bs_along_need(uint32_t n, uint32_t coils, struct bs_need *need, struct bs_fail *why)
{
	if (n == 0 || n > 65535u || coils == 0 || coils > BS_GRAM_COILS)
		return bs_fail(why, BS_ERR_SIZE, "%u samples of %u coils along a readout", n,
			       coils);
	bs_need_add(need, "places along a readout", 1, (uint64_t)n * coils * 8u);
	bs_need_add(need, "a virtual coil's places", 1, (uint64_t)n * 8u);
	return 0;
}

/* In place, the same for every process (ESTIMATE). */
static fftwf_plan plan_line(float complex *at, uint32_t n, int sign)
{
	return fftwf_plan_dft_1d((int)n, at, at, sign, FFTW_ESTIMATE | FFTW_UNALIGNED);
}

int bs_along_plan(struct bs_along **plan, uint32_t n, uint32_t coils, struct bs_arena *arena,
		  struct bs_fail *why)
{
	struct bs_along *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "mixing along the readout");
	a->n = n;
	a->coils = coils;
	a->hybrid = bs_arena_take(arena, (size_t)n * coils * 8, BS_ALIGN);
	a->line = bs_arena_take(arena, (size_t)n * 8, BS_ALIGN);
	if (a->hybrid != NULL && a->line != NULL) {
		a->to_x = plan_line(a->hybrid, n, FFTW_BACKWARD);
		a->to_k = plan_line(a->line, n, FFTW_FORWARD);
	}
	if (a->to_x == NULL || a->to_k == NULL) {
		bs_along_close(a);
		return bs_fail(why, BS_ERR_NOMEM, "mixing along the readout");
	}
	*plan = a;
	return 0;
}

void bs_along_close(struct bs_along *a)
{
	if (a == NULL)
		return;
	fftwf_destroy_plan(a->to_x);
	fftwf_destroy_plan(a->to_k);
	free(a);
}

static void transform(struct bs_along *a, const float *data, size_t stride)
{
	for (uint32_t c = 0; c < a->coils; c++) {
		float complex *to = a->hybrid + (size_t)c * a->n;

		memcpy(to, data + 2 * c * stride, (size_t)a->n * 8);
		fftwf_execute_dft(a->to_x, to, to);
	}
}

/* The place of FFTW's index. */
static uint32_t place_of(uint32_t j, uint32_t n)
{
	return (j + n / 2) % n;
}

void bs_along_gram(struct bs_along *a, double *gram, const float *data, size_t stride)
{
	transform(a, data, stride);
	for (uint32_t j = 0; j < a->n; j++)
		bs_gram_add(gram + (size_t)a->coils * a->coils * place_of(j, a->n), a->coils, 1,
			    a->hybrid + j, a->n);
}

/* line[j] += m[place] h[j], for n places from first on and as many j. */
static void mix_run(float *line, const float *m, const float *h, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++) {
		line[2 * j] += m[2 * j] * h[2 * j] - m[2 * j + 1] * h[2 * j + 1];
		line[2 * j + 1] += m[2 * j] * h[2 * j + 1] + m[2 * j + 1] * h[2 * j];
	}
}

void bs_along_mix(struct bs_along *a, float *out, size_t out_stride, const float *matrix,
		  uint32_t virtual_coils, const float *data, size_t stride)
{
	const uint32_t n = a->n;
	const uint32_t upper = n / 2;        /* places from there on are FFTW's first */
	const uint32_t first = n - upper;    /* how many */
	const float scale = 1.0f / (float)n; /* of the two transforms */
	float *line = (float *)a->line;

	transform(a, data, stride);
	for (uint32_t v = 0; v < virtual_coils; v++) {
		memset(line, 0, (size_t)n * 8);
		for (uint32_t c = 0; c < a->coils; c++) {
			const float *m = matrix + 2 * ((size_t)v * a->coils + c) * n;
			const float *h = (const float *)(a->hybrid + (size_t)c * n);

			mix_run(line, m + 2 * (size_t)upper, h, first);
			mix_run(line + 2 * (size_t)first, m, h + 2 * (size_t)first, upper);
		}
		fftwf_execute_dft(a->to_k, a->line, a->line);
		for (size_t i = 0; i < (size_t)2 * n; i++)
			out[2 * v * out_stride + i] = line[i] * scale;
	}
}

void bs_along_matrix(float *matrix, const double *a, uint32_t virtual_coils, uint32_t coils,
		     uint32_t n)
{
	for (size_t x = 0; x < n; x++)
		for (size_t v = 0; v < virtual_coils; v++)
			for (size_t c = 0; c < coils; c++)
				for (size_t part = 0; part < 2; part++)
					matrix[2 * ((v * coils + c) * n + x) + part] = (float)
						a[2 * (v + virtual_coils * (c + coils * x)) + part];
}
