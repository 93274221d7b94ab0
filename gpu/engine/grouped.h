/*
 * gpu/engine/grouped.h - slices at once along a trajectory, solved for together, as one engine
 *
 * A group's slices are the planes of a volume. A readout whose phase grows by so much from slice to
 * slice lies at a kz of as many cycles per plane. So the engine of the protocol's place, armed for
 * that volume and its maps, solves for the slices, and each slice's frame has its own plane of the
 * result. Frames of one group that hold the same lines share a solve.
 *
 * The phase from a readout to the next is fixed when the protocol is armed: multiband.shift, else
 * 1 / factor. A scan whose header says another one is refused at its first image.
 * The functions are those of core/engine.h; there are no windows and no previews.
 * Test: test/unit/gpu/engine/test_engine_grouped.c
 */
#ifndef BS_GPU_ENGINE_GROUPED_H
#define BS_GPU_ENGINE_GROUPED_H

#include "core/engine.h"

static inline bool bs_grouped(const struct bs_protocol *p)
{
	return bs_plan_groups(&p->plan) && !p->plan.on_grid;
}

/* For the places host and GPU. */
extern const struct bs_engine bs_engine_grouped, bs_engine_grouped_cuda;

#endif
