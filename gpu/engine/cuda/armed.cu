/* gpu/engine/cuda/armed.cu - a protocol's memory, streams and parts on one GPU; see armed.h */
#include "gpu/engine/cuda/armed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/thread/clock.h"
#include "gpu/device/check.h"
#include "gpu/encode/encode.h"
#include "gpu/nufft/density_cuda.h"
#include "gpu/solve/lsq_cuda.h"
#include "gpu/solve/segments_cuda.h"
#include "gpu/device/stream.h"

/*
 * ARM_SECONDS: the time that the first arm shall take in all, without CUDA's context. REST_SECONDS:
 * the part of it after the variants are measured. The variants get the time that is left, but never
 * less than a minimum; `boreside arm` gives them more.
 */
#define ARM_SECONDS  1.65
#define REST_SECONDS 0.3
#define TUNE_SECONDS 0.5

/* Time of each part of arming, for a line of the log. */
struct laps {
	int64_t start_ns, last_ns;
	char text[256];
};

static void lap(struct laps *l, const char *part)
{
	const int64_t now_ns = bs_now_ns();
	const size_t n = strlen(l->text);

	(void)snprintf(l->text + n, sizeof(l->text) - n, ", %s %.3f", part,
		       (double)(now_ns - l->last_ns) * 1e-9);
	l->last_ns = now_ns;
}

static uint64_t readout_bytes(const struct bs_protocol *p)
{
	return (uint64_t)p->samples * p->coils * 8;
}

/* Returns the bytes of one slice's maps. */
static uint64_t maps_bytes(const struct bs_protocol *p)
{
	return bs_protocol_map_sets(p) > 0 ? bs_protocol_voxels(p) * p->coils * 8 : 0;
}

/* Bytes of the maps of all slices; 0 where there is one slice. */
static uint64_t all_maps_bytes(const struct bs_protocol *p)
{
	return bs_protocol_map_sets(p) > 1 ? maps_bytes(p) * bs_protocol_map_sets(p) : 0;
}

/* Bytes of images that are moved back along the blips, and of a slice's map for that. */
static uint64_t moved_bytes(const struct bs_protocol *p)
{
	return bs_plan_has(&p->plan, BS_PLAN_UNWARP)
		       ? bs_devmem_round(bs_protocol_voxels(p) * p->coils * 8)
		       : 0;
}

static uint64_t hz_bytes(const struct bs_protocol *p)
{
	return moved_bytes(p) > 0 ? bs_devmem_round(bs_protocol_voxels(p) * 4) : 0;
}

static bool is_mapped(const struct bs_protocol *p)
{
	return p->gpu_memory == BS_GPU_MEMORY_MAPPED ||
	       (p->gpu_memory == BS_GPU_MEMORY_AUTO && bs_gpu_integrated());
}

/* Bytes of the readouts of all frames, as the operator keeps them. */
static uint64_t samples_bytes(const struct bs_cuda_spec *s)
{
	return bs_devmem_round(s->op->coil_step(s->p) * s->p->coils * 8) * bs_protocol_frames(s->p);
}

/* Bytes of the coils' images, on the encoded lines where slices at once are solved for. */
static uint64_t coils_bytes(const struct bs_protocol *p)
{
	const uint64_t lines = bs_plan_groups(&p->plan) ? bs_lines_spec(p).matrix[1] : p->matrix[1];

	return p->matrix[0] * lines * p->matrix[2] * p->coils * 8;
}

static uint64_t image_bytes(const struct bs_cuda_spec *s)
{
	return s->share ? 0 : bs_protocol_image_bytes(s->p);
}

/* Bytes of host memory, which is page-locked when the protocol is armed. */
static uint64_t pinned_bytes(const struct bs_cuda_spec *s)
{
	return BS_DEV_ALIGN + bs_devmem_round(image_bytes(s)) +
	       (is_mapped(s->p) ? samples_bytes(s) : BS_CUDA_UPLOADS * readout_bytes(s->p));
}

