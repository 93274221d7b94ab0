/* gpu/toeplitz/q.cu - see q_cuda.h */
#include "gpu/toeplitz/q_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "gpu/device/check.h"
#include "gpu/device/memory.h"
#include "gpu/device/stream.h"
#include "gpu/exact/basis.h"
#include "gpu/nufft/cuda/choice.h"
#include "gpu/nufft/nufft_cuda.h"

#define THREADS 128

struct maker {
	struct bs_q_spec spec;
	struct bs_devmem mem;
	struct bs_nufft_cuda *nufft;
	cudaStream_t stream;
	float2 *image; /* [2Nz - 1][2Ny - 1][2Nx - 1], offset 0 at N - 1 */
	float2 *data;  /* weighted samples [sample] */
	float2 *q;
};

static int nufft_of(struct bs_nufft_spec *f, const struct bs_q_spec *s, struct bs_fail *why)
{
	if (bs_q_size(s) == 0 || s->samples == 0)
		return bs_fail(why, BS_ERR_CONFIG, "Q of %ux%ux%u voxels, %llu samples",
			       s->matrix[0], s->matrix[1], s->matrix[2],
			       (unsigned long long)s->samples);
	memset(f, 0, sizeof(*f));
	f->dims = s->dims;
	for (uint32_t a = 0; a < 3; a++)
		f->matrix[a] = a < s->dims ? 2 * s->matrix[a] - 1 : 1;
	f->coils = 1;
	f->samples = s->samples;
	f->accuracy = s->accuracy;
	return 0;
}

/*
 * Fills q, one thread for each place; the image holds offset n at n + N - 1. On x = 0 an offset and
 * its mirror image, which a sum by FFT leaves unlike, are made conjugates.
 */
static __global__ void __launch_bounds__(THREADS)
	place(float2 *__restrict__ q, const float2 *__restrict__ image, int nx, int ny, int nz)
{
	const int x = (int)(blockIdx.x * THREADS + threadIdx.x);
	const int y = (int)blockIdx.y < ny ? (int)blockIdx.y : (int)blockIdx.y - 2 * ny;
	const int z = (int)blockIdx.z < nz ? (int)blockIdx.z : (int)blockIdx.z - 2 * nz;
	const long long line = 2 * nx - 1;
	const long long plane = line * (2 * ny - 1);
	float2 v = make_float2(0.0f, 0.0f);

	if (x >= nx)
		return;
	if (y > -ny && z > -nz) {
		v = image[(z + nz - 1) * plane + (y + ny - 1) * line + x + nx - 1];
		if (x == 0) {
			const float2 w = image[(nz - 1 - z) * plane + (ny - 1 - y) * line + nx - 1];

			v.x = 0.5f * (v.x + w.x);
			v.y = 0.5f * (v.y - w.y);
		}
	}
	q[((long long)blockIdx.z * 2 * ny + blockIdx.y) * nx + x] = v;
}

static int open_maker(struct maker *m, const float *k, const char *name, struct bs_fail *why)
{
	const struct bs_q_spec *s = &m->spec;
	struct bs_nufft_spec f;
	struct bs_need need;
	char words[96];
	int rc = nufft_of(&f, s, why);

	if (rc != 0)
		return rc;
	const uint64_t image = (uint64_t)f.matrix[0] * f.matrix[1] * f.matrix[2] * 8;

	memset(&need, 0, sizeof(need));
	bs_need_add(&need, "image of twice the matrix", 1, bs_devmem_round(image));
	bs_need_add(&need, "Q", 1, bs_devmem_round(bs_q_size(s) * 8));
	bs_need_add(&need, "samples", 1, bs_devmem_round(s->samples * 8));
	rc = bs_nufft_cuda_need(&f, &need, why);
	(void)snprintf(words, sizeof(words), "%.63s (Q)", name);
	if (rc == 0 && need.overflow)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol %s: the need does not fit 64 bits",
			     words);
	if (rc == 0)
		rc = bs_devmem_open(&m->mem, need.total_bytes, words, why);
	if (rc != 0)
		return rc;
	m->image = (float2 *)bs_devmem_take(&m->mem, (size_t)image);
	m->q = (float2 *)bs_devmem_take(&m->mem, (size_t)bs_q_size(s) * 8);
	m->data = (float2 *)bs_devmem_take(&m->mem, (size_t)s->samples * 8);
	rc = bs_nufft_cuda_plan(&m->nufft, &f, k, NULL, &m->mem, why);
	return rc != 0 ? rc : bs_stream_open(&m->stream, why);
}

