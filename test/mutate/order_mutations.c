/* test/mutate/order_mutations.c - what is measured when; see mutations.h */
#include <string.h>

#include "test/mutate/mutations.h"

static void nest(struct plan *p, enum dim a, enum dim b, enum dim c, enum dim d, enum dim e,
		 enum dim f, enum dim g, enum dim h)
{
	const enum dim all[DIMS] = { a, b, c, d, e, f, g, h };

	memcpy(p->nest, all, sizeof(all));
}

static void sets_inside(struct plan *p)
{
	p->count[SET] = 4;
	nest(p, SET, LINE, PART, CONTRAST, SLICE, PHASE, AVERAGE, REPETITION);
}

static void sets_outside(struct plan *p)
{
	p->count[SET] = 3;
}

static void all_inside(struct plan *p)
{
	p->count[SET] = 2;
	p->count[PHASE] = 2;
	p->count[SLICE] = 2;
	p->in_time[0] = 0;
	p->in_time[1] = 1;
	nest(p, SLICE, PHASE, SET, CONTRAST, LINE, PART, AVERAGE, REPETITION);
}

static void eighteen(struct plan *p)
{
	static const uint32_t even[] = { 1, 3, 5, 0, 2, 4 };

	p->count[SLICE] = 6;
	p->count[CONTRAST] = 3;
	memcpy(p->in_time, even, sizeof(even));
}

static void four_slices(struct plan *p)
{
	static const uint32_t even[] = { 1, 3, 0, 2 };

	p->count[SLICE] = 4;
	memcpy(p->in_time, even, sizeof(even));
}

static void no_contrast(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->lines[i].head.idx.contrast = 0;
	s->header.limit[LIMIT_CONTRAST].max = 0;
	s->relabeled = true;
}

static void no_repetition(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->lines[i].head.idx.repetition = 0;
	s->header.limit[LIMIT_REPETITION].max = 0;
	s->relabeled = true;
}

static void repetitions_inside(struct plan *p)
{
	p->count[REPETITION] = 3;
	nest(p, REPETITION, LINE, PART, CONTRAST, SLICE, PHASE, SET, AVERAGE);
}

static void averages_inside(struct plan *p)
{
	p->count[AVERAGE] = 2;
	nest(p, AVERAGE, LINE, PART, CONTRAST, SLICE, PHASE, SET, REPETITION);
}

static void averages_outside(struct plan *p)
{
	p->count[AVERAGE] = 2;
}

/* Calibration lines come once more, as average 1. */
static void calibration_twice(struct scan *s)
{
	for (uint32_t i = s->count; i-- > 0;) {
		const struct line from = s->lines[i];
		struct line *l;

		if ((from.head.flags & (FLAG(20) | FLAG(21))) == 0)
			continue;
		l = scan_insert(s, i + 1, from.head.number_of_samples, from.head.active_channels);
		if (l == NULL)
			continue;
		memcpy(l->data, from.data,
		       sizeof(*l->data) * from.head.number_of_samples * from.head.active_channels);
		l->head = from.head;
		l->head.flags =
			(l->head.flags & ~(FLAG(21) | FLAG(8) | FLAG(14) | FLAG(25))) | FLAG(20);
		l->head.idx.average = 1;
		l->role = ROLE_CALIBRATION;
		l->frame = from.frame;
	}
	s->header.limit[LIMIT_AVERAGE].max = 1;
}

static void segments(struct plan *p)
{
	p->segmented = true;
}

static void segment_is_polarity(struct scan *s)
{
	EACH_IMAGING(s, l)
	l->head.idx.segment = l->ky % 2;
	s->header.limit[LIMIT_SEGMENT].max = 1;
}

static void copy_line(struct scan *s, uint32_t from, uint32_t to)
{
	const struct line was = s->lines[from];
	struct line *l = scan_insert(s, to, was.head.number_of_samples, was.head.active_channels);

	s->again = true;
	if (l == NULL)
		return;
	l->head = was.head;
	l->role = was.role;
	l->frame = was.frame;
	l->ky = was.ky;
	l->kz = was.kz;
	l->head.flags &= ~(FLAG(8) | FLAG(14) | FLAG(25));
	memcpy(l->data, was.data,
	       sizeof(*l->data) * was.head.number_of_samples * was.head.active_channels);
}

static void line_three_times(struct scan *s)
{
	const uint32_t at = s->count / 3;

	copy_line(s, at, at);
	copy_line(s, at, at);
}

static void last_line_twice(struct scan *s)
{
	copy_line(s, s->count - 1, s->count - 1);
}

/* The first time with other samples: it was measured again because it was bad. */
static void line_again(struct scan *s)
{
	const uint32_t at = s->count / 3;
	struct line *l;

	copy_line(s, at, at);
	l = &s->lines[at];
	for (uint32_t i = 0; i < (uint32_t)l->head.number_of_samples * l->head.active_channels; i++)
		l->data[i] *= -3.0F;
}

static void calibration_five_times(struct scan *s)
{
	for (uint32_t i = s->count; i-- > 0;)
		if (s->lines[i].role == ROLE_CALIBRATION)
			for (int n = 0; n < 4; n++)
				copy_line(s, i, i);
}

static void elliptical(struct plan *p)
{
	p->elliptical = true;
}

static void elliptical_parts_inside(struct plan *p)
{
	p->elliptical = true;
	nest(p, PART, LINE, CONTRAST, SLICE, PHASE, SET, AVERAGE, REPETITION);
}

