/* gpu/engine/mixer.c - see mixer.h */
#include "gpu/engine/mixer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/open.h"
#include "core/multiband/apart.h"
#include "core/sizes.h"
#include "core/thread/clock.h"
#include "gpu/calibrate/along.h"
#include "gpu/calibrate/compress.h"
#include "gpu/calibrate/mix.h"

#define HALF      8u  /* number of calibrating rows on each side of the center, on the grid */
#define SPREAD    64u /* number of calibrating rows of other trajectories */
#define ROWS_MOST (4u * HALF * HALF)
#define NONE      UINT32_MAX

/* A readout that waits for its slice's matrix, in a linked list. */
struct waiting {
	struct bs_mrd_acq head;
	uint32_t row;
	int64_t now_ns;
	uint32_t next;
};

/* A slice, or a group of them (core/multiband/apart.h). */
struct slice {
	bool known; /* the slice's matrix is known */
	uint32_t first, last, count;
	uint32_t rows; /* number of calibrating rows that have come */
	uint8_t seen[ROWS_MOST];
};

/* The first frame of a slice and contrast whose lines wait. */
struct frame {
	struct bs_mrd_idx idx;
	uint32_t lines;
};

struct bs_mixer {
	const struct bs_protocol *p;
	struct bs_recon *recon;
	struct bs_team *team;
	uint32_t inner_coils, slices, rows, quota; /* quota: most readouts of a slice that wait */
	uint32_t bands;                            /* slices that share a matrix */
	/* number of calibrating rows; off the grid, distance from one to the next in rows */
	uint32_t calibrating, stride;
	size_t room; /* floats of a readout */
	/* The next members describe the current scan. */
	const struct bs_noise *noise;
	bool begun;             /* the noise has been read */
	bool taken;             /* the current readout is already in the list of those that wait */
	struct bs_fail broken;  /* code not 0: why no readout can be used */
	struct bs_fail refused; /* code not 0: why a readout that waited was refused */
	struct bs_prepared said;
	/* These arrays are taken from the arena at arm; w is [coils][coils] double. */
	double *w, *a, *gram; /* gram: with what bs_gram_spread needs */
	void *work;
	float *matrix, *mixed, *data; /* matrix: with one for each place, that of the center */
	struct bs_along *along;       /* plan; NULL: one matrix serves all places */
	uint32_t places, free;
	float *by_place; /* matrices of the places, [slice][inner][coils][place] */
	struct slice *slice;
	struct frame *frame;
	struct waiting *waiting;
	uint32_t *by_row; /* number of the waiting readout that has each row */
};

/* ---- memory ---- */

void bs_mixer_inner(struct bs_protocol *inner, const struct bs_protocol *p)
{
	*inner = *p;
	inner->coils = bs_protocol_inner_coils(p);
	inner->virtual_coils = 0;
	inner->whiten = BS_WHITEN_OFF;
	bs_plan_make(inner);
}

/* Number of places along the readout that have a matrix of their own; 1: they share one. */
static uint32_t places_of(const struct bs_protocol *p)
{
	return p->virtual_coils > 0 && p->compression == BS_COMPRESSION_GEOMETRIC ? p->samples : 1;
}

static uint64_t readouts_of(const struct bs_protocol *p)
{
	return (uint64_t)p->readouts * (p->averages > 1 ? p->averages : 1);
}

