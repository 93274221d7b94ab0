/* core/frame/image.c - the image of a frame: made, or passed over; see recon.h, part.h */
#include "core/frame/part.h"

#include <stdio.h>
#include <string.h>

const char *bs_recon_engine(const struct bs_recon *r, const struct bs_recon_image *image)
{
	return image->preview ? r->preview->name : r->seat[image->report.gridded].engine->name;
}

static void fill_head(const struct bs_recon *r, const struct frame *f, uint64_t number,
		      bool preview, struct bs_mrd_image *h)
{
	const struct bs_mrd_acq *a = &f->first;
	bool complex_out = r->p->output == BS_OUTPUT_COMPLEX;

	memset(h, 0, sizeof(*h));
	h->version = 1;
	h->data_type = complex_out ? BS_MRD_CXFLOAT : BS_MRD_FLOAT;
	h->image_type = complex_out ? BS_MRD_COMPLEX : BS_MRD_MAGNITUDE;
	h->measurement_uid = a->measurement_uid;
	for (int i = 0; i < 3; i++) {
		h->matrix_size[i] = (uint16_t)bs_protocol_image_axis(r->p, i);
		h->field_of_view[i] = r->fov_mm[i];
		h->position[i] = a->position[i];
		h->read_dir[i] = a->read_dir[i];
		h->phase_dir[i] = a->phase_dir[i];
		h->slice_dir[i] = a->slice_dir[i];
		h->patient_table_position[i] = a->patient_table_position[i];
		h->physiology_time_stamp[i] = f->last.physiology_time_stamp[i];
	}
	h->channels = (uint16_t)bs_protocol_channels(r->p);
	h->average = r->averages == NULL ? a->idx.average : 0;
	h->slice = a->idx.slice;
	h->contrast = a->idx.contrast;
	h->phase = a->idx.phase;
	h->repetition = a->idx.repetition;
	h->set = a->idx.set;
	h->acquisition_time_stamp = f->last.acquisition_time_stamp;
	h->image_index = (uint16_t)number;
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

/* What the image holds, and what it lacks. */
static void say_held(const struct bs_recon *r, const struct frame *f, struct bs_recon_image *image)
{
	const uint32_t rows = readouts_in(r, f);
	const bool sums = r->averages != NULL;
	const struct bs_held held = { .lines = bs_recon_has_lines(r) ? &r->lines : NULL,
				      .present = f->row,
				      .rows = r->rows,
				      .readouts = rows,
				      .missing = bs_frame_missing(r, f, rows),
				      .averages = r->expected,
				      .fewer = sums ? rows * r->expected - f->summed : 0 };

	image->averages = sums ? r->expected : 0;
	image->readouts = sums ? f->summed : rows;
	image->missing = bs_held_absent(&held);
	image->lacks[0] = '\0';
	if (!image->preview && !bs_lacks_nothing(r->p, &r->info, &held))
		(void)bs_lacks_words(image->lacks, sizeof(image->lacks), r->p, &r->info, &held);
}

/* What finish says that the image lacks, behind what its readouts do. */
static void say_left(struct bs_recon_image *image)
{
	const size_t n = strlen(image->lacks);

	if (image->report.why.code == 0 && image->report.why.text[0] != '\0')
		(void)snprintf(image->lacks + n, sizeof(image->lacks) - n, "%s%s",
			       n > 0 ? "; " : "", image->report.why.text);
}

static int not_made(const struct bs_recon *r, const struct bs_recon_image *image, int rc,
		    struct bs_fail *why)
{
	return bs_fail(why, rc, "engine %s failed to make %s %llu%s%s", bs_recon_engine(r, image),
		       image->preview ? "preview" : "image", (unsigned long long)image->number,
		       image->report.why.code != 0 ? ": " : "", image->report.why.text);
}

/* The image was handed on before: only what it leaves for later ones is made. */
static int pass_image(struct bs_recon *r, uint32_t slot, struct bs_recon_image *image,
		      struct bs_fail *why)
{
	struct frame *f = &r->frame[slot];
	const struct bs_engine *engine = f->seat->engine;
	struct bs_report *report = &image->report;
	int rc = bs_frame_rest(r, slot);

	memset(report, 0, sizeof(*report));
	report->allowed = 1;
	report->gridded = f->seat == &r->seat[1];
	image->number = ++r->images;
	image->preview = false;
	if (rc == 0 && r->groups > 0)
		rc = bs_window_pass(r, slot, image);
	else if (rc == 0 && engine->pass != NULL)
		rc = engine->pass(f->seat->self, slot, NULL, report);
	else if (rc == 0)
		rc = engine->finish(f->seat->self, slot, INT64_MAX, image->pixels, report);
	if (rc != 0)
		return not_made(r, image, rc, why);
	(void)bs_recon_take_calibration(r, slot);
	f->imaged = f->imaged || !report->gridded;
	return 0;
}

static int make_image(struct bs_recon *r, uint32_t slot, struct bs_recon_image *image, bool preview,
		      int64_t deadline_ns, struct bs_fail *why)
{
	struct frame *f = &r->frame[slot];
	int rc = preview ? 0 : bs_frame_rest(r, slot);

	if (rc != 0)
		return bs_fail(why, rc, "engine %s failed to add averages", f->seat->engine->name);
	memset(&image->report, 0, sizeof(image->report));
	image->report.allowed = r->aim.iterations;
	image->report.gridded = f->seat == &r->seat[1];
	image->number = preview ? ++r->previews : ++r->images;
	fill_head(r, f, image->number, preview, &image->head);
	image->preview = preview;
	image->kinds = r->kinds;
	image->prepared = r->prepared;
	say_held(r, f, image);
	image->corrected = r->corrected;
	image->earlier = r->earlier;
	image->last_ns = f->last_ns;
	image->last_scan_counter = f->last.scan_counter;
	if (preview)
		rc = r->preview->peek(r->preview_self, slot, image->pixels);
	else if (r->groups > 0)
		rc = bs_window_image(r, slot, image, deadline_ns);
	else
		rc = f->seat->engine->finish(f->seat->self, slot, deadline_ns, image->pixels,
					     &image->report);
	if (rc != 0)
		return not_made(r, image, rc, why);
	say_left(image);
	if (!preview)
		image->report.stage_ns[BS_BUDGET_CALIBRATION] += bs_recon_take_calibration(r, slot);
	f->imaged = f->imaged || (!preview && !image->report.gridded);
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
		if (r->images >= r->passed)
			return make_image(r, slot, image, false, deadline_ns, why);
		int rc = pass_image(r, slot, image, why);

		if (rc != 0)
			return rc;
	}
	for (uint32_t slot = 0; slot < r->frames; slot++) {
		struct frame *f = &r->frame[slot];

		if (!bs_frame_previews(f))
			continue;
		f->preview_due = false;
		return make_image(r, slot, image, true, deadline_ns, why);
	}
	return 0;
}
