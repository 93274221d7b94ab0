/* gpu/solve/lagged.cu - see lagged_cuda.h */
#include "gpu/solve/lagged_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "gpu/device/memory.h"
#include "gpu/solve/cuda/phases.cuh"
#include "gpu/solve/interpolators.h"
#include "gpu/toeplitz/q_cuda.h"
#include "gpu/toeplitz/toeplitz_cuda.h"

#define SIDE       32u /* voxels in a block of from_times */
#define TOGETHER   8u  /* times that such a block sums in parallel */
#define QUANTILES  128u
#define LOOKED_AT  16384u              /* about so many voxels are looked at for the quantiles */
#define BYTES_MOST (UINT64_C(4) << 30) /* most bytes of all operators and images */

struct bs_lagged_cuda {
	uint32_t times, coils;
	uint64_t voxels;
	double first_s, step_s;
	struct bs_devmem mem;
	struct bs_toeplitz_cuda *normal; /* the operators of all times */
	float2 *images;                  /* images at each time, [time][coil][voxel] */
};

/* ---- kernels --------------------------------------------------------------------------------- */

/*
 * Sets out = sum_l exp(+i2pi hz tau_l) sum_c conj(S_c) images[l][c]; each row of threads sums times
 * of its own.
 */
static __global__ void __launch_bounds__(SIDE *TOGETHER)
	from_times(float2 *out, const float2 *images, const float2 *maps, const float *hz,
		   double first_s, double step_s, uint32_t count, uint32_t coils, uint64_t voxels)
{
	__shared__ float2 part[TOGETHER][SIDE];
	const uint64_t v = (uint64_t)blockIdx.x * SIDE + threadIdx.x;
	float2 all = make_float2(0.0f, 0.0f);

	for (uint32_t l = threadIdx.y; v < voxels && l < count; l += TOGETHER) {
		const float2 *from = images + (uint64_t)l * coils * voxels + v;
		float2 sum = make_float2(0.0f, 0.0f);

		for (uint32_t c = 0; c < coils; c++) {
			const float2 s = maps != NULL ? __ldg(maps + c * voxels + v)
						      : make_float2(1.0f, 0.0f);
			const float2 seen = bs_cmul_conj(from[c * voxels], s);

			sum = make_float2(sum.x + seen.x, sum.y + seen.y);
		}
		sum = bs_cmul_conj(sum, phase_of(hz[v], first_s + l * step_s));
		all = make_float2(all.x + sum.x, all.y + sum.y);
	}
	part[threadIdx.y][threadIdx.x] = all;
	__syncthreads();
	if (threadIdx.y > 0 || v >= voxels)
		return;
	for (uint32_t r = 1; r < TOGETHER; r++)
		all = make_float2(all.x + part[r][threadIdx.x].x, all.y + part[r][threadIdx.x].y);
	out[v] = all;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
	const float x = *(const float *)a;
	const float y = *(const float *)b;

	return x < y ? -1 : x > y;
}

/*
 * Writes the differences of the map's quantiles, among them its least and largest value. For a map
 * that will be replaced (`replaced`): differences that prepare for any map within twice the range
 * (drivers/file/tables.c does so for the maps).
 */
static int differences(float *to, const float *hz, uint64_t voxels, bool replaced,
		       struct bs_fail *why)
{
	const uint64_t count = (uint64_t)QUANTILES * QUANTILES;
	const uint64_t step = voxels / LOOKED_AT + 1;
	float *some = (float *)malloc((voxels / step + 3) * sizeof(*some));
	uint64_t n = 0;
	float least = hz[0];
	float most = hz[0];

	if (some == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "differences of a field map");
	for (uint64_t v = 0; v < voxels; v++) {
		least = fminf(least, hz[v]);
		most = fmaxf(most, hz[v]);
		if (v % step == 0)
			some[n++] = hz[v];
	}
	for (uint64_t i = 0; replaced && i < count; i++)
		to[i] = (float)((double)(most - least) * cospi(((double)i + 0.5) / (double)count));
	some[n++] = least;
	some[n++] = most;
	qsort(some, n, sizeof(*some), ascending);
	for (uint64_t i = 0; !replaced && i < QUANTILES; i++)
		for (uint64_t j = 0; j < QUANTILES; j++)
			to[i * QUANTILES + j] = some[i * (n - 1) / (QUANTILES - 1)] -
						some[j * (n - 1) / (QUANTILES - 1)];
	free(some);
	return 0;
}

