/* core/answer/answer.c - see answer.h */
#include "core/answer/answer.h"

#include <math.h>
#include <string.h>

#include "core/answer/fit.h"
#include "core/frame/kind.h"
#include "core/frame/readout.h"

static const char *const names[BS_ANSWER_WHATS] = { "frequency", "phase", "shift",
						    "motion",    "gate",  "step" };
/* The kind of readouts that a row is of; BS_KINDS: it is of images. */
static const enum bs_kind kinds[] = { BS_KIND_NAVIGATION, BS_KIND_PHASE_CORRECTION,
				      BS_KIND_FEEDBACK, BS_KINDS };

const char *bs_answer_name(enum bs_answer_what what)
{
	return (unsigned)what < BS_ANSWER_WHATS ? names[what] : "?";
}

bool bs_answers_asked(const struct bs_scan_info *info)
{
	return info->answers == 1;
}

void bs_answers_start(struct bs_answering *state)
{
	memset(state, 0, sizeof(*state));
}

/* A readout without its discarded samples. */
struct part {
	const float *at; /* sample n of channel c: at + 2 * (c * stride + n) */
	size_t n, coils, stride;
	double center; /* the sample with k = 0 */
};

static struct part part_of(const struct bs_mrd_acq *head, const float *samples)
{
	const uint32_t out = (uint32_t)head->discard_pre + head->discard_post;
	const size_t n = head->number_of_samples > out ? head->number_of_samples - out : 0;
	const double said = (double)head->center_sample - head->discard_pre;

	return (struct part){ samples + 2 * (size_t)head->discard_pre, n, head->active_channels,
			      head->number_of_samples,
			      head->center_sample != 0 && said >= 0.0 && said < (double)n
				      ? said
				      : floor((double)n / 2.0) };
}

/* Adds the product of each sample with one that is the same for all (each NULL), conjugated. */
static void add_product(double *z, const struct part *s, const struct part *with, size_t coil,
			const double each[2])
{
	const float *a = s->at + 2 * coil * s->stride;
	const float *b = with != NULL ? with->at + 2 * coil * with->stride : NULL;

	for (size_t k = 0; k < s->n; k++) {
		const double re = b != NULL ? (double)b[2 * k] : each[0];
		const double im = b != NULL ? (double)b[2 * k + 1] : each[1];

		z[2 * k] += re * a[2 * k] + im * a[2 * k + 1];
		z[2 * k + 1] += re * a[2 * k + 1] - im * a[2 * k];
	}
}

/* A channel's sum, its slope taken off: what the channel is weighted with. */
static void weigh(double sum[2], const struct part *s, size_t coil, double slope)
{
	const float *a = s->at + 2 * coil * s->stride;
	const double step[2] = { cos(slope), -sin(slope) };
	double turn[2] = { 1.0, 0.0 };

	sum[0] = sum[1] = 0.0;
	for (size_t k = 0; k < s->n; k++) {
		const double next = turn[0] * step[0] - turn[1] * step[1];

		sum[0] += a[2 * k] * turn[0] - a[2 * k + 1] * turn[1];
		sum[1] += a[2 * k] * turn[1] + a[2 * k + 1] * turn[0];
		turn[1] = turn[0] * step[1] + turn[1] * step[0];
		turn[0] = next;
	}
}

/*
 * Frequency: the channels are added with their own phases and amplitudes, which is the best sum
 * where their noise is alike.
 */
static bool fit_alone(struct bs_fit *f, const struct part *s)
{
	const double begin = bs_fit_begin(s->at, s->n, s->coils, s->stride);
	double z[2 * BS_ANSWER_SAMPLES];

	memset(z, 0, 2 * s->n * sizeof(*z));
	for (size_t c = 0; c < s->coils; c++) {
		double each[2];

		weigh(each, s, c, begin);
		add_product(z, s, NULL, c, each);
	}
	return bs_fit_line(f, z, s->n, s->center, begin, BS_FIT_WHITE);
}

/* Phase and shift: the sum over the channels of conj(first) readout has no phase of theirs. */
static bool fit_against(struct bs_fit *f, const struct part *s, const struct part *first)
{
	double z[2 * BS_ANSWER_SAMPLES];
	double re = 0.0;
	double im = 0.0;

	memset(z, 0, 2 * s->n * sizeof(*z));
	for (size_t c = 0; c < s->coils; c++)
		add_product(z, s, first, c, NULL);
	for (size_t k = 0; k + 1 < s->n; k++) {
		re += z[2 * k] * z[2 * k + 2] + z[2 * k + 1] * z[2 * k + 3];
		im += z[2 * k] * z[2 * k + 3] - z[2 * k + 1] * z[2 * k + 2];
	}
	return bs_fit_line(f, z, s->n, s->center, re != 0.0 || im != 0.0 ? atan2(im, re) : 0.0,
			   BS_FIT_WEIGHTED);
}

/* Returns mm of a shift for a slope of one radian per sample; 0: the header does not say. */
static double mm_of(const struct bs_protocol *p, const struct bs_scan_info *info)
{
	const uint32_t more = p->plan.on_grid ? bs_readout_oversampled(p, info) : 1;

	/* the object at +d is the first one times exp(-i 2 pi d n / fov) */
	return -(double)info->encoded_fov_mm[0] * (more > 0 ? more : 1) / (2.0 * M_PI);
}