static void lay(struct bs_mixer *f, struct bs_room *r)
{
	const struct bs_protocol *p = f->p;
	const uint64_t places = f->places;
	const uint64_t square = (uint64_t)p->coils * p->coils;
	const uint64_t room = ((uint64_t)p->samples + p->discard) * 8;
	const uint64_t wait = p->virtual_coils > 0 ? f->quota : 0;

	bs_room_take(r, &f->matrix, "coil matrices", f->slices, square * 8);
	bs_room_take(r, &f->w, "whitening", 1, square * 16);
	bs_room_take(r, &f->mixed, "virtual coils' samples", 1,
		     room * f->inner_coils + bs_path_bytes(p, 0));
	bs_room_take(r, &f->a, "compression", wait > 0, places * square * 16);
	bs_room_take(r, &f->gram, "calibration data's Gram matrix", wait > 0,
		     (places > 1 ? places : 2 + room / 8 / BS_GRAM_BLOCK) * square * 8);
	bs_room_take(r, &f->work, "calibration work", wait > 0, bs_compress_bytes(p->coils));
	bs_room_take(r, &f->slice, "slices' calibrating rows", f->slices, sizeof(struct slice));
	bs_room_take(r, &f->frame, "frames that wait", bs_protocol_pairs(p), sizeof(struct frame));
	bs_room_take(r, &f->waiting, "readouts that wait", f->slices,
		     wait * sizeof(struct waiting));
	bs_room_take(r, &f->data, "their samples", f->slices,
		     wait * (room * p->coils + bs_path_bytes(p, 0)));
	bs_room_take(r, &f->by_row, "their rows", wait > 0, (uint64_t)f->rows * 4);
	bs_room_take(r, &f->by_place, "coil matrices by place", places > 1 ? f->slices : 0,
		     places * square * 8);
}

static void set_out(struct bs_mixer *f, const struct bs_protocol *p)
{
	*f = (struct bs_mixer){ .p = p };
	f->inner_coils = bs_protocol_inner_coils(p);
	f->bands = bs_plan_has(&p->plan, BS_PLAN_APART) ? p->multiband.factor : 1;
	f->slices = p->virtual_coils > 0 ? p->slices / f->bands : 1;
	f->rows = bs_protocol_rows(p) * f->bands;
	f->quota = (uint32_t)(readouts_of(p) * p->contrasts * bs_protocol_lanes(p)) * f->bands;
	f->room = 2 * ((size_t)p->samples + p->discard) * p->coils + bs_protocol_path(p);
	f->stride = (p->readouts + SPREAD - 1) / SPREAD;
	f->calibrating =
		f->p->plan.encode == BS_ENCODE_LINES
			? bs_least(p->encoded[1], 2 * HALF) * bs_least(p->encoded[2], 2 * HALF)
			: (p->readouts + f->stride - 1) / f->stride;
	f->calibrating *= f->bands;
	f->places = places_of(p);
}

int bs_mixer_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_mixer f;

	if (!p->plan.prepares)
		return 0;
	set_out(&f, p);
	lay(&f, &room);
	return f.places > 1 ? bs_along_need(p->samples, p->coils, need, why) : 0;
}

int bs_mixer_arm(struct bs_mixer **out, const struct bs_protocol *p, struct bs_recon *recon,
		 const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_room room = { .arena = env->arena };
	struct bs_mixer *f;
	int rc;

	*out = NULL;
	if (!p->plan.prepares)
		return 0;
	rc = bs_dense_open(why);
	if (rc != 0)
		return rc;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	set_out(f, p);
	f->recon = recon;
	f->team = env->team;
	lay(f, &room);
	if (room.full) {
		free(f);
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': whitening and coil compression",
			       p->name);
	}
	rc = f->places > 1 ? bs_along_plan(&f->along, p->samples, p->coils, env->arena, why) : 0;
	if (rc != 0) {
		free(f);
		return rc;
	}
	*out = f;
	return 0;
}

void bs_mixer_disarm(struct bs_mixer *f)
{
	if (f != NULL)
		bs_along_close(f->along);
	free(f);
}

/* ---- a scan ---- */

void bs_mixer_scan(struct bs_mixer *f, const struct bs_scan_info *info,
		   const struct bs_noise *noise)
{
	bs_recon_scan(f->recon, info);
	f->noise = noise;
	f->begun = f->taken = false;
	f->broken.code = f->refused.code = 0;
	f->said = (struct bs_prepared){ .asked = bs_plan_has(&f->p->plan, BS_PLAN_WHITEN),
					.coils = f->p->coils,
					.virtual_coils = f->p->virtual_coils,
					.kept = 1.0f };
	for (uint32_t s = 0; s < f->slices; s++) {
		memset(&f->slice[s], 0, sizeof(f->slice[s]));
		f->slice[s].first = f->slice[s].last = NONE;
	}
	for (uint32_t i = 0; i < bs_protocol_pairs(f->p); i++)
		f->frame[i] = (struct frame){ 0 };
	f->free = NONE;
	for (uint32_t i = 0; f->p->virtual_coils > 0 && i < f->slices * f->quota; i++) {
		f->waiting[i].next = f->free;
		f->free = i;
	}
}

