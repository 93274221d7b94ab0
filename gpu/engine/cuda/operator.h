/*
 * gpu/engine/cuda/operator.h - what F^H d is on the GPU: a row of functions for each encoding
 *
 * Sample s of readout r of coil c lies at samples(frame) + c * coil_step + r * p->samples + s
 * (complex values, device). need adds the bytes of device memory; plan takes them, the samples by
 * bs_devmem_take_readouts (frames times bs_devmem_round of a frame's bytes). The weights of method
 * gridding are in tables->density when plan is called (gpu/nufft/density_cuda.h).
 * begin zeroes the frame; arrived says which readout has been queued for copying on the stream;
 * settle queues the chunks that arrived has not; finish queues the rest, always the same launches
 * (they become a graph), into coil images [coil][z][y][x].
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
struct bs_segments_cuda;
struct bs_toeplitz_cuda;

/* What is armed on one GPU: need, open and plan are told the same. */
struct bs_cuda_spec {
	const struct bs_protocol *p;
	const struct bs_cuda_operator *op;
	bool solve;                 /* conjugate gradients behind the operator */
	bool share;                 /* one of several GPUs: it ends with the coil images */
	const struct bs_tune *tune; /* the operator's variant; NULL: its own choice */
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
	 * These may be NULL. part: the coil images of one group's readouts alone (in a sliding
	 * window arrived, settle and finish are not called). peek: of the readouts so far; the
	 * frame goes on unchanged. tuned: the variants, measured or from the cache.
	 */
	int (*part)(void *op, uint32_t frame, uint32_t group, float2 *image, cudaStream_t stream,
		    struct bs_fail *why);
	int (*peek)(void *op, uint32_t frame, float2 *image, cudaStream_t stream,
		    struct bs_fail *why);
	int (*tuned)(struct bs_tuning *found, const struct bs_protocol *p, const float *k,
		     const char *cache_dir, double seconds, struct bs_fail *why);
	/* Off resonance: the time segments that finish adds up, and whose F^H F is solved with. */
	struct bs_segments_cuda *(*field)(void *op);
	/* Of the grid: [line], not 0: it has come; host memory. */
	const uint8_t *(*lines)(void *op, uint32_t frame);
	bool varies; /* finish, or the solve, does not always queue the same launches: no graphs */
	/*
	 * Of readouts that bring their own path; else NULL. path: of the readout that arrives next,
	 * k as core/engine.h has it, copied. outcome: once finish has been done, whether there is
	 * an image. normal: before the first finish, the operator that is solved with, whose Q
	 * finish sets.
	 */
	int (*path)(void *op, uint32_t frame, uint32_t row, const float *k, cudaStream_t stream,
		    struct bs_fail *why);
	int (*outcome)(void *op, uint32_t frame, struct bs_fail *why);
	void (*normal)(void *op, struct bs_toeplitz_cuda *normal);
	/* Device memory that plan takes beside mem, where it can be had; field as core/engine.h. */
	int (*beside)(const struct bs_cuda_spec *s, const float *field, struct bs_need *need,
		      struct bs_fail *why);
	/*
	 * Of the grid, before finish is launched: the weights of the frame's lines, which filler
	 * (or NULL: lines that lack are zeros) makes, where the graph reads them; unknown: as in
	 * struct bs_report.
	 */
	int (*prepare)(void *op, struct bs_filler *filler, uint32_t frame, uint32_t unknown,
		       cudaStream_t stream, struct bs_fail *why);
};

/* The rows, each of an encoding (core/plan/plan.h); host: gpu/encode/encode.h. */
extern const struct bs_cuda_operator bs_cuda_sum_nufft, bs_cuda_sum_exact, bs_cuda_sum_field,
	bs_cuda_sum_path;
/* Lines of the grid; completed: what is left out is put into the coils' images before they leave */
extern const struct bs_cuda_operator bs_cuda_lines, bs_cuda_lines_completed;

/* What a protocol's engine arms on one GPU; on one of several, with share set. */
struct bs_cuda_spec bs_cuda_spec_of(const struct bs_protocol *p);

#endif
