/* gpu/engine/multi/armed.cu - a protocol's shares, link and memory on several GPUs; see armed.h */
#include "gpu/engine/multi/armed.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "gpu/device/check.h"
#include "gpu/nufft/density_cuda.h"
#include "gpu/solve/lsq_cuda.h"
#include "gpu/device/stream.h"

#define GRAIN_3D 16u /* rows of y in a tile of the exact sum (gpu/exact/cuda/tile.h) */
#define GRAIN_2D 64u

static bool in_slabs(const struct bs_protocol *p)
{
	return p->plan.place == BS_PLACE_SLABS;
}

static void own_protocol(struct bs_armed_share *s, const struct bs_protocol *p, uint32_t i)
{
	const uint32_t parts = p->plan.parts;
	const uint32_t y = p->matrix[1];
	const uint64_t grain = bs_split_grain(y, p->dims == 3 ? GRAIN_3D : GRAIN_2D, parts);
	const bool slabs = in_slabs(p);

	s->coils = bs_split_part(p->coils, 1, slabs ? 1 : parts, slabs ? 0 : i);
	s->rows = bs_split_part(y, grain, slabs ? parts : 1, slabs ? i : 0);
	s->p = *p;
	s->p.coils = (uint32_t)s->coils.count;
	s->p.matrix[1] = (uint32_t)s->rows.count;
	s->p.combine = BS_COMBINE_NONE;
	s->p.output = BS_OUTPUT_COMPLEX;
	memcpy(s->p.image_matrix, s->p.matrix, sizeof(s->p.image_matrix));
	bs_plan_make(&s->p);
}

static uint64_t images_bytes(const struct bs_protocol *p)
{
	return p->plan.joint ? 0 : bs_protocol_voxels(p) * p->coils * 8;
}

static uint64_t slabs_bytes(const struct bs_protocol *p)
{
	return in_slabs(p) ? images_bytes(p) : 0;
}

static uint64_t maps_bytes(const struct bs_protocol *p)
{
	return p->combine == BS_COMBINE_SENSE ? images_bytes(p) : 0;
}

/* Bytes of the maps of all slices; 0 where there is one slice. */
static uint64_t all_maps_bytes(const struct bs_protocol *p)
{
	return p->slices > 1 ? maps_bytes(p) * p->slices : 0;
}

/* Returns the bytes on the first GPU beside its share, without the solve. */
static uint64_t first_bytes(const struct bs_protocol *p)
{
	return bs_devmem_round(images_bytes(p)) + bs_devmem_round(maps_bytes(p)) +
	       bs_devmem_round(all_maps_bytes(p)) + bs_devmem_round(slabs_bytes(p)) +
	       bs_devmem_round(bs_protocol_image_bytes(p)) + bs_combiner_cuda_bytes(p);
}

static uint64_t pinned_bytes(const struct bs_protocol *p)
{
	return BS_DEV_ALIGN + bs_devmem_round(bs_protocol_image_bytes(p));
}

/* Returns what one GPU arms. A share of a joint solve ends with F^H d. */
static struct bs_cuda_spec spec_of(const struct bs_armed_share *s, const struct bs_protocol *p)
{
	struct bs_cuda_spec own = bs_cuda_spec_of(&s->p);

	own.share = true;
	own.solve = own.solve && !in_slabs(p) && !s->p.plan.joint;
	return own;
}

int bs_armed_multi_need(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why)
{
	struct bs_armed_share s;
	int rc = 0;

	for (uint32_t i = 0; i < p->plan.parts && rc == 0; i++) {
		own_protocol(&s, p, i);
		const struct bs_cuda_spec own = spec_of(&s, p);

		rc = bs_armed_cuda_need(&own, n, why);
	}
	if (rc == 0)
		bs_need_add(n, "pinned image", 1, pinned_bytes(p));
	return rc;
}

/*
 * Finds the bytes of the solve on GPU i: its part of a joint solve with `coils` coils; for slabs
 * the whole solve, on the first GPU.
 */
static int joint_bytes(const struct bs_protocol *p, uint32_t i, uint32_t coils, uint64_t *bytes,
		       struct bs_fail *why)
{
	*bytes = 0;
	if (p->plan.joint)
		return bs_ls_cuda_bytes_share(p, NULL, coils, p->plan.parts, bytes, why);
	return in_slabs(p) && i == 0 ? bs_ls_cuda_bytes(p, NULL, bytes, why) : 0;
}

