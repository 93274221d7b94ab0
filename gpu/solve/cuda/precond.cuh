/*
 * gpu/solve/cuda/precond.cuh - the preconditioner of a solve on the GPU, a table for each set of
 * maps
 *
 * The tables are made on the host (gpu/solve/precond.h, gpu/toeplitz/circulant.h), so that both
 * twins solve the same system. That of the set in use lies where the solve reads it: `inverse`
 * (Jacobi) or `circulant`'s table, both NULL without a preconditioner.
 * plan -> { use | changed }* -> close. bytes: of device memory that plan takes. plan may allocate
 * beside it, and keeps what changed needs where maps come from a scan. use only queues; changed
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
	const float *maps; /* host, [set]; NULL: none */
	uint32_t sets;     /* 1 without maps */
	double mu;
	float *inverse; /* device */
	struct bs_circulant_cuda *circulant;
	float *inverses; /* device, [set][voxel] where there is more than one; else NULL */
	/* host: what a set's table is made of */
	float *r; /* the constraint's diagonal */
	double r_mean, q0;
	float *table; /* Jacobi */
	struct bs_circulant *eigen;
	struct bs_arena arena; /* eigen's */
};

uint64_t bs_precond_cuda_bytes(const struct bs_protocol *p, uint32_t sets);
/* c: zeros, but for p, maps, sets and mu. q: host. */
int bs_precond_cuda_plan(struct bs_precond_cuda *c, const struct bs_tables *tables, const float *q,
			 struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why);
void bs_precond_cuda_close(struct bs_precond_cuda *c);
int bs_precond_cuda_use(struct bs_precond_cuda *c, uint32_t set, cudaStream_t stream,
			struct bs_fail *why);
/* The maps of this set are others than they were; where there are more sets, use follows. */
int bs_precond_cuda_changed(struct bs_precond_cuda *c, uint32_t set, cudaStream_t stream,
			    struct bs_fail *why);

#endif
