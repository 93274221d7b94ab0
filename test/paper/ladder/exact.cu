/* test/paper/ladder/exact.cu - the exact ladder's memory and its steps; see ladder.h */
#include "test/paper/ladder/exact.cuh"

#include <stdlib.h>
#include <string.h>

#include "gpu/exact/exact_cuda.h"

struct bs_ladder_exact {
	struct ladder_sum sum;
	uint32_t matrix[3];
	uint64_t samples;
	float *floats; /* x, y, z, re, im; then kx, ky, kz, dr, di */
	struct ladder_sample *sample;
	float *k, *d;  /* ours: [sample][3], [sample] complex */
	float2 *image; /* ours */
	struct bs_ladder_config config;
	struct bs_devmem mem;
	struct bs_exact_cuda *ours;
	uint64_t planned; /* samples that it was planned for */
	struct ladder_multi *multi;
	cudaStream_t stream;
	cudaEvent_t from, to;
};

static int check_sizes(const uint32_t n[3], uint64_t samples, struct bs_fail *why)
{
	for (int a = 0; a < 3; a++)
		if (n[a] < 1 || n[a] > 512)
			return bs_fail(why, BS_ERR_SIZE, "ladder: matrix[%d] is %u: 1 to 512", a,
				       n[a]);
	if (samples < 1 || samples > UINT64_C(100000000))
		return bs_fail(why, BS_ERR_SIZE, "ladder: %llu samples: 1 to 1e8",
			       (unsigned long long)samples);
	return 0;
}

/* Positions of the voxels; then the samples' values apart, then their data side by side. */
static void fill(float *host, struct ladder_sample *s, const uint32_t n[3], uint64_t samples,
		 const float *k, const float *d)
{
	const uint64_t voxels = (uint64_t)n[0] * n[1] * n[2];
	float *apart = host + 3 * voxels;

	for (uint64_t v = 0; v < voxels; v++) {
		host[v] = (float)((int)(v % n[0]) - (int)(n[0] / 2));
		host[voxels + v] = (float)((int)(v / n[0] % n[1]) - (int)(n[1] / 2));
		host[2 * voxels + v] = (float)((int)(v / n[0] / n[1]) - (int)(n[2] / 2));
	}
	for (uint64_t m = 0; m < samples; m++) {
		s[m].kx = k[3 * m];
		s[m].ky = k[3 * m + 1];
		s[m].kz = k[3 * m + 2];
		s[m].dr = d != NULL ? d[2 * m] : 1.0f;
		s[m].di = d != NULL ? d[2 * m + 1] : 0.0f;
		apart[m] = s[m].kx;
		apart[samples + m] = s[m].ky;
		apart[2 * samples + m] = s[m].kz;
		apart[3 * samples + m] = s[m].dr;
		apart[4 * samples + m] = s[m].di;
		apart[5 * samples + 2 * m] = s[m].dr;
		apart[5 * samples + 2 * m + 1] = s[m].di;
	}
}

static int upload(struct bs_ladder_exact *l, const float *host, const struct ladder_sample *s,
		  const float *k, const float *d, struct bs_fail *why)
{
	const size_t voxels = (size_t)l->sum.voxels;
	const size_t samples = (size_t)l->samples;
	float *at;

	BS_CUDA(cudaMalloc(&l->floats, (5 * voxels + 5 * samples) * sizeof(float)), why);
	BS_CUDA(cudaMalloc(&l->sample, samples * sizeof(*s)), why);
	BS_CUDA(cudaMalloc(&l->k, 3 * samples * sizeof(float)), why);
	BS_CUDA(cudaMalloc(&l->d, 2 * samples * sizeof(float)), why);
	BS_CUDA(cudaMalloc(&l->image, voxels * sizeof(float2)), why);
	at = l->floats + 5 * voxels;
	BS_CUDA(cudaMemcpy(l->floats, host, 3 * voxels * sizeof(float), cudaMemcpyHostToDevice),
		why);
	BS_CUDA(cudaMemcpy(at, host + 3 * voxels, 5 * samples * sizeof(float),
			   cudaMemcpyHostToDevice),
		why);
	BS_CUDA(cudaMemcpy(l->sample, s, samples * sizeof(*s), cudaMemcpyHostToDevice), why);
	BS_CUDA(cudaMemcpy(l->k, k, 3 * samples * sizeof(float), cudaMemcpyHostToDevice), why);
	BS_CUDA(cudaMemcpy(l->d, d, 2 * samples * sizeof(float), cudaMemcpyHostToDevice), why);
	l->sum.x = l->floats;
	l->sum.y = l->floats + voxels;
	l->sum.z = l->floats + 2 * voxels;
	l->sum.re = l->floats + 3 * voxels;
	l->sum.im = l->floats + 4 * voxels;
	l->sum.kx = at;
	l->sum.ky = at + samples;
	l->sum.kz = at + 2 * samples;
	l->sum.dr = at + 3 * samples;
	l->sum.di = at + 4 * samples;
	l->sum.sample = l->sample;
	BS_CUDA(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking), why);
	BS_CUDA(cudaEventCreate(&l->from), why);
	BS_CUDA(cudaEventCreate(&l->to), why);
	BS_CUDA(cudaDeviceSynchronize(), why);
	return 0;
}

