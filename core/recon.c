/* core/recon.c - frames: which readouts they have, when they are done; see recon.h */
#include "core/recon.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"

struct seat;

/* A sliding window: the groups that ended, by their number in the table. */
struct window {
	uint8_t *held;   /* [group]: its share is of use */
	uint32_t *count; /* [group]: readouts that it holds */
	uint32_t group;  /* the newest one */
	uint32_t passed; /* groups since the scan began, up to a window's */
	bool unfolded;   /* the newest one is not among the shares yet */
};

/* A frame's slot: one per slice and contrast, reused for every repetition (and group of a window). */
struct frame {
	enum { FRAME_EMPTY, FRAME_FILLING, FRAME_READY } state;
	uint64_t key; /* repetition, set, phase, average: what makes it another image */
	uint32_t have;
	uint8_t *row;            /* [rows]: 1 = this readout is in */
	const struct seat *seat; /* the engine that it began with */
	struct bs_mrd_acq first, last;
	int64_t last_ns;
	bool preview_due;
	struct window w;
};

struct seat {
	const struct bs_engine *engine; /* NULL: nobody sits there */
	void *self;
};

struct bs_recon {
	const struct bs_protocol *p;
	struct seat seat[2]; /* the method's own, and the gridding that may stand in for it */
	struct bs_aim aim;
	const struct bs_engine *preview; /* whose peek is used; NULL: no previews */
	void *preview_self;              /* armed beside, or the method's own */
	struct bs_protocol preview_p, stand_in_p;
	struct frame *frame;
	uint32_t frames, rows;
	uint32_t groups;  /* of a window; 0: none */
	uint32_t dropped; /* readouts that belong to no image */
	uint16_t image_index, preview_index;
	uint16_t series;
	float fov_mm[3];
};

static uint64_t frame_key(const struct bs_mrd_idx *i)
{
	return (uint64_t)i->repetition << 48 | (uint64_t)i->set << 32 | (uint64_t)i->phase << 16 |
	       i->average;
}

/* Rows that admission can name: the table's readouts, or every line of the encoded grid. */
static uint32_t count_rows(const struct bs_protocol *p)
{
	return p->method == BS_METHOD_CARTESIAN ? p->encoded[1] * p->encoded[2] : p->readouts;
}

/* Readouts that end a frame, or a window's group. */
static uint32_t full_at(const struct bs_recon *r)
{
	return r->groups > 0 ? r->p->frame_step : r->p->readouts;
}

/* ---- arming ------------------------------------------------------------------------------- */

/* What solves least squares is previewed by gridding, to the accuracy that the eye needs. */
static void derive_preview(struct bs_protocol *out, const struct bs_protocol *p)
{
	*out = *p;
	out->method = BS_METHOD_GRIDDING;
	if (p->density == BS_DENSITY_NONE)
		out->density = BS_DENSITY_RAMP;
	out->normalize = BS_NORMALIZE_UNIFORM;
	out->accuracy = 1e-2;
	out->width = out->oversampling = 0.0;
	out->frame_step = 0;
}

/* A window that slides has no beginning at which its readouts could take another way. */
static bool wants_stand_in(const struct bs_protocol *p, const struct bs_engine *engine)
{
	return engine->preview != NULL && p->on_miss == BS_MISS_SHED && p->image_ms > 0.0 &&
	       p->frame_step == 0 && (p->method == BS_METHOD_LS || p->method == BS_METHOD_SENSE);
}

/* What the ladder falls back to: as good as gridding gets. */
static void derive_stand_in(struct bs_protocol *out, const struct bs_protocol *p)
{
	*out = *p;
	out->method = BS_METHOD_GRIDDING;
	out->basis = BS_BASIS_DELTA;
	if (p->density == BS_DENSITY_NONE)
		out->density = BS_DENSITY_PIPE;
	out->normalize = BS_NORMALIZE_UNIFORM;
	out->preview_every = 0;
}

