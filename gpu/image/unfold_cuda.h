/*
 * gpu/image/unfold_cuda.h - Cartesian SENSE on the GPU; twin of unfold.h
 *
 * maps, coil_images and rho as in unfold.h, in device memory; lines in host memory. w: host memory;
 * with two sets of maps R must be the identity (else BS_ERR_UNSUPPORTED). Every solve reads maps in
 * place, so they may hold another slice's maps by then.
 * need -> plan -> { solve | begin | apply }* -> close. solve copies the lines and queues the rest;
 * it waits for the stream, under a deadline after each iteration. Only plan allocates. One caller.
 * The same bytes every run. Errors: BS_ERR_GPU, BS_ERR_NOMEM, BS_ERR_CONFIG, BS_ERR_SIZE.
 * Test: test/twin/twin_unfold.c
 */
#ifndef BS_GPU_IMAGE_UNFOLD_CUDA_H
#define BS_GPU_IMAGE_UNFOLD_CUDA_H

#include "gpu/device/memory.h"
#include "gpu/image/unfold.h"

BS_C_BEGIN

struct bs_unfold_cuda;
struct CUstream_st;

int bs_unfold_cuda_need(const struct bs_unfold_spec *spec, const struct bs_csr *w, uint64_t *bytes,
			struct bs_fail *why);
/*
 * coil_images, rho: the input and output of every solve; it reads the first before it writes the
 * other.
 */
int bs_unfold_cuda_plan(struct bs_unfold_cuda **plan, const struct bs_unfold_spec *spec,
			const struct bs_csr *w, const float *maps, const float *coil_images,
			float *rho, double tolerance, struct bs_devmem *mem, struct bs_fail *why);
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_unfold_cuda_close(struct bs_unfold_cuda *plan);
/*
 * For slices at once, before each solve, as bs_unfold_hold. first: values in front of the maps of
 * the group's first slice.
 */
void bs_unfold_cuda_hold(struct bs_unfold_cuda *plan, const struct bs_unfold_group *group,
			 uint64_t first);
/*
 * For another solver, which waits for the stream before the next begin: begin queues the lines and
 * the right-hand side, sum_c S_c^H of the coils' images, into b. apply queues out = sum_c S_c^H F^H
 * M F S_c in, without lambda, always by the same launches; self: the plan.
 */
int bs_unfold_cuda_begin(struct bs_unfold_cuda *plan, const uint8_t *lines,
			 struct CUstream_st *stream, struct bs_fail *why);
float *bs_unfold_cuda_b(const struct bs_unfold_cuda *plan);
int bs_unfold_cuda_apply(void *self, const float *in, float *out, struct CUstream_st *stream,
			 struct bs_fail *why);
int bs_unfold_cuda_solve(struct bs_unfold_cuda *plan, const uint8_t *lines, uint32_t iterations,
			 int64_t deadline_ns, struct CUstream_st *stream,
			 struct bs_pcg_result *result, struct bs_fail *why);

BS_C_END
#endif
