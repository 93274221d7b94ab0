/* gpu/engine/cuda/armed.cu - a protocol's memory, streams and parts on one GPU; see armed.h */
#include "gpu/engine/cuda/armed.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "gpu/device/check.h"
#include "gpu/nufft/density_cuda.h"
#include "gpu/device/stream.h"

static uint64_t readout_bytes(const struct bs_protocol *p)
{
	return (uint64_t)p->samples * p->coils * 8;
}

static uint64_t maps_bytes(const struct bs_protocol *p)
{
	return p->combine == BS_COMBINE_SENSE || bs_methods[p->method].uses_maps
		       ? bs_protocol_voxels(p) * p->coils * 8
		       : 0;
}

static bool is_mapped(const struct bs_protocol *p)
{
	return p->gpu_memory == BS_GPU_MEMORY_MAPPED ||
	       (p->gpu_memory == BS_GPU_MEMORY_AUTO && bs_gpu_integrated());
}

/* Readouts of all frames, as the operators take them. */
static uint64_t samples_bytes(const struct bs_cuda_operator *m, const struct bs_protocol *p)
{
	return bs_devmem_round(m->coil_step(p) * p->coils * 8) * p->slices * p->contrasts;
}

static uint64_t image_bytes(const struct bs_protocol *p, bool share)
{
	return share ? 0 : bs_protocol_image_bytes(p);
}

/* Host memory, page-locked when armed. */
static uint64_t pinned_bytes(const struct bs_cuda_operator *m, const struct bs_protocol *p,
			     bool share)
{
	return BS_DEV_ALIGN + bs_devmem_round(image_bytes(p, share)) +
	       (is_mapped(p) ? samples_bytes(m, p) : BS_CUDA_UPLOADS * readout_bytes(p));
}

/* Device memory without the solver's, whose W the protocol alone does not tell. */
static int device_need(const struct bs_cuda_operator *m, const struct bs_protocol *p, bool share,
		       struct bs_need *need, struct bs_fail *why)
{
	memset(need, 0, sizeof(*need));
	bs_need_add(need, "device coil images", 1,
		    bs_devmem_round(bs_protocol_voxels(p) * p->coils * 8));
	bs_need_add(need, "device image", 1, bs_devmem_round(image_bytes(p, share)));
	bs_need_add(need, "device sensitivities", 1, bs_devmem_round(maps_bytes(p)));
	bs_need_add(need, "device window", 1, bs_partial_cuda_bytes(p));
	return m->need(p, need, why);
}

/* What open takes in one piece; more: the solver's. */
static int pool_bytes(const struct bs_cuda_operator *m, const struct bs_protocol *p, bool share,
		      uint64_t more, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_need need;
	int rc = device_need(m, p, share, &need, why);

	*bytes = need.total_bytes + more - (is_mapped(p) ? samples_bytes(m, p) : 0);
	return rc;
}

int bs_armed_cuda_need(const struct bs_cuda_operator *m, const struct bs_protocol *p, bool share,
		       struct bs_need *need, struct bs_fail *why)
{
	struct bs_need device;
	int rc = bs_partial_cuda_check(p, why);

	if (rc == 0)
		rc = device_need(m, p, share, &device, why);
	if (rc != 0)
		return rc;
	if (device.overflow)
		return bs_fail(why, BS_ERR_NOMEM,
			       "protocol '%s': its device memory does not fit 64 bits", p->name);
	bs_need_add(need, "pinned readouts and image", 1, pinned_bytes(m, p, share));
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
	bs_solver_cuda_close(e->solver);
	if (e->op != NULL)
		e->method->close(e->op);
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
	free(e);
}

