/*
 * gpu/solve/lsq.h - what is computed from a protocol when it is armed: weights and Q
 *
 * Shared by the engines and by `boreside arm`, so that what one puts into the cache the other
 * finds.
 * weights: density compensation as the protocol names it (gpu/nufft/density.h), or *weight = NULL
 * where the path comes with the stream, and where a method that solves has none; for weighted
 * least squares they enter F^H d and Q alike.
 * Those that were made beforehand (tables->density) are taken as they are.
 * Results are malloc'd, the caller's to free. At arm only.
 */
#ifndef BS_GPU_SOLVE_LSQ_H
#define BS_GPU_SOLVE_LSQ_H

#include "core/engine.h"
#include "core/protocol.h"
#include "gpu/solve/ls.h"
#include "gpu/toeplitz/q.h"
#include "gpu/toeplitz/qcache.h"

BS_C_BEGIN

struct bs_ls_spec bs_lsq_spec(const struct bs_protocol *p);
int bs_lsq_weights(float **weight, const struct bs_protocol *p, const struct bs_tables *tables,
		   struct bs_team *team, struct bs_fail *why);
/*
 * The exact sum applies the box basis itself; a NUFFT takes it as weights: weight, or ones, times
 * the basis. Without a box *boxed is NULL.
 */
int bs_lsq_boxed(float **boxed, const struct bs_protocol *p, const float *k, const float *weight,
		 struct bs_fail *why);
/* Whether F^H F is applied through Q, made when the protocol is armed; else bs_ls_given says it. */
static inline bool bs_lsq_keeps_q(const struct bs_protocol *p)
{
	const enum bs_encode encode = p->plan.encode;

	return encode == BS_ENCODE_GRID || encode == BS_ENCODE_EXACT;
}
struct bs_q_spec bs_lsq_q_spec(const struct bs_protocol *p);
int bs_lsq_q(float **q, const struct bs_protocol *p, const struct bs_tables *tables,
	     const float *weight, struct bs_team *team, const char *cache_dir,
	     void (*progress)(void *arg, double done), void *arg, enum bs_qcache_from *from,
	     struct bs_fail *why);

BS_C_END
#endif
