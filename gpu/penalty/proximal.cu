/* gpu/penalty/proximal.cu - see proximal_cuda.h */
#include "gpu/penalty/proximal_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "gpu/device/check.h"
#include "gpu/image/unfold_cuda.h"
#include "gpu/penalty/cuda/proximal_kernels.cuh"
#include "gpu/penalty/penalty_cuda.h"
#include "gpu/penalty/shape.h"
#include "gpu/solve/csr_cuda.h"
#include "gpu/solve/lsq_cuda.h"
#include "gpu/solve/pcg_cuda.h"
#include "gpu/solve/precond.h"
#include "gpu/toeplitz/toeplitz_cuda.h"

struct bs_proximal_cuda {
	const struct bs_protocol *p;
	struct bs_unfold_cuda *unfold; /* the operator of lines; NULL: by Q */
	struct bs_toeplitz_cuda *normal;
	const float2 *maps;
	uint32_t frames, coils; /* coils that are solved for together; 1 without maps */
	uint64_t values, size;  /* complex values of a frame's image; of a solve */
	float *b;               /* [frame][value]; of lines that of unfold */
	float *x;               /* [slot][frame][value]: solutions, as in proximal.c */
	float2 *work;           /* along frames: [table's frame][coil][value] */
	struct order *order;
	struct bs_csr_cuda w, adjoint;
	float *wx; /* W x of one frame */
	bool has_w;
	struct bs_penalty_cuda_plan *penalty;
	struct bs_prox_cuda *prox; /* NULL: there is no prior */
	struct bs_pcg_cuda *pcg;   /* the solver without a prior; NULL: there is none */
	float *difference;         /* [value]: what pcg solves for */
	struct bs_pinned pinned;   /* struct order */
	double w_bound, q0;        /* q0: sum of the weights of one frame */
	double identity;           /* weight of the identity in A, damping included */
	struct scale *scale;       /* [slice] */
	uint8_t *known;            /* [slot]: it has the last image */
	/* The next members belong to the solve in progress. */
	uint32_t first;  /* its oldest frame's number in the table */
	uint32_t before; /* frames that the solve leaves out, the oldest */
};

static unsigned over(uint64_t n)
{
	return (unsigned)((n + THREADS - 1) / THREADS);
}

