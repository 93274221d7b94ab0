/* board/tool/init/survey.c - see survey.h */
#include "board/tool/init/survey.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/init/turns.h"
#include "core/frame/open.h"
#include "core/frame/readout.h"
#include "core/hash.h"
#include "core/progress.h"
#include "core/traj/online.h"
#include "drivers/tool/load/recording.h"
#include "gpu/calibrate/echo.h"
#include "ipc/wire/xml.h"

#define GRID_MAX       1024u /* most lines of an axis, as the key encoded allows */
#define PATHS_MAX      (1u << 20)
#define NAVIGATORS_MAX 64u

struct first_navigator {
	uint16_t slice, contrast;
	uint32_t samples, coils;
	float *data;
};

struct reading {
	struct bs_survey *s;
	struct bs_mrd_idx frame; /* counters of the first frame */
	bool any;
	float energy;           /* energy of the first frame's strongest line */
	struct bs_mrd_idx last; /* counters of the previous imaging readout */
	uint64_t last_path;
	struct bs_turns turns; /* all lines that count for turns */
	struct bs_echo echo;
	uint64_t *path; /* hashes of the first frame's paths, sorted once used */
	uint32_t paths;
	bool sorted;
	struct first_navigator navigator[NAVIGATORS_MAX];
	uint32_t navigators;
};

static void widen(struct bs_range *r, uint32_t value)
{
	if (r->count == 0 || value < r->min)
		r->min = value;
	if (r->count == 0 || value > r->max)
		r->max = value;
	r->count++;
}

static void most(uint32_t *count, uint32_t index)
{
	if (index + 1 > *count)
		*count = index + 1;
}

static bool same_image(const struct bs_mrd_idx *a, const struct bs_mrd_idx *b)
{
	return a->slice == b->slice && a->contrast == b->contrast &&
	       a->repetition == b->repetition && a->set == b->set && a->phase == b->phase &&
	       a->average == b->average;
}

/* Finds a line's row on the grid, as core/frame/admit.c does. False: it is outside. */
static bool row_at(const struct bs_survey *s, const struct bs_mrd_acq *head, size_t *row)
{
	struct bs_center c;
	int64_t line[2];

	bs_center_place(line, &c, s->size, &s->info, head);
	for (int i = 0; i < 2; i++)
		if (line[i] < 0 || line[i] >= (int64_t)s->size[i])
			return false;
	*row = (size_t)(line[0] + s->size[0] * line[1]);
	return true;
}

bool bs_survey_embeds(const struct bs_survey *s)
{
	struct bs_protocol p = { .method = BS_METHOD_CARTESIAN, .parallel = BS_PARALLEL_GRAPPA };

	bs_plan_make(&p);
	return bs_scan_embeds(&p, &s->info);
}

/* Adds a line to the lines counted for turns; a line of calibration, if it is an image line. */
static int put_turn(struct reading *r, const struct bs_mrd_acq *head, bool image,
		    struct bs_fail *why)
{
	const struct bs_mrd_idx key = bs_open_key(head);
	size_t row = 0;

	if (!image &&
	    !(head->encoding_space_ref == 0 && bs_survey_embeds(r->s) && row_at(r->s, head, &row)))
		return 0;
	if (image && !row_at(r->s, head, &row))
		row = 0;
	return bs_turns_add(&r->turns, &key, head->flags, (uint32_t)row, why);
}

