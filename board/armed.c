/* board/armed.c - see armed.h */
#include "board/armed.h"

#include "core/clock.h"
#include "gpu/engines.h"

#include <string.h>

int bs_armed_open(struct bs_armed *a, const struct bs_site *site, const struct bs_protocol *p,
		  struct bs_team *team, struct bs_fail *why)
{
	return bs_armed_open_with(a, site, p, NULL, team, why);
}

int bs_armed_open_with(struct bs_armed *a, const struct bs_site *site, const struct bs_protocol *p,
		       const struct bs_csr *w, struct bs_team *team, struct bs_fail *why)
{
	int64_t start_ns = bs_now_ns();
	struct bs_arm_env env = { &a->arena, team, site->cache_dir };
	int rc;

	memset(a, 0, sizeof(*a));
	a->protocol = p;
	rc = bs_engine_find(&a->engine, p, why);
	if (rc == 0)
		rc = bs_tables_load(&a->loaded, p, why);
	if (w != NULL)
		a->loaded.tables.w = w;
	if (rc == 0)
		rc = bs_recon_need(p, a->engine, &a->need, why);
	if (rc == 0 && a->need.overflow)
		rc = bs_fail(why, BS_ERR_NOMEM,
			     "protocol '%s': its memory plan does not fit 64 bits", p->name);
	if (rc == 0)
		rc = bs_arena_open(&a->arena, a->need.total_bytes, why);
	if (rc == 0)
		rc = bs_recon_arm(&a->recon, p, a->engine, &a->loaded.tables, &env, why);
	if (rc != 0) {
		bs_armed_close(a);
		return rc;
	}
	a->arena.sealed = true;
	a->arm_ns = bs_now_ns() - start_ns;
	return 0;
}

void bs_armed_close(struct bs_armed *a)
{
	bs_recon_disarm(a->recon);
	bs_arena_close(&a->arena);
	bs_tables_free(&a->loaded);
	memset(a, 0, sizeof(*a));
}