static void parts_inside(struct plan *p)
{
	nest(p, PART, LINE, CONTRAST, SLICE, PHASE, SET, AVERAGE, REPETITION);
}

static void later_parts(struct plan *p)
{
	p->skip = p->ny / 4;
	p->skip_parts = p->nz / 4;
}

static void lines_move(struct plan *p)
{
	p->acs = 0;
	p->moves = true;
	p->count[REPETITION] = 4;
}

static void calibration_interleaved(struct scan *s)
{
	(void)snprintf(s->header.calibration, WORD, "interleaved");
}

/* Each line several times, as the ADCs of a spectroscopic train: time is a dimension. */
static void train(struct scan *s)
{
	for (uint32_t i = s->count; i-- > 0;)
		for (uint16_t n = 3; n > 0; n--) {
			copy_line(s, i, i + 1);
			s->lines[i + 1].head.idx.segment = n;
		}
	s->header.limit[LIMIT_SEGMENT].max = 3;
}

/* Slices 0 and 1 together from the second repetition on. */
static void two_bands(struct plan *p)
{
	p->count[SLICE] = 2;
	p->count[REPETITION] = 4;
	p->bands = true;
	p->in_time[0] = 0;
	p->in_time[1] = 1;
}

static void lines_lack(struct scan *s, uint32_t from, uint32_t count)
{
	for (uint32_t i = from + count; s->count > count && i-- > from;) {
		struct line *l = &s->lines[i];

		if (l->role == ROLE_IMAGE || l->role == ROLE_CALIBRATION) {
			s->frames[l->frame].lost += l->role == ROLE_IMAGE;
			s->frames[l->frame].came[l->kz * s->plan.ny + l->ky] = 0;
		}
		scan_remove(s, i);
	}
}

/* An operator's stop: frames are open, no flag comes. */
static void stopped(struct scan *s)
{
	lines_lack(s, s->count - 5, 5);
}

/* What a wire lost. */
static void lines_lost(struct scan *s)
{
	lines_lack(s, s->count / 3, 3);
}

static void shuffled(struct scan *s)
{
	for (uint32_t i = 1; i < s->count; i++)
		if (s->lines[i].role == ROLE_IMAGE && i % 7 == 3 && i + 2 < s->count &&
		    s->lines[i + 2].role == ROLE_IMAGE)
			scan_move(s, i + 2, i);
}

static void odd_then_even(struct scan *s)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->lines[i].head.idx.kspace_encode_step_1 % 2 == 1)
			scan_move(s, i, to++);
}

const struct mutation order_mutations[] = {
	{ "17a", TAKE, "CS", "4 sets innermost, lines outside", sets_inside, NULL },
	{ "17c", TAKE, "CSEI", "sets one after the other", sets_outside, NULL },
	{ "17d", TAKE, "C", "slices, phases, sets in every line", all_inside, NULL },
	{ "17e", TAKE, "CS", "repetitions innermost", repetitions_inside, NULL },
	{ "18a", TAKE, "S", "slices 1,3,5,0,2,4 of 3 echoes each", eighteen, NULL },
	{ "18b", TAKE, "SI", "slices 1,3,0,2", four_slices, NULL },
	{ "19a", MIND, "E", "contrast 0 for all echoes", NULL, no_contrast },
	{ "19b", MIND, "C", "repetition 0 for all repetitions", NULL, no_repetition },
	{ "20a", TAKE, "CS", "averages inside", averages_inside, NULL },
	{ "20b", TAKE, "CSE", "averages outside", averages_outside, NULL },
	{ "20c", TAKE, "G", "averages of calibration alone", NULL, calibration_twice },
	{ "21a", TAKE, "CSEI", "segment counts polarity", NULL, segment_is_polarity },
	{ "21b", TAKE, "CSEPGD", "segment counts shots", segments, NULL },
	{ "21c", REFUSE, "CSP", "segment counts the ADCs of a train", NULL, train },
	{ "46a", REFUSE, "S", "multiband that nothing says, repetition 0 single band", two_bands,
	  NULL },
	{ "56a", MIND, "CSEPGID", "a line three times", NULL, line_three_times },
	{ "56b", MIND, "G", "calibration lines five times", NULL, calibration_five_times },
	{ "56c", MIND, "CSEPGID", "a line again, the first was bad", NULL, line_again },
	{ "56d", MIND, "CSEPGD", "the last line twice", NULL, last_line_twice },
	{ "57a", TAKE, "D", "an elliptical shutter", elliptical, NULL },
	{ "57b", TAKE, "D", "the same, partitions inside", elliptical_parts_inside, NULL },
	{ "57c", TAKE, "D", "partitions inside", parts_inside, NULL },
	{ "57d", TAKE, "D", "the first lines and partitions lack", later_parts, NULL },
	/* of the first repetition there are no other lines yet when it leaves: it says so */
	{ "57e", MIND, "G", "other lines in each repetition, interleaved calibration", lines_move,
	  calibration_interleaved },
	{ "68a", MIND, "CSEPID", "stopped, frames open", NULL, stopped },
	{ "68b", MIND, "CSEPID", "lines that were lost", NULL, lines_lost },
	{ "68c", TAKE, "CSEPGD", "lines out of order", NULL, shuffled },
	{ "68d", TAKE, "CSEPD", "odd lines first, LAST_IN_SLICE in the middle", NULL,
	  odd_then_even },
	{ 0 },
};