static int check_ways(const struct bs_protocol *p, const struct bs_engine *e, struct bs_fail *why)
{
	const struct bs_engine *preview = e->preview != NULL ? e->preview : e;

	if (p->frame_step > 0 && e->fold == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': frame.step: engine %s has no sliding window",
			       p->name, e->name);
	if (p->frame_step > 0 && p->readouts % p->frame_step != 0)
		return bs_fail(why, BS_ERR_CONFIG,
			       "protocol '%s': frame.step: %u readouts are no multiple of %u",
			       p->name, p->readouts, p->frame_step);
	if (p->frame_step > 0 && p->preview_every > 0)
		return bs_fail(why, BS_ERR_CONFIG,
			       "protocol '%s': frame.preview_every: a sliding window has none",
			       p->name);
	if (p->preview_every > 0 && preview->peek == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': frame.preview_every: engine %s makes no previews",
			       p->name, e->name);
	return 0;
}

int bs_recon_need(const struct bs_protocol *p, const struct bs_engine *engine, struct bs_need *need,
		  struct bs_fail *why)
{
	struct bs_protocol beside;
	int rc = check_ways(p, engine, why);

	if (rc == 0)
		rc = engine->need(p, need, why);
	if (rc == 0 && p->preview_every > 0 && engine->preview != NULL) {
		derive_preview(&beside, p);
		rc = engine->preview->need(&beside, need, why);
	}
	if (rc == 0 && wants_stand_in(p, engine)) {
		derive_stand_in(&beside, p);
		rc = engine->preview->need(&beside, need, why);
	}
	return rc;
}

static int sit(struct seat *s, const struct bs_engine *engine, const struct bs_protocol *p,
	       const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	int rc = engine->arm(&s->self, p, tables, env, why);

	if (rc == 0)
		s->engine = engine;
	return rc;
}

static int arm_preview(struct bs_recon *r, const struct bs_tables *tables,
		       const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct seat *own = &r->seat[0];

	if (r->p->preview_every == 0)
		return 0;
	r->preview = own->engine;
	r->preview_self = own->self;
	if (own->engine->preview == NULL)
		return 0;
	derive_preview(&r->preview_p, r->p);
	r->preview = own->engine->preview;
	r->preview_self = NULL;
	return r->preview->arm(&r->preview_self, &r->preview_p, tables, env, why);
}

static int arm_stand_in(struct bs_recon *r, const struct bs_tables *tables,
			const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_engine *engine = r->seat[0].engine;

	if (!wants_stand_in(r->p, engine))
		return 0;
	derive_stand_in(&r->stand_in_p, r->p);
	return sit(&r->seat[1], engine->preview, &r->stand_in_p, tables, env, why);
}

static bool open_frame(const struct bs_recon *r, struct frame *f)
{
	f->row = calloc(r->rows, 1);
	if (r->groups > 0) {
		f->w.held = calloc(r->groups, 1);
		f->w.count = calloc(r->groups, sizeof(*f->w.count));
	}
	return f->row != NULL && (r->groups == 0 || (f->w.held != NULL && f->w.count != NULL));
}

int bs_recon_arm(struct bs_recon **out, const struct bs_protocol *p, const struct bs_engine *engine,
		 const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_recon *r;
	int rc = check_ways(p, engine, why);

	if (rc != 0)
		return rc;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	r->p = p;
	r->frames = p->slices * p->contrasts;
	r->rows = count_rows(p);
	r->groups = p->frame_step > 0 ? p->readouts / p->frame_step : 0;
	r->frame = calloc(r->frames, sizeof(*r->frame));
	if (r->frame == NULL)
		goto nomem;
	for (uint32_t f = 0; f < r->frames; f++)
		if (!open_frame(r, &r->frame[f]))
			goto nomem;
	rc = sit(&r->seat[0], engine, p, tables, env, why);
	if (rc == 0)
		rc = arm_preview(r, tables, env, why);
	if (rc == 0)
		rc = arm_stand_in(r, tables, env, why);
	if (rc != 0) {
		bs_recon_disarm(r);
		return rc;
	}
	*out = r;
	return 0;
nomem:
	bs_recon_disarm(r);
	return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frame tables", p->name);
}

void bs_recon_aim(struct bs_recon *r, const struct bs_aim *aim)
{
	r->aim = *aim;
}

bool bs_recon_stands_in(const struct bs_recon *r)
{
	return r->seat[1].engine != NULL;
}