int bs_armed_multi_device(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why)
{
	static const char *const words[BS_DEVICES_MAX] = {
		"device, first GPU",   "device, second GPU", "device, third GPU",
		"device, fourth GPU",  "device, fifth GPU",  "device, sixth GPU",
		"device, seventh GPU", "device, eighth GPU",
	};
	struct bs_armed_share s;
	int rc = 0;

	for (uint32_t i = 0; i < p->plan.parts && rc == 0; i++) {
		own_protocol(&s, p, i);
		const struct bs_cuda_spec own = spec_of(&s, p);
		struct bs_need gpu;
		uint64_t joint = 0;

		memset(&gpu, 0, sizeof(gpu));
		rc = bs_armed_cuda_device(&own, NULL, &gpu, why);
		if (rc == 0)
			rc = joint_bytes(p, i, s.p.coils, &joint, why);
		if (rc == 0 && gpu.overflow)
			rc = bs_fail(why, BS_ERR_NOMEM,
				     "protocol '%s': its device memory does not fit 64 bits",
				     p->name);
		if (rc == 0)
			bs_need_add(n, words[i], 1,
				    gpu.total_bytes + joint + (i == 0 ? first_bytes(p) : 0));
	}
	return rc;
}

void bs_armed_multi_close(void *self)
{
	struct bs_armed_multi *e = (struct bs_armed_multi *)self;

	if (e->link != NULL)
		(void)bs_link_wait(e->link, NULL);
	bs_ls_multi_close(e->ls);
	bs_ls_cuda_close(e->lone);
	bs_combiner_cuda_close(e->combiner);
	for (uint32_t i = 0; i < e->parts && e->link != NULL; i++) {
		if (bs_link_enter(e->link, i, NULL) != 0)
			continue;
		if (e->share[i].gpu != NULL)
			bs_armed_cuda_close(e->share[i].gpu);
		if (e->share[i].done != NULL)
			(void)cudaEventDestroy(e->share[i].done);
	}
	if (e->link != NULL)
		(void)bs_link_enter(e->link, 0, NULL);
	for (int i = 0; i < BS_MULTI_MARKS; i++)
		if (e->mark[i] != NULL)
			(void)cudaEventDestroy(e->mark[i]);
	if (e->pinned != NULL)
		(void)cudaHostUnregister(e->pinned);
	bs_devmem_close(&e->mem);
	bs_link_close(e->link);
	free(e);
}

static int open_link(struct bs_armed_multi *e, struct bs_fail *why)
{
	int device[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < e->parts; i++)
		device[i] = (int)e->p->gpu_devices.device[i];
	return bs_link_open(&e->link, e->parts, device, BS_LINK_AUTO, why);
}

static int arm_share(struct bs_armed_multi *e, uint32_t i, const struct bs_tables *tables,
		     const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_armed_share *s = &e->share[i];
	void *gpu = NULL;
	int rc = bs_link_enter(e->link, i, why);

	own_protocol(s, e->p, i);
	s->tables = *tables;
	const struct bs_cuda_spec own = spec_of(s, e->p);

	if (!e->p->plan.joint)
		s->tables.maps = NULL;
	else if (tables->maps != NULL)
		s->tables.maps += 2 * s->coils.first * bs_protocol_voxels(e->p);
	s->tables.maps_step = bs_protocol_voxels(e->p) * e->p->coils;
	/* distance in rows from the center of the image to the center of the slab */
	s->tables.slab_y =
		(int32_t)(s->rows.first + s->rows.count / 2) - (int32_t)(e->p->matrix[1] / 2);
	if (rc == 0)
		rc = bs_stream_event(&s->done, why);
	if (rc == 0)
		rc = bs_armed_cuda_open(&gpu, &own, &s->tables, env, why);
	s->gpu = (struct bs_armed_cuda *)gpu;
	return rc;
}

