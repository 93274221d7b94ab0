/*
 * gpu/image/pocs_cuda.h - partial Fourier by projections on the GPU; the CUDA twin of pocs.h
 *
 * The same spec, spans, shapes and weights as pocs.h; in, spare and out are device memory, work is
 * queued on the caller's stream and not waited for. Which axes are partial decides what is
 * launched. Each element has a sum of its own: the same bytes every run.
 * bytes: of device memory, which plan takes; plan runs all of its kernels once and waits, run
 * allocates nothing. One stream, one caller.
 * Errors: BS_ERR_GPU, BS_ERR_NOMEM, those of bs_pocs_need.
 * Host twin: pocs.c. Test: test/twin/twin_pocs.c
 */
#ifndef BS_GPU_IMAGE_POCS_CUDA_H
#define BS_GPU_IMAGE_POCS_CUDA_H

#include "gpu/device/memory.h"
#include "gpu/image/pocs.h"

BS_C_BEGIN

struct CUstream_st; /* what a cudaStream_t points to */
struct bs_pocs_cuda;

int bs_pocs_cuda_need(const struct bs_pocs_spec *spec, uint64_t *bytes, struct bs_fail *why);
int bs_pocs_cuda_plan(struct bs_pocs_cuda **plan, const struct bs_pocs_spec *spec,
		      struct bs_devmem *mem, struct bs_fail *why);
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_pocs_cuda_close(struct bs_pocs_cuda *plan);
/* Overwrites in, and spare, which is as large as in. Reads spans before the return. */
int bs_pocs_cuda_run(struct bs_pocs_cuda *plan, const struct bs_pocs_span spans[3], float *in,
		     float *spare, float *out, struct CUstream_st *stream, struct bs_fail *why);

BS_C_END
#endif
