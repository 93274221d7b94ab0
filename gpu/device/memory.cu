/* gpu/device/memory.cu - see memory.h and check.h */
#include "gpu/device/memory.h"

#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "gpu/device/check.h"
#include "gpu/device/reach.h"

static int report(struct bs_fail *why, int code, const char *call, const char *file, int line,
		  const char *reason)
{
	if (why == NULL)
		bs_log(BS_LOG_ERROR, "%s at %s:%d: %s", call, file, line, reason);
	return bs_fail(why, code, "%s at %s:%d: %s", call, file, line, reason);
}

int bs_cuda_fail(struct bs_fail *why, cudaError_t e, const char *call, const char *file, int line)
{
	(void)cudaGetLastError(); /* clears the error, so that the next call is not blamed for it */
	return report(why, e == cudaErrorMemoryAllocation ? BS_ERR_NOMEM : BS_ERR_GPU, call, file,
		      line, cudaGetErrorString(e));
}

uint32_t bs_gpu_count(void)
{
	int count = 0;

	if (cudaGetDeviceCount(&count) == cudaSuccess)
		return (uint32_t)count;
	(void)cudaGetLastError();
	return 0;
}

int bs_gpu_answers(struct bs_fail *why)
{
	int count = 0;
	cudaError_t e = cudaGetDeviceCount(&count);

	if (e == cudaSuccess && count > 0)
		return 0;
	(void)cudaGetLastError();
	return bs_fail(why, BS_ERR_UNSUPPORTED, "no GPU answers: %s",
		       e != cudaSuccess ? cudaGetErrorString(e) : "no device");
}

int bs_gpu_probe(struct bs_gpu_info *info, struct bs_fail *why)
{
	cudaDeviceProp prop;
	size_t free_bytes = 0;
	size_t total = 0;
	int driver = 0;
	int mps = 0;
	int rc = bs_gpu_answers(why);

	if (rc != 0)
		return rc;
	BS_CUDA(cudaGetDeviceProperties(&prop, bs_cuda_device()), why);
	BS_CUDA(cudaMemGetInfo(&free_bytes, &total), why);
	BS_CUDA(cudaDriverGetVersion(&driver), why);
	if (cudaDeviceGetAttribute(&mps, cudaDevAttrMpsEnabled, bs_cuda_device()) != cudaSuccess)
		/* clears the error of a driver that does not know the attribute */
		(void)cudaGetLastError();
	memset(info, 0, sizeof(*info));
	(void)snprintf(info->name, sizeof(info->name), "%.50s%s", prop.name, bs_reach_as());
	info->major = (uint32_t)prop.major;
	info->minor = (uint32_t)prop.minor;
	info->multiprocessors = (uint32_t)prop.multiProcessorCount;
	info->total_bytes = total;
	info->free_bytes = free_bytes;
	info->driver = (uint32_t)driver;
	info->l2_bytes = (uint64_t)prop.l2CacheSize;
	info->integrated = prop.integrated != 0;
	info->mps = mps != 0;
	(void)snprintf(info->bus, sizeof(info->bus), "%08x:%02x:%02x.0", (unsigned)prop.pciDomainID,
		       (unsigned)prop.pciBusID, (unsigned)prop.pciDeviceID);
	return 0;
}

int bs_gpu_use(uint32_t device, struct bs_fail *why)
{
	return BS_CUDA_RC(cudaSetDevice((int)device), why);
}

int bs_devmem_upload(struct bs_devmem *m, void *to, const void *from, uint64_t bytes,
		     struct bs_fail *why)
{
	void *at = bs_devmem_take(m, (size_t)bytes);

	if (at == NULL)
		return bs_fail(why, BS_ERR_NOMEM,
			       "a table of %llu bytes does not fit the device arena",
			       (unsigned long long)bytes);
	memcpy(to, &at, sizeof(at));
	return BS_CUDA_RC(cudaMemcpy(at, from, (size_t)bytes, cudaMemcpyHostToDevice), why);
}

void bs_devroom_take(struct bs_devroom *r, void *to, uint64_t bytes)
{
	r->bytes += bs_devmem_round(bytes);
	if (r->mem == NULL)
		return;
	void *at = bs_devmem_take(r->mem, (size_t)bytes);

	r->full = r->full || at == NULL;
	memcpy(to, &at, sizeof(at));
}

