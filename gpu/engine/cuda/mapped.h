/*
 * gpu/engine/cuda/mapped.h - coil maps made from the scan, computed on the GPU that makes the
 * images
 *
 * open -> run* -> close. run is the function that bs_maps_elsewhere takes; it waits for the GPU.
 * open takes device memory of its own and is the only one that allocates. Only with GPU=1. Errors:
 * BS_ERR_GPU, BS_ERR_NOMEM; run also returns those of bs_espirit_run.
 * Test: test/twin/engine/twin_engine_maps.c
 */
#ifndef BS_GPU_ENGINE_CUDA_MAPPED_H
#define BS_GPU_ENGINE_CUDA_MAPPED_H

#include "gpu/calibrate/espirit.h"

BS_C_BEGIN

struct bs_mapped_cuda;

/* Bytes of device memory that open takes. */
uint64_t bs_mapped_cuda_bytes(const struct bs_espirit_spec *spec);
/* host: must live until close. protocol: the protocol's name. */
int bs_mapped_cuda_open(struct bs_mapped_cuda **self, struct bs_espirit *host, const char *protocol,
			struct bs_fail *why);
int bs_mapped_cuda_run(void *self, const uint32_t size[3], const float *block, float *maps,
		       struct bs_fail *why);
void bs_mapped_cuda_close(struct bs_mapped_cuda *self); /* frees it; self may be NULL */

BS_C_END
#endif
