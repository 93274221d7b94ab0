/*
 * gpu/toeplitz/cuda/flat.cuh - the 2D operator: what toeplitz.cu plans and queues of it
 *
 * An application takes three launches: rows of all images or coils, columns and back, rows back
 * (halves.cuh). With maps each coil's addend is left in addends; sum adds them up. An iteration of
 * conjugate gradients takes two launches (step.cuh).
 * take -> plan -> { set | queue }*; where q is NULL, set gives it later. Everything else as in
 * toeplitz_cuda.h, which checks the arguments. Only gpu/toeplitz uses this.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_FLAT_CUH
#define BS_GPU_TOEPLITZ_CUDA_FLAT_CUH

#include "gpu/toeplitz/cuda/step.cuh"

struct tp_flat_plan {
	const struct tp_half *x, *y; /* kernels of each axis; NULL: the axis is too long */
	struct tp_axis axis[2];
	uint32_t coils, operators; /* coils: of all operators */
	float *spectrum;           /* spectrum [operator][half of ky][ky][half of kx][kx] */
	float2 *rows;              /* lines along kx, [image or coil][y][half of kx][kx] */
	float2 *addends;           /* products of the coils, [coil][y][x] */
	double *energy;            /* [image or coil][blocks of columns], for step.cuh */
	double *norms; /* [2][image][3][blocks of rows, at most voxels along y], for step.cuh */
	/* step.cuh: at least this many of a block's lines belong to one line of the image */
	int beside;
	bool close; /* launches may overlap */
};

struct tp_flat_work {
	uint32_t count; /* number of images; with maps, of coils */
	const float *maps, *in;
	float *out;      /* result without maps */
	const int *stop; /* stop flag, as in toeplitz_cuda.h: where *stop is set nothing is done */
};

/* Finds the plan's sizes without taking memory, so that need can be asked. */
int tp_flat_lay_out(struct tp_flat_plan *p, const struct bs_toeplitz_spec *spec,
		    struct bs_fail *why);
void tp_flat_take(struct tp_flat_plan *p, struct bs_devroom *r);
int tp_flat_plan(struct tp_flat_plan *p, const struct bs_toeplitz_spec *spec, const float *q,
		 struct bs_devmem *mem, struct bs_fail *why);
int tp_flat_put(const struct tp_flat_plan *p, const struct bs_toeplitz_spec *spec, uint32_t which,
		const float *q, struct bs_fail *why);
int tp_flat_set(const struct tp_flat_plan *p, const float2 *transform, cudaStream_t stream,
		struct bs_fail *why);
/* The plan with one of its operators; it has no memory of its own. */
struct tp_flat_plan tp_flat_one(const struct tp_flat_plan *p, uint32_t which);
int tp_flat_queue(const struct tp_flat_plan *p, const struct tp_flat_work *work,
		  cudaStream_t stream, struct bs_fail *why);
int tp_flat_sum(const struct tp_flat_plan *p, uint32_t coils, const int *stop, float *out,
		cudaStream_t stream, struct bs_fail *why);
/* Does bs_toeplitz_cuda_iterate for the 2D operator. */
int tp_flat_step(const struct tp_flat_plan *p, const struct bs_toeplitz_cg *cg, bool first,
		 cudaStream_t stream, struct bs_fail *why);
uint64_t tp_flat_bytes(const struct tp_flat_plan *p, uint32_t coils);
/* The number of points that n voxels are padded to; 0: n is too large. */
int tp_flat_padded(uint32_t n);

#endif
