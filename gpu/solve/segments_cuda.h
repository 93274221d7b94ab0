/*
 * gpu/solve/segments_cuda.h - the CUDA twin of segments.h: off resonance, by time segments
 *
 * Transforms, shapes, units, spec and interpolators are those of segments.h. maps, image, in and
 * out are device memory; work is queued on the caller's stream and not waited for. Segments are
 * added in order: the same bytes every run. A voxel's phase is computed where it is used, in
 * cycles and in double precision.
 * need -> plan -> { begin, finish | slice, normal }* -> close. begin zeroes a state's samples,
 * [coil][sample]; the caller then copies samples there, and finish transforms them. finish and
 * normal work on the current slice: at first slice 0, then the one given by slice, which queues a
 * copy. The number of launches of finish and normal depends on the field map.
 * lag, called after plan: in 2D normal is applied by Toeplitz operators from then on
 * (gpu/solve/lagged_cuda.h; k, weight, hz as plan's), as near to the exact one as the segments
 * are. It takes device memory of its own where there is enough; else, and in 3D, the segments
 * stay. lagged: normal is by these operators, always the same launches; by segments they are too
 * many for a graph. field: gives another map of a slice, [z][y][x] Hz in host memory, within the
 * range of the first maps, for which the interpolators are made. It waits for the stream and
 * allocates nothing. plan takes device memory from mem alone; host memory that it allocates it
 * also frees. One stream, one caller. Errors: BS_ERR_GPU, BS_ERR_NOMEM, those of segments.h and
 * gpu/nufft/nufft_cuda.h.
 * Host twin: segments.c. Test: test/twin/twin_segments.c
 */
#ifndef BS_GPU_SOLVE_SEGMENTS_CUDA_H
#define BS_GPU_SOLVE_SEGMENTS_CUDA_H

#include "gpu/device/memory.h"
#include "gpu/solve/segments.h"

BS_C_BEGIN

struct CUstream_st; /* what a cudaStream_t points to */
struct bs_segments_cuda;

int bs_segments_cuda_need(const struct bs_segments_spec *spec, struct bs_need *need,
			  struct bs_fail *why);
int bs_segments_cuda_plan(struct bs_segments_cuda **plan, const struct bs_segments_spec *spec,
			  const float *k, const float *weight, const float *hz,
			  struct bs_devmem *mem, struct bs_fail *why);
void bs_segments_cuda_close(struct bs_segments_cuda *plan); /* frees a plan, which may be NULL */
int bs_segments_cuda_lag(struct bs_segments_cuda *plan, const float *k, const float *weight,
			 const float *hz, struct bs_fail *why);
bool bs_segments_cuda_lagged(const struct bs_segments_cuda *plan);
int bs_segments_cuda_field(struct bs_segments_cuda *plan, uint32_t slice, const float *hz,
			   struct CUstream_st *stream, struct bs_fail *why);

float *bs_segments_cuda_samples(struct bs_segments_cuda *plan, uint32_t state);
int bs_segments_cuda_begin(struct bs_segments_cuda *plan, uint32_t state,
			   struct CUstream_st *stream, struct bs_fail *why);
/* Makes the adjoint of a state's samples; the state stays as it is. */
int bs_segments_cuda_finish(struct bs_segments_cuda *plan, uint32_t state, float *image,
			    struct CUstream_st *stream, struct bs_fail *why);

int bs_segments_cuda_slice(struct bs_segments_cuda *plan, uint32_t slice,
			   struct CUstream_st *stream, struct bs_fail *why);
/* Applies the normal operator as bs_segments_normal does; in and out must differ. */
int bs_segments_cuda_normal(struct bs_segments_cuda *plan, const float *maps, const float *in,
			    float *out, struct CUstream_st *stream, struct bs_fail *why);

struct bs_segments_info bs_segments_cuda_info(const struct bs_segments_cuda *plan);

BS_C_END
#endif