void bs_recon_disarm(struct bs_recon *r)
{
	if (r == NULL)
		return;
	if (r->preview_self != NULL && r->preview_self != r->seat[0].self)
		r->preview->disarm(r->preview_self);
	for (int i = 1; i >= 0; i--)
		if (r->seat[i].engine != NULL)
			r->seat[i].engine->disarm(r->seat[i].self);
	for (uint32_t f = 0; r->frame != NULL && f < r->frames; f++) {
		free(r->frame[f].row);
		free(r->frame[f].w.held);
		free(r->frame[f].w.count);
	}
	free(r->frame);
	free(r);
}

/* ---- a scan ------------------------------------------------------------------------------- */

void bs_recon_scan(struct bs_recon *r, const struct bs_scan_info *info)
{
	for (uint32_t i = 0; i < r->frames; i++) {
		struct frame *f = &r->frame[i];

		f->state = FRAME_EMPTY;
		f->preview_due = false;
		f->w.passed = 0;
		f->w.unfolded = false;
		if (r->groups > 0)
			memset(f->w.held, 0, r->groups);
	}
	r->dropped = 0;
	r->image_index = r->preview_index = 0;
	r->series = (uint16_t)((r->series + 1u) % BS_PREVIEW_SERIES);
	for (int a = 0; a < 3; a++)
		r->fov_mm[a] = info->fov_mm[a] > 0.0f ? info->fov_mm[a] : r->p->fov_mm[a];
}

static void pass(const struct bs_recon *r, struct window *w, uint32_t groups)
{
	w->passed = groups < r->groups - w->passed ? w->passed + groups : r->groups;
}

/*
 * The stream enters a group: what went by since the last one it was in was lost. A pass that the
 * stream does not count is taken to be the next one.
 */
static void enter_group(const struct bs_recon *r, struct frame *f, const struct bs_mrd_idx *idx,
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

/* A group is over; what is missing of it will not come. An image is due once all have gone by. */
static int end_group(struct bs_recon *r, uint32_t slot)
{
	struct frame *f = &r->frame[slot];
	int rc = 0;

	f->w.held[f->w.group] = 1;
	f->w.count[f->w.group] = f->have;
	pass(r, &f->w, 1);
	f->w.unfolded = f->w.passed == r->groups;
	f->state = f->w.unfolded ? FRAME_READY : FRAME_EMPTY;
	if (!f->w.unfolded)
		rc = r->seat[0].engine->fold(r->seat[0].self, slot, f->w.group);
	return rc;
}

static bool has_preview_beside(const struct bs_recon *r)
{
	return r->preview_self != NULL && r->preview_self != r->seat[0].self;
}

static int begin_frame(struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head,
		       uint32_t row)
{
	struct frame *f = &r->frame[slot];
	int rc;

	f->seat = &r->seat[r->aim.gridding && r->seat[1].engine != NULL];
	rc = f->seat->engine->begin(f->seat->self, slot);
	if (rc == 0 && has_preview_beside(r))
		rc = r->preview->begin(r->preview_self, slot);
	if (rc != 0)
		return rc;
	if (r->groups > 0)
		enter_group(r, f, &head->idx, row / r->p->frame_step);
	memset(f->row, 0, r->rows);
	f->state = FRAME_FILLING;
	f->key = frame_key(&head->idx);
	f->have = 0;
	f->first = *head;
	return 0;
}

/* True: this readout belongs to a later frame (or group) than the one that is being filled. */
static bool goes_on(const struct bs_recon *r, const struct frame *f, const struct bs_mrd_acq *head,
		    uint32_t row)
{
	if (r->groups == 0)
		return f->key != frame_key(&head->idx);
	return row / r->p->frame_step != f->w.group ||
	       head->idx.repetition != f->first.idx.repetition;
}

static int add(struct bs_recon *r, uint32_t slot, uint32_t row, const float *data, size_t stride)
{
	const struct seat *seat = r->frame[slot].seat;
	int rc = seat->engine->add(seat->self, slot, row, data, stride);

	if (rc == 0 && has_preview_beside(r))
		rc = r->preview->add(r->preview_self, slot, row, data, stride);
	return rc;
}

int bs_recon_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why)
{
	uint32_t slot;
	struct frame *f;
	int rc = 0;

	if (row == BS_ROW_NONE) {
		r->dropped++;
		return 0;
	}
	slot = head->idx.slice * r->p->contrasts + head->idx.contrast;
	if (slot >= r->frames || row >= r->rows)
		return bs_fail(why, BS_ERR_INDEX, "acquisition %u: readout %u of frame slot %u",
			       head->scan_counter, row, slot);
	f = &r->frame[slot];
	if (f->state == FRAME_FILLING && goes_on(r, f, head, row)) {
		f->state = FRAME_READY; /* the sender has gone on: what is missing will not come */
		if (r->groups > 0)
			rc = end_group(r, slot);
	}
	if (f->state == FRAME_READY)
		return BS_RECON_POP_FIRST;
	if (rc == 0 && f->state == FRAME_EMPTY)
		rc = begin_frame(r, slot, head, row);
	if (rc != 0)
		return bs_fail(why, rc, "engine %s refused to begin a frame",
			       f->seat->engine->name);
	if (f->row[row])
		return bs_fail(why, BS_ERR_INDEX,
			       "acquisition %u: readout %u is in the frame already",
			       head->scan_counter, row);
	rc = add(r, slot, row, data + 2 * (size_t)head->discard_pre, head->number_of_samples);
	if (rc == 0) {
		f->row[row] = 1;
		f->last = *head;
		f->last_ns = now_ns;
		if (++f->have == full_at(r))
			f->state = FRAME_READY;
		else if (r->preview_self != NULL && f->have % r->p->preview_every == 0)
			f->preview_due = true;
		if (f->state == FRAME_READY && r->groups > 0)
			rc = end_group(r, slot);
	}
	if (rc != 0)
		return bs_fail(why, rc, "engine %s failed at acquisition %u", f->seat->engine->name,
			       head->scan_counter);
	return 0;
}

