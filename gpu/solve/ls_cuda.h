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

struct bs_solver_cuda;

/* BS_ERR_CONFIG where no graph could hold the protocol's solves; open refuses them for the same reason. */
int bs_solver_cuda_check(const struct bs_protocol *p, struct bs_fail *why);

/* bytes: of device memory that plan will take. */
int bs_solver_cuda_open(struct bs_solver_cuda **solver, const struct bs_protocol *p,
			const struct bs_tables *tables, uint64_t *bytes, struct bs_fail *why);
/* maps: the sensitivities on the device, sense only. */
int bs_solver_cuda_plan(struct bs_solver_cuda *solver, const struct bs_tables *tables,
			const struct bs_arm_env *env, const float2 *maps, struct bs_devmem *mem,
			struct bs_fail *why);
/* plan with a Q that is there already. */
int bs_solver_cuda_plan_with(struct bs_solver_cuda *solver, const float *q,
			     const struct bs_tables *tables, const struct bs_arm_env *env,
			     const float2 *maps, struct bs_devmem *mem, struct bs_fail *why);
void bs_solver_cuda_close(struct bs_solver_cuda *solver);

/* Launches of one queue, about: so that nobody makes graphs of millions. */
uint64_t bs_solver_cuda_launches(const struct bs_protocol *p);
int bs_solver_cuda_queue(struct bs_solver_cuda *solver, float2 *images, cudaStream_t stream,
			 struct bs_fail *why);
/* Sets iterations (the fewest of the solves) and residual (the largest). */
void bs_solver_cuda_outcome(const struct bs_solver_cuda *solver, struct bs_report *report);
int bs_solver_cuda_run(struct bs_solver_cuda *solver, float2 *images, uint32_t iterations,
		       int64_t deadline_ns, cudaStream_t stream, struct bs_report *report,
		       struct bs_fail *why);

/*
 * Method sense on several GPUs (gpu/engine/multi/solver.h), each with a solver of its own in step: p and tables
 * are those of all coils, maps (plan's) and images of this GPU's `coils`. load leaves this GPU's part
 * of the right-hand side in shares [part][z][y][x] complex, device; once all parts are there, begin;
 * then each iteration: share leaves this GPU's part of A p there; once all are there, step. They only
 * queue. wait: for the stream; sets iterations and residual. image: [z][y][x], device.
 */
int bs_solver_cuda_open_share(struct bs_solver_cuda **solver, const struct bs_protocol *p,
			      const struct bs_tables *tables, uint32_t coils, uint32_t parts,
			      uint32_t part, uint64_t *bytes, struct bs_fail *why);
int bs_solver_cuda_load(struct bs_solver_cuda *solver, const float2 *images, cudaStream_t stream,
			struct bs_fail *why);
float *bs_solver_cuda_shares(struct bs_solver_cuda *solver);
int bs_solver_cuda_begin(struct bs_solver_cuda *solver, cudaStream_t stream, struct bs_fail *why);
int bs_solver_cuda_share(struct bs_solver_cuda *solver, cudaStream_t stream, struct bs_fail *why);
int bs_solver_cuda_step(struct bs_solver_cuda *solver, cudaStream_t stream, struct bs_fail *why);
int bs_solver_cuda_wait(struct bs_solver_cuda *solver, cudaStream_t stream,
			struct bs_report *report, struct bs_fail *why);
const float2 *bs_solver_cuda_image(const struct bs_solver_cuda *solver);

#endif
