/*
 * gpu/multi/multi.h - one scan on several GPUs of a node (gpu/device/link.h)
 *
 * exact: F^H d or Q (exact_cuda.h), the voxels split along y in whole tiles: no sum crosses a
 *   device. A part's slab is the same sum about its own center (exact_cuda.h's offset), by parts of
 *   its voxels where their sums would fill the caches. The slabs come together on part 0.
 * grid: the adjoint NUFFT (nufft_cuda.h), the coils split; the root of the sum of squares over the
 *   coils, each part's own in their order, then the parts in theirs.
 * sense: coils split; F^H d of a part's own coils by exact sums, then the service's solver
 *   (gpu/engine/multi/solver.h) on (sum_c S_c^H T S_c + lambda W^H W) x = b, W NULL: the identity; no preconditioner.
 * The same parts give the same bits every run; other numbers of parts differ by roundoff (exact:
 * 1e-6 relative: another phase; grid and sense: another order of the same few sums).
 *
 * open takes host arrays and may allocate and wait; load copies the samples to the devices that need
 * them and waits; run does the work on data already there: ms is the host's clock from the first
 * launch until the result lies on part 0; then, where out is not NULL, fetches it (host memory).
 * close. One caller; part 0's device is current after every call. The link outlives them.
 * Errors as the operators'; BS_ERR_SIZE where a size is out of range.
 * Source: Stone et al., J Parallel Distrib Comput 2008;68:1307-1318 (voxels over GPUs).
 * Only with GPU=1. Test: test/twin/twin_multi.c, twin_multi_sense.c
 */
#ifndef BS_GPU_MULTI_MULTI_H
#define BS_GPU_MULTI_MULTI_H

#include "core/solve/csr.h"
#include "gpu/exact/exact_cuda.h"
#include "gpu/device/link.h"
#include "gpu/nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- exact sums --------------------------------------------------------------------------- */

struct bs_multi_exact_spec {
	enum bs_exact_sum sum;
	enum bs_exact_class precision;
	uint32_t dims;      /* 2 or 3 */
	uint32_t matrix[3]; /* of the image; for Q at most 256 an axis */
	uint32_t coils;     /* Q: 1 */
	uint64_t samples;
	uint32_t chunk, parts; /* of each GPU's sum, as in exact_cuda.h; 0: chosen */
};

struct bs_multi_exact;

/* k [sample][dims], weight [sample] or NULL. */
int bs_multi_exact_open(struct bs_multi_exact **m, struct bs_link *link,
			const struct bs_multi_exact_spec *spec, const float *k, const float *weight,
			struct bs_fail *why);
/* data [coil][sample] complex; Q: not called. */
int bs_multi_exact_load(struct bs_multi_exact *m, const float *data, struct bs_fail *why);
/* out: the image, or Q's array (q.h); bs_multi_exact_floats of them. */
int bs_multi_exact_run(struct bs_multi_exact *m, float *out, double *ms, struct bs_fail *why);
/* How a part's slab is summed; zeros where it has none. */
void bs_multi_exact_info(const struct bs_multi_exact *m, uint32_t part,
			 struct bs_exact_cuda_info *info);
uint64_t bs_multi_exact_floats(const struct bs_multi_exact_spec *spec);
void bs_multi_exact_close(struct bs_multi_exact *m);

/* ---- gridding ----------------------------------------------------------------------------- */

struct bs_multi_grid;

/* spec: of all coils; its chunk and states are not used. */
int bs_multi_grid_open(struct bs_multi_grid **m, struct bs_link *link,
		       const struct bs_nufft_spec *spec, const float *k, const float *weight,
		       struct bs_fail *why);
int bs_multi_grid_load(struct bs_multi_grid *m, const float *data, struct bs_fail *why);
/* out: [z][y][x] magnitude */
int bs_multi_grid_run(struct bs_multi_grid *m, float *out, double *ms, struct bs_fail *why);
void bs_multi_grid_close(struct bs_multi_grid *m);

/* ---- least squares with sensitivities ----------------------------------------------------- */

struct bs_multi_sense_spec {
	uint32_t dims, matrix[3], coils, iterations;
	uint64_t samples;
	double lambda;
};

struct bs_multi_sense;

/* maps [coil][z][y][x] complex; as many coils as parts at least. w: may go after open. */
int bs_multi_sense_open(struct bs_multi_sense **m, struct bs_link *link,
			const struct bs_multi_sense_spec *spec, const float *k, const float *maps,
			const struct bs_csr *w, struct bs_fail *why);
int bs_multi_sense_load(struct bs_multi_sense *m, const float *data, struct bs_fail *why);
/* out: [z][y][x] complex; residual: relative, after the last iteration. */
int bs_multi_sense_run(struct bs_multi_sense *m, float *out, double *ms, double *residual,
		       struct bs_fail *why);
void bs_multi_sense_close(struct bs_multi_sense *m);

#ifdef __cplusplus
}
#endif
#endif
