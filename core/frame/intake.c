/* core/frame/intake.c - see intake.h */
#include "core/frame/intake.h"

#include <math.h>
#include <string.h>

#include "core/frame/averages.h"
#include "core/frame/center.h"
#include "core/frame/encoding.h"
#include "core/frame/readout.h"
#include "core/frame/recon.h"
#include "core/protocol.h"
#include "core/traj/delay.h"
#include "core/traj/online.h"

static const char axes[] = "xyz";

static int check_index(const struct bs_protocol *p, const struct bs_scan_info *info,
		       const struct bs_mrd_acq *h, struct bs_fail *why)
{
	const uint32_t averages = bs_averages_expected(p, info);

	if (bs_plan_has(&p->plan, BS_PLAN_AVERAGE) && h->idx.average >= averages)
		return bs_fail(why, BS_ERR_INDEX, "acquisition %u: average %u of %u",
			       h->scan_counter, h->idx.average, averages);
	if (h->idx.slice >= p->slices)
		return bs_fail(why, BS_ERR_INDEX, "acquisition %u: slice %u of %u", h->scan_counter,
			       h->idx.slice, p->slices);
	if (h->idx.contrast >= p->contrasts)
		return bs_fail(why, BS_ERR_INDEX, "acquisition %u: contrast %u of %u",
			       h->scan_counter, h->idx.contrast, p->contrasts);
	return 0;
}

static int check_sizes(const struct bs_protocol *p, const struct bs_mrd_acq *h, struct bs_fail *why)
{
	uint32_t discarded = (uint32_t)h->discard_pre + h->discard_post;
	uint32_t at;

	if (h->active_channels != p->coils)
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u: %u channels, protocol '%s' has %u", h->scan_counter,
			       h->active_channels, p->name, p->coils);
	if (!bs_readout_short(p, h, &at) &&
	    (h->number_of_samples < discarded || h->number_of_samples - discarded != p->samples))
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u: %u samples less %u discarded, protocol '%s' has %u",
			       h->scan_counter, h->number_of_samples, discarded, p->name,
			       p->samples);
	if (discarded > p->discard)
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u: %u samples with the discarded ones, protocol '%s' "
			       "allows for %u + %u",
			       h->scan_counter, h->number_of_samples, p->name, p->samples,
			       p->discard);
	return 0;
}

/*
 * Checks a readout that is no line. It may be shorter than a line, but not longer: it lies in the
 * same slot. Noise is not stored there.
 */
static int check_beside(const struct bs_protocol *p, const struct bs_mrd_acq *h, enum bs_kind kind,
			struct bs_fail *why)
{
	if (h->active_channels != p->coils)
		return bs_fail(
			why, BS_ERR_SIZE, "acquisition %u (%s): %u channels, protocol '%s' has %u",
			h->scan_counter, bs_kind_name(kind), h->active_channels, p->name, p->coils);
	if ((h->number_of_samples > p->samples + p->discard && kind != BS_KIND_NOISE) ||
	    (uint32_t)h->discard_pre + h->discard_post > h->number_of_samples)
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u (%s): %u samples, %u + %u of them discarded; "
			       "protocol '%s' allows for %u",
			       h->scan_counter, bs_kind_name(kind), h->number_of_samples,
			       h->discard_pre, h->discard_post, p->name, p->samples + p->discard);
	return 0;
}

/*
 * Magnitudes of floats have the order of their bits, read as integers, with infinity and NaN above
 * every number: one integer comparison finds all three. Every machine has vectors of four lanes
 * (SSE2, NEON); two of them side by side run at the memory's speed.
 */
typedef int32_t lanes __attribute__((vector_size(16)));

static bool within_limit(const unsigned char *at, size_t n, int32_t limit)
{
	lanes over[2] = { { 0 } };
	int32_t bad = 0;
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		lanes v[2];

		memcpy(v, at + 4 * i, sizeof(v)); /* the wire promises no alignment */
		over[0] |= (v[0] & INT32_MAX) > limit;
		over[1] |= (v[1] & INT32_MAX) > limit;
	}
	for (; i < n; i++) {
		int32_t v;

		memcpy(&v, at + 4 * i, sizeof(v));
		bad |= (v & INT32_MAX) > limit;
	}
	for (int j = 0; j < 4; j++)
		bad |= over[0][j] | over[1][j];
	return bad == 0;
}

static int check_values(const struct bs_protocol *p, const struct bs_mrd_acq *h, const void *data,
			struct bs_fail *why)
{
	const unsigned char *at = data;
	size_t n = (size_t)h->number_of_samples * h->active_channels * 2;
	const float limit = p->max_sample > 0 ? (float)p->max_sample : 1e12f;
	int32_t bits;

