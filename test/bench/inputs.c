/* test/bench/inputs.c - see inputs.h */
#include "test/bench/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "core/phantom/random.h"

const struct bs_bench_size bs_bench_sizes[BS_BENCH_SHAPES] = {
	[BS_BENCH_RADIAL2D] = { "radial2d",
				"2D radial 256x512 -> 256^2",
				BS_TRAJ_RADIAL2D,
				2,
				{ 256, 256, 1 },
				512,
				256,
				1 },
	[BS_BENCH_SPIRAL2D] = { "spiral2d",
				"2D spiral 16x4096 -> 256^2",
				BS_TRAJ_SPIRAL2D,
				2,
				{ 256, 256, 1 },
				4096,
				16,
				16 },
	[BS_BENCH_RANDOM3D] = { "random3d",
				"3D random 284592 -> 128^3",
				BS_TRAJ_RANDOM,
				3,
				{ 128, 128, 128 },
				528,
				539,
				1 },
	[BS_BENCH_STACK] = { "stack",
			     "3D stack 17x32x6000 -> 256x256x32",
			     BS_TRAJ_STACK,
			     3,
			     { 256, 256, 32 },
			     6000,
			     544,
			     17 },
	[BS_BENCH_RADIAL3D] = { "radial3d",
				"3D radial 3.2M -> 64^3",
				BS_TRAJ_RADIAL3D,
				3,
				{ 64, 64, 64 },
				128,
				25000,
				1 },
	[BS_BENCH_RADIAL3D_10M] = { "radial3d 10M",
				    "3D radial 10M -> 256^3",
				    BS_TRAJ_RADIAL3D,
				    3,
				    { 256, 256, 256 },
				    500,
				    20000,
				    1 },
	[BS_BENCH_RANDOM2D] = { "random2d",
				"2D random 1M -> 512^2",
				BS_TRAJ_RANDOM,
				2,
				{ 512, 512, 1 },
				1024,
				1024,
				1 },
};

const struct bs_bench_case bs_bench_cases[BS_BENCH_CASES] = {
	{ BS_BENCH_RADIAL2D, 1, 0.025, 0 },  { BS_BENCH_RADIAL2D, 8, 0.10, 0.076 },
	{ BS_BENCH_SPIRAL2D, 1, 0.022, 0 },  { BS_BENCH_SPIRAL2D, 8, 0.075, 0.069 },
	{ BS_BENCH_RANDOM3D, 1, 0.20, 0 },   { BS_BENCH_RANDOM3D, 8, 1.2, 0.98 },
	{ BS_BENCH_STACK, 8, 2.0, 2.52 },    { BS_BENCH_RADIAL3D, 1, 0.45, 0 },
	{ BS_BENCH_RADIAL3D, 8, 2.5, 1.77 }, { BS_BENCH_RADIAL3D_10M, 1, 2.5, 1.49 },
};

int bs_bench_traj(struct bs_traj *traj, const struct bs_bench_size *size, struct bs_fail *why)
{
	struct bs_protocol p = { .dims = size->dims,
				 .samples = size->samples,
				 .readouts = size->readouts };

	memcpy(p.matrix, size->matrix, sizeof(p.matrix));
	p.traj.type = size->type;
	p.traj.interleaves = size->interleaves;
	p.traj.seed = 1;
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
