/*
 * gpu/image/pocs.cu - CUDA twin of pocs.c; see pocs_cuda.h
 *
 * All images go through a projection together: a pass along each partial axis forward and back,
 * from one buffer to the other, with element-wise kernels in between. An axis that is measured
 * whole is not transformed.
 */
#include "gpu/image/pocs_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "gpu/fft/lines_cuda.h"

#define THREADS 256

/* The measured part of an axis whose k = 0 comes first: k < high, and k from size - low on. */
struct pocs_axis {
	uint32_t size, low, high;
	bool partial;
};

struct pocs_grid {
	struct pocs_axis axis[3];
	uint64_t values; /* complex values of all images */
};

struct bs_pocs_cuda {
	struct bs_pocs_spec s;
	struct pocs_grid grid;
	/* weighed: the pass back from the center alone */
	bs_line_pass forward[3], back[3], weighed[3];
	/* [k] weights of the symmetric center, k = 0 first */
	float *window[3];
	/* the measured samples and the center's phase, both as large as `in` */
	float2 *samples, *phase;
};

/* ---- kernels --------------------------------------------------------------------------------- */

static __device__ __forceinline__ bool measured(const pocs_axis &a, uint32_t k)
{
	return !a.partial || k < a.high || k >= a.size - a.low;
}

/* Makes the weights of the symmetric center (pocs.h); t: number of samples over which they fall. */
static __global__ void make_window(float *to, uint32_t size, int reach, int t)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i >= size)
		return;
	const int k = i < size - size / 2 ? (int)i : (int)(size - i);
	const double s = sinpi(0.5 * (double)(reach + 1 - k) / (double)(t + 1));

	to[i] = k > reach ? 0.0f : k <= reach - t ? 1.0f : (float)(s * s);
}

/* v = exp(i angle of v), or 1 where v is 0. */
static __global__ void keep_phase(float2 *v, uint64_t values)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i >= values)
		return;
	const float2 at = v[i];
	const float size = sqrtf(at.x * at.x + at.y * at.y);

	v[i] = size > 0.0f ? make_float2(at.x / size, at.y / size) : make_float2(1.0f, 0.0f);
}

static __global__ void give_phase(float2 *image, const float2 *phase, uint64_t values)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i >= values)
		return;
	const float2 at = image[i];
	const float2 unit = phase[i];
	const float size = sqrtf(at.x * at.x + at.y * at.y);

	image[i] = make_float2(size * unit.x, size * unit.y);
}

static __global__ void put_back(float2 *image, const float2 *samples, const pocs_grid g)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i >= g.values)
		return;
	const uint64_t row = i / g.axis[0].size;
	const uint32_t x = (uint32_t)(i % g.axis[0].size);
	const uint32_t y = (uint32_t)(row % g.axis[1].size);
	const uint32_t z = (uint32_t)(row / g.axis[1].size % g.axis[2].size);

	if (measured(g.axis[0], x) && measured(g.axis[1], y) && measured(g.axis[2], z))
		image[i] = samples[i];
}

/*
 * Copies the voxels around the center. n: size of an output image; from: its first voxel on the
 * grid.
 */
static __global__ void crop(float2 *out, const float2 *in, uint3 size, uint3 n, uint3 from,
			    uint64_t values)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i >= values)
		return;
	const uint64_t row = i / n.x;
	const uint64_t plane = row / n.y;
	const uint64_t image = plane / n.z;
	const uint64_t z = image * size.z + plane % n.z + from.z;
	const uint64_t y = z * size.y + row % n.y + from.y;

	out[i] = in[y * size.x + i % n.x + from.x];
}

static unsigned over(uint64_t values)
{
	return (unsigned)((values + THREADS - 1) / THREADS);
}

/* ---- run ------------------------------------------------------------------------------------- */

/*
 * Transforms along the partial axes, from one buffer to the other. *at: the buffer with the result.
 */
static int transform(const struct bs_pocs_cuda *p, const bs_line_pass pass[3], int sign,
		     float2 **at, float2 **spare, cudaStream_t stream, struct bs_fail *why)
{
	int rc = 0;

	for (int a = 0; rc == 0 && a < 3; a++) {
		float2 *from = *at;

		if (!p->grid.axis[a].partial)
			continue;
		rc = bs_line_launch(&pass[a], sign, from, *spare, stream, why);
		*at = *spare;
		*spare = from;
	}
	return rc;
}