	memcpy(&bits, &limit, sizeof(bits));
	if (within_limit(at, n, bits))
		return 0;
	for (size_t i = 0; i < n; i++) {
		float v;

		memcpy(&v, at + 4 * i, sizeof(v));
		if (!(fabsf(v) <= limit))
			return bs_fail(
				why, BS_ERR_VALUE,
				"acquisition %u: channel %zu sample %zu is %g; the limit is %g",
				h->scan_counter, i / 2 / h->number_of_samples,
				i / 2 % h->number_of_samples, (double)v, (double)limit);
	}
	return 0;
}

static float stream_k(const unsigned char *traj, uint32_t dims, uint32_t sample, uint32_t axis)
{
	float k;

	memcpy(&k, traj + 4 * ((size_t)sample * dims + axis), sizeof(k));
	return k;
}

/* The distance on the periodic k axis, where -0.5 and 0.5 are the same place. */
static double k_distance(double a, double b)
{
	double d = fabs(a - b);

	return d < 0.5 ? d : fabs(1.0 - d);
}

static bool row_matches(const struct bs_protocol *p, const struct bs_traj *t, uint32_t row,
			const struct bs_mrd_acq *h, const unsigned char *traj, uint32_t sample)
{
	const float *k = t->k + ((size_t)row * t->samples + sample) * t->dims;

	for (uint32_t a = 0; a < t->dims; a++) {
		double got = stream_k(traj, h->trajectory_dimensions, h->discard_pre + sample, a) *
			     bs_traj_unit_scale(p, a);

		if (!(k_distance(got, k[a]) <= p->traj.tolerance))
			return false;
	}
	return true;
}

static int check_path(const struct bs_protocol *p, const struct bs_mrd_acq *h,
		      const unsigned char *traj, struct bs_fail *why)
{
	if (h->trajectory_dimensions < p->dims || h->trajectory_dimensions > 3)
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "acquisition %u: %u trajectory dimensions, protocol '%s' has %u",
			       h->scan_counter, h->trajectory_dimensions, p->name, p->dims);
	for (uint32_t s = 0; s < h->number_of_samples; s++)
		for (uint32_t a = 0; a < h->trajectory_dimensions; a++) {
			double k = stream_k(traj, h->trajectory_dimensions, s, a);

			if (a >= p->dims && p->traj.third_ignored)
				continue;
			if (a >= p->dims && k != 0.0)
				return bs_fail(
					why, BS_ERR_TRAJECTORY,
					"acquisition %u: sample %u has k%c = %g in a 2D protocol",
					h->scan_counter, s, axes[a], k);
			if (!(fabs(k * (a < p->dims ? bs_traj_unit_scale(p, a) : 1.0)) <=
			      0.5 + 1e-6))
				return bs_fail(
					why, BS_ERR_TRAJECTORY,
					"acquisition %u: sample %u has k%c = %g, out of range for "
					"the declared unit",
					h->scan_counter, s, axes[a], k);
		}
	return 0;
}

static int find_row(const struct bs_protocol *p, const struct bs_traj *t,
		    const struct bs_mrd_acq *h, const unsigned char *traj, uint32_t *row,
		    struct bs_fail *why)
{
	for (uint32_t r = 0; r < t->readouts; r++) {
		if (t->keyed ? t->step1[r] == h->idx.kspace_encode_step_1 &&
				       t->step2[r] == h->idx.kspace_encode_step_2
			     : row_matches(p, t, r, h, traj, t->samples - 1) &&
				       row_matches(p, t, r, h, traj, t->samples / 2)) {
			*row = r;
			return 0;
		}
	}
	if (!t->keyed)
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "acquisition %u: its trajectory is none of protocol '%s'",
			       h->scan_counter, p->name);
	return bs_fail(
		why, BS_ERR_INDEX,
		"acquisition %u: kspace_encode_step_1 %u, step_2 %u are not in protocol '%s'",
		h->scan_counter, h->idx.kspace_encode_step_1, h->idx.kspace_encode_step_2, p->name);
}

