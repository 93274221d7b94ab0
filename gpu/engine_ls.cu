/*
 * gpu/engine_ls.cu - methods "ls" and "sense" on the GPU
 *
 * add copies a readout to pinned memory; each chunk of the exact sum goes up and is summed as soon
 * as its readouts, and the chunks before it, are there: in the order of the chunks, so that the
 * image does not depend on the order of arrival. finish queues what is left (readouts that never
 * came are zeros), the solves, the combination and the copy down, and waits once. On an integrated
 * GPU the sums read the pinned memory itself. F^H d and Q are exact whichever route the protocol
 * allows: here the direct sum is as quick. mu = lambda x voxels, as in gpu/ls.h.
 */
#include "gpu/engines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "gpu/cudacheck.h"
#include "gpu/exact_cuda.h"
#include "gpu/partial_cuda.h"
#include "gpu/pcg_cuda.h"
#include "gpu/stream.h"
#include "gpu/toeplitz_tune.h"

#define THREADS 256

struct frame {
	uint8_t *here;     /* [readout of the sum]: has come */
	uint32_t *missing; /* [chunk]: readouts that have not */
	uint32_t next;     /* chunk to be queued */
	uint32_t group;    /* of a sliding window: the one that its readouts are of */
};

/* Passed by the stream, for the report's stages. */
enum mark { UPLOADING, UPLOADED, SUMMED, SOLVED, COMBINED, DOWNLOADED, MARKS };

struct engine {
	const struct bs_protocol *p;
	const char *cache_dir; /* while it is armed */
	uint32_t dims, coils, channels, frames, chunk, chunks;
	uint64_t samples; /* of one sum: a frame's, or those of a sliding window's group */
	uint32_t readouts;
	struct bs_partial_cuda window;
	size_t voxels;
	bool sense, mapped;
	struct bs_devmem mem;
	struct bs_pinned pinned;
	size_t data_at; /* in pinned: [frame][coil][sample] complex */
	struct bs_exact_cuda *fhd;
	struct bs_toeplitz_cuda *normal;
	struct bs_csr_cuda gram, w, w_adjoint;
	bool has_gram, has_w;
	struct bs_pcg_cuda *pcg;
	struct frame *frame;
	cudaStream_t stream;
	cudaEvent_t mark[MARKS];
	int64_t tail_ns; /* from solved to image: the longest of late, fading; kept free before the deadline */
	float *k, *phi, *maps, *data, *images, *b, *x, *inverse, *out;
};

static __global__ void multiply_maps(float2 *b, const float2 *images, const float2 *maps, int coils,
				     size_t voxels)
{
	const size_t v = (size_t)blockIdx.x * THREADS + threadIdx.x;
	float2 sum = make_float2(0.0f, 0.0f);

	if (v >= voxels)
		return;
	for (int c = 0; c < coils; c++) {
		const float2 s = maps[c * voxels + v];
		const float2 i = images[c * voxels + v];

		sum.x += s.x * i.x + s.y * i.y;
		sum.y += s.x * i.y - s.y * i.x;
	}
	b[v] = sum;
}

/* gpu/combine.h on the device; channels [coil] for none, else one. */
static __global__ void combine(float *out, const float2 *images, const float2 *maps, int coils,
			       size_t voxels, enum bs_combine how, bool magnitude)
{
	const size_t v = (size_t)blockIdx.x * THREADS + threadIdx.x;
	const size_t from = how == BS_COMBINE_NONE ? blockIdx.y * voxels : 0;
	float2 value = make_float2(0.0f, 0.0f);
	float weight = 0.0f;

	if (v >= voxels)
		return;
	for (int c = 0; c < (how == BS_COMBINE_NONE ? 1 : coils); c++) {
		const float2 i = images[from + c * voxels + v];

		if (how == BS_COMBINE_NONE) {
			value = i;
		} else if (how == BS_COMBINE_RSS) {
			value.x += i.x * i.x + i.y * i.y;
		} else {
			const float2 s = maps[c * voxels + v];

			value.x += s.x * i.x + s.y * i.y;
			value.y += s.x * i.y - s.y * i.x;
			weight += s.x * s.x + s.y * s.y;
		}
	}
	if (how == BS_COMBINE_RSS)
		value.x = sqrtf(value.x);
	if (how == BS_COMBINE_SENSE) {
		value.x = weight > 0.0f ? value.x / weight : 0.0f;
		value.y = weight > 0.0f ? value.y / weight : 0.0f;
	}
	if (magnitude)
		out[from + v] = hypotf(value.x, value.y);
	else
		((float2 *)out)[from + v] = value;
}

