/* test/paper/ladder/multi.cu - Multi: the tuned sum, its voxels split over the GPUs of the node */
#include "test/paper/ladder/exact.cuh"

#include <stdlib.h>

#include "core/thread/clock.h"
#include "gpu/device/split.h"

struct piece {
	struct ladder_sum sum;
	uint64_t first;
	float *floats; /* x, y, z, re, im of its voxels */
	struct ladder_sample *sample;
	cudaStream_t stream;
};

struct ladder_multi {
	int home, devices;
	struct piece piece[BS_DEVICES_MAX];
};

static int open_piece(struct ladder_multi *m, int i, const struct ladder_sum *whole,
		      uint64_t samples, struct bs_fail *why)
{
	struct piece *p = &m->piece[i];
	const struct bs_split s =
		bs_split_part(whole->voxels, LADDER_THREADS, (uint32_t)m->devices, (uint32_t)i);
	const size_t bytes = (size_t)s.count * sizeof(float);
	const float *from[3] = { whole->x + s.first, whole->y + s.first, whole->z + s.first };

	BS_CUDA(cudaSetDevice(i), why);
	BS_CUDA(cudaMalloc(&p->floats, 5 * bytes + 1), why);
	BS_CUDA(cudaMalloc(&p->sample, (size_t)samples * sizeof(*p->sample)), why);
	BS_CUDA(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking), why);
	for (int a = 0; a < 3; a++)
		BS_CUDA(cudaMemcpyAsync(p->floats + a * s.count, from[a], bytes, cudaMemcpyDefault,
					p->stream),
			why);
	BS_CUDA(cudaMemcpyAsync(p->sample, whole->sample, (size_t)samples * sizeof(*p->sample),
				cudaMemcpyDefault, p->stream),
		why);
	BS_CUDA(cudaStreamSynchronize(p->stream), why);
	p->first = s.first;
	p->sum = *whole;
	p->sum.voxels = s.count;
	p->sum.x = p->floats;
	p->sum.y = p->floats + s.count;
	p->sum.z = p->floats + 2 * s.count;
	p->sum.re = p->floats + 3 * s.count;
	p->sum.im = p->floats + 4 * s.count;
	p->sum.sample = p->sample;
	return 0;
}

int ladder_multi_open(struct ladder_multi **out, const struct ladder_sum *whole, uint64_t samples,
		      struct bs_fail *why)
{
	struct ladder_multi *m;
	int count = 0;
	int err = 0;

	BS_CUDA(cudaGetDeviceCount(&count), why);
	if (count < 2)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "one GPU here");
	m = (struct ladder_multi *)calloc(1, sizeof(*m));
	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "several GPUs");
	m->devices = count < (int)BS_DEVICES_MAX ? count : (int)BS_DEVICES_MAX;
	err = cudaGetDevice(&m->home) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess
		      ? 0
		      : bs_cuda_fail(why, cudaGetLastError(), "cudaDeviceSynchronize", __FILE__,
				     __LINE__);
	for (int i = 0; err == 0 && i < m->devices; i++)
		err = open_piece(m, i, whole, samples, why);
	(void)cudaSetDevice(m->home);
	if (err != 0) {
		ladder_multi_close(m);
		return err;
	}
	*out = m;
	return 0;
}

/* Tile by tile on all devices, so that none waits for the launches of another. */
static int queue(struct ladder_multi *m, uint64_t samples, const struct bs_ladder_config *config,
		 struct bs_fail *why)
{
	for (int i = 0; i < m->devices; i++) {
		struct piece *p = &m->piece[i];

		BS_CUDA(cudaSetDevice(i), why);
		BS_CUDA(cudaMemsetAsync(p->sum.re, 0, 2 * (size_t)p->sum.voxels * sizeof(float),
					p->stream),
			why);
	}
	for (uint64_t at = 0; at < samples; at += config->tile)
		for (int i = 0; i < m->devices; i++) {
			struct piece *p = &m->piece[i];
			const uint64_t left = samples - at;

			if (p->sum.voxels == 0)
				continue;
			BS_CUDA(cudaSetDevice(i), why);
			int err = ladder_tune_tile(
				&p->sum, at, left < config->tile ? (uint32_t)left : config->tile,
				config, p->stream, why);

			if (err != 0)
				return err;
		}
	return 0;
}

static int collect(struct ladder_multi *m, const struct ladder_sum *whole, struct bs_fail *why)
{
	for (int i = 0; i < m->devices; i++) {
		struct piece *p = &m->piece[i];
		const size_t bytes = (size_t)p->sum.voxels * sizeof(float);

		BS_CUDA(cudaSetDevice(i), why);
		BS_CUDA(cudaMemcpyAsync(whole->re + p->first, p->sum.re, bytes, cudaMemcpyDefault,
					p->stream),
			why);
		BS_CUDA(cudaMemcpyAsync(whole->im + p->first, p->sum.im, bytes, cudaMemcpyDefault,
					p->stream),
			why);
	}
	for (int i = 0; i < m->devices; i++) {
		BS_CUDA(cudaSetDevice(i), why);
		BS_CUDA(cudaStreamSynchronize(m->piece[i].stream), why);
	}
	return 0;
}

int ladder_multi_run(struct ladder_multi *m, const struct ladder_sum *whole, uint64_t samples,
		     const struct bs_ladder_config *config, double *ms, struct bs_fail *why)
{
	const int64_t from = bs_now_ns();
	int err = queue(m, samples, config, why);

	if (err == 0)
		err = collect(m, whole, why);
	*ms = (double)(bs_now_ns() - from) * 1e-6;
	(void)cudaSetDevice(m->home);
	return err;
}

void ladder_multi_close(struct ladder_multi *m)
{
	if (m == NULL)
		return;
	for (int i = 0; i < m->devices; i++) {
		struct piece *p = &m->piece[i];

		if (cudaSetDevice(i) != cudaSuccess)
			continue;
		(void)cudaFree(p->floats);
		(void)cudaFree(p->sample);
		if (p->stream != NULL)
			(void)cudaStreamDestroy(p->stream);
	}
	(void)cudaSetDevice(m->home);
	free(m);
}