int bs_ladder_exact_open(struct bs_ladder_exact **out, const uint32_t matrix[3], uint64_t samples,
			 const float *k, const float *d, struct bs_fail *why)
{
	struct bs_ladder_exact *l;
	struct ladder_sample *s;
	float *host;
	int err = check_sizes(matrix, samples, why);

	*out = NULL;
	if (err != 0)
		return err;
	const uint64_t voxels = (uint64_t)matrix[0] * matrix[1] * matrix[2];

	l = (struct bs_ladder_exact *)calloc(1, sizeof(*l));
	host = (float *)malloc((size_t)(3 * voxels + 7 * samples) * sizeof(float));
	s = (struct ladder_sample *)malloc((size_t)samples * sizeof(*s));
	if (l == NULL || host == NULL || s == NULL) {
		free(l);
		free(host);
		free(s);
		return bs_fail(why, BS_ERR_NOMEM, "ladder: %llu voxels",
			       (unsigned long long)voxels);
	}
	memcpy(l->matrix, matrix, sizeof(l->matrix));
	l->samples = samples;
	l->sum.voxels = voxels;
	l->sum.q = d == NULL;
	l->config.threads = 128;
	l->config.tile = 512;
	l->config.unroll = 8;
	fill(host, s, matrix, samples, k, d);
	err = upload(l, host, s, k, host + 3 * voxels + 5 * samples, why);
	free(host);
	free(s);
	if (err != 0) {
		bs_ladder_exact_close(l);
		return err;
	}
	*out = l;
	return 0;
}

void bs_ladder_exact_configure(struct bs_ladder_exact *l, const struct bs_ladder_config *config)
{
	l->config = *config;
}

static int tune(struct bs_ladder_exact *l, uint64_t samples, struct bs_fail *why)
{
	int err = 0;

	for (uint64_t m = 0; m < samples && err == 0; m += l->config.tile) {
		const uint64_t left = samples - m;

		err = ladder_tune_tile(&l->sum, m,
				       left < l->config.tile ? (uint32_t)left : l->config.tile,
				       &l->config, l->stream, why);
	}
	return err;
}

/* A plan is for a number of samples. */
static int plan_ours(struct bs_ladder_exact *l, uint64_t samples, struct bs_fail *why)
{
	struct bs_exact_cuda_spec s;
	uint64_t bytes;
	int err;

	if (l->ours != NULL && l->planned == samples)
		return 0;
	bs_exact_cuda_close(l->ours);
	bs_devmem_close(&l->mem);
	l->ours = NULL;
	memset(&s, 0, sizeof(s));
	s.sum = BS_EXACT_FHD;
	s.dims = 3;
	memcpy(s.matrix, l->matrix, sizeof(s.matrix));
	s.coils = 1;
	s.states = 1;
	s.samples = samples;
	err = bs_exact_cuda_need(&s, &bytes, why);
	if (err == 0)
		err = bs_devmem_open(&l->mem, bytes, "ladder", why);
	if (err == 0)
		err = bs_exact_cuda_plan(&l->ours, &s, l->k, NULL, &l->mem, why);
	l->planned = err == 0 ? samples : 0;
	return err;
}