static int admit_trajectory(const struct bs_protocol *p, const struct bs_traj *t,
			    const struct bs_scan_info *info, const struct bs_mrd_acq *h,
			    const unsigned char *traj, uint32_t *row, struct bs_fail *why)
{
	int rc;

	if (h->trajectory_dimensions ==
	    0) { /* the armed table is used if the counters identify a row */
		if (p->plan.from_file && strcmp(info->trajectory_name, "cartesian") == 0)
			return bs_fail(why, BS_ERR_TRAJECTORY,
				       "acquisition %u carries no trajectory, and the header says "
				       "cartesian: protocol '%s' is for readouts that do",
				       h->scan_counter, p->name);
		if (!t->keyed)
			return bs_fail(why, BS_ERR_TRAJECTORY,
				       "acquisition %u carries no trajectory, and the counters of "
				       "protocol '%s' are not unique",
				       h->scan_counter, p->name);
		return find_row(p, t, h, traj, row, why);
	}
	rc = check_path(p, h, traj, why);
	if (rc == 0)
		rc = find_row(p, t, h, traj, row, why);
	for (uint32_t s = 0; rc == 0 && s < t->samples; s++)
		if (!row_matches(p, t, *row, h, traj, s))
			rc = bs_fail(
				why, BS_ERR_TRAJECTORY,
				"acquisition %u: sample %u is not where readout %u of protocol "
				"'%s' has it (tolerance %g cycles/voxel)",
				h->scan_counter, s, *row, p->name, p->traj.tolerance);
	return rc;
}

/*
 * The number in the stream of a readout that brings its own path. In a frame of more than 65536
 * readouts kspace_encode_step_2 counts 65536 of them; else partitions follow each other where the
 * header says how many there are.
 */
static uint64_t number_of(const struct bs_protocol *p, const struct bs_scan_info *info,
			  const struct bs_mrd_idx *idx)
{
	const uint64_t partitions = info->step2.given ? (uint64_t)info->step2.max + 1 : 1;

	if (p->readouts > 65536)
		return (uint64_t)idx->kspace_encode_step_2 << 16 | idx->kspace_encode_step_1;
	return idx->kspace_encode_step_1 * partitions + idx->kspace_encode_step_2;
}

static int admit_path(const struct bs_protocol *p, const struct bs_scan_info *info,
		      const struct bs_mrd_acq *h, const unsigned char *traj, uint32_t *row,
		      struct bs_fail *why)
{
	int rc;

	if (h->trajectory_dimensions == 0)
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "acquisition %u carries no trajectory, and trajectory.type of "
			       "protocol '%s' is stream",
			       h->scan_counter, p->name);
	rc = check_path(p, h, traj, why);
	if (rc == 0 && p->readouts <= 65536 && info->step2.given &&
	    h->idx.kspace_encode_step_2 > info->step2.max)
		rc = bs_fail(why, BS_ERR_INDEX,
			     "acquisition %u: kspace_encode_step_2 is %u, the header's limit %u",
			     h->scan_counter, h->idx.kspace_encode_step_2, info->step2.max);
	*row = (uint32_t)(number_of(p, info, &h->idx) % p->readouts);
	return rc;
}

void bs_admit_path(const struct bs_protocol *p, const struct bs_scan_info *info,
		   struct bs_mrd_acq *h, const void *traj, float *path)
{
	for (uint32_t s = 0; s < p->samples; s++)
		for (uint32_t a = 0; a < p->dims; a++) {
			const float k = (float)(stream_k(traj, h->trajectory_dimensions,
							 h->discard_pre + s, a) *
						bs_traj_unit_scale(p, a));

			/* folded as core/traj/traj.c folds a table's values */
			path[(size_t)s * p->dims + a] = k >= 0.5f   ? k - 1.0f
							: k < -0.5f ? -0.5f
								    : k;
		}
	if (bs_traj_delayed(&p->traj))
		bs_delay_readout(path, p->dims, p->samples, p->traj.delay, p->traj.delay_cross);
	h->idx.repetition =
		(uint16_t)(h->idx.repetition + number_of(p, info, &h->idx) / p->readouts);
}

/*
 * Finds the line on the encoded grid, by the center of k-space (center.h). A table has the first
 * lines of the grid; method cartesian has no table, and takes any line.
 */
