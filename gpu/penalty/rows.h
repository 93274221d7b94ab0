/*
 * gpu/penalty/rows.h - a prior's row of functions, and what the rows share (inside gpu/penalty)
 */
#ifndef BS_GPU_PENALTY_ROWS_H
#define BS_GPU_PENALTY_ROWS_H

#include "gpu/penalty/penalty.h"

struct bs_penalty_plan;
struct bs_wavelet_kernels;

struct bs_penalty_row {
	void (*lay_out)(struct bs_penalty_plan *plan, struct bs_room *room);
	/* Prepares what lay_out took. NULL: there is nothing to prepare. */
	int (*ready)(struct bs_penalty_plan *plan, struct bs_fail *why);
	double (*value)(void *self, const float *x);
	double (*prox)(void *self, double step, uint32_t iteration, float *x);
	bool (*refine)(void *self);
};

extern const struct bs_penalty_row bs_penalty_wavelet, bs_penalty_dual, bs_penalty_lowrank;

/* Differences x(n) - x(n - stride) along an axis; the first of them is 0 where it is open. */
struct bs_penalty_axis {
	uint64_t length, stride;
	bool open;
};

struct bs_penalty_plan {
	struct bs_penalty_spec s;
	struct bs_team *team;
	struct bs_penalty penalty;
	uint64_t voxels, size; /* voxels of an image; of all images */
	double lambda;
	void *own;       /* memory beside the arena; or NULL */
	double *partial; /* a sum for each task */
	float *spare;    /* a vector */
	/* wavelet, low_rank: work of a team member, `slot` bytes each */
	unsigned char *work;
	size_t slot;
	uint32_t levels[3], blocks[3];
	const struct bs_wavelet_kernels *wavelet; /* of this machine's instruction set */
	/* dual: operator D, axes of differences (0: W); p, q and r [component][row] complex */
	struct bs_penalty_axis axis[3];
	uint32_t axes, inner, inner_now;
	uint64_t rows;
	const struct bs_csr *w;
	float *p, *q, *r;
	double tau; /* length of a dual step */
	/* The next members belong to the operation in progress. */
	struct {
		uint32_t axis, size[3], shift;
		bool inverse;
	} pass;
	float *x;
	const float *in;
	double threshold;
	float c;
};

/* Adds up the first n partial sums in order. */
static inline double bs_penalty_sum(const struct bs_penalty_plan *p, uint64_t n)
{
	double sum = 0.0;

	for (uint64_t i = 0; i < n; i++)
		sum += p->partial[i];
	return sum;
}

/* The workspace of a member; where there are more members than the team may have, none. */
static inline void *bs_penalty_work(const struct bs_penalty_plan *p, int member)
{
	return p->work + (size_t)member * p->slot;
}

#endif
