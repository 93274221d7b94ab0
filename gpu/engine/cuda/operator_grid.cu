/*
 * gpu/engine/cuda/operator_grid.cu - gridding as an operator: density-compensated for method
 * gridding, or F^H d of a method that solves, with its own weights and voxel basis; see operator.h
 */
#include <stdlib.h>

#include "gpu/encode/encode.h"
#include "gpu/engine/cuda/operator.h"
#include "gpu/engine/engines.h"
#include "gpu/nufft/nufft_cuda.h"
#include "gpu/nufft/cuda/tune.h"
#include "gpu/solve/lsq_cuda.h"

struct gridding {
	struct bs_nufft_cuda *nufft;
	uint32_t samples; /* samples of a readout */
};

/* The spec of the host's gridding, but a window's group is one chunk, since it is small. */
struct bs_nufft_spec bs_gridding_cuda_spec(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = bs_gridding_spec(p);

	if (p->frame_step > 0)
		s.chunk = s.part;
	return s;
}

static struct bs_nufft_spec spec_of(const struct bs_cuda_spec *c)
{
	struct bs_nufft_spec s = bs_gridding_cuda_spec(c->p);

	s.tune = c->tune;
	return s;
}

static int tuned(struct bs_tuning *found, const struct bs_protocol *p, const float *k,
		 const char *cache_dir, double seconds, struct bs_fail *why)
{
	const struct bs_nufft_spec s = bs_gridding_cuda_spec(p);

	return bs_nufft_tuned(found, &s, k, cache_dir, seconds, why);
}

const struct bs_tuner bs_gridding_tuner = { tuned, { "last readout", "forward" } };

static int need(const struct bs_cuda_spec *c, struct bs_need *n, struct bs_fail *why)
{
	const struct bs_nufft_spec s = spec_of(c);

	return bs_nufft_cuda_need(&s, n, why);
}

static void close_grid(void *op)
{
	bs_nufft_cuda_close(((struct gridding *)op)->nufft);
	free(op);
}

/* Plans the operator. For method gridding, armed.cu has made the weights. */
static int plan(void **op, const struct bs_cuda_spec *c, const struct bs_tables *tables,
		struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why)
{
	const bool direct = c->p->plan.solve == BS_SOLVE_NONE;
	const struct bs_nufft_spec s = spec_of(c);
	struct gridding *g = (struct gridding *)calloc(1, sizeof(*g));
	float *weight = NULL;
	int rc = 0;

	if (g == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': gridding", c->p->name);
	*op = g;
	g->samples = c->p->samples;
	if (!direct)
		rc = bs_lsq_cuda_weights(&weight, c->p, tables, team, 1, why);
	if (rc == 0)
		rc = bs_nufft_cuda_plan(&g->nufft, &s, tables->traj->k,
					direct ? tables->density : weight, mem, why);
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

const struct bs_cuda_operator bs_cuda_sum_nufft = {
	bs_coil_step, need,  plan, close_grid, samples, begin, arrived, settle, finish, part,
	peek,         tuned, NULL, NULL,       false,   NULL,  NULL,    NULL,   NULL,   NULL,
};
