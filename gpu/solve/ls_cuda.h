/*
 * gpu/solve/ls_cuda.h - the least-squares solve of methods ls and sense on the GPU, behind F^H d
 *
 * What gpu/solve/ls.h states, whole on the device: images [coil][z][y][x] complex hold F^H d of each coil and
 * are replaced by the solutions (sense: one, in the first). Preconditioner, constraint, scale of
 * lambda, box basis and weights as on the host, so both twins solve the same system.
 * open (host memory only, says the bytes) -> plan -> { queue, outcome | run }* -> close.
 * Q comes from the disk cache (gpu/toeplitz/qcache.h), where it is there; else the exact sum is made on the GPU,
 * the NUFFT's on the host, and kept. queue: all solves to their last iteration or tolerance, only
 * launches, fit for a graph; outcome says, once the stream is idle, what came of them. run: the
 * same under a deadline and for at most so many iterations, waiting between; the time left is shared
 * out among the coils that are left.
 * Thread: one caller. Errors: BS_ERR_GPU, BS_ERR_NOMEM, BS_ERR_CONFIG. Test: test/twin/twin_ls.c
 */
#ifndef BS_GPU_SOLVE_LS_CUDA_H
#define BS_GPU_SOLVE_LS_CUDA_H

#include <cuda_runtime.h>

#include "core/engine.h"
#include "gpu/device/memory.h"

struct bs_ls_cuda;

/* BS_ERR_CONFIG where no graph could hold the protocol's solves; open refuses them for the same reason. */
int bs_ls_cuda_check(const struct bs_protocol *p, struct bs_fail *why);

/* bytes: of device memory that plan will take. */
int bs_ls_cuda_open(struct bs_ls_cuda **ls, const struct bs_protocol *p,
		    const struct bs_tables *tables, uint64_t *bytes, struct bs_fail *why);
/* maps: the sensitivities on the device, sense only. */
int bs_ls_cuda_plan(struct bs_ls_cuda *ls, const struct bs_tables *tables,
		    const struct bs_arm_env *env, const float2 *maps, struct bs_devmem *mem,
		    struct bs_fail *why);
/* plan with a Q that is there already. */
int bs_ls_cuda_plan_with(struct bs_ls_cuda *ls, const float *q, const struct bs_tables *tables,
			 const struct bs_arm_env *env, const float2 *maps, struct bs_devmem *mem,
			 struct bs_fail *why);
void bs_ls_cuda_close(struct bs_ls_cuda *ls);

/* Launches of one queue, about: so that nobody makes graphs of millions. */
uint64_t bs_ls_cuda_launches(const struct bs_protocol *p);
int bs_ls_cuda_queue(struct bs_ls_cuda *ls, float2 *images, cudaStream_t stream,
		     struct bs_fail *why);
/* Sets iterations (the fewest of the solves) and residual (the largest). */
void bs_ls_cuda_outcome(const struct bs_ls_cuda *ls, struct bs_report *report);
int bs_ls_cuda_run(struct bs_ls_cuda *ls, float2 *images, uint32_t iterations, int64_t deadline_ns,
		   cudaStream_t stream, struct bs_report *report, struct bs_fail *why);

/*
 * With maps on several GPUs (gpu/engine/multi/ls.h), each with a solve of its own in step: p and tables
 * are those of all coils, maps (plan's) and images of this GPU's `coils`. load leaves this GPU's addend
 * of the right-hand side in its place in addends [part][z][y][x] complex, device; once all are there,
 * begin; then each iteration: product leaves this GPU's addend of A p there; once all are there, step.
 * They only queue. wait: for the stream; sets iterations and residual. image: [z][y][x], device.
 */
int bs_ls_cuda_open_share(struct bs_ls_cuda **ls, const struct bs_protocol *p,
			  const struct bs_tables *tables, uint32_t coils, uint32_t parts,
			  uint32_t part, uint64_t *bytes, struct bs_fail *why);
int bs_ls_cuda_load(struct bs_ls_cuda *ls, const float2 *images, cudaStream_t stream,
		    struct bs_fail *why);
float *bs_ls_cuda_addends(struct bs_ls_cuda *ls);
int bs_ls_cuda_begin(struct bs_ls_cuda *ls, cudaStream_t stream, struct bs_fail *why);
int bs_ls_cuda_product(struct bs_ls_cuda *ls, cudaStream_t stream, struct bs_fail *why);
int bs_ls_cuda_step(struct bs_ls_cuda *ls, cudaStream_t stream, struct bs_fail *why);
int bs_ls_cuda_wait(struct bs_ls_cuda *ls, cudaStream_t stream, struct bs_report *report,
		    struct bs_fail *why);
const float2 *bs_ls_cuda_image(const struct bs_ls_cuda *ls);

#endif