/* Finds the times. b [time][sample of a readout] complex, with room for BS_SEGMENTS_MAX times. */
static int find_times(struct bs_lagged_cuda *p, const struct bs_segments_spec *s, const float *hz,
		      float *b, struct bs_fail *why)
{
	float *d = (float *)malloc((size_t)QUANTILES * QUANTILES * sizeof(*d));
	struct bs_interpolators fit;
	int rc = d == NULL ? bs_fail(why, BS_ERR_NOMEM, "differences of a field map")
			   : differences(d, hz, p->voxels * s->slices, s->replaced, why);

	if (rc == 0) {
		const struct bs_interpolators_spec asked = { d,          QUANTILES * QUANTILES,
							     s->readout, BS_SEGMENTS_MAX,
							     s->dwell_s, s->start_s,
							     s->error };

		rc = bs_interpolators_find(&fit, &asked, b, why);
	}
	free(d);
	if (rc == BS_ERR_VALUE)
		why->code = rc = BS_ERR_UNSUPPORTED;
	if (rc != 0)
		return rc;
	p->times = fit.segments;
	p->first_s = fit.first_s;
	p->step_s = fit.step_s;
	return 0;
}

static struct bs_toeplitz_spec toeplitz_of(const struct bs_lagged_cuda *p,
					   const struct bs_segments_spec *s)
{
	struct bs_toeplitz_spec t;

	memset(&t, 0, sizeof(t));
	t.dims = s->nufft.dims;
	memcpy(t.matrix, s->nufft.matrix, sizeof(t.matrix));
	t.coils = p->times * p->coils;
	t.operators = p->times;
	return t;
}

static uint64_t image_bytes(const struct bs_lagged_cuda *p)
{
	return (uint64_t)p->times * p->coils * p->voxels * sizeof(float2);
}

static int need_of(const struct bs_lagged_cuda *p, const struct bs_segments_spec *s,
		   uint64_t *bytes, struct bs_fail *why)
{
	const struct bs_toeplitz_spec t = toeplitz_of(p, s);
	int rc = bs_toeplitz_cuda_need(&t, bytes, why);

	if (rc != 0)
		return rc;
	*bytes += bs_devmem_round(image_bytes(p));
	return *bytes > BYTES_MOST
		       ? bs_fail(why, BS_ERR_UNSUPPORTED, "%u Toeplitz operators of %u coils",
				 p->times, p->coils)
		       : 0;
}

static int take_memory(struct bs_lagged_cuda *p, const struct bs_segments_spec *s,
		       struct bs_fail *why)
{
	uint64_t bytes;
	int rc = need_of(p, s, &bytes, why);

	if (rc == 0)
		rc = bs_devmem_open(&p->mem, bytes, "field map", why);
	if (rc == 0)
		p->images = (float2 *)bs_devmem_take(&p->mem, image_bytes(p));
	return rc;
}

/* Makes the operator of one time. w: workspace for the weights of all samples; q: for Q. */
static int make_operator(struct bs_lagged_cuda *p, const struct bs_segments_spec *s, uint32_t l,
			 const float *k, const float *weight, const float *b, float *w, float *q,
			 struct bs_fail *why)
{
	const double accuracy = s->nufft.accuracy > 0.0 ? 0.1 * s->nufft.accuracy : 1e-4;
	struct bs_devmem temporary;
	struct bs_q_spec spec;
	int rc;

	memset(&spec, 0, sizeof(spec));
	spec.dims = s->nufft.dims;
	memcpy(spec.matrix, s->nufft.matrix, sizeof(spec.matrix));
	spec.samples = s->nufft.samples;
	spec.basis = BS_BASIS_DELTA;
	spec.sum = BS_SUM_NUFFT;
	spec.accuracy = fmin(fmax(accuracy, 1e-6), 1e-3);
	for (uint64_t m = 0; m < s->nufft.samples; m++)
		w[m] = b[2 * ((size_t)l * s->readout + m % s->readout)] *
		       (weight != NULL ? weight[m] : 1.0f);
	rc = bs_q_cuda_make(q, &spec, k, w, "field map", why);
	if (rc == 0)
		rc = bs_devmem_open(&temporary, bs_q_size(&spec) * 8, "field map", why);
	if (rc != 0)
		return rc;
	BS_CUDA_GO(
		cudaMemcpy(temporary.base, q, (size_t)bs_q_size(&spec) * 8, cudaMemcpyHostToDevice),
		why, rc, out);
	rc = bs_toeplitz_cuda_put(p->normal, l, (const float *)temporary.base, why);
out:
	bs_devmem_close(&temporary);
	return rc;
}

