/*
 * board/tool/init/choose_grid.c - see choose.h: lines of a grid, and what a scan leaves out of
 * it
 */
#include "board/tool/init/choose.h"

#include <stdlib.h>
#include <string.h>

#include "core/frame/recon.h"

static const char axes[] = "xyz";

/* Lines of the first frame, with those calibration lines that are image lines, too. */
struct lines {
	uint32_t count;
	uint32_t first[2], last[2]; /* first and last line along y and z */
	/* lines missing between first and last in partitions that have any */
	uint32_t left_out;
	bool by_header;    /* the header tells the number of lines */
	uint32_t readouts; /* a frame waits for so many; 0: for what the header tells */
	/* bits of axes whose center is not known (core/frame/center.h) */
	uint32_t unknown;
	bool embeds;
};

/* Returns the oversampling that readouts have beyond encodedSpace of the header. */
static uint32_t oversampling(const struct bs_survey *s)
{
	return bs_readout_oversampling(s->samples.max, s->info.encoded[0]);
}

static int put_sizes(const struct bs_choice *c, struct bs_fail *why)
{
	const struct bs_survey *s = c->survey;
	const uint32_t times = oversampling(s);
	const uint32_t *header = s->info.encoded;
	const uint32_t encoded[3] = { header[0] * times, header[1], header[2] };
	uint32_t matrix[3];
	char text[64];

	if (times == 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "readouts have %u samples, encodedSpace of the header %u along x: "
			       "not a whole number of times as many, as oversampling is",
			       s->samples.max, header[0]);
	if (2 * s->samples.max <= encoded[0])
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "readouts have %u samples, no more than half of encodedSpace's %u "
			       "along x",
			       s->samples.max, encoded[0]);
	for (int a = 0; a < 3; a++) {
		matrix[a] = bs_choose_kept(s, a, a == 0 ? times : 1);
		if (matrix[a] > BS_AXIS_MAX)
			return bs_fail(why, BS_ERR_UNSUPPORTED,
				       "an image of %u voxels along %c: at most %u", matrix[a],
				       axes[a], BS_AXIS_MAX);
	}
	bs_outline_put(c->out, "method", "\"cartesian\"", "lines of a grid: FFT");
	(void)snprintf(text, sizeof(text), "[%u, %u, %u]", matrix[0], matrix[1], matrix[2]);
	bs_outline_put(c->out, "matrix", text,
		       "voxels: what reconSpace of the header keeps of encodedSpace; the field of "
		       "view is the header's");
	(void)snprintf(text, sizeof(text), "[%u, %u, %u]", encoded[0], encoded[1], encoded[2]);
	bs_outline_put(c->out, "encoded", text,
		       times > 1 ? "encodedSpace, and the oversampling that the samples "
				   "of readouts tell"
				 : "encodedSpace, readout oversampling included");
	if (encoded[2] > 1 && matrix[2] == 1)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "encodedSpace has %u partitions, reconSpace keeps one", encoded[2]);
	bs_choose_image(c, matrix);
	return 0;
}

/* True if readouts lack samples after k = 0 or on both sides; these are filled with zeros. */
static bool is_filled(const struct bs_survey *s)
{
	const uint32_t x = s->info.encoded[0] * oversampling(s);

	return s->samples.max + 2 < x && s->reversed == 0 && s->middle.count > 0 &&
	       s->middle.min == s->middle.max && s->middle.min <= x / 2 &&
	       s->samples.max - s->middle.min < x - x / 2;
}

static void put_readout(const struct bs_choice *c)
{
	const struct bs_survey *s = c->survey;
	const bool filled = is_filled(s);
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", s->channels.max);
	bs_outline_put(c->out, "coils", text, NULL);
	(void)snprintf(text, sizeof(text), "%u",
		       filled ? s->info.encoded[0] * oversampling(s) : s->samples.max);
	bs_outline_put(c->out, "samples", text,
		       filled ? "of a whole readout: lines have fewer, and not those behind k = 0; "
				"these are zeros"
			      : "of a readout, discarded ones not counted");
}

