/*
 * gpu/engine/cuda/operator.h - what a direct method on the device gives its engine (armed.h)
 *
 * Readout r of coil c lies at samples(frame) + c * coil_step + r * p->samples (complex values, device).
 * need adds bytes of device memory; plan takes those, the samples by bs_devmem_take_readouts
 * (frames times bs_devmem_round of a frame's bytes); method gridding's weights are tables->density, which
 * are there before it is called (density_cuda.h). begin zeroes the frame; arrived says
 * which readouts' copies are queued on the stream; settle queues what is late; finish queues the
 * rest, always the same launches (they become a graph), into coil images [coil][z][y][x].
 */
#ifndef BS_GPU_ENGINE_CUDA_OPERATOR_H
#define BS_GPU_ENGINE_CUDA_OPERATOR_H

#include <cuda_runtime.h>

#include "core/engine.h"
#include "gpu/device/memory.h"
#include "gpu/device/tune.h"

struct bs_cuda_operator;

/* What is armed on one GPU: need, open and plan are told the same. */
struct bs_cuda_spec {
	const struct bs_protocol *p;
	const struct bs_cuda_operator *op;
	bool solve;                 /* behind the operator */
	bool share;                 /* of a scan on several GPUs: it ends with the coil images */
	const struct bs_tune *tune; /* the operator's variant; NULL: what it takes by itself */
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
	 * All three NULL where there is none. part: the coil images of one group's readouts alone
	 * (sliding window: neither arrived, settle nor finish is called). peek: of what the frame
	 * holds, which goes on unchanged. tuned: the variants, measured or from the cache.
	 */
	int (*part)(void *op, uint32_t frame, uint32_t group, float2 *image, cudaStream_t stream,
		    struct bs_fail *why);
	int (*peek)(void *op, uint32_t frame, float2 *image, cudaStream_t stream,
		    struct bs_fail *why);
	int (*tuned)(struct bs_tuning *found, const struct bs_protocol *p, const float *k,
		     const char *cache_dir, double seconds, struct bs_fail *why);
};

/* sum_: F^H d of the methods that solve, by its two routes. */
extern const struct bs_cuda_operator bs_cuda_sum_nufft, bs_cuda_sum_exact;

/* What a method's engine arms, on one GPU or, with share set, as one of several. */
typedef struct bs_cuda_spec (*bs_cuda_spec_of)(const struct bs_protocol *p);
struct bs_cuda_spec bs_cuda_spec_gridding(const struct bs_protocol *p);
struct bs_cuda_spec bs_cuda_spec_ls(const struct bs_protocol *p);

/* gpu/image/combine.cu: as combine.h, on the device; maps may be NULL unless they are needed. */
int bs_combine_cuda(enum bs_combine how, enum bs_output output, uint32_t coils, uint64_t voxels,
		    const float2 *coil_images, const float2 *maps, float *out, cudaStream_t stream,
		    struct bs_fail *why);

#endif
