/* core/frame/image.c - what an image says of its frame and its scan; see recon.h, part.h */
#include "core/frame/part.h"

#include <stdio.h>
#include <string.h>

#include "core/frame/geometry.h"
#include "core/hash.h"
#include "core/protocol.h"
#include "core/text.h"

const char *bs_recon_engine(const struct bs_recon *r, const struct bs_recon_image *image)
{
	return image->preview ? r->preview.name : r->seat[image->report.gridded].name;
}

/* ---- notes for the images to come ---- */

void bs_recon_prepared(struct bs_recon *r, const struct bs_prepared *prepared)
{
	r->prepared = *prepared;
}

void bs_recon_corrected(struct bs_recon *r, const struct bs_corrected *corrected)
{
	r->corrected = *corrected;
}

void bs_recon_earlier(struct bs_recon *r, const struct bs_earlier *earlier)
{
	r->earlier = *earlier;
}

void bs_recon_calibrated(struct bs_recon *r, uint32_t slice, int64_t spent_ns)
{
	if (slice < r->p->slices)
		r->frame[bs_protocol_frame(r->p, slice, 0)].calibration_ns += spent_ns;
}

int bs_recon_center(struct bs_recon *r, const struct bs_mrd_acq *head, struct bs_fail *why)
{
	struct bs_center c;

	bs_center_of(&c, &r->p->encoded[1], &r->info, &head->idx);
	for (int a = 0; r->centered && a < 2; a++)
		if (c.line[a] != r->center.line[a])
			return bs_fail(why, BS_ERR_INDEX,
				       "acquisition %u: the center of kspace_encode_step_%d is %u "
				       "by %s, %u by the scan's first line",
				       head->scan_counter, a + 1, c.line[a],
				       c.told[a] ? "its idx.user" : "the header",
				       r->center.line[a]);
	if (!r->centered) {
		r->center = c;
		bs_lines_about(&r->lines, r->p, &r->info, &c);
	}
	r->centered = true;
	return 0;
}

void bs_frame_weigh(const struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head,
		    uint32_t row, const float *data)
{
	struct frame *f = &r->frame[slot];
	bool told = true;
	float energy;

	for (int a = 0; a < 2; a++)
		told = told && (r->center.told[a] || r->lines.size[a] == 1);
	if (told)
		return;
	energy = bs_center_energy(data + 2 * (size_t)head->discard_pre, head->number_of_samples,
				  r->p->coils, r->p->samples);
	if (row == f->strongest && r->opens.at[slot].row[row] != 0)
		f->energy = energy; /* the strongest line came again, and its last readout counts */
	if (energy < f->energy ||
	    (energy == f->energy && row >= f->strongest && r->opens.at[slot].have > 0))
		return;
	f->energy = energy;
	f->strongest = row;
}

const struct bs_kinds *bs_recon_kinds(const struct bs_recon *r)
{
	return &r->kinds;
}

/* ---- words about an image ---- */

const char *bs_image_remark(char *out, size_t cap, const struct bs_recon_image *image)
{
	const struct bs_prepared *p = &image->prepared;
	const struct {
		const char *before, *words;
	} said[] = { { "the center of k-space is ", image->center },
		     { "", image->zeros },
		     { "", image->readout },
		     { "not whitened: ", p->asked && !p->whitened ? p->match.words : "" },
		     { "without W: ", image->report.w.lacks },
		     { "", image->header } };
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]) && n < cap; i++)
		if (said[i].words[0] != '\0')
			n += (size_t)snprintf(out + n, cap - n, "%s%s%s", n > 0 ? "; " : "",
					      said[i].before, said[i].words);
	return out;
}