static int take_pinned(struct bs_armed_cuda *e, const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const size_t bytes = (size_t)pinned_bytes(e->method, p, e->share);
	const size_t image = (size_t)bs_devmem_round(image_bytes(p, e->share));
	unsigned char *host = (unsigned char *)bs_arena_take(env->arena, bytes, BS_ALIGN);
	void *dev = NULL;

	if (host == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': readouts and image", p->name);
	BS_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable),
		why);
	e->pinned = host;
	BS_CUDA(cudaHostGetDevicePointer(&dev, host, 0), why);
	e->pinned_dev = (unsigned char *)dev;
	const size_t skip = (size_t)(bs_devmem_round((uintptr_t)host) - (uintptr_t)host);

	e->image = (float *)(host + skip);
	if (e->mapped) {
		e->mem.mapped = e->pinned_dev + skip + image;
		e->mem.mapped_size = (size_t)samples_bytes(e->method, p);
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

static int take_memory(struct bs_armed_cuda *e, const struct bs_tables *tables,
		       const struct bs_arm_env *env, uint64_t more, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	uint64_t bytes;
	int rc = pool_bytes(e->method, p, e->share, more, &bytes, why);

	if (rc == 0)
		rc = bs_devmem_open(&e->mem, bytes, p->name, why);
	if (rc == 0)
		rc = take_pinned(e, env, why);
	if (rc != 0)
		return rc;
	e->coil_images = (float2 *)bs_devmem_take(&e->mem, bs_protocol_voxels(p) * p->coils * 8);
	float *out = (float *)bs_devmem_take(&e->mem, image_bytes(p, e->share));
	float2 *maps = (float2 *)bs_devmem_take(&e->mem, maps_bytes(p));

	if (e->coil_images == NULL || out == NULL || maps == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images", p->name);
	if (!e->mapped)
		e->out = out;
	if (maps_bytes(p) == 0)
		return 0;
	if (tables->maps == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "protocol '%s': no sensitivity maps", p->name);
	BS_CUDA(cudaMemcpy(maps, tables->maps, maps_bytes(p), cudaMemcpyHostToDevice), why);
	e->maps = maps;
	return 0;
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

static int open_with(const struct bs_cuda_operator *m, bool solve, bool share, void **self,
		     const struct bs_protocol *p, const struct bs_tables *tables,
		     const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)calloc(1, sizeof(*e));
	uint64_t more = 0;
	int rc = 0;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->method = m;
	e->share = share;
	e->mapped = is_mapped(p);
	e->frames = p->slices * p->contrasts;
	e->finish = (cudaGraphExec_t *)calloc(e->frames, sizeof(*e->finish));
	e->sum = (cudaGraphExec_t *)calloc(e->frames, sizeof(*e->sum));
	e->added = (bool *)calloc(e->frames, sizeof(*e->added));
	if (e->finish == NULL || e->sum == NULL || e->added == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frames", p->name);
	if (rc == 0 && solve)
		rc = bs_solver_cuda_open(&e->solver, p, tables, &more, why);
	if (rc == 0)
		rc = take_memory(e, tables, env, more, why);
	if (rc == 0)
		rc = bs_partial_cuda_open(&e->window, p, &e->mem, why);
	if (rc == 0)
		rc = m->plan(&e->op, p, tables, env->team, &e->mem, why);
	if (rc == 0 && solve)
		rc = bs_solver_cuda_plan(e->solver, tables, env, e->maps, &e->mem, why);
	e->mem.sealed = true;
	if (rc == 0)
		rc = open_streams(e, why);
	if (rc == 0)
		rc = bs_armed_cuda_record(e, why);
	if (rc != 0) {
		bs_armed_cuda_close(e);
		return rc;
	}
	*self = e;
	return 0;
}

/* A protocol that has no room on the device is refused before its weights are worked on. */
static int check_room(const struct bs_cuda_operator *m, bool share, const struct bs_protocol *p,
		      struct bs_fail *why)
{
	struct bs_devmem all;
	uint64_t bytes;
	int rc = pool_bytes(m, p, share, 0, &bytes, why);

	if (rc != 0)
		return rc;
	rc = bs_devmem_open(&all, bytes, p->name, why);
	bs_devmem_close(&all);
	return rc;
}

/* The weights first, while the device is as empty as it gets: what makes them is given back by then. */
int bs_armed_cuda_open(const struct bs_cuda_operator *m, bool solve, bool share, void **self,
		       const struct bs_protocol *p, const struct bs_tables *tables,
		       const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_tables with;
	float *density = NULL;
	int rc = p->density == BS_DENSITY_PIPE && tables->density == NULL
			 ? check_room(m, share, p, why)
			 : 0;

	if (rc == 0)
		rc = bs_density_cuda_tables(&with, &density, p, tables, env->team, why);
	if (rc == 0)
		rc = open_with(m, solve, share, self, p, &with, env, why);
	free(density);
	return rc;
}

/* An operator that grids, with the variant measured for it; a choice outlives no arming. */
int bs_armed_cuda_open_tuned(const struct bs_cuda_operator *m, bool solve, bool share, void **self,
			     const struct bs_protocol *p, const struct bs_tables *tables,
			     const struct bs_arm_env *env, struct bs_fail *why)
{
	const size_t used = env->arena->used;

	bs_gridding_cuda_choose(p, tables->traj->k, env->cache_dir);
	int rc = bs_armed_cuda_open(m, solve, share, self, p, tables, env, why);
	const bool chosen = bs_gridding_cuda_forget();

	if (rc == 0 || !chosen)
		return rc;
	/* it may want more memory than is left beside other protocols */
	bs_log(BS_LOG_WARN, "protocol '%s': not with the measured variant: %s", p->name, why->text);
	env->arena->used = used;
	return bs_armed_cuda_open(m, solve, share, self, p, tables, env, why);
}

const struct bs_cuda_operator *bs_armed_cuda_sum(const struct bs_protocol *p)
{
	return p->fhd == BS_SUM_EXACT ? &bs_cuda_sum_exact : &bs_cuda_sum_nufft;
}

int bs_armed_cuda_open_ls(bool solve, bool share, void **self, const struct bs_protocol *p,
			  const struct bs_tables *tables, const struct bs_arm_env *env,
			  struct bs_fail *why)
{
	return (p->fhd == BS_SUM_NUFFT ? bs_armed_cuda_open_tuned : bs_armed_cuda_open)(
		bs_armed_cuda_sum(p), solve, share, self, p, tables, env, why);
}
