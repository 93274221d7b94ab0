/* test/mutate/line_mutations.c - flags, and readouts that are no lines; see mutations.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/mutate/mutations.h"

#define LASTS (FLAG(8) | FLAG(14) | FLAG(25))

static void clear_flags(struct scan *s, uint64_t flags)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->lines[i].head.flags &= ~flags;
}

static void no_flags(struct scan *s)
{
	clear_flags(s, LASTS);
}

static void no_25(struct scan *s)
{
	clear_flags(s, FLAG(25));
}

static void no_14_25(struct scan *s)
{
	clear_flags(s, FLAG(14) | FLAG(25));
}

/* 8 and 14 with each greatest line, in whatever frame. */
static void bruker_flags(struct scan *s)
{
	clear_flags(s, LASTS);
	EACH_IMAGING(s, l)
	l->head.flags |= l->ky + 1 == s->plan.ny ? FLAG(2) | FLAG(8) | FLAG(14) : 0;
}

static void early_8(struct scan *s)
{
	clear_flags(s, LASTS);
	EACH_IMAGING(s, l)
	l->head.flags |= l->ky == s->plan.ny / 2 ? FLAG(8) : 0;
}

static void early_8_14(struct scan *s)
{
	early_8(s);
	EACH_IMAGING(s, l)
	l->head.flags |= (l->head.flags & FLAG(8)) != 0 ? FLAG(14) : 0;
}

/* The last line, with its flags, comes before the two before it. */
static void last_earlier(struct scan *s)
{
	scan_move(s, s->count - 1, s->count - 3);
}

/* Anything but a line, as the one before it in counters. */
static struct line *insert_like(struct scan *s, uint32_t at, uint64_t flags)
{
	const ISMRMRD_EncodingCounters idx = s->lines[at].head.idx;
	const uint32_t n = s->lines[at].head.number_of_samples;
	const uint32_t channels = s->lines[at].head.active_channels;
	struct line *l = scan_insert(s, at, n, channels);

	if (l == NULL)
		exit(1);
	l->head.idx = idx;
	l->head.flags = flags;
	l->head.center_sample = (uint16_t)(n / 2);
	for (uint32_t i = 0; i < n * channels; i++)
		l->data[i] = (float)cos(0.7 * i) + 0.5F;
	return l;
}

static void last_on_navigator(struct scan *s)
{
	(void)insert_like(s, s->count / 2, FLAG(23) | FLAG(25));
}

static struct line *insert_noise(struct scan *s, uint32_t at, uint32_t samples, uint32_t channels,
				 uint64_t flags)
{
	struct line *l = scan_insert(s, at, samples, channels);

	if (l == NULL)
		exit(1);
	l->head.flags = FLAG(19) | flags;
	l->head.center_sample = 0;
	l->head.sample_time_us = 0.0F;
	l->role = ROLE_NOISE;
	/* waves that are orthogonal: the covariance is diagonal, of these deviations */
	for (uint32_t c = 0; c < channels; c++) {
		const double deviation = 0.001 * (c + 1);

		for (uint32_t j = 0; j < samples; j++)
			l->data[c * samples + j] = (float complex)(
				deviation * cexp(2.0 * acos(-1.0) * I * (3 * c + 5) * j / samples));
		if (c < 16 && channels == s->plan.coils)
			s->noise[c] = deviation;
	}
	return l;
}

static void noise_in_front(struct scan *s)
{
	for (int i = 0; i < 2; i++)
		(void)insert_noise(s, 0, 1024, s->plan.coils, 0);
}

static void last_on_noise(struct scan *s)
{
	(void)insert_noise(s, 0, 1024, s->plan.coils, FLAG(25) | FLAG(14) | FLAG(8));
}

static void noise_behind(struct scan *s)
{
	(void)insert_noise(s, s->count, 1024, s->plan.coils, 0);
}

static void noise_between(struct scan *s)
{
	(void)insert_noise(s, s->count / 2, 1024, s->plan.coils, 0);
}

static void noise_of_two_channels(struct scan *s)
{
	(void)insert_noise(s, 0, 1024, 2, 0);
}

static void flag_29(struct scan *s)
{
	EACH_IMAGING(s, l)
	l->head.flags |= FLAG(29);
}

static void flag_21(struct scan *s)
{
	EACH_IMAGING(s, l)
	l->head.flags |= FLAG(21);
}

static void flags_20_21(struct scan *s)
{
	EACH_IMAGING(s, l)
	l->head.flags |= (l->head.flags & FLAG(20)) != 0 ? FLAG(21) : 0;
}