static int queue(struct bs_ladder_exact *l, enum bs_ladder_exact_step step, uint64_t samples,
		 struct bs_fail *why)
{
	static int (*const plain[])(const struct ladder_sum *, uint64_t, cudaStream_t,
				    struct bs_fail *) = { ladder_base, ladder_regalloc,
							  ladder_layout, ladder_constmem,
							  ladder_fasttrig };

	if (step == BS_LADDER_OURS)
		return bs_exact_cuda_sum(l->ours, 0, l->d, samples, (float *)l->image, l->stream,
					 why);
	BS_CUDA(cudaMemsetAsync(l->sum.re, 0, 2 * (size_t)l->sum.voxels * sizeof(float), l->stream),
		why);
	return step == BS_LADDER_TUNE ? tune(l, samples, why)
				      : plain[step](&l->sum, samples, l->stream, why);
}

static int fetch(struct bs_ladder_exact *l, enum bs_ladder_exact_step step, float *image,
		 struct bs_fail *why)
{
	const size_t voxels = (size_t)l->sum.voxels;

	if (step == BS_LADDER_OURS) {
		BS_CUDA(cudaMemcpy(image, l->image, voxels * sizeof(float2),
				   cudaMemcpyDeviceToHost),
			why);
		return 0;
	}
	float *apart = (float *)malloc(2 * voxels * sizeof(float));
	cudaError_t e;

	if (apart == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "ladder: an image of %zu voxels", voxels);
	e = cudaMemcpy(apart, l->sum.re, 2 * voxels * sizeof(float), cudaMemcpyDeviceToHost);
	for (size_t v = 0; v < voxels && e == cudaSuccess; v++) {
		image[2 * v] = apart[v];
		image[2 * v + 1] = apart[voxels + v];
	}
	free(apart);
	BS_CUDA(e, why);
	return 0;
}

int bs_ladder_exact_step(struct bs_ladder_exact *l, enum bs_ladder_exact_step step,
			 uint64_t samples, float *image, double *ms, struct bs_fail *why)
{
	float elapsed = 0.0f;
	int err = 0;

	if ((unsigned)step >= BS_LADDER_EXACT_STEPS || samples < 1 || samples > l->samples)
		return bs_fail(why, BS_ERR_SIZE, "ladder: step %d, %llu samples", (int)step,
			       (unsigned long long)samples);
	if (step == BS_LADDER_MULTI) {
		if (l->multi == NULL)
			err = ladder_multi_open(&l->multi, &l->sum, l->samples, why);
		if (err == 0)
			err = ladder_multi_run(l->multi, &l->sum, samples, &l->config, ms, why);
		return err != 0 || image == NULL ? err : fetch(l, step, image, why);
	}
	if (step == BS_LADDER_OURS)
		err = plan_ours(l, samples, why);
	if (err != 0)
		return err;
	BS_CUDA(cudaEventRecord(l->from, l->stream), why);
	err = queue(l, step, samples, why);
	if (err != 0)
		return err;
	BS_CUDA(cudaEventRecord(l->to, l->stream), why);
	BS_CUDA(cudaStreamSynchronize(l->stream), why);
	BS_CUDA(cudaEventElapsedTime(&elapsed, l->from, l->to), why);
	*ms = (double)elapsed;
	return image == NULL ? 0 : fetch(l, step, image, why);
}

void bs_ladder_exact_close(struct bs_ladder_exact *l)
{
	if (l == NULL)
		return;
	ladder_multi_close(l->multi);
	bs_exact_cuda_close(l->ours);
	bs_devmem_close(&l->mem);
	(void)cudaFree(l->floats);
	(void)cudaFree(l->sample);
	(void)cudaFree(l->k);
	(void)cudaFree(l->d);
	(void)cudaFree(l->image);
	if (l->from != NULL)
		(void)cudaEventDestroy(l->from);
	if (l->to != NULL)
		(void)cudaEventDestroy(l->to);
	if (l->stream != NULL)
		(void)cudaStreamDestroy(l->stream);
	free(l);
}