int bs_devroom_check(const struct bs_devroom *r, const char *what, struct bs_fail *why)
{
	return r->full ? bs_fail(why, BS_ERR_NOMEM, "%s: %llu bytes do not fit the device arena",
				 what, (unsigned long long)r->bytes)
		       : 0;
}

int bs_devmem_open(struct bs_devmem *m, uint64_t bytes, const char *protocol, struct bs_fail *why)
{
	size_t free_bytes = 0;
	size_t total = 0;
	void *p = NULL;

	memset(m, 0, sizeof(*m));
	if (bytes == 0)
		return 0;
	BS_CUDA(cudaMemGetInfo(&free_bytes, &total), why);
	if (bytes > free_bytes)
		return bs_fail(why, BS_ERR_NOMEM,
			       "protocol %s needs %llu bytes of memory on GPU %d, %llu are free",
			       protocol, (unsigned long long)bytes, bs_cuda_device(),
			       (unsigned long long)free_bytes);
	cudaError_t e = cudaMalloc(&p, (size_t)bytes);

	if (e == cudaErrorMemoryAllocation) {
		(void)cudaGetLastError();
		return bs_fail(why, BS_ERR_NOMEM,
			       "protocol %s needs %llu bytes of memory on GPU %d in one piece, "
			       "%llu are free",
			       protocol, (unsigned long long)bytes, bs_cuda_device(),
			       (unsigned long long)free_bytes);
	}
	BS_CUDA(e, why);
	m->base = (unsigned char *)p;
	m->size = (size_t)bytes;
	return 0;
}

void bs_devmem_close(struct bs_devmem *m)
{
	if (m->base != NULL)
		(void)cudaFree(m->base);
	memset(m, 0, sizeof(*m));
}

int bs_pinned_open(struct bs_pinned *m, uint64_t bytes, struct bs_fail *why)
{
	void *p = NULL;
	void *d = NULL;
	cudaError_t e;

	memset(m, 0, sizeof(*m));
	if (bytes == 0)
		return 0;
	if (bytes > SIZE_MAX / 2)
		return bs_fail(why, BS_ERR_NOMEM, "%llu bytes of pinned memory",
			       (unsigned long long)bytes);
	BS_CUDA(cudaHostAlloc(&p, (size_t)bytes, cudaHostAllocMapped | cudaHostAllocPortable), why);
	e = cudaHostGetDevicePointer(&d, p, 0);
	if (e != cudaSuccess) {
		(void)cudaFreeHost(p);
		return bs_cuda_fail(why, e, "cudaHostGetDevicePointer", __FILE__, __LINE__);
	}
	m->host = (unsigned char *)p;
	m->dev = (unsigned char *)d;
	m->size = (size_t)bytes;
	return 0;
}

void bs_pinned_close(struct bs_pinned *m)
{
	if (m->host != NULL)
		(void)cudaFreeHost(m->host);
	memset(m, 0, sizeof(*m));
}

#define PAGE 4096u

bool bs_gpu_share(const void *base, size_t bytes)
{
	const uintptr_t from = (uintptr_t)base & ~(uintptr_t)(PAGE - 1);
	const uintptr_t to = ((uintptr_t)base + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	cudaError_t e;

	if (base == NULL || bytes == 0)
		return false;
	e = cudaHostRegister((void *)from, (size_t)(to - from), cudaHostRegisterPortable);
	if (e == cudaSuccess)
		return true;
	(void)cudaGetLastError();
	if (e == cudaErrorHostMemoryAlreadyRegistered)
		return true;
	bs_log(BS_LOG_WARN,
	       "the shared pool of %zu bytes cannot be registered with the GPU (%s): readouts are "
	       "copied once more",
	       bytes, cudaGetErrorString(e));
	return false;
}

bool bs_gpu_integrated(void)
{
	int integrated = 0;

	if (cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, bs_cuda_device()) !=
	    cudaSuccess) {
		(void)cudaGetLastError();
		return false;
	}
	return integrated != 0;
}
