/*
 * gpu/engine/cuda/engine.cuh - a method's engine on one GPU: one of the same functions as all
 *
 * What is armed there the protocol says (bs_cuda_spec_of).
 */
#ifndef BS_GPU_ENGINE_CUDA_ENGINE_CUH
#define BS_GPU_ENGINE_CUDA_ENGINE_CUH

#include "gpu/engine/cuda/armed.h"

/* engine.cu: what core/engine.h has of all methods. */
int bs_engine_cuda_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_engine_cuda_device(const struct bs_protocol *p, const float *field, struct bs_need *need,
			  struct bs_fail *why);
int bs_engine_cuda_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		       const struct bs_arm_env *env, struct bs_fail *why);

/* windows, previews: it makes them itself; preview: the engine that makes its previews, or
 * NULL. */
static constexpr struct bs_engine bs_engine_cuda(const char *name, bool windows, bool previews,
						 const struct bs_engine *preview)
{
	struct bs_engine e = {};

	e.name = name;
	e.need = bs_engine_cuda_need;
	e.device = bs_engine_cuda_device;
	e.arm = bs_engine_cuda_arm;
	e.begin = bs_armed_cuda_begin;
	e.add = bs_armed_cuda_add;
	e.side = bs_armed_cuda_side;
	e.scan = bs_armed_cuda_scan;
	e.image = bs_armed_cuda_image;
	e.disarm = bs_armed_cuda_close;
	e.reading = bs_armed_cuda_reading;
	e.fold = windows ? bs_armed_cuda_fold : NULL;
	e.peek = previews ? bs_armed_cuda_peek : NULL;
	e.maps = bs_armed_cuda_maps;
	e.preview = preview;
	return e;
}

#endif
