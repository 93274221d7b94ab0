/*
 * gpu/engine/cuda/engine.cuh - a method's engine on one GPU, from what it arms there
 *
 * what: the method's spec for a protocol (gpu/engine/cuda/operator.h). The rest is the same for all
 * methods (gpu/engine/cuda/armed.h).
 */
#ifndef BS_GPU_ENGINE_CUDA_ENGINE_CUH
#define BS_GPU_ENGINE_CUDA_ENGINE_CUH

#include "gpu/engine/cuda/armed.h"

template <struct bs_cuda_spec what(const struct bs_protocol *p)>
static int bs_engine_cuda_need(const struct bs_protocol *p, struct bs_need *need,
			       struct bs_fail *why)
{
	const struct bs_cuda_spec s = what(p);
	int rc = s.solve ? bs_ls_cuda_check(p, why) : 0;

	return rc != 0 ? rc : bs_armed_cuda_need(&s, need, why);
}

template <struct bs_cuda_spec what(const struct bs_protocol *p)>
static int bs_engine_cuda_device(const struct bs_protocol *p, const float *field,
				 struct bs_need *need, struct bs_fail *why)
{
	const struct bs_cuda_spec s = what(p);

	return bs_armed_cuda_device(&s, field, need, why);
}

template <struct bs_cuda_spec what(const struct bs_protocol *p)>
static int bs_engine_cuda_arm(void **self, const struct bs_protocol *p,
			      const struct bs_tables *tables, const struct bs_arm_env *env,
			      struct bs_fail *why)
{
	const struct bs_cuda_spec s = what(p);

	return bs_armed_cuda_open(self, &s, tables, env, why);
}

/* windows, previews: it makes them itself; paths: readouts may bring their own; preview: the engine
 * that makes its previews, or NULL. */
template <struct bs_cuda_spec what(const struct bs_protocol *p)>
static constexpr struct bs_engine bs_engine_cuda(const char *name, bool windows, bool previews,
						 bool paths, const struct bs_engine *preview)
{
	struct bs_engine e = {};

	e.name = name;
	e.need = bs_engine_cuda_need<what>;
	e.device = bs_engine_cuda_device<what>;
	e.arm = bs_engine_cuda_arm<what>;
	e.begin = bs_armed_cuda_begin;
	e.add = bs_armed_cuda_add;
	e.finish = bs_armed_cuda_finish;
	e.disarm = bs_armed_cuda_close;
	e.reading = bs_armed_cuda_reading;
	e.fold = windows ? bs_armed_cuda_fold : NULL;
	e.slide = windows ? bs_armed_cuda_slide : NULL;
	e.peek = previews ? bs_armed_cuda_peek : NULL;
	e.maps = bs_armed_cuda_maps;
	e.path = paths ? bs_armed_cuda_path : NULL;
	e.preview = preview;
	return e;
}

#endif
