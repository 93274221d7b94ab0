/* core/frame/recon.c - frames: their readouts, and when they are over; see recon.h, part.h */
#include "core/frame/part.h"

#include <string.h>

#include "core/protocol.h"

void bs_recon_aim(struct bs_recon *r, const struct bs_aim *aim)
{
	r->aim = *aim;
}

bool bs_recon_stands_in(const struct bs_recon *r)
{
	return r->seat[1].engine != NULL;
}

/* ---- a scan's frames ---- */

/*
 * Returns true if the number of the frame's image is known: no other frame is open, which could end
 * first.
 */
static bool is_next(const struct bs_recon *r)
{
	for (uint32_t i = 0; i < r->frames; i++)
		if (r->opens.at[i].state != BS_OPEN_EMPTY)
			return false;
	return true;
}

/* Decides which process makes a frame that begins; a window's images are shared out instead. */
static void share_out(struct bs_recon *r, struct frame *f)
{
	const struct bs_share *s = r->share;

	f->passed = f->absent = false;
	if (s == NULL || r->groups > 0 || r->volumes.places > 0)
		return;
	f->passed =
		f->number % s->parts != s->part || (is_next(r) && bs_share_made(s, r->images + 1));
	f->absent = f->passed && r->alone;
}

static int begin_engines(struct bs_recon *r, const struct frame *f, uint32_t slot)
{
	int rc = f->seat->engine->begin(f->seat->self, slot);

	if (rc == 0 && bs_recon_previews_beside(r))
		rc = r->preview.engine->begin(r->preview.self, slot);
	return rc;
}

/* Gridding stands in for the solver in a frame that begins. */
static bool begins_gridded(const struct bs_recon *r, const struct frame *f)
{
	const uint64_t word = bs_solved_of(r->solved, f->number);

	return word != 0 ? (word & BS_SOLVED_GRIDDED) != 0 : r->aim.gridding;
}

/* The readouts of a frame that the step takes, from this row on. */
static float *kspace_at(const struct bs_recon *r, uint32_t slot, uint32_t coil, uint32_t row)
{
	return r->kspace +
	       (((uint64_t)slot * r->p->coils + coil) * r->rows + row) * r->p->samples * 2;
}

void bs_frame_clear(struct bs_recon *r, uint32_t slot, uint32_t row)
{
	const uint32_t rows = r->groups > 0 ? r->p->frame_step : r->rows;

	for (uint32_t c = 0; c < r->p->coils; c++)
		memset(kspace_at(r, slot, c, row / rows * rows), 0,
		       (size_t)rows * r->p->samples * 2 * sizeof(float));
}

/* Keeps a row for the step, as it came. */
static void keep_row(struct bs_recon *r, uint32_t slot, uint32_t row, const struct bs_mrd_acq *head,
		     const float *from)
{
	const uint32_t left = (uint32_t)head->discard_pre + head->discard_post;
	const uint32_t have = head->number_of_samples > left ? head->number_of_samples - left : 0;
	const uint32_t n = have < r->p->samples ? have : r->p->samples;

	for (uint32_t c = 0; c < r->p->coils && c < head->active_channels; c++)
		memcpy(kspace_at(r, slot, c, row), from + 2 * (size_t)head->number_of_samples * c,
		       2 * (size_t)n * sizeof(float));
}

static int begin_frame(struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head,
		       uint32_t row)
{
	const struct bs_mrd_idx key = bs_open_key(head);
	struct frame *f = &r->frame[slot];
	int rc;

	f->number = r->begun++;
	f->seat = &r->seat[begins_gridded(r, f) && r->seat[1].engine != NULL];
	share_out(r, f);
	rc = f->absent ? 0 : begin_engines(r, f, slot);
	if (rc != 0)
		return rc;
	if (r->groups > 0)
		bs_window_enter(r, f, &head->idx, row / r->p->frame_step);
	if (r->averages != NULL)
		bs_averages_begin(r->averages, slot);
	bs_opens_begin(&r->opens, slot, &key);
	if (r->kspace != NULL)
		bs_frame_clear(r, slot, row);
	f->summed = f->spare = f->strongest = 0;
	memset(&f->calibrating, 0, sizeof(f->calibrating));
	memset(f->again, 0, sizeof(f->again));
	f->energy = 0.0f;
	f->preview_due = false;
	f->first = *head;
	f->began = r->apart.lines;
	r->newest = slot;
	return 0;
}