static bool is_sense(const struct bs_protocol *p)
{
	return p->method == BS_METHOD_SENSE;
}

/* Readouts and samples of one F^H d: of a frame, or of a sliding window's group. */
static uint32_t sum_readouts(const struct bs_protocol *p)
{
	return p->frame_step > 0 ? p->frame_step : p->readouts;
}

static uint64_t sum_samples(const struct bs_protocol *p)
{
	return (uint64_t)sum_readouts(p) * p->samples;
}

static void exact_spec(struct bs_exact_cuda_spec *s, const struct bs_protocol *p,
		       enum bs_exact_sum sum)
{
	memset(s, 0, sizeof(*s));
	s->sum = sum;
	s->dims = p->dims;
	memcpy(s->matrix, p->matrix, sizeof(s->matrix));
	s->coils = sum == BS_EXACT_Q ? 1 : p->coils;
	s->states = sum == BS_EXACT_Q ? 1 : p->slices * p->contrasts;
	s->samples = sum == BS_EXACT_Q ? bs_protocol_samples(p) : sum_samples(p);
}

static void toeplitz_spec(struct bs_toeplitz_spec *t, const struct bs_protocol *p)
{
	memset(t, 0, sizeof(*t));
	t->dims = p->dims;
	memcpy(t->matrix, p->matrix, sizeof(t->matrix));
	t->coils = is_sense(p) ? p->coils : 1;
}

/* Nothing of the host's arena; the device's memory is stated when it is taken, at arm. */
static int ls_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	(void)need;
	if (p->precond == BS_PRECOND_CIRCULANT)
		return bs_fail(
			why, BS_ERR_UNSUPPORTED,
			"protocol '%s': precond circulant is not on the GPU; jacobi and none are",
			p->name);
	if (p->iterations < 1)
		return bs_fail(why, BS_ERR_CONFIG, "protocol '%s': no iterations", p->name);
	return bs_partial_cuda_check(p, why);
}

static void ls_disarm(void *self)
{
	struct engine *e = (struct engine *)self;

	if (e == NULL)
		return;
	if (e->stream != NULL) {
		(void)cudaStreamSynchronize(e->stream);
		(void)cudaStreamDestroy(e->stream);
	}
	for (int i = 0; i < MARKS; i++)
		if (e->mark[i] != NULL)
			(void)cudaEventDestroy(e->mark[i]);
	bs_pcg_cuda_close(e->pcg);
	bs_toeplitz_cuda_close(e->normal);
	bs_exact_cuda_close(e->fhd);
	bs_pinned_close(&e->pinned);
	bs_partial_cuda_close(&e->window);
	bs_devmem_close(&e->mem);
	for (uint32_t f = 0; e->frame != NULL && f < e->frames; f++) {
		free(e->frame[f].here);
		free(e->frame[f].missing);
	}
	free(e->frame);
	free(e);
}

static int upload(float **to, struct engine *e, const float *from, size_t floats,
		  struct bs_fail *why)
{
	*to = (float *)bs_devmem_take(&e->mem, floats * sizeof(float));
	if (*to == NULL)
		return bs_fail(why, BS_ERR_NOMEM,
			       "protocol '%s': %zu bytes do not fit the device arena", e->p->name,
			       floats * sizeof(float));
	if (from != NULL)
		BS_CUDA(cudaMemcpy(*to, from, floats * sizeof(float), cudaMemcpyHostToDevice), why);
	return 0;
}

