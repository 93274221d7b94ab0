/* gpu/fft/cuda/cufft.cu - see cufft.h */
#include "gpu/fft/cuda/cufft.h"

#include <cufft.h>
#include <dlfcn.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define LIBRARY    "libcufft.so." TEXT(CUFFT_VER_MAJOR)

static struct {
	void *library;
	decltype(&cufftCreate) create;
	decltype(&cufftSetAutoAllocation) set_auto_allocation;
	decltype(&cufftMakePlanMany) make_plan_many;
	decltype(&cufftSetWorkArea) set_work_area;
	decltype(&cufftExecC2C) exec_c2c;
	decltype(&cufftDestroy) destroy;
} fft;

static int load(struct bs_fail *why)
{
	const struct {
		void **to;
		const char *name;
	} all[] = { { (void **)&fft.create, "cufftCreate" },
		    { (void **)&fft.set_auto_allocation, "cufftSetAutoAllocation" },
		    { (void **)&fft.make_plan_many, "cufftMakePlanMany" },
		    { (void **)&fft.set_work_area, "cufftSetWorkArea" },
		    { (void **)&fft.exec_c2c, "cufftExecC2C" },
		    { (void **)&fft.destroy, "cufftDestroy" } };
	void *library = fft.library != NULL ? fft.library : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	bool whole = library != NULL;

	for (size_t i = 0; whole && i < sizeof(all) / sizeof(all[0]); i++) {
		*all[i].to = dlsym(library, all[i].name);
		whole = *all[i].to != NULL;
	}
	if (!whole)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "cuFFT of the CUDA toolkit cannot be loaded: %s", dlerror());
	fft.library = library; /* for the process's life */
	return 0;
}

static int failed(struct bs_fail *why, cufftResult r, const char *call)
{
	return bs_fail(why, r == CUFFT_ALLOC_FAILED ? BS_ERR_NOMEM : BS_ERR_GPU,
		       "%s: cuFFT result %d", call, (int)r);
}

int bs_cufft_open(struct bs_cufft *f, uint32_t dims, const int size[3], struct bs_fail *why)
{
	int slowest_first[3] = { size[2], size[1], size[0] };
	cufftResult r;
	int err = load(why);

	if (err != 0)
		return err;
	r = fft.create(&f->plan);
	if (r != CUFFT_SUCCESS)
		return failed(why, r, "cufftCreate");
	r = fft.set_auto_allocation(f->plan, 0);
	if (r == CUFFT_SUCCESS)
		r = fft.make_plan_many(f->plan, (int)dims, slowest_first + 3 - dims, NULL, 1, 0,
				       NULL, 1, 0, CUFFT_C2C, 1, &f->work);
	if (r == CUFFT_SUCCESS)
		return 0;
	bs_cufft_close(f);
	return failed(why, r, "cufftMakePlanMany");
}

int bs_cufft_run(const struct bs_cufft *f, float2 *grid, void *work, struct bs_fail *why)
{
	cufftResult r = fft.set_work_area(f->plan, work);

	if (r == CUFFT_SUCCESS)
		r = fft.exec_c2c(f->plan, grid, grid, CUFFT_FORWARD);
	return r == CUFFT_SUCCESS ? 0 : failed(why, r, "cufftExecC2C");
}

void bs_cufft_close(struct bs_cufft *f)
{
	(void)fft.destroy(f->plan);
}
