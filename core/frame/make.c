/* core/frame/make.c - the images of frames that are over, and how far their solves go; part.h */
#include "core/frame/part.h"

#include <string.h>

#include "core/protocol.h"

static int not_made(const struct bs_recon *r, const struct bs_recon_image *image, int rc,
		    struct bs_fail *why)
{
	return bs_fail(why, rc, "engine %s failed to make %s %llu%s%s", bs_recon_engine(r, image),
		       image->preview ? "preview" : "image", (unsigned long long)image->number,
		       image->report.why.code != 0 ? ": " : "", image->report.why.text);
}

/*
 * Bounds the solve of a frame: as it was bounded before, or as the ladder stands. Returns the
 * deadline.
 */
static int64_t bound(const struct bs_recon *r, const struct frame *f, const struct bs_aim *aim,
		     int64_t deadline_ns, struct bs_report *report)
{
	const uint64_t word = bs_solved_of(r->solved, f->number);

	memset(report, 0, sizeof(*report));
	report->gridded = f->seat == &r->seat[1];
	report->again = word != 0;
	report->allowed =
		word != 0 ? bs_solved_most(word) : bs_scankey_iterations(&r->info, aim->iterations);
	report->quadratic = !report->gridded &&
			    (word != 0 ? (word & BS_SOLVED_QUADRATIC) != 0 : aim->quadratic);
	report->first = bs_solved_first(word);
	return word != 0 ? INT64_MAX : deadline_ns;
}

/* Notes what came of a frame's solve; of one that was made again, says it as before. */
static void note_steps(const struct bs_recon *r, const struct frame *f, struct bs_report *report)
{
	const uint32_t most = !report->deadline_stop ? report->allowed
			      : report->cut > 0      ? report->cut
						     : report->iterations;
	const uint64_t word = BS_SOLVED_MADE | (report->gridded ? BS_SOLVED_GRIDDED : 0) |
			      (report->quadratic ? BS_SOLVED_QUADRATIC : 0) |
			      (report->deadline_stop ? BS_SOLVED_STOPPED : 0) |
			      (uint64_t)(most & BS_SOLVED_MOST) << 8 |
			      (uint64_t)(report->first & BS_SOLVED_MOST) << 32;

	if (r->solved != NULL && !report->again)
		bs_solved_put(r->solved, f->number, word);
	if (!report->again || (bs_solved_of(r->solved, f->number) & BS_SOLVED_STOPPED) == 0)
		return;
	report->deadline_stop = true;
	report->stop = BS_PROX_DEADLINE;
}

int bs_frame_pass(struct bs_recon *r, uint32_t slot, struct bs_recon_image *image,
		  struct bs_fail *why)
{
	static const struct bs_aim full;
	struct frame *f = &r->frame[slot];
	struct bs_report *report = &image->report;
	int rc = bs_frame_rest(r, slot);

	(void)bound(r, f, &full, INT64_MAX, report);
	image->number = ++r->images;
	image->preview = false;
	bs_frame_describe(r, slot, image);
	/* images that later ones need are made with the same iterations as before */
	if (report->flow.keep == 0 && !r->p->plan.follows)
		report->allowed = 1;
	if (rc == 0 && r->groups > 0)
		rc = bs_window_image(r, slot, NULL, INT64_MAX, report);
	else if (rc == 0 && !f->absent)
		rc = f->seat->engine->image(f->seat->self, slot, NULL, INT64_MAX,
					    report->flow.keep > 0 ? image->pixels : NULL, report);
	if (rc != 0)
		return not_made(r, image, rc, why);
	if (report->again)
		note_steps(r, f, report);
	if (r->flows.places > 0)
		bs_flows_made(&r->flows, &f->first.idx, image);
	(void)bs_recon_take_calibration(r, slot);
	if (r->bands.on && r->volumes.places == 0)
		bs_bands_image(&r->bands, f->first.idx.repetition, image->number);
	f->imaged = f->imaged || !report->gridded;
	return 0;
}

int bs_frame_make(struct bs_recon *r, uint32_t slot, struct bs_recon_image *image, bool preview,
		  int64_t deadline_ns, struct bs_fail *why)
{
	struct frame *f = &r->frame[slot];
	int rc = preview ? 0 : bs_frame_rest(r, slot);

	if (rc != 0)
		return bs_fail(why, rc, "engine %s failed to add averages", f->seat->name);
	deadline_ns = bound(r, f, &r->aim, deadline_ns, &image->report);
	image->number = preview ? ++r->previews : ++r->images;
	image->preview = preview;
	for (uint32_t g = 0; r->kspace != NULL && g < r->groups; g++)
		if (f->w.held[g] == 0) /* a pass before is in it: the group was lost */
			bs_frame_clear(r, slot, g * r->p->frame_step);
	image->kspace = r->kspace == NULL
				? NULL
				: r->kspace + bs_protocol_kspace_bytes(r->p) / sizeof(float) * slot;
	bs_frame_describe(r, slot, image);
	if (preview)
		rc = r->preview.engine->peek(r->preview.self, slot, image->pixels);
	else if (r->groups > 0)
		rc = bs_window_image(r, slot, image->pixels, deadline_ns, &image->report);
	else
		rc = f->seat->engine->image(f->seat->self, slot, NULL, deadline_ns, image->pixels,
					    &image->report);
	if (rc != 0)
		return not_made(r, image, rc, why);
	bs_frame_say_left(image);
	if (!preview)
		note_steps(r, f, &image->report);
	if (r->flows.places > 0)
		bs_flows_made(&r->flows, &f->first.idx, image);
	if (!preview && r->bands.on && r->volumes.places == 0)
		bs_bands_image(&r->bands, f->first.idx.repetition, image->number);
	if (!preview)
		image->report.stage_ns[BS_BUDGET_CALIBRATION] += bs_recon_take_calibration(r, slot);
	f->imaged = f->imaged || (!preview && !image->report.gridded);
	return 1;
}

/*
 * Returns true if the image was handed on before, is another process's to make, or is made already.
 */
static bool passes(const struct bs_recon *r, const struct frame *f)
{
	const struct bs_share *s = r->share;

	if (r->images < r->passed || f->passed)
		return true;
	return s != NULL && ((r->groups > 0 && r->images % s->parts != s->part) ||
			     bs_share_made(s, r->images + 1));
}

int bs_recon_pop(struct bs_recon *r, struct bs_recon_image *image, int64_t deadline_ns,
		 struct bs_fail *why)
{
	if (r->pop != NULL)
		return r->pop(r, image, deadline_ns, why);
	for (uint32_t slot; bs_recon_wait(r), (slot = bs_opens_over(&r->opens)) != BS_OPEN_NONE;) {
		struct frame *f = &r->frame[slot];

		bs_opens_empty(&r->opens, slot);
		f->preview_due = false;
		if (!passes(r, f))
			return bs_frame_make(r, slot, image, false, deadline_ns, why);
		int rc = bs_frame_pass(r, slot, image, why);

		if (rc != 0)
			return rc;
	}
	for (uint32_t slot = 0; slot < r->frames; slot++) {
		if (!bs_frame_previews(r, slot))
			continue;
		r->frame[slot].preview_due = false;
		return bs_frame_make(r, slot, image, true, deadline_ns, why);
	}
	return 0;
}
