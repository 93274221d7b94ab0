/* test/mutate/limit_mutations.c - limits, counters and centers; see mutations.h */
#include <string.h>

#include "test/mutate/mutations.h"

static void all_centers(struct scan *s, int by)
{
	EACH_IMAGING(s, l)
	l->head.center_sample =
		by == 0 ? 0 : (uint16_t)(l->head.number_of_samples + (by > 1 ? by : 0));
}

static void center_at_the_end(struct scan *s)
{
	all_centers(s, 1);
}

static void center_beyond(struct scan *s)
{
	all_centers(s, 16);
}

static void center_zero(struct scan *s)
{
	all_centers(s, 0);
}

static void reverse_lines(struct plan *p)
{
	p->every_second_reversed = true;
}

/* As the converter copies it, a sample behind the one at which k = 0 is stored: N / 2 of whole
 * lines in either direction. */
static void copy_center(struct scan *s)
{
	for (struct line *l = s->lines; l < s->lines + s->count; l++)
		l->head.center_sample += (l->head.flags & FLAG(22)) != 0;
}

static void copy_center_untold(struct scan *s)
{
	copy_center(s);
	s->header.vendor[0] = '\0';
	s->reversed_untold = true;
}

static void no_early_samples(struct plan *p)
{
	p->early = p->nx * p->over / 4;
}

static void no_late_samples(struct plan *p)
{
	p->late = p->nx * p->over / 4;
}

static void reversed_and_early(struct plan *p)
{
	reverse_lines(p);
	no_early_samples(p);
}

static void center_differs(struct scan *s)
{
	EACH_IMAGING(s, l)
	{
		l->head.center_sample = (uint16_t)(l->head.center_sample + l->ky % 2);
		/* by its center_sample it begins before the readout does */
		s->lines_refused += s->plan.late > 0 && l->ky % 2 == 1;
	}
	s->center_differs = true;
}

static void center_one_late(struct scan *s)
{
	EACH_IMAGING(s, l)
	l->head.center_sample++;
}

/* Without user[] the limits' center stands, which is not that of lines that begin later. */
static void forget_center(struct scan *s)
{
	s->center_untold = s->plan.skip > 0 || s->plan.skip_parts > 0;
}

static void without_user(struct scan *s)
{
	forget_center(s);
	EACH_IMAGING(s, l)
	memset(l->head.idx.user, 0, sizeof(l->head.idx.user));
}

static void center_told_by_limits(struct scan *s)
{
	without_user(s);
	s->center_untold = false;
	s->header.limit[LIMIT_STEP1].center = s->plan.ny / 2 - s->plan.skip;
}

static void center_untold(struct scan *s)
{
	without_user(s);
}

static void no_limits(struct scan *s)
{
	s->header.no_limits = true;
	s->limits_lie = s->plan.skip > 0;
}

static void no_step2(struct scan *s)
{
	s->header.limit[LIMIT_STEP2].given = false;
}

static void only_steps(struct scan *s)
{
	for (int i = LIMIT_AVERAGE; i < LIMITS; i++)
		s->header.limit[i].given = false;
}

static void center_is_maximum(struct scan *s)
{
	for (int i = 0; i < LIMITS; i++)
		if (s->header.limit[i].max > 0)
			s->header.limit[i] = (struct limit){ true, 0, 0, s->header.limit[i].max };
}

static void center_over_maximum(struct scan *s)
{
	s->header.limit[LIMIT_STEP1].center = 2 * s->header.limit[LIMIT_STEP1].max + 2;
}

static void limits_over_matrix(struct scan *s)
{
	s->header.limit[LIMIT_STEP1].max += 11;
	s->limits_lie = true;
}

static void one_line_wraps(struct scan *s)
{
	s->lines[s->count / 2].head.idx.kspace_encode_step_1 = 65530;
	s->lines_refused = 1;
}

static void counters_from_one(struct scan *s)
{
	forget_center(s);
	EACH_IMAGING(s, l)
	{
		l->head.idx.kspace_encode_step_1++;
		memset(l->head.idx.user, 0, sizeof(l->head.idx.user));
	}
	s->lines_refused = s->plan.nz; /* of a frame, where limits say from 0 */
}

static void counters_and_limits_from_one(struct scan *s)
{
	struct limit *l = &s->header.limit[LIMIT_STEP1];

	counters_from_one(s);
	l->min++;
	l->max++;
	l->center++;
}

static void line_over_maximum(struct scan *s)
{
	s->header.limit[LIMIT_STEP1].max -= 2;
}

static void line_under_minimum(struct scan *s)
{
	s->header.limit[LIMIT_STEP1].min += 2;
}

static void add_phases(struct plan *p)
{
	p->count[PHASE] = 4;
	p->nest[0] = PHASE;
	p->nest[1] = LINE;
	p->nest[2] = PART;
	p->nest[3] = CONTRAST;
	p->nest[4] = SLICE;
	p->nest[5] = SET;
	p->nest[6] = AVERAGE;
	p->nest[7] = REPETITION;
	p->segmented = true;
}

