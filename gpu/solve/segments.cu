/*
 * gpu/solve/segments.cu - CUDA twin of segments.c; see segments_cuda.h
 *
 * A segment is two element-wise kernels around one NUFFT of the coils that are transformed
 * together. No kernel here starts before the one in front of it has ended.
 */
#include "gpu/solve/segments_cuda.h"

#include <stdlib.h>

#include "gpu/device/check.h"
#include "gpu/nufft/nufft_cuda.h"
#include "gpu/solve/cuda/phases.cuh"
#include "gpu/solve/interpolators.h"
#include "gpu/solve/lagged_cuda.h"

#define THREADS PHASE_THREADS /* what to_times takes */

struct bs_segments_cuda {
	struct bs_segments_spec s;
	struct bs_interpolators fit;
	struct bs_nufft_cuda *nufft;
	/* operators that normal applies; NULL: normal applies the segments */
	struct bs_lagged_cuda *lagged;
	uint64_t voxels;
	float2 *b; /* interpolators [segment][sample of a readout] */
	float *hz; /* field map in Hz, [slice][voxel] */
	/* map of the current slice: hz where there is one slice, else a copy behind hz */
	float *now;
	float2 *images;  /* images of the current segment, [together][voxel] */
	float2 *samples; /* samples of the current segment, [together][sample] */
	float2 *sum;     /* sum over the segments, [together][sample] */
	float2 *data;    /* samples [state][coil][sample]; states are data_step apart */
	uint64_t data_step;
	uint32_t slice; /* the current slice; UINT32_MAX: its map has changed */
};

/* ---- kernels --------------------------------------------------------------------------------- */

/*
 * Sets out to conj(phase) sum_c conj(S_c) images[c], or adds it; without maps, for each image of
 * its own, blockIdx.y.
 */
static __global__ void from_segment(float2 *out, const float2 *images, const float2 *maps,
				    uint32_t coils, const float *hz, double tau, bool first,
				    uint64_t voxels)
{
	const uint64_t v = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	const uint64_t at = blockIdx.y * voxels + v;

	if (v >= voxels)
		return;
	float2 sum = maps == NULL ? images[at] : make_float2(0.0f, 0.0f);

	for (uint32_t c = 0; maps != NULL && c < coils; c++)
		sum = bs_cadd(sum, bs_cmul_conj(images[c * voxels + v], maps[c * voxels + v]));
	const float2 before = first ? make_float2(0.0f, 0.0f) : out[at];

	out[at] = bs_cadd(before, bs_cmul_conj(sum, phase_of(hz[v], tau)));
}

/* Sets to[c] = conj(b) from[c]. blockIdx.y: the coil. */
static __global__ void weigh_samples(float2 *to, const float2 *from, const float2 *b,
				     uint32_t readout, uint64_t samples)
{
	const uint64_t m = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	const uint64_t at = blockIdx.y * samples + m;

	if (m < samples)
		to[at] = bs_cmul_conj(from[at], b[m % readout]);
}

/* Sets sum[c] to b from[c], or adds it. blockIdx.y: the coil. */
static __global__ void add_samples(float2 *sum, const float2 *from, const float2 *b,
				   uint32_t readout, bool first, uint64_t samples)
{
	const uint64_t m = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	const uint64_t at = blockIdx.y * samples + m;

	if (m >= samples)
		return;
	const float2 before = first ? make_float2(0.0f, 0.0f) : sum[at];
	const float2 weighed = bs_cmul(b[m % readout], from[at]);

	sum[at] = make_float2(before.x + weighed.x, before.y + weighed.y);
}

static dim3 over(uint64_t count, uint32_t coils)
{
	return dim3((unsigned)((count + THREADS - 1) / THREADS), coils);
}