static void flags_20_21_all(struct scan *s)
{
	EACH_IMAGING(s, l)
	l->head.flags |= FLAG(20) | FLAG(21);
}

static void flags_23_28(struct scan *s)
{
	for (uint32_t i = s->count; i > 0; i -= i > 4 ? 4 : i)
		(void)insert_like(s, i - 1, FLAG(23) | FLAG(28));
}

/* Triples as others send them: line 0. */
static void triple_at_0(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->lines[i].role == ROLE_CORRECTION)
			s->lines[i].head.idx.kspace_encode_step_1 = 0;
}

static void triple_in_order(struct scan *s, bool lines_too)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct line *l = &s->lines[i];
		const uint32_t n = l->head.number_of_samples;

		if ((l->head.flags & FLAG(22)) == 0 || (!lines_too && l->role != ROLE_CORRECTION))
			continue;
		l->head.flags &= ~FLAG(22);
		l->head.center_sample = (uint16_t)(n - 1 - l->head.center_sample);
		for (uint32_t c = 0; c < l->head.active_channels; c++)
			for (uint32_t j = 0; j < n / 2; j++) {
				float complex *row = l->data + (size_t)c * n;
				const float complex v = row[j];

				row[j] = row[n - 1 - j];
				row[n - 1 - j] = v;
			}
	}
}

static void triple_not_reversed(struct scan *s)
{
	triple_in_order(s, false);
}

/* Rows come flipped, and nothing is to be corrected. */
static void rows_flipped(struct scan *s)
{
	triple_in_order(s, true);
	for (uint32_t i = s->count; i-- > 0;)
		if (s->lines[i].role == ROLE_CORRECTION)
			scan_remove(s, i);
	EACH_IMAGING(s, l)
	for (uint32_t i = 0;
	     l->ky % 2 == 1 && i < (uint32_t)l->head.number_of_samples * l->head.active_channels;
	     i++)
		l->data[i] *= cexpf(-0.35F * I);
}

static void bipolar(struct plan *p)
{
	p->bipolar = true;
}

static void bipolar_and_early(struct plan *p)
{
	p->bipolar = true;
	p->early = p->nx * p->over / 4;
}

static void available_more(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		s->lines[i].head.available_channels = 32;
		memset(s->lines[i].head.channel_mask, 0, sizeof(s->lines[i].head.channel_mask));
	}
}

static void body_coil_lines(struct scan *s)
{
	for (uint32_t i = s->count; i-- > 0;) {
		struct line *l;

		if (s->lines[i].role != ROLE_IMAGE || s->lines[i].head.active_channels < 3)
			continue;
		l = insert_like(s, i, 0);
		if (!line_resize(l, l->head.number_of_samples, 2))
			exit(1);
	}
}

static void channels_change(struct scan *s)
{
	for (uint32_t i = s->count / 2; i < s->count; i++)
		if (!line_resize(&s->lines[i], s->lines[i].head.number_of_samples,
				 s->plan.coils - 1))
			exit(1);
	s->header.channels[0] = '\0';
	for (uint32_t i = s->count / 2; i < s->count; i++)
		s->frames[s->lines[i].frame].came[s->lines[i].kz * s->plan.ny + s->lines[i].ky] = 0;
	s->lines_refused = s->count - s->count / 2;
}

static void add_reference(struct scan *s, uint64_t flags)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct line *l = scan_insert(s, i, s->plan.nx, s->plan.coils);

		if (l == NULL)
			exit(1);
		l->head.flags = flags;
		l->head.encoding_space_ref = 1;
		l->head.idx.kspace_encode_step_1 = (uint16_t)i;
		l->head.sample_time_us = 8.0F;
		l->head.center_sample = (uint16_t)(s->plan.nx / 2);
		for (uint32_t n = 0; n < s->plan.nx * s->plan.coils; n++)
			l->data[n] = (float)sin(0.3 * n);
	}
}

static void second_encoding(struct scan *s)
{
	const unsigned n = s->plan.nx;

	(void)snprintf(s->header.second, sizeof(s->header.second),
		       "<encoding><encodedSpace><matrixSize><x>%u</x><y>8</y><z>1</z></matrixSize>"
		       "<fieldOfView_mm><x>%u</x><y>%u</y><z>5</z></fieldOfView_mm></encodedSpace>"
		       "<reconSpace><matrixSize><x>%u</x><y>8</y><z>1</z></matrixSize>"
		       "<fieldOfView_mm><x>%u</x><y>%u</y><z>5</z></fieldOfView_mm></reconSpace>"
		       "<encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>7"
		       "</maximum><center>4</center></kspace_encoding_step_1></encodingLimits>"
		       "<trajectory>cartesian</trajectory></encoding>",
		       n, 5 * n, 5 * n, n, 5 * n, 5 * n);
	add_reference(s, FLAG(20));
}