/* Who stands in or previews reads the same data: that is waited for in passing. */
void bs_recon_reading(struct bs_recon *r, bool wait, uint64_t *made, uint64_t *read)
{
	const struct seat *own = &r->seat[0];
	const struct seat *other = &r->seat[1];

	if (other->engine != NULL && other->engine->reading != NULL)
		other->engine->reading(other->self, true, made, read);
	if (has_preview_beside(r) && r->preview->reading != NULL)
		r->preview->reading(r->preview_self, true, made, read);
	*made = *read = 0;
	if (own->engine->reading != NULL)
		own->engine->reading(own->self, wait, made, read);
}

void bs_recon_close(struct bs_recon *r)
{
	for (uint32_t i = 0; i < r->frames; i++) {
		struct frame *f = &r->frame[i];

		if (f->state == FRAME_FILLING && r->groups > 0) {
			f->w.held[f->w.group] = 1;
			f->w.count[f->w.group] = f->have;
			f->w.unfolded = true;
		}
		/* a scan that ended before the window was full: its groups were in no image yet */
		if (f->state == FRAME_FILLING ||
		    (f->state == FRAME_EMPTY && f->w.passed > 0 && f->w.passed < r->groups))
			f->state = FRAME_READY;
	}
}

/* ---- images ------------------------------------------------------------------------------- */

/* A frame that is complete needs no preview any more. */
static bool preview_due(const struct frame *f)
{
	return f->preview_due && f->state == FRAME_FILLING;
}

uint32_t bs_recon_previews(const struct bs_recon *r)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < r->frames; f++)
		n += preview_due(&r->frame[f]);
	return n;
}

uint32_t bs_recon_ready(const struct bs_recon *r)
{
	uint32_t n = bs_recon_previews(r);

	for (uint32_t f = 0; f < r->frames; f++)
		n += r->frame[f].state == FRAME_READY;
	return n;
}

void bs_recon_skip_previews(struct bs_recon *r)
{
	for (uint32_t f = 0; f < r->frames; f++)
		r->frame[f].preview_due = false;
}

const char *bs_recon_engine(const struct bs_recon *r, const struct bs_recon_image *image)
{
	return image->preview ? r->preview->name : r->seat[image->report.gridded].engine->name;
}

static void fill_head(struct bs_recon *r, const struct frame *f, bool preview,
		      struct bs_mrd_image *h)
{
	const struct bs_mrd_acq *a = &f->first;
	bool complex_out = r->p->output == BS_OUTPUT_COMPLEX;

