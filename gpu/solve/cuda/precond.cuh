/*
 * gpu/solve/cuda/precond.cuh - the preconditioner of a solve on the GPU, a table for each set of
 * maps
 *
 * The tables are made on the host (gpu/solve/precond.h, gpu/toeplitz/circulant.h), so that both
 * twins solve the same system. The table of the set in use lies where the solve reads it: in
 * `inverse` (Jacobi) or in `circulant`; both are NULL without a preconditioner.
 * plan -> { use | changed }* -> close. bytes: of device memory that plan takes. plan may allocate
 * beside it, and keeps what `changed` needs where maps come from a scan. use only queues; changed
 * waits for the stream. One caller. Only gpu/solve/ls.cu includes this.
 * Test: test/twin/twin_ls.c, test/twin/engine/twin_engine_maps.c
 */
#ifndef BS_GPU_SOLVE_CUDA_PRECOND_CUH
#define BS_GPU_SOLVE_CUDA_PRECOND_CUH

#include <cuda_runtime.h>

#include "core/engine.h"
#include "gpu/device/memory.h"
#include "gpu/toeplitz/circulant.h"
#include "gpu/toeplitz/circulant_cuda.h"

struct bs_precond_cuda {
	const struct bs_protocol *p;
	const float *maps; /* [set] maps in host memory; NULL: no maps */
	uint32_t sets;     /* number of sets; 1 without maps */
	double mu;
	float *inverse; /* diagonal's inverse in device memory */
	struct bs_circulant_cuda *circulant;
	float *inverses; /* device memory, [set][voxel]; NULL where there is one set */
	/* Host memory that a set's table is made from. */
	float *r; /* diagonal of the constraint */
	double r_mean, q0;
	float *table; /* table of Jacobi's preconditioner */
	struct bs_circulant *eigen;
	struct bs_arena arena; /* memory of eigen */
};

uint64_t bs_precond_cuda_bytes(const struct bs_protocol *p, uint32_t sets);
/* Plans a preconditioner. c: zeros except p, maps, sets and mu. q: host memory. */
int bs_precond_cuda_plan(struct bs_precond_cuda *c, const struct bs_tables *tables, const float *q,
			 struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why);
void bs_precond_cuda_close(struct bs_precond_cuda *c);
int bs_precond_cuda_use(struct bs_precond_cuda *c, uint32_t set, cudaStream_t stream,
			struct bs_fail *why);
/*
 * Makes the table of a set whose maps have changed. With several sets, the caller then calls use.
 */
int bs_precond_cuda_changed(struct bs_precond_cuda *c, uint32_t set, cudaStream_t stream,
			    struct bs_fail *why);

#endif