/* Sets the numbers of an answer by a fit; scale: its unit for one radian (per sample). */
static void put(struct bs_answer *out, double value, double deviation, double scale)
{
	if (scale == 0.0 || !isfinite(scale) || !isfinite(value))
		return;
	out->numbers = 1;
	out->number[0] = value * scale;
	out->deviation = deviation * fabs(scale);
}

/* The fit of a readout against the first one: phase and shift of a readout share it. */
struct against {
	uint64_t first; /* message number of that; 0: not made */
	bool good;
	struct bs_fit fit;
};

static void answer_readout(const struct bs_answering_of *a, const struct bs_mrd_acq *head,
			   const float *samples, struct against *with, struct bs_answer *out)
{
	const struct part s = part_of(head, samples);
	const struct part first =
		part_of(&a->state->first[out->row].head,
			(const float *)(const void *)(a->places + out->row * a->place_bytes));
	const double rate = head->sample_time_us > 0.0f ? 1e6 / (double)head->sample_time_us : 0.0;
	struct bs_fit f;

	if (first.n != s.n || first.coils != s.coils || s.n > BS_ANSWER_SAMPLES)
		return;
	if (out->what == BS_ANSWER_FREQUENCY) {
		if (fit_alone(&f, &s))
			put(out, f.slope, f.slope_deviation, rate / (2.0 * M_PI));
		return;
	}
	if (with->first != a->state->first[out->row].readout) {
		with->first = a->state->first[out->row].readout;
		with->good = fit_against(&with->fit, &s, &first);
	}
	if (with->good && out->what == BS_ANSWER_PHASE)
		put(out, with->fit.phase, with->fit.phase_deviation, 1.0);
	else if (with->good)
		put(out, with->fit.slope, with->fit.slope_deviation, mm_of(a->p, a->info));
}

/* Keeps the first readout of a row, or the same one when it comes again. */
static void keep_first(const struct bs_answering_of *a, uint32_t row, const struct bs_mrd_acq *head,
		       uint64_t readout, const float *samples)
{
	const uint64_t bytes = (uint64_t)head->number_of_samples * head->active_channels * 8;

	if (a->state->first[row].readout != 0 || bytes > a->place_bytes)
		return;
	memcpy(a->places + row * a->place_bytes, samples, (size_t)bytes);
	a->state->first[row].head = *head;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* a successor sees it whole or not at all */
	a->state->first[row].readout = readout;
}

/* Rows of one place are those of the first readout's slice, contrast and set. */
static bool is_of(const struct bs_answering_of *a, uint32_t row, const struct bs_mrd_acq *head)
{
	const struct bs_mrd_idx *first = &a->state->first[row].head.idx;

	return kinds[a->p->answers.row[row].of] == bs_mrd_kind(head->flags) &&
	       (a->state->first[row].readout == 0 ||
		(first->slice == head->idx.slice && first->contrast == head->idx.contrast &&
		 first->set == head->idx.set));
}

/* Begins the next answer of a row. */
static struct bs_answer begin(const struct bs_answering_of *a, uint32_t row, uint32_t *count)
{
	return (struct bs_answer){ .what = a->p->answers.row[row].what,
				   .row = row,
				   .count = ++*count,
				   .deviation = -1.0 };
}

uint32_t bs_answers_make(const struct bs_answering_of *a, const struct bs_mrd_acq *head,
			 uint64_t readout, const float *samples, struct bs_answer *out)
{
	uint32_t count = a->state->count;
	struct against with = { .first = 0 };
	uint32_t n = 0;

	if ((a->p->answers.kinds >> (unsigned)bs_mrd_kind(head->flags) & 1u) == 0 ||
	    readout <= a->state->done)
		return 0;
	for (uint32_t row = 0; row < a->p->answers.count; row++) {
		if (!is_of(a, row, head))
			continue;
		keep_first(a, row, head, readout, samples);
		out[n] = begin(a, row, &count);
		out[n].readout = readout;
		out[n].scan_counter = head->scan_counter;
		answer_readout(a, head, samples, &with, &out[n++]);
	}
	a->state->count = count;
	a->state->done = readout;
	return n;
}

uint32_t bs_answers_step(const struct bs_answering_of *a, uint32_t image, const double *number,
			 uint32_t numbers, struct bs_answer *out)
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < a->p->answers.count; row++) {
		if (a->p->answers.row[row].of != BS_ANSWER_OF_IMAGE)
			continue;
		out[n] = begin(a, row, &a->state->count);
		out[n].image = image;
		out[n].numbers = numbers < BS_ANSWER_NUMBERS ? numbers : BS_ANSWER_NUMBERS;
		memcpy(out[n].number, number, out[n].numbers * sizeof(*number));
		n++;
	}
	return n;
}

void bs_answer_print(FILE *to, const struct bs_answer *a)
{
	(void)fprintf(to, "%s %u %u %.17g", bs_answer_name(a->what), a->scan_counter, a->image,
		      a->deviation);
	for (uint32_t i = 0; i < a->numbers && i < BS_ANSWER_NUMBERS; i++)
		(void)fprintf(to, " %.17g", a->number[i]);
	(void)fputc('\n', to);
}
