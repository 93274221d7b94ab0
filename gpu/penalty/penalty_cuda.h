/*
 * gpu/penalty/penalty_cuda.h - the priors of the proximal solver on the GPU: twin of penalty.h
 *
 * The same priors, grids and inner steps; lambda is the solve's (gpu/penalty/prox_cuda.h). low_rank
 * takes blocks whose shorter side (frames, or voxels) is at most BS_PRIOR_SHORTER_MAX, less where
 * a block of threads has less shared memory. Images lie in device memory. A row of functions each:
 * wavelet.cu, dual.cu, lowrank.cu; cuda/rows.cuh.
 *
 * need -> plan -> { penalty's functions }* -> close. w: host memory, which plan copies. plan waits,
 * the others only queue. The same bytes every run. One caller. Errors: BS_ERR_GPU, BS_ERR_NOMEM,
 * BS_ERR_CONFIG, BS_ERR_SIZE, BS_ERR_UNSUPPORTED. Test: test/twin/penalty/twin_penalty.c
 */
#ifndef BS_GPU_PENALTY_PENALTY_CUDA_H
#define BS_GPU_PENALTY_PENALTY_CUDA_H

#include "gpu/penalty/penalty.h"
#include "gpu/penalty/prox_cuda.h"

BS_C_BEGIN

struct bs_penalty_cuda_plan;

int bs_penalty_cuda_need(const struct bs_penalty_spec *spec, const struct bs_csr *w,
			 uint64_t *bytes, struct bs_fail *why);
int bs_penalty_cuda_plan(struct bs_penalty_cuda_plan **plan, const struct bs_penalty_spec *spec,
			 const struct bs_csr *w, struct bs_devmem *mem, struct bs_fail *why);
void bs_penalty_cuda_close(struct bs_penalty_cuda_plan *plan);
const struct bs_penalty_cuda *bs_penalty_cuda_get(const struct bs_penalty_cuda_plan *plan);

BS_C_END
#endif