/* Makes the whitening matrix, and what the images' reports say of it. */
static int whiten(struct bs_mixer *f, const struct bs_mrd_acq *head, struct bs_fail *why)
{
	const struct bs_noise *n = f->noise;
	struct bs_prepared *said = &f->said;
	const double scale = bs_noise_scale(n, head->sample_time_us);
	int rc = bs_whiten(f->w, n, scale, why);

	if (rc != 0)
		return rc;
	said->whitened = true;
	memcpy(said->noise_scan, n->scan, sizeof(said->noise_scan));
	said->noise_samples = n->samples;
	said->noise_scale = (float)scale;
	said->match = n->match;
	for (uint32_t c = 0; c < n->coils; c++) {
		const uint32_t of = n->match.by == BS_MATCHED_NAME ? n->match.of[c] : c;

		said->deviation[of] = (float)bs_noise_deviation(n, scale, c);
	}
	if (f->p->virtual_coils == 0)
		bs_mix_matrix(f->matrix, f->w, f->p->coils, f->p->coils);
	return 0;
}

/*
 * Called with the scan's first readout that is used and is no noise; the noise is fixed from here
 * on.
 */
static int begin(struct bs_mixer *f, const struct bs_mrd_acq *head, struct bs_fail *why)
{
	const int64_t start_ns = bs_now_ns();
	struct bs_fail reason = { 0 };
	int rc = 0;

	f->begun = true;
	if (!bs_plan_has(&f->p->plan, BS_PLAN_WHITEN))
		return 0;
	if (f->noise != NULL && f->noise->match.by == BS_MATCHED_NONE)
		rc = bs_fail(&reason, BS_ERR_CALIBRATION, "%s", f->noise->match.words);
	else if (f->noise == NULL || f->noise->samples == 0 || f->noise->coils != f->p->coils)
		rc = bs_fail(&reason, BS_ERR_CALIBRATION, "the noise of %u coils is not known",
			     f->p->coils);
	else
		rc = whiten(f, head, &reason);
	if (rc != 0)
		(void)snprintf(f->said.match.words, sizeof(f->said.match.words), "%.*s",
			       (int)sizeof(f->said.match.words) - 1, reason.text);
	if (rc == 0)
		bs_recon_calibrated(f->recon, head->idx.slice, bs_now_ns() - start_ns);
	bs_recon_prepared(f->recon, &f->said);
	if (rc == 0 || f->p->whiten != BS_WHITEN_REQUIRE)
		return 0;
	return bs_fail(why, BS_ERR_CALIBRATION, "noise.whiten of protocol '%s': %s", f->p->name,
		       reason.text);
}

/* Returns the row's number among the rows of all slices that share a matrix. */
static uint32_t row_of(const struct bs_mixer *f, const struct bs_mrd_acq *head, uint32_t row)
{
	return f->bands > 1 && row < f->rows / f->bands
		       ? row + bs_apart_band_of(f->p, head->idx.slice) * (f->rows / f->bands)
		       : row;
}

static uint32_t used_samples(const struct bs_mrd_acq *head)
{
	return (uint32_t)head->number_of_samples - head->discard_pre - head->discard_post;
}

/*
 * Multiplies a readout by its matrix. One that is shorter than a line, a navigator, gets the
 * center's.
 */
