/* gpu/engine/multi/ls.cu - see ls.h */
#include "gpu/engine/multi/ls.h"

#include <stdlib.h>

#include "gpu/device/check.h"
#include "gpu/solve/ls_cuda.h"
#include "gpu/solve/lsq_cuda.h"
#include "gpu/solve/pcg_cuda.h"
#include "gpu/solve/watch.h"

struct bs_ls_multi {
	struct bs_link *link;
	uint32_t parts;
	size_t image_bytes;
	struct bs_ls_cuda *part[BS_DEVICES_MAX];
	struct bs_devmem mem[BS_DEVICES_MAX];
	struct bs_watch watch; /* watch of the first GPU: all GPUs make the same iterations */
};

static int open_part(struct bs_ls_multi *s, uint32_t i, const struct bs_protocol *p,
		     const struct bs_tables *tables, const float *q, const struct bs_arm_env *env,
		     const float2 *maps, struct bs_fail *why)
{
	const struct bs_split coils = bs_split_part(p->coils, 1, s->parts, i);
	uint64_t bytes = 0;
	int rc = bs_ls_cuda_open_share(&s->part[i], p, tables, (uint32_t)coils.count, s->parts, i,
				       &bytes, why);

	if (rc == 0)
		rc = bs_devmem_open(&s->mem[i], bytes, p->name, why);
	if (rc == 0)
		rc = bs_ls_cuda_plan(s->part[i], q, tables, env, maps, &s->mem[i], why);
	return rc != 0 ? rc : bs_cuda_copied(why);
}

int bs_ls_multi_open(struct bs_ls_multi **ls, struct bs_link *link, const struct bs_protocol *p,
		     const struct bs_tables *tables, const struct bs_arm_env *env,
		     const float2 *const *maps, struct bs_fail *why)
{
	struct bs_ls_multi *s = (struct bs_ls_multi *)calloc(1, sizeof(*s));
	float *q = NULL;
	int rc;

	*ls = NULL;
	if (s == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': solver", p->name);
	s->link = link;
	s->parts = bs_link_parts(link);
	s->image_bytes = (size_t)bs_protocol_voxels(p) * 8;
	rc = bs_lsq_cuda_q(&q, p, tables, env->team, env->cache_dir, NULL, why);
	if (rc == 0)
		rc = bs_link_each(link, why, [=](uint32_t i) {
			return open_part(s, i, p, tables, q, env, maps[i], why);
		});
	free(q);
	rc = bs_link_leave(link, rc, why);
	if (rc == 0)
		rc = bs_watch_open(&s->watch, why);
	if (rc != 0) {
		bs_ls_multi_close(s);
		return rc;
	}
	*ls = s;
	return 0;
}

void bs_ls_multi_close(struct bs_ls_multi *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < s->parts; i++) {
		if (bs_link_enter(s->link, i, NULL) != 0)
			continue;
		bs_ls_cuda_close(s->part[i]);
		bs_devmem_close(&s->mem[i]);
	}
	(void)bs_link_enter(s->link, 0, NULL);
	bs_watch_close(&s->watch);
	free(s);
}

/* Brings every GPU's addend to all GPUs. */
static int exchange(struct bs_ls_multi *s, struct bs_fail *why)
{
	void *all[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < s->parts; i++)
		all[i] = bs_ls_cuda_addends(s->part[i]);
	return bs_link_allgather(s->link, all, s->image_bytes, why);
}

typedef int (*step)(struct bs_pcg_cuda *part, cudaStream_t stream, struct bs_fail *why);

static int on_all(struct bs_ls_multi *s, step queue, struct bs_fail *why)
{
	return bs_link_each(s->link, why, [=](uint32_t i) {
		return queue(bs_ls_cuda_pcg(s->part[i]), bs_link_stream(s->link, i), why);
	});
}

static int begin(struct bs_ls_multi *s, const float2 *const *images, struct bs_fail *why)
{
	int rc = bs_link_each(s->link, why, [=](uint32_t i) {
		return bs_ls_cuda_load(s->part[i], images[i], bs_link_stream(s->link, i), why);
	});

	if (rc == 0)
		rc = exchange(s, why);
	return rc != 0 ? rc : bs_link_each(s->link, why, [=](uint32_t i) {
		return bs_ls_cuda_begin(s->part[i], bs_link_stream(s->link, i), why);
	});
}

static int together(struct bs_ls_multi *s, step product, step then, struct bs_fail *why)
{
	int rc = on_all(s, product, why);

	if (rc == 0)
		rc = exchange(s, why);
	return rc != 0 ? rc : on_all(s, then, why);
}

static int iterate(struct bs_ls_multi *s, struct bs_fail *why)
{
	return together(s, bs_pcg_cuda_product, bs_pcg_cuda_step, why);
}

static int iterate_all(struct bs_ls_multi *s, uint32_t most, struct bs_fail *why)
{
	int rc = 0;

	for (uint32_t n = 0; n < most && rc == 0; n++)
		rc = iterate(s, why);
	return rc;
}

static int watched(void *arg, cudaEvent_t done, struct bs_fail *why)
{
	struct bs_ls_multi *s = (struct bs_ls_multi *)arg;
	int rc = iterate(s, why);

	if (rc == 0)
		rc = bs_link_enter(s->link, 0, why);
	return rc != 0 ? rc : BS_CUDA_RC(cudaEventRecord(done, bs_link_stream(s->link, 0)), why);
}

static int watch(struct bs_ls_multi *s, uint32_t most, int64_t deadline_ns, bool *late,
		 struct bs_fail *why)
{
	int rc = bs_link_wait(s->link, why);

	return rc != 0 ? rc : bs_watch_run(&s->watch, most, deadline_ns, watched, s, late, why);
}

int bs_ls_multi_use(struct bs_ls_multi *s, uint32_t slice, struct bs_fail *why)
{
	const int rc = bs_link_each(s->link, why, [=](uint32_t i) {
		return bs_ls_cuda_use(s->part[i], slice, bs_link_stream(s->link, i), why);
	});

	return bs_link_leave(s->link, rc, why);
}

int bs_ls_multi_run(struct bs_ls_multi *s, const float2 *const *images, uint32_t most,
		    int64_t deadline_ns, struct bs_report *report, struct bs_fail *why)
{
	struct bs_pcg_result result;
	bool late = false;
	int rc = begin(s, images, why);

	if (rc == 0)
		rc = deadline_ns == INT64_MAX ? iterate_all(s, most, why)
					      : watch(s, most, deadline_ns, &late, why);
	if (rc == 0)
		rc = together(s, bs_pcg_cuda_last_product, bs_pcg_cuda_last_step, why);
	if (rc == 0)
		rc = bs_link_enter(s->link, 0, why);
	if (rc == 0)
		rc = bs_pcg_cuda_wait(bs_ls_cuda_pcg(s->part[0]), bs_link_stream(s->link, 0),
				      &result, why);
	if (rc == 0) {
		bs_report_solve(report, true, result.iterations, result.residual);
		report->deadline_stop = late && report->iterations < most;
	}
	return bs_link_leave(s->link, rc, why);
}

const float2 *bs_ls_multi_image(const struct bs_ls_multi *s)
{
	return bs_ls_cuda_image(s->part[0]);
}