static void fewer_phases_said(struct scan *s)
{
	s->header.limit[LIMIT_PHASE].max -= 1;
}

/* The last heartbeat was short: its last phase has no lines of that segment. */
static void late_phases_lack(struct scan *s)
{
	for (uint32_t i = s->count; i-- > 0;) {
		struct line *l = &s->lines[i];

		if (l->head.idx.phase != 3 || l->head.idx.segment != 2)
			continue;
		s->frames[l->frame].came[l->kz * s->plan.ny + l->ky] = 0;
		s->frames[l->frame].lost++;
		scan_remove(s, i);
	}
}

static void add_repetitions(struct plan *p)
{
	p->count[REPETITION] = 4;
}

static void fewer_repetitions_said(struct scan *s)
{
	s->header.limit[LIMIT_REPETITION].max = 1;
}

static void slices_over_limits(struct scan *s)
{
	s->header.limit[LIMIT_SLICE].max -= 1;
}

static void contrasts_over_limits(struct scan *s)
{
	s->header.limit[LIMIT_CONTRAST].max -= 1;
}

static void ge_maxima(struct scan *s)
{
	s->header.limit[LIMIT_STEP2] = (struct limit){ true, 0, 0, 0 };
	s->header.limit[LIMIT_REPETITION].max = 1;
	s->header.limit[LIMIT_CONTRAST].max = 1;
}

const struct mutation limit_mutations[] = {
	{ "4a", MIND, "CSEPGD", "center_sample N", NULL, center_at_the_end },
	{ "4b", MIND, "CSEPGD", "center_sample N + 16", NULL, center_beyond },
	{ "5a", MIND, "CSEPGD", "center_sample 0", NULL, center_zero },
	{ "6a", TAKE, "CSEPGD", "reversed lines, center copied", reverse_lines, copy_center },
	{ "6b", MIND, "CSEPGD", "the same without a vendor", reverse_lines, copy_center_untold },
	{ "6c", TAKE, "I", "EPI, center copied", NULL, copy_center },
	{ "7a", TAKE, "CSEPGD", "reversed lines, stored place", reverse_lines, NULL },
	{ "8a", TAKE, "CSEGD", "reversed asymmetric echo, center copied", reversed_and_early,
	  copy_center },
	{ "9a", TAKE, "CSEGD", "the first quarter of samples lacks", no_early_samples, NULL },
	{ "9b", TAKE, "CSEGD", "the last quarter of samples lacks", no_late_samples, NULL },
	{ "10a", MIND, "CSEGD", "center_sample differs by 1 among lines", NULL, center_differs },
	{ "10b", MIND, "CSEGD", "center_sample one late in all lines", NULL, center_one_late },
	{ "11a", TAKE, "P", "the limits' center is not the one in user[5]", NULL, NULL },
	{ "11b", TAKE, "P", "user[] empty, the limits' center true", NULL, center_told_by_limits },
	{ "11c", MIND, "P", "user[] empty, the limits' center wrong", NULL, center_untold },
	{ "11d", TAKE, "CSEGD", "user[] empty", NULL, without_user },
	{ "12a", MIND, "CSEGIRD", "encodingLimits empty", NULL, no_limits },
	{ "12b", TAKE, "CSEPGIRD", "no limits of step 2", NULL, no_step2 },
	{ "12c", TAKE, "CSEPGIRD", "limits of the steps alone", NULL, only_steps },
	{ "13a", MIND, "CSEGIRD", "limits 0 to 0, center the maximum", NULL, center_is_maximum },
	{ "13b", MIND, "CSEGIRD", "center over the maximum", NULL, center_over_maximum },
	{ "13c", MIND, "CSEGIRD", "limits over the matrix", NULL, limits_over_matrix },
	{ "13d", MIND, "CD", "GE's maxima: step 2 0, repetition and contrast 1", NULL, ge_maxima },
	{ "14a", REFUSE, "CSEGID", "line 65530", NULL, one_line_wraps },
	{ "15a", MIND, "CSED", "counters and limits from 1", NULL, counters_and_limits_from_one },
	/* MARGE has no encoding, so no limits: those that say 0 to n - 1 are another's, and line n
	 * may as well be one too many (16d) */
	{ "15b", REFUSE, "CSED", "counters from 1, limits from 0", NULL, counters_from_one },
	{ "16a", MIND, "C", "a phase more than said", add_phases, fewer_phases_said },
	{ "16b", MIND, "C", "late phases with holes", add_phases, late_phases_lack },
	{ "16c", MIND, "CSEPGID", "repetitions more than said", add_repetitions,
	  fewer_repetitions_said },
	{ "16d", MIND, "CSEGID", "lines over the maximum", NULL, line_over_maximum },
	{ "16e", MIND, "CSEGID", "lines under the minimum", NULL, line_under_minimum },
	{ "16f", MIND, "SI", "slices over the limits", NULL, slices_over_limits },
	{ "16g", MIND, "E", "contrasts over the limits", NULL, contrasts_over_limits },
	{ "17b", TAKE, "C", "phases innermost, segments outside", add_phases, NULL },
	{ 0 },
};