static void look_at(struct lines *l, const struct bs_survey *s)
{
	const uint32_t rows = s->size[0] * s->size[1];
	uint8_t *present = calloc(rows, 1);
	bool any = false;

	memset(l, 0, sizeof(*l));
	if (present == NULL)
		return;
	l->embeds = bs_survey_embeds(s);
	for (uint32_t row = 0; row < rows; row++) {
		const uint32_t at[2] = { row % s->size[0], row / s->size[0] };

		present[row] = s->present[row] || (l->embeds && s->calibrates[row]);
		if (!present[row])
			continue;
		l->count++;
		for (int i = 0; i < 2; i++) {
			if (!any || at[i] < l->first[i])
				l->first[i] = at[i];
			if (!any || at[i] > l->last[i])
				l->last[i] = at[i];
		}
		any = true;
	}
	for (uint32_t z = l->first[1]; any && z <= l->last[1]; z++)
		for (uint32_t y = l->first[0]; y <= l->last[0]; y++)
			l->left_out += present[y + s->size[0] * z] == 0;
	l->unknown = bs_center_unknown(&s->center, s->size, present, s->strongest);
	l->by_header = bs_survey_promised(s, present);
	l->readouts = bs_survey_lines(s, present);
	free(present);
}

/* True if three neighbors around the center came, more than any pattern has: they
 * calibrate without a flag. */
static bool has_center(const struct bs_survey *s, const uint8_t *came)
{
	const uint32_t middle = s->size[0] / 2 + s->size[0] * (s->size[1] / 2);
	const uint32_t step = s->info.acceleration[0] > 1 ? 1 : s->size[0];

	return middle >= step && middle + step < s->size[0] * s->size[1] &&
	       came[middle - step] != 0 && came[middle] != 0 && came[middle + step] != 0;
}

/* Puts how lines are made that are missing between others. */
static void put_parallel(const struct bs_choice *c, const struct lines *l)
{
	const struct bs_survey *s = c->survey;
	const uint32_t *r = s->info.acceleration;
	uint32_t calibrates = 0;

	if (l->left_out == 0)
		return;
	for (uint32_t row = 0; row < s->size[0] * s->size[1]; row++)
		calibrates += s->calibrates[row];
	if (calibrates > 0 && s->channels.max > 1) {
		bs_outline_put(c->out, "parallel", "\"grappa\"",
			       "accelerated (by the header %u x %u): lines that are left out are "
			       "made from their neighbors, by weights from %u lines of calibration",
			       r[0] > 0 ? r[0] : 1, r[1] > 0 ? r[1] : 1, calibrates);
		return;
	}
	if (s->info.calibration == BS_CALIBRATION_INTERLEAVED && s->channels.max > 1 &&
	    !has_center(s, s->present) && has_center(s, s->together)) {
		bs_outline_put(
			c->out, "parallel", "\"grappa\"",
			"accelerated %u x %u, each repetition with other lines: what is left "
			"out is made by weights from the lines of several",
			r[0] > 0 ? r[0] : 1, r[1] > 0 ? r[1] : 1);
		bs_outline_put(c->out, "grappa.lacking", "\"zeros\"",
			       "the first repetition leaves before there are any: it is partial");
		return;
	}
	if ((r[0] > 1 || r[1] > 1) && s->channels.max > 1 && has_center(s, s->present))
		bs_outline_put(c->out, "parallel", "\"grappa\"",
			       "accelerated (by the header %u x %u): lines that are left out are "
			       "made from their neighbors, by weights from the lines in the middle",
			       r[0] > 0 ? r[0] : 1, r[1] > 0 ? r[1] : 1);
	else if (r[0] > 1 || r[1] > 1)
		bs_outline_say(c->out,
			       "accelerated %u x %u, and %s: images are folded. An earlier scan of "
			       "the study may bring maps (image: { maps = \"study\"; }, parallel = "
			       "\"sense\")",
			       r[0] > 0 ? r[0] : 1, r[1] > 0 ? r[1] : 1,
			       s->channels.max > 1 ? "no line of calibration came"
						   : "one coil cannot tell what is folded");
	else
		bs_outline_say(c->out,
			       "%u lines between those that came are left out, the header says no "
			       "acceleration, and no line of calibration came: they are zeros",
			       l->left_out);
}

/* True if one side of the center reaches farther than the other by more than slack. */
static bool lopsided(uint32_t size, uint32_t first, uint32_t last, uint32_t slack, bool *too_far)
{
	const int64_t below = (int64_t)(size / 2) - first;
	const int64_t above = (int64_t)last - size / 2 + 1;
	const int64_t shorter = below < above ? below : above;

	if (size == 1 || llabs(below - above) <= 1 + (int64_t)slack)
		return false;
	*too_far = *too_far || shorter < 4;
	return true;
}

