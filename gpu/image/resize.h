/*
 * gpu/image/resize.h - the same image on another matrix: its field of view keeps its size
 *
 * in    [z][y][x] complex float, N = from;  out [z][y][x] complex float, M = to
 * X[k]   = prod 1/N  sum in[n] exp(-i2pi (kx nx/Nx + ky ny/Ny + kz nz/Nz))
 * out[m] = sum X[k] exp(+i2pi (kx mx/Mx + ky my/My + kz mz/Mz))
 * n = -N/2 .., m = -M/2 .., k = -K/2 .., as many as N, M and K = min(N, M), halves truncated: what
 * would come of a k-space with zeros around it (M > N), or of its middle alone (M < N). A constant
 * keeps its value, and the voxel at n = 0 its place. An axis with M = N is left alone; at least one
 * changes.
 *
 * Each axis is transformed there and back while its lines are at hand; those that shrink go first.
 * need -> plan -> run* -> close. Only plan and close allocate; what need says comes from the arena
 * (device memory: bytes). in and out do not overlap. Results depend neither on the team nor on
 * timing. One caller. Errors: BS_ERR_CONFIG (a size is 0 or above BS_AXIS_MAX, or none changes),
 * BS_ERR_NOMEM.
 * Twins: resize.c (host, one image), resize.cu (CUDA, `images` of them behind each other).
 * Tests: test/unit/gpu/test_resize.c, test/twin/twin_resize.c
 */
#ifndef BS_GPU_IMAGE_RESIZE_H
#define BS_GPU_IMAGE_RESIZE_H

#include "core/err.h"
#include "core/memory/arena.h"
#include "core/protocol.h"
#include "core/thread/team.h"

BS_C_BEGIN

struct bs_resize_spec {
	uint32_t from[3], to[3]; /* matrix sizes N and M of the formulas along x, y, z */
	uint32_t images;         /* CUDA: number of images in one run; host: 1 */
};

/* The resize of one axis of one image: [outer][from][inner] becomes [outer][to][inner]. */
struct bs_resize_axis {
	uint32_t axis, from, to;
	uint64_t inner, outer;
};

/* Writes the axes that change, in the order in which they are resized. Returns their number. */
uint32_t bs_resize_axes(struct bs_resize_axis axis[3], const struct bs_resize_spec *spec);

struct bs_resize;

int bs_resize_need(const struct bs_resize_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_resize_plan(struct bs_resize **plan, const struct bs_resize_spec *spec,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_resize_run(struct bs_resize *plan, const float *in, float *out);
void bs_resize_close(struct bs_resize *plan); /* frees a plan, which may be NULL */

/* The functions below are built with GPU=1 only. in, out: device memory; stream: a
 * cudaStream_t. run only queues. */
struct bs_devmem;
struct bs_resize_cuda;
struct CUstream_st;
uint64_t bs_resize_cuda_bytes(const struct bs_resize_spec *spec);
int bs_resize_cuda_plan(struct bs_resize_cuda **plan, const struct bs_resize_spec *spec,
			struct bs_devmem *mem, struct bs_fail *why);
int bs_resize_cuda_run(const struct bs_resize_cuda *plan, const float *in, float *out,
		       struct CUstream_st *stream, struct bs_fail *why);
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_resize_cuda_close(struct bs_resize_cuda *plan);

BS_C_END
#endif
