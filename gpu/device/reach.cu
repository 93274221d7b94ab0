/* gpu/device/reach.cu - see reach.h */
#include "gpu/device/reach.h"

#include "gpu/device/check.h"

static enum bs_gpu_route held;

/*
 * Most bytes of shared memory of a block: CUDA C++ Programming Guide, "Technical Specifications per
 * Compute Capability".
 */
#define SHARED_80 ((size_t)163 << 10)
#define SHARED_86 ((size_t)99 << 10)

extern "C" void bs_reach_hold(enum bs_gpu_route route)
{
	held = route > held ? route : held;
}

extern "C" const char *bs_reach_as(void)
{
	static const char *const words[] = { "", ", as sm_90", ", as sm_80", ", as sm_86" };

	return words[held];
}

static int ask(enum cudaDeviceAttr what, int *value, struct bs_fail *why)
{
	return BS_CUDA_RC(cudaDeviceGetAttribute(value, what, bs_cuda_device()), why);
}

extern "C" int bs_reach(struct bs_reach *r, struct bs_fail *why)
{
	int shared = 0;
	int l2 = 0;
	int err = ask(cudaDevAttrComputeCapabilityMajor, &r->major, why);

	if (err == 0)
		err = ask(cudaDevAttrComputeCapabilityMinor, &r->minor, why);
	if (err == 0)
		err = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared, why);
	if (err == 0)
		err = ask(cudaDevAttrL2CacheSize, &l2, why);
	if (err != 0)
		return err;
	const size_t most = held >= BS_GPU_ROUTE_SM_86   ? SHARED_86
			    : held >= BS_GPU_ROUTE_SM_80 ? SHARED_80
							 : (size_t)shared;

	r->wgmma = r->major == 9 && r->minor == 0 && held < BS_GPU_ROUTE_SM_90;
	r->overlaps = r->major >= 9 && held < BS_GPU_ROUTE_SM_80;
	r->shared_bytes = most < (size_t)shared ? most : (size_t)shared;
	r->l2_bytes = (uint64_t)l2;
	return 0;
}
