/*
 * gpu/penalty/proximal_cuda.h - least squares with a prior on the GPU, after F^H d: twin of
 * proximal.h
 *
 * The prior (penalty_cuda.h) around F^H F by Q (gpu/toeplitz/toeplitz_cuda.h; along frames one for
 * each, in 2D) or of the lines that came (gpu/image/unfold_cuda.h). Without a prior, and on the
 * ladder's rung quadratic, conjugate gradients (gpu/solve/pcg_cuda.h) solve for the difference from
 * where the solve starts, along frames that of the newest alone.
 * core/plan/place.c says what the host alone does.
 * q: made while the device is empty, [frame], host memory; the caller frees it. bytes: of device
 * memory.
 * changed: the slice's maps, which lie in `maps` now, and in the host's `host_maps`, are others; it
 * waits. solve: as bs_solving's; fhd, parts and images of the task lie in device memory, lines in
 * host memory. It waits. Only q and plan allocate. Tests: test/twin/engine/twin_engine_prior.c,
 * test/twin/twin_shed.c
 */
#ifndef BS_GPU_PENALTY_PROXIMAL_CUDA_H
#define BS_GPU_PENALTY_PROXIMAL_CUDA_H

#include <cuda_runtime.h>

#include "gpu/device/memory.h"
#include "gpu/solve/solve.h"

struct bs_proximal_cuda;

struct bs_proximal_cuda_given {
	const float *q;         /* of bs_proximal_cuda_q */
	const struct bs_csr *w; /* host memory; NULL: there is none */
	const float2 *maps;     /* device memory, the maps in use; NULL: none */
	const float2 *images;   /* device memory, of lines: F^H d of the coils */
};

int bs_proximal_cuda_q(float **q, const struct bs_protocol *p, const struct bs_tables *tables,
		       struct bs_team *team, const char *cache_dir, struct bs_fail *why);
int bs_proximal_cuda_bytes(const struct bs_protocol *p, const struct bs_csr *w, uint64_t *bytes,
			   struct bs_fail *why);
int bs_proximal_cuda_plan(struct bs_proximal_cuda **plan, const struct bs_protocol *p,
			  const struct bs_proximal_cuda_given *given, struct bs_devmem *mem,
			  struct bs_fail *why);
/* Returns the operator of F^H F by Q, after plan. Of a stream's paths it has no Q yet. */
struct bs_toeplitz_cuda *bs_proximal_cuda_normal(struct bs_proximal_cuda *plan);
void bs_proximal_cuda_close(struct bs_proximal_cuda *plan); /* frees a plan, which may be NULL */
int bs_proximal_cuda_changed(struct bs_proximal_cuda *plan, uint32_t slice, const float *host_maps,
			     cudaStream_t stream, struct bs_fail *why);
void bs_proximal_cuda_scan(struct bs_proximal_cuda *plan);
int bs_proximal_cuda_solve(struct bs_proximal_cuda *plan, const struct bs_task *task,
			   cudaStream_t stream, struct bs_report *report, struct bs_fail *why);

#endif
