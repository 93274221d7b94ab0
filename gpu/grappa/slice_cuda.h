/*
 * gpu/grappa/slice_cuda.h - separates the bands on the GPU, with weights made on the host
 *
 * need -> plan -> { load | lines | apply }* -> close. load copies a group's weights and phases,
 * which bs_slice_prepare has made, and spreads them over the columns; it returns when they have
 * arrived. lines tells which lines were measured (have [y], 1: measured), until told again; right
 * after plan none was. apply queues kernels, the same for every frame, so that it may be part of a
 * graph: folded and out are device memory, laid out as in slice.h. Sums run in a fixed order: the
 * same bytes every run. Only plan allocates. One thread. Test: test/twin/twin_slice.c
 */
#ifndef BS_GPU_GRAPPA_SLICE_CUDA_H
#define BS_GPU_GRAPPA_SLICE_CUDA_H

#include "gpu/grappa/slice.h"
#include "gpu/device/memory.h"

BS_C_BEGIN

struct bs_slice_cuda;
struct CUstream_st;

/* Bytes of device memory that plan takes. */
uint64_t bs_slice_cuda_bytes(const struct bs_slice_spec *spec);
int bs_slice_cuda_plan(struct bs_slice_cuda **plan, const struct bs_slice_spec *spec,
		       struct bs_devmem *mem, struct bs_fail *why);
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_slice_cuda_close(struct bs_slice_cuda *plan);
int bs_slice_cuda_load(struct bs_slice_cuda *plan, uint32_t group, const struct bs_slice *host,
		       struct CUstream_st *stream, struct bs_fail *why);
int bs_slice_cuda_lines(struct bs_slice_cuda *plan, const uint8_t *have, struct CUstream_st *stream,
			struct bs_fail *why);
int bs_slice_cuda_apply(struct bs_slice_cuda *plan, uint32_t group, uint32_t band,
			const float *folded, bool wrapped, float *out, struct CUstream_st *stream,
			struct bs_fail *why);

BS_C_END
#endif