static void mix(struct bs_mixer *f, const struct bs_mrd_acq *head, const float *data)
{
	const uint32_t samples = used_samples(head);
	const size_t size = 2 * (size_t)f->inner_coils * f->p->coils;
	const uint32_t slice = f->p->virtual_coils > 0 ? bs_apart_slot(f->p, head->idx.slice) : 0;
	const float *from = data + 2 * (size_t)head->discard_pre;

	if (f->along != NULL && samples == f->places)
		bs_along_mix(f->along, f->mixed, samples, f->by_place + slice * size * f->places,
			     f->inner_coils, from, head->number_of_samples);
	else
		bs_mix(f->mixed, samples,
		       &(struct bs_mix){ f->matrix + slice * size, f->inner_coils, f->p->coils },
		       samples, from, head->number_of_samples);
}

/* Hands one readout on to the engines. */
static int pass(struct bs_mixer *f, const struct bs_mrd_acq *head, uint32_t row, const float *data,
		int64_t now_ns, struct bs_fail *why)
{
	struct bs_mrd_acq inner = *head;

	if (f->p->virtual_coils == 0 && !f->said.whitened)
		return bs_recon_readout(f->recon, head, row, data, now_ns, why);
	mix(f, head, data);
	inner.active_channels = (uint16_t)f->inner_coils;
	bs_acq_trim(&inner, used_samples(head));
	memcpy(f->mixed + bs_path_at(&inner), data + bs_path_at(head), bs_path_bytes(f->p, row));
	return bs_recon_readout(f->recon, &inner, row, f->mixed, now_ns, why);
}

/* ---- compression: readouts that calibrate, and readouts that wait ---- */

/* The index of a row among the calibrating ones; NONE: it does not calibrate. */
static uint32_t place_of(const struct bs_mixer *f, uint32_t row)
{
	const uint32_t band = row / (f->rows / f->bands);
	const uint32_t line = row % (f->rows / f->bands);
	uint32_t at[2];

	if (row >= f->rows)
		return NONE;
	if (f->p->plan.encode != BS_ENCODE_LINES)
		return row % f->stride == 0 ? row / f->stride : NONE;
	for (int i = 0; i < 2; i++) {
		const uint32_t size = f->p->encoded[1 + i];
		const uint32_t first = size > 2 * HALF ? size / 2 - HALF : 0;

		at[i] = (i == 0 ? line % f->p->encoded[1] : line / f->p->encoded[1]) - first;
		if (at[i] >= bs_least(size, 2 * HALF))
			return NONE;
	}
	return at[0] + bs_least(f->p->encoded[1], 2 * HALF) * at[1] +
	       band * (f->calibrating / f->bands);
}

/* Returns true for a repeat of a line: of averages that are summed, only the first calibrates. */
static bool is_again(const struct bs_mixer *f, const struct bs_mrd_acq *head)
{
	return bs_plan_has(&f->p->plan, BS_PLAN_AVERAGE) && head->idx.average > 0;
}

static struct frame *frame_of(const struct bs_mixer *f, const struct bs_mrd_acq *head)
{
	return &f->frame[bs_protocol_pair(f->p, head->idx.slice, head->idx.contrast)];
}

static float *samples_of(const struct bs_mixer *f, uint32_t item)
{
	return f->data + item * f->room;
}

/* Appends a copy of a readout to its slice's list; the caller has checked that there is room. */
static void hold(struct bs_mixer *f, const struct bs_mrd_acq *head, uint32_t row, const float *data,
		 int64_t now_ns)
{
	struct slice *s = &f->slice[bs_apart_slot(f->p, head->idx.slice)];
	struct frame *frame = frame_of(f, head);
	const uint32_t item = f->free;
	struct waiting *w = &f->waiting[item];
	const uint32_t place = is_again(f, head) ? NONE : place_of(f, row_of(f, head, row));

	f->free = w->next;
	*w = (struct waiting){ *head, row, now_ns, NONE };
	memcpy(samples_of(f, item), data,
	       bs_path_at(head) * sizeof(float) + bs_path_bytes(f->p, row));
	if (s->last != NONE)
		f->waiting[s->last].next = item;
	else
		s->first = item;
	s->last = item;
	s->count++;
	if (place != NONE && !s->seen[place]) {
		s->seen[place] = 1;
		s->rows++;
	}
	if (bs_mrd_kind(head->flags) == BS_KIND_IMAGING) {
		if (frame->lines == 0)
			frame->idx = head->idx;
		frame->lines += bs_open_same(f->p, &frame->idx, &head->idx);
	}
}

