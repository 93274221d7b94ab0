/* board/arm/open.c - a protocol is armed, on several GPUs or the first; see armed.h */
#include <stdlib.h>
#include <string.h>

#include "board/arm/armed.h"
#include "core/log.h"
#include "core/thread/clock.h"
#include "gpu/engine/engines.h"

/* Arms a protocol with its engine and its loaded tables. */
static int begin_armed(struct bs_armed *a, const struct bs_protocol *p, const struct bs_csr *w,
		       struct bs_fail *why)
{
	int rc;

	memset(a, 0, sizeof(*a));
	a->own = *p;
	a->protocol = &a->own;
	bs_mixer_inner(&a->inner, a->protocol);
	rc = bs_engine_find(&a->engine, &a->inner, why);
	if (rc == 0)
		rc = bs_tables_load(&a->loaded, &a->inner, why);
	if (rc == 0 && a->loaded.tables.traj != NULL)
		a->own.readouts = a->inner.readouts = a->loaded.traj.readouts;
	if (rc == 0 && a->inner.plan.takes[BS_KEPT_IMAGE] && w == NULL)
		rc = bs_anatomy_open(&a->anatomy, &a->inner, why);
	if (a->anatomy != NULL) {
		a->loaded.tables.live = bs_anatomy_live(a->anatomy);
		w = &a->loaded.tables.live->w;
	}
	if (w != NULL)
		a->loaded.tables.w = w;
	return rc;
}

static int arm_begun(struct bs_armed *a, const char *cache_dir, const struct bs_arm_env *given,
		     struct bs_fail *why)
{
	const struct bs_protocol *p = a->protocol;
	struct bs_arm_env env = *given;
	int rc = bs_recon_need(&a->inner, a->engine, &a->need, why);

	env.arena = &a->arena;
	env.cache_dir = cache_dir;
	if (rc == 0)
		rc = bs_mixer_need(p, &a->need, why);
	if (rc == 0)
		rc = bs_phases_need(p, &a->need, why);
	if (rc == 0 && a->need.overflow)
		rc = bs_fail(why, BS_ERR_NOMEM,
			     "protocol '%s': its memory plan does not fit 64 bits", p->name);
	if (rc == 0)
		rc = bs_arena_open(&a->arena, a->need.total_bytes, why);
	if (rc == 0)
		rc = bs_recon_arm(&a->recon, &a->inner, a->engine, &a->loaded.tables, &env, why);
	if (rc == 0)
		rc = bs_mixer_arm(&a->mixer, p, a->recon, &env, why);
	if (rc == 0)
		rc = bs_phases_arm(&a->phases, p, a->recon, &a->arena, why);
	a->arena.sealed = true;
	return rc;
}

/* Arms the protocol on its first GPU alone, for the rest of its life. */
static int keep_first(struct bs_armed *a, struct bs_fail *why)
{
	a->own.gpu_devices.count = a->inner.gpu_devices.count = 1;
	bs_plan_make(&a->own);
	bs_plan_make(&a->inner);
	return bs_engine_find(&a->engine, &a->inner, why);
}

static int arm_alone(struct bs_armed *a, const struct bs_protocol *p, const struct bs_csr *w,
		     const char *cache_dir, const struct bs_arm_env *env, struct bs_fail *why)
{
	int rc = begin_armed(a, p, w, why);

	if (rc == 0)
		rc = keep_first(a, why);
	return rc != 0 ? rc : arm_begun(a, cache_dir, env, why);
}

/* Compares a protocol armed on all its GPUs with itself on the first, and
 * leaves the faster armed. */
static int compare(struct bs_armed *a, const struct bs_protocol *p, const struct bs_csr *w,
		   const char *cache_dir, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_armed *other = calloc(1, sizeof(*other));
	struct bs_alone s = { 0 };
	struct bs_fail reason = { 0 };
	int rc;

	if (other == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	rc = arm_alone(other, p, w, cache_dir, env, &reason);
	if (rc == 0)
		rc = bs_alone_measure(&s, a, other, cache_dir, why);
	else /* both do not fit on the first GPU: so large a protocol is shared out */
		bs_log(BS_LOG_INFO, "protocol '%s': not compared with GPU %u alone: %s", p->name,
		       p->gpu_devices.device[0], reason.text);
	rc = reason.code != 0 ? 0 : rc;
	bs_armed_close(other);
	free(other);
	if (rc == 0 && s.chosen) {
		bs_armed_close(a);
		rc = arm_alone(a, p, w, cache_dir, env, why);
	}
	a->alone = s;
	return rc;
}

static int open_armed(struct bs_armed *a, const struct bs_site *site, const struct bs_protocol *p,
		      const struct bs_csr *w, const struct bs_arm_env *env, struct bs_fail *why)
{
	const int64_t start_ns = bs_now_ns();
	struct bs_alone s = { 0 };
	bool asked = false;
	bool known = false;
	int rc = begin_armed(a, p, w, why);

	if (rc == 0) {
		asked = bs_alone_asked(a->engine, &a->inner, site->cache_dir);
		known = asked && bs_alone_known(&s, a, site->cache_dir);
		a->alone = s;
	}
	if (rc == 0 && s.chosen)
		rc = keep_first(a, why);
	if (rc == 0)
		rc = arm_begun(a, site->cache_dir, env, why);
	if (rc == 0 && asked && !known && bs_alone_keeps(site->cache_dir))
		rc = compare(a, p, w, site->cache_dir, env, why);
	if (rc != 0) {
		bs_armed_close(a);
		return rc;
	}
	a->arm_ns = bs_now_ns() - start_ns;
	return 0;
}

void bs_armed_place(char *words, size_t size, const struct bs_armed *a)
{
	size_t n;

	bs_engine_place(words, size, a->engine, &a->inner);
	n = strlen(words);
	bs_alone_words(words + n, size - n, &a->alone);
}

int bs_armed_open(struct bs_armed *a, const struct bs_site *site, const struct bs_protocol *p,
		  struct bs_team *team, struct bs_fail *why)
{
	return bs_armed_open_with(a, site, p, NULL, team, why);
}

int bs_armed_open_with(struct bs_armed *a, const struct bs_site *site, const struct bs_protocol *p,
		       const struct bs_csr *w, struct bs_team *team, struct bs_fail *why)
{
	const struct bs_arm_env env = { .team = team };

	return open_armed(a, site, p, w, &env, why);
}

int bs_armed_open_on(struct bs_armed *a, const struct bs_site *site, const struct bs_protocol *p,
		     struct bs_team *team, const void *pool, size_t pool_bytes, struct bs_fail *why)
{
	const struct bs_arm_env env = { .team = team, .pool = pool, .pool_bytes = pool_bytes };

	return open_armed(a, site, p, NULL, &env, why);
}
