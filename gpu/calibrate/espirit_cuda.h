/*
 * gpu/calibrate/espirit_cuda.h - ESPIRiT on the GPU: CUDA twin of espirit.h
 *
 * The kernels' correlations come from their projector (gpu/calibrate/cuda/projector.cuh). At each
 * voxel one thread sums the correlations and finds the eigenvectors, one plane at a time, by the
 * host twin's own formulas (gpu/calibrate/eigen_loops.h). The host finds the virtual coil
 * whose phase maps refer to, by an eigenproblem of the coils.
 *
 * host    the host's plan; must live as long; its spec is also this plan's
 * block   as in espirit.h, in host memory
 * maps, values  as in espirit.h, in device memory; values NULL: not wanted
 * need, plan and run as for the host; bytes: of device memory that plan takes. run waits for the
 * stream. Only plan allocates. The same bytes every run. Errors: BS_ERR_GPU, BS_ERR_NOMEM; run also
 * returns those of bs_espirit_run.
 * Test: test/twin/twin_espirit.c
 */
#ifndef BS_GPU_CALIBRATE_ESPIRIT_CUDA_H
#define BS_GPU_CALIBRATE_ESPIRIT_CUDA_H

#include "gpu/calibrate/espirit.h"
#include "gpu/device/memory.h"

BS_C_BEGIN

struct CUstream_st;
struct bs_espirit_cuda;

uint64_t bs_espirit_cuda_bytes(const struct bs_espirit_spec *spec);
int bs_espirit_cuda_plan(struct bs_espirit_cuda **plan, struct bs_espirit *host,
			 struct bs_devmem *mem, struct bs_fail *why);
int bs_espirit_cuda_run(struct bs_espirit_cuda *plan, const uint32_t size[3], const float *block,
			float *maps, float *values, struct CUstream_st *stream,
			struct bs_fail *why);
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_espirit_cuda_close(struct bs_espirit_cuda *plan);

BS_C_END
#endif