/*
 * Finds for each row the first waiting readout of the slice that has it. Returns how many
 * calibrate.
 */
static uint32_t sort_rows(struct bs_mixer *f, const struct slice *s)
{
	uint32_t calibrate = 0;

	for (uint32_t r = 0; r < f->rows; r++)
		f->by_row[r] = NONE;
	for (uint32_t i = s->first; i != NONE; i = f->waiting[i].next) {
		const uint32_t row = row_of(f, &f->waiting[i].head, f->waiting[i].row);

		if (row >= f->rows || f->by_row[row] != NONE || is_again(f, &f->waiting[i].head))
			continue;
		f->by_row[row] = i;
		calibrate += place_of(f, row) != NONE;
	}
	return calibrate;
}

/* Sums the Gram matrix of a slice's calibrating readouts, one for each place that has a matrix. */
static void sum_rows(struct bs_mixer *f, const struct slice *s)
{
	const bool all = sort_rows(f, s) == 0; /* no waiting readout calibrates: sum all */
	const size_t square = (size_t)f->p->coils * f->p->coils;

	memset(f->gram, 0, f->places * square * sizeof(*f->gram));
	for (uint32_t r = 0; r < f->rows; r++) {
		const uint32_t i = f->by_row[r];
		const struct bs_mrd_acq *head;
		const float *data;

		if (i == NONE || (!all && place_of(f, r) == NONE))
			continue;
		head = &f->waiting[i].head;
		data = samples_of(f, i) + 2 * (size_t)head->discard_pre;
		if (f->along != NULL)
			bs_along_gram(f->along, f->gram, data, head->number_of_samples);
		else
			bs_gram_spread(f->team, f->gram, f->p->coils, used_samples(head), data,
				       head->number_of_samples);
	}
}

/* Makes a slice's matrix, or those of its places, from the Gram matrix. */
static int solve(struct bs_mixer *f, uint32_t slice, double *kept, struct bs_fail *why)
{
	const uint32_t coils = f->p->coils;
	const size_t size = (size_t)f->inner_coils * coils;
	const struct bs_compressing of = {
		f->inner_coils, coils, f->places, f->gram, f->said.whitened ? f->w : NULL, f->work
	};
	int rc = f->along == NULL ? bs_compress(f->a, &of, kept, why)
				  : bs_compress_aligned(f->a, &of, kept, why);

	if (rc != 0)
		return rc;
	bs_mix_matrix(f->matrix + 2 * slice * size, f->a + 2 * size * (f->places / 2),
		      f->inner_coils, coils);
	if (f->along != NULL)
		bs_along_matrix(f->by_place + 2 * slice * size * f->places, f->a, f->inner_coils,
				coils, f->places);
	return 0;
}

static int make_matrix(struct bs_mixer *f, uint32_t slice, struct bs_fail *why)
{
	struct slice *s = &f->slice[slice];
	struct bs_fail reason;
	double kept;

	sum_rows(f, s);
	if (solve(f, slice, &kept, &reason) != 0)
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "virtual_coils of protocol '%s': slice %u: %s", f->p->name, slice,
			       reason.text);
	s->known = true;
	f->said.kept = (float)kept < f->said.kept ? (float)kept : f->said.kept;
	bs_recon_prepared(f->recon, &f->said);
	return 0;
}

/*
 * Hands on the readouts that wait in the slice's list. BS_RECON_POP_FIRST: call again for the rest.
 * A refused readout does not keep the others back; the first reason is kept.
 */
