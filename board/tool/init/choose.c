/* board/tool/init/choose.c - see choose.h: what every protocol has, and which kind it is */
#include "board/tool/init/choose.h"

#include <math.h>

#include "core/frame/recon.h"
#include "core/plan/scankey.h"

#define POOL_BYTES   (UINT64_C(256) << 20)
#define SLOTS        512u /* default of node.acq_slots */
#define SLOTS_LEAST  16u
#define DISCARD      64u     /* default of the key discard */
#define DRIFT        0.01    /* largest phase drift in radians without correction: 1 % of a line */
#define ITERATIONS   10000.0 /* the most of key ls.iterations */
#define NOISE_SIGMAS 4.5     /* chance that white noise looks correlated: below 1 in 100,000 */

static void put_number(struct bs_outline *o, const char *path, uint32_t value, const char *why)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", value);
	bs_outline_put(o, path, text, "%s", why);
}

/* Puts the protocol's name: the header's, so that the service finds it, made
 * fit for a file name. */
static void put_name(const struct bs_choice *c)
{
	const char *header = c->survey->info.protocol;
	char name[BS_NAME_MAX];
	char quoted[2 * BS_NAME_MAX + 8];
	size_t n = 0;

	for (; header[n] != '\0' && n + 1 < sizeof(name); n++) {
		const unsigned char x = (unsigned char)header[n];

		name[n] = header[n];
		if (x < 0x20 || x > 0x7e || x == '/' || (n == 0 && x == '.'))
			name[n] = '_';
	}
	name[n] = '\0';
	if (n == 0)
		(void)snprintf(name, sizeof(name), "scan");
	(void)bs_outline_quoted(quoted, sizeof(quoted), name);
	if (n == 0)
		bs_outline_put(c->out, "name", quoted,
			       "what a scan asks for; the recording's header has no protocolName, "
			       "so a sender names it");
	else if (strcmp(name, header) != 0)
		bs_outline_put(c->out, "name", quoted,
			       "the header's protocolName, as far as it can be a file's name");
	else
		bs_outline_put(c->out, "name", quoted,
			       "the header's protocolName: scans that say so need no other name");
}

uint32_t bs_choose_slots(const struct bs_survey *s)
{
	const uint64_t bytes =
		((uint64_t)s->samples.max + s->discarded.max + DISCARD) *
		((uint64_t)s->channels.max * 8 + (s->dims.max > 0 ? s->dims.max * 4 : 0));
	uint32_t slots = SLOTS;

	while (slots > SLOTS_LEAST && slots * bytes > POOL_BYTES)
		slots /= 2;
	return slots == SLOTS ? 0 : slots;
}

/* Returns the number that a counter has: seen in this recording, or promised by the header. */
static uint32_t counted(uint32_t seen, const struct bs_limit *limit)
{
	return limit->given && limit->max + 1 > seen ? limit->max + 1 : seen;
}

static void put_averages(const struct bs_choice *c, bool path)
{
	const struct bs_survey *s = c->survey;
	const uint32_t averages = counted(s->averages, &s->info.average);

	if (averages > 1 && path && !s->repeats)
		bs_outline_say(c->out,
			       "%u averages of each line: each brings a path of its own and makes "
			       "an image of its own",
			       averages);
	else if (averages > 64)
		bs_outline_say(
			c->out,
			"%u averages of each line, more than the 64 that can be summed: each "
			"makes an image of its own",
			averages);
	else if (averages > 1)
		put_number(c->out, "averages", averages,
			   "images are of the mean of each line's averages");
}

/* Puts how many frames are open at once, of slices and contrasts whose lines come in turns. pairs:
 * number of slices and contrasts. */
static void put_turns(const struct bs_choice *c, uint32_t pairs)
{
	const struct bs_survey *s = c->survey;
	const uint32_t *open = s->open;
	uint32_t phases = open[0] == s->phases ? counted(open[0], &s->info.phase) : open[0];
	uint32_t sets = open[1] == s->sets ? counted(open[1], &s->info.set) : open[1];
	const uint32_t repetitions = open[2] > 2 ? open[2] : 2;

	if ((uint64_t)phases * sets * repetitions * pairs > BS_OPEN_MAX) {
		phases = open[0];
		sets = open[1];
	}
	if ((uint64_t)open[0] * open[1] * repetitions * pairs > BS_OPEN_MAX) {
		bs_outline_say(c->out,
			       "%u phases, %u sets and %u repetitions of %u slices and contrasts "
			       "come in turns, more than the %u frames that can be open at once: "
			       "images are partial",
			       open[0], open[1], open[2], pairs, BS_OPEN_MAX);
		return;
	}
	if (open[0] > 1)
		put_number(c->out, "phases", phases, "their lines come in turns");
	if (open[1] > 1)
		put_number(c->out, "sets", sets, "their lines come in turns");
	if (open[2] > 2)
		put_number(c->out, "repetitions", repetitions, "their lines come in turns");
}

