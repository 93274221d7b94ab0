/* gpu/multi_sense.cu - least squares with sensitivities over several GPUs, the coils split; multi.h */
#include "gpu/multi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "gpu/csr_cuda.h"
#include "gpu/cudacheck.h"
#include "gpu/multi_cg.cuh"
#include "gpu/multi_sums.h"
#include "gpu/toeplitz_cuda.h"

/* A part's coils and its copy of the solver. */
struct share {
	struct bs_split coils;
	struct bs_devmem mem; /* the operators' */
	struct bs_exact_cuda *fhd;
	struct bs_toeplitz_cuda *normal;
	struct bs_csr_cuda gram;
	float *k;
	float2 *data, *maps, *images; /* of the own coils */
	float2 *all;                  /* [part][voxel] */
	struct mc_vectors v;
};

struct bs_multi_sense {
	struct bs_multi_sense_spec spec;
	struct bs_link *link;
	uint64_t voxels;
	bool has_gram;
	struct share share[BS_DEVICES_MAX];
};

/* The own coils' share of b. */
static __global__ void __launch_bounds__(MC_THREADS)
	weigh_images(float2 *out, const float2 *images, const float2 *maps, uint64_t voxels,
		     uint32_t coils)
{
	const uint64_t v = (uint64_t)blockIdx.x * MC_THREADS + threadIdx.x;
	float2 sum = make_float2(0.0f, 0.0f);

	if (v >= voxels)
		return;
	for (uint32_t c = 0; c < coils; c++) {
		const float2 s = maps[c * voxels + v];
		const float2 i = images[c * voxels + v];

		sum.x += s.x * i.x + s.y * i.y;
		sum.y += s.x * i.y - s.y * i.x;
	}
	out[v] = sum;
}

static int check_spec(const struct bs_multi_sense_spec *s, const struct bs_csr *gram,
		      uint64_t *voxels, struct bs_fail *why)
{
	*voxels = 1;
	if (s->dims != 2 && s->dims != 3)
		return bs_fail(why, BS_ERR_SIZE, "several GPUs: %u dimensions", s->dims);
	for (uint32_t a = 0; a < 3; a++) {
		if (s->matrix[a] < 1 || s->matrix[a] > 512 || (a >= s->dims && s->matrix[a] != 1))
			return bs_fail(why, BS_ERR_SIZE, "several GPUs: matrix[%u] is %u", a,
				       s->matrix[a]);
		*voxels *= s->matrix[a];
	}
	if (s->coils < 1 || s->coils > BS_COILS_MAX || s->samples < 1 ||
	    s->samples > UINT64_C(1) << 31 || s->iterations < 1 || s->iterations > 10000)
		return bs_fail(why, BS_ERR_SIZE,
			       "several GPUs: %u coils, %llu samples, %u iterations", s->coils,
			       (unsigned long long)s->samples, s->iterations);
	if (gram != NULL && (gram->rows != *voxels || gram->cols != *voxels))
		return bs_fail(why, BS_ERR_SIZE, "several GPUs: W^H W is %llu x %llu",
			       (unsigned long long)gram->rows, (unsigned long long)gram->cols);
	return 0;
}

static void exact_spec(const struct bs_multi_sense *m, enum bs_exact_sum sum, uint32_t coils,
		       struct bs_exact_cuda_spec *s)
{
	memset(s, 0, sizeof(*s));
	s->sum = sum;
	s->dims = m->spec.dims;
	memcpy(s->matrix, m->spec.matrix, sizeof(s->matrix));
	s->coils = coils;
	s->states = 1;
	s->samples = m->spec.samples;
}

/* Q into memory of its own, from it the operator's spectrum. */
static int plan_normal(struct bs_multi_sense *m, struct share *s, const struct bs_toeplitz_spec *t,
		       struct bs_fail *why)
{
	const size_t q_bytes = (size_t)m->voxels * (m->spec.dims == 3 ? 4 : 2) * sizeof(float2);
	struct bs_exact_cuda_spec e;
	struct bs_exact_cuda *sum = NULL;
	struct bs_devmem temporary;
	uint64_t bytes;
	float *q = NULL;
	int err;