/* Device memory without what a solve takes, which depends on W, too. */
static int device_need(const struct bs_cuda_spec *s, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_protocol *p = s->p;

	bs_need_add(need, "device coil images", 1, bs_devmem_round(coils_bytes(p)));
	bs_need_add(need, "device image", 1, bs_devmem_round(image_bytes(s)));
	bs_need_add(need, "device sensitivities", 1,
		    bs_devmem_round(maps_bytes(p)) + bs_devmem_round(all_maps_bytes(p)));
	bs_need_add(need, "device window", 1, bs_partial_cuda_bytes(p));
	bs_need_add(need, "device images moved back", 1, moved_bytes(p) + hz_bytes(p));
	if (!s->share)
		bs_need_add(need, "device images that leave", 1, bs_combiner_cuda_bytes(p));
	return s->op->need(s, need, why);
}

/*
 * Bytes that open takes in one piece. more: bytes for solving. Mapped readouts lie in host memory.
 */
static int pool_bytes(const struct bs_cuda_spec *s, uint64_t more, uint64_t *bytes,
		      struct bs_fail *why)
{
	struct bs_need need;
	int rc;

	memset(&need, 0, sizeof(need));
	rc = device_need(s, &need, why);
	*bytes = need.total_bytes + more - (is_mapped(s->p) ? samples_bytes(s) : 0);
	return rc;
}

/* Finds the bytes for the solver of methods ls and sense, or of unfolding; w: W or NULL. */
static int solve_bytes(const struct bs_cuda_spec *s, const struct bs_csr *w, uint64_t *bytes,
		       struct bs_fail *why)
{
	*bytes = 0;
	if (!s->solve)
		return 0;
	if (s->p->plan.solve == BS_SOLVE_PROX)
		return bs_proximal_cuda_bytes(s->p, w, bytes, why);
	return s->p->plan.solve == BS_SOLVE_CG ? bs_ls_cuda_bytes(s->p, w, bytes, why)
					       : bs_armed_cuda_unfold_need(s->p, w, bytes, why);
}

int bs_armed_cuda_device(const struct bs_cuda_spec *s, const float *field, struct bs_need *need,
			 struct bs_fail *why)
{
	uint64_t more;
	int rc = solve_bytes(s, NULL, &more, why);

	if (rc == 0)
		rc = device_need(s, need, why);
	if (rc == 0)
		bs_need_add(need, "device solve", 1, more);
	if (rc == 0 && s->op->beside != NULL)
		rc = s->op->beside(s, field, need, why);
	/* mapped readouts are host memory, as bs_armed_cuda_need says */
	if (rc == 0 && is_mapped(s->p))
		need->total_bytes -= samples_bytes(s);
	return rc;
}

int bs_armed_cuda_need(const struct bs_cuda_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_need device;
	int rc = bs_partial_cuda_check(s->p, why);

	memset(&device, 0, sizeof(device));
	if (rc == 0)
		rc = device_need(s, &device, why);
	if (rc != 0)
		return rc;
	if (device.overflow)
		return bs_fail(why, BS_ERR_NOMEM,
			       "protocol '%s': its device memory does not fit 64 bits", s->p->name);
	bs_need_add(need, "pinned readouts and image", 1, pinned_bytes(s));
	return 0;
}

void bs_armed_cuda_close(void *self)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;

	if (e->up != NULL)
		(void)cudaStreamSynchronize(e->up);
	if (e->stream != NULL)
		(void)cudaStreamSynchronize(e->stream);
	bs_armed_cuda_unrecord(e);
	free(e->added);
	free(e->newest);
	bs_proximal_cuda_close(e->prox);
	bs_ls_cuda_close(e->ls);
	bs_armed_cuda_unfold_close(e);
	bs_combiner_cuda_close(e->combiner);
	if (e->plan != NULL)
		e->op->close(e->plan);
	for (uint32_t i = 0; i < BS_CUDA_UPLOADS; i++)
		if (e->sent[i] != NULL)
			(void)cudaEventDestroy(e->sent[i]);
	for (int i = 0; i < BS_CUDA_MARKS; i++)
		if (e->mark[i] != NULL)
			(void)cudaEventDestroy(e->mark[i]);
	if (e->cleared != NULL)
		(void)cudaEventDestroy(e->cleared);
	if (e->up != NULL)
		(void)cudaStreamDestroy(e->up);
	if (e->stream != NULL)
		(void)cudaStreamDestroy(e->stream);
	if (e->pinned != NULL)
		(void)cudaHostUnregister(e->pinned);
	bs_partial_cuda_close(&e->window);
	bs_devmem_close(&e->mem);
	bs_filler_close(e->filler);
	bs_slicer_close(e->slicer);
	bs_mapped_cuda_close(e->makes);
	bs_mapped_disarm(e->scan_maps);
	free(e);
}

