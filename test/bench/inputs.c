/* test/bench/inputs.c - see inputs.h */
#include "test/bench/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"

/* clang-format off */
const struct bs_bench_size bs_bench_sizes[BS_BENCH_SHAPES] = {
	[BS_BENCH_RADIAL2D] = { "radial2d", "2D radial 256x512 -> 256^2", BS_TRAJ_RADIAL2D, 2,
	  { 256, 256, 1 }, 512, 256, 1 },
	[BS_BENCH_SPIRAL2D] = { "spiral2d", "2D spiral 16x4096 -> 256^2", BS_TRAJ_SPIRAL2D, 2,
	  { 256, 256, 1 }, 4096, 16, 16 },
	[BS_BENCH_RANDOM3D] = { "random3d", "3D random 284592 -> 128^3", BS_TRAJ_RANDOM, 3,
	  { 128, 128, 128 }, 528, 539, 1 },
	[BS_BENCH_STACK] = { "stack", "3D stack 17x32x6000 -> 256x256x32", BS_TRAJ_STACK, 3,
	  { 256, 256, 32 }, 6000, 544, 17 },
	[BS_BENCH_RADIAL3D] = { "radial3d", "3D radial 3.2M -> 64^3", BS_TRAJ_RADIAL3D, 3,
	  { 64, 64, 64 }, 128, 25000, 1 },
	[BS_BENCH_RADIAL3D_10M] = { "radial3d 10M", "3D radial 10M -> 256^3", BS_TRAJ_RADIAL3D, 3,
	  { 256, 256, 256 }, 500, 20000, 1 },
	[BS_BENCH_RANDOM2D] = { "random2d", "2D random 1M -> 512^2", BS_TRAJ_RANDOM, 2,
	  { 512, 512, 1 }, 1024, 1024, 1 },
};
/* clang-format on */

const struct bs_bench_case bs_bench_cases[BS_BENCH_CASES] = {
	{ BS_BENCH_RADIAL2D, 1, 0.025, 0 },  { BS_BENCH_RADIAL2D, 8, 0.10, 0.076 },
	{ BS_BENCH_SPIRAL2D, 1, 0.022, 0 },  { BS_BENCH_SPIRAL2D, 8, 0.075, 0.069 },
	{ BS_BENCH_RANDOM3D, 1, 0.20, 0 },   { BS_BENCH_RANDOM3D, 8, 1.2, 0.98 },
	{ BS_BENCH_STACK, 8, 2.0, 2.52 },    { BS_BENCH_RADIAL3D, 1, 0.45, 0 },
	{ BS_BENCH_RADIAL3D, 8, 2.5, 1.77 }, { BS_BENCH_RADIAL3D_10M, 1, 2.5, 1.49 },
};

/* An even number, low to high. */
static uint32_t even(struct bs_random *r, uint32_t low, uint32_t high)
{
	return low + 2 * (uint32_t)(bs_random_uniform(r) * (double)((high - low) / 2 + 1));
}

/* About share x total samples in readouts of so many, at most 12 million. */
static uint32_t readouts_of(double total, double share, uint32_t samples)
{
	const double most = 12e6 / samples;
	const double want = total * share / samples;

	return (uint32_t)(want < 1.0 ? 1.0 : want > most ? most : want);
}

void bs_bench_draw(struct bs_bench_size *size, char title[64], uint32_t *coils, uint64_t seed,
		   uint32_t i)
{
	static const struct {
		const char *word;
		enum bs_traj_type type;
		uint32_t dims, low, high;
	} kinds[] = { { "radial", BS_TRAJ_RADIAL2D, 2, 96, 512 },
		      { "radial", BS_TRAJ_RADIAL3D, 3, 48, 256 },
		      { "spiral", BS_TRAJ_SPIRAL2D, 2, 96, 512 },
		      { "random", BS_TRAJ_RANDOM, 3, 48, 256 },
		      { "random", BS_TRAJ_RANDOM, 2, 96, 512 },
		      { "stack", BS_TRAJ_STACK, 3, 96, 256 },
		      { "cones", BS_TRAJ_CONES, 3, 48, 256 } };
	const size_t kind = i % (sizeof(kinds) / sizeof(kinds[0]));
	struct bs_random r;
	double voxels;
	double share;

	bs_random_seed(&r, seed * 1000 + i);
	*size = (struct bs_bench_size){ .name = title,
					.title = title,
					.type = kinds[kind].type,
					.dims = kinds[kind].dims,
					.matrix = { 1, 1, 1 } };
	for (uint32_t a = 0; a < size->dims; a++)
		size->matrix[a] = a == 0 || size->type == BS_TRAJ_RANDOM
					  ? even(&r, kinds[kind].low, kinds[kind].high)
					  : size->matrix[0];
	if (size->type == BS_TRAJ_STACK)
		size->matrix[2] = even(&r, 48, 96);
	voxels = (double)size->matrix[0] * size->matrix[1] * size->matrix[2];
	share = bs_random_uniform(&r);
	size->samples = size->type == BS_TRAJ_RANDOM ? 512 : 2 * size->matrix[0];
	if (size->type == BS_TRAJ_SPIRAL2D || size->type == BS_TRAJ_STACK) {
		size->interleaves = even(&r, 8, 32);
		size->samples = (uint32_t)((1.0 + 0.5 * share) * size->matrix[0] * size->matrix[0] /
					   size->interleaves);
		size->readouts = size->interleaves * size->matrix[2];
	} else {
		size->readouts =
			readouts_of(voxels, size->dims == 2 ? 0.3 + 2.5 * share : 0.1 + 0.6 * share,
				    size->samples);
	}
	*coils = 1u << (uint32_t)(6.0 * bs_random_uniform(&r));
	while (*coils > 1 && (voxels * *coils > 8.0 * 256 * 256 * 256 ||
			      (double)size->samples * size->readouts * *coils > 8e7))
		*coils /= 2;
	(void)snprintf(title, 64, "%uD %s %ux%u -> %ux%ux%u", size->dims, kinds[kind].word,
		       size->readouts, size->samples, size->matrix[0], size->matrix[1],
		       size->matrix[2]);
}

int bs_bench_traj(struct bs_traj *traj, const struct bs_bench_size *size, struct bs_fail *why)
{
	struct bs_protocol p = { .dims = size->dims,
				 .samples = size->samples,
				 .readouts = size->readouts };

	memcpy(p.matrix, size->matrix, sizeof(p.matrix));
	p.traj.type = size->type;
	p.traj.interleaves = size->interleaves;
	p.traj.seed = 1;
	bs_plan_make(&p);
	return bs_traj_make(traj, &p, why);
}

struct bs_nufft_spec bs_bench_nufft_spec(const struct bs_bench_size *size, uint32_t coils)
{
	struct bs_nufft_spec s = { .dims = size->dims,
				   .coils = coils,
				   .samples = (uint64_t)size->samples * size->readouts,
				   .accuracy = 1e-3 };

	memcpy(s.matrix, size->matrix, sizeof(s.matrix));
	return s;
}

void bs_bench_uniform(float *v, size_t n, double width, uint64_t seed)
{
	struct bs_random r;

	bs_random_seed(&r, seed);
	for (size_t i = 0; i < n; i++) {
		v[i] = (float)((bs_random_uniform(&r) - 0.5) * width);
		if (v[i] >= (float)(0.5 * width)) /* rounded up */
			v[i] = (float)(-0.5 * width);
	}
}

float *bs_bench_noise(size_t n, uint64_t seed)
{
	float *v = malloc(n * sizeof(*v));

	if (v != NULL)
		bs_bench_uniform(v, n, 1.0, seed);
	return v;
}
