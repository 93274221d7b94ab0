/*
 * gpu/solve/lsq.h - what is computed from a protocol when it is armed: weights and Q
 *
 * The engines and `boreside arm` share it, so that what one puts into the cache the other finds.
 * weights: density compensation as the protocol names it (gpu/nufft/density.h). *weight is NULL
 * where the path comes with the stream, and where a method that solves has none; for weighted least
 * squares the weights enter F^H d and Q alike. Weights made beforehand (tables->density) are taken
 * as they are.
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
 * Makes the weights of a NUFFT, which takes the box basis as weights: *boxed = weight (NULL: ones)
 * times the basis. The exact sum applies the basis itself. Without a box *boxed is NULL.
 */
int bs_lsq_boxed(float **boxed, const struct bs_protocol *p, const float *k, const float *weight,
		 struct bs_fail *why);
/*
 * Returns true where F^H F is applied through a Q made when the protocol is armed; else bs_ls_given
 * gives F^H F.
 */
static inline bool bs_lsq_keeps_q(const struct bs_protocol *p)
{
	const enum bs_encode encode = p->plan.encode;

	return encode == BS_ENCODE_GRID || encode == BS_ENCODE_EXACT;
}
struct bs_q_spec bs_lsq_q_spec(const struct bs_protocol *p);
int bs_lsq_q(float **q, const struct bs_protocol *p, const struct bs_tables *tables,
	     const float *weight, const struct bs_q_making *how, struct bs_fail *why);
/* Plans least squares of a protocol on the host: Q, from the cache where it is, and the solver. */
int bs_lsq_solver(struct bs_ls **ls, const struct bs_protocol *p, const struct bs_tables *tables,
		  const float *weight, const struct bs_arm_env *env, struct bs_fail *why);

BS_C_END
#endif