	memset(h, 0, sizeof(*h));
	h->version = 1;
	h->data_type = complex_out ? BS_MRD_CXFLOAT : BS_MRD_FLOAT;
	h->image_type = complex_out ? BS_MRD_COMPLEX : BS_MRD_MAGNITUDE;
	h->measurement_uid = a->measurement_uid;
	for (int i = 0; i < 3; i++) {
		h->matrix_size[i] = (uint16_t)r->p->matrix[i];
		h->field_of_view[i] = r->fov_mm[i];
		h->position[i] = a->position[i];
		h->read_dir[i] = a->read_dir[i];
		h->phase_dir[i] = a->phase_dir[i];
		h->slice_dir[i] = a->slice_dir[i];
		h->patient_table_position[i] = a->patient_table_position[i];
		h->physiology_time_stamp[i] = f->last.physiology_time_stamp[i];
	}
	h->channels = (uint16_t)bs_protocol_channels(r->p);
	h->average = a->idx.average;
	h->slice = a->idx.slice;
	h->contrast = a->idx.contrast;
	h->phase = a->idx.phase;
	h->repetition = a->idx.repetition;
	h->set = a->idx.set;
	h->acquisition_time_stamp = f->last.acquisition_time_stamp;
	h->image_index = preview ? ++r->preview_index : ++r->image_index;
	h->image_series_index = (uint16_t)(r->series | (preview ? BS_PREVIEW_SERIES : 0));
}

static uint32_t readouts_in(const struct bs_recon *r, const struct frame *f)
{
	uint32_t sum = 0;

	if (r->groups == 0)
		return f->have;
	for (uint32_t g = 0; g < r->groups; g++)
		sum += f->w.held[g] ? f->w.count[g] : 0;
	return sum;
}

static int make_window(struct bs_recon *r, uint32_t slot, struct bs_recon_image *image,
		       int64_t deadline_ns)
{
	struct window *w = &r->frame[slot].w;
	const struct seat *own = &r->seat[0];
	int64_t fold_ns = bs_now_ns();
	int rc = w->unfolded ? own->engine->fold(own->self, slot, w->group) : 0;

	fold_ns = bs_now_ns() - fold_ns;
	w->unfolded = false;
	if (rc == 0)
		rc = own->engine->slide(own->self, slot, w->held, deadline_ns, image->pixels,
					&image->report);
	image->report.stage_ns[BS_BUDGET_ACCUMULATE] += fold_ns;
	return rc;
}

static int make_image(struct bs_recon *r, uint32_t slot, struct bs_recon_image *image, bool preview,
		      int64_t deadline_ns, struct bs_fail *why)
{
	struct frame *f = &r->frame[slot];
	int rc;

	memset(&image->report, 0, sizeof(image->report));
	image->report.allowed = r->aim.iterations;
	image->report.gridded = f->seat == &r->seat[1];
	fill_head(r, f, preview, &image->head);
	image->preview = preview;
	image->readouts = readouts_in(r, f);
	image->missing = r->p->readouts > image->readouts ? r->p->readouts - image->readouts : 0;
	image->last_ns = f->last_ns;
	image->last_scan_counter = f->last.scan_counter;
	if (preview)
		rc = r->preview->peek(r->preview_self, slot, image->pixels);
	else if (r->groups > 0)
		rc = make_window(r, slot, image, deadline_ns);
	else
		rc = f->seat->engine->finish(f->seat->self, slot, deadline_ns, image->pixels,
					     &image->report);
	if (rc != 0)
		return bs_fail(why, rc, "engine %s failed to make %s %u", bs_recon_engine(r, image),
			       preview ? "preview" : "image", image->head.image_index);
	return 1;
}

int bs_recon_pop(struct bs_recon *r, struct bs_recon_image *image, int64_t deadline_ns,
		 struct bs_fail *why)
{
	for (uint32_t slot = 0; slot < r->frames; slot++) {
		struct frame *f = &r->frame[slot];

		if (f->state != FRAME_READY)
			continue;
		f->state = FRAME_EMPTY;
		f->preview_due = false;
		return make_image(r, slot, image, false, deadline_ns, why);
	}
	for (uint32_t slot = 0; slot < r->frames; slot++) {
		struct frame *f = &r->frame[slot];

		if (!preview_due(f))
			continue;
		f->preview_due = false;
		return make_image(r, slot, image, true, deadline_ns, why);
	}
	return 0;
}
