/*
 * gpu/toeplitz/cuda/flat.cuh - the 2D operator: what toeplitz.cu plans and queues of it
 *
 * Three launches an application: rows of all images or coils, columns and back, rows back
 * (halves.cuh). With maps the coils' addends are left apart, in addends; sum adds them up. An
 * iteration of conjugate gradients: two (step.cuh).
 * need -> plan -> { set | queue }*; q NULL: set says it. As toeplitz_cuda.h, which checks; only
 * gpu/toeplitz uses this.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_FLAT_CUH
#define BS_GPU_TOEPLITZ_CUDA_FLAT_CUH

#include "gpu/toeplitz/cuda/step.cuh"

struct tp_flat_plan {
	const struct tp_half *x, *y; /* NULL: too long */
	struct tp_axis axis[2];
	uint32_t coils;
	float *spectrum; /* [half of ky][ky][half of kx][kx] */
	float2 *rows;    /* [image or coil][y][half of kx][kx] */
	float2 *addends; /* [coil][y][x] */
	double *energy;  /* step.cuh: [image or coil][blocks of columns] */
	double *norms;   /* step.cuh: [2][image][3][blocks of rows, at most voxels along y] */
	int beside;      /* step.cuh: of a block's lines at least so many are of one line */
	bool close;      /* launches may overlap */
};

struct tp_flat_work {
	uint32_t count; /* images; coils of the maps */
	const float *maps, *in;
	float *out;      /* without maps */
	const int *stop; /* toeplitz_cuda.h */
};

/* Sizes alone, so that need can be asked. */
int tp_flat_lay_out(struct tp_flat_plan *p, const struct bs_toeplitz_spec *spec,
		    struct bs_fail *why);
uint64_t tp_flat_need(const struct tp_flat_plan *p);
int tp_flat_plan(struct tp_flat_plan *p, const struct bs_toeplitz_spec *spec, const float *q,
		 struct bs_devmem *mem, struct bs_fail *why);
int tp_flat_set(const struct tp_flat_plan *p, const float2 *transform, cudaStream_t stream,
		struct bs_fail *why);
int tp_flat_queue(const struct tp_flat_plan *p, const struct tp_flat_work *work,
		  cudaStream_t stream, struct bs_fail *why);
int tp_flat_sum(const struct tp_flat_plan *p, uint32_t coils, const int *stop, float *out,
		cudaStream_t stream, struct bs_fail *why);
/* bs_toeplitz_cuda_iterate */
int tp_flat_step(const struct tp_flat_plan *p, const struct bs_toeplitz_cg *cg, bool first,
		 cudaStream_t stream, struct bs_fail *why);
uint64_t tp_flat_bytes(const struct tp_flat_plan *p, uint32_t coils);
/* The points that n voxels are padded to; 0: too many. */
int tp_flat_padded(uint32_t n);

#endif