static void close_maker(struct maker *m)
{
	/* waits also after an error: nothing may still run in memory that is freed */
	if (m->stream != NULL) {
		(void)cudaStreamSynchronize(m->stream);
		(void)cudaStreamDestroy(m->stream);
	}
	bs_nufft_cuda_close(m->nufft);
	bs_devmem_close(&m->mem);
}

/* Sets data = w phi^2. */
static void weigh(float *data, const struct bs_q_spec *s, const float *k, const float *weight)
{
	for (uint64_t m = 0; m < s->samples; m++) {
		const double w = weight != NULL ? (double)weight[m] : 1.0;
		const double phi = s->basis == BS_BASIS_BOX
					   ? bs_basis_box(1.0, k + m * s->dims, s->dims)
					   : 1.0;

		data[2 * m] = (float)(w * phi * phi);
		data[2 * m + 1] = 0.0f;
	}
}

static int make(const struct maker *m, float *data, float *q, struct bs_fail *why)
{
	const struct bs_q_spec *s = &m->spec;
	const dim3 blocks((s->matrix[0] + THREADS - 1) / THREADS, 2 * s->matrix[1],
			  s->dims > 2 ? 2 * s->matrix[2] : 1);
	int rc;

	BS_CUDA(cudaMemcpyAsync(m->data, data, (size_t)s->samples * 8, cudaMemcpyHostToDevice,
				m->stream),
		why);
	rc = bs_nufft_cuda_adjoint(m->nufft, (const float *)m->data, (float *)m->image, m->stream,
				   why);
	if (rc != 0)
		return rc;
	place<<<blocks, THREADS, 0, m->stream>>>(m->q, m->image, (int)s->matrix[0],
						 (int)s->matrix[1], (int)s->matrix[2]);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaMemcpyAsync(q, m->q, (size_t)bs_q_size(s) * 8, cudaMemcpyDeviceToHost,
				m->stream),
		why);
	return BS_CUDA_RC(cudaStreamSynchronize(m->stream), why);
}

int bs_q_cuda_make(float *q, const struct bs_q_spec *spec, const float *k, const float *weight,
		   const char *name, struct bs_fail *why)
{
	struct maker m;
	float *data = NULL;
	int rc;

	memset(&m, 0, sizeof(m));
	m.spec = *spec;
	rc = open_maker(&m, k, name, why);
	if (rc == 0) {
		data = (float *)malloc((size_t)spec->samples * 8);
		rc = data == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': Q's samples", name)
				  : 0;
	}
	if (rc == 0) {
		weigh(data, spec, k, weight);
		rc = make(&m, data, q, why);
	}
	close_maker(&m);
	free(data);
	return rc;
}

int bs_q_cuda_rounding(const struct bs_q_spec *spec, uint32_t *number, struct bs_fail *why)
{
	struct bs_nufft_choice c;
	struct bs_nufft_spec f;
	int arch[2] = { 0, 0 };
	uint64_t h;
	int rc = nufft_of(&f, spec, why);

	if (rc == 0)
		rc = bs_nufft_choose(&c, &f, false, 0, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaDeviceGetAttribute(&arch[0], cudaDevAttrComputeCapabilityMajor,
				       bs_cuda_device()),
		why);
	BS_CUDA(cudaDeviceGetAttribute(&arch[1], cudaDevAttrComputeCapabilityMinor,
				       bs_cuda_device()),
		why);
	h = bs_hash_bytes(BS_HASH_START, c.sectors.grid, sizeof(c.sectors.grid));
	h = bs_hash_bytes(h, &c.sectors.window, sizeof(c.sectors.window));
	h = bs_hash_bytes(h, &c.sectors.run, sizeof(c.sectors.run));
	h = bs_hash_bytes(h, c.sectors.side, sizeof(c.sectors.side));
	h = bs_hash_bytes(h, &c.taps, sizeof(c.taps));
	h = bs_hash_bytes(h, &c.crowd, sizeof(c.crowd));
	h = bs_hash_bytes(h, arch, sizeof(arch));
	*number = (uint32_t)(h ^ h >> 32) | 1u;
	return 0;
}