static void put_center(const struct bs_choice *c, const struct lines *l)
{
	const struct bs_survey *s = c->survey;
	char words[BS_OUTLINE_WORDS];

	if (bs_center_words(words, sizeof(words), &s->center)[0] != '\0')
		bs_outline_say(c->out, "the center of k-space is %s", words);
	if (l->unknown != 0)
		bs_outline_say(c->out, "partial Fourier: %s",
			       bs_center_unknown_words(words, sizeof(words), &s->center, s->size,
						       l->unknown, s->strongest));
}

static void put_partial(const struct bs_choice *c, const struct lines *l)
{
	const struct bs_survey *s = c->survey;
	const uint32_t x = s->info.encoded[0] * oversampling(s);
	bool too_far = false;
	bool along[3];

	along[0] = s->samples.max + 2 < x && !is_filled(s);
	for (int i = 0; i < 2; i++) {
		const uint32_t r = s->info.acceleration[i];

		along[1 + i] = lopsided(s->size[i], l->first[i], l->last[i],
					r > 1             ? r
					: l->left_out > 0 ? 3
							  : 0,
					&too_far);
	}
	if (along[0] && s->samples.max - x / 2 < 4)
		too_far = true;
	if (!along[0] && !along[1] && !along[2])
		return;
	if (too_far)
		bs_outline_say(c->out,
			       "one side of k-space is missing all but wholly (%s%s%s): too "
			       "little for a phase, it is zeros",
			       along[0] ? "x" : "", along[1] ? "y" : "", along[2] ? "z" : "");
	else
		bs_outline_put(c->out, "partial_fourier", "\"pocs\"",
			       "one end of k-space is left out along %s%s%s: it is filled by "
			       "projections with the phase of the center",
			       along[0] ? "x" : "", along[1] ? "y" : "", along[2] ? "z" : "");
}

static void put_readouts(const struct bs_choice *c, const struct lines *l)
{
	const bool alike = c->survey->alike;
	char text[16];

	if (l->by_header) {
		bs_outline_put(c->out, "readouts", "\"header\"",
			       "of a frame: the header's limits and acceleration tell (%u here)",
			       l->count);
		return;
	}
	if (l->readouts == 0 && !alike) {
		bs_outline_put(c->out, "readouts", "\"header\"", "of a frame");
		bs_outline_say(c->out, "frames have different numbers of lines, and not those that "
				       "the header promises: images are partial, and say so");
		return;
	}
	(void)snprintf(text, sizeof(text), "%u", l->readouts);
	bs_outline_put(c->out, "readouts", text,
		       "of %s frame, as they came; the header's limits "
		       "and acceleration tell another number",
		       alike ? "a" : "the longest");
	bs_outline_say(c->out,
		       "%s frame has %u lines, the header promises others: a frame ends with "
		       "that number",
		       alike ? "each" : "the longest", l->readouts);
}

static void put_echoes(const struct bs_choice *c)
{
	const struct bs_survey *s = c->survey;
	const bool ramps = bs_admit_ramps(&s->info);

	if (s->reversed == 0 && !ramps)
		return;
	if (s->kinds[BS_KIND_PHASE_CORRECTION] >= 3)
		bs_outline_put(c->out, "epi.correct", "true",
			       "reversed lines get the phase and shift that three phase-correction "
			       "lines of their slice tell%s",
			       ramps ? "; readouts on ramps are brought to the grid" : "");
	else if (ramps)
		bs_outline_put(
			c->out, "epi.correct", "true",
			"readouts on ramps, as the header describes, are brought to the grid");
	else
		bs_outline_say(c->out,
			       "%llu lines run backwards and no phase-correction lines came: they "
			       "are turned, but ghosts of an EPI would stay",
			       (unsigned long long)s->reversed);
}

int bs_choose_grid(const struct bs_choice *c, struct bs_fail *why)
{
	struct lines l;
	int rc = put_sizes(c, why);

	if (rc != 0)
		return rc;
	put_readout(c);
	look_at(&l, c->survey);
	put_readouts(c, &l);
	put_parallel(c, &l);
	put_partial(c, &l);
	put_center(c, &l);
	put_echoes(c);
	if (c->survey->outside > 0)
		bs_outline_say(c->out,
			       "%llu readouts lie outside of the encoded grid by the header's "
			       "limits: the service will refuse them",
			       (unsigned long long)c->survey->outside);
	return 0;
}
