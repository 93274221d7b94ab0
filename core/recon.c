/* core/recon.c - frames: which readouts they have, when they are done; see recon.h */
#include "core/recon.h"

#include <stdlib.h>
#include <string.h>

/* A frame's slot: one per slice and contrast, reused for every repetition. */
struct frame {
	enum { FRAME_EMPTY, FRAME_FILLING, FRAME_READY } state;
	uint64_t key; /* repetition, set, phase, average: what makes it another image */
	uint32_t have;
	uint8_t *row; /* [rows]: 1 = this readout is in */
	struct bs_mrd_acq first, last;
	int64_t last_ns;
};

struct bs_recon {
	const struct bs_protocol *p;
	const struct bs_engine *engine;
	void *self;
	struct frame *frame;
	uint32_t frames, rows;
	uint32_t dropped; /* readouts that belong to no image */
	uint16_t image_index;
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

int bs_recon_arm(struct bs_recon **out, const struct bs_protocol *p, const struct bs_engine *engine,
		 const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_recon *r = calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	r->p = p;
	r->engine = engine;
	r->frames = p->slices * p->contrasts;
	r->rows = count_rows(p);
	r->frame = calloc(r->frames, sizeof(*r->frame));
	if (r->frame == NULL)
		goto nomem;
	for (uint32_t f = 0; f < r->frames; f++) {
		r->frame[f].row = calloc(r->rows, 1);
		if (r->frame[f].row == NULL)
			goto nomem;
	}
	rc = engine->arm(&r->self, p, tables, env, why);
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

void bs_recon_disarm(struct bs_recon *r)
{
	if (r == NULL)
		return;
	if (r->self != NULL)
		r->engine->disarm(r->self);
	for (uint32_t f = 0; r->frame != NULL && f < r->frames; f++)
		free(r->frame[f].row);
	free(r->frame);
	free(r);
}

void bs_recon_scan(struct bs_recon *r, const struct bs_scan_info *info)
{
	for (uint32_t f = 0; f < r->frames; f++)
		r->frame[f].state = FRAME_EMPTY;
	r->dropped = 0;
	r->image_index = 0;
	r->series++;
	for (int a = 0; a < 3; a++)
		r->fov_mm[a] = info->fov_mm[a] > 0.0f ? info->fov_mm[a] : r->p->fov_mm[a];
}

static int begin_frame(struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head)
{
	struct frame *f = &r->frame[slot];
	int rc = r->engine->begin(r->self, slot);

	if (rc != 0)
		return rc;
	memset(f->row, 0, r->rows);
	f->state = FRAME_FILLING;
	f->key = frame_key(&head->idx);
	f->have = 0;
	f->first = *head;
	return 0;
}

int bs_recon_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why)
{
	uint32_t slot;
	struct frame *f;
	int rc;

	if (row == BS_ROW_NONE) {
		r->dropped++;
		return 0;
	}
	slot = head->idx.slice * r->p->contrasts + head->idx.contrast;
	if (slot >= r->frames || row >= r->rows)
		return bs_fail(why, BS_ERR_INDEX, "acquisition %u: readout %u of frame slot %u",
			       head->scan_counter, row, slot);
	f = &r->frame[slot];
	if (f->state == FRAME_FILLING && f->key != frame_key(&head->idx))
		f->state = FRAME_READY; /* the sender has gone on: what is missing will not come */
	if (f->state == FRAME_READY)
		return BS_RECON_POP_FIRST;
	if (f->state == FRAME_EMPTY) {
		rc = begin_frame(r, slot, head);
		if (rc != 0)
			return bs_fail(why, rc, "engine %s refused to begin a frame",
				       r->engine->name);
	}
	if (f->row[row])
		return bs_fail(why, BS_ERR_INDEX,
			       "acquisition %u: readout %u is in the frame already",
			       head->scan_counter, row);
	rc = r->engine->add(r->self, slot, row, data + 2 * (size_t)head->discard_pre,
			    head->number_of_samples);
	if (rc != 0)
		return bs_fail(why, rc, "engine %s failed at acquisition %u", r->engine->name,
			       head->scan_counter);
	f->row[row] = 1;
	f->last = *head;
	f->last_ns = now_ns;
	if (++f->have == r->p->readouts)
		f->state = FRAME_READY;
	return 0;
}

void bs_recon_close(struct bs_recon *r)
{
	for (uint32_t f = 0; f < r->frames; f++)
		if (r->frame[f].state == FRAME_FILLING)
			r->frame[f].state = FRAME_READY;
}

uint32_t bs_recon_ready(const struct bs_recon *r)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < r->frames; f++)
		n += r->frame[f].state == FRAME_READY;
	return n;
}

static void fill_head(struct bs_recon *r, const struct frame *f, struct bs_mrd_image *h)
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
	h->image_index = ++r->image_index;
	h->image_series_index = r->series;
}

int bs_recon_pop(struct bs_recon *r, struct bs_recon_image *image, int64_t deadline_ns,
		 struct bs_fail *why)
{
	for (uint32_t slot = 0; slot < r->frames; slot++) {
		struct frame *f = &r->frame[slot];
		int rc;

		if (f->state != FRAME_READY)
			continue;
		f->state = FRAME_EMPTY;
		memset(&image->report, 0, sizeof(image->report));
		fill_head(r, f, &image->head);
		image->readouts = f->have;
		image->missing = r->p->readouts > f->have ? r->p->readouts - f->have : 0;
		image->last_ns = f->last_ns;
		image->last_scan_counter = f->last.scan_counter;
		rc = r->engine->finish(r->self, slot, deadline_ns, image->pixels, &image->report);
		if (rc != 0)
			return bs_fail(why, rc, "engine %s failed to make image %u",
				       r->engine->name, image->head.image_index);
		return 1;
	}
	return 0;
}