static int copy(const struct bs_pocs_cuda *p, float2 *to, const float2 *from, cudaStream_t stream,
		struct bs_fail *why)
{
	return BS_CUDA_RC(cudaMemcpyAsync(to, from, (size_t)p->grid.values * sizeof(float2),
					  cudaMemcpyDeviceToDevice, stream),
			  why);
}

static int take_spans(struct bs_pocs_cuda *p, const struct bs_pocs_span spans[3],
		      cudaStream_t stream, struct bs_fail *why)
{
	int rc = 0;

	for (int a = 0; rc == 0 && a < 3; a++) {
		struct pocs_axis *x = &p->grid.axis[a];

		x->partial = spans[a].from > 0 || spans[a].to < x->size;
		if (!x->partial)
			continue;
		x->low = x->size / 2 - spans[a].from;
		x->high = spans[a].to - x->size / 2;
		/*
		 * the reach of the shorter side; bs_pocs_is_partial has made sure that it is at
		 * least 1
		 */
		const int reach = (int)(x->low < x->high - 1 ? x->low : x->high - 1);

		make_window<<<over(x->size), THREADS, 0, stream>>>(
			p->window[a], x->size, reach, (int)llround(p->s.taper * (double)reach));
		rc = BS_CUDA_RC(cudaGetLastError(), why);
	}
	return rc;
}

/* Does one projection. *image: the buffer that holds the image. */
static int project(struct bs_pocs_cuda *p, float2 **image, float2 *spare, cudaStream_t stream,
		   struct bs_fail *why)
{
	const unsigned blocks = over(p->grid.values);
	float2 *samples = p->samples;
	float2 *phase = p->phase;
	int rc = copy(p, samples, *image, stream, why);

	if (rc == 0)
		rc = transform(p, p->forward, -1, &samples, &spare, stream, why);
	if (rc == 0)
		rc = copy(p, phase, samples, stream, why);
	if (rc == 0)
		rc = transform(p, p->weighed, 1, &phase, &spare, stream, why);
	if (rc != 0)
		return rc;
	keep_phase<<<blocks, THREADS, 0, stream>>>(phase, p->grid.values);
	rc = BS_CUDA_RC(cudaGetLastError(), why);
	for (uint32_t i = 0; rc == 0 && i < p->s.iterations; i++) {
		give_phase<<<blocks, THREADS, 0, stream>>>(*image, phase, p->grid.values);
		rc = BS_CUDA_RC(cudaGetLastError(), why);
		if (rc == 0)
			rc = transform(p, p->forward, -1, image, &spare, stream, why);
		if (rc != 0)
			return rc;
		put_back<<<blocks, THREADS, 0, stream>>>(*image, samples, p->grid);
		rc = BS_CUDA_RC(cudaGetLastError(), why);
		if (rc == 0)
			rc = transform(p, p->back, 1, image, &spare, stream, why);
	}
	return rc;
}