/* Returns true if the slices can be groups of so many bands. */
static bool are_groups(uint32_t bands, uint32_t slices)
{
	return bands <= BS_BANDS_MAX && slices % bands == 0;
}

/*
 * Puts the keys of slices at once, where lines of each slice alone may be there, flagged or as a
 * repetition.
 */
static void put_bands(const struct bs_choice *c, uint32_t slices)
{
	const struct bs_survey *s = c->survey;
	const uint32_t bands = s->info.bands;

	if (bands < 2 || !are_groups(bands, slices) || s->channels.max < 2 ||
	    (s->kinds[BS_KIND_CALIBRATION] == 0 && s->repetitions < 2))
		return;
	bs_outline_put(c->out, "parallel", "\"slice_grappa\"",
		       "the header says multiband %u: slices come apart by weights from lines of "
		       "each slice alone",
		       bands);
	put_number(c->out, "multiband.factor", bands, "slices at once");
}

static int put_frames(const struct bs_choice *c, bool path, struct bs_fail *why)
{
	const struct bs_survey *s = c->survey;
	uint32_t slices = counted(s->slices, &s->info.slice);
	uint32_t contrasts = counted(s->contrasts, &s->info.contrast);

	/* the header's limits may promise more than the scan has */
	if ((uint64_t)slices * contrasts > BS_FRAMES_MAX) {
		slices = s->slices;
		contrasts = s->contrasts;
	}
	if ((uint64_t)slices * contrasts > BS_FRAMES_MAX || contrasts > 64)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "%u slices of %u contrasts: a protocol has at most %u of both, and "
			       "64 contrasts",
			       slices, contrasts, BS_FRAMES_MAX);
	if (slices > 1)
		put_number(c->out, "slices", slices, "frames of so many slices are open at once");
	if (!path)
		put_bands(c, slices);
	if (contrasts > 1)
		put_number(c->out, "contrasts", contrasts, "echoes");
	put_averages(c, path);
	put_turns(c, slices * contrasts);
	return 0;
}

static void put_noise(const struct bs_choice *c)
{
	const struct bs_survey *s = c->survey;
	const double sigma = s->noise.samples > 0 ? 1.0 / sqrt((double)s->noise.samples) : 0.0;
	double correlation;
	double ratio;

	if (s->kinds[BS_KIND_NOISE] == 0) {
		if (s->info.noise_scan[0] != '\0')
			bs_outline_off(c->out, "noise.whiten", "\"auto\"",
				       "the header names an earlier scan of noise (%.48s); with "
				       "this the service whitens by it, where that scan came to "
				       "it, too",
				       s->info.noise_scan);
		return;
	}
	if (s->noise.samples == 0 || s->noise.coils != s->channels.max) {
		bs_outline_say(c->out, "the readouts of noise are not used: %s",
			       s->noise_broken ? "they hold values that are not finite"
					       : "they have other channels than the image's lines");
		return;
	}
	bs_survey_noise(s, &correlation, &ratio);
	if (correlation > NOISE_SIGMAS * sigma || ratio > 1.0 + NOISE_SIGMAS * sigma)
		bs_outline_put(c->out, "noise.whiten", "\"auto\"",
			       "by the scan's own noise (readouts: %u): its deviation differs by "
			       "%.2f between coils, and two of them correlate by %.2f",
			       s->noise.readouts, ratio, correlation);
	else
		bs_outline_off(c->out, "noise.whiten", "\"auto\"",
			       "the scan brings noise (readouts: %u), which is the same in all "
			       "coils as far as %llu samples can tell: whitening would change no "
			       "more than the images' scale, to units of the noise",
			       s->noise.readouts, (unsigned long long)s->noise.samples);
}