static int admit_line(const struct bs_protocol *p, const struct bs_traj *table,
		      const struct bs_scan_info *info, const struct bs_mrd_acq *h, const void *traj,
		      uint32_t *row, struct bs_fail *why)
{
	struct bs_center c;
	int64_t line[2];
	uint32_t at;

	bs_center_place(line, &c, &p->encoded[1], info, h);
	for (int i = 0; i < 2; i++) {
		uint32_t size = p->encoded[i + 1];

		if (line[i] < 0 || line[i] >= size)
			return bs_fail(why, BS_ERR_INDEX,
				       "acquisition %u: kspace_encode_step_%d is %lld (center %u), "
				       "outside the encoded %u",
				       h->scan_counter, i + 1,
				       (long long)line[i] + c.line[i] - size / 2, c.line[i], size);
	}
	/* Another center_sample would shift the image. */
	if (!bs_readout_short(p, h, &at) && !bs_readout_fits(p, h)) {
		const bool reversed = (h->flags & BS_MRD_IS_REVERSE) != 0;

		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u%s: center_sample is %u, protocol '%s' has it at %u",
			       h->scan_counter, reversed ? " (reversed)" : "", h->center_sample,
			       p->name, bs_readout_center(p, reversed) + h->discard_pre);
	}
	if (p->plan.encode != BS_ENCODE_NOTHING &&
	    !(bs_plan_has(&p->plan, BS_PLAN_EPI) && bs_admit_ramps(info)) &&
	    !bs_traj_on_line(h, traj, info, p->encoded,
			     (const uint32_t[]){ (uint32_t)line[0], (uint32_t)line[1] }))
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "acquisition %u brings a trajectory off its line of the grid, which "
			       "protocol '%s' does not look at: one with trajectory.type stream or "
			       "file takes it",
			       h->scan_counter, p->name);
	*row = (uint32_t)(line[0] + (int64_t)p->encoded[1] * line[1]);
	if (p->plan.encode != BS_ENCODE_LINES && *row >= table->readouts)
		return bs_fail(why, BS_ERR_INDEX,
			       "acquisition %u: line %lld, partition %lld of the encoded grid is "
			       "not among the first %u, which protocol '%s' has",
			       h->scan_counter, (long long)line[0], (long long)line[1],
			       table->readouts, p->name);
	return 0;
}

/* Returns the samples of a line that may be a partial echo; discarded ones do not count. */
static uint32_t line_samples(const struct bs_protocol *p, const struct bs_mrd_acq *head)
{
	uint32_t at;

	return bs_readout_short(p, head, &at)
		       ? (uint32_t)head->number_of_samples - head->discard_pre - head->discard_post
		       : p->samples;
}

int bs_admit_acq(const struct bs_intake *in, struct bs_mrd_acq *head, const void *traj,
		 const void *data, uint32_t *row, struct bs_fail *why)
{
	const struct bs_protocol *p = in->p;
	const struct bs_scan_info *info = in->info;
	enum bs_kind kind;
	bool line;
	int rc;

	*row = BS_ROW_NONE;
	bs_kind_sort(head, p->coils, line_samples(p, head));
	bs_encoding_mark(p, info, head);
	kind = bs_mrd_kind(head->flags);
	line = kind == BS_KIND_IMAGING || kind == BS_KIND_CALIBRATION;
	if (line && head->encoding_space_ref > 0 && head->encoding_space_ref >= info->encodings)
		return bs_fail(why, BS_ERR_INDEX,
			       "acquisition %u: encoding_space_ref is %u, the header has %u",
			       head->scan_counter, head->encoding_space_ref,
			       info->encodings > 0 ? info->encodings : 1);
	if (!bs_kind_used(p, kind) && !bs_kind_answered(p, kind))
		return 0;
	rc = line ? check_sizes(p, head, why) : check_beside(p, head, kind, why);
	if (rc == 0 && kind != BS_KIND_NOISE)
		rc = check_index(p, info, head, why);
	if (rc == 0 && line && p->plan.streams)
		rc = admit_path(p, info, head, traj, row, why);
	else if (rc == 0 && line)
		rc = p->plan.on_grid ? admit_line(p, in->table, info, head, traj, row, why)
				     : admit_trajectory(p, in->table, info, head, traj, row, why);
	if (rc == 0)
		rc = check_values(p, head, data, why);
	return rc;
}

int bs_admit_dwell(const struct bs_protocol *p, const struct bs_mrd_acq *head, struct bs_fail *why)
{
	const double dwell_us = head->sample_time_us;

	if (p->plan.encode != BS_ENCODE_FIELD || bs_mrd_kind(head->flags) != BS_KIND_IMAGING ||
	    !(dwell_us > 0.0) || fabs(dwell_us - p->field.dwell_us) <= 1e-3 * p->field.dwell_us)
		return 0;
	return bs_fail(why, BS_ERR_TRAJECTORY,
		       "acquisition %u: sample_time_us is %g, field.dwell_us of protocol '%s' is "
		       "%g",
		       head->scan_counter, dwell_us, p->name, p->field.dwell_us);
}

/*
 * Moves a line one sample later. Its first sample becomes the last one where the line is periodic,
 * else 0.
 */
