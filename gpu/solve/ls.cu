/* gpu/solve/ls.cu - see ls_cuda.h */
#include "gpu/solve/ls_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "gpu/device/check.h"
#include "gpu/image/coils.cuh"
#include "gpu/solve/cuda/precond.cuh"
#include "gpu/solve/lsq_cuda.h"
#include "gpu/solve/pcg_cuda.h"
#include "gpu/solve/segments_cuda.h"
#include "gpu/toeplitz/toeplitz_cuda.h"

#define THREADS 256

struct bs_ls_cuda {
	const struct bs_protocol *p;
	uint32_t coils; /* coils of the maps: all, or this GPU's; 1 without maps */
	/* number of solves for all coils; number of solves run side by side */
	uint32_t solves, beside;
	size_t voxels;
	bool sense;
	double mu; /* lambda times the number of voxels (gpu/solve/ls.h) */
	const struct bs_csr *w;
	struct bs_csr gram_host;
	bool has_gram;
	struct bs_toeplitz_cuda *normal;
	/* off resonance: used in place of the Toeplitz operator; else NULL */
	struct bs_segments_cuda *field;
	/* gram: W^H W; or plain and adjoint: W and its adjoint */
	struct bs_csr_cuda gram, plain, adjoint;
	struct bs_precond_cuda precond;
	struct bs_pcg_cuda *pcg;
	const float2 *maps;
	float *b, *x;
	float *addends; /* [part][voxel]; NULL with parts 0 */
	uint32_t parts, part;
	struct bs_pinned pinned; /* [solve]: struct bs_pcg_outcome */
};

