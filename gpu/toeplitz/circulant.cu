/* gpu/toeplitz/circulant.cu - CUDA twin of circulant.c's apply; see circulant_cuda.h */
#include "gpu/toeplitz/circulant_cuda.h"

#include <stdlib.h>

#include "core/sizes.h"
#include "gpu/device/check.h"
#include "gpu/fft/lines_cuda.h"

#define THREADS 256

struct bs_circulant_cuda {
	uint32_t dims;
	uint64_t voxels;
	bs_line_pass pass[3];
	float2 *a, *b;
	float *inverse;
};

static __global__ void __launch_bounds__(THREADS)
	scale(float2 *__restrict__ v, const float *__restrict__ by, uint64_t voxels)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i < voxels) {
		const float s = __ldg(by + i);
		const float2 x = v[i];

		v[i] = make_float2(s * x.x, s * x.y);
	}
}

uint64_t bs_circulant_cuda_need(uint32_t dims, const uint32_t matrix[3])
{
	uint64_t bytes = 2 * bs_devmem_round(bs_box_size(matrix) * sizeof(float2)) +
			 bs_devmem_round(bs_box_size(matrix) * sizeof(float));

	for (uint32_t a = 0; a < dims; a++)
		bytes += bs_devmem_round(bs_line_bytes(matrix[a]));
	return bytes;
}

float *bs_circulant_cuda_table(struct bs_circulant_cuda *p)
{
	return p->inverse;
}

void bs_circulant_cuda_close(struct bs_circulant_cuda *p)
{
	free(p);
}

static int fill(struct bs_circulant_cuda *p, const uint32_t matrix[3], const float *inverse,
		struct bs_devmem *mem, struct bs_fail *why)
{
	p->a = (float2 *)bs_devmem_take(mem, (size_t)p->voxels * sizeof(float2));
	p->b = (float2 *)bs_devmem_take(mem, (size_t)p->voxels * sizeof(float2));
	if (p->a == NULL || p->b == NULL)
		return bs_fail(why, BS_ERR_NOMEM,
			       "circulant preconditioner: %llu voxels do not fit the device arena",
			       (unsigned long long)p->voxels);
	int rc = bs_devmem_upload(mem, &p->inverse, inverse, p->voxels * sizeof(float), why);

	if (rc == 0)
		rc = bs_lines_cuda_init(why);
	for (uint32_t a = 0; rc == 0 && a < p->dims; a++)
		rc = bs_line_whole(&p->pass[a], a, matrix, mem, why);
	return rc != 0 ? rc : bs_cuda_copied(why);
}

int bs_circulant_cuda_plan(struct bs_circulant_cuda **plan, uint32_t dims, const uint32_t matrix[3],
			   const float *inverse, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_circulant_cuda *p = (struct bs_circulant_cuda *)calloc(1, sizeof(*p));

	*plan = p;
	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "circulant preconditioner");
	p->dims = dims;
	p->voxels = bs_box_size(matrix);
	return fill(p, matrix, inverse, mem, why);
}

int bs_circulant_cuda_apply(struct bs_circulant_cuda *p, const float *in, float *out,
			    struct CUstream_st *stream, struct bs_fail *why)
{
	const float2 *from = (const float2 *)in;
	float2 *to = p->a;
	int rc = 0;

	for (uint32_t a = 0; rc == 0 && a < p->dims; a++) {
		to = a % 2 == 0 ? p->a : p->b;
		rc = bs_line_launch(&p->pass[a], -1, from, to, stream, why);
		from = to;
	}
	if (rc != 0)
		return rc;
	scale<<<(unsigned)((p->voxels + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
		to, p->inverse, p->voxels);
	BS_CUDA(cudaGetLastError(), why);
	for (uint32_t a = p->dims; rc == 0 && a-- > 0;) {
		to = a == 0 ? (float2 *)out : from == p->a ? p->b : p->a;
		rc = bs_line_launch(&p->pass[a], 1, from, to, stream, why);
		from = to;
	}
	return rc;
}
