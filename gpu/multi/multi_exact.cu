/* gpu/multi/multi_exact.cu - exact sums over several GPUs, the voxels split; see multi.h */
#include "gpu/multi/multi.h"

#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "gpu/device/check.h"
#include "gpu/multi/multi_sums.h"

#define GRAIN_3D 16u /* rows of y in a tile of the product: gpu/exact/cuda/tile.h */
#define GRAIN_2D 64u

/* A part's rows of y, and the sum over them. */
struct slab {
	struct bs_split rows; /* in the result's natural order */
	int32_t offset[3];    /* voxels from the image's center to the slab's */
	float *k, *weight;    /* device */
	float2 *data;         /* NULL for Q: ones */
	float2 *image;        /* [coil][z][row][x] */
	float2 *staged;       /* on part 0: the slab, come over */
	struct bs_devmem mem;
	struct bs_exact_cuda *plan;
};

struct bs_multi_exact {
	struct bs_multi_exact_spec spec;
	struct bs_link *link;
	uint32_t box[3]; /* voxels of the sum: the image, or half of Q's offsets */
	struct slab slab[BS_DEVICES_MAX];
	float2 *result; /* on part 0 */
};

static int check_spec(const struct bs_multi_exact_spec *s, struct bs_fail *why)
{
	if (s->dims != 2 && s->dims != 3)
		return bs_fail(why, BS_ERR_SIZE, "several GPUs: %u dimensions", s->dims);
	for (uint32_t a = 0; a < 3; a++)
		if (s->matrix[a] < 1 || s->matrix[a] > (s->sum == BS_EXACT_Q ? 256u : 512u) ||
		    (a >= s->dims && s->matrix[a] != 1))
			return bs_fail(why, BS_ERR_SIZE, "several GPUs: matrix[%u] is %u", a,
				       s->matrix[a]);
	if (s->coils < 1 || s->coils > BS_COILS_MAX || (s->sum == BS_EXACT_Q && s->coils != 1))
		return bs_fail(why, BS_ERR_SIZE, "several GPUs: %u coils", s->coils);
	if (s->samples < 1 || s->samples > UINT64_C(1) << 31)
		return bs_fail(why, BS_ERR_SIZE, "several GPUs: %llu samples",
			       (unsigned long long)s->samples);
	return 0;
}

/* The box that is summed, and where its first voxel lies. */
static void lay_box(const struct bs_multi_exact_spec *s, uint32_t box[3], int origin[3])
{
	for (uint32_t a = 0; a < 3; a++) {
		const int n = (int)s->matrix[a];
		const bool doubled = s->sum == BS_EXACT_Q && a > 0 && a < s->dims;

		box[a] = doubled ? 2 * s->matrix[a] : s->matrix[a];
		origin[a] = s->sum == BS_EXACT_Q ? (doubled ? -n : 0) : -(n / 2);
		if (a >= s->dims)
			origin[a] = 0;
	}
}

uint64_t bs_multi_exact_floats(const struct bs_multi_exact_spec *spec)
{
	uint32_t box[3];
	int origin[3];

	lay_box(spec, box, origin);
	return (uint64_t)2 * box[0] * box[1] * box[2] * spec->coils;
}

static int plan_slab(struct bs_multi_exact *m, struct slab *s, struct bs_fail *why)
{
	struct bs_exact_cuda_spec e;
	uint64_t bytes;
	int err;

	memset(&e, 0, sizeof(e));
	e.sum = BS_EXACT_FHD;
	e.precision = m->spec.precision;
	e.dims = m->spec.dims;
	memcpy(e.matrix, m->box, sizeof(e.matrix));
	e.matrix[1] = (uint32_t)s->rows.count;
	memcpy(e.offset, s->offset, sizeof(e.offset));
	e.coils = m->spec.coils;
	e.states = 1;
	e.samples = m->spec.samples;
	e.chunk = m->spec.chunk;
	e.parts = m->spec.parts;
	err = bs_exact_cuda_need(&e, &bytes, why);
	if (err == 0)
		err = bs_devmem_open(&s->mem, bytes, "several GPUs", why);
	if (err == 0)
		err = bs_exact_cuda_plan(&s->plan, &e, s->k, s->weight, &s->mem, why);
	return err;
}