static void put_navigators(const struct bs_choice *c)
{
	const struct bs_survey *s = c->survey;

	if (s->kinds[BS_KIND_NAVIGATION] == 0)
		return;
	if (s->navigator_samples > s->samples.max + DISCARD)
		bs_outline_say(c->out,
			       "navigators of %u samples are longer than the lines of the image: "
			       "they are not used",
			       s->navigator_samples);
	else if (s->drift > DRIFT)
		bs_outline_put(c->out, "navigators", "\"phase\"",
			       "the navigators' phase drifts by up to %.2f rad; it is taken off "
			       "the lines",
			       s->drift);
	else
		bs_outline_off(c->out, "navigators", "\"phase\"",
			       "the navigators' phase drifts by %.4f rad at most: nothing to take "
			       "off",
			       s->drift);
}

static int refuse_mixed(const struct bs_survey *s, struct bs_fail *why)
{
	if (s->samples.min != s->samples.max)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "lines of the image have %u to %u samples: a protocol has readouts "
			       "of one length",
			       s->samples.min, s->samples.max);
	if (s->channels.min != s->channels.max)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "lines of the image have %u to %u channels: a protocol has one "
			       "number of coils",
			       s->channels.min, s->channels.max);
	if (s->channels.max > BS_COILS_MAX)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "%u channels: a protocol has at most %u coils", s->channels.max,
			       BS_COILS_MAX);
	if (s->info.channels != 0 && s->info.channels < s->channels.max)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "receiverChannels of the header is %u, the readouts have %u",
			       s->info.channels, s->channels.max);
	return 0;
}

/* Says what no protocol can use. */
static void say_unused(const struct bs_choice *c)
{
	const struct bs_survey *s = c->survey;
	static const enum bs_kind unused[] = { BS_KIND_FEEDBACK, BS_KIND_DUMMY, BS_KIND_OTHER };
	const uint64_t others =
		s->left.lines + s->left.calibration + s->left.rest + s->misfit.count;
	char words[BS_ENCODINGS_WORDS];

	if (s->note[0] != '\0')
		bs_outline_say(c->out, "%s", s->note);
	if (s->info.remark[0] != '\0')
		bs_outline_say(c->out, "%s", s->info.remark);
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++) {
		const uint64_t n = s->kinds[unused[i]] - (unused[i] == BS_KIND_OTHER ? others : 0);

		if (n > 0)
			bs_outline_say(c->out, "%llu readouts (%s) are counted and not used",
				       (unsigned long long)n, bs_kind_name(unused[i]));
	}
	if (s->info.channels > s->channels.max)
		bs_outline_say(c->out,
			       "receiverChannels of the header is %u: lines have %u channels, "
			       "which is taken",
			       s->info.channels, s->channels.max);
	if (s->misfit.count > 0)
		bs_outline_say(c->out,
			       "%llu readouts are left out: of %u to %u channels, where the header "
			       "has %u, or empty",
			       (unsigned long long)s->misfit.count, s->misfit.min, s->misfit.max,
			       s->info.channels);
	if (s->astray > 0)
		bs_outline_say(
			c->out,
			"read_dir, phase_dir and slice_dir of %llu readouts are not of length "
			"1: where their images lie is not known, NIfTI and DICOM need it",
			(unsigned long long)s->astray);
	if (s->info.bands > 1 && bs_outline_value(c->out, "multiband.factor") == NULL)
		bs_outline_say(c->out,
			       "the header says multiband %u: lines may hold so many slices at "
			       "once, and nothing takes them apart (parallel = \"slice_grappa\" "
			       "%s): images are partial",
			       s->info.bands,
			       are_groups(s->info.bands, counted(s->slices, &s->info.slice))
				       ? "does, with lines of each slice alone"
				       : "neither: the slices are no such groups");
	if (bs_encodings_words(words, sizeof(words), &s->left, &s->info, false)[0] != '\0')
		bs_outline_say(c->out, "%s", words);
}

/* Puts the keys of coil sensitivities, made from the scan itself. */
static void put_maps(struct bs_outline *o)
{
	bs_outline_put(o, "image.maps", "\"walsh\"", "sensitivities, of the scan itself");
}

/* Puts a solver, whose iterations the scan bounds: ls, or on the grid sense. */
static void put_solver(const struct bs_choice *c, bool grid, uint32_t iterations)
{
	struct bs_outline *o = c->out;

	bs_outline_drop(o, "grappa.lacking");
	bs_outline_drop(o, "gridding.density");
	bs_outline_put(o, grid ? "parallel" : "method", grid ? "\"sense\"" : "\"ls\"",
		       "the scan sets a bound of iterations: it was solved for");
	if (grid)
		put_maps(o);
	put_number(o, "ls.iterations", iterations, "as many as the scan sets: the most it may");
}