static void put_line(struct reading *r, const struct bs_recorded *acq, bool image)
{
	const struct bs_mrd_acq *h = &acq->head;
	struct bs_survey *s = r->s;
	size_t row;

	if (!row_at(s, h, &row)) {
		s->outside++;
		return;
	}
	if (h->flags & (BS_MRD_IS_CALIBRATION | BS_MRD_IS_CALIBRATION_TOO))
		s->calibrates[row] = 1;
	if (image && h->idx.slice == r->frame.slice && h->idx.contrast == r->frame.contrast)
		s->together[row] = 1;
	if (image && same_image(&h->idx, &r->frame) && s->present[row] == 0) {
		const float energy = bs_center_energy(acq->data, h->number_of_samples,
						      h->active_channels, h->number_of_samples);

		if (energy > r->energy) {
			r->energy = energy;
			s->strongest = (uint32_t)row;
		}
		s->present[row] = 1;
		s->first_lines++;
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* True if all counters that tell images apart are 0: trajectory.type file reads such readouts. */
static bool of_table(const struct bs_mrd_idx *idx)
{
	return idx->slice == 0 && idx->contrast == 0 && idx->repetition == 0 && idx->set == 0 &&
	       idx->phase == 0 && idx->average == 0;
}

/* True if only the set differs from the readout before, and the header has one set. */
static bool is_next_piece(const struct reading *r, const struct bs_mrd_idx *idx)
{
	return r->s->info.set.max == 0 && idx->set == r->last.set + 1u &&
	       memcmp(idx, &r->last, offsetof(struct bs_mrd_idx, set)) == 0;
}

static void put_hash(struct reading *r, const struct bs_mrd_acq *h, const float *path, size_t n)
{
	const uint64_t hash = bs_hash_words(BS_HASH_START, path, n * sizeof(*path));

	r->s->pieces += hash != r->last_path && is_next_piece(r, &h->idx);
	r->last_path = hash;
	if (of_table(&h->idx)) {
		r->s->path_frame++;
		if (r->sorted || r->paths == PATHS_MAX)
			/* the first frame's paths: in pieces, or too many */
			r->s->repeats = false;
		else
			r->path[r->paths++] = hash;
		return;
	}
	if (!r->sorted && r->paths > 0)
		qsort(r->path, r->paths, sizeof(*r->path), by_value);
	r->sorted = true;
	if (r->paths == 0 || bsearch(&hash, r->path, r->paths, sizeof(*r->path), by_value) == NULL)
		r->s->repeats = false;
}

/* Measures a path's reach and bend; of a third component in 2D the reach alone. */
static void measure_path(struct bs_survey *s, const float *k, uint32_t samples, uint32_t dims)
{
	const uint32_t axes = dims < 3 ? dims : 3;
	const uint32_t used = s->info.encoded[2] > 1 || axes < 2 ? axes : 2;
	const float *far = k;
	double most2 = 0.0;

	for (uint32_t i = 0; i < samples; i++) {
		double sum2 = 0.0;

		for (uint32_t a = 0; a < axes; a++) {
			const double x = fabs((double)k[(size_t)i * dims + a]);

			s->reach[a] = x > s->reach[a] ? x : s->reach[a];
			sum2 += a < used ? x * x : 0.0;
		}
		if (sum2 > most2) {
			most2 = sum2;
			far = k + (size_t)i * dims;
		}
	}
	for (uint32_t i = 0; most2 > 0.0 && i < samples; i++) {
		double along = 0.0;
		double sum2 = 0.0;
		double off2;

		for (uint32_t a = 0; a < used; a++) {
			along += (double)k[(size_t)i * dims + a] * (double)far[a];
			sum2 += (double)k[(size_t)i * dims + a] * (double)k[(size_t)i * dims + a];
		}
		off2 = (sum2 - along * along / most2) / most2;
		if (off2 > s->bend * s->bend)
			s->bend = sqrt(off2);
	}
}

/* True if the path is not the line of the grid that the counters name. */
static bool is_off_line(const struct bs_survey *s, const struct bs_recorded *acq)
{
	const uint32_t samples =
		acq->head.number_of_samples - acq->head.discard_pre - acq->head.discard_post;
	const uint32_t times = bs_readout_oversampling(samples, s->info.encoded[0]);
	const uint32_t encoded[3] = { s->info.encoded[0] * (times > 0 ? times : 1), s->size[0],
				      s->size[1] };
	size_t row = 0;
	const bool placed = row_at(s, &acq->head, &row);
	const uint32_t line[2] = { (uint32_t)(row % s->size[0]), (uint32_t)(row / s->size[0]) };

	return !bs_traj_on_line(&acq->head, acq->traj, &s->info, encoded, line) ||
	       ((!placed || times == 0 || samples == 1) &&
		s->reach[0] + s->reach[1] + s->reach[2] > 0.0);
}

static void put_path(struct reading *r, const struct bs_recorded *acq)
{
	const struct bs_mrd_acq *h = &acq->head;
	const uint32_t dims = h->trajectory_dimensions;
	const uint32_t used = h->number_of_samples - h->discard_pre - h->discard_post;
	const float *path = acq->traj + (size_t)h->discard_pre * dims;

	measure_path(r->s, path, used, dims);
	put_hash(r, h, path, (size_t)used * dims);
	r->s->off_lines += is_off_line(r->s, acq);
}

static double length2(const float v[3])
{
	return (double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2];
}

/* True if image files would refuse the directions (drivers/sink/sink.h). */
static bool is_astray(const struct bs_mrd_acq *head)
{
	struct bs_mrd_acq h = *head; /* a copy, since the structure's fields are packed */
	float dir[3][3];

	memcpy(dir[0], h.read_dir, sizeof(dir[0]));
	memcpy(dir[1], h.phase_dir, sizeof(dir[1]));
	memcpy(dir[2], h.slice_dir, sizeof(dir[2]));
	for (int a = 0; a < 3; a++)
		if (!(fabs(sqrt(length2(dir[a])) - 1.0) <= 1e-3))
			return true;
	return false;
}

static int put_imaging(struct reading *r, const struct bs_recorded *acq, struct bs_fail *why)
{
	const struct bs_mrd_acq *h = &acq->head;
	const uint32_t discarded = (uint32_t)h->discard_pre + h->discard_post;
	struct bs_survey *s = r->s;

	if (h->number_of_samples <= discarded) /* no sample is left after discarding */
		return 0;
	if (!r->any) {
		bs_center_of(&s->center, s->size, &s->info, &h->idx);
		r->frame = h->idx;
		r->any = true;
	}
	s->first_readouts += same_image(&h->idx, &r->frame);
	widen(&s->samples, h->number_of_samples - discarded);
	widen(&s->discarded, discarded);
	if ((h->flags & BS_MRD_IS_REVERSE) == 0 && h->center_sample > h->discard_pre)
		widen(&s->middle, (uint32_t)h->center_sample - h->discard_pre);
	widen(&s->channels, h->active_channels);
	widen(&s->dims, h->trajectory_dimensions);
	widen(&s->step[0], h->idx.kspace_encode_step_1);
	widen(&s->step[1], h->idx.kspace_encode_step_2);
	most(&s->slices, h->idx.slice);
	most(&s->contrasts, h->idx.contrast);
	most(&s->averages, h->idx.average);
	most(&s->repetitions, h->idx.repetition);
	most(&s->sets, h->idx.set);
	most(&s->phases, h->idx.phase);
	s->astray += is_astray(h);
	s->reversed += (h->flags & BS_MRD_IS_REVERSE) != 0;
	s->calibrates_too += (h->flags & BS_MRD_IS_CALIBRATION_TOO) != 0;
	if (h->trajectory_dimensions > 0)
		put_path(r, acq);
	r->last = h->idx;
	put_line(r, acq, true);
	return put_turn(r, h, true, why);
}

static void put_noise(struct bs_survey *s, const struct bs_recorded *acq)
{
	static double gram[(size_t)BS_COILS_MAX * BS_COILS_MAX];
	const struct bs_mrd_acq *h = &acq->head;
	const uint32_t discarded = (uint32_t)h->discard_pre + h->discard_post;

	if (!bs_noise_fits(h)) {
		s->noise_others++;
		return;
	}
	bs_noise_gram(gram, h, acq->data);
	if (bs_noise_add(&s->noise, gram, h->active_channels, h->number_of_samples - discarded,
			 h->sample_time_us))
		return;
	s->noise_others++;
	for (size_t i = 0; i < (size_t)h->active_channels * h->active_channels; i++)
		s->noise_broken = s->noise_broken || !isfinite(gram[i]);
}

/* Measures the phase of a navigator against the first one of its slice and contrast. */
static int put_navigator(struct reading *r, const struct bs_recorded *acq, struct bs_fail *why)
{
	const struct bs_mrd_acq *h = &acq->head;
	const size_t floats = (size_t)h->number_of_samples * h->active_channels * 2;
	struct first_navigator *n = r->navigator;
	double phase;

	if (h->number_of_samples > r->s->navigator_samples)
		r->s->navigator_samples = h->number_of_samples;
	for (; n < r->navigator + r->navigators; n++)
		if (n->slice == h->idx.slice && n->contrast == h->idx.contrast)
			break;
	if (n == r->navigator + r->navigators) {
		if (r->navigators == NAVIGATORS_MAX || floats == 0)
			return 0;
		n->data = malloc(floats * sizeof(*n->data));
		if (n->data == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "no memory for a navigator");
		memcpy(n->data, acq->data, floats * sizeof(*n->data));
		n->slice = h->idx.slice;
		n->contrast = h->idx.contrast;
		n->samples = h->number_of_samples;
		n->coils = h->active_channels;
		r->navigators++;
		return 0;
	}
	if (n->samples != h->number_of_samples || n->coils != h->active_channels)
		return 0;
	phase = fabs(bs_navigator_phase(n->coils, n->samples, n->data, acq->data, n->samples));
	if (phase > r->s->drift)
		r->s->drift = phase;
	return 0;
}

/* Marks the readout as a protocol with readouts of this size would. */
static void mark(struct bs_survey *s, struct bs_mrd_acq *head)
{
	const uint32_t n = head->number_of_samples - head->discard_pre - head->discard_post;
	struct bs_protocol like = { .method = BS_METHOD_CARTESIAN,
				    .encoded = { n, s->size[0], s->size[1] },
				    .coils = s->coils != 0 ? s->coils : head->active_channels,
				    .samples = n };

	bs_plan_make(&like);
	bs_encoding_mark(&like, &s->info, head);
	if ((head->flags & BS_MRD_OF_ANOTHER) != 0)
		bs_encodings_see(&s->left, head, 0);
	if (head->flags & BS_MRD_MISFIT)
		widen(&s->misfit, head->active_channels);
}

static void label_echo(struct reading *r, struct bs_mrd_idx *idx)
{
	const struct bs_mrd_idx came = *idx;

	bs_echo_decide(&r->echo, idx);
	idx->contrast = bs_echo_next(&r->echo, &came, r->s->info.echoes);
	bs_echo_came(&r->echo, &came, idx->contrast);
}

static int put_readout(struct reading *r, struct bs_recorded *acq, struct bs_fail *why)
{
	const struct bs_survey *s = r->s;
	const struct bs_mrd_acq *h = &acq->head;
	const uint32_t used = (uint32_t)h->number_of_samples - h->discard_pre - h->discard_post;
	enum bs_kind kind;

	/* samples of the first line or, before one, of encodedSpace */
	if (s->samples.count > 0 || bs_readout_oversampling(used, s->info.encoded[0]) > 0)
		bs_kind_sort(&acq->head, s->coils != 0 ? s->coils : h->active_channels,
			     s->samples.count > 0 ? s->samples.min : used);
	mark(r->s, &acq->head);
	kind = bs_mrd_kind(h->flags);
	r->s->kinds[kind]++;
	if (kind == BS_KIND_IMAGING || kind == BS_KIND_CALIBRATION)
		label_echo(r, &acq->head.idx);
	switch (kind) {
	case BS_KIND_IMAGING:
		return put_imaging(r, acq, why);
	case BS_KIND_CALIBRATION:
		put_line(r, acq, false);
		return put_turn(r, &acq->head, false, why);
	case BS_KIND_NOISE:
		put_noise(r->s, acq);
		return 0;
	case BS_KIND_NAVIGATION:
		return put_navigator(r, acq, why);
	default:
		return 0;
	}
}

static int begin_survey(struct reading *r, const char *xml, struct bs_fail *why)
{
	struct bs_survey *s = r->s;
	int rc = bs_mrdxml_read(&s->info, xml, strlen(xml), why);

	if (rc != 0)
		return rc;
	for (int a = 0; a < 3; a++)
		if (s->info.encoded[a] == 0 || s->info.encoded[a] > GRID_MAX)
			return bs_fail(why, BS_ERR_SIZE,
				       "encodedSpace/matrixSize is %u x %u x %u: 1 to %u an axis "
				       "can be reconstructed",
				       s->info.encoded[0], s->info.encoded[1], s->info.encoded[2],
				       GRID_MAX);
	s->size[0] = s->info.encoded[1];
	s->size[1] = s->info.encoded[2];
	s->repeats = true;
	bs_noise_start(&s->noise, &s->info);
	bs_echo_scan(&r->echo, &s->info, s->info.echoes);
	s->present = calloc((size_t)s->size[0] * s->size[1], 1);
	s->calibrates = calloc((size_t)s->size[0] * s->size[1], 1);
	s->together = calloc((size_t)s->size[0] * s->size[1], 1);
	r->path = malloc(PATHS_MAX * sizeof(*r->path));
	return s->present != NULL && s->calibrates != NULL && s->together != NULL && r->path != NULL
		       ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "no memory for a survey");
}

/* Counts frames for turns, by the parts of the coming protocol that frames depend on. */
static int count_turns(struct reading *r, struct bs_fail *why)
{
	struct bs_survey *s = r->s;
	const bool grid = bs_survey_on_grid(s) && s->outside == 0;
	const uint32_t rows = s->size[0] * s->size[1];
	struct bs_protocol p = { .slices = s->slices,
				 .contrasts = s->contrasts,
				 .averages = bs_survey_averages(s, !bs_survey_on_grid(s)) };
	uint8_t *present = malloc(rows);
	struct bs_turns_found found;
	struct bs_lines lines;
	int rc;

	if (present == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a survey");
	bs_survey_promises(s, &lines);
	rc = bs_turns_frames(&r->turns, grid ? &lines : NULL, &found, why);
	s->frames = found.frames;
	s->alike = found.alike;
	s->beyond = found.beyond;
	s->most_lines = found.lines;
	for (uint32_t i = 0; i < rows; i++)
		present[i] = s->present[i] || (s->calibrates[i] && bs_survey_embeds(s));
	p.readouts = grid ? bs_survey_lines(s, present) : s->first_readouts;
	p.by_header = p.readouts == 0;
	free(present);
	memcpy(p.encoded, s->info.encoded, sizeof(p.encoded));
	bs_plan_make(&p);
	if (rc == 0)
		rc = bs_turns_count(&r->turns, &p, &s->info, grid ? &lines : NULL, &found, why);
	s->open[0] = found.phases;
	s->open[1] = found.sets;
	s->open[2] = found.repetitions;
	return rc;
}

/* receiverChannels where a readout has as many, or where readouts differ; else what all have. */
static int count_coils(struct bs_survey *s, struct bs_recording *in, struct bs_fail *why)
{
	struct bs_recorded acq;
	uint32_t least = UINT32_MAX;
	uint32_t most_of = 0;
	int rc = 0;

	s->coils = s->info.channels;
	for (uint32_t i = 0; rc == 0 && s->coils > most_of && i < bs_recording_count(in); i++) {
		rc = bs_recording_read(in, i, &acq, why);
		if (rc != 0 || acq.head.active_channels == 0 || acq.head.flags & BS_MRD_IS_NOISE)
			continue;
		least = acq.head.active_channels < least ? acq.head.active_channels : least;
		most(&most_of, acq.head.active_channels - 1u);
	}
	s->coils = least == most_of && least < s->coils ? least : s->coils;
	return rc;
}

static int read_all(struct reading *r, struct bs_recording *in, struct bs_fail *why)
{
	struct bs_recorded acq;
	struct bs_progress progress;
	int rc = begin_survey(r, bs_recording_xml(in), why);

	if (rc == 0)
		rc = count_coils(r->s, in, why);
	(void)snprintf(r->s->note, sizeof(r->s->note), "%s", bs_recording_note(in));
	r->s->readouts = bs_recording_count(in);
	bs_progress_begin(&progress, "reading", r->s->readouts, "readouts");
	for (uint32_t i = 0; rc == 0 && i < r->s->readouts; i++) {
		rc = bs_recording_read(in, i, &acq, why);
		if (rc == 0 && (uint32_t)acq.head.discard_pre + acq.head.discard_post >
				       acq.head.number_of_samples)
			rc = bs_fail(why, BS_ERR_SIZE,
				     "acquisition %u: %u samples, %u + %u of them discarded", i,
				     acq.head.number_of_samples, acq.head.discard_pre,
				     acq.head.discard_post);
		if (rc == 0)
			rc = put_readout(r, &acq, why);
		bs_progress_at(&progress, i + 1);
	}
	bs_progress_end(&progress);
	if (rc == 0 && r->s->samples.count == 0 && r->s->misfit.count > 0)
		rc = bs_fail(why, BS_ERR_UNSUPPORTED,
			     "receiverChannels of the header is %u, the readouts have %u",
			     r->s->info.channels, r->s->misfit.max);
	if (rc == 0 && r->s->samples.count == 0)
		rc = bs_fail(why, BS_ERR_SIZE, "none of its %u readouts is a line of an image",
			     r->s->readouts);
	return rc != 0 ? rc : count_turns(r, why);
}

int bs_survey_make(struct bs_survey *s, const char *recording, struct bs_fail *why)
{
	struct reading *r = calloc(1, sizeof(*r));
	struct bs_recording *in = NULL;
	int rc;

	memset(s, 0, sizeof(*s));
	if (r == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a survey");
	r->s = s;
	rc = bs_recording_open(&in, recording, why);
	if (rc == 0)
		rc = read_all(r, in, why);
	(void)bs_recording_close(in, NULL);
	for (uint32_t i = 0; i < r->navigators; i++)
		free(r->navigator[i].data);
	free(r->path);
	bs_turns_free(&r->turns);
	free(r);
	if (rc != 0)
		bs_survey_free(s);
	return rc;
}

void bs_survey_free(struct bs_survey *s)
{
	free(s->present);
	free(s->calibrates);
	free(s->together);
	s->present = s->calibrates = s->together = NULL;
}

void bs_survey_noise(const struct bs_survey *s, double *correlation, double *ratio)
{
	static double psi[2 * (size_t)BS_COILS_MAX * BS_COILS_MAX];
	const uint32_t n = s->noise.coils;
	double least = HUGE_VAL;
	double largest = 0.0;

	*correlation = 0.0;
	*ratio = 1.0;
	if (s->noise.samples == 0)
		return;
	bs_noise_covariance(&s->noise, 1.0, psi);
	for (uint32_t i = 0; i < n; i++) {
		const double d = sqrt(psi[2 * (size_t)(i + i * n)]);

		least = d < least ? d : least;
		largest = d > largest ? d : largest;
	}
	*ratio = least > 0.0 ? largest / least : HUGE_VAL;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++) {
			const double *at = psi + 2 * (size_t)(i + j * n);
			const double both =
				psi[2 * (size_t)(i + i * n)] * psi[2 * (size_t)(j + j * n)];
			const double c =
				both > 0.0 ? sqrt((at[0] * at[0] + at[1] * at[1]) / both) : 1.0;

			*correlation = c > *correlation ? c : *correlation;
		}
}
