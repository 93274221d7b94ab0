/*
 * gpu/engine/cuda/operator_grid.cu - gridding as the device engines' operator: density-compensated (method gridding),
 * or F^H d of a least-squares method with its own weights and voxel basis; see operator.h
 */
#include <stdlib.h>

#include "core/log.h"
#include "gpu/engine/cuda/operator.h"
#include "gpu/engine/engines.h"
#include "gpu/nufft/nufft_cuda.h"
#include "gpu/nufft/cuda/tune.h"
#include "gpu/solve/ls_cuda.h"

struct gridding {
	struct bs_nufft_cuda *nufft;
	uint32_t samples; /* of a readout */
};

static uint64_t coil_step(const struct bs_protocol *p)
{
	return bs_protocol_samples(p);
}

static uint32_t rows(const struct bs_protocol *p)
{
	return p->readouts;
}

/* As the host's, but a window's group is one chunk: it is small, and needs no grid of its own. */
struct bs_nufft_spec bs_gridding_cuda_spec(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = bs_gridding_spec(p);

	if (p->frame_step > 0)
		s.chunk = s.part;
	return s;
}

#define TUNE_SECONDS 5.0 /* at the first arm; boreside arm gives more */

/* What was measured for the protocol that is being armed; need and plan must see the same. */
static struct bs_tune chosen;
static const struct bs_protocol *chosen_for;

/* Without a cache nothing is measured: every start would cost that time again. */
void bs_gridding_cuda_choose(const struct bs_protocol *p, const float *k, const char *cache_dir)
{
	const struct bs_nufft_spec s = bs_gridding_cuda_spec(p);
	struct bs_tuning *t = (struct bs_tuning *)calloc(1, sizeof(*t));
	struct bs_fail why;

	chosen_for = NULL;
	if (t != NULL && cache_dir != NULL && cache_dir[0] != '\0') {
		if (bs_nufft_tuned(t, &s, k, cache_dir, TUNE_SECONDS, &why) == 0) {
			chosen = t->trial[t->best].tune;
			chosen_for = p;
		} else {
			bs_log(BS_LOG_WARN, "protocol '%s': variants not measured: %s", p->name,
			       why.text);
		}
	}
	free(t);
}

bool bs_gridding_cuda_forget(void)
{
	const bool had = chosen_for != NULL;

	chosen_for = NULL;
	return had;
}

static struct bs_nufft_spec spec_of(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = bs_gridding_cuda_spec(p);

	s.tune = p == chosen_for ? &chosen : NULL;
	return s;
}

static int need(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why)
{
	const struct bs_nufft_spec s = spec_of(p);

	return bs_nufft_cuda_need(&s, n, why);
}

static void close_grid(void *op)
{
	bs_nufft_cuda_close(((struct gridding *)op)->nufft);
	free(op);
}

/* weight: [sample]; NULL: ones. */
static int plan_with(void **op, const struct bs_protocol *p, const struct bs_tables *tables,
		     const float *weight, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_nufft_spec s = spec_of(p);
	struct gridding *g = (struct gridding *)calloc(1, sizeof(*g));
	int rc = g == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': gridding", p->name)
			   : bs_nufft_cuda_plan(&g->nufft, &s, tables->traj->k, weight, mem, why);

	if (rc != 0) {
		free(g);
		return rc;
	}
	g->samples = p->samples;
	*op = g;
	return 0;
}

/* The weights are there: armed.cu has them made for all that it plans. */
static int plan_gridding(void **op, const struct bs_protocol *p, const struct bs_tables *tables,
			 struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why)
{
	(void)team;
	return plan_with(op, p, tables, tables->density, mem, why);
}

static int plan_sum(void **op, const struct bs_protocol *p, const struct bs_tables *tables,
		    struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why)
{
	float *weight;
	int rc = bs_solver_cuda_weights(&weight, p, tables, team, 1, why);

	if (rc == 0)
		rc = plan_with(op, p, tables, weight, mem, why);
	free(weight);
	return rc;
}

static float2 *samples(void *op, uint32_t frame)
{
	return (float2 *)bs_nufft_cuda_samples(((struct gridding *)op)->nufft, frame);
}

static int begin(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	return bs_nufft_cuda_begin(((struct gridding *)op)->nufft, frame, stream, why);
}

static int arrived(void *op, uint32_t frame, uint32_t row, cudaStream_t stream, struct bs_fail *why)
{
	const struct gridding *g = (const struct gridding *)op;

	return bs_nufft_cuda_arrived(g->nufft, frame, (uint64_t)row * g->samples, g->samples,
				     stream, why);
}

static int settle(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	return bs_nufft_cuda_settle(((struct gridding *)op)->nufft, frame, stream, why);
}

static int finish(void *op, uint32_t frame, float2 *image, cudaStream_t stream, struct bs_fail *why)
{
	return bs_nufft_cuda_finish(((struct gridding *)op)->nufft, frame, (float *)image, stream,
				    why);
}

static int part(void *op, uint32_t frame, uint32_t group, float2 *image, cudaStream_t stream,
		struct bs_fail *why)
{
	return bs_nufft_cuda_part(((struct gridding *)op)->nufft, frame, group, (float *)image,
				  stream, why);
}

static int peek(void *op, uint32_t frame, float2 *image, cudaStream_t stream, struct bs_fail *why)
{
	return bs_nufft_cuda_peek(((struct gridding *)op)->nufft, frame, (float *)image, stream,
				  why);
}

const struct bs_cuda_operator bs_cuda_gridding = {
	coil_step, rows,    need,   plan_gridding, close_grid, samples,
	begin,     arrived, settle, finish,        part,       peek,
};

/* Its previews are another engine's. */
const struct bs_cuda_operator bs_cuda_sum_nufft = {
	coil_step, rows,    need,   plan_sum, close_grid, samples,
	begin,     arrived, settle, finish,   part,       NULL,
};
