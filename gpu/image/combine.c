/* gpu/image/combine.c - host twin; see combine.h */
#include "gpu/image/combine.h"

#include <math.h>
#include <string.h>

/* Voxels of one task: a few coils of it stay in the first-level cache. */
#define BLOCK 1024u

struct combine {
	enum bs_combine how;
	enum bs_output output;
	uint32_t coils;
	uint64_t voxels;
	const float *in, *maps;
	float *out;
};

static void store(const struct combine *c, uint64_t at, const float *re, const float *im,
		  uint32_t n)
{
	if (c->output == BS_OUTPUT_COMPLEX)
		for (uint32_t i = 0; i < n; i++) {
			c->out[2 * (at + i)] = re[i];
			c->out[2 * (at + i) + 1] = im[i];
		}
	else
		for (uint32_t i = 0; i < n; i++)
			c->out[at + i] = sqrtf(re[i] * re[i] + im[i] * im[i]);
}

static void block_none(const struct combine *c, uint64_t from, uint32_t n)
{
	for (uint32_t coil = 0; coil < c->coils; coil++) {
		const float *in = c->in + 2 * (coil * c->voxels + from);
		float *out = c->out +
			     (coil * c->voxels + from) * (c->output == BS_OUTPUT_COMPLEX ? 2 : 1);

		if (c->output == BS_OUTPUT_COMPLEX)
			memcpy(out, in, (size_t)n * 8);
		else
			for (uint32_t i = 0; i < n; i++)
				out[i] = sqrtf(in[2 * i] * in[2 * i] +
					       in[2 * i + 1] * in[2 * i + 1]);
	}
}

static void block_rss(const struct combine *c, uint64_t from, uint32_t n)
{
	float sum[BLOCK] = { 0 };
	const float zero[BLOCK] = { 0 };

	for (uint32_t coil = 0; coil < c->coils; coil++) {
		const float *in = c->in + 2 * (coil * c->voxels + from);

		for (uint32_t i = 0; i < n; i++)
			sum[i] += in[2 * i] * in[2 * i] + in[2 * i + 1] * in[2 * i + 1];
	}
	for (uint32_t i = 0; i < n; i++)
		sum[i] = sqrtf(sum[i]);
	if (c->output == BS_OUTPUT_COMPLEX)
		store(c, from, sum, zero, n);
	else
		memcpy(c->out + from, sum, (size_t)n * 4);
}

static void block_sense(const struct combine *c, uint64_t from, uint32_t n)
{
	float re[BLOCK] = { 0 };
	float im[BLOCK] = { 0 };
	float power[BLOCK] = { 0 };

	for (uint32_t coil = 0; coil < c->coils; coil++) {
		const float *in = c->in + 2 * (coil * c->voxels + from);
		const float *s = c->maps + 2 * (coil * c->voxels + from);

		for (uint32_t i = 0; i < n; i++) {
			re[i] += s[2 * i] * in[2 * i] + s[2 * i + 1] * in[2 * i + 1];
			im[i] += s[2 * i] * in[2 * i + 1] - s[2 * i + 1] * in[2 * i];
			power[i] += s[2 * i] * s[2 * i] + s[2 * i + 1] * s[2 * i + 1];
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		float inverse = power[i] > 0.0f ? 1.0f / power[i] : 0.0f;

		re[i] *= inverse;
		im[i] *= inverse;
	}
	store(c, from, re, im, n);
}

static void block(void *arg, int task, int member)
{
	const struct combine *c = arg;
	uint64_t from = (uint64_t)task * BLOCK;
	uint32_t n = c->voxels - from < BLOCK ? (uint32_t)(c->voxels - from) : BLOCK;

	(void)member;
	switch (c->how) {
	case BS_COMBINE_NONE:
		block_none(c, from, n);
		break;
	case BS_COMBINE_RSS:
		block_rss(c, from, n);
		break;
	case BS_COMBINE_SENSE:
		block_sense(c, from, n);
		break;
	}
}

void bs_combine(struct bs_team *team, enum bs_combine how, enum bs_output output, uint32_t coils,
		uint64_t voxels, const float *coil_images, const float *maps, float *out)
{
	struct combine c = { how, output, coils, voxels, coil_images, maps, out };

	bs_team_run(team, block, &c, (int)((voxels + BLOCK - 1) / BLOCK));
}