	memset(&temporary, 0, sizeof(temporary));
	exact_spec(m, BS_EXACT_Q, 1, &e);
	err = bs_exact_cuda_need(&e, &bytes, why);
	if (err == 0)
		err = bs_devmem_open(&temporary, bytes + bs_devmem_round(q_bytes), "several GPUs",
				     why);
	if (err == 0)
		err = bs_exact_cuda_plan(&sum, &e, s->k, NULL, &temporary, why);
	if (err == 0) {
		q = (float *)bs_devmem_take(&temporary, q_bytes);
		err = q != NULL ? bs_exact_cuda_sum(sum, 0, NULL, 0, q, NULL, why)
				: bs_fail(why, BS_ERR_NOMEM, "several GPUs: Q");
	}
	if (err == 0 && cudaDeviceSynchronize() != cudaSuccess)
		err = bs_cuda_fail(why, cudaGetLastError(), "Q", __FILE__, __LINE__);
	if (err == 0)
		err = bs_toeplitz_cuda_plan(&s->normal, t, q, &s->mem, why);
	bs_exact_cuda_close(sum);
	bs_devmem_close(&temporary);
	return err;
}

static int plan_operators(struct bs_multi_sense *m, struct share *s, const struct bs_csr *gram,
			  struct bs_fail *why)
{
	struct bs_exact_cuda_spec e;
	struct bs_toeplitz_spec t;
	const bool busy = s->coils.count > 0;
	uint64_t bytes[3] = { 0, 0, 0 };
	int err = 0;

	exact_spec(m, BS_EXACT_FHD, busy ? (uint32_t)s->coils.count : 1, &e);
	memset(&t, 0, sizeof(t));
	t.dims = m->spec.dims;
	memcpy(t.matrix, m->spec.matrix, sizeof(t.matrix));
	t.coils = e.coils;
	if (busy)
		err = bs_exact_cuda_need(&e, &bytes[0], why);
	if (busy && err == 0)
		err = bs_toeplitz_cuda_need(&t, &bytes[1], why);
	if (gram != NULL)
		bytes[2] = bs_csr_cuda_need(gram, BS_CSR_PLAIN);
	if (err == 0)
		err = bs_devmem_open(&s->mem, bytes[0] + bytes[1] + bytes[2] + 32 * BS_DEV_ALIGN,
				     "several GPUs", why);
	if (err == 0 && busy)
		err = bs_exact_cuda_plan(&s->fhd, &e, s->k, NULL, &s->mem, why);
	if (err == 0 && busy)
		err = plan_normal(m, s, &t, why);
	if (err == 0 && gram != NULL)
		err = bs_csr_cuda_plan(&s->gram, gram, BS_CSR_PLAIN, &s->mem, why);
	return err;
}

static int take_vectors(struct bs_multi_sense *m, struct share *s, struct bs_fail *why)
{
	const size_t image = (size_t)m->voxels * sizeof(float2);
	const uint32_t parts = bs_link_parts(m->link);
	const size_t blocks = (size_t)(m->voxels + MC_BLOCK - 1) / MC_BLOCK;

	BS_CUDA(cudaMalloc(&s->all, parts * image), why);
	BS_CUDA(cudaMalloc(&s->v.x, image), why);
	BS_CUDA(cudaMalloc(&s->v.r, image), why);
	BS_CUDA(cudaMalloc(&s->v.p, image), why);
	BS_CUDA(cudaMalloc(&s->v.q, image), why);
	BS_CUDA(cudaMalloc(&s->v.partial, blocks * sizeof(double)), why);
	BS_CUDA(cudaMalloc(&s->v.state, sizeof(*s->v.state)), why);
	BS_CUDA(cudaMemset(s->all, 0, parts * image), why);
	s->v.all = s->all;
	s->v.voxels = m->voxels;
	s->v.parts = parts;
	s->v.lambda = m->has_gram ? 0.0f : (float)m->spec.lambda;
	return 0;
}

static int open_share(struct bs_multi_sense *m, uint32_t i, const float *k, const float *maps,
		      const struct bs_csr *gram, struct bs_fail *why)
{
	struct share *s = &m->share[i];
	const size_t image = (size_t)m->voxels * sizeof(float2);
	const size_t points = (size_t)m->spec.samples;
	int err = bs_link_enter(m->link, i, why);

	s->coils = bs_split_part(m->spec.coils, 1, bs_link_parts(m->link), i);
	if (err == 0)
		err = take_vectors(m, s, why);
	if (err != 0)
		return err;
	if (s->coils.count > 0) {
		BS_CUDA(cudaMalloc(&s->k, points * m->spec.dims * sizeof(float)), why);
		BS_CUDA(cudaMemcpy(s->k, k, points * m->spec.dims * sizeof(float),
				   cudaMemcpyHostToDevice),
			why);
		BS_CUDA(cudaMalloc(&s->data, s->coils.count * points * sizeof(float2)), why);
		BS_CUDA(cudaMalloc(&s->images, s->coils.count * image), why);
		BS_CUDA(cudaMalloc(&s->maps, s->coils.count * image), why);
		BS_CUDA(cudaMemcpy(s->maps, maps + 2 * s->coils.first * m->voxels,
				   s->coils.count * image, cudaMemcpyHostToDevice),
			why);
	}
	err = plan_operators(m, s, gram, why);
	if (err != 0)
		return err;
	BS_CUDA(cudaDeviceSynchronize(), why);
	return 0;
}

