/* gpu/engines.c - which engine serves a method and a backend; see engines.h */
#include "gpu/engines.h"

#if BS_GPU
#include "gpu/devmem.h"
#include "gpu/stream.h"
#define CUDA(engine) (&(engine))
#else
#define CUDA(engine) NULL
#endif

/* One row per method; NULL where this build has none. */
static const struct {
	const char *method;
	const struct bs_engine *host, *cuda;
} table[] = {
	[BS_METHOD_GRIDDING] = { "gridding", &bs_engine_gridding_host,
				 CUDA(bs_engine_gridding_cuda) },
	[BS_METHOD_LS] = { "ls", &bs_engine_ls_host, CUDA(bs_engine_ls_cuda) },
	[BS_METHOD_SENSE] = { "sense", &bs_engine_sense_host, CUDA(bs_engine_sense_cuda) },
	[BS_METHOD_CARTESIAN] = { "cartesian", &bs_engine_cartesian_host,
				  CUDA(bs_engine_cartesian_cuda) },
	[BS_METHOD_NOOP] = { "noop", &bs_engine_noop, &bs_engine_noop },
};

/* 0 when a GPU answers. */
static int probe(struct bs_fail *why)
{
#if BS_GPU
	struct bs_gpu_info info;

	return bs_gpu_probe(&info, why);
#else
	return bs_fail(why, BS_ERR_UNSUPPORTED, "this program was built without CUDA");
#endif
}

int bs_engines_policy(enum bs_wait wait, bool urgent, struct bs_fail *why)
{
#if BS_GPU
	return probe(NULL) == 0 ? bs_stream_policy(wait, urgent, why) : 0;
#else
	(void)wait;
	(void)urgent;
	(void)why;
	return 0;
#endif
}

int bs_engine_find(const struct bs_engine **engine, const struct bs_protocol *p,
		   struct bs_fail *why)
{
	struct bs_fail reason = { 0 };
	bool cuda;

	if ((unsigned)p->method >= sizeof(table) / sizeof(table[0]))
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': no such method", p->name);
	cuda = p->backend == BS_BACKEND_CUDA ||
	       (p->backend == BS_BACKEND_AUTO && table[p->method].cuda != NULL &&
		table[p->method].cuda != table[p->method].host && probe(&reason) == 0);
	if (p->backend == BS_BACKEND_CUDA && table[p->method].cuda != NULL && probe(&reason) != 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': backend cuda: %s", p->name,
			       reason.text);
	*engine = cuda ? table[p->method].cuda : table[p->method].host;
	if (*engine == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': method %s has no %s engine here", p->name,
			       table[p->method].method, cuda ? "CUDA" : "host");
	return 0;
}
