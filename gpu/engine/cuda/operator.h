/*
 * gpu/engine/cuda/operator.h - the encodings on the GPU: each computes F^H d by a row of functions
 *
 * Sample s of readout r of coil c lies at samples(frame) + c * coil_step + r * p->samples + s
 * (complex values, device). need adds the bytes of device memory. plan takes that memory; for the
 * samples it calls bs_devmem_take_readouts (frames times bs_devmem_round of a frame's bytes). *op
 * is NULL before; the caller closes what it is afterwards, after a failure, too. The weights of
 * method gridding are in tables->density when plan is called (gpu/nufft/density_cuda.h).
 * begin zeroes the frame. arrived says which readout has been queued for copying on the stream.
 * settle queues the chunks that arrived has not queued. finish queues the rest, always the same
 * launches (they become a graph), into coil images [coil][z][y][x].
 */
#ifndef BS_GPU_ENGINE_CUDA_OPERATOR_H
#define BS_GPU_ENGINE_CUDA_OPERATOR_H

#include <cuda_runtime.h>

#include "core/engine.h"
#include "core/protocol.h"
#include "gpu/device/memory.h"
#include "gpu/device/tune.h"

struct bs_cuda_operator;
struct bs_filler;
struct bs_slicer;
struct bs_segments_cuda;
struct bs_toeplitz_cuda;

/* What is armed on one GPU. need, open and plan get the same specification. */
struct bs_cuda_spec {
	const struct bs_protocol *p;
	const struct bs_cuda_operator *op;
	bool solve; /* conjugate gradients run on the operator's F^H d */
	/* this GPU is one of several: its work ends with the coil images */
	bool share;
	const struct bs_tune *tune; /* variant of the operator; NULL: the operator chooses */
};

struct bs_cuda_operator {
	uint64_t (*coil_step)(const struct bs_protocol *p);
	int (*need)(const struct bs_cuda_spec *s, struct bs_need *need, struct bs_fail *why);
	int (*plan)(void **op, const struct bs_cuda_spec *s, const struct bs_tables *tables,
		    struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why);
	void (*close)(void *op);
	float2 *(*samples)(void *op, uint32_t frame);
	int (*begin)(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why);
	int (*arrived)(void *op, uint32_t frame, uint32_t row, cudaStream_t stream,
		       struct bs_fail *why);
	int (*settle)(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why);
	int (*finish)(void *op, uint32_t frame, float2 *image, cudaStream_t stream,
		      struct bs_fail *why);
	/*
	 * These may be NULL. part: the coil images of one group's readouts alone; a sliding window
	 * uses it in place of arrived, settle and finish. peek: the coil images of the readouts so
	 * far; the frame goes on unchanged. tuned: the variants, measured or from the cache.
	 */
	int (*part)(void *op, uint32_t frame, uint32_t group, float2 *image, cudaStream_t stream,
		    struct bs_fail *why);
	int (*peek)(void *op, uint32_t frame, float2 *image, cudaStream_t stream,
		    struct bs_fail *why);
	int (*tuned)(struct bs_tuning *found, const struct bs_protocol *p, const float *k,
		     const char *cache_dir, double seconds, struct bs_fail *why);
	/*
	 * Returns, with a field map, the time segments that finish adds up, and whose F^H F the
	 * solver applies.
	 */
	struct bs_segments_cuda *(*field)(void *op);
	/* Returns, for lines of the grid, [line] in host memory, not 0 where the line has come. */
	const uint8_t *(*lines)(void *op, uint32_t frame);
	/*
	 * finish, or the solve, does not always queue the same launches, so they are not captured
	 * as graphs
	 */
	bool varies;
	/*
	 * For readouts that bring their own path; else NULL. path: gives the path k of the next
	 * readout, as in core/engine.h; copies it. outcome: whether there is an image; called once
	 * finish has been executed. normal: called before the first finish with the operator that
	 * the solver applies; finish sets its Q.
	 */
	int (*path)(void *op, uint32_t frame, uint32_t row, const float *k, cudaStream_t stream,
		    struct bs_fail *why);
	int (*outcome)(void *op, uint32_t frame, struct bs_fail *why);
	void (*normal)(void *op, struct bs_toeplitz_cuda *normal);
	/*
	 * Device memory that plan allocates outside of mem, where there is room. field: as in
	 * core/engine.h.
	 */
	int (*beside)(const struct bs_cuda_spec *s, const float *field, struct bs_need *need,
		      struct bs_fail *why);
	/*
	 * For lines of the grid, before finish is launched: puts the weights of the frame's missing
	 * lines where the graph reads them, and those that take its slice out of its lines. filler
	 * and slicer make the weights; NULL: missing lines are zeros, lines hold one slice.
	 */
	int (*prepare)(void *op, struct bs_filler *filler, struct bs_slicer *slicer, uint32_t frame,
		       struct bs_report *report, cudaStream_t stream);
};

/* The coil_step of encodings that keep samples as they come. */
static inline uint64_t bs_coil_step(const struct bs_protocol *p)
{
	return bs_protocol_samples(p);
}

/* Rows of operators, one for each encoding (core/plan/plan.h). The rows of the host:
 * gpu/encode/encode.h. */
extern const struct bs_cuda_operator bs_cuda_sum_nufft, bs_cuda_sum_exact, bs_cuda_sum_field,
	bs_cuda_sum_path;
/*
 * Lines of the grid. _varied: frames differ in what is launched; partial Fourier completes each
 * coil's image at the end of finish, or slices are taken apart.
 */
extern const struct bs_cuda_operator bs_cuda_lines, bs_cuda_lines_varied;

/* Returns what a protocol's engine arms on one GPU. On one of several GPUs the
 * caller sets share. */
struct bs_cuda_spec bs_cuda_spec_of(const struct bs_protocol *p);

#endif
