/* board/tool/offline/solver.c - see solver.h */
#include "board/tool/offline/solver.h"

#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "gpu/solve/lsq.h"
#include "gpu/toeplitz/q.h"

static int open_encoder(struct bs_solver *s, const struct bs_tables *tables, struct bs_team *team,
			struct bs_fail *why)
{
	const struct bs_arm_env env = { .arena = &s->arena[0], .team = team, .cache_dir = "" };
	struct bs_need need = { 0 };
	int rc = s->encoder.row->need(&s->encoder, &need, why);

	if (rc == 0)
		rc = bs_arena_open(&s->arena[0], need.total_bytes, why);
	return rc == 0 ? s->encoder.row->plan(&s->encoder, tables, tables->weight, &env, why) : rc;
}

static int open_ls(struct bs_solver *s, const struct bs_tables *tables, const float *q,
		   struct bs_team *team, struct bs_fail *why)
{
	const struct bs_protocol *p = s->p;
	const struct bs_ls_spec spec = bs_lsq_spec(p);
	struct bs_need need = { 0 };
	int rc = bs_ls_need(&spec, &need, why);

	if (rc == 0)
		rc = bs_arena_open(&s->arena[1], need.total_bytes, why);
	if (rc == 0)
		rc = bs_ls_plan(&s->ls, &spec, q, tables->maps, tables->w,
				&(struct bs_arm_env){ .arena = &s->arena[1], .team = team }, why);
	return rc;
}

int bs_solver_open(struct bs_solver *s, const struct bs_protocol *p, const struct bs_tables *tables,
		   struct bs_team *team, struct bs_fail *why)
{
	const struct bs_plan *plan = &p->plan;
	int64_t start = bs_now_ns();
	float *q;
	int rc;

	memset(s, 0, sizeof(*s));
	s->encoder = bs_encoder_of(p);
	if (s->encoder.row->adjoint == NULL || bs_plan_groups(plan))
		return bs_fail(why, BS_ERR_UNSUPPORTED, "protocol '%s': not %s", p->name,
			       bs_plan_groups(plan) ? "of slices at once" : "off resonance");
	s->p = p;
	s->maps = plan->joint ? tables->maps : NULL;
	s->coils = plan->joint ? p->coils : 1;
	s->encoder.coils = s->coils;
	s->encoder.whole = true;
	s->voxels = (size_t)bs_protocol_voxels(p);
	s->samples = (size_t)bs_protocol_samples(p);
	rc = bs_lsq_q(&q, p, tables, tables->weight, &(struct bs_q_making){ .team = team }, why);
	s->q_s = (double)(bs_now_ns() - start) * 1e-9;
	if (rc == 0)
		rc = open_ls(s, tables, q, team, why);
	if (rc == 0)
		rc = open_encoder(s, tables, team, why);
	free(q);
	if (rc == 0 && s->maps != NULL) {
		s->spread = malloc(s->voxels * s->coils * 2 * sizeof(*s->spread));
		if (s->spread == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': no memory for %u coils",
				     p->name, s->coils);
	}
	if (rc != 0)
		bs_solver_close(s);
	return rc;
}

void bs_solver_close(struct bs_solver *s)
{
	if (s->ls)
		bs_ls_close(s->ls);
	if (s->encoder.plan)
		s->encoder.row->close(&s->encoder);
	free(s->spread);
	bs_arena_close(&s->arena[0]);
	bs_arena_close(&s->arena[1]);
	memset(s, 0, sizeof(*s));
}

void bs_solver_fhd(struct bs_solver *s, const float *data, float *image)
{
	s->encoder.row->adjoint(&s->encoder, data, image);
}

void bs_solver_solve(struct bs_solver *s, double lambda, const float *fhd, float *rho,
		     struct bs_pcg_result *result)
{
	struct bs_pcg_stop stop = { .iterations = s->p->iterations,
				    .tolerance = s->p->tolerance,
				    .deadline_ns = INT64_MAX };

	bs_ls_lambda(s->ls, lambda);
	bs_ls_solve(s->ls, fhd, rho, &stop, result);
}

/* Makes S_c rhs / sum |S|^2 for coil c: the solver's sum with conj(S_c) is then rhs again. */
static void spread_coils(struct bs_solver *s, const float *rhs)
{
	for (size_t v = 0; v < s->voxels; v++) {
		double power = 0.0;

		for (uint32_t c = 0; c < s->coils; c++) {
			const float *m = s->maps + 2 * (c * s->voxels + v);

			power += (double)m[0] * m[0] + (double)m[1] * m[1];
		}
		for (uint32_t c = 0; c < s->coils; c++) {
			const float *m = s->maps + 2 * (c * s->voxels + v);
			float *out = s->spread + 2 * (c * s->voxels + v);
			double by = power > 0.0 ? 1.0 / power : 0.0;

			out[0] = (float)(by * ((double)m[0] * rhs[2 * v] -
					       (double)m[1] * rhs[2 * v + 1]));
			out[1] = (float)(by * ((double)m[0] * rhs[2 * v + 1] +
					       (double)m[1] * rhs[2 * v]));
		}
	}
}

void bs_solver_solve_image(struct bs_solver *s, double lambda, const float *rhs, float *rho,
			   struct bs_pcg_result *result)
{
	if (s->spread != NULL) {
		spread_coils(s, rhs);
		rhs = s->spread;
	}
	bs_solver_solve(s, lambda, rhs, rho, result);
}

void bs_solver_gram(struct bs_solver *s, const float *in, float *out)
{
	const double l2 = s->p->w.l2 * (double)s->voxels; /* it is in what apply applies */

	bs_ls_lambda(s->ls, 0.0);
	bs_ls_apply(s->ls, in, out);
	for (size_t i = 0; i < 2 * s->voxels; i++)
		out[i] -= (float)(l2 * (double)in[i]);
}