static int take_pinned(struct bs_armed_cuda *e, const struct bs_cuda_spec *s,
		       const struct bs_arm_env *env, struct bs_fail *why)
{
	const size_t bytes = (size_t)pinned_bytes(s);
	const size_t image = (size_t)bs_devmem_round(image_bytes(s));
	unsigned char *host = (unsigned char *)bs_arena_take(env->arena, bytes, BS_ALIGN);
	void *dev = NULL;

	if (host == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': readouts and image", s->p->name);
	BS_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable),
		why);
	e->pinned = host;
	BS_CUDA(cudaHostGetDevicePointer(&dev, host, 0), why);
	e->pinned_dev = (unsigned char *)dev;
	const size_t skip = (size_t)(bs_devmem_round((uintptr_t)host) - (uintptr_t)host);

	e->image = (float *)(host + skip);
	if (e->mapped) {
		e->mem.mapped = e->pinned_dev + skip + image;
		e->mem.mapped_size = (size_t)samples_bytes(s);
		e->out = (float *)(e->pinned_dev + skip);
	} else {
		e->staging = (float *)(host + skip + image);
		if (env->pool != NULL && bs_gpu_share(env->pool, env->pool_bytes)) {
			e->pool = (const unsigned char *)env->pool;
			e->pool_bytes = env->pool_bytes;
		}
	}
	return 0;
}

/* Copies the maps to the device; the first slice's become the current ones. */
static int copy_maps(struct bs_armed_cuda *e, const struct bs_tables *tables, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const size_t bytes = (size_t)maps_bytes(p);

	if (bytes == 0)
		return 0;
	if (tables->maps == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "protocol '%s': no sensitivity maps", p->name);
	e->host_maps = tables->maps;
	e->maps_step = tables->maps_step > 0 ? tables->maps_step : bytes / 8;
	BS_CUDA(cudaMemcpy(e->maps, tables->maps, bytes, cudaMemcpyHostToDevice), why);
	for (uint32_t s = 0; e->all_maps != NULL && s < bs_protocol_map_sets(p); s++)
		BS_CUDA(cudaMemcpy(e->all_maps + s * (bytes / 8),
				   tables->maps + 2 * s * e->maps_step, bytes,
				   cudaMemcpyHostToDevice),
			why);
	return 0;
}