static void fill_head(const struct bs_recon *r, const struct frame *f, struct bs_recon_image *image)
{
	struct bs_mrd_image *h = &image->head;
	const struct bs_mrd_acq *a = &f->first;
	const bool complex_out = r->p->output == BS_OUTPUT_COMPLEX;
	const bool phase =
		bs_plan_has(&r->p->plan, BS_PLAN_PHASE) || image->report.flow.against > 0;
	const struct bs_mrd_encoding *e = bs_encoding_of(&r->info, a);
	float fov_mm[3];

	if (e != NULL)
		bs_geometry_other(fov_mm, r->p, e);

	memset(h, 0, sizeof(*h));
	h->version = 1;
	h->data_type = complex_out ? BS_MRD_CXFLOAT : BS_MRD_FLOAT;
	h->image_type = complex_out ? BS_MRD_COMPLEX : phase ? BS_MRD_PHASE : BS_MRD_MAGNITUDE;
	h->measurement_uid = a->measurement_uid;
	for (int i = 0; i < 3; i++) {
		h->matrix_size[i] = (uint16_t)bs_protocol_image_axis(r->p, i);
		h->field_of_view[i] = e != NULL ? fov_mm[i] : r->fov_mm[i];
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
	h->image_index = (uint16_t)image->number;
	h->image_series_index =
		(uint16_t)(r->series | (image->preview ? BS_PREVIEW_SERIES : 0) |
			   (image->report.flow.against > 0 ? BS_VELOCITY_SERIES : 0));
}

static uint32_t readouts_in(const struct bs_recon *r, uint32_t slot)
{
	const struct frame *f = &r->frame[slot];
	uint32_t sum = 0;

	if (r->groups == 0)
		return r->opens.at[slot].have;
	for (uint32_t g = 0; g < r->groups; g++)
		sum += f->w.held[g] ? f->w.count[g] : 0;
	return sum;
}

/* Returns the axes whose center partial Fourier does not know, as bits. */
static uint32_t unknown_axes(const struct bs_recon *r, uint32_t slot, bool preview)
{
	if (preview || !bs_recon_weighs(r))
		return 0;
	return bs_center_unknown(&r->center, r->lines.size, r->opens.at[slot].row,
				 r->frame[slot].strongest);
}

/* Adds words about something that the image lacks; "": it is nothing. */
static void say_lack(struct bs_recon_image *image, const char *words)
{
	struct bs_text t = bs_text_behind(image->lacks, sizeof(image->lacks));

	if (words[0] != '\0')
		bs_text_put(&t, "%s%s", bs_text_between(&t), words);
}

/* Says that a frame of the first repetition may be no single slice. */
static void say_doubtful(const struct bs_recon *r, struct bs_recon_image *image)
{
	struct bs_text t = bs_text_behind(image->lacks, sizeof(image->lacks));

	bs_text_put(&t, "%sthe image may hold %u slices: ", bs_text_between(&t), r->apart.bands);
	if (r->apart.shown)
		bs_text_put(&t, "an image with its counters was whole before it");
	else
		bs_text_put(&t,
			    "%sno two slices of a group came one by one in the first repetition",
			    r->apart.flagged ? "" : "no single-band references were flagged, and ");
}

/* Says why missing lines of the frame may have come in another frame. NULL: they cannot have. */
static const char *elsewhere(const struct bs_recon *r, uint32_t slot, char *out, size_t cap)
{
	if (r->opens.crowded)
		(void)snprintf(out, cap,
			       "did not come while it was open, since more frames began than may "
			       "be open of a slice and contrast, %u (phases x sets x repetitions)",
			       r->opens.lanes);
	else if (r->opens.at[slot].again)
		(void)snprintf(out, cap,
			       "did not come again: a frame with these counters was whole before");
	else if (r->broken.lines > 0)
		(void)snprintf(out, cap, "did not come in the order of echoes");
	else if (r->misfit.count > 0)
		(void)snprintf(out, cap, "did not come as the header has them%s",
			       r->opens.lost ? ", or were refused" : "");
	else
		return NULL;
	return out;
}

/* Counts lines that a shutter left out, where the protocol's number of lines includes them. */
static uint32_t shut_by_number(const struct bs_recon *r, uint32_t slot)
{
	const uint8_t *row = r->opens.at[slot].row;

	return !r->opens.lost && bs_lines_shutter(&r->lines, row, r->rows)
		       ? bs_lines_missing(&r->lines, row, r->rows, NULL)
		       : 0;
}

/*
 * The header's averages are those of calibration: each calibration line has all averages, each
 * other line came once, and nothing was lost on its way.
 */
static bool is_several_by_calibration(const struct bs_recon *r, const struct frame *f,
				      uint32_t rows)
{
	const uint32_t others = rows - f->calibrating.rows;

	return r->several && !r->opens.lost &&
	       f->calibrating.summed == f->calibrating.rows * r->expected &&
	       f->summed - f->calibrating.summed == others;
}

/* Counts averages that rows lack, unless calibration lines alone have several. */
static uint32_t fewer(const struct bs_recon *r, uint32_t slot, uint32_t rows)
{
	const struct frame *f = &r->frame[slot];

	return r->averages == NULL || is_several_by_calibration(r, f, rows)
		       ? 0
		       : rows * r->expected - f->summed;
}

/*
 * Says how many lines came again. One line of a frame may have been bad; where most of them came
 * again, a counter is missing and images are mixed.
 */
static void say_lines(struct bs_text *t, const char *what, uint32_t again, uint32_t of)
{
	if (again > 0)
		bs_text_put(t,
			    "%s%u of %u %s came more than once: the last of each is in the image",
			    bs_text_between(t), again, of, what);
}

/* Says that nothing tells which echo is which, since some lines had more or fewer. */
static void say_broken(const struct bs_recon *r, struct bs_text *t)
{
	bs_text_put(
		t,
		"%sno counter tells the %u echoes of a line, and %llu line%s more or fewer: which "
		"is which is not known",
		bs_text_between(t), r->p->contrasts, (unsigned long long)r->broken.lines,
		r->broken.lines == 1 ? " had" : "s had");
}

/* Says which lines came more often than others, or not as they should. */
static void say_again(const struct bs_recon *r, uint32_t slot, struct bs_recon_image *image)
{
	const struct frame *f = &r->frame[slot];
	const uint32_t rows = r->opens.at[slot].have;
	const bool most = 2 * f->again[0] > rows;
	struct bs_text lacks = { image->lacks, sizeof(image->lacks), strlen(image->lacks), false };
	struct bs_text t = { image->readout, sizeof(image->readout), strlen(image->readout),
			     false };

	if (image->preview || r->groups > 0)
		return;
	say_lines(most ? &lacks : &t,
		  most ? "lines (no counter tells what they differ in)" : "lines", f->again[0],
		  rows);
	say_lines(&t, "lines, of calibration,", f->again[1], rows);
	if (f->spare > 0)
		bs_text_put(
			&t,
			"%s%u readouts came when their lines had all averages, and are left out",
			bs_text_between(&t), f->spare);
	if (r->broken.lines > 0)
		say_broken(r, &lacks);
	else if (r->echo.state == BS_ECHO_BY_ORDER)
		bs_text_put(&t, "%sno counter tells the %u echoes of a line: their order does",
			    bs_text_between(&t), r->p->contrasts);
	if (r->misfit.count > 0)
		bs_text_put(&t, "%s%llu readout%s left out, the last of %u channels and %u samples",
			    bs_text_between(&t), (unsigned long long)r->misfit.count,
			    r->misfit.count == 1 ? " is" : "s are", r->misfit.channels,
			    r->misfit.samples);
	if (r->averages != NULL && is_several_by_calibration(r, f, rows))
		bs_text_put(&t, "%scalibration lines alone have averages", bs_text_between(&t));
}

/* Says what the image holds, and what it lacks. */
static void say_held(const struct bs_recon *r, uint32_t slot, struct bs_recon_image *image)
{
	const struct frame *f = &r->frame[slot];
	const uint32_t rows = readouts_in(r, slot);
	const bool sums = r->averages != NULL;
	char how[160];
	char words[BS_READOUT_WORDS];
	struct bs_held held = { .lines = bs_recon_has_lines(r) ? &r->lines : NULL,
				.present = r->opens.at[slot].row,
				.rows = r->rows,
				.readouts = rows,
				.how = elsewhere(r, slot, how, sizeof(how)),
				.averages = r->expected,
				.fewer = fewer(r, slot, rows),
				.center = &r->center,
				.measured = { r->readouts.measured[0], r->readouts.measured[1] },
				.unknown = unknown_axes(r, slot, image->preview),
				.strongest = f->strongest };

	held.missing = bs_opens_missing(&r->opens, slot, rows, &held.shutter);
	image->averages = sums ? r->expected : 0;
	image->readouts = sums ? f->summed : rows;
	image->missing = bs_held_absent(&held);
	image->elsewhere = held.how != NULL;
	if (held.how == NULL && r->opens.lost)
		held.how = "did not come or were refused";
	image->report.unknown = held.unknown;
	image->lacks[0] = image->zeros[0] = '\0';
	if (image->preview)
		return;
	if (!bs_lacks_nothing(r->p, &r->info, &held)) {
		if (!r->p->by_header && held.lines != NULL && held.missing == 0)
			held.shutter = shut_by_number(r, slot);
		(void)bs_lacks_words(image->lacks, sizeof(image->lacks), r->p, &r->info, &held);
		(void)bs_zeros_words(image->zeros, sizeof(image->zeros), r->p, &held);
	}
	if (r->p->plan.on_grid && bs_readouts_untold(&r->readouts, r->p, &r->info))
		say_lack(image, bs_readouts_untold_words(words, sizeof(words), &r->readouts, r->p));
	if (r->readouts.reversed && !bs_kind_used(r->p, BS_KIND_PHASE_CORRECTION) &&
	    r->kinds.unused[BS_KIND_PHASE_CORRECTION] + r->kinds.used[BS_KIND_PHASE_CORRECTION] > 0)
		say_lack(image, "reversed lines may have a phase of their own (ghosts): this "
				"protocol does not use the phase-correction lines");
	if (r->p->plan.encode == BS_ENCODE_NOTHING)
		return;
	if (r->others.ref > 0)
		say_lack(image,
			 bs_encodings_words(words, sizeof(words), &r->others, &r->info, true));
	if (r->bands.on)
		bs_bands_lacks(&r->bands, f->first.idx.repetition, image->lacks,
			       sizeof(image->lacks));
	if (bs_apart_doubtful(&r->apart, &f->first, r->opens.at[slot].again))
		say_doubtful(r, image);
}

const char *bs_recon_words(const struct bs_recon *r, char *out, size_t cap)
{
	char left[BS_ENCODINGS_WORDS];
	struct bs_text t = { out, cap, 0, cap == 0 };

	t.len = strlen(bs_bands_words(&r->bands, out, cap));
	if (r->others.before > 0 && r->p->plan.encode != BS_ENCODE_NOTHING &&
	    bs_encodings_words(left, sizeof(left), &r->others, &r->info, true)[0] != '\0')
		bs_text_put(&t, "%simages up to %llu left before it was known: %s",
			    bs_text_between(&t), (unsigned long long)r->others.before, left);
	if (r->broken.lines > 0 && r->broken.before > 0) {
		say_broken(r, &t);
		bs_text_put(&t, "; images 1 to %llu left before it was known",
			    (unsigned long long)r->broken.before);
	}
	if (r->beyond > 0)
		bs_text_put(&t,
			    "%simages 1 to %llu left before it was known: lines came beyond the "
			    "header's limits, in frames that were whole without them (%llu)",
			    bs_text_between(&t), (unsigned long long)r->beyond,
			    (unsigned long long)r->opens.beyond);
	return out;
}

bool bs_recon_folded(const struct bs_recon *r)
{
	return bs_bands_folded(&r->bands);
}

void bs_recon_see(struct bs_recon *r, const struct bs_mrd_acq *head, const float *data)
{
	const size_t values = 2 * (size_t)head->number_of_samples * head->active_channels;

	r->seen = bs_hash_bytes(BS_HASH_START, head, sizeof(*head));
	r->seen = bs_hash_words(r->seen, data, values * sizeof(float)) | 1u;
}

static void name_scan(const struct bs_recon *r, struct bs_recon_image *image)
{
	image->scan[0] = '\0';
	if (r->info.measurement[0] == '\0' && r->info.study[0] == '\0')
		(void)snprintf(image->scan, sizeof(image->scan), "%016llx",
			       (unsigned long long)r->seen);
}

uint64_t bs_recon_images(const struct bs_recon *r)
{
	return r->volumes.places > 0 ? r->volumes.left : r->images;
}

void bs_frame_say_left(struct bs_recon_image *image)
{
	if (image->report.why.code == 0)
		say_lack(image, image->report.why.text);
}

/* Returns the frame's order within its slice: by repetition, average, encoding, phase and set. */
static uint64_t order_of(const struct bs_recon *r, const struct bs_mrd_acq *a)
{
	const uint64_t average = r->averages == NULL ? a->idx.average & 0x1fffu : 0;

	return (uint64_t)a->idx.repetition << 48 | average << 35 |
	       (uint64_t)(a->encoding_space_ref & 7u) << 32 | (uint64_t)a->idx.phase << 16 |
	       a->idx.set;
}

/* A size that neither the header nor the protocol tells. */
static void say_geometry(const struct bs_recon *r, struct bs_recon_image *image)
{
	struct bs_text t = bs_text_behind(image->header, sizeof(image->header));
	char words[BS_GEOMETRY_WORDS];

	for (uint32_t a = 0; a < (r->p->matrix[2] > 1 ? 3u : 2u); a++)
		if (!(r->fov_mm[a] > 0.0f)) {
			bs_text_put(&t, "%s%s", bs_text_between(&t),
				    bs_geometry_words(words, r->p, &r->info));
			return;
		}
}

void bs_frame_describe(const struct bs_recon *r, uint32_t slot, struct bs_recon_image *image)
{
	const struct frame *f = &r->frame[slot];

	if (r->flows.places > 0)
		bs_flows_aim(&r->flows, &f->first.idx, image);
	image->report.order = order_of(r, &f->first);
	image->report.falling =
		f->last.idx.kspace_encode_step_1 < f->first.idx.kspace_encode_step_1;
	image->joined.slices = 0; /* the slot's last image may have been a volume */
	image->report.apart.of = f->first.flags & BS_MRD_FOLDED ? r->apart.bands : 0;
	image->report.apart.lines =
		image->report.apart.of > 1 ? (uint64_t)f->began << 32 | f->ended : 0;
	image->report.apart.step = r->lines.step[0];
	memcpy(image->report.apart.cycles, r->apart.cycles, sizeof(r->apart.cycles));
	fill_head(r, f, image);
	image->frame[0] = image->frame[1] = f->number;
	image->kinds = r->kinds;
	image->prepared = r->prepared;
	say_held(r, slot, image);
	image->center[0] = '\0';
	if (memcmp(r->center.line, r->center.header, sizeof(r->center.line)) != 0)
		(void)bs_center_words(image->center, sizeof(image->center), &r->center);
	memcpy(image->header, r->info.remark, sizeof(image->header));
	say_geometry(r, image);
	image->scan_keys[0] = '\0';
	if (r->info.scan_keys != 0)
		(void)bs_scankey_words(image->scan_keys, r->info.scan_keys, r->info.scan_value);
	image->iterations = (uint32_t)bs_scankey_of(&r->info, BS_SCANKEY_ITERATIONS);
	name_scan(r, image);
	image->readout[0] = '\0';
	if (r->p->plan.on_grid)
		(void)bs_readouts_words(image->readout, sizeof(image->readout), &r->readouts, r->p,
					&r->info, r->corrected.epi_shift);
	say_again(r, slot, image);
	image->corrected = r->corrected;
	image->earlier = r->earlier;
	image->own = r->opens.at[slot].own;
	image->last_ns = f->last_ns;
	image->last_scan_counter = f->last.scan_counter;
	if (r->flows.places > 0)
		bs_flows_say(&r->flows, &f->first.idx, image);
}

uint32_t bs_recon_previews(const struct bs_recon *r)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < r->frames; f++)
		n += bs_frame_previews(r, f);
	return n;
}

uint32_t bs_recon_ready(struct bs_recon *r)
{
	bs_recon_wait(r);
	return bs_recon_previews(r) + r->opens.over +
	       (r->volumes.places > 0 ? bs_volumes_due(&r->volumes) : 0);
}

void bs_recon_skip_previews(struct bs_recon *r)
{
	for (uint32_t f = 0; f < r->frames; f++)
		r->frame[f].preview_due = false;
}

bool bs_recon_imaged(const struct bs_recon *r)
{
	for (uint32_t i = 0; i < r->frames; i += r->opens.lanes) {
		bool any = false;

		for (uint32_t lane = 0; lane < r->opens.lanes; lane++)
			any = any || r->frame[i + lane].imaged;
		if (!any)
			return false;
	}
	return true;
}