/* sinc(kx) sinc(ky) sinc(kz), or its square, of each sample. */
static float *box_weights(const struct bs_traj *t, uint64_t samples, int power)
{
	float *w = (float *)malloc((size_t)samples * sizeof(float));

	for (uint64_t m = 0; w != NULL && m < samples; m++) {
		double phi = 1.0;

		for (uint32_t a = 0; a < t->dims; a++) {
			const double x = 3.14159265358979323846 * (double)t->k[m * t->dims + a];

			phi *= x != 0.0 ? sin(x) / x : 1.0;
		}
		w[m] = (float)(power == 2 ? phi * phi : phi);
	}
	return w;
}

/* Measured once and kept; without a cache, or when it fails, the operator's own choice stays. */
static void choose_launches(struct bs_toeplitz_cuda *normal, const struct bs_toeplitz_spec *spec,
			    const char *cache_dir)
{
	struct bs_tuning *t = (struct bs_tuning *)calloc(1, sizeof(*t));
	struct bs_fail why;

	if (t != NULL && cache_dir != NULL && cache_dir[0] != '\0' &&
	    bs_toeplitz_tuned(t, spec, cache_dir, &why) == 0) {
		const struct bs_tune *best = &t->trial[t->best].tune;

		(void)bs_toeplitz_cuda_choose(normal, best->v[BS_TOEPLITZ_MIDDLE],
					      best->v[BS_TOEPLITZ_CLOSE], &why);
	}
	free(t);
}

/* Q by the exact sum in temporary memory, the operator, and the value of Q at 0. */
static int arm_normal(struct engine *e, const struct bs_traj *traj, double *q0, struct bs_fail *why)
{
	struct bs_exact_cuda_spec s;
	struct bs_toeplitz_spec t;
	struct bs_devmem temporary;
	struct bs_exact_cuda *sum = NULL;
	const uint64_t q_bytes = (uint64_t)e->voxels * (e->dims == 3 ? 4 : 2) * sizeof(float2);
	const uint64_t samples = bs_protocol_samples(e->p);
	const bool box = e->p->basis == BS_BASIS_BOX;
	float *weight = NULL;
	float *w = NULL;
	float *q = NULL;
	uint64_t bytes = 0;
	float first = 0.0f;

	memset(&temporary, 0, sizeof(temporary));
	exact_spec(&s, e->p, BS_EXACT_Q);
	toeplitz_spec(&t, e->p);
	int err = bs_exact_cuda_need(&s, &bytes, why);

	if (err == 0)
		err = bs_devmem_open(
			&temporary, bytes + bs_devmem_round(q_bytes) + bs_devmem_round(samples * 4),
			e->p->name, why);
	if (err == 0 && box) {
		weight = box_weights(traj, samples, 2);
		w = (float *)bs_devmem_take(&temporary, samples * 4);
		err = weight == NULL
			      ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': weights", e->p->name)
		      : cudaMemcpy(w, weight, samples * 4, cudaMemcpyHostToDevice) != cudaSuccess
			      ? bs_cuda_fail(why, cudaGetLastError(), "cudaMemcpy", __FILE__,
					     __LINE__)
			      : 0;
	}
	if (err == 0)
		err = bs_exact_cuda_plan(&sum, &s, e->k, w, &temporary, why);
	if (err == 0) {
		q = (float *)bs_devmem_take(&temporary, q_bytes);
		err = bs_exact_cuda_sum(sum, 0, NULL, 0, q, NULL, why);
	}
	if (err == 0 && cudaMemcpy(&first, q, sizeof(first), cudaMemcpyDeviceToHost) != cudaSuccess)
		err = bs_cuda_fail(why, cudaGetLastError(), "cudaMemcpy of Q", __FILE__, __LINE__);
	if (err == 0)
		err = bs_toeplitz_cuda_plan(&e->normal, &t, q, &e->mem, why);
	if (err == 0)
		choose_launches(e->normal, &t, e->cache_dir);
	*q0 = first;
	bs_exact_cuda_close(sum);
	bs_devmem_close(&temporary);
	free(weight);
	return err;
}

