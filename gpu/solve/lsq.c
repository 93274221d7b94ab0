/* gpu/solve/lsq.c - see lsq.h */
#include "gpu/solve/lsq.h"

#include <stdlib.h>
#include <string.h>

#include "core/progress.h"
#include "gpu/exact/basis.h"
#include "gpu/nufft/density.h"

int bs_lsq_weights(float **weight, const struct bs_protocol *p, const struct bs_tables *tables,
		   struct bs_team *team, struct bs_fail *why)
{
	const struct bs_plan *plan = &p->plan;
	const size_t bytes = (size_t)bs_protocol_samples(p) * sizeof(**weight);
	int rc = 0;

	*weight = NULL;
	if ((p->density == BS_DENSITY_NONE && plan->solve != BS_SOLVE_NONE) || plan->streams)
		return 0;
	*weight = malloc(bytes);
	if (*weight == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': weights", p->name);
	if (tables->density != NULL)
		memcpy(*weight, tables->density, bytes);
	else
		rc = bs_density(*weight, p, tables->traj, tables->weight, team, why);
	if (rc != 0) {
		free(*weight);
		*weight = NULL;
	}
	return rc;
}

struct bs_ls_spec bs_lsq_spec(const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	return (struct bs_ls_spec){
		.dims = p->dims,
		.matrix = { p->matrix[0], p->matrix[1], p->matrix[2] },
		.coils = plan->joint ? p->coils : 0,
		.sets = plan->joint ? bs_protocol_map_sets(p) : 0,
		.images = plan->joint ? bs_protocol_map_images(p) : 0,
		.precond = p->precond,
		.iterations = p->iterations,
		.lambda = p->lambda,
		.l2 = p->w.l2,
		.given = !bs_lsq_keeps_q(p),
	};
}

int bs_lsq_boxed(float **boxed, const struct bs_protocol *p, const float *k, const float *weight,
		 struct bs_fail *why)
{
	const uint64_t samples = bs_protocol_samples(p);

	*boxed = NULL;
	if (p->basis != BS_BASIS_BOX)
		return 0;
	*boxed = malloc((size_t)samples * sizeof(**boxed));
	if (*boxed == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': voxel basis", p->name);
	for (uint64_t m = 0; m < samples; m++)
		(*boxed)[m] = (float)bs_basis_box(weight != NULL ? (double)weight[m] : 1.0,
						  k + m * p->dims, p->dims);
	return 0;
}

struct bs_q_spec bs_lsq_q_spec(const struct bs_protocol *p)
{
	return (struct bs_q_spec){
		.dims = p->dims,
		.matrix = { p->matrix[0], p->matrix[1], p->matrix[2] },
		.samples = bs_protocol_samples(p),
		.basis = p->basis,
		.sum = p->q,
		/*
		 * without an accuracy (width and oversampling are given) Q is made with 1e-5, since
		 * it is made once
		 */
		.accuracy = p->accuracy > 0.0 ? p->accuracy : 1e-5,
	};
}

/*
 * Makes, for methods without Q, only its first value, that at distance 0, which is the sum of the
 * weights.
 */
static int sum_weights(float **q, const struct bs_protocol *p, const float *weight,
		       struct bs_fail *why)
{
	double sum = 0.0;

	*q = malloc(2 * sizeof(**q));
	if (*q == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': weights", p->name);
	for (uint64_t m = 0; m < bs_protocol_samples(p); m++)
		sum += weight != NULL ? (double)weight[m] : 1.0;
	(*q)[0] = (float)sum;
	(*q)[1] = 0.0f;
	return 0;
}

int bs_lsq_q(float **q, const struct bs_protocol *p, const struct bs_tables *tables,
	     const float *weight, const struct bs_q_making *how, struct bs_fail *why)
{
	struct bs_q_spec s = bs_lsq_q_spec(p);
	int rc;

	if (!bs_lsq_keeps_q(p))
		return sum_weights(q, p, weight, why);
	*q = malloc((size_t)bs_q_size(&s) * 8);
	if (*q == NULL || bs_q_size(&s) == 0)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': Q", p->name);
	else
		rc = bs_qcache_get(*q, &s, tables->traj->k, weight, how, why);
	if (rc != 0) {
		free(*q);
		*q = NULL;
	}
	return rc;
}

int bs_lsq_solver(struct bs_ls **ls, const struct bs_protocol *p, const struct bs_tables *tables,
		  const float *weight, const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_ls_spec s = bs_lsq_spec(p);
	/* progress of a solve, for commands that arm it; the service sets none */
	struct bs_progress progress;
	const struct bs_q_making how = { env->team, bs_progress_part, &progress, env->cache_dir,
					 NULL };
	float *q = NULL;
	int rc;

	bs_progress_begin(&progress, "arming: Q", BS_PROGRESS_WHOLE, "");
	rc = bs_lsq_q(&q, p, tables, weight, &how, why);
	bs_progress_end(&progress);
	if (rc == 0)
		rc = bs_ls_plan(ls, &s, q, p->plan.joint ? tables->maps : NULL, tables->w, env,
				why);
	free(q);
	return rc;
}