bool bs_recon_ahead(struct bs_recon *r)
{
	const struct seat *seat = &r->seat[0];

	for (uint32_t i = 0; r->apart.lines > 0 && seat->engine->ahead != NULL && i < r->frames;
	     i++) {
		const uint32_t slot = (r->newest + i) % r->frames;
		const int64_t spent_ns = seat->engine->ahead(seat->self, slot);

		bs_recon_calibrated(r, bs_protocol_frame_slice(r->p, slot), spent_ns);
		if (spent_ns > 0)
			return true;
	}
	return false;
}

static int add(struct bs_recon *r, uint32_t slot, uint32_t row, const struct bs_mrd_acq *head,
	       const float *data)
{
	const struct seat *own = r->frame[slot].seat;
	const float *k = r->p->plan.streams ? data + bs_path_at(head) : NULL;
	const float *from = data + 2 * (size_t)head->discard_pre;
	const size_t stride = head->number_of_samples;
	int rc = own->engine->add(own->self, slot, row, k, from, stride);

	if (rc == 0 && bs_recon_previews_beside(r))
		rc = r->preview.engine->add(r->preview.self, slot, row, k, from, stride);
	if (rc == 0 && r->kspace != NULL)
		keep_row(r, slot, row, head, from);
	return rc;
}

static int add_beside(struct bs_recon *r, uint32_t slot, enum bs_kind kind, uint32_t row,
		      const struct bs_mrd_acq *head, const float *data)
{
	struct seat seats[BS_SEATS];
	int rc = 0;

	bs_recon_seats(r, seats);
	for (int i = 0; rc == 0 && i < BS_SEATS; i++)
		if (seats[i].engine != NULL && seats[i].engine->side != NULL)
			rc = seats[i].engine->side(seats[i].self, slot, kind, row, head,
						   data + 2 * (size_t)head->discard_pre,
						   head->number_of_samples);
	return rc;
}

/* Finds the frame of a sliding window: the group that is being filled. */
static int find_window(struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head,
		       uint32_t row, struct bs_fail *why)
{
	const struct bs_open *o = &r->opens.at[slot];
	int rc = 0;

	if (o->state == BS_OPEN_FILLING && bs_window_goes_on(r, slot, &head->idx, row))
		rc = bs_window_end(r, slot);
	if (o->state == BS_OPEN_OVER)
		return BS_RECON_POP_FIRST;
	return rc == 0 ? 0
		       : bs_fail(why, rc, "engine %s failed at acquisition %u",
				 r->frame[slot].seat->name, head->scan_counter);
}

/* Finds a line's frame. BS_RECON_POP_FIRST: an image of the frame in its place comes first. */
static int find_frame(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		      uint32_t *slot, struct bs_fail *why)
{
	const struct bs_protocol *p = r->p;
	const uint32_t pair = bs_protocol_pair(p, head->idx.slice, head->idx.contrast);
	const struct bs_mrd_idx key = bs_open_key(head);

	if (head->idx.slice >= p->slices || head->idx.contrast >= p->contrasts || row >= r->rows)
		return bs_fail(why, BS_ERR_INDEX,
			       "acquisition %u: readout %u of slice %u, contrast %u",
			       head->scan_counter, row, head->idx.slice, head->idx.contrast);
	if (r->volumes.places > 0) {
		const int rc = bs_stack_see(&r->volumes.stack, head, why);

		if (rc != 0)
			return rc;
	}
	*slot = pair;
	if (r->groups > 0)
		return find_window(r, pair, head, row, why);
	bs_recon_wait(r);
	*slot = bs_opens_place(&r->opens, pair, &key);
	return *slot == BS_OPEN_NONE ? BS_RECON_POP_FIRST : 0;
}

/* The slot for calibration: its own frame's, else the one where the next frame would begin. */
static uint32_t beside_frame(const struct bs_recon *r, const struct bs_mrd_acq *head)
{
	const uint32_t pair = bs_protocol_pair(r->p, head->idx.slice, head->idx.contrast);
	const uint32_t first = pair * r->opens.lanes;
	const struct bs_mrd_idx key = bs_open_key(head);
	const uint32_t own = bs_opens_find(&r->opens, pair, &key);

	for (uint32_t i = first; own == BS_OPEN_NONE && i < first + r->opens.lanes; i++)
		if (r->opens.at[i].state == BS_OPEN_EMPTY)
			return i;
	return own == BS_OPEN_NONE ? first : own;
}