static void move_on(const struct bs_protocol *p, const struct bs_mrd_acq *head, float *data)
{
	const size_t last = 2 * ((size_t)p->samples - 1);

	for (size_t c = 0; c < head->active_channels; c++) {
		float *at = data + 2 * (c * head->number_of_samples + head->discard_pre);
		const bool whole = p->samples == p->encoded[0];
		const float first[2] = { whole ? at[last] : 0.0f, whole ? at[last + 1] : 0.0f };

		memmove(at + 2, at, last * sizeof(*at));
		at[0] = first[0];
		at[1] = first[1];
	}
}

void bs_admit_reverse(const struct bs_protocol *p, struct bs_mrd_acq *head, float *data)
{
	const size_t n = head->number_of_samples;
	const uint16_t pre = head->discard_pre;

	if (!(head->flags & BS_MRD_IS_REVERSE) ||
	    (!p->plan.on_grid && (head->trajectory_dimensions > 0 || p->plan.from_file)))
		return;
	for (size_t c = 0; c < head->active_channels; c++)
		for (size_t i = 0; i < n / 2; i++) {
			float *a = data + 2 * (c * n + i);
			float *b = data + 2 * (c * n + n - 1 - i);
			const float kept[2] = { a[0], a[1] };

			a[0] = b[0];
			a[1] = b[1];
			b[0] = kept[0];
			b[1] = kept[1];
		}
	head->discard_pre = head->discard_post;
	head->discard_post = pre;
	/* center_sample 0 counts as not given */
	if (head->center_sample != 0 && head->center_sample < n)
		head->center_sample = (uint16_t)(n - 1 - head->center_sample);
	if (n == (size_t)p->samples + head->discard_pre + head->discard_post &&
	    bs_readout_late(p, head))
		move_on(p, head, data);
}

/* ---- the way of one readout ---- */

bool bs_intake_sums(const struct bs_intake *in, const struct bs_mrd_acq *head)
{
	return in->sums_noise && bs_mrd_kind(head->flags) == BS_KIND_NOISE && bs_noise_fits(head) &&
	       (uint64_t)head->active_channels * head->active_channels * sizeof(double) <= in->room;
}

void bs_admit_copy(const struct bs_protocol *p, struct bs_mrd_acq *head, uint32_t row, float *to,
		   const void *from)
{
	const size_t has = (size_t)head->number_of_samples - head->discard_pre - head->discard_post;
	const size_t n = head->number_of_samples;
	const unsigned char *data = from;
	uint32_t at;

	if (row == BS_ROW_NONE || !bs_readout_short(p, head, &at)) {
		memcpy(to, from, n * head->active_channels * 8);
		return;
	}
	memset(to, 0, (size_t)p->samples * head->active_channels * 8);
	for (size_t c = 0; c < head->active_channels; c++)
		memcpy(to + 2 * (c * p->samples + at), data + (c * n + head->discard_pre) * 8,
		       has * 8);
	head->flags |= BS_MRD_FILLED;
	head->user_int[0] = (int32_t)at;
	head->user_int[1] = (int32_t)(at + has);
	head->discard_pre = head->discard_post = 0;
	head->number_of_samples = (uint16_t)p->samples;
	head->center_sample = (uint16_t)bs_readout_center(p, false);
}

/*
 * The readout's samples go to an engine: the checks have bounded them by the protocol's readouts.
 */
static bool is_kept(const struct bs_protocol *p, const struct bs_mrd_acq *head)
{
	const enum bs_kind kind = bs_mrd_kind(head->flags);

	return p != NULL && kind != BS_KIND_NOISE &&
	       (bs_kind_used(p, kind) || bs_kind_answered(p, kind));
}

void bs_intake_put(const struct bs_intake *in, struct bs_mrd_acq *head, uint32_t row,
		   const void *traj, const void *data, void *place)
{
	float *samples = place;

	if (bs_intake_sums(in, head))
		bs_noise_gram(place, head, data);
	if (!is_kept(in->p, head))
		return;
	bs_admit_copy(in->p, head, row, samples, data);
	bs_admit_reverse(in->p, head, samples);
	if (in->p->plan.streams && row != BS_ROW_NONE)
		bs_admit_path(in->p, in->info, head, traj, samples + bs_path_at(head));
}

int bs_intake_fits(const struct bs_intake *in, const struct bs_mrd_acq *head, struct bs_fail *why)
{
	int rc = 0;

	if (!is_kept(in->p, head))
		return 0;
	if (!in->noise->frozen)
		rc = bs_scan_noise_freeze(in->noise, in->p, in->info, why);
	if (rc == 0)
		rc = bs_admit_dwell(in->p, head, why);
	return rc != 0 || bs_scan_study_posed(in->scan, head->idx.slice)
		       ? rc
		       : bs_scan_study_line(in->scan, in->study, in->p, &in->noise->noise, head,
					    why);
}