static int launched(struct bs_fail *why)
{
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

/* ---- plan ------------------------------------------------------------------------------------ */

enum region { FACTORS, FIELD, IMAGES, SAMPLES, SUM, REGIONS };
static const char *const region_name[REGIONS] = { "device segment interpolators",
						  "device field map", "device segment images",
						  "device segment samples",
						  "device samples of all segments" };

static uint64_t voxels_of(const struct bs_segments_spec *s)
{
	return (uint64_t)s->nufft.matrix[0] * s->nufft.matrix[1] * s->nufft.matrix[2];
}

/* Sizes of the arrays. Products fit: config/ bounds voxels, samples, coils, slices and frames. */
static void regions_of(uint64_t bytes[REGIONS], const struct bs_segments_spec *s)
{
	bytes[FACTORS] = (uint64_t)BS_SEGMENTS_MAX * s->readout * sizeof(float2);
	bytes[FIELD] = voxels_of(s) * (s->slices + (s->slices > 1)) * sizeof(float);
	bytes[IMAGES] = voxels_of(s) * s->together * sizeof(float2);
	bytes[SAMPLES] = s->nufft.samples * s->together * sizeof(float2);
	bytes[SUM] = bytes[SAMPLES];
}

static uint64_t state_bytes(const struct bs_segments_spec *s)
{
	return bs_devmem_round(s->nufft.samples * s->nufft.coils * sizeof(float2));
}

int bs_segments_cuda_need(const struct bs_segments_spec *s, struct bs_need *need,
			  struct bs_fail *why)
{
	const struct bs_nufft_spec n = bs_segments_nufft(s);
	uint64_t bytes[REGIONS];

	regions_of(bytes, s);
	for (int r = 0; r < REGIONS; r++)
		bs_need_add(need, region_name[r], 1, bs_devmem_round(bytes[r]));
	bs_need_add(need, "device samples of frames", s->states, state_bytes(s));
	return bs_nufft_cuda_need(&n, need, why);
}

static int take_regions(struct bs_segments_cuda *p, struct bs_devmem *mem, struct bs_fail *why)
{
	uint64_t bytes[REGIONS];
	void *at[REGIONS];

	regions_of(bytes, &p->s);
	for (int r = 0; r < REGIONS; r++) {
		at[r] = bs_devmem_take(mem, (size_t)bytes[r]);
		if (at[r] == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "%s: %llu bytes are not left",
				       region_name[r], (unsigned long long)bytes[r]);
	}
	p->b = (float2 *)at[FACTORS];
	p->hz = (float *)at[FIELD];
	p->now = p->hz + (p->s.slices > 1 ? p->voxels * p->s.slices : 0);
	p->images = (float2 *)at[IMAGES];
	p->samples = (float2 *)at[SAMPLES];
	p->sum = (float2 *)at[SUM];
	p->data_step = state_bytes(&p->s) / sizeof(float2);
	p->data =
		(float2 *)bs_devmem_take_readouts(mem, (size_t)(state_bytes(&p->s) * p->s.states));
	if (p->data == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "samples of %u frames", p->s.states);
	return 0;
}

int bs_segments_cuda_field(struct bs_segments_cuda *p, uint32_t slice, const float *hz,
			   struct CUstream_st *stream, struct bs_fail *why)
{
	BS_CUDA(cudaMemcpyAsync(p->hz + slice * p->voxels, hz, (size_t)p->voxels * sizeof(float),
				cudaMemcpyHostToDevice, stream),
		why);
	BS_CUDA(cudaStreamSynchronize(stream), why);
	if (slice == p->slice)
		p->slice = UINT32_MAX;
	return 0;
}

static int copy_fit(struct bs_segments_cuda *p, const float *b, const float *hz,
		    struct bs_fail *why)
{
	BS_CUDA(cudaMemcpy(p->b, b, (size_t)p->fit.segments * p->s.readout * sizeof(float2),
			   cudaMemcpyHostToDevice),
		why);
	BS_CUDA(cudaMemcpy(p->hz, hz, (size_t)(p->voxels * p->s.slices) * sizeof(float),
			   cudaMemcpyHostToDevice),
		why);
	if (p->s.slices > 1)
		BS_CUDA(cudaMemcpy(p->now, hz, (size_t)p->voxels * sizeof(float),
				   cudaMemcpyHostToDevice),
			why);
	return bs_cuda_copied(why);
}

static int find_field(struct bs_segments_cuda *p, const float *hz, struct bs_fail *why)
{
	const struct bs_interpolators_spec asked = { hz,           p->voxels * p->s.slices,
						     p->s.readout, BS_SEGMENTS_MAX,
						     p->s.dwell_s, p->s.start_s,
						     p->s.error };
	float *b = (float *)malloc((size_t)BS_SEGMENTS_MAX * p->s.readout * sizeof(float2));
	int rc = b == NULL ? bs_fail(why, BS_ERR_NOMEM, "time segments")
			   : bs_interpolators_find(&p->fit, &asked, b, why);

	if (rc == 0)
		rc = copy_fit(p, b, hz, why);
	free(b);
	return rc;
}

int bs_segments_cuda_plan(struct bs_segments_cuda **plan, const struct bs_segments_spec *spec,
			  const float *k, const float *weight, const float *hz,
			  struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_nufft_spec n = bs_segments_nufft(spec);
	struct bs_segments_cuda *p = (struct bs_segments_cuda *)calloc(1, sizeof(*p));
	int rc;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "time segments");
	p->s = *spec;
	p->voxels = voxels_of(spec);
	rc = take_regions(p, mem, why);
	if (rc == 0)
		rc = find_field(p, hz, why);
	if (rc == 0)
		rc = bs_nufft_cuda_plan(&p->nufft, &n, k, weight, mem, why);
	if (rc != 0) {
		bs_segments_cuda_close(p);
		return rc;
	}
	*plan = p;
	return 0;
}

void bs_segments_cuda_close(struct bs_segments_cuda *p)
{
	if (p == NULL)
		return;
	bs_nufft_cuda_close(p->nufft);
	bs_lagged_cuda_close(p->lagged);
	free(p);
}

