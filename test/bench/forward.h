/*
 * test/bench/forward.h - the exact forward sum on the GPU, a row of the bench
 *
 * data[c][m] = sum_n image[c][n] exp(-i2pi k_m.n), for any sizes; weights are not applied. All in
 * device memory; work: forward_bytes of it, aligned to 16. Queues two launches. Relative error
 * about 1e-6 (the bench holds it against sums in double); the same bits every run.
 */
#ifndef BS_TEST_BENCH_FORWARD_H
#define BS_TEST_BENCH_FORWARD_H

#include <stdint.h>

#include "core/err.h"

struct CUstream_st; /* cudaStream_t */

struct bs_exact_forward_spec {
	uint32_t dims;      /* 2 or 3 */
	uint32_t matrix[3]; /* 1 beyond dims */
	uint32_t coils;
	uint64_t samples;
};
uint64_t bs_exact_forward_bytes(const struct bs_exact_forward_spec *spec);
int bs_exact_cuda_forward(const struct bs_exact_forward_spec *spec, const float *k,
			  const float *image, float *data, void *work, struct CUstream_st *stream,
			  struct bs_fail *why);

#endif
