/*
 * gpu/engine/cuda/operator_path.cu - gridding of readouts that bring their own path as an operator,
 * and F^H d of ls and sense with the Q of each frame (gpu/nufft/path_cuda.h); see operator.h
 */
#include <math.h>
#include <stdlib.h>

#include "gpu/encode/encode.h"
#include "gpu/engine/cuda/operator.h"
#include "gpu/nufft/path_cuda.h"

struct pathed {
	const struct bs_protocol *p;
	struct bs_path_cuda *path;
	uint32_t *came;    /* [frame]: number of readouts that have come */
	float (*reach)[2]; /* [frame] largest |k| of their paths, on each axis */
};

static uint64_t coil_step(const struct bs_protocol *p)
{
	return bs_protocol_samples(p);
}

static int need(const struct bs_cuda_spec *c, struct bs_need *n, struct bs_fail *why)
{
	const struct bs_nufft_spec s = bs_gridding_spec(c->p);

	return bs_path_cuda_need(c->p, &s, n, why);
}

static void close_path(void *op)
{
	struct pathed *f = (struct pathed *)op;

	bs_path_cuda_close(f->path);
	free(f->came);
	free(f->reach);
	free(f);
}

static int plan(void **op, const struct bs_cuda_spec *c, const struct bs_tables *tables,
		struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_nufft_spec s = bs_gridding_spec(c->p);
	struct pathed *f = (struct pathed *)calloc(1, sizeof(*f));
	int rc = 0;

	(void)tables;
	(void)team;
	if (f == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': paths", c->p->name);
	f->p = c->p;
	f->came = (uint32_t *)calloc(bs_protocol_frames(c->p), sizeof(*f->came));
	f->reach = (float(*)[2])calloc(bs_protocol_frames(c->p), sizeof(*f->reach));
	if (f->came == NULL || f->reach == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': paths", c->p->name);
	if (rc == 0)
		rc = bs_path_cuda_plan(&f->path, c->p, &s, mem, why);
	if (rc != 0) {
		close_path(f);
		return rc;
	}
	*op = f;
	return 0;
}

static float2 *samples(void *op, uint32_t frame)
{
	return bs_path_cuda_samples(((struct pathed *)op)->path, frame);
}

static int begin(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	struct pathed *f = (struct pathed *)op;

	f->came[frame] = 0;
	f->reach[frame][0] = f->reach[frame][1] = 0.0f;
	return bs_path_cuda_begin(f->path, frame, stream, why);
}

static int path(void *op, uint32_t frame, uint32_t row, const float *k, cudaStream_t stream,
		struct bs_fail *why)
{
	struct pathed *f = (struct pathed *)op;
	float *reach = f->reach[frame];

	for (uint32_t s = 0; s < f->p->samples; s++) {
		reach[0] = fmaxf(reach[0], fabsf(k[2 * s]));
		reach[1] = fmaxf(reach[1], fabsf(k[2 * s + 1]));
	}
	f->came[frame]++;
	return bs_path_cuda_path(f->path, frame, row, k, stream, why);
}

static int arrived(void *op, uint32_t frame, uint32_t row, cudaStream_t stream, struct bs_fail *why)
{
	return bs_path_cuda_arrived(((struct pathed *)op)->path, frame, row, stream, why);
}

static int settle(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	return bs_path_cuda_settle(((struct pathed *)op)->path, frame, stream, why);
}

static int finish(void *op, uint32_t frame, float2 *image, cudaStream_t stream, struct bs_fail *why)
{
	return bs_path_cuda_finish(((struct pathed *)op)->path, frame, image, stream, why);
}

/* Checks the path's extent as gpu/encode/path.c does. */
static int outcome(void *op, uint32_t frame, struct bs_fail *why)
{
	const struct pathed *f = (const struct pathed *)op;
	const struct bs_protocol *p = f->p;

	for (uint32_t a = 0; a < 2 && f->came[frame] == p->readouts; a++)
		if (p->matrix[a] > 1 && f->reach[frame][a] < (float)p->traj.min_extent)
			return bs_fail(why, BS_ERR_TRAJECTORY,
				       "the path's |k%c| reaches only %g of at least %g cycles per "
				       "voxel for a matrix of %u: not in this unit, or no k-space "
				       "positions",
				       "xy"[a], (double)f -> reach[frame][a], p -> traj.min_extent,
				       p->matrix[a]);
	if (!(bs_path_cuda_bright(f->path, frame) > 0.0))
		return bs_fail(why, BS_ERR_VALUE,
			       "protocol '%s': its weights see nothing of an image of ones (sum "
			       "%g)",
			       p->name, bs_path_cuda_bright(f->path, frame));
	return 0;
}

static void normal(void *op, struct bs_toeplitz_cuda *to)
{
	bs_path_cuda_normal(((struct pathed *)op)->path, to);
}

const struct bs_cuda_operator bs_cuda_sum_path = {
	coil_step, need, plan, close_path, samples, begin, arrived, settle, finish, NULL,
	NULL,      NULL, NULL, NULL,       false,   path,  outcome, normal, NULL,   NULL,
};
