/*
 * core/solve/live.h - a W that is made while the service runs, of an earlier scan's image
 *
 * board/arm/anatomy.h makes W, in a thread of its own; a solver of the same protocol uses it. For
 * each scan: the maker sets aligned to false before its readouts. With its first image the engine
 * calls settle, which waits until W is made or known not to be, solves an image without W, and
 * finds how far it lies from W's image: bs_live_judge. Until the next scan W does not change.
 */
#ifndef BS_CORE_SOLVE_LIVE_H
#define BS_CORE_SOLVE_LIVE_H

#include "core/engine.h"
#include "core/solve/offset.h"
#include "core/solve/prior.h"

struct bs_live {
	struct bs_prior_spec spec;
	struct bs_csr w;    /* whole (prior.h): only its values change */
	float *image;       /* [z][y][x] complex: what W was made of */
	float *mask, *work; /* as long as image */
	double limit; /* longest offset in voxels with which W is used; 0: any, not measured */
	/* 0, or an error in words that ends the scan */
	int (*settle)(void *self, struct bs_fail *why);
	void *self;
	bool made; /* false: the scan has no W, for the reason in report.lacks */
	bool aligned;
	struct bs_w_report report; /* what the scan's images say of W */
};

/* W is used for the scan's images. */
static inline bool bs_live_used(const struct bs_live *l)
{
	return l->made && l->report.lacks[0] == '\0';
}

/* Finds the offset of a scan's first images, solved without W, and judges it. Recon thread. */
void bs_live_judge(struct bs_live *l, const float *images, uint32_t count);

static inline struct bs_prior_spec bs_live_spec(const struct bs_protocol *p)
{
	struct bs_prior_spec s = { .dims = p->dims,
				   .neighbors = p->w.neighbors,
				   .images = 1,
				   .edge = p->w.edge,
				   .outside = p->w.outside,
				   .whole = true };

	for (int a = 0; a < 3; a++)
		s.matrix[a] = p->matrix[a];
	return s;
}

#endif
