/* core/frame/window.c - sliding windows: their groups, and their images; see recon.h, part.h */
#include "core/frame/part.h"

#include "core/thread/clock.h"

static void pass(const struct bs_recon *r, struct window *w, uint32_t groups)
{
	w->passed = groups < r->groups - w->passed ? w->passed + groups : r->groups;
}

bool bs_window_goes_on(const struct bs_recon *r, uint32_t slot, const struct bs_mrd_idx *idx,
		       uint32_t row)
{
	const struct frame *f = &r->frame[slot];

	return row / r->p->frame_step != f->w.group || idx->repetition != f->first.idx.repetition;
}

/*
 * The stream enters a group; the groups between it and the last one were lost. Where the stream
 * does not count its passes, a group before the last one is taken to be of the next pass.
 */
void bs_window_enter(const struct bs_recon *r, struct frame *f, const struct bs_mrd_idx *idx,
		     uint32_t group)
{
	struct window *w = &f->w;

	if (w->passed > 0) {
		uint64_t passes = (uint16_t)(idx->repetition - f->first.idx.repetition);
		uint64_t on = group > w->group || passes > 0
				      ? passes * r->groups + group - w->group
				      : (uint64_t)r->groups - w->group + group;
		uint64_t lost = on > 0 ? on - 1 : 0;

		lost = lost < r->groups ? lost : r->groups;
		for (uint32_t i = 1; i <= lost; i++)
			w->held[(w->group + i) % r->groups] = 0;
		pass(r, w, (uint32_t)lost);
	}
	w->held[group] = 0;
	w->group = group;
}

/* Ends a group; its missing readouts will not come. An image is due once each group has gone by. */
int bs_window_end(struct bs_recon *r, uint32_t slot)
{
	struct frame *f = &r->frame[slot];
	int rc = 0;

	f->w.held[f->w.group] = 1;
	f->w.count[f->w.group] = r->opens.at[slot].have;
	pass(r, &f->w, 1);
	f->w.unfolded = f->w.passed == r->groups;
	if (f->w.unfolded)
		bs_opens_end(&r->opens, slot);
	else
		bs_opens_empty(&r->opens, slot);
	if (!f->w.unfolded)
		rc = r->seat[0].engine->fold(r->seat[0].self, slot, f->w.group);
	return rc;
}

int bs_window_image(struct bs_recon *r, uint32_t slot, float *image, int64_t deadline_ns,
		    struct bs_report *report)
{
	struct window *w = &r->frame[slot].w;
	const struct seat *own = &r->seat[0];
	int64_t fold_ns = bs_now_ns();
	int rc = w->unfolded ? own->engine->fold(own->self, slot, w->group) : 0;

	fold_ns = bs_now_ns() - fold_ns;
	w->unfolded = false;
	if (rc == 0)
		rc = own->engine->image(own->self, slot, w->held, deadline_ns, image, report);
	report->stage_ns[BS_BUDGET_ACCUMULATE] += fold_ns;
	return rc;
}