int bs_segments_cuda_lag(struct bs_segments_cuda *p, const float *k, const float *weight,
			 const float *hz, struct bs_fail *why)
{
	const int rc = bs_lagged_cuda_plan(&p->lagged, &p->s, k, weight, hz, why);

	return rc == BS_ERR_UNSUPPORTED || rc == BS_ERR_NOMEM ? 0 : rc;
}

bool bs_segments_cuda_lagged(const struct bs_segments_cuda *p)
{
	return p->lagged != NULL;
}

struct bs_segments_info bs_segments_cuda_info(const struct bs_segments_cuda *p)
{
	return { p->fit.segments, p->fit.error };
}

/* ---- transforms ------------------------------------------------------------------------------ */

static const float2 *factors_of(const struct bs_segments_cuda *p, uint32_t l)
{
	return p->b + (uint64_t)l * p->s.readout;
}

static double tau_of(const struct bs_segments_cuda *p, uint32_t l)
{
	return p->fit.first_s + l * p->fit.step_s;
}

/*
 * Transforms data [together][sample] to image [together][voxel], or to one image through the maps.
 */
static int adjoint(struct bs_segments_cuda *p, const float2 *maps, const float2 *data,
		   float2 *image, cudaStream_t stream, struct bs_fail *why)
{
	const uint64_t samples = p->s.nufft.samples;
	const uint32_t coils = p->s.together;
	int rc = 0;

	for (uint32_t l = 0; rc == 0 && l < p->fit.segments; l++) {
		weigh_samples<<<over(samples, coils), THREADS, 0, stream>>>(
			p->samples, data, factors_of(p, l), p->s.readout, samples);
		rc = launched(why);
		if (rc == 0)
			rc = bs_nufft_cuda_adjoint(p->nufft, (const float *)p->samples,
						   (float *)p->images, stream, why);
		if (rc != 0)
			return rc;
		from_segment<<<over(p->voxels, maps != NULL ? 1 : coils), THREADS, 0, stream>>>(
			image, p->images, maps, coils, p->now, tau_of(p, l), l == 0, p->voxels);
		rc = launched(why);
	}
	return rc;
}

int bs_segments_cuda_slice(struct bs_segments_cuda *p, uint32_t slice, struct CUstream_st *stream,
			   struct bs_fail *why)
{
	if (p->s.slices == 1 || slice == p->slice)
		return 0;
	BS_CUDA(cudaMemcpyAsync(p->now, p->hz + slice * p->voxels,
				(size_t)p->voxels * sizeof(float), cudaMemcpyDeviceToDevice,
				stream),
		why);
	p->slice = slice;
	return 0;
}

int bs_segments_cuda_normal(struct bs_segments_cuda *p, const float *maps, const float *in,
			    float *out, struct CUstream_st *stream, struct bs_fail *why)
{
	const uint64_t samples = p->s.nufft.samples;
	const uint32_t coils = p->s.together;
	int rc = 0;

	if (p->lagged != NULL)
		return bs_lagged_cuda_apply(p->lagged, maps, p->now, in, out, stream, why);
	for (uint32_t l = 0; rc == 0 && l < p->fit.segments; l++) {
		to_times<<<over(p->voxels, 1), THREADS, 0, stream>>>(
			p->images, (const float2 *)in, (const float2 *)maps, p->now, tau_of(p, l),
			0.0, coils, p->voxels);
		rc = launched(why);
		if (rc == 0)
			rc = bs_nufft_cuda_forward(p->nufft, (const float *)p->images,
						   (float *)p->samples, stream, why);
		if (rc != 0)
			return rc;
		add_samples<<<over(samples, coils), THREADS, 0, stream>>>(
			p->sum, p->samples, factors_of(p, l), p->s.readout, l == 0, samples);
		rc = launched(why);
	}
	return rc != 0 ? rc : adjoint(p, (const float2 *)maps, p->sum, (float2 *)out, stream, why);
}

/* ---- frames ---------------------------------------------------------------------------------- */

float *bs_segments_cuda_samples(struct bs_segments_cuda *p, uint32_t state)
{
	return (float *)(p->data + state * p->data_step);
}

int bs_segments_cuda_begin(struct bs_segments_cuda *p, uint32_t state, struct CUstream_st *stream,
			   struct bs_fail *why)
{
	BS_CUDA(cudaMemsetAsync(bs_segments_cuda_samples(p, state), 0,
				(size_t)(p->s.nufft.samples * p->s.nufft.coils) * sizeof(float2),
				stream),
		why);
	return 0;
}

int bs_segments_cuda_finish(struct bs_segments_cuda *p, uint32_t state, float *image,
			    struct CUstream_st *stream, struct bs_fail *why)
{
	const float2 *data = (const float2 *)bs_segments_cuda_samples(p, state);
	int rc = 0;

	for (uint32_t c = 0; rc == 0 && c < p->s.nufft.coils; c += p->s.together)
		rc = adjoint(p, NULL, data + c * p->s.nufft.samples,
			     (float2 *)image + c * p->voxels, stream, why);
	return rc;
}
