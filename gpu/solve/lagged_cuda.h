/*
 * gpu/solve/lagged_cuda.h - F^H D F off resonance by Toeplitz operators, one for each of some times
 *
 * out(n) = sum_c conj(S_c(n)) sum_n' A(n, n') S_c(n') in(n'), A(n, n') = sum_m w_m
 * exp(+i2pi (k_m.(n - n') + (f(n) - f(n')) t_m)): what bs_segments_cuda_normal applies by two
 * transforms for each segment. As in segments.h, exp(+i2pi (f(n) - f(n')) t) is taken to be
 * sum_l b_l(t) exp(+i2pi f(n) tau_l) exp(-i2pi f(n') tau_l): a Toeplitz operator with the weights
 * w_m b_l(t_m) between two changes of phase. b_l is fitted to the differences of the map's
 * frequencies, which lie as much on one side of 0 as on the other: it is real. They reach twice as
 * far as the frequencies (where other maps come in this one's place, evenly to there), so there are
 * more times than segments (9 for 6, 30 for 18), but all of them are three passes over grids that
 * hold no samples, all coils and times together. The error is segments.h's:
 * `error` beside that of Q, of the spec's accuracy.
 *
 * in, out [z][y][x] complex, maps [together][voxel] complex or NULL (together is 1 and S is 1), hz
 * [voxel] Hz: device memory. apply only queues, always the same launches: fit for a graph.
 * 2D alone. plan is of k and weight as bs_segments_cuda_plan has them and the maps of all slices,
 * hz [slice][voxel], host memory; it takes device memory of its own and waits.
 * BS_ERR_UNSUPPORTED: in 3D, or too many times or too much memory; segments serve as well then.
 * plan -> apply* -> close. One caller. Errors: BS_ERR_GPU, BS_ERR_NOMEM, those of
 * gpu/toeplitz/q_cuda.h. Test: test/twin/twin_segments.c
 * Source: Fessler et al., IEEE Trans Signal Process 2005;53:3393-3402.
 */
#ifndef BS_GPU_SOLVE_LAGGED_CUDA_H
#define BS_GPU_SOLVE_LAGGED_CUDA_H

#include "gpu/solve/segments.h"

BS_C_BEGIN

struct CUstream_st; /* what a cudaStream_t points to */
struct bs_lagged_cuda;

/*
 * Sets the bytes of device memory that plan would take and keep for such a map; 0: plan would
 * return BS_ERR_UNSUPPORTED.
 */
int bs_lagged_cuda_bytes(const struct bs_segments_spec *spec, const float *hz, uint64_t *bytes,
			 struct bs_fail *why);
int bs_lagged_cuda_plan(struct bs_lagged_cuda **plan, const struct bs_segments_spec *spec,
			const float *k, const float *weight, const float *hz, struct bs_fail *why);
void bs_lagged_cuda_close(struct bs_lagged_cuda *plan); /* frees a plan, which may be NULL */
int bs_lagged_cuda_apply(struct bs_lagged_cuda *plan, const float *maps, const float *hz,
			 const float *in, float *out, struct CUstream_st *stream,
			 struct bs_fail *why);

BS_C_END
#endif