static int flush(struct bs_mixer *f, uint32_t slice)
{
	struct slice *s = &f->slice[slice];

	while (s->first != NONE) {
		const uint32_t item = s->first;
		struct waiting *w = &f->waiting[item];
		struct bs_fail why = { 0 };
		int rc = pass(f, &w->head, w->row, samples_of(f, item), w->now_ns, &why);

		if (rc == BS_RECON_POP_FIRST)
			return rc;
		if (rc < 0 && f->refused.code == 0)
			f->refused = why;
		s->first = w->next;
		s->count--;
		w->next = f->free;
		f->free = item;
	}
	s->last = NONE;
	return 0;
}

/* Returns 0, or once the error of a readout that waited and was refused. */
static int refused(struct bs_mixer *f, struct bs_fail *why)
{
	const int rc = f->refused.code;

	f->refused.code = 0;
	return rc == 0 ? 0 : bs_fail(why, rc, "%s", f->refused.text);
}

static bool complete(const struct bs_mixer *f, const struct bs_mrd_acq *head)
{
	const struct slice *s = &f->slice[bs_apart_slot(f->p, head->idx.slice)];
	const struct frame *frame = frame_of(f, head);

	if (s->rows == f->calibrating || s->count == f->quota)
		return true;
	/* where several slices share a matrix, a frame may hold one slice alone */
	return f->bands == 1 && (frame->lines == readouts_of(f->p) ||
				 (f->p->by_header && (head->flags & BS_MRD_LAST) != 0 &&
				  bs_open_same(f->p, &frame->idx, &head->idx)));
}

static int compress(struct bs_mixer *f, const struct bs_mrd_acq *head, uint32_t row,
		    const float *data, int64_t now_ns, struct bs_fail *why)
{
	const uint32_t slice = bs_apart_slot(f->p, head->idx.slice);
	const int64_t start_ns = bs_now_ns();
	struct slice *s = &f->slice[slice];
	int rc = 0;

	if (head->idx.slice >= f->p->slices || head->idx.contrast >= f->p->contrasts)
		return bs_fail(why, BS_ERR_INDEX, "acquisition %u: slice %u, contrast %u",
			       head->scan_counter, head->idx.slice, head->idx.contrast);
	if (!s->known) {
		hold(f, head, row, data, now_ns);
		if (!complete(f, head))
			return 0;
		f->taken = true;
		rc = make_matrix(f, slice, why);
	}
	if (rc != 0) {
		f->broken = *why;
		f->taken = false;
		return rc;
	}
	if (s->first != NONE) {
		rc = flush(f, slice);
		bs_recon_calibrated(f->recon, slice, bs_now_ns() - start_ns);
	}
	if (rc == 0 && !f->taken)
		rc = pass(f, head, row, data, now_ns, why);
	if (rc == BS_RECON_POP_FIRST)
		return rc;
	f->taken = false;
	return rc != 0 ? rc : refused(f, why);
}

int bs_mixer_readout(struct bs_mixer *f, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why)
{
	const enum bs_kind kind = bs_mrd_kind(head->flags);
	struct bs_fail reason;

	if (kind == BS_KIND_NOISE || !bs_kind_used(f->p, kind))
		return bs_recon_readout(f->recon, head, row, data, now_ns, why);
	if (!f->begun && begin(f, head, &reason) != 0)
		f->broken = reason;
	if (f->broken.code != 0)
		return bs_fail(why, f->broken.code, "%s", f->broken.text);
	return f->p->virtual_coils > 0 ? compress(f, head, row, data, now_ns, why)
				       : pass(f, head, row, data, now_ns, why);
}

int bs_mixer_close(struct bs_mixer *f, struct bs_fail *why)
{
	for (uint32_t s = 0; f->p->virtual_coils > 0 && s < f->slices; s++) {
		struct bs_fail reason;

		if (f->slice[s].first == NONE || f->broken.code != 0)
			continue;
		if (!f->slice[s].known && make_matrix(f, s, &reason) != 0)
			f->broken = reason;
		else if (flush(f, s) == BS_RECON_POP_FIRST)
			return BS_RECON_POP_FIRST;
	}
	bs_recon_close(f->recon);
	if (f->broken.code != 0)
		return bs_fail(why, f->broken.code, "%s", f->broken.text);
	return refused(f, why);
}