int bs_multi_sense_open(struct bs_multi_sense **out, struct bs_link *link,
			const struct bs_multi_sense_spec *spec, const float *k, const float *maps,
			const struct bs_csr *gram, struct bs_fail *why)
{
	struct bs_multi_sense *m;
	uint64_t voxels;
	int err = check_spec(spec, gram, &voxels, why);

	*out = NULL;
	if (err != 0)
		return err;
	m = (struct bs_multi_sense *)calloc(1, sizeof(*m));
	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "several GPUs");
	m->spec = *spec;
	m->link = link;
	m->voxels = voxels;
	m->has_gram = gram != NULL;
	for (uint32_t i = 0; i < bs_link_parts(link) && err == 0; i++)
		err = open_share(m, i, k, maps, gram, why);
	if (err == 0)
		err = bs_link_enter(link, 0, why);
	if (err != 0) {
		bs_multi_sense_close(m);
		return err;
	}
	*out = m;
	return 0;
}

int bs_multi_sense_load(struct bs_multi_sense *m, const float *data, struct bs_fail *why)
{
	const uint64_t points = m->spec.samples;
	const void *from[BS_DEVICES_MAX];
	void *to[BS_DEVICES_MAX];
	size_t bytes[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < bs_link_parts(m->link); i++) {
		const struct share *s = &m->share[i];

		from[i] = data + 2 * s->coils.first * points;
		to[i] = s->data;
		bytes[i] = s->coils.count * points * sizeof(float2);
	}
	return bs_link_upload(m->link, from, to, bytes, why);
}

/* Where a part's own share lies among all. */
static float2 *own(const struct bs_multi_sense *m, uint32_t i)
{
	return m->share[i].all + i * m->voxels;
}

static int allgather(struct bs_multi_sense *m, struct bs_fail *why)
{
	void *all[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < bs_link_parts(m->link); i++)
		all[i] = m->share[i].all;
	return bs_link_allgather(m->link, all, (size_t)m->voxels * sizeof(float2), why);
}

static int queue_fhd(struct bs_multi_sense *m, struct bs_fail *why)
{
	const uint32_t parts = bs_link_parts(m->link);
	struct bs_multi_sum sums[BS_DEVICES_MAX];
	int err;

	for (uint32_t i = 0; i < parts; i++)
		sums[i] = (struct bs_multi_sum){ m->share[i].fhd, (const float *)m->share[i].data,
						 (float *)m->share[i].images };
	err = bs_multi_sums(m->link, sums, (size_t)m->spec.samples, why);
	for (uint32_t i = 0; i < parts && err == 0; i++) {
		struct share *s = &m->share[i];
		cudaStream_t stream = bs_link_stream(m->link, i);

		if (s->fhd == NULL)
			continue;
		err = bs_link_enter(m->link, i, why);
		if (err != 0)
			return err;
		weigh_images<<<(unsigned)((m->voxels + MC_THREADS - 1) / MC_THREADS), MC_THREADS, 0,
			       stream>>>(own(m, i), s->images, s->maps, m->voxels,
					 (uint32_t)s->coils.count);
		BS_CUDA(cudaGetLastError(), why);
	}
	/* the iterations leave their shares where a part without coils must have zeros */
	for (uint32_t i = 0; i < parts && err == 0; i++)
		if (m->share[i].fhd == NULL) {
			err = bs_link_enter(m->link, i, why);
			if (err == 0)
				BS_CUDA(cudaMemsetAsync(own(m, i), 0,
							(size_t)m->voxels * sizeof(float2),
							bs_link_stream(m->link, i)),
					why);
		}
	return err != 0 ? err : allgather(m, why);
}

static unsigned cg_blocks(const struct bs_multi_sense *m)
{
	return (unsigned)((m->voxels + MC_BLOCK - 1) / MC_BLOCK);
}