static int take_beside(struct bs_recon *r, enum bs_kind kind, const struct bs_mrd_acq *head,
		       uint32_t row, const float *data, struct bs_fail *why)
{
	uint32_t slot = 0;
	int rc = 0;

	/* calibration of these kinds was used before (core/study/noise.h, gpu/engine/phases.h) */
	if (kind == BS_KIND_NOISE || kind == BS_KIND_NAVIGATION || kind == BS_KIND_PHASE_CORRECTION)
		return 0;
	if (head->idx.slice >= r->p->slices || head->idx.contrast >= r->p->contrasts)
		return bs_fail(why, BS_ERR_INDEX, "acquisition %u (%s): slice %u, contrast %u",
			       head->scan_counter, bs_kind_name(kind), head->idx.slice,
			       head->idx.contrast);
	if (kind == BS_KIND_CALIBRATION && r->groups > 0)
		rc = find_frame(r, head, row, &slot, why);
	else
		slot = beside_frame(r, head);
	if (rc != 0)
		return rc;
	rc = add_beside(r, slot, kind, row, head, data);
	return rc == 0 ? 0
		       : bs_fail(why, rc, "engine %s failed at acquisition %u (%s)",
				 r->seat[0].name, head->scan_counter, bs_kind_name(kind));
}

/* Counts a row that has come before; the readout that came last is in the frame. */
static void count_again(struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head,
			uint32_t row)
{
	uint8_t *in = &r->opens.at[slot].row[row];

	r->frame[slot].again[bs_mrd_kind(head->flags) == BS_KIND_CALIBRATION] += *in == BS_ROW_IN;
	*in = BS_ROW_AGAIN;
}

/* Gives the engines a whole row, made of so many readouts. */
static int add_row(struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head, uint32_t row,
		   const float *data, uint32_t readouts)
{
	const bool calibrates =
		(head->flags & (BS_MRD_IS_CALIBRATION | BS_MRD_IS_CALIBRATION_TOO)) != 0;
	struct frame *f = &r->frame[slot];
	int rc = f->absent ? 0 : add(r, slot, row, head, data);

	if (rc == 0 && calibrates && bs_kind_used(r->p, BS_KIND_CALIBRATION))
		rc = add_beside(r, slot, BS_KIND_CALIBRATION, row, head, data);
	if (rc != 0)
		return rc;
	if (bs_recon_weighs(r))
		bs_frame_weigh(r, slot, head, row, data);
	if (r->opens.at[slot].row[row] != 0) {
		count_again(r, slot, head, row);
		return 0;
	}
	bs_opens_row(&r->opens, slot, row);
	r->beyond = r->beyond == 0 && r->opens.beyond > 0 ? r->images : r->beyond;
	f->summed += readouts;
	f->calibrating.rows += calibrates;
	f->calibrating.summed += calibrates ? readouts : 0;
	if (r->preview.engine != NULL && r->opens.at[slot].have % r->p->preview_every == 0 &&
	    r->images >= r->passed && !f->passed)
		f->preview_due = true;
	return 0;
}

/* Adds a row's mean. head: of one of its readouts, which all had the same length. */
static int add_mean(struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head,
		    const struct bs_mean *mean)
{
	struct bs_mrd_acq h = *head;

	bs_acq_trim(&h, r->p->samples);
	h.flags = mean->calibrates ? BS_MRD_IS_CALIBRATION_TOO : 0;
	return add_row(r, slot, &h, mean->row, mean->data, mean->count);
}

int bs_frame_rest(struct bs_recon *r, uint32_t slot)
{
	struct bs_mean mean;
	int rc = 0;

	while (r->averages != NULL && rc == 0 && bs_averages_next(r->averages, slot, &mean))
		rc = add_mean(r, slot, &r->frame[slot].last, &mean);
	return rc;
}

/* Looks whether the frame, or the window's group, is over with this line. */
static int line_taken(struct bs_recon *r, uint32_t slot, uint64_t flags)
{
	if (r->groups == 0) {
		bs_opens_line(&r->opens, slot, flags,
			      r->averages != NULL && bs_averages_wait(r->averages, slot));
		return 0;
	}
	r->opens.at[slot].own = r->opens.at[slot].have == r->p->frame_step;
	return r->opens.at[slot].own ? bs_window_end(r, slot) : 0;
}