/* W^H W where it is not much larger than W, else W and its adjoint; bytes, or the upload itself. */
static int constraint(struct engine *e, const struct bs_csr *w, struct bs_csr *gram,
		      uint64_t *bytes, struct bs_fail *why)
{
	struct bs_fail quiet;

	if (w == NULL)
		return 0;
	if (w->cols != e->voxels)
		return bs_fail(why, BS_ERR_SIZE,
			       "protocol '%s': W has %llu columns, the image %zu voxels",
			       e->p->name, (unsigned long long)w->cols, e->voxels);
	e->has_w = true;
	e->has_gram = bs_csr_gram(gram, w, 4 * w->entries, &quiet) == 0;
	*bytes += e->has_gram
			  ? bs_csr_cuda_need(gram, BS_CSR_PLAIN)
			  : bs_csr_cuda_need(w, BS_CSR_PLAIN) + bs_csr_cuda_need(w, BS_CSR_ADJOINT);
	return 0;
}

static int arm_constraint(struct engine *e, const struct bs_csr *w, const struct bs_csr *gram,
			  struct bs_fail *why)
{
	int err;

	if (!e->has_w)
		return 0;
	if (e->has_gram)
		return bs_csr_cuda_plan(&e->gram, gram, BS_CSR_PLAIN, &e->mem, why);
	err = bs_csr_cuda_plan(&e->w, w, BS_CSR_PLAIN, &e->mem, why);
	return err != 0 ? err : bs_csr_cuda_plan(&e->w_adjoint, w, BS_CSR_ADJOINT, &e->mem, why);
}

/* Jacobi: 1 / (Q(0) sum_c |S_c|^2 + mu diag W^H W). */
static int arm_jacobi(struct engine *e, const struct bs_tables *tables, double q0, double mu,
		      struct bs_fail *why)
{
	float *d = (float *)malloc(e->voxels * sizeof(float));
	int err;