int bs_pocs_cuda_run(struct bs_pocs_cuda *p, const struct bs_pocs_span spans[3], float *in,
		     float *spare, float *out, struct CUstream_st *stream, struct bs_fail *why)
{
	const uint32_t *E = p->s.size;
	const uint32_t *N = p->s.matrix;
	const uint64_t values = (uint64_t)N[0] * N[1] * N[2] * p->s.images;
	float2 *image = (float2 *)in;
	int rc = 0;

	if (bs_pocs_is_partial(spans, E)) {
		rc = take_spans(p, spans, stream, why);
		if (rc == 0)
			rc = project(p, &image, (float2 *)spare, stream, why);
	}
	if (rc != 0)
		return rc;
	crop<<<over(values), THREADS, 0, stream>>>(
		(float2 *)out, image, make_uint3(E[0], E[1], E[2]), make_uint3(N[0], N[1], N[2]),
		make_uint3(E[0] / 2 - N[0] / 2, E[1] / 2 - N[1] / 2, E[2] / 2 - N[2] / 2), values);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static uint64_t values_of(const struct bs_pocs_spec *s)
{
	return (uint64_t)s->size[0] * s->size[1] * s->size[2] * s->images;
}

int bs_pocs_cuda_need(const struct bs_pocs_spec *s, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_need host;
	int rc;

	memset(&host, 0, sizeof(host));
	rc = bs_pocs_need(s, &host, why); /* the same sizes are legal as on the host */
	if (rc != 0)
		return rc;
	*bytes = 2 * bs_devmem_round(values_of(s) * sizeof(float2));
	for (int a = 0; a < 3; a++)
		*bytes +=
			bs_line_bytes(s->size[a]) + 2 * bs_devmem_round(s->size[a] * sizeof(float));
	return 0;
}

static int plan_axis(struct bs_pocs_cuda *p, int a, struct bs_devmem *mem, struct bs_fail *why)
{
	const uint32_t E = p->s.size[a];
	bs_line_pass *f = &p->forward[a];
	const float *scale = NULL;

	p->grid.axis[a].size = E;
	p->window[a] = (float *)bs_devmem_take(mem, E * sizeof(float));
	if (p->window[a] == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "partial Fourier: tables of axis %d", a);
	f->in_count = f->out_count = E;
	f->inner = 1;
	f->outer = p->s.images;
	for (int b = 0; b < a; b++)
		f->inner *= p->s.size[b];
	for (int b = a + 1; b < 3; b++)
		f->outer *= p->s.size[b];
	int rc = bs_line_make(&f->line, E, mem, why);

	if (rc == 0)
		rc = bs_line_scale(&scale, (float)(1.0 / E), E, mem, why);
	p->back[a] = *f;
	p->back[a].scale_out = scale;
	p->weighed[a] = p->back[a];
	p->weighed[a].scale_in = p->window[a];
	return rc;
}

/* Runs every kernel once, on a value or a line, so that none is loaded later. */
static int try_all(struct bs_pocs_cuda *p, struct bs_fail *why)
{
	const uint3 one = make_uint3(1, 1, 1);
	struct pocs_grid g = p->grid;
	int rc = 0;

	g.values = 1;
	BS_CUDA(cudaMemset(p->samples, 0, (size_t)p->grid.values * sizeof(float2)), why);
	BS_CUDA(cudaMemset(p->phase, 0, (size_t)p->grid.values * sizeof(float2)), why);
	make_window<<<1, THREADS>>>(p->window[0], 1, 1, 0);
	keep_phase<<<1, THREADS>>>(p->phase, 1);
	give_phase<<<1, THREADS>>>(p->samples, p->phase, 1);
	put_back<<<1, THREADS>>>(p->samples, p->phase, g);
	crop<<<1, THREADS>>>(p->phase, p->samples, one, one, make_uint3(0, 0, 0), 1);
	rc = BS_CUDA_RC(cudaGetLastError(), why);
	for (int a = 0; rc == 0 && a < 3; a++) {
		bs_line_pass there = p->forward[a];
		bs_line_pass back = p->back[a];

		there.outer = back.outer = 1;
		rc = bs_line_launch(&there, -1, p->samples, p->phase, NULL, why);
		if (rc == 0)
			rc = bs_line_launch(&back, 1, p->phase, p->samples, NULL, why);
	}
	return rc != 0 ? rc : bs_cuda_copied(why);
}

int bs_pocs_cuda_plan(struct bs_pocs_cuda **plan, const struct bs_pocs_spec *s,
		      struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_pocs_cuda *p = (struct bs_pocs_cuda *)calloc(1, sizeof(*p));
	int rc;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "partial Fourier plan");
	*plan = p;
	p->s = *s;
	p->grid.values = values_of(s);
	p->samples = (float2 *)bs_devmem_take(mem, (size_t)p->grid.values * sizeof(float2));
	p->phase = (float2 *)bs_devmem_take(mem, (size_t)p->grid.values * sizeof(float2));
	rc = p->samples == NULL || p->phase == NULL
		     ? bs_fail(why, BS_ERR_NOMEM, "partial Fourier: images")
		     : bs_lines_cuda_init(why);
	for (int a = 0; rc == 0 && a < 3; a++)
		rc = plan_axis(p, a, mem, why);
	return rc != 0 ? rc : try_all(p, why);
}

void bs_pocs_cuda_close(struct bs_pocs_cuda *p)
{
	free(p);
}
