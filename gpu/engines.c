/* gpu/engines.c - which engine serves a method and a backend; see engines.h */
#include "gpu/engines.h"

/* One row per method; NULL where this build has none. */
static const struct {
	const char *method;
	const struct bs_engine *host, *cuda;
} table[] = {
	[BS_METHOD_GRIDDING] = { "gridding", &bs_engine_gridding_host, NULL },
	[BS_METHOD_LS] = { "ls", NULL, NULL },
	[BS_METHOD_SENSE] = { "sense", NULL, NULL },
	[BS_METHOD_CARTESIAN] = { "cartesian", &bs_engine_cartesian_host, NULL },
	[BS_METHOD_NOOP] = { "noop", &bs_engine_noop, &bs_engine_noop },
};

int bs_engine_find(const struct bs_engine **engine, const struct bs_protocol *p,
		   struct bs_fail *why)
{
	if ((unsigned)p->method >= sizeof(table) / sizeof(table[0]))
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': no such method", p->name);
	*engine = p->backend == BS_BACKEND_CUDA ? table[p->method].cuda : table[p->method].host;
	if (*engine == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': method %s has no %s engine here",
			       p->name, table[p->method].method,
			       p->backend == BS_BACKEND_CUDA ? "CUDA" : "host");
	return 0;
}