static void reference_without_encoding(struct scan *s)
{
	add_reference(s, FLAG(20));
}

static void lines_of_no_encoding(struct scan *s)
{
	add_reference(s, 0);
}

static void zero_path(struct scan *s)
{
	EACH_IMAGING(s, l)
	{
		l->head.trajectory_dimensions = 3;
		l->path = calloc((size_t)l->head.number_of_samples * 3, sizeof(*l->path));
	}
}

static void compressed(struct scan *s)
{
	EACH_IMAGING(s, l)
	l->head.flags |= FLAG(53);
}

static void first_and_last_of_all(struct scan *s)
{
	EACH_IMAGING(s, l)
	l->head.flags |= 0x3ffffU & ~(uint64_t)LASTS;
}

const struct mutation line_mutations[] = {
	{ "22a", TAKE, "CSEPGIRD", "no flag at all", NULL, no_flags },
	{ "22b", TAKE, "CSEPGIRD", "14 without 25", NULL, no_25 },
	{ "22c", TAKE, "CSEPGIRD", "neither 14 nor 25", NULL, no_14_25 },
	{ "23a", MIND, "CSEPGD", "8 and 14 on each greatest line", NULL, bruker_flags },
	{ "24a", MIND, "CSEPGID", "8 in mid-frame", NULL, early_8 },
	{ "24b", MIND, "CSEPGID", "8 and 14 in mid-frame", NULL, early_8_14 },
	{ "24c", MIND, "CSED", "all other first and last flags on every line", NULL,
	  first_and_last_of_all },
	{ "24d", TAKE, "CSEPGID", "two lines come behind the flagged one", NULL, last_earlier },
	{ "25a", MIND, "CSEPGD", "25 on a navigator", NULL, last_on_navigator },
	{ "25b", MIND, "CSEPGIRD", "25 on noise", NULL, last_on_noise },
	{ "26a", TAKE, "CSEPGID", "29 on imaging lines", NULL, flag_29 },
	{ "27a", TAKE, "CSEPIRD", "21 on all imaging lines", NULL, flag_21 },
	{ "27b", MIND, "G", "20 and 21 together", NULL, flags_20_21 },
	{ "27c", MIND, "CSG", "20 and 21 on all lines", NULL, flags_20_21_all },
	{ "28a", TAKE, "CSEPGID", "23 and 28 together", NULL, flags_23_28 },
	{ "29a", TAKE, "I", "phase-correction lines say line 0", NULL, triple_at_0 },
	{ "29b", MIND, "I", "phase-correction lines without 22", NULL, triple_not_reversed },
	{ "30a", TAKE, "I", "rows flipped, no 22, nothing to correct", NULL, rows_flipped },
	{ "31a", TAKE, "E", "22 on every second echo", bipolar, NULL },
	{ "31b", TAKE, "E", "the same, asymmetric", bipolar_and_early, NULL },
	{ "32a", TAKE, "CSEPGIRD", "noise of 1,024 samples", NULL, noise_in_front },
	{ "32b", TAKE, "CSEPGIRD", "noise behind the lines", NULL, noise_behind },
	{ "32c", TAKE, "CSEPGIRD", "noise between lines", NULL, noise_between },
	{ "33a", MIND, "CSEPGIRD", "noise of another number of channels", NULL,
	  noise_of_two_channels },
	{ "34a", TAKE, "CSEPGIRD", "32 channels available, mask 0", NULL, available_more },
	{ "35a", MIND, "CSED", "lines of 2 channels between", NULL, body_coil_lines },
	{ "36a", REFUSE, "CSD", "the number of channels changes", NULL, channels_change },
	{ "37a", TAKE, "CSEPGID", "a second encoding of calibration", NULL, second_encoding },
	{ "37b", REFUSE, "CSGI", "its lines without the encoding", NULL,
	  reference_without_encoding },
	{ "37c", REFUSE, "CSGI", "the same without a flag", NULL, lines_of_no_encoding },
	{ "40a", MIND, "CSEPGID", "a trajectory of zeros on the grid", NULL, zero_path },
	{ "67a", REFUSE, "CS", "compressed", NULL, compressed },
	{ 0 },
};