/* Sets b = sum_c conj(S_c) F^H d_c, in the order of coils. */
static __global__ void __launch_bounds__(THREADS)
	multiply_maps(float2 *__restrict__ b, const float2 *__restrict__ images,
		      const float2 *__restrict__ maps, uint32_t coils, uint64_t voxels)
{
	const uint64_t v = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (v < voxels)
		b[v] = bs_coils_inner(maps, images, coils, voxels, v);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static struct bs_toeplitz_spec toeplitz_of(const struct bs_ls_cuda *s)
{
	struct bs_toeplitz_spec t;

	memset(&t, 0, sizeof(t));
	t.dims = s->p->dims;
	memcpy(t.matrix, s->p->matrix, sizeof(t.matrix));
	t.coils = s->sense ? s->coils : s->beside;
	return t;
}

static struct bs_pcg_cuda_spec pcg_of(const struct bs_ls_cuda *s)
{
	struct bs_pcg_cuda_spec c;

	memset(&c, 0, sizeof(c));
	c.voxels = s->voxels;
	c.iterations = s->p->iterations;
	c.tolerance = s->p->tolerance;
	c.rows = s->w != NULL && !s->has_gram ? s->w->rows : 0;
	c.circulant = s->p->precond == BS_PRECOND_CIRCULANT;
	c.images = s->beside;
	return c;
}

/* Opens W^H W where it is not much larger than W; else W and its adjoint. */
static int open_constraint(struct bs_ls_cuda *s, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_fail quiet;

	if (s->w == NULL)
		return 0;
	if (s->w->cols != s->voxels)
		return bs_fail(why, BS_ERR_SIZE,
			       "protocol '%s': W has %llu columns, the image %zu voxels",
			       s->p->name, (unsigned long long)s->w->cols, s->voxels);
	s->has_gram = bs_csr_gram(&s->gram_host, s->w, 4 * s->w->entries, &quiet) == 0;
	*bytes += s->has_gram ? bs_csr_cuda_need(&s->gram_host, BS_CSR_PLAIN)
			      : bs_csr_cuda_need(s->w, BS_CSR_PLAIN) +
					bs_csr_cuda_need(s->w, BS_CSR_ADJOINT);
	return 0;
}

/*
 * The most launches, of coils that take no turns. An iteration has the direction, five Toeplitz
 * passes, two for the constraint, the update; a circulant preconditioner adds seven passes and a
 * sum. The last application of A takes fewer than an iteration.
 */
static uint64_t launches_of(const struct bs_protocol *p)
{
	const uint64_t one = p->precond == BS_PRECOND_CIRCULANT ? 17 : 9;

	return (p->plan.joint ? 1 : p->coils) * (8 + (p->iterations + 1) * one);
}

/* most launches in one graph; each takes some hundred bytes of host and device memory */
#define LAUNCHES_MOST UINT64_C(250000)

int bs_ls_cuda_check(const struct bs_protocol *p, struct bs_fail *why)
{
	const uint64_t launches = launches_of(p);

	if (p->iterations < 1)
		return bs_fail(why, BS_ERR_CONFIG, "protocol '%s': no iterations", p->name);
	if (launches > LAUNCHES_MOST && !p->plan.off_resonance)
		return bs_fail(why, BS_ERR_CONFIG,
			       "protocol '%s': ls.iterations: %u iterations of %u coils are about "
			       "%llu launches after the last readout; on the GPU at most %llu",
			       p->name, p->iterations, p->coils, (unsigned long long)launches,
			       (unsigned long long)LAUNCHES_MOST);
	return 0;
}

/* most voxels of coils that are solved side by side */
#define BESIDE_MOST (UINT64_C(1) << 22)

/*
 * The number of coils that are solved side by side, in groups of equal size. In 2D a single coil's
 * kernels do not fill the GPU. With maps it is 1.
 */
static uint32_t beside_of(const struct bs_ls_cuda *s)
{
	uint32_t n = s->solves;

	if (s->p->dims != 2 || s->p->precond == BS_PRECOND_CIRCULANT || s->p->plan.off_resonance)
		return 1;
	while (n > 1 && (s->solves % n != 0 || n * s->voxels > BESIDE_MOST))
		n--;
	return n;
}

/* Makes the solve's state from the protocol. coils: those of the maps that plan will get. */
static struct bs_ls_cuda *make(const struct bs_protocol *p, const struct bs_tables *tables,
			       uint32_t coils)
{
	struct bs_ls_cuda *s = (struct bs_ls_cuda *)calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->p = p;
	s->sense = s->p->plan.joint;
	s->coils = s->sense ? coils : 1;
	s->solves = s->sense ? 1 : p->coils;
	s->voxels = (size_t)bs_protocol_voxels(p);
	s->beside = beside_of(s);
	s->mu = p->lambda * (double)s->voxels;
	s->w = tables->w;
	s->precond.p = p;
	s->precond.maps = s->sense ? tables->maps : NULL;
	s->precond.sets = s->sense ? bs_protocol_map_sets(p) : 1;
	s->precond.mu = s->mu;
	return s;
}

static int state_bytes(struct bs_ls_cuda *s, uint64_t *bytes, struct bs_fail *why)
{
	const struct bs_protocol *p = s->p;
	const struct bs_toeplitz_spec t = toeplitz_of(s);
	uint64_t part[2] = { 0, 0 };
	int rc = bs_ls_cuda_check(p, why);

	*bytes = 0;
	if (rc == 0)
		rc = open_constraint(s, bytes, why);
	const struct bs_pcg_cuda_spec c = pcg_of(s);

	if (rc == 0 && !s->p->plan.off_resonance)
		rc = bs_toeplitz_cuda_need(&t, &part[0], why);
	if (rc == 0)
		rc = bs_pcg_cuda_need(&c, &part[1], why);
	if (rc != 0)
		return rc;
	/* The sum has two vectors and the addends; the sparse arrays are a few pieces. */
	*bytes += part[0] + part[1] + 2 * bs_devmem_round((uint64_t)s->beside * s->voxels * 8) +
		  bs_devmem_round((uint64_t)s->parts * s->voxels * 8) +
		  bs_precond_cuda_bytes(p, s->precond.sets) + 32 * BS_DEV_ALIGN;
	return 0;
}

static int open_made(struct bs_ls_cuda **ls, struct bs_ls_cuda *s, const struct bs_protocol *p,
		     const struct bs_tables *tables, uint64_t *bytes, struct bs_fail *why)
{
	int rc = s == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': solver", p->name)
			   : state_bytes(s, bytes, why);

	if (rc == 0 && s->sense && tables->maps == NULL)
		rc = bs_fail(why, BS_ERR_CONFIG, "protocol '%s': method sense needs maps_file",
			     p->name);
	if (rc != 0)
		bs_ls_cuda_close(s);
	*ls = rc == 0 ? s : NULL;
	return rc;
}

int bs_ls_cuda_bytes_share(const struct bs_protocol *p, const struct bs_csr *w, uint32_t coils,
			   uint32_t parts, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_tables tables;
	struct bs_ls_cuda *s;
	int rc;

	memset(&tables, 0, sizeof(tables));
	tables.w = w;
	s = make(p, &tables, coils);
	if (s != NULL)
		s->parts = parts;
	rc = s == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': solver", p->name)
		       : state_bytes(s, bytes, why);
	bs_ls_cuda_close(s);
	return rc;
}

int bs_ls_cuda_bytes(const struct bs_protocol *p, const struct bs_csr *w, uint64_t *bytes,
		     struct bs_fail *why)
{
	return bs_ls_cuda_bytes_share(p, w, p->coils, 0, bytes, why);
}

int bs_ls_cuda_open(struct bs_ls_cuda **ls, const struct bs_protocol *p,
		    const struct bs_tables *tables, uint64_t *bytes, struct bs_fail *why)
{
	return open_made(ls, make(p, tables, p->coils), p, tables, bytes, why);
}

int bs_ls_cuda_open_share(struct bs_ls_cuda **ls, const struct bs_protocol *p,
			  const struct bs_tables *tables, uint32_t coils, uint32_t parts,
			  uint32_t part, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_ls_cuda *s = make(p, tables, coils);

	if (s != NULL) {
		s->parts = parts;
		s->part = part;
	}
	return open_made(ls, s, p, tables, bytes, why);
}

void bs_ls_cuda_close(struct bs_ls_cuda *s)
{
	if (s == NULL)
		return;
	bs_pcg_cuda_close(s->pcg);
	bs_precond_cuda_close(&s->precond);
	bs_toeplitz_cuda_close(s->normal);
	bs_csr_close(&s->gram_host);
	bs_pinned_close(&s->pinned);
	free(s);
}

static int plan_constraint(struct bs_ls_cuda *s, struct bs_devmem *mem, struct bs_fail *why)
{
	int rc;

	if (s->w == NULL)
		return 0;
	if (s->has_gram)
		return bs_csr_cuda_plan(&s->gram, &s->gram_host, BS_CSR_PLAIN, mem, why);
	rc = bs_csr_cuda_plan(&s->plain, s->w, BS_CSR_PLAIN, mem, why);
	return rc != 0 ? rc : bs_csr_cuda_plan(&s->adjoint, s->w, BS_CSR_ADJOINT, mem, why);
}

/*
 * Plans the operator of F^H F. q is copied to temporary memory; its tables are made on the device.
 */
static int plan_normal(struct bs_ls_cuda *s, const float *q, struct bs_devmem *mem,
		       struct bs_fail *why)
{
	const struct bs_q_spec spec = bs_lsq_q_spec(s->p);
	const size_t bytes = (size_t)bs_q_size(&spec) * 8;
	const struct bs_toeplitz_spec t = toeplitz_of(s);
	struct bs_devmem temporary;
	int rc;

	if (s->p->plan.streams)
		return bs_toeplitz_cuda_plan(&s->normal, &t, NULL, mem, why);
	rc = bs_devmem_open(&temporary, bytes, s->p->name, why);
	if (rc != 0)
		return rc;
	BS_CUDA_GO(cudaMemcpy(temporary.base, q, bytes, cudaMemcpyHostToDevice), why, rc, out);
	rc = bs_toeplitz_cuda_plan(&s->normal, &t, (const float *)temporary.base, mem, why);
out:
	bs_devmem_close(&temporary);
	return rc;
}

struct bs_toeplitz_cuda *bs_ls_cuda_normal(struct bs_ls_cuda *s)
{
	return s->normal;
}

int bs_ls_cuda_use(struct bs_ls_cuda *s, uint32_t slice, cudaStream_t stream, struct bs_fail *why)
{
	return bs_precond_cuda_use(&s->precond, slice, stream, why);
}

int bs_ls_cuda_changed(struct bs_ls_cuda *s, uint32_t slice, cudaStream_t stream,
		       struct bs_fail *why)
{
	return bs_precond_cuda_changed(&s->precond, slice, stream, why);
}

void bs_ls_cuda_given(struct bs_ls_cuda *s, struct bs_segments_cuda *field)
{
	s->field = field;
}

static int apply_field(void *self, const float *in, float *out, struct CUstream_st *stream,
		       struct bs_fail *why)
{
	const struct bs_ls_cuda *s = (const struct bs_ls_cuda *)self;

	return bs_segments_cuda_normal(s->field, (const float *)s->maps, in, out, stream, why);
}

static int plan_pcg(struct bs_ls_cuda *s, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_pcg_cuda_spec c = pcg_of(s);
	struct bs_pcg_cuda_system system;

	memset(&system, 0, sizeof(system));
	system.normal = s->normal;
	system.apply = s->field != NULL ? apply_field : NULL;
	system.self = s;
	system.varies = s->field != NULL && !bs_segments_cuda_lagged(s->field);
	system.coils = s->coils;
	system.maps = s->sense ? (const float *)s->maps : NULL;
	system.mu = s->mu;
	system.gram = s->has_gram ? &s->gram : NULL;
	system.w = s->w != NULL && !s->has_gram ? &s->plain : NULL;
	system.adjoint = s->w != NULL && !s->has_gram ? &s->adjoint : NULL;
	system.inverse = s->precond.inverse;
	system.circulant = s->precond.circulant;
	system.b = s->b;
	system.x = s->x;
	system.addends = s->addends;
	system.parts = s->parts;
	system.part = s->part;
	return bs_pcg_cuda_plan(&s->pcg, &c, &system, mem, why);
}

int bs_ls_cuda_plan(struct bs_ls_cuda *s, const float *q, const struct bs_tables *tables,
		    const struct bs_arm_env *env, const float2 *maps, struct bs_devmem *mem,
		    struct bs_fail *why)
{
	int rc = bs_pinned_open(&s->pinned, s->solves * sizeof(struct bs_pcg_outcome), why);

	s->maps = maps;
	s->b = (float *)bs_devmem_take(mem, s->beside * s->voxels * 8);
	s->x = (float *)bs_devmem_take(mem, s->beside * s->voxels * 8);
	if (s->parts > 0)
		s->addends = (float *)bs_devmem_take(mem, s->parts * s->voxels * 8);
	if (rc == 0 && (s->b == NULL || s->x == NULL || (s->parts > 0 && s->addends == NULL)))
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': solver's vectors", s->p->name);
	if (rc == 0 && s->field == NULL)
		rc = plan_normal(s, q, mem, why);
	if (rc == 0)
		rc = plan_constraint(s, mem, why);
	bs_csr_close(&s->gram_host); /* the matrix has been copied to the device */
	if (rc == 0)
		rc = bs_precond_cuda_plan(&s->precond, tables, q, env->team, mem, why);
	if (rc == 0)
		rc = plan_pcg(s, mem, why);
	return rc;
}

/* ---- solve ----------------------------------------------------------------------------------- */

static int weigh(struct bs_ls_cuda *s, const float2 *images, float *to, cudaStream_t stream,
		 struct bs_fail *why)
{
	multiply_maps<<<(unsigned)((s->voxels + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
		(float2 *)to, images, s->maps, s->coils, s->voxels);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

/* Makes b from F^H d, for the solves from i on. */
static int load(struct bs_ls_cuda *s, const float2 *images, uint32_t i, cudaStream_t stream,
		struct bs_fail *why)
{
	if (s->sense)
		return weigh(s, images, s->b, stream, why);
	BS_CUDA(cudaMemcpyAsync(s->b, images + (size_t)i * s->voxels, s->beside * s->voxels * 8,
				cudaMemcpyDeviceToDevice, stream),
		why);
	return 0;
}

static int store(struct bs_ls_cuda *s, float2 *images, uint32_t i, cudaStream_t stream,
		 struct bs_fail *why)
{
	BS_CUDA(cudaMemcpyAsync(images + (size_t)i * s->voxels, s->x, s->beside * s->voxels * 8,
				cudaMemcpyDeviceToDevice, stream),
		why);
	return 0;
}

int bs_ls_cuda_queue(struct bs_ls_cuda *s, float2 *images, cudaStream_t stream, struct bs_fail *why)
{
	struct bs_pcg_outcome *outcome = (struct bs_pcg_outcome *)s->pinned.dev;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < s->solves; i += s->beside) {
		rc = load(s, images, i, stream, why);
		if (rc == 0)
			rc = bs_pcg_cuda_record(s->pcg, outcome + i, stream, why);
		if (rc == 0)
			rc = store(s, images, i, stream, why);
	}
	return rc;
}

void bs_ls_cuda_outcome(const struct bs_ls_cuda *s, struct bs_report *report)
{
	const struct bs_pcg_outcome *outcome = (const struct bs_pcg_outcome *)s->pinned.host;

	for (uint32_t i = 0; i < s->solves; i++)
		bs_report_solve(report, i == 0, outcome[i].iterations, outcome[i].residual);
}

int bs_ls_cuda_run(struct bs_ls_cuda *s, float2 *images, uint32_t iterations, int64_t deadline_ns,
		   cudaStream_t stream, struct bs_report *report, struct bs_fail *why)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < s->solves; i += s->beside) {
		uint32_t most = iterations;
		const int64_t until = bs_report_until(
			report, i, bs_turn_end(deadline_ns, bs_now_ns(), s->solves / s->beside),
			&most);
		struct bs_pcg_result result[BS_COILS_MAX];

		memset(result, 0, sizeof(result));
		rc = load(s, images, i, stream, why);
		if (rc == 0)
			rc = bs_pcg_cuda_solve(s->pcg, most, until, stream, result, why);
		if (rc == 0)
			rc = store(s, images, i, stream, why);
		for (uint32_t j = 0; j < s->beside; j++) {
			bs_report_solve(report, i + j == 0, result[j].iterations,
					result[j].residual);
			if (!result[j].deadline_stop)
				continue;
			report->deadline_stop = true;
			/* of coils side by side one that has converged has made fewer */
			report->cut = report->cut > result[j].iterations ? report->cut
									 : result[j].iterations;
		}
	}
	return rc;
}

/* ---- a solve on several GPUs ----------------------------------------------------------------- */

int bs_ls_cuda_load(struct bs_ls_cuda *s, const float2 *images, cudaStream_t stream,
		    struct bs_fail *why)
{
	return weigh(s, images, s->addends + 2 * s->part * s->voxels, stream, why);
}

float *bs_ls_cuda_addends(struct bs_ls_cuda *s)
{
	return s->addends;
}

int bs_ls_cuda_begin(struct bs_ls_cuda *s, cudaStream_t stream, struct bs_fail *why)
{
	int rc = bs_pcg_cuda_sum(s->b, s->addends, s->parts, s->voxels, stream, why);

	return rc != 0 ? rc : bs_pcg_cuda_begin(s->pcg, stream, why);
}

struct bs_pcg_cuda *bs_ls_cuda_pcg(struct bs_ls_cuda *s)
{
	return s->pcg;
}

const float2 *bs_ls_cuda_image(const struct bs_ls_cuda *s)
{
	return (const float2 *)s->x;
}