static int make_operators(struct bs_lagged_cuda *p, const struct bs_segments_spec *s,
			  const float *k, const float *weight, const float *b, struct bs_fail *why)
{
	const struct bs_toeplitz_spec t = toeplitz_of(p, s);
	struct bs_q_spec spec;
	int rc = bs_toeplitz_cuda_plan(&p->normal, &t, NULL, &p->mem, why);

	memset(&spec, 0, sizeof(spec));
	spec.dims = s->nufft.dims;
	memcpy(spec.matrix, s->nufft.matrix, sizeof(spec.matrix));
	spec.samples = s->nufft.samples;
	spec.accuracy = 1e-3;
	float *w = (float *)malloc((size_t)s->nufft.samples * sizeof(*w));
	float *q = (float *)malloc((size_t)bs_q_size(&spec) * 8);

	if (rc == 0 && (w == NULL || q == NULL))
		rc = bs_fail(why, BS_ERR_NOMEM, "Toeplitz operators of a field map");
	for (uint32_t l = 0; rc == 0 && l < p->times; l++)
		rc = make_operator(p, s, l, k, weight, b, w, q, why);
	free(w);
	free(q);
	return rc;
}

/* Finds the times alone. b: their interpolators, which the caller frees. */
static int find(struct bs_lagged_cuda **plan, float **b, const struct bs_segments_spec *s,
		const float *hz, struct bs_fail *why)
{
	struct bs_lagged_cuda *p;

	*plan = NULL;
	*b = NULL;
	if (s->nufft.dims != 2)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "Toeplitz operators off resonance in 3D");
	*plan = p = (struct bs_lagged_cuda *)calloc(1, sizeof(*p));
	*b = (float *)malloc((size_t)BS_SEGMENTS_MAX * s->readout * sizeof(float2));
	if (p == NULL || *b == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "Toeplitz operators of a field map");
	p->coils = s->together;
	p->voxels = (uint64_t)s->nufft.matrix[0] * s->nufft.matrix[1];
	return find_times(p, s, hz, *b, why);
}

int bs_lagged_cuda_bytes(const struct bs_segments_spec *s, const float *hz, uint64_t *bytes,
			 struct bs_fail *why)
{
	struct bs_lagged_cuda *p;
	float *b;
	int rc = find(&p, &b, s, hz, why);

	if (rc == 0)
		rc = need_of(p, s, bytes, why);
	if (rc != 0)
		*bytes = 0;
	free(p);
	free(b);
	return rc == BS_ERR_UNSUPPORTED ? 0 : rc;
}

int bs_lagged_cuda_plan(struct bs_lagged_cuda **plan, const struct bs_segments_spec *s,
			const float *k, const float *weight, const float *hz, struct bs_fail *why)
{
	float *b;
	int rc = find(plan, &b, s, hz, why);

	if (rc == 0)
		rc = take_memory(*plan, s, why);
	if (rc == 0)
		rc = make_operators(*plan, s, k, weight, b, why);
	if (rc == 0)
		rc = bs_cuda_copied(why);
	free(b);
	if (rc != 0) {
		bs_lagged_cuda_close(*plan);
		*plan = NULL;
	}
	return rc;
}

void bs_lagged_cuda_close(struct bs_lagged_cuda *p)
{
	if (p == NULL)
		return;
	bs_toeplitz_cuda_close(p->normal);
	bs_devmem_close(&p->mem);
	free(p);
}

int bs_lagged_cuda_apply(struct bs_lagged_cuda *p, const float *maps, const float *hz,
			 const float *in, float *out, struct CUstream_st *stream,
			 struct bs_fail *why)
{
	const dim3 each((unsigned)((p->voxels + PHASE_THREADS - 1) / PHASE_THREADS), p->times);
	int rc;

	to_times<<<each, PHASE_THREADS, 0, stream>>>(p->images, (const float2 *)in,
						     (const float2 *)maps, hz, p->first_s,
						     p->step_s, p->coils, p->voxels);
	BS_CUDA(cudaGetLastError(), why);
	rc = bs_toeplitz_cuda_apply(p->normal, p->times * p->coils, (const float *)p->images,
				    (float *)p->images, stream, why);
	if (rc != 0)
		return rc;
	from_times<<<(unsigned)((p->voxels + SIDE - 1) / SIDE), dim3(SIDE, TOGETHER), 0, stream>>>(
		(float2 *)out, p->images, (const float2 *)maps, hz, p->first_s, p->step_s, p->times,
		p->coils, p->voxels);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