/* Puts the keys that the scan's header sets, in a protocol where they have an effect. */
static void put_scan_keys(const struct bs_choice *c, bool grid)
{
	const struct bs_scan_info *info = &c->survey->info;
	const double n = bs_scankey_of(info, BS_SCANKEY_ITERATIONS);
	const bool solves = n >= 1.0 && n <= ITERATIONS && n == floor(n);
	const bool flows = bs_scankey_of(info, BS_SCANKEY_VENC) > 0.0;
	char list[64];

	if (solves)
		put_solver(c, grid, (uint32_t)n);
	if (flows) {
		bs_outline_put(c->out, "image.output", "\"velocity\"", "the scan sets a VENC");
		bs_outline_put(c->out, "image.combine", "\"sense\"", NULL);
		put_maps(c->out);
	}
	(void)snprintf(list, sizeof(list), "[%s%s%s]", solves ? "\"ls.iterations\"" : "",
		       solves && flows ? ", " : "", flows ? "\"image.venc\"" : "");
	if (solves || flows)
		bs_outline_put(c->out, "scan_keys", list,
			       "the recording's header sets them for itself, others may");
}

int bs_choose(const struct bs_choice *c, struct bs_fail *why)
{
	const struct bs_survey *s = c->survey;
	const bool grid = bs_survey_on_grid(s);
	int rc = refuse_mixed(s, why);

	if (rc != 0)
		return rc;
	put_name(c);
	rc = grid ? bs_choose_grid(c, why) : bs_choose_path(c, why);
	if (rc == 0)
		rc = put_frames(c, !grid, why);
	if (rc != 0)
		return rc;
	if (s->discarded.max > DISCARD)
		put_number(c->out, "discard", s->discarded.max,
			   "samples of a readout that are marked as discarded");
	put_noise(c);
	put_navigators(c);
	put_scan_keys(c, grid);
	say_unused(c);
	bs_outline_off(c->out, "budget.image_ms", "50.0",
		       "an image this long after its last readout is late; boreside check "
		       "--measure tells what this machine can promise");
	return 0;
}

static bool is(const struct bs_outline *o, const char *path, const char *value)
{
	const char *has = bs_outline_value(o, path);

	return has != NULL && strcmp(has, value) == 0;
}

bool bs_choose_retreat(const struct bs_choice *c, const struct bs_fail *refused)
{
	struct bs_outline *o = c->out;

	if (refused->code == BS_ERR_CALIBRATION && is(o, "parallel", "\"grappa\"")) {
		bs_outline_drop(o, "parallel");
		bs_outline_say(o,
			       "lines are left out and cannot be made by GRAPPA (%.200s): images "
			       "are folded",
			       refused->text);
		return true;
	}
	if (refused->code == BS_ERR_CALIBRATION && is(o, "parallel", "\"slice_grappa\"")) {
		bs_outline_drop(o, "parallel");
		bs_outline_drop(o, "multiband.factor");
		bs_outline_say(o,
			       "slices at once cannot be taken apart (%.200s): images are partial",
			       refused->text);
		return true;
	}
	if (refused->code == BS_ERR_CALIBRATION && is(o, "epi.correct", "true")) {
		bs_outline_drop(o, "epi.correct");
		bs_outline_say(o, "reversed lines cannot be corrected (%.200s): images have ghosts",
			       refused->text);
		return true;
	}
	if (refused->code == BS_ERR_SIZE && is(o, "navigators", "\"phase\"")) {
		bs_outline_drop(o, "navigators");
		bs_outline_say(o, "navigators cannot be used (%.200s)", refused->text);
		return true;
	}
	if ((refused->code == BS_ERR_TRAJECTORY || refused->code == BS_ERR_INDEX ||
	     refused->code == BS_ERR_SIZE) &&
	    is(o, "trajectory.type", "\"file\"")) {
		bs_outline_put(o, "trajectory.type", "\"stream\"",
			       "each readout brings its own path: those of later frames are not "
			       "the first one's");
		bs_outline_drop(o, "trajectory.file");
		bs_outline_drop(o, "averages");
		return true;
	}
	return false;
}
