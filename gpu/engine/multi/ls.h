/*
 * gpu/engine/multi/ls.h - one least-squares solve with sensitivity maps on several GPUs
 *
 * Every GPU of the link iterates on the whole image (gpu/solve/ls_cuda.h, gpu/solve/pcg_cuda.h). Of
 * each product it computes the addend of its own coils; the addends come to all GPUs by an
 * allgather and are added in the order of the GPUs. So all do the same work on the same bits,
 * whatever the preconditioner and the constraint.
 * maps, images: [GPU], each on its GPU, [coil][z][y][x] of its own coils; images hold F^H d. use:
 * before run, where the caller has put another slice's maps in their place.
 * open may allocate. run queues on the link's streams and waits: at most `most` iterations, under a
 * deadline as gpu/solve/watch.h says. It allocates nothing (NCCL's own calls aside). image: on the
 * first GPU, which is current after every call. The link outlives it. One caller. Errors: as
 * gpu/solve/ls_cuda.h. Test: test/twin/twin_devices.c
 */
#ifndef BS_GPU_ENGINE_MULTI_LS_H
#define BS_GPU_ENGINE_MULTI_LS_H

#include <cuda_runtime.h>

#include "core/engine.h"
#include "gpu/device/link.h"

struct bs_ls_multi;

/* p, tables: of the whole protocol with all coils. bs_split_part says which GPU has which coils. */
int bs_ls_multi_open(struct bs_ls_multi **ls, struct bs_link *link, const struct bs_protocol *p,
		     const struct bs_tables *tables, const struct bs_arm_env *env,
		     const float2 *const *maps, struct bs_fail *why);
int bs_ls_multi_use(struct bs_ls_multi *ls, uint32_t slice, struct bs_fail *why);
int bs_ls_multi_run(struct bs_ls_multi *ls, const float2 *const *images, uint32_t most,
		    int64_t deadline_ns, struct bs_report *report, struct bs_fail *why);
const float2 *bs_ls_multi_image(const struct bs_ls_multi *ls);
void bs_ls_multi_close(struct bs_ls_multi *ls);

#endif