static int launched(struct bs_fail *why)
{
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

static int add(float *out, const float *in, double scale, uint64_t floats, cudaStream_t stream,
	       struct bs_fail *why)
{
	add_scaled<<<over(floats), THREADS, 0, stream>>>(out, in, (float)scale, floats);
	return launched(why);
}

/* Frames of the solve in progress. */
static uint32_t solved(const struct bs_proximal_cuda *x)
{
	return x->frames - x->before;
}

/* Collapses frames of F^H d, `step` values apart, or of work. */
static struct collapse collapse_of(const struct bs_proximal_cuda *x, float *out, const float2 *from,
				   uint64_t step)
{
	struct collapse a = {};

	a.out = (float2 *)out;
	a.from = from;
	a.step = step;
	a.maps = x->maps;
	a.coils = x->coils;
	a.frames = x->frames;
	a.voxels = x->values;
	a.order = x->order;
	return a;
}

/* ---- the operator ---------------------------------------------------------------------------- */

/* Queues out = lambda W^H W in, of each frame. adds: is added to out. */
static int constrain(struct bs_proximal_cuda *x, const float *in, float *out, bool adds,
		     cudaStream_t stream, struct bs_fail *why)
{
	const double lambda = x->p->lambda * norm_of(x->p);
	int rc = 0;

	for (uint32_t t = 0; t < solved(x) && rc == 0; t++) {
		const uint64_t at = 2 * t * x->values;

		rc = bs_csr_cuda_product(&x->w, 1.0f, in + at, x->wx, false, stream, why);
		if (rc == 0)
			rc = bs_csr_cuda_product(&x->adjoint, (float)lambda, x->wx, out + at, adds,
						 stream, why);
	}
	return rc;
}

/* Queues work = F^H F work of the solve's frames: all, or the newest. */
static int normal_frames(struct bs_proximal_cuda *x, cudaStream_t stream, struct bs_fail *why)
{
	float *work = (float *)x->work;

	if (x->before == 0)
		return bs_toeplitz_cuda_apply(x->normal, x->frames * x->coils, work, work, stream,
					      why);
	work += 2 * x->first * x->coils * x->values;
	return bs_toeplitz_cuda_one(x->normal, x->first, x->coils, work, work, stream, why);
}

static int apply_frames(struct bs_proximal_cuda *x, const float *in, float *out,
			cudaStream_t stream, struct bs_fail *why)
{
	const dim3 blocks(over(x->values), solved(x));
	struct collapse a = collapse_of(x, out, x->work, x->coils * x->values);
	int rc;

	expand<<<blocks, THREADS, 0, stream>>>(x->work, (const float2 *)in, x->maps, x->coils,
					       x->values, x->order, x->frames);
	rc = launched(why);
	if (rc == 0)
		rc = normal_frames(x, stream, why);
	if (rc == 0 && x->has_w)
		rc = constrain(x, in, out, false, stream, why);
	if (rc != 0)
		return rc;
	a.in = (const float2 *)in;
	a.mu = (float)x->identity;
	a.adds = x->has_w;
	collapse<<<blocks, THREADS, 0, stream>>>(a);
	return launched(why);
}

/* Queues out = A in: F^H F, the quadratic terms, damping. */
static int apply(void *self, const float *in, float *out, cudaStream_t stream, struct bs_fail *why)
{
	struct bs_proximal_cuda *x = (struct bs_proximal_cuda *)self;
	int rc;

	if (x->work != NULL)
		return apply_frames(x, in, out, stream, why);
	if (x->unfold != NULL)
		rc = bs_unfold_cuda_apply(x->unfold, in, out, stream, why);
	else if (x->maps != NULL)
		rc = bs_toeplitz_cuda_sense(x->normal, x->coils, (const float *)x->maps, in, NULL,
					    out, stream, why);
	else
		rc = bs_toeplitz_cuda_apply(x->normal, 1, in, out, stream, why);
	if (rc == 0 && x->has_w)
		rc = constrain(x, in, out, true, stream, why);
	return rc != 0 || x->identity == 0.0 ? rc
					     : add(out, in, x->identity, 2 * x->size, stream, why);
}

/* ---- plan ------------------------------------------------------------------------------------ */

int bs_proximal_cuda_q(float **q, const struct bs_protocol *p, const struct bs_tables *tables,
		       struct bs_team *team, const char *cache_dir, struct bs_fail *why)
{
	const struct bs_q_spec s = bs_lsq_q_spec(p);
	const size_t bytes = (size_t)bs_q_size(&s) * 8;
	float *weight = NULL;
	int rc;

	*q = NULL;
	if (on_lines(p) || p->plan.streams)
		return 0;
	rc = bs_lsq_weights(&weight, p, tables, team, why);
	*q = (float *)malloc(frames_of(p) * bytes);
	if (rc == 0 && *q == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': Q", p->name);
	for (uint32_t t = 0; t < frames_of(p) && rc == 0; t++) {
		struct frame_table f;
		float *one = NULL;

		frame_table(&f, p, t, tables, weight);
		f.tables.density = f.weight;
		rc = bs_lsq_cuda_q(&one, &f.p, &f.tables, team, cache_dir, NULL, why);
		if (rc == 0)
			memcpy((unsigned char *)*q + t * bytes, one, bytes);
		free(one);
	}
	free(weight);
	return rc;
}

/* The operator of lines; its own solver is not used. */
static struct bs_unfold_spec lines_of(const struct bs_protocol *p)
{
	struct bs_unfold_spec s = bs_unfolding_spec(p);

	s.iterations = 1;
	return s;
}

/* Sets what the plan is before it has memory. */
static void shape(struct bs_proximal_cuda *x, const struct bs_protocol *p, const struct bs_csr *w)
{
	const double n = norm_of(p);

	memset(x, 0, sizeof(*x));
	x->p = p;
	x->frames = frames_of(p);
	x->coils = p->plan.joint ? p->coils : 1;
	x->size = prox_of(p).size;
	x->values = x->size / x->frames;
	x->has_w = w != NULL && p->lambda > 0.0;
	x->w_bound = w != NULL ? bs_csr_bound(w) : 1.0;
	x->identity = (p->w.l2 + (w == NULL ? p->lambda : 0.0) + p->prior.damp) * n;
}

static void take(struct bs_proximal_cuda *x, const struct bs_csr *w, struct bs_devroom *room)
{
	if (!on_lines(x->p))
		bs_devroom_take(room, &x->b, x->size * 8);
	bs_devroom_take(room, &x->x, slots_of(x->p) * x->size * 8);
	bs_devroom_take(room, &x->order, sizeof(struct order));
	if (x->frames > 1)
		bs_devroom_take(room, &x->work, x->size * x->coils * 8);
	if (x->has_w)
		bs_devroom_take(room, &x->wx, w->rows * 8);
	if (has_pcg(x->p))
		bs_devroom_take(room, &x->difference, x->values * 8);
}

static struct bs_pcg_cuda_spec pcg_of(const struct bs_protocol *p)
{
	struct bs_pcg_cuda_spec s;

	memset(&s, 0, sizeof(s));
	s.voxels = bs_protocol_voxels(p) * images_of(p);
	s.iterations = p->iterations;
	s.tolerance = p->tolerance;
	return s;
}

static struct bs_toeplitz_spec toeplitz_of(const struct bs_proximal_cuda *x)
{
	struct bs_toeplitz_spec t;

	memset(&t, 0, sizeof(t));
	t.dims = x->p->dims;
	memcpy(t.matrix, x->p->matrix, sizeof(t.matrix));
	t.coils = x->coils * x->frames;
	t.operators = x->frames > 1 ? x->frames : 0;
	return t;
}

int bs_proximal_cuda_bytes(const struct bs_protocol *p, const struct bs_csr *w, uint64_t *bytes,
			   struct bs_fail *why)
{
	const struct bs_penalty_spec penalty = penalty_of(p);
	const struct bs_unfold_spec u = lines_of(p);
	const struct bs_prox_spec prox = prox_of(p);
	const struct bs_pcg_cuda_spec pcg = pcg_of(p);
	struct bs_devroom room = {};
	struct bs_proximal_cuda x;
	uint64_t part[4] = { 0, 0, 0, 0 };
	int rc;

	shape(&x, p, w);
	take(&x, w, &room);
	const struct bs_toeplitz_spec t = toeplitz_of(&x);

	rc = on_lines(p) ? bs_unfold_cuda_need(&u, NULL, &part[0], why)
			 : bs_toeplitz_cuda_need(&t, &part[0], why);
	if (rc == 0 && has_prior(p))
		rc = bs_prox_cuda_need(&prox, &part[1], why);
	if (rc == 0 && has_pcg(p))
		rc = bs_pcg_cuda_need(&pcg, &part[3], why);
	/* how many rows W has no protocol says: it is not counted before it is there */
	if (rc == 0 && has_prior(p) && (p->prior.kind != BS_PRIOR_W || w != NULL))
		rc = bs_penalty_cuda_need(&penalty, w, &part[2], why);
	*bytes = room.bytes + part[0] + part[1] + part[2] + part[3];
	if (x.has_w)
		*bytes += bs_csr_cuda_need(w, BS_CSR_PLAIN) + bs_csr_cuda_need(w, BS_CSR_ADJOINT);
	return rc;
}

/* Plans F^H F by the frames' Q's, which lie in host memory. */
static int plan_normal(struct bs_proximal_cuda *x, const float *q, struct bs_devmem *mem,
		       struct bs_fail *why)
{
	const struct bs_q_spec s = bs_lsq_q_spec(x->p);
	const size_t bytes = (size_t)bs_q_size(&s) * 8;
	const struct bs_toeplitz_spec t = toeplitz_of(x);
	const bool flat = x->p->dims == 2;
	struct bs_devmem temporary;
	int rc;

	if (x->p->plan.streams) /* each frame brings its Q */
		return bs_toeplitz_cuda_plan(&x->normal, &t, NULL, mem, why);
	rc = bs_devmem_open(&temporary, bytes, x->p->name, why);
	if (rc != 0)
		return rc;
	x->q0 = (double)q[0];
	if (flat)
		rc = bs_toeplitz_cuda_plan(&x->normal, &t, NULL, mem, why);
	for (uint32_t i = 0; i < x->frames && rc == 0; i++) {
		BS_CUDA_GO(cudaMemcpy(temporary.base, (const unsigned char *)q + i * bytes, bytes,
				      cudaMemcpyHostToDevice),
			   why, rc, out);
		rc = flat ? bs_toeplitz_cuda_put(x->normal, i, (const float *)temporary.base, why)
			  : bs_toeplitz_cuda_plan(&x->normal, &t, (const float *)temporary.base,
						  mem, why);
	}
out:
	bs_devmem_close(&temporary);
	return rc;
}

static int plan_quadratic(struct bs_proximal_cuda *x, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_pcg_cuda_spec s = pcg_of(x->p);
	struct bs_pcg_cuda_system system;

	memset(&system, 0, sizeof(system));
	system.self = x;
	system.apply = apply;
	system.varies = x->frames > 1; /* by the newest frame's number */
	system.b = x->b;
	system.x = x->difference;
	return bs_pcg_cuda_plan(&x->pcg, &s, &system, mem, why);
}

static int plan_solver(struct bs_proximal_cuda *x, const struct bs_csr *w, struct bs_devmem *mem,
		       struct bs_fail *why)
{
	const struct bs_penalty_spec penalty = penalty_of(x->p);
	const struct bs_prox_spec prox = prox_of(x->p);
	struct bs_prox_cuda_system system = {};
	int rc = 0;

	if (x->has_w)
		rc = bs_csr_cuda_plan(&x->w, w, BS_CSR_PLAIN, mem, why);
	if (rc == 0 && x->has_w)
		rc = bs_csr_cuda_plan(&x->adjoint, w, BS_CSR_ADJOINT, mem, why);
	if (rc == 0 && has_pcg(x->p))
		rc = plan_quadratic(x, mem, why);
	if (rc == 0 && has_prior(x->p))
		rc = bs_penalty_cuda_plan(&x->penalty, &penalty, w, mem, why);
	if (rc != 0 || !has_prior(x->p))
		return rc;
	system.self = x;
	system.apply = apply;
	system.penalty = bs_penalty_cuda_get(x->penalty);
	system.b = x->b;
	return bs_prox_cuda_plan(&x->prox, &prox, &system, mem, why);
}

int bs_proximal_cuda_plan(struct bs_proximal_cuda **plan, const struct bs_protocol *p,
			  const struct bs_proximal_cuda_given *given, struct bs_devmem *mem,
			  struct bs_fail *why)
{
	const struct bs_csr *w = given->w;
	struct bs_proximal_cuda *x = (struct bs_proximal_cuda *)malloc(sizeof(*x));
	const struct bs_unfold_spec u = lines_of(p);
	struct bs_devroom room = { mem, 0, false };
	int rc = 0;

	*plan = NULL;
	if (x == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "solver with a prior");
	shape(x, p, w);
	x->maps = p->plan.joint ? given->maps : NULL;
	x->scale = (struct scale *)calloc(p->slices, sizeof(*x->scale));
	x->known = (uint8_t *)calloc(slots_of(p), 1);
	take(x, w, &room);
	if (x->scale == NULL || x->known == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "solver with a prior");
	if (rc == 0)
		rc = bs_devroom_check(&room, "solver with a prior", why);
	if (rc == 0)
		rc = bs_pinned_open(&x->pinned, sizeof(struct order), why);
	if (rc == 0)
		BS_CUDA_GO(cudaMemset(x->order, 0, sizeof(struct order)), why, rc, out);
	if (rc == 0)
		rc = on_lines(p)
			     ? bs_unfold_cuda_plan(&x->unfold, &u, NULL, (const float *)given->maps,
						   (const float *)given->images, x->x, 0.0, mem,
						   why)
			     : plan_normal(x, given->q, mem, why);
	if (rc == 0 && x->unfold != NULL)
		x->b = bs_unfold_cuda_b(x->unfold);
	if (rc == 0)
		rc = plan_solver(x, w, mem, why);
out:
	if (rc != 0) {
		bs_proximal_cuda_close(x);
		return rc;
	}
	*plan = x;
	return 0;
}

void bs_proximal_cuda_close(struct bs_proximal_cuda *x)
{
	if (x == NULL)
		return;
	bs_prox_cuda_close(x->prox);
	bs_pcg_cuda_close(x->pcg);
	bs_penalty_cuda_close(x->penalty);
	bs_unfold_cuda_close(x->unfold);
	bs_toeplitz_cuda_close(x->normal);
	bs_pinned_close(&x->pinned);
	free(x->known);
	free(x->scale);
	free(x);
}

/* ---- run ------------------------------------------------------------------------------------- */

/* Tells the kernels which frames the solve has, and which are held; task NULL: all are. */
static int put_order(struct bs_proximal_cuda *x, const struct bs_task *t, cudaStream_t stream,
		     struct bs_fail *why)
{
	struct order *to = (struct order *)x->pinned.host;

	/* the last solve has waited, so nothing reads this memory any more */
	x->first = t != NULL ? (t->newest + 1 + x->before) % x->frames : 0;
	to->first = x->first;
	memset(to->held, 1, sizeof(to->held));
	if (t != NULL && t->held != NULL && x->frames > 1)
		memcpy(to->held, t->held, x->frames);
	BS_CUDA(cudaMemcpyAsync(x->order, to, sizeof(*to), cudaMemcpyHostToDevice, stream), why);
	return 0;
}

struct bs_toeplitz_cuda *bs_proximal_cuda_normal(struct bs_proximal_cuda *x)
{
	return x->normal;
}

int bs_proximal_cuda_changed(struct bs_proximal_cuda *x, uint32_t slice, const float *host_maps,
			     cudaStream_t stream, struct bs_fail *why)
{
	struct scale *s = &x->scale[slice];
	const uint32_t coils = x->maps != NULL ? x->coils : 0;
	int rc;

	if (x->unfold != NULL)
		*s = scale_of_maps(x->p, host_maps, x->w_bound);
	if (x->prox == NULL || x->unfold != NULL || x->p->plan.streams)
		return 0;
	s->level = 0.0;
	for (uint64_t v = 0; v < x->values; v++)
		s->level += x->q0 * bs_precond_power(host_maps, coils, x->values, v) /
			    (double)x->values;
	rc = put_order(x, NULL, stream, why);
	return rc != 0 ? rc
		       : bs_prox_cuda_power(x->prox, BS_PROX_POWER_STEPS, stream, &s->largest, why);
}

void bs_proximal_cuda_scan(struct bs_proximal_cuda *x)
{
	memset(x->known, 0, slots_of(x->p));
}

/* Makes the right-hand side of F^H d of one coil, or of all. */
static int begin(struct bs_proximal_cuda *x, const struct bs_task *t, uint32_t coil,
		 cudaStream_t stream, struct bs_fail *why)
{
	const float *in = x->frames > 1 ? t->parts : t->fhd;
	struct collapse a;

	if (x->unfold != NULL)
		return bs_unfold_cuda_begin(x->unfold, t->lines, stream, why);
	a = collapse_of(x, x->b, (const float2 *)in + coil * x->values, t->part_step / 2);
	collapse<<<dim3(over(x->values), solved(x)), THREADS, 0, stream>>>(a);
	return launched(why);
}

/* Turns the solution of the image before into where this one starts; see follow in proximal.c. */
static int follow_last(struct bs_proximal_cuda *x, float *last, cudaStream_t stream,
		       struct bs_fail *why)
{
	const bool damps = x->p->prior.damp > 0.0;
	int rc;

	follow<<<over(2 * x->values), THREADS, 0, stream>>>(last, x->frames, 2 * x->values,
							    damps ? (float)BS_DAMP_KEEP : 1.0f);
	rc = launched(why);
	return rc != 0 || !damps ? rc
				 : add(x->b, last + 2 * x->before * x->values,
				       x->p->prior.damp * norm_of(x->p), 2 * solved(x) * x->values,
				       stream, why);
}

/* Solves without a prior, for the newest frame's difference from where it starts. */
static int solve_quadratic(struct bs_proximal_cuda *x, float *slotted,
			   const struct bs_prox_stop *stop, cudaStream_t stream,
			   struct bs_prox_result *result, double *residual, struct bs_fail *why)
{
	float *solution = slotted + 2 * x->before * x->values;
	const uint64_t floats = 2 * x->values;
	struct bs_pcg_result made;
	int rc = stop->warm ? apply(x, solution, x->difference, stream, why) : 0;

	if (!stop->warm)
		BS_CUDA(cudaMemsetAsync(slotted, 0, x->size * 8, stream), why);
	else if (rc == 0)
		rc = add(x->b, x->difference, -1.0, floats, stream, why);
	if (rc == 0)
		rc = bs_pcg_cuda_solve(x->pcg, stop->iterations, stop->deadline_ns, stream, &made,
				       why);
	if (rc != 0)
		return rc;
	result->iterations = made.iterations;
	result->objective = 0.0;
	result->reason = made.deadline_stop ? BS_PROX_DEADLINE : BS_PROX_ITERATIONS;
	*residual = made.residual;
	return add(solution, x->difference, 1.0, floats, stream, why);
}

static bool leaves_out(const struct bs_proximal_cuda *x, const struct bs_report *report)
{
	return x->prox == NULL || report->quadratic;
}

/* Solves for one coil, or for all. */
static int solve_one(struct bs_proximal_cuda *x, const struct bs_task *t, uint32_t i,
		     const struct bs_prox_cuda_scale *scale, cudaStream_t stream,
		     struct bs_report *report, struct bs_fail *why)
{
	const struct bs_protocol *p = x->p;
	const uint32_t solves = solves_of(p);
	const uint32_t slot = p->plan.follows ? t->pair * solves + i : 0;
	float *slotted = x->x + 2 * slot * x->size;
	struct bs_prox_stop stop;
	struct bs_prox_result result;
	double residual = 0.0;
	int rc = begin(x, t, i, stream, why);

	stop.iterations = p->iterations;
	stop.tolerance = p->tolerance;
	stop.deadline_ns = bs_report_until(
		report, i, bs_turn_end(t->deadline_ns, bs_now_ns(), solves), &stop.iterations);
	stop.warm = p->plan.follows && x->known[slot] != 0;
	if (rc == 0 && stop.warm)
		rc = follow_last(x, slotted, stream, why);
	if (rc == 0)
		rc = leaves_out(x, report)
			     ? solve_quadratic(x, slotted, &stop, stream, &result, &residual, why)
			     : bs_prox_cuda_solve(x->prox, scale, slotted, &stop, stream, &result,
						  why);
	if (rc != 0)
		return rc;
	x->known[slot] = 1;
	bs_report_solve(report, i == 0, result.iterations, residual);
	report->objective += result.objective / norm_of(p);
	report->stop = result.reason > report->stop ? result.reason : report->stop;
	report->deadline_stop = report->stop == BS_PROX_DEADLINE;
	report->cut = result.reason == BS_PROX_DEADLINE ? result.iterations : report->cut;
	BS_CUDA(cudaMemcpyAsync(t->images + 2 * i * x->values,
				slotted + 2 * (x->frames - 1) * x->values, x->values * 8,
				cudaMemcpyDeviceToDevice, stream),
		why);
	return 0;
}

int bs_proximal_cuda_solve(struct bs_proximal_cuda *x, const struct bs_task *t, cudaStream_t stream,
			   struct bs_report *report, struct bs_fail *why)
{
	const struct bs_protocol *p = x->p;
	struct scale *s = &x->scale[t->slice];
	const double level = s->level * (x->unfold != NULL ? share_of(p, t->lines) : 1.0);
	const double n = norm_of(p);
	const double weight =
		p->prior.noise > 0.0 ? p->prior.noise * sqrt(level) : p->prior.lambda * n;
	const bool quadratic = leaves_out(x, report);
	struct bs_prox_cuda_scale scale;
	int rc;

	x->before = quadratic ? x->frames - 1 : 0;
	rc = put_order(x, t, stream, why);
	if (rc == 0 && !quadratic && p->plan.streams)
		rc = bs_prox_cuda_power(x->prox, STREAM_STEPS, stream, &s->largest, why);
	scale.largest = s->largest;
	scale.lambda = weight;
	report->prior_lambda = !quadratic ? weight / n : 0.0;
	report->objective = 0.0;
	report->stop = BS_PROX_ITERATIONS;
	report->deadline_stop = false;
	report->cut = 0;
	for (uint32_t i = 0; i < solves_of(p) && rc == 0; i++)
		rc = solve_one(x, t, i, &scale, stream, report, why);
	x->before = 0;
	return rc;
}