/* Takes a line of one slice. */
static int take_own(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		    const float *data, int64_t now_ns, struct bs_fail *why)
{
	uint32_t slot;
	struct frame *f;
	struct bs_mean mean;
	int rc;

	if (r->bands.on)
		bs_bands_line(&r->bands, &head->idx, head->flags);
	rc = find_frame(r, head, row, &slot, why);
	if (rc != 0)
		return rc;
	f = &r->frame[slot];
	if (r->opens.at[slot].state == BS_OPEN_EMPTY)
		rc = begin_frame(r, slot, head, row);
	if (rc != 0)
		return bs_fail(why, rc, "engine %s refused to begin a frame", f->seat->name);
	if (r->opens.at[slot].row[row] && r->p->plan.encode != BS_ENCODE_LINES)
		return bs_fail(why, BS_ERR_INDEX,
			       "acquisition %u: readout %u is in the frame already, whose sum has "
			       "begun",
			       head->scan_counter, row);
	if (r->opens.at[slot].row[row] && r->expected > 1) {
		f->spare++;
	} else if (r->averages != NULL && r->expected > 1) {
		rc = bs_averages_put(r->averages, slot, row, head,
				     data + 2 * (size_t)head->discard_pre, head->number_of_samples,
				     &mean, why);
		if (rc < 0)
			return rc;
		f->again[0] += rc == BS_AVERAGES_AGAIN;
		rc = rc == 1 ? add_mean(r, slot, head, &mean) : 0;
	} else {
		rc = add_row(r, slot, head, row, data, 1);
	}
	if (rc == 0) {
		f->last = *head;
		f->ended = r->apart.lines;
		f->last_ns = now_ns;
		rc = line_taken(r, slot, head->flags);
	}
	if (rc != 0)
		return bs_fail(why, rc, "engine %s failed at acquisition %u", f->seat->name,
			       head->scan_counter);
	return 0;
}

/* Takes a line of a group for each of its slices, once all of them have places. */
static int take_apart(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		      const float *data, int64_t now_ns, struct bs_fail *why)
{
	const uint32_t bands = r->apart.bands;
	uint32_t slot;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < 2 * bands; i++) {
		struct bs_mrd_acq own = *head;

		bs_apart_band(&r->apart, &own, i % bands);
		r->apart.lines += i == bands;
		rc = i < bands ? find_frame(r, &own, row, &slot, why)
			       : take_own(r, &own, row, data, now_ns, why);
	}
	return rc;
}

static int take_line(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why)
{
	const struct bs_mrd_acq *line = head;
	struct bs_mrd_acq own;
	bool group = false;
	int rc;

	if (r->apart.bands > 1) { /* the line's flags say what the line is of its group */
		own = *head;
		group = bs_apart_line(&r->apart, &own);
		line = &own;
	}
	rc = bs_recon_has_lines(r) ? bs_recon_center(r, head, why) : 0;
	if (rc != 0) {
		bs_recon_lost(r);
		return rc;
	}
	return group ? take_apart(r, line, row, data, now_ns, why)
		     : take_own(r, line, row, data, now_ns, why);
}

/* A calibration line, used or not, may be the last of its frame. */
static void end_by_calibration(struct bs_recon *r, const struct bs_mrd_acq *head, int64_t now_ns)
{
	const struct bs_mrd_idx key = bs_open_key(head);
	uint32_t slot;

	if (r->groups > 0 || head->idx.slice >= r->p->slices ||
	    head->idx.contrast >= r->p->contrasts || (head->flags & BS_MRD_LAST) == 0)
		return;
	slot = bs_opens_find(&r->opens, bs_protocol_pair(r->p, head->idx.slice, head->idx.contrast),
			     &key);
	if (slot == BS_OPEN_NONE)
		return;
	r->frame[slot].last_ns = now_ns;
	(void)line_taken(r, slot, head->flags);
}

