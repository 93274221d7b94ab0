/* gpu/calibrate/along.c - see along.h */
#include "gpu/calibrate/along.h"

#include <stdlib.h>
#include <string.h>

#include "core/study/gram.h"
#include "gpu/fft/fft.h"

/*
 * Index j of a transform is x = j below n / 2, and x = j - n from there on; a place in along.h is x
 * + n / 2.
 */
struct bs_along {
	uint32_t n, coils;
	struct bs_fft fft;
	const struct bs_fft_kernels *kernels;
	float *hybrid; /* [coil][j] complex, samples of the hybrid space */
	float *blocks; /* two blocks of values for a vector's lanes */
	float *scale;  /* [j]: 1 / n, the scale of the forward and the inverse transform together */
};

static uint64_t block_bytes(uint32_t n)
{
	return (uint64_t)n * 8u * BS_FFT_LANES_MAX;
}

int bs_along_need(uint32_t n, uint32_t coils, struct bs_need *need, struct bs_fail *why)
{
	if (n == 0 || n > 65535u || coils == 0 || coils > BS_GRAM_COILS)
		return bs_fail(why, BS_ERR_SIZE, "%u samples of %u coils along a readout", n,
			       coils);
	bs_need_add(need, "places along a readout", 1, (uint64_t)n * coils * 8u);
	bs_need_add(need, "transforms along a readout", 2, block_bytes(n));
	bs_need_add(need, "their scale", 1, (uint64_t)n * 4u);
	return 0;
}

int bs_along_plan(struct bs_along **plan, uint32_t n, uint32_t coils, struct bs_arena *arena,
		  struct bs_fail *why)
{
	struct bs_along *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "mixing along the readout");
	a->n = n;
	a->coils = coils;
	a->kernels = BS_ISA_PICK(bs_fft_kernels);
	a->hybrid = bs_arena_take(arena, (size_t)n * coils * 8, BS_ALIGN);
	a->blocks = bs_arena_take(arena, 2 * (size_t)block_bytes(n), BS_ALIGN);
	a->scale = bs_arena_take(arena, (size_t)n * 4, BS_ALIGN);
	if (a->hybrid == NULL || a->blocks == NULL || a->scale == NULL ||
	    bs_fft_plan(&a->fft, n) != 0) {
		bs_along_close(a);
		return bs_fail(why, BS_ERR_NOMEM, "mixing along the readout");
	}
	for (uint32_t i = 0; i < n; i++)
		a->scale[i] = 1.0f / (float)n;
	*plan = a;
	return 0;
}

void bs_along_close(struct bs_along *a)
{
	if (a == NULL)
		return;
	bs_fft_close(&a->fft);
	free(a);
}

/* Transforms count lines of n samples; each starts stride complex values behind the one before. */
static void transform_lines(const struct bs_along *a, float *to, size_t to_stride,
			    const float *from, size_t stride, uint32_t count, bool inverse)
{
	const uint32_t lanes = a->kernels->lanes;
	float *other = a->blocks + 2 * (size_t)a->n * lanes;

	for (uint32_t c = 0; c < count; c += lanes) {
		const float *in[BS_FFT_LANES_MAX];
		float *out[BS_FFT_LANES_MAX];

		/* unused lanes get copies of the last line */
		for (uint32_t j = 0; j < lanes; j++) {
			const size_t line = c + j < count ? c + j : count - 1;

			in[j] = from + 2 * line * stride;
			out[j] = to + 2 * line * to_stride;
		}
		a->kernels->lines_in(a->blocks, in, a->n, NULL);
		a->kernels->lines_out(out, a->kernels->run(&a->fft, a->blocks, other, inverse),
				      a->n, inverse ? NULL : a->scale);
	}
}

/* Returns the place of a transform's index j. */
static uint32_t place_of(uint32_t j, uint32_t n)
{
	return (j + n / 2) % n;
}

void bs_along_gram(struct bs_along *a, double *gram, const float *data, size_t stride)
{
	transform_lines(a, a->hybrid, a->n, data, stride, a->coils, true);
	for (uint32_t j = 0; j < a->n; j++)
		bs_gram_add(gram + (size_t)a->coils * a->coils * place_of(j, a->n), a->coils, 1,
			    a->hybrid + 2 * (size_t)j, a->n);
}

/* Adds m[place] h[j] to line[j], for n places from the first and as many j. */
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
	/* places from here on are the first indices of a transform */
	const uint32_t upper = n / 2;
	const uint32_t first = n - upper; /* number of places from `upper` on */

	transform_lines(a, a->hybrid, n, data, stride, a->coils, true);
	for (uint32_t v = 0; v < virtual_coils; v++) {
		float *line = out + 2 * v * out_stride;

		memset(line, 0, (size_t)n * 8);
		for (uint32_t c = 0; c < a->coils; c++) {
			const float *m = matrix + 2 * ((size_t)v * a->coils + c) * n;
			const float *h = a->hybrid + 2 * (size_t)c * n;

			mix_run(line, m + 2 * (size_t)upper, h, first);
			mix_run(line + 2 * (size_t)first, m, h + 2 * (size_t)first, upper);
		}
	}
	transform_lines(a, out, out_stride, out, out_stride, virtual_coils, false);
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