/* Takes memory on each GPU. more: bytes for the solve that is planned next. */
static int take_memory(struct bs_armed_multi *e, const struct bs_tables *tables,
		       const struct bs_arm_env *env, uint64_t more, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const size_t bytes = (size_t)pinned_bytes(p);
	int rc = bs_devmem_open(&e->mem, first_bytes(p) + more, p->name, why);
	unsigned char *host = (unsigned char *)bs_arena_take(env->arena, bytes, BS_ALIGN);

	if (rc != 0)
		return rc;
	e->images = (float2 *)bs_devmem_take(&e->mem, images_bytes(p));
	e->slabs = (float2 *)bs_devmem_take(&e->mem, slabs_bytes(p));
	e->out = (float *)bs_devmem_take(&e->mem, bs_protocol_image_bytes(p));
	if (host == NULL || e->images == NULL || e->slabs == NULL || e->out == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images", p->name);
	if (maps_bytes(p) > 0 && tables->maps == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "protocol '%s': no sensitivity maps", p->name);
	if (maps_bytes(p) > 0)
		rc = bs_devmem_upload(&e->mem, &e->maps, tables->maps, maps_bytes(p), why);
	if (rc == 0 && all_maps_bytes(p) > 0)
		rc = bs_devmem_upload(&e->mem, &e->all_maps, tables->maps, all_maps_bytes(p), why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterPortable), why);
	e->pinned = host;
	e->image = (float *)(host + (bs_devmem_round((uintptr_t)host) - (uintptr_t)host));
	for (int i = 0; i < BS_MULTI_MARKS; i++)
		BS_CUDA(cudaEventCreate(&e->mark[i]), why);
	return 0;
}

static int plan_sense(struct bs_armed_multi *e, const struct bs_tables *tables,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	const float2 *maps[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < e->parts; i++)
		maps[i] = e->share[i].gpu->maps;
	return bs_ls_multi_open(&e->ls, e->link, e->p, tables, env, maps, why);
}

/* Plans what the first GPU does beside its share. */
static int plan_first(struct bs_armed_multi *e, const struct bs_tables *tables,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	uint64_t more = 0;
	float *q = NULL;
	int rc = bs_link_enter(e->link, 0, why);

	if (rc == 0 && in_slabs(e->p))
		rc = bs_ls_cuda_open(&e->lone, e->p, tables, &more, why);
	if (rc == 0 && in_slabs(e->p))
		rc = bs_lsq_cuda_q(&q, e->p, tables, env->team, env->cache_dir, NULL, why);
	if (rc == 0)
		rc = take_memory(e, tables, env, more, why);
	if (rc == 0)
		rc = bs_combiner_cuda_plan(&e->combiner, e->p, &e->mem, why);
	if (rc == 0 && in_slabs(e->p))
		rc = bs_ls_cuda_plan(e->lone, q, tables, env, NULL, &e->mem, why);
	free(q);
	e->mem.sealed = true;
	if (rc == 0 && e->p->plan.joint)
		rc = plan_sense(e, tables, env, why);
	return rc != 0 ? rc : bs_cuda_copied(why);
}

/* Runs everything once, since NCCL and the driver set up much at the first use. */
static int rehearse(struct bs_armed_multi *e, struct bs_fail *why)
{
	int rc = bs_armed_multi_follow(e, why);

	if (rc == 0 && bs_armed_multi_is_joint(e))
		rc = bs_armed_multi_solve(e, e->p->iterations, INT64_MAX, why);
	if (rc == 0)
		rc = bs_armed_multi_queue_image(e, why);
	return rc == 0 ? bs_link_wait(e->link, why) : bs_link_leave(e->link, rc, why);
}

/* Makes a thread's first call to each GPU now and not during a scan: it takes time and memory. */
static void meet(void *arg, int, int)
{
	struct bs_armed_multi *e = (struct bs_armed_multi *)arg;

	for (uint32_t i = e->parts; i-- > 0;)
		(void)bs_link_enter(e->link, i, NULL);
}

int bs_armed_multi_open(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
			const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_armed_multi *e = (struct bs_armed_multi *)calloc(1, sizeof(*e));
	char words[BS_PLAN_PLACE_WORDS];
	struct bs_tables with;
	float *density = NULL;
	int rc;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->team = env->team;
	e->parts = p->plan.parts;
	rc = open_link(e, why);
	if (rc == 0)
		rc = bs_link_enter(e->link, 0, why);
	/* The weights depend on the whole image, so they are the same for all shares. */
	if (rc == 0)
		rc = bs_density_cuda_tables(&with, &density, p, tables, env->team, why);
	for (uint32_t i = 0; i < e->parts && rc == 0; i++)
		rc = arm_share(e, i, &with, env, why);
	if (rc == 0)
		rc = plan_first(e, &with, env, why);
	/* the shares' copies are not used any more; freed below */
	for (uint32_t i = 0; i < e->parts; i++)
		e->share[i].tables.density = NULL;
	free(density);
	if (rc == 0)
		rc = rehearse(e, why);
	if (rc != 0) {
		bs_armed_multi_close(e);
		return rc;
	}
	bs_team_each(e->team, meet, e);
	bs_log(BS_LOG_INFO, "protocol '%s': %s, %s", p->name,
	       bs_plan_place_words(words, sizeof(words), p), bs_link_name(e->link));
	*self = e;
	return 0;
}