static int open_slab(struct bs_multi_exact *m, uint32_t i, const int origin[3], const float *k,
		     const float *weight, struct bs_fail *why)
{
	struct slab *s = &m->slab[i];
	const struct bs_multi_exact_spec *p = &m->spec;
	const uint32_t parts = bs_link_parts(m->link);
	const uint64_t grain = bs_split_grain(m->box[1], p->dims == 3 ? GRAIN_3D : GRAIN_2D, parts);
	const size_t row = (size_t)p->coils * m->box[2] * m->box[0] * sizeof(float2);
	int err = bs_link_enter(m->link, i, why);

	s->rows = bs_split_part(m->box[1], grain, parts, i);
	if (err != 0 || s->rows.count == 0)
		return err;
	/* the plan's own center lies count / 2 behind its first voxel */
	for (uint32_t a = 0; a < p->dims; a++) {
		const int first = origin[a] + (a == 1 ? (int)s->rows.first : 0);
		const int count = a == 1 ? (int)s->rows.count : (int)m->box[a];

		s->offset[a] = first + count / 2;
	}
	BS_CUDA(cudaMalloc(&s->k, p->samples * p->dims * sizeof(float)), why);
	BS_CUDA(cudaMemcpy(s->k, k, p->samples * p->dims * sizeof(float), cudaMemcpyHostToDevice),
		why);
	if (weight != NULL) {
		BS_CUDA(cudaMalloc(&s->weight, p->samples * sizeof(float)), why);
		BS_CUDA(cudaMemcpy(s->weight, weight, p->samples * sizeof(float),
				   cudaMemcpyHostToDevice),
			why);
	}
	if (p->sum == BS_EXACT_FHD)
		BS_CUDA(cudaMalloc(&s->data, p->samples * p->coils * sizeof(float2)), why);
	BS_CUDA(cudaMalloc(&s->image, row * s->rows.count), why);
	err = plan_slab(m, s, why);
	if (err != 0)
		return err;
	BS_CUDA(cudaDeviceSynchronize(), why); /* what was copied up is there */
	if (i == 0)
		return 0;
	err = bs_link_enter(m->link, 0, why);
	if (err != 0)
		return err;
	BS_CUDA(cudaMalloc(&s->staged, row * s->rows.count), why);
	return 0;
}

int bs_multi_exact_open(struct bs_multi_exact **out, struct bs_link *link,
			const struct bs_multi_exact_spec *spec, const float *k, const float *weight,
			struct bs_fail *why)
{
	struct bs_multi_exact *m;
	int origin[3];
	int err = check_spec(spec, why);

	*out = NULL;
	if (err != 0)
		return err;
	m = (struct bs_multi_exact *)calloc(1, sizeof(*m));
	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "several GPUs");
	m->spec = *spec;
	m->link = link;
	lay_box(spec, m->box, origin);
	for (uint32_t i = 0; i < bs_link_parts(link) && err == 0; i++)
		err = open_slab(m, i, origin, k, weight, why);
	if (err == 0)
		err = bs_link_enter(link, 0, why);
	if (err == 0 &&
	    cudaMalloc(&m->result, bs_multi_exact_floats(spec) * sizeof(float)) != cudaSuccess)
		err = bs_cuda_fail(why, cudaGetLastError(), "cudaMalloc of the result", __FILE__,
				   __LINE__);
	if (err != 0) {
		bs_multi_exact_close(m);
		return err;
	}
	*out = m;
	return 0;
}

int bs_multi_exact_load(struct bs_multi_exact *m, const float *data, struct bs_fail *why)
{
	const void *from[BS_DEVICES_MAX];
	void *to[BS_DEVICES_MAX];
	size_t bytes[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < bs_link_parts(m->link); i++) {
		from[i] = data;
		to[i] = m->slab[i].data;
		bytes[i] = to[i] != NULL ? (size_t)m->spec.samples * m->spec.coils * sizeof(float2)
					 : 0;
	}
	return bs_link_upload(m->link, from, to, bytes, why);
}

static int queue_sums(struct bs_multi_exact *m, struct bs_fail *why)
{
	struct bs_multi_sum sums[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < bs_link_parts(m->link); i++)
		sums[i] = (struct bs_multi_sum){ m->slab[i].plan, (const float *)m->slab[i].data,
						 (float *)m->slab[i].image };
	return bs_multi_sums(m->link, sums, (size_t)m->spec.samples, why);
}

/* Rows first .. of a slab to row `to` of the result; rows lie together within a plane. */
static int place(struct bs_multi_exact *m, const struct slab *s, const float2 *from, uint64_t first,
		 uint64_t count, uint64_t to, struct bs_fail *why)
{
	const size_t row = (size_t)m->box[0] * sizeof(float2);
	const size_t planes = (size_t)m->spec.coils * m->box[2];

	if (count == 0)
		return 0;
	BS_CUDA(cudaMemcpy2DAsync((char *)m->result + to * row, m->box[1] * row,
				  (const char *)from + first * row, s->rows.count * row,
				  count * row, planes, cudaMemcpyDeviceToDevice,
				  bs_link_stream(m->link, 0)),
		why);
	return 0;
}