static int queue_begin(struct bs_multi_sense *m, struct bs_fail *why)
{
	for (uint32_t i = 0; i < bs_link_parts(m->link); i++) {
		cudaStream_t stream = bs_link_stream(m->link, i);
		const struct mc_vectors *v = &m->share[i].v;
		int err = bs_link_enter(m->link, i, why);

		if (err != 0)
			return err;
		mc_begin<<<cg_blocks(m), MC_THREADS, 0, stream>>>(*v);
		mc_scalars<<<1, MC_THREADS, 0, stream>>>(*v, cg_blocks(m), MC_BEGIN);
		BS_CUDA(cudaGetLastError(), why);
	}
	return 0;
}

/* What follows the exchange, the same on every part. */
static int queue_vectors(struct bs_multi_sense *m, uint32_t i, struct bs_fail *why)
{
	cudaStream_t stream = bs_link_stream(m->link, i);
	const struct mc_vectors *v = &m->share[i].v;
	const unsigned blocks = cg_blocks(m);
	int err = bs_link_enter(m->link, i, why);

	if (err != 0)
		return err;
	mc_combine<<<blocks, MC_THREADS, 0, stream>>>(*v);
	BS_CUDA(cudaGetLastError(), why);
	if (m->has_gram)
		err = bs_csr_cuda_product(&m->share[i].gram, (float)m->spec.lambda,
					  (const float *)v->p, (float *)v->q, true, stream, why);
	if (err != 0)
		return err;
	mc_dot<<<blocks, MC_THREADS, 0, stream>>>(*v);
	mc_scalars<<<1, MC_THREADS, 0, stream>>>(*v, blocks, MC_ALPHA);
	mc_update<<<blocks, MC_THREADS, 0, stream>>>(*v);
	mc_scalars<<<1, MC_THREADS, 0, stream>>>(*v, blocks, MC_BETA);
	mc_direction<<<blocks, MC_THREADS, 0, stream>>>(*v);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

static int queue_iteration(struct bs_multi_sense *m, struct bs_fail *why)
{
	int err = 0;

	for (uint32_t i = 0; i < bs_link_parts(m->link) && err == 0; i++) {
		struct share *s = &m->share[i];

		if (s->normal == NULL)
			continue;
		err = bs_link_enter(m->link, i, why);
		if (err == 0)
			err = bs_toeplitz_cuda_sense(s->normal, (uint32_t)s->coils.count,
						     (const float *)s->maps, (const float *)s->v.p,
						     (float *)own(m, i), bs_link_stream(m->link, i),
						     why);
	}
	if (err == 0)
		err = allgather(m, why);
	for (uint32_t i = 0; i < bs_link_parts(m->link) && err == 0; i++)
		err = queue_vectors(m, i, why);
	return err;
}

int bs_multi_sense_run(struct bs_multi_sense *m, float *out, double *ms, double *residual,
		       struct bs_fail *why)
{
	const int64_t from = bs_now_ns();
	struct mc_state state;
	int err = queue_fhd(m, why);

	if (err == 0)
		err = queue_begin(m, why);
	for (uint32_t n = 0; n < m->spec.iterations && err == 0; n++)
		err = queue_iteration(m, why);
	err = bs_link_end(m->link, err, from, ms, why);
	if (err != 0)
		return err;
	BS_CUDA(cudaMemcpy(&state, m->share[0].v.state, sizeof(state), cudaMemcpyDeviceToHost),
		why);
	*residual = state.bb > 0.0 ? sqrt(state.rr / state.bb) : 0.0;
	if (out != NULL)
		BS_CUDA(cudaMemcpy(out, m->share[0].v.x, (size_t)m->voxels * sizeof(float2),
				   cudaMemcpyDeviceToHost),
			why);
	return 0;
}

static void close_share(struct share *s)
{
	bs_exact_cuda_close(s->fhd);
	bs_toeplitz_cuda_close(s->normal);
	bs_devmem_close(&s->mem);
	(void)cudaFree(s->k);
	(void)cudaFree(s->data);
	(void)cudaFree(s->images);
	(void)cudaFree(s->maps);
	(void)cudaFree(s->all);
	(void)cudaFree(s->v.x);
	(void)cudaFree(s->v.r);
	(void)cudaFree(s->v.p);
	(void)cudaFree(s->v.q);
	(void)cudaFree(s->v.partial);
	(void)cudaFree(s->v.state);
}

void bs_multi_sense_close(struct bs_multi_sense *m)
{
	struct bs_fail why;

	if (m == NULL)
		return;
	for (uint32_t i = 0; i < bs_link_parts(m->link); i++)
		if (bs_link_enter(m->link, i, &why) == 0)
			close_share(&m->share[i]);
	(void)bs_link_enter(m->link, 0, &why);
	free(m);
}
