/* test/bench/inputs.h - what the benches work on: the speed demand's sizes, and random numbers */
#ifndef BS_TEST_BENCH_INPUTS_H
#define BS_TEST_BENCH_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/traj/traj.h"
#include "gpu/nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bs_bench_shape {
	BS_BENCH_RADIAL2D,
	BS_BENCH_SPIRAL2D,
	BS_BENCH_RANDOM3D,
	BS_BENCH_STACK,
	BS_BENCH_RADIAL3D,
	BS_BENCH_RADIAL3D_10M,
	BS_BENCH_RANDOM2D,
	BS_BENCH_SHAPES
};

struct bs_bench_size {
	const char *name, *title; /* of rows on the host and among variants; of rows on the GPU */
	enum bs_traj_type type;
	uint32_t dims, matrix[3], samples, readouts, interleaves;
};

extern const struct bs_bench_size bs_bench_sizes[BS_BENCH_SHAPES];

/* The gridding's rows on the GPU, and the most that is allowed on an NVIDIA H200; 0: not stated. */
struct bs_bench_case {
	enum bs_bench_shape shape;
	uint32_t coils;
	double adjoint_ms, forward_ms;
};

#define BS_BENCH_CASES 10
extern const struct bs_bench_case bs_bench_cases[BS_BENCH_CASES];

/*
 * Rows that a seed draws, so that no figure is of chosen sizes alone: row i of any number; radial,
 * spiral, random (2D, 96 to 512), radial, random, cones (3D, 48 to 256), stacks of spirals, in
 * turns; even matrices; 1 to 32 coils, fewer where images or samples would be many. title: the
 * size's, and its.
 */
#define BS_BENCH_DRAWN 20u
void bs_bench_draw(struct bs_bench_size *size, char title[64], uint32_t *coils, uint64_t seed,
		   uint32_t i);

int bs_bench_traj(struct bs_traj *traj, const struct bs_bench_size *size, struct bs_fail *why);
/* Accuracy 1e-3. */
struct bs_nufft_spec bs_bench_nufft_spec(const struct bs_bench_size *size, uint32_t coils);

/* Uniform in [-width / 2, width / 2), the same for a seed everywhere. */
void bs_bench_uniform(float *v, size_t n, double width, uint64_t seed);
/* So many in [-0.5, 0.5), the caller's to free; NULL: no memory. */
float *bs_bench_noise(size_t n, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