static int take_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
			const float *data, int64_t now_ns, struct bs_fail *why)
{
	const enum bs_kind kind = bs_mrd_kind(head->flags);
	const bool uses = bs_scan_uses(r->p, &r->info, kind, head->idx.average);
	const bool embeds = r->apart.bands > 1 ? bs_apart_embeds(&r->apart, head) : r->embedded;
	const bool embedded = embeds && head->encoding_space_ref == 0;
	int rc = 0;

	if (uses && r->seen == 0)
		bs_recon_see(r, head, data);
	if (uses && row != BS_ROW_NONE && r->p->plan.on_grid)
		bs_readouts_see(&r->readouts, r->p, head);
	if (kind == BS_KIND_CALIBRATION && head->idx.average > 0)
		r->several = true;
	if (!uses) {
		r->kinds.unused[kind] += !bs_kind_answered(r->p, kind);
	} else if (kind == BS_KIND_IMAGING || (kind == BS_KIND_CALIBRATION && embedded)) {
		rc = take_line(r, head, row, data, now_ns, why);
	} else {
		if (r->apart.bands > 1 && kind == BS_KIND_CALIBRATION)
			bs_apart_reference(&r->apart, head);
		rc = take_beside(r, kind, head, row, data, why);
	}
	r->kinds.used[kind] += rc == 0 && (uses || bs_kind_answered(r->p, kind));
	if ((head->flags & BS_MRD_OF_ANOTHER) != 0)
		bs_encodings_see(&r->others, head, bs_recon_images(r));
	if (head->flags & BS_MRD_MISFIT) {
		r->misfit.count++;
		r->misfit.channels = head->active_channels;
		r->misfit.samples = head->number_of_samples;
	}
	if (rc == 0 && kind == BS_KIND_CALIBRATION && head->encoding_space_ref == 0)
		end_by_calibration(r, head, now_ns);
	return rc;
}

/* Checks the line before this one (idx NULL: before the end) for missing echoes. */
static void look_at_echoes(struct bs_recon *r, const struct bs_mrd_idx *idx)
{
	if (bs_echo_breaks(&r->echo, idx, r->p->contrasts) && r->broken.lines++ == 0)
		r->broken.before = bs_recon_images(r);
}

int bs_recon_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why)
{
	const enum bs_kind kind = bs_mrd_kind(head->flags);
	struct bs_mrd_acq echo;
	int rc;

	if (kind != BS_KIND_IMAGING && kind != BS_KIND_CALIBRATION)
		return take_readout(r, head, row, data, now_ns, why);
	bs_echo_decide(&r->echo, &head->idx);
	if (r->echo.state == BS_ECHO_BY_COUNTER)
		return take_readout(r, head, row, data, now_ns, why);
	echo = *head;
	echo.idx.contrast = bs_echo_next(&r->echo, &head->idx, r->p->contrasts);
	rc = take_readout(r, &echo, row, data, now_ns, why);
	if (rc == BS_RECON_POP_FIRST) /* the caller gives the same readout again */
		return rc;
	look_at_echoes(r, &head->idx);
	bs_echo_came(&r->echo, &head->idx, echo.idx.contrast);
	return rc;
}

/* The other engines read the same data; waiting for them makes the first one's count enough. */
void bs_recon_reading(struct bs_recon *r, bool wait, uint64_t *made, uint64_t *read)
{
	const struct seat *own = &r->seat[0];
	const struct seat *other = &r->seat[1];

	if (other->engine != NULL && other->engine->reading != NULL)
		other->engine->reading(other->self, true, made, read);
	if (bs_recon_previews_beside(r) && r->preview.engine->reading != NULL)
		r->preview.engine->reading(r->preview.self, true, made, read);
	*made = *read = 0;
	if (own->engine->reading != NULL)
		own->engine->reading(own->self, wait, made, read);
}

void bs_recon_close(struct bs_recon *r)
{
	bool cut = false;

	for (uint32_t i = 0; i < r->frames; i++)
		cut = cut || (r->opens.at[i].state == BS_OPEN_FILLING &&
			      r->frame[i].first.idx.repetition == r->bands.now);
	bs_bands_close(&r->bands, cut);
	bs_apart_close(&r->apart);
	look_at_echoes(r, NULL);
	for (uint32_t i = 0; r->groups > 0 && i < r->frames; i++) {
		struct frame *f = &r->frame[i];
		struct bs_open *o = &r->opens.at[i];

		if (o->state == BS_OPEN_FILLING) {
			f->w.held[f->w.group] = 1;
			f->w.count[f->w.group] = o->have;
			f->w.unfolded = true;
		}
		/* The scan ended before the window was full: its groups were in no image yet. */
		if (o->state == BS_OPEN_EMPTY && f->w.passed > 0 && f->w.passed < r->groups)
			bs_opens_end(&r->opens, i);
	}
	bs_opens_close(&r->opens);
	r->flows.closed = r->volumes.closed = true;
}

void bs_recon_lost(struct bs_recon *r)
{
	r->opens.lost = true;
}
