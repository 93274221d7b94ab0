/*
 * test/bench/gpu.h - the least-squares operators timed on the GPU
 *
 * Device time by events, plans made, median of 20; beside each the floor: bytes that must move over
 * the copy bandwidth measured in the same run, or products over the tensor cores' peak (from clock
 * and multiprocessors). error: relative l2, against double precision sums at voxels drawn at
 * random; negative where there is nothing to compare. Rivals are measured in the same run, on the
 * same data. Allocates what it needs and frees it.
 */
#ifndef BS_TEST_BENCH_GPU_H
#define BS_TEST_BENCH_GPU_H

#include <stdint.h>

#include "core/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BS_BENCH_GRID 1.3

/* What was measured of ours, or of a rival; 0: was not. */
struct bs_gpu_seen {
	double median_ms;
	double error;      /* as above, of white data */
	double worst;      /* gridding: the same where it is largest (errors.cuh) */
	double structured; /* gridding: of an object */
	double mj;         /* power.h */
};

struct bs_gpu_row {
	const char *name, *detail;
	struct bs_gpu_seen seen, rival;
	const char *rival_how;
	double min_ms, floor_ms;
	double demand_ms; /* 0: none is stated here */
	double times;     /* gridding: asked of the rival's time over ours; 0: nothing */
	double grid_ms;   /* or at most BS_BENCH_GRID of this: rivals/cufft.cuh, of our grid */
	int n;
};

/* Device copy: bytes read and written together, a millisecond. */
int bs_bench_gpu_copy(double *bytes_ms, struct bs_fail *why);
/*
 * The gridding, at 1e-3 (nufft.cu), beside cuFINUFFT where it is (rivals/cufinufft.h).
 * tune_seconds: for measuring variants before each row; 0: none.
 */
int bs_bench_gpu_nufft(int (*wanted)(void *arg, const char *name),
		       void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		       double tune_seconds, double bytes_ms, struct bs_fail *why);
/*
 * The exact sums at every setting that decides their time, each row five times: for choosing those.
 */
int bs_bench_gpu_exact(int (*wanted)(void *arg, const char *name),
		       void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		       struct bs_fail *why);
/* The Toeplitz operator beside pruned cuFFT (toeplitz.cu), 2D and 3D, one coil and eight. */
int bs_bench_gpu_toeplitz(int (*wanted)(void *arg, const char *name),
			  void (*write)(void *arg, const struct bs_gpu_row *r), void *arg,
			  double bytes_ms, struct bs_fail *why);
struct bs_csr;
/* W: forward differences to the neighbors along x, y and z, weights at random. Host. */
int bs_bench_w(struct bs_csr *w, const uint32_t n[3], struct bs_fail *why);
/* Conjugate gradients in 2D (cg.cu), with maps and without, with a W and without. */
int bs_bench_gpu_cg(int (*wanted)(void *arg, const char *name),
		    void (*write)(void *arg, const struct bs_gpu_row *r), void *arg,
		    struct bs_fail *why);
/* Solves with a prior through the CUDA engine (prior.c), from the last readout to the image. */
int bs_bench_gpu_prior(int (*wanted)(void *arg, const char *name),
		       void (*write)(void *arg, const struct bs_gpu_row *r), void *arg, int threads,
		       struct bs_fail *why);
/* wanted is asked before each row is prepared. */
int bs_bench_gpu_ls(int (*wanted)(void *arg, const char *name),
		    void (*row)(void *arg, const struct bs_gpu_row *r), void *arg,
		    struct bs_fail *why);

#ifdef __cplusplus
}
#endif
#endif
