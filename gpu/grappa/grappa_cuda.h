/*
 * gpu/grappa/grappa_cuda.h - fills the missing lines on the GPU, with weights made on the host
 *
 * The weights are solved on the host (grappa.c): some tens of systems of some hundred unknowns, in
 * double precision, once for a slice, from lines in the host's memory. GPUs beside a scanner run
 * double precision at a sixty-fourth of their speed.
 * need -> plan -> { load | none -> fill* }* -> close. load copies what bs_grappa_prepare has found
 * and returns when it has arrived. fill queues kernels, the same for every frame, so that it may be
 * part of a graph. hybrid is device memory, its lines in the order of bs_grappa_fill's `wrapped`.
 * The sums run in the order of sources, coils and samples: the same bytes every run. Only plan
 * allocates. One thread. Tests: test/twin/twin_grappa.c, twin_engine_grappa.c
 */
#ifndef BS_GPU_GRAPPA_GRAPPA_CUDA_H
#define BS_GPU_GRAPPA_GRAPPA_CUDA_H

#include "gpu/grappa/grappa.h"
#include "gpu/device/memory.h"

BS_C_BEGIN

struct bs_grappa_cuda;
struct CUstream_st;

/* Bytes of device memory that plan takes. */
uint64_t bs_grappa_cuda_bytes(const struct bs_grappa_spec *spec);
int bs_grappa_cuda_plan(struct bs_grappa_cuda **plan, const struct bs_grappa_spec *spec,
			struct bs_devmem *mem, struct bs_fail *why);
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_grappa_cuda_close(struct bs_grappa_cuda *plan);
int bs_grappa_cuda_load(struct bs_grappa_cuda *plan, const struct bs_grappa *host,
			struct CUstream_st *stream, struct bs_fail *why);
/* Prepares a frame that lacks no line: fill then does nothing, as right after plan. Only queues. */
int bs_grappa_cuda_none(struct bs_grappa_cuda *plan, struct CUstream_st *stream,
			struct bs_fail *why);
int bs_grappa_cuda_fill(struct bs_grappa_cuda *plan, float *hybrid, bool wrapped,
			struct CUstream_st *stream, struct bs_fail *why);

BS_C_END
#endif