/* Q: offset j of y and z lies at j mod 2N; in natural order, from -N on, at j + N. */
static int place_q(struct bs_multi_exact *m, const struct slab *s, const float2 *from,
		   struct bs_fail *why)
{
	const uint64_t half = m->box[1] / 2;
	const uint64_t first = s->rows.first;
	const uint64_t end = first + s->rows.count;
	const uint64_t below = first >= half ? 0 : (end < half ? end : half) - first;
	int err = place(m, s, from, 0, below, first + half, why);

	return err != 0 ? err
			: place(m, s, from, below, s->rows.count - below,
				first + below >= half ? first + below - half : 0, why);
}

/* Planes of z into Q's order, and the entries at N to zero. out: as large as the result. */
static __global__ void reorder_q(float2 *out, const float2 *in, uint32_t x, uint32_t y, uint32_t z)
{
	const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	const uint64_t plane = (uint64_t)x * y;

	if (i >= plane * z)
		return;
	const uint32_t j = (uint32_t)(i / plane);
	const uint32_t row = (uint32_t)(i % plane / x);
	const bool edge = row == y / 2 || (z > 1 && j == z / 2);
	const uint32_t from = z > 1 ? (j + z / 2) % z : 0;

	out[i] = edge ? make_float2(0.0f, 0.0f) : in[from * plane + i % plane];
}

static int collect(struct bs_multi_exact *m, struct bs_fail *why)
{
	const uint32_t parts = bs_link_parts(m->link);
	const void *from[BS_DEVICES_MAX];
	void *to[BS_DEVICES_MAX];
	size_t bytes[BS_DEVICES_MAX];
	const size_t row = (size_t)m->spec.coils * m->box[2] * m->box[0] * sizeof(float2);
	int err;

	for (uint32_t i = 0; i < parts; i++) {
		from[i] = m->slab[i].image;
		to[i] = i == 0 ? m->slab[0].image : m->slab[i].staged;
		bytes[i] = m->slab[i].rows.count * row;
	}
	err = bs_link_gather(m->link, from, to, bytes, why);
	for (uint32_t i = 0; i < parts && err == 0; i++) {
		const struct slab *s = &m->slab[i];

		if (s->rows.count == 0)
			continue;
		err = m->spec.sum == BS_EXACT_Q ? place_q(m, s, (const float2 *)to[i], why)
						: place(m, s, (const float2 *)to[i], 0,
							s->rows.count, s->rows.first, why);
	}
	return err;
}

static int fetch(struct bs_multi_exact *m, float *out, struct bs_fail *why)
{
	const uint64_t values = bs_multi_exact_floats(&m->spec) / 2;
	float2 *ordered = NULL;
	cudaError_t e;

	if (m->spec.sum == BS_EXACT_FHD) {
		BS_CUDA(cudaMemcpy(out, m->result, values * sizeof(float2), cudaMemcpyDeviceToHost),
			why);
		return 0;
	}
	BS_CUDA(cudaMalloc(&ordered, values * sizeof(float2)), why);
	reorder_q<<<(unsigned)((values + 255) / 256), 256>>>(ordered, m->result, m->box[0],
							     m->box[1], m->box[2]);
	e = cudaGetLastError();
	if (e == cudaSuccess)
		e = cudaMemcpy(out, ordered, values * sizeof(float2), cudaMemcpyDeviceToHost);
	(void)cudaFree(ordered);
	BS_CUDA(e, why);
	return 0;
}

int bs_multi_exact_run(struct bs_multi_exact *m, float *out, double *ms, struct bs_fail *why)
{
	const int64_t from = bs_now_ns();
	int err = queue_sums(m, why);

	if (err == 0)
		err = collect(m, why);
	err = bs_link_end(m->link, err, from, ms, why);
	return err == 0 && out != NULL ? fetch(m, out, why) : err;
}

void bs_multi_exact_info(const struct bs_multi_exact *m, uint32_t part,
			 struct bs_exact_cuda_info *info)
{
	memset(info, 0, sizeof(*info));
	if (part < bs_link_parts(m->link) && m->slab[part].plan != NULL)
		bs_exact_cuda_info(m->slab[part].plan, info);
}

void bs_multi_exact_close(struct bs_multi_exact *m)
{
	struct bs_fail why;

	if (m == NULL)
		return;
	for (uint32_t i = 0; i < bs_link_parts(m->link); i++) {
		struct slab *s = &m->slab[i];

		if (bs_link_enter(m->link, i, &why) != 0)
			continue;
		bs_exact_cuda_close(s->plan);
		bs_devmem_close(&s->mem);
		(void)cudaFree(s->k);
		(void)cudaFree(s->weight);
		(void)cudaFree(s->data);
		(void)cudaFree(s->image);
	}
	(void)bs_link_enter(m->link, 0, &why);
	for (uint32_t i = 1; i < bs_link_parts(m->link); i++)
		(void)cudaFree(m->slab[i].staged);
	(void)cudaFree(m->result);
	free(m);
}
