/* gpu/engine/cuda/prior.cu - the solver with a prior behind the operator; see armed.h */
#include "gpu/engine/cuda/armed.h"

int bs_armed_cuda_proximal(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
			   int64_t deadline_ns, struct bs_report *report, struct bs_fail *why)
{
	const struct bs_partial_cuda *w = &e->window;
	struct bs_task t = {};

	t.slice = bs_protocol_frame_slice(e->p, frame);
	t.pair = frame / bs_protocol_lanes(e->p);
	t.lines = e->op->lines != NULL ? e->op->lines(e->plan, frame) : NULL;
	t.fhd = t.images = (float *)e->coil_images;
	t.parts = w->part != NULL ? w->part + (uint64_t)frame * w->groups * w->stride : NULL;
	t.part_step = w->stride;
	t.held = held;
	t.newest = e->newest[frame];
	t.deadline_ns = deadline_ns;
	return bs_proximal_cuda_solve(e->prox, &t, e->stream, report, why);
}