static int take_memory(struct bs_armed_cuda *e, const struct bs_cuda_spec *s,
		       const struct bs_tables *tables, const struct bs_arm_env *env, uint64_t more,
		       struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	uint64_t bytes;
	int rc = pool_bytes(s, more, &bytes, why);

	if (rc == 0)
		rc = bs_devmem_open(&e->mem, bytes, p->name, why);
	if (rc == 0)
		rc = take_pinned(e, s, env, why);
	if (rc != 0)
		return rc;
	e->coil_images = (float2 *)bs_devmem_take(&e->mem, coils_bytes(p));
	float *out = (float *)bs_devmem_take(&e->mem, image_bytes(s));
	float2 *maps = (float2 *)bs_devmem_take(&e->mem, maps_bytes(p));
	float2 *all_maps = (float2 *)bs_devmem_take(&e->mem, all_maps_bytes(p));
	float *moved = (float *)bs_devmem_take(&e->mem, moved_bytes(p));

	e->hz = (float *)bs_devmem_take(&e->mem, hz_bytes(p));
	if (e->coil_images == NULL || out == NULL || maps == NULL || all_maps == NULL ||
	    moved == NULL || e->hz == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images", p->name);
	if (!e->mapped)
		e->out = out;
	e->moved = moved_bytes(p) > 0 ? moved : NULL;
	e->maps = maps_bytes(p) > 0 ? maps : NULL;
	e->all_maps = all_maps_bytes(p) > 0 ? all_maps : NULL;
	return copy_maps(e, tables, why);
}

static int open_streams(struct bs_armed_cuda *e, struct bs_fail *why)
{
	int rc = bs_stream_open(&e->stream, why);

	if (rc == 0)
		rc = bs_stream_open(&e->up, why);
	for (uint32_t i = 0; rc == 0 && i < BS_CUDA_UPLOADS; i++)
		rc = bs_stream_event(&e->sent[i], why);
	if (rc == 0)
		rc = bs_stream_event(&e->cleared, why);
	for (int i = 0; rc == 0 && i < BS_CUDA_MARKS; i++)
		BS_CUDA(cudaEventCreate(&e->mark[i]), why);
	return rc;
}

/* Tables that are made for a protocol before anything stays on the device, since making
 * them takes memory. */
struct made {
	struct bs_tables tables; /* tables of the protocol, with the weights */
	float *density, *q;
};

static int open_parts(struct bs_armed_cuda *e, const struct bs_cuda_spec *s,
		      const struct made *made, const struct bs_arm_env *env, struct laps *laps,
		      struct bs_fail *why)
{
	const struct bs_tables *tables = &made->tables;
	const struct bs_protocol *p = s->p;
	uint64_t more = 0;
	int rc = 0;

	if (s->solve)
		rc = s->p->plan.solve == BS_SOLVE_CG
			     ? bs_ls_cuda_open(&e->ls, p, tables, &more, why)
			     : solve_bytes(s, tables->w, &more, why);
	if (rc == 0)
		rc = take_memory(e, s, tables, env, more, why);
	lap(laps, "memory");
	if (rc == 0)
		rc = bs_partial_cuda_open(&e->window, p, &e->mem, why);
	if (rc == 0 && !s->share)
		rc = bs_combiner_cuda_plan(&e->combiner, p, &e->mem, why);
	if (rc == 0)
		rc = s->op->plan(&e->plan, s, tables, env->team, &e->mem, why);
	lap(laps, "plan");
	if (rc == 0 && s->op->field != NULL)
		e->field = s->op->field(e->plan);
	e->varies = bs_plan_has(&p->plan, BS_PLAN_VELOCITY) || e->moved != NULL ||
		    (s->op->varies && (e->field == NULL || !bs_segments_cuda_lagged(e->field)));
	e->host_field = tables->field;
	const struct bs_proximal_cuda_given given = { made->q, tables->w, e->maps, e->coil_images };

	if (rc == 0 && e->ls != NULL && e->field != NULL)
		bs_ls_cuda_given(e->ls, e->field);
	if (rc == 0 && e->ls != NULL)
		rc = bs_ls_cuda_plan(e->ls, made->q, tables, env, e->maps, &e->mem, why);
	else if (rc == 0 && p->plan.solve == BS_SOLVE_PROX)
		rc = bs_proximal_cuda_plan(&e->prox, p, &given, &e->mem, why);
	else if (rc == 0 && s->solve)
		rc = bs_armed_cuda_unfold_plan(e, tables->w, why);
	if (rc == 0 && e->ls != NULL && s->op->normal != NULL)
		s->op->normal(e->plan, bs_ls_cuda_normal(e->ls));
	if (rc == 0 && e->prox != NULL && s->op->normal != NULL)
		s->op->normal(e->plan, bs_proximal_cuda_normal(e->prox));
	lap(laps, "solver");
	e->mem.sealed = true;
	if (rc == 0)
		rc = open_streams(e, why);
	if (rc == 0)
		rc = bs_armed_cuda_record(e, why);
	lap(laps, "graphs");
	return rc;
}

static int open_with(void **self, const struct bs_cuda_spec *s, const struct made *made,
		     const struct bs_arm_env *env, struct laps *laps, struct bs_fail *why)
{
	const struct bs_protocol *p = s->p;
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)calloc(1, sizeof(*e));
	int rc = 0;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->op = s->op;
	e->share = s->share;
	e->mapped = is_mapped(p);
	e->frames = bs_protocol_frames(p);
	e->finish = (cudaGraphExec_t *)calloc(e->frames, sizeof(*e->finish));
	e->sum = (cudaGraphExec_t *)calloc(e->frames, sizeof(*e->sum));
	e->added = (bool *)calloc(e->frames, sizeof(*e->added));
	e->newest = (uint32_t *)calloc(e->frames, sizeof(*e->newest));
	if (e->finish == NULL || e->sum == NULL || e->added == NULL || e->newest == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frames", p->name);
	if (rc == 0)
		rc = open_parts(e, s, made, env, laps, why);
	if (rc != 0) {
		bs_armed_cuda_close(e);
		return rc;
	}
	*self = e;
	return 0;
}

/*
 * Refuses a protocol that has no room on the device, before weights or Q are made, which takes
 * long.
 */
static int check_room(const struct bs_cuda_spec *s, struct bs_fail *why)
{
	struct bs_devmem all;
	uint64_t bytes;
	int rc = pool_bytes(s, 0, &bytes, why);

	if (rc != 0)
		return rc;
	rc = bs_devmem_open(&all, bytes, s->p->name, why);
	bs_devmem_close(&all);
	return rc;
}

/* Makes weights and Q while the device is empty: making them takes memory that is then freed. */
static int make(struct made *made, const struct bs_cuda_spec *s, const struct bs_tables *tables,
		const struct bs_arm_env *env, struct laps *laps, struct bs_fail *why)
{
	const bool weighs = s->p->density == BS_DENSITY_PIPE && tables->density == NULL;
	int rc = weighs || s->solve ? check_room(s, why) : 0;

	/* with paths from the stream there are no weights before the scan */
	made->tables = *tables;
	made->density = made->q = NULL;
	if (rc == 0 && !s->p->plan.streams)
		rc = bs_density_cuda_tables(&made->tables, &made->density, s->p, tables, env->team,
					    why);
	lap(laps, "weights");
	if (rc == 0 && s->solve && s->p->plan.solve == BS_SOLVE_CG && !s->p->plan.streams)
		rc = bs_lsq_cuda_q(&made->q, s->p, &made->tables, env->team, env->cache_dir, NULL,
				   why);
	if (rc == 0 && s->solve && s->p->plan.solve == BS_SOLVE_PROX)
		rc = bs_proximal_cuda_q(&made->q, s->p, &made->tables, env->team, env->cache_dir,
					why);
	lap(laps, "Q");
	return rc;
}

/*
 * Finds the variant. Without a cache nothing is measured, since every start would measure it again.
 */
static bool choose(struct bs_tuning *t, const struct bs_cuda_spec *s,
		   const struct bs_tables *tables, const char *dir, struct laps *laps)
{
	const double left =
		ARM_SECONDS - REST_SECONDS - (double)(laps->last_ns - laps->start_ns) * 1e-9;
	struct bs_fail why;
	bool found = false;

	if (t == NULL || s->op->tuned == NULL || dir == NULL || dir[0] == '\0')
		return false;
	if (s->op->tuned(t, s->p, tables->traj->k, dir, fmax(left, TUNE_SECONDS), &why) == 0)
		found = true;
	else
		bs_log(BS_LOG_WARN, "protocol '%s': variants not measured: %s", s->p->name,
		       why.text);
	lap(laps, "variants");
	return found;
}

int bs_armed_cuda_open(void **self, const struct bs_cuda_spec *spec, const struct bs_tables *tables,
		       const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_tuning *t = (struct bs_tuning *)calloc(1, sizeof(*t));
	const size_t used = env->arena->used;
	struct bs_cuda_spec s = *spec;
	struct made made;
	struct laps laps;
	int rc;

	laps.start_ns = laps.last_ns = bs_now_ns();
	laps.text[0] = '\0';
	rc = make(&made, &s, tables, env, &laps, why);
	if (rc == 0 && choose(t, &s, tables, env->cache_dir, &laps))
		s.tune = &t->trial[t->best].tune;
	if (rc == 0)
		rc = open_with(self, &s, &made, env, &laps, why);
	if (rc != 0 && s.tune != NULL) {
		/* The variant may need more memory than other protocols leave. */
		bs_log(BS_LOG_WARN, "protocol '%s': not with the measured variant: %s", s.p->name,
		       why->text);
		env->arena->used = used;
		s.tune = NULL;
		rc = open_with(self, &s, &made, env, &laps, why);
	}
	if (rc == 0)
		bs_log(BS_LOG_DEBUG, "protocol '%s': armed on GPU %d in %.3f s%s", s.p->name,
		       bs_cuda_device(), (double)(laps.last_ns - laps.start_ns) * 1e-9, laps.text);
	free(made.density);
	free(made.q);
	free(t);
	return rc;
}