	if (d == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': preconditioner", e->p->name);
	for (size_t v = 0; v < e->voxels; v++)
		d[v] = 1.0f;
	if (tables->w != NULL)
		bs_csr_gram_diagonal(tables->w, d);
	for (size_t v = 0; v < e->voxels; v++) {
		double s = e->sense ? 0.0 : 1.0;

		for (uint32_t c = 0; e->sense && c < e->coils; c++) {
			const float *m = tables->maps + 2 * ((size_t)c * e->voxels + v);

			s += (double)m[0] * m[0] + (double)m[1] * m[1];
		}
		const double diagonal = q0 * s + mu * d[v];

		d[v] = diagonal > 0.0 ? (float)(1.0 / diagonal) : 1.0f;
	}
	err = upload(&e->inverse, e, d, e->voxels, why);
	free(d);
	return err;
}

static uint64_t vectors_bytes(const struct engine *e, const struct bs_protocol *p, bool maps)
{
	const uint64_t image = bs_devmem_round((uint64_t)e->voxels * sizeof(float2));
	const uint64_t coils = bs_devmem_round((uint64_t)e->voxels * sizeof(float2) * e->coils);

	return bs_devmem_round(bs_protocol_samples(p) * e->dims * 4) +
	       bs_devmem_round(bs_protocol_samples(p) * 4) + bs_partial_cuda_bytes(p) +
	       bs_devmem_round(e->samples * 8 * e->coils * e->frames) + coils + (maps ? coils : 0) +
	       2 * image + bs_devmem_round((uint64_t)e->voxels * 4) +
	       bs_devmem_round(bs_protocol_image_bytes(p));
}

static int arm_vectors(struct engine *e, const struct bs_tables *tables, struct bs_fail *why)
{
	const size_t samples = (size_t)bs_protocol_samples(e->p);
	const size_t image = e->voxels * 2;
	float *phi = NULL;
	int err = upload(&e->k, e, tables->traj->k, samples * e->dims, why);

	if (err == 0 && e->p->basis == BS_BASIS_BOX) {
		phi = box_weights(tables->traj, samples, 1);
		err = phi == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': weights", e->p->name)
				  : upload(&e->phi, e, phi, samples, why);
		free(phi);
	}
	if (err == 0)
		err = upload(&e->data, e, NULL, e->samples * 2 * e->coils * e->frames, why);
	if (err == 0)
		err = bs_partial_cuda_open(&e->window, e->p, &e->mem, why);
	if (err == 0)
		err = upload(&e->images, e, NULL, image * e->coils, why);
	if (err == 0 && tables->maps != NULL)
		err = upload(&e->maps, e, tables->maps, image * e->coils, why);
	if (err == 0)
		err = upload(&e->b, e, NULL, image, why);
	if (err == 0)
		err = upload(&e->x, e, NULL, image, why);
	if (err == 0)
		err = upload(&e->out, e, NULL, (size_t)(bs_protocol_image_bytes(e->p) / 4), why);
	return err;
}

static int arm_frames(struct engine *e, struct bs_fail *why)
{
	struct bs_exact_cuda_info info;
	const uint64_t bytes = (uint64_t)e->frames * e->coils * e->samples * 8;
	int err = bs_pinned_open(&e->pinned, bytes + BS_DEV_ALIGN, why);

	if (err != 0)
		return err;
	bs_exact_cuda_info(e->fhd, &info);
	e->chunk = info.chunk;
	e->chunks = info.chunks;
	e->data_at = bs_pinned_take(&e->pinned, (size_t)bytes);
	e->frame = (struct frame *)calloc(e->frames, sizeof(struct frame));
	for (uint32_t f = 0; e->frame != NULL && f < e->frames; f++) {
		e->frame[f].here = (uint8_t *)calloc(e->readouts, 1);
		e->frame[f].missing = (uint32_t *)calloc(e->chunks, sizeof(uint32_t));
		if (e->frame[f].here == NULL || e->frame[f].missing == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frames", e->p->name);
	}
	if (e->frame == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frames", e->p->name);
	for (int i = 0; i < MARKS; i++)
		BS_CUDA(cudaEventCreate(&e->mark[i]), why);
	return bs_stream_open(&e->stream, why);
}

static int arm_solver(struct engine *e, const struct bs_tables *tables, const struct bs_csr *gram,
		      struct bs_pcg_cuda_spec *cg, struct bs_fail *why)
{
	const double mu = e->p->lambda * (double)e->voxels;
	struct bs_pcg_cuda_system system;
	double q0 = 0.0;
	int err = arm_normal(e, tables->traj, &q0, why);

	if (err == 0)
		err = arm_constraint(e, tables->w, gram, why);
	if (err == 0 && e->p->precond == BS_PRECOND_JACOBI)
		err = arm_jacobi(e, tables, q0, mu, why);
	memset(&system, 0, sizeof(system));
	system.normal = e->normal;
	system.coils = e->sense ? e->coils : 1;
	system.maps = e->sense ? e->maps : NULL;
	system.lambda = mu;
	system.gram = e->has_gram ? &e->gram : NULL;
	system.c = e->has_w && !e->has_gram ? &e->w : NULL;
	system.adjoint = e->has_w && !e->has_gram ? &e->w_adjoint : NULL;
	system.inverse = e->inverse;
	system.b = e->b;
	system.x = e->x;
	if (err == 0)
		err = bs_pcg_cuda_plan(&e->pcg, cg, &system, &e->mem, why);
	return err;
}

/* The device memory of everything, then everything. */
static int arm_all(struct engine *e, const struct bs_tables *tables, struct bs_csr *gram,
		   struct bs_fail *why)
{
	struct bs_exact_cuda_spec s;
	struct bs_toeplitz_spec t;
	struct bs_pcg_cuda_spec cg;
	uint64_t part[3];
	uint64_t bytes = vectors_bytes(e, e->p, tables->maps != NULL) + 32 * BS_DEV_ALIGN;
	int err;

	exact_spec(&s, e->p, BS_EXACT_FHD);
	toeplitz_spec(&t, e->p);
	memset(&cg, 0, sizeof(cg));
	cg.voxels = e->voxels;
	cg.iterations = e->p->iterations;
	cg.tolerance = e->p->tolerance;
	err = constraint(e, tables->w, gram, &bytes, why);
	if (err == 0)
		err = bs_exact_cuda_need(&s, &part[0], why);
	if (err == 0)
		err = bs_toeplitz_cuda_need(&t, &part[1], why);
	cg.rows = e->has_w && !e->has_gram ? tables->w->rows : 0;
	if (err == 0)
		err = bs_pcg_cuda_need(&cg, &part[2], why);
	if (err == 0)
		err = bs_devmem_open(&e->mem, bytes + part[0] + part[1] + part[2], e->p->name, why);
	if (err == 0)
		err = arm_vectors(e, tables, why);
	if (err == 0)
		err = bs_exact_cuda_plan(&e->fhd, &s, e->k, e->phi, &e->mem, why);
	if (err == 0)
		err = arm_frames(e, why);
	return err != 0 ? err : arm_solver(e, tables, gram, &cg, why);
}

/* A sum of no groups: its kernel is loaded now, not when the first image is due. */
static int warm_window(struct engine *e, struct bs_fail *why)
{
	uint8_t none[BS_PARTIAL_GROUPS_MAX];
	int err;

	if (e->window.groups == 0)
		return 0;
	memset(none, 0, sizeof(none));
	err = bs_partial_cuda_sum(&e->window, 0, none, e->images, e->stream, why);
	if (err == 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), why);
	return err;
}

static int ls_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		  const struct bs_arm_env *env, struct bs_fail *why)
{
	struct engine *e = (struct engine *)calloc(1, sizeof(*e));
	struct bs_gpu_info gpu;
	struct bs_csr gram;
	int err;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->cache_dir = env->cache_dir;
	memset(&gram, 0, sizeof(gram));
	e->p = p;
	e->dims = p->dims;
	e->coils = p->coils;
	e->channels = bs_protocol_channels(p);
	e->frames = p->slices * p->contrasts;
	e->samples = sum_samples(p);
	e->readouts = sum_readouts(p);
	e->voxels = (size_t)bs_protocol_voxels(p);
	e->sense = is_sense(p);
	err = bs_gpu_probe(&gpu, why);
	if (err == 0 && tables->maps == NULL && (e->sense || p->combine == BS_COMBINE_SENSE))
		err = bs_fail(why, BS_ERR_CONFIG, "protocol '%s': no sensitivity maps", p->name);
	if (err == 0) {
		e->mapped = gpu.integrated;
		err = arm_all(e, tables, &gram, why);
	}
	if (err == 0)
		err = warm_window(e, why);
	bs_csr_close(&gram);
	if (err != 0) {
		ls_disarm(e);
		return err;
	}
	e->mem.sealed = true;
	*self = e;
	return 0;
}

/* First and last chunk that a readout touches. */
static void chunks_of(const struct engine *e, uint32_t readout, uint32_t *first, uint32_t *last)
{
	*first = (uint32_t)((uint64_t)readout * e->p->samples / e->chunk);
	*last = (uint32_t)(((uint64_t)(readout + 1) * e->p->samples - 1) / e->chunk);
}

static float *frame_data(struct engine *e, uint32_t frame)
{
	return (float *)(e->pinned.host + e->data_at) + (size_t)frame * e->coils * e->samples * 2;
}

static int ls_begin(void *self, uint32_t frame)
{
	struct engine *e = (struct engine *)self;
	struct frame *f = &e->frame[frame];
	uint32_t first;
	uint32_t last;

	/* a group that was folded may still be on its way out of pinned memory */
	if (e->window.groups > 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
	memset(f->here, 0, e->readouts);
	memset(f->missing, 0, e->chunks * sizeof(uint32_t));
	f->next = 0;
	for (uint32_t r = 0; r < e->readouts; r++) {
		chunks_of(e, r, &first, &last);
		for (uint32_t c = first; c <= last; c++)
			f->missing[c]++;
	}
	bs_exact_cuda_begin(e->fhd, frame);
	return 0;
}

/* Sends up the next chunk and queues its sum. */
static int queue_chunk(struct engine *e, uint32_t frame)
{
	struct frame *f = &e->frame[frame];
	const uint64_t first = (uint64_t)f->next * e->chunk;
	const uint64_t count = first + e->chunk < e->samples ? e->chunk : e->samples - first;
	const size_t pitch = (size_t)e->samples * 8;
	float *device = e->data + (size_t)frame * e->coils * e->samples * 2;
	const float *from = frame_data(e, frame);

	BS_CUDA(cudaEventRecord(e->mark[UPLOADING], e->stream), NULL);
	if (e->mapped)
		device = (float *)(e->pinned.dev + e->data_at) +
			 (size_t)frame * e->coils * e->samples * 2;
	else
		BS_CUDA(cudaMemcpy2DAsync(device + 2 * first, pitch, from + 2 * first, pitch,
					  (size_t)count * 8, e->coils, cudaMemcpyHostToDevice,
					  e->stream),
			NULL);
	BS_CUDA(cudaEventRecord(e->mark[UPLOADED], e->stream), NULL);
	if (e->window.groups > 0) {
		const size_t at = (size_t)f->group * e->samples;

		bs_exact_cuda_move(e->fhd, e->k + at * e->dims,
				   e->phi != NULL ? e->phi + at : NULL);
	}
	return bs_exact_cuda_chunk(e->fhd, frame, f->next++, device, (size_t)e->samples, e->stream,
				   NULL);
}

static int ls_add(void *self, uint32_t frame, uint32_t readout, const float *data,
		  size_t coil_stride)
{
	struct engine *e = (struct engine *)self;
	struct frame *f = &e->frame[frame];
	uint32_t first;
	uint32_t last;

	f->group = readout / e->readouts;
	readout %= e->readouts;
	float *to = frame_data(e, frame) + (size_t)readout * e->p->samples * 2;

	for (uint32_t c = 0; c < e->coils; c++)
		memcpy(to + (size_t)c * e->samples * 2, data + 2 * c * coil_stride,
		       (size_t)e->p->samples * 8);
	f->here[readout] = 1;
	chunks_of(e, readout, &first, &last);
	for (uint32_t c = first; c <= last; c++)
		f->missing[c]--;
	while (f->next < e->chunks && f->missing[f->next] == 0) {
		int err = queue_chunk(e, frame);

		if (err != 0)
			return err;
	}
	return 0;
}

/* Readouts that never came count as zeros. */
static void zero_missing(struct engine *e, uint32_t frame)
{
	for (uint32_t r = 0; r < e->readouts; r++) {
		float *at = frame_data(e, frame) + (size_t)r * e->p->samples * 2;

		for (uint32_t c = 0; !e->frame[frame].here[r] && c < e->coils; c++)
			memset(at + (size_t)c * e->samples * 2, 0, (size_t)e->p->samples * 8);
	}
}

static int solve(struct engine *e, int64_t deadline_ns, struct bs_report *report)
{
	struct bs_pcg_result result;
	const uint32_t most = report->allowed > 0 ? report->allowed : e->p->iterations;
	int err = bs_pcg_cuda_solve(e->pcg, most, deadline_ns, e->stream, &result, NULL);

	if (err != 0)
		return err;
	if (report->iterations == 0 || result.iterations < report->iterations)
		report->iterations = result.iterations;
	report->residual = result.residual > report->residual ? result.residual : report->residual;
	report->deadline_stop |= result.deadline_stop;
	return 0;
}

static unsigned blocks_of(const struct engine *e)
{
	return (unsigned)((e->voxels + THREADS - 1) / THREADS);
}

/* One image from all coils: into images[0]. */
static int solve_sense(struct engine *e, int64_t deadline_ns, struct bs_report *report)
{
	multiply_maps<<<blocks_of(e), THREADS, 0, e->stream>>>(
		(float2 *)e->b, (const float2 *)e->images, (const float2 *)e->maps, (int)e->coils,
		e->voxels);
	BS_CUDA(cudaGetLastError(), NULL);
	int err = solve(e, deadline_ns, report);

	if (err == 0)
		BS_CUDA(cudaMemcpyAsync(e->images, e->x, e->voxels * 8, cudaMemcpyDeviceToDevice,
					e->stream),
			NULL);
	return err;
}

/* An image of each coil, in place; each may use its share of the time that is left. */
static int solve_coils(struct engine *e, int64_t deadline_ns, struct bs_report *report)
{
	for (uint32_t c = 0; c < e->coils; c++) {
		float *image = e->images + 2 * (size_t)c * e->voxels;
		int64_t until = deadline_ns;
		int err;

		if (deadline_ns != INT64_MAX) {
			const int64_t now = bs_now_ns();

			until = now + (deadline_ns - now) / (int64_t)(e->coils - c);
		}
		BS_CUDA(cudaMemcpyAsync(e->b, image, e->voxels * 8, cudaMemcpyDeviceToDevice,
					e->stream),
			NULL);
		err = solve(e, until, report);
		if (err != 0)
			return err;
		BS_CUDA(cudaMemcpyAsync(image, e->x, e->voxels * 8, cudaMemcpyDeviceToDevice,
					e->stream),
			NULL);
	}
	return 0;
}

/* F^H d of what has come: queued. */
static int queue_sum(struct engine *e, uint32_t frame, float *images)
{
	int err = 0;

	zero_missing(e, frame);
	while (err == 0 && e->frame[frame].next < e->chunks)
		err = queue_chunk(e, frame);
	return err != 0 ? err : bs_exact_cuda_finish(e->fhd, frame, images, e->stream, NULL);
}

/* From F^H d in e->images to the image that leaves. */
static int to_image(struct engine *e, int64_t deadline_ns, float *image, struct bs_report *report)
{
	const enum bs_combine how = e->sense ? BS_COMBINE_NONE : e->p->combine;
	int64_t solved_ns;
	int err;

	report->iterations = 0;
	report->residual = 0.0;
	report->deadline_stop = false;
	if (deadline_ns != INT64_MAX)
		deadline_ns -= e->tail_ns;
	BS_CUDA(cudaEventRecord(e->mark[SUMMED], e->stream), NULL);
	err = e->sense ? solve_sense(e, deadline_ns, report) : solve_coils(e, deadline_ns, report);
	if (err != 0)
		return err;
	solved_ns = bs_now_ns();
	BS_CUDA(cudaEventRecord(e->mark[SOLVED], e->stream), NULL);
	combine<<<dim3(blocks_of(e), e->channels), THREADS, 0, e->stream>>>(
		e->out, (const float2 *)e->images, (const float2 *)e->maps, (int)e->coils,
		e->voxels, how, e->p->output == BS_OUTPUT_MAGNITUDE);
	BS_CUDA(cudaGetLastError(), NULL);
	BS_CUDA(cudaEventRecord(e->mark[COMBINED], e->stream), NULL);
	BS_CUDA(cudaMemcpyAsync(image, e->out, (size_t)bs_protocol_image_bytes(e->p),
				cudaMemcpyDeviceToHost, e->stream),
		NULL);
	BS_CUDA(cudaEventRecord(e->mark[DOWNLOADED], e->stream), NULL);
	BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
	solved_ns = bs_now_ns() - solved_ns;
	e->tail_ns -= e->tail_ns / 16;
	e->tail_ns = solved_ns > e->tail_ns ? solved_ns : e->tail_ns;
	for (int i = 0; i < 5; i++) /* upload .. download lie in the order of the marks */
		report->stage_ns[BS_BUDGET_UPLOAD + i] =
			bs_cuda_between_ns(e->mark[UPLOADING + i], e->mark[UPLOADING + i + 1]);
	return 0;
}

static int ls_finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
		     struct bs_report *report)
{
	struct engine *e = (struct engine *)self;
	int err = queue_sum(e, frame, e->images);

	return err != 0 ? err : to_image(e, deadline_ns, image, report);
}

/* Queued, not waited for: begin and slide wait. */
static int ls_fold(void *self, uint32_t frame, uint32_t group)
{
	struct engine *e = (struct engine *)self;

	return queue_sum(e, frame, bs_partial_cuda_write(&e->window, frame, group));
}

static int ls_slide(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		    float *image, struct bs_report *report)
{
	struct engine *e = (struct engine *)self;
	int err = bs_partial_cuda_sum(&e->window, frame, held, e->images, e->stream, NULL);

	return err != 0 ? err : to_image(e, deadline_ns, image, report);
}

const struct bs_engine bs_engine_ls_cuda = {
	"ls/cuda",
	ls_need,
	ls_arm,
	ls_begin,
	ls_add,
	ls_finish,
	ls_disarm,
	ls_fold,
	ls_slide,
	NULL,
	&bs_engine_gridding_cuda,
};

const struct bs_engine bs_engine_sense_cuda = {
	"sense/cuda",
	ls_need,
	ls_arm,
	ls_begin,
	ls_add,
	ls_finish,
	ls_disarm,
	ls_fold,
	ls_slide,
	NULL,
	&bs_engine_gridding_cuda,
};
