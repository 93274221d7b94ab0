/*
 * gpu/engine/cuda/mapped.h - maps that a scan brings, made on the GPU that its images are made on
 *
 * open -> run* -> close; run: for bs_maps_elsewhere, waits for the GPU. Device memory of its own,
 * taken by open, which alone allocates. Only with GPU=1. Errors: BS_ERR_GPU, BS_ERR_NOMEM; of run
 * those of bs_espirit_run, too. Test: test/twin/engine/twin_engine_maps.c
 */
#ifndef BS_GPU_ENGINE_CUDA_MAPPED_H
#define BS_GPU_ENGINE_CUDA_MAPPED_H

#include "gpu/calibrate/espirit.h"

BS_C_BEGIN

struct bs_mapped_cuda;

/* Device memory that open takes. */
uint64_t bs_mapped_cuda_bytes(const struct bs_espirit_spec *spec);
/* host: lives as long; protocol: its name. */
int bs_mapped_cuda_open(struct bs_mapped_cuda **self, struct bs_espirit *host, const char *protocol,
			struct bs_fail *why);
int bs_mapped_cuda_run(void *self, const uint32_t size[3], const float *block, float *maps,
		       struct bs_fail *why);
void bs_mapped_cuda_close(struct bs_mapped_cuda *self); /* or NULL */

BS_C_END
#endif
