/*
 * gpu/solve/ls_cuda.h - the solve of methods ls and sense on the GPU, after F^H d; twin of ls.h
 *
 * images [coil][z][y][x] complex hold F^H d of each coil and are replaced by the solutions (sense:
 * by one, in the first). Preconditioner, constraint, scale of lambda, box basis and weights are
 * those of the host: both twins solve the same system. Q: gpu/solve/lsq_cuda.h.
 * open (host memory only; says the bytes) -> plan -> { queue, outcome | run }* -> close.
 * queue: queues all solves to their last iteration or tolerance, as launches alone, fit for a
 * graph. outcome: their result, once the stream is idle. run: solves under a deadline with at most
 * the given number of iterations, and waits between them; each coil gets an equal part of the
 * remaining time. One caller. Errors: BS_ERR_GPU, BS_ERR_NOMEM, BS_ERR_CONFIG. Test:
 * test/twin/twin_ls.c
 */
#ifndef BS_GPU_SOLVE_LS_CUDA_H
#define BS_GPU_SOLVE_LS_CUDA_H

#include <cuda_runtime.h>

#include "core/engine.h"
#include "gpu/device/memory.h"

struct bs_ls_cuda;

/* BS_ERR_CONFIG where the solves are too many for one graph; open refuses them, too. */
int bs_ls_cuda_check(const struct bs_protocol *p, struct bs_fail *why);

/* Bytes of device memory that a plan will take; w: the matrix W, or NULL. */
int bs_ls_cuda_bytes(const struct bs_protocol *p, const struct bs_csr *w, uint64_t *bytes,
		     struct bs_fail *why);
/* Opens a solver. bytes: as bs_ls_cuda_bytes returns. */
int bs_ls_cuda_open(struct bs_ls_cuda **ls, const struct bs_protocol *p,
		    const struct bs_tables *tables, uint64_t *bytes, struct bs_fail *why);
/*
 * q: from bs_lsq_cuda_q, made while the device is still empty. maps: device memory, the maps in
 * use; NULL unless the method uses maps. tables: of all slices.
 */
int bs_ls_cuda_plan(struct bs_ls_cuda *ls, const float *q, const struct bs_tables *tables,
		    const struct bs_arm_env *env, const float2 *maps, struct bs_devmem *mem,
		    struct bs_fail *why);
/* Makes F^H F be applied by these segments instead of Q. Call before plan; they
 * must live as long. */
struct bs_segments_cuda;
void bs_ls_cuda_given(struct bs_ls_cuda *ls, struct bs_segments_cuda *field);
/* Returns the operator of F^H F, after plan. For paths that come with the
 * readouts it has no Q yet. */
struct bs_toeplitz_cuda;
struct bs_toeplitz_cuda *bs_ls_cuda_normal(struct bs_ls_cuda *ls);
void bs_ls_cuda_close(struct bs_ls_cuda *ls);
/* Selects the preconditioner of a slice; the caller puts the slice's maps in place. Only queues. */
int bs_ls_cuda_use(struct bs_ls_cuda *ls, uint32_t slice, cudaStream_t stream, struct bs_fail *why);
/*
 * Makes the preconditioner of a slice whose maps in tables->maps have changed. With several slices
 * it takes effect at the next use. Waits for the stream.
 */
int bs_ls_cuda_changed(struct bs_ls_cuda *ls, uint32_t slice, cudaStream_t stream,
		       struct bs_fail *why);

int bs_ls_cuda_queue(struct bs_ls_cuda *ls, float2 *images, cudaStream_t stream,
		     struct bs_fail *why);
/* Sets iterations (the fewest of the solves) and residual (the largest). */
void bs_ls_cuda_outcome(const struct bs_ls_cuda *ls, struct bs_report *report);
int bs_ls_cuda_run(struct bs_ls_cuda *ls, float2 *images, uint32_t iterations, int64_t deadline_ns,
		   cudaStream_t stream, struct bs_report *report, struct bs_fail *why);

/*
 * A solve with maps on several GPUs (gpu/engine/multi/ls.h), each of which makes the same
 * iterations. p and tables are those of all coils; plan's maps, and images, are of this GPU's
 * `coils`. load writes this GPU's addend of the right-hand side to its place in addends
 * [part][z][y][x] complex, device memory; begin follows once all addends are there, then pcg's
 * iterations. They only queue. image: [z][y][x], device memory. bytes: as bs_ls_cuda_bytes.
 */
int bs_ls_cuda_bytes_share(const struct bs_protocol *p, const struct bs_csr *w, uint32_t coils,
			   uint32_t parts, uint64_t *bytes, struct bs_fail *why);
int bs_ls_cuda_open_share(struct bs_ls_cuda **ls, const struct bs_protocol *p,
			  const struct bs_tables *tables, uint32_t coils, uint32_t parts,
			  uint32_t part, uint64_t *bytes, struct bs_fail *why);
int bs_ls_cuda_load(struct bs_ls_cuda *ls, const float2 *images, cudaStream_t stream,
		    struct bs_fail *why);
float *bs_ls_cuda_addends(struct bs_ls_cuda *ls);
int bs_ls_cuda_begin(struct bs_ls_cuda *ls, cudaStream_t stream, struct bs_fail *why);
struct bs_pcg_cuda;
struct bs_pcg_cuda *bs_ls_cuda_pcg(struct bs_ls_cuda *ls);
const float2 *bs_ls_cuda_image(const struct bs_ls_cuda *ls);

#endif
