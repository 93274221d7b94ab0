/*
 * test/unit/board/tool/init/test_survey.c - what a survey finds in recordings that are made here:
 * frames, lines, paths, noise and navigators, as they are and as they should not be
 */
#define _GNU_SOURCE
#include "board/tool/init/survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mrd.h"
#include "drivers/tool/load/recording.h"
#include "test/support/check.h"

#define SAMPLES  16u
#define CHANNELS 2u
#define LINES    8u

static char dir[] = "/tmp/boreside-survey-XXXXXX";
static char path[64];
static struct bs_recording *out;
static struct bs_survey s;
static struct bs_fail why;
static struct bs_mrd_acq h; /* of the next readout */
static float data[2 * SAMPLES * 80], traj[4 * SAMPLES];

static const char *system_of = ""; /* acquisitionSystemInformation of the header */

static void begin_sized(const char *trajectory, unsigned y, unsigned z)
{
	char xml[2000];

	(void)snprintf(
		xml, sizeof(xml),
		"<ismrmrdHeader><experimentalConditions><H1resonanceFrequency_Hz>64000000"
		"</H1resonanceFrequency_Hz></experimentalConditions>%s<encoding><encodedSpace>"
		"<matrixSize><x>16</x><y>%u</y><z>%u</z></matrixSize><fieldOfView_mm>"
		"<x>200</x><y>200</y><z>5</z></fieldOfView_mm></encodedSpace><reconSpace>"
		"<matrixSize><x>16</x><y>8</y><z>1</z></matrixSize><fieldOfView_mm><x>200</x>"
		"<y>200</y><z>5</z></fieldOfView_mm></reconSpace><encodingLimits>"
		"<kspace_encoding_step_1><minimum>0</minimum><maximum>7</maximum>"
		"<center>4</center></kspace_encoding_step_1></encodingLimits>"
		"<trajectory>%s</trajectory></encoding></ismrmrdHeader>",
		system_of, y, z, trajectory);
	if (bs_recording_create(&out, path, &why) != 0 ||
	    bs_recording_put_xml(out, xml, &why) != 0) {
		printf("# %s\n", why.text);
		exit(1);
	}
	memset(&h, 0, sizeof(h));
	h.version = 1;
	h.number_of_samples = SAMPLES;
	h.active_channels = h.available_channels = CHANNELS;
	h.sample_time_us = 5.0f;
	memset(traj, 0, sizeof(traj));
	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		data[i] = i % 3 == 0 ? 1.0f : 0.5f;
}

static void begin(const char *trajectory)
{
	begin_sized(trajectory, LINES, 1);
}

static void add(uint64_t flags, unsigned line)
{
	h.flags = flags;
	h.idx.kspace_encode_step_1 = (uint16_t)line;
	CHECK(bs_recording_append(out, &h, traj, data, &why) == 0, "a readout %s", why.text);
	h.scan_counter++;
}

static void add_frame(unsigned lines)
{
	for (unsigned i = 0; i < lines; i++)
		add(0, i);
}

static int make(void)
{
	CHECK(bs_recording_close(out, &why) == 0, "the recording is whole %s", why.text);
	bs_survey_free(&s);
	why = (struct bs_fail){ 0 };
	return bs_survey_make(&s, path, &why);
}

static void of_frames(void)
{
	begin("cartesian");
	for (unsigned slice = 0; slice < 2; slice++) {
		h.idx.slice = (uint16_t)slice;
		add_frame(LINES);
	}
	h.idx.repetition = 1;
	for (unsigned slice = 0; slice < 2; slice++) {
		h.idx.slice = (uint16_t)slice;
		add_frame(LINES);
	}
	CHECK(make() == 0 && s.alike && s.frames == 4 && s.slices == 2 && s.repetitions == 2 &&
		      s.first_readouts == LINES && s.first_lines == LINES,
	      "two slices, twice: %u frames", s.frames);
	begin("cartesian");
	add_frame(LINES);
	h.idx.set = 1;
	add_frame(LINES - 1);
	h.idx.phase = 2;
	add_frame(LINES);
	h.idx.average = 1;
	add_frame(LINES);
	CHECK(make() == 0 && !s.alike && s.frames == 4 && s.sets == 2 && s.phases == 3 &&
		      s.averages == 2,
	      "sets, phases and averages are frames, of which one is shorter");
	begin("cartesian");
	for (unsigned i = 0; i < LINES; i++)
		for (unsigned at = 0; at < 6; at++) {
			h.idx.set = (uint16_t)(at % 2);
			h.idx.phase = (uint16_t)(at / 2);
			add(BS_MRD_LAST, i);
		}
	CHECK(make() == 0 && s.alike && s.frames == 6 && s.open[0] == 3 && s.open[1] == 2 &&
		      s.open[2] == 1,
	      "in turns: %u phases, %u sets, %u repetitions", s.open[0], s.open[1], s.open[2]);
	begin("cartesian");
	for (unsigned at = 0; at < 4; at++) {
		h.idx.phase = (uint16_t)at;
		h.idx.repetition = (uint16_t)(at / 2);
		add_frame(LINES);
	}
	CHECK(make() == 0 && s.alike && s.frames == 4 && s.open[0] == 1 && s.open[1] == 1 &&
		      s.open[2] == 1,
	      "one after the other: %u phases, %u repetitions", s.open[0], s.open[2]);
	/* the header promises lines 1 to 8 of 10, as it has the center */
	begin_sized("cartesian", LINES + 2, 1);
	add_frame(LINES);
	h.idx.repetition = 1;
	add_frame(LINES + 1);
	h.idx.repetition = 2;
	add_frame(LINES - 1);
	CHECK(make() == 0 && !s.alike && s.beyond && !bs_survey_promised(&s, s.present) &&
		      bs_survey_lines(&s, s.present) == LINES + 1,
	      "one more than the header promises, in one frame: all wait for %u",
	      bs_survey_lines(&s, s.present));
	begin("cartesian");
	add_frame(LINES);
	add(0, 3); /* once more */
	add(0, LINES + 1);
	h.idx.kspace_encode_step_2 = 1;
	add(0, 2);
	CHECK(make() == 0 && s.first_lines == LINES && s.first_readouts == LINES + 3 &&
		      s.outside == 2,
	      "a line that came twice, and two that are off the grid");
	begin("cartesian");
	add(BS_MRD_IS_CALIBRATION, 3);
	add(BS_MRD_IS_CALIBRATION_TOO, 4);
	add(BS_MRD_IS_REVERSE, 5);
	add(BS_MRD_IS_CALIBRATION, LINES);
	add(BS_MRD_IS_DUMMY, 0);
	h.encoding_space_ref = 1;
	h.active_channels = 1;
	add(0, 6);
	CHECK(make() == 0 && s.calibrates[3] == 1 && s.present[3] == 0 && s.calibrates[4] == 1 &&
		      s.present[4] == 1 && s.reversed == 1 && s.calibrates_too == 1 &&
		      s.outside == 1 && s.kinds[BS_KIND_DUMMY] == 1 && s.left.lines == 0 &&
		      s.channels.min == 1 && s.channels.max == CHANNELS && s.readouts == 6,
	      "lines that calibrate, run backwards, are of an encoding that is not there");
}

/* Channels of lines, where receiverChannels is 4. */
static void of_channels(void)
{
	system_of = "<acquisitionSystemInformation><receiverChannels>4</receiverChannels>"
		    "</acquisitionSystemInformation>";
	begin("cartesian");
	h.active_channels = h.available_channels = 4;
	add(BS_MRD_IS_NOISE, 0);
	h.active_channels = CHANNELS;
	add_frame(LINES);
	CHECK(make() == 0 && s.coils == CHANNELS && s.channels.min == CHANNELS &&
		      s.channels.max == CHANNELS && s.misfit.count == 0 && s.first_lines == LINES,
	      "fewer, all alike: they are lines (%s)", why.text);
	begin("cartesian");
	for (unsigned i = 0; i < 2 * LINES; i++) {
		h.active_channels = h.available_channels = i % 2 == 0 ? 1 : 4;
		add(0, i / 2);
	}
	CHECK(make() == 0 && s.coils == 4 && s.misfit.count == LINES && s.first_lines == LINES,
	      "a body coil's between the array's are none");
	begin("cartesian");
	for (unsigned i = 0; i < LINES; i++) {
		h.active_channels = h.available_channels = i % 2 == 0 ? 1 : 2;
		add(0, i);
	}
	CHECK(make() == BS_ERR_UNSUPPORTED && strstr(why.text, "receiverChannels") != NULL,
	      "fewer, and not alike: %s", why.text);
	begin("cartesian");
	h.active_channels = h.available_channels = 5;
	add_frame(LINES);
	CHECK(make() == BS_ERR_UNSUPPORTED && strstr(why.text, "receiverChannels") != NULL,
	      "more: %s", why.text);
	h.active_channels = h.available_channels = CHANNELS;
	system_of = "";
}

static void of_sizes(void)
{
	begin_sized("cartesian", 0, 1);
	add_frame(2);
	CHECK(make() == BS_ERR_SIZE && strstr(why.text, "16 x 0 x 1"), "%s", why.text);
	begin_sized("cartesian", LINES, 60000);
	add_frame(2);
	CHECK(make() == BS_ERR_SIZE && strstr(why.text, "60000"), "%s", why.text);
	begin("cartesian");
	add(BS_MRD_IS_NOISE, 0);
	CHECK(make() == BS_ERR_SIZE && strstr(why.text, "none of its 1 readouts"), "%s", why.text);
	begin("cartesian");
	add(0, 0);
	h.discard_pre = 3;
	h.discard_post = 2;
	add(0, 1);
	h.discard_pre = SAMPLES;
	h.discard_post = 0;
	add(0, 2);
	CHECK(make() == 0 && s.samples.min == SAMPLES - 5 && s.samples.max == SAMPLES &&
		      s.discarded.max == 5 && s.first_readouts == 2,
	      "discarded samples, and a readout of which nothing is left");
	begin("cartesian");
	add(0, 0);
	h.discard_pre = SAMPLES;
	h.discard_post = 1;
	add(0, 1);
	CHECK(make() == BS_ERR_SIZE && strstr(why.text, "acquisition 1: 16 samples, 16 + 1"), "%s",
	      why.text);
	CHECK(unlink(path) == 0 && bs_survey_make(&s, path, &why) != 0, "no recording: %s",
	      why.text);
}

/* A spoke of this angle; bent: its samples leave the line. */
static void spoke(double angle, unsigned dims, bool bent)
{
	h.trajectory_dimensions = (uint16_t)dims;
	for (unsigned i = 0; i < SAMPLES; i++) {
		const double r = ((double)i - SAMPLES / 2) / SAMPLES;
		const double turn = bent ? angle + r : angle;

		traj[i * dims] = (float)(r * cos(turn));
		if (dims > 1)
			traj[i * dims + 1] = (float)(r * sin(turn));
		for (unsigned a = 2; a < dims; a++)
			traj[i * dims + a] = 0.25f;
	}
}

static void add_spokes(unsigned n, double from)
{
	for (unsigned i = 0; i < n; i++) {
		spoke(from + 0.3 * i, 2, false);
		add(0, i);
	}
}

static void of_paths(void)
{
	begin("radial");
	add_spokes(4, 0.0);
	h.idx.repetition = 1;
	add_spokes(4, 0.0);
	CHECK(make() == 0 && s.repeats && s.path_frame == 4 && s.bend < 1e-3 &&
		      fabs(s.reach[0] - 0.5) < 1e-6 && s.dims.max == 2,
	      "spokes, twice the same");
	begin("radial");
	add_spokes(4, 0.0);
	h.idx.repetition = 1;
	add_spokes(4, 0.1);
	CHECK(make() == 0 && !s.repeats && s.alike, "and once others");
	begin("radial");
	add_spokes(2, 0.0);
	h.idx.repetition = 1;
	add_spokes(2, 0.0);
	h.idx.repetition = 0;
	add_spokes(2, 0.0);
	CHECK(make() == 0 && !s.repeats, "a first frame in two pieces is no table");
	for (unsigned i = 0; i < 5; i++) { /* each counter by itself makes another image */
		begin("radial");
		h.idx.slice = i == 0;
		h.idx.contrast = i == 1;
		h.idx.set = i == 2;
		h.idx.phase = i == 3;
		h.idx.average = i == 4;
		add_spokes(2, 0.0);
		CHECK(make() == 0 && s.path_frame == 0 && !s.repeats,
		      "a recording without a first frame has no table (%u)", i);
	}
	begin("spiral");
	spoke(0.0, 2, true);
	add(0, 0);
	CHECK(make() == 0 && s.bend > 0.1, "a path that is bent: %g", s.bend);
	begin("radial");
	spoke(0.4, 3, false);
	add(0, 0);
	CHECK(make() == 0 && s.bend < 1e-3 && fabs(s.reach[2] - 0.25) < 1e-6,
	      "a third component, of which a 2D scan uses nothing");
	begin("radial");
	spoke(0.4, 4, false);
	add(0, 0);
	CHECK(make() == 0 && s.dims.max == 4 && s.bend < 1e-3, "a fourth");
	begin("radial");
	spoke(0.0, 1, false);
	add(0, 0);
	CHECK(make() == 0 && s.dims.max == 1 && s.reach[1] == 0.0, "one alone");
	begin("radial");
	h.trajectory_dimensions = 2;
	add(0, 0);
	CHECK(make() == 0 && s.bend == 0.0 && s.reach[0] == 0.0, "a path that stays at the center");
}

static void of_noise(void)
{
	double correlation;
	double ratio;

	begin("cartesian");
	add_frame(LINES);
	CHECK(make() == 0 && (bs_survey_noise(&s, &correlation, &ratio), correlation == 0.0) &&
		      ratio == 1.0,
	      "a scan without noise");
	begin("cartesian");
	add(BS_MRD_IS_NOISE, 0);
	h.active_channels = 1;
	add(BS_MRD_IS_NOISE, 0);
	h.active_channels = h.available_channels = 70;
	add(BS_MRD_IS_NOISE, 0);
	h.active_channels = h.available_channels = CHANNELS;
	h.sample_time_us = 10.0f;
	add(BS_MRD_IS_NOISE, 0);
	h.sample_time_us = 5.0f;
	data[0] = NAN;
	add(BS_MRD_IS_NOISE, 0);
	data[0] = 1.0f;
	add_frame(LINES);
	CHECK(make() == 0 && s.noise.readouts == 1 && s.noise.coils == CHANNELS &&
		      s.noise_others == 4 && s.kinds[BS_KIND_NOISE] == 5,
	      "of five readouts of noise four do not fit the first: %u", s.noise_others);
	bs_survey_noise(&s, &correlation, &ratio);
	CHECK(correlation > 0.5 && correlation <= 1.0 + 1e-9 && ratio >= 1.0,
	      "coils with nearly the same noise: %g", correlation);
	begin("cartesian");
	memset(data + 2 * SAMPLES, 0, 2 * SAMPLES * sizeof(*data));
	add(BS_MRD_IS_NOISE, 0);
	add_frame(LINES);
	CHECK(make() == 0 && (bs_survey_noise(&s, &correlation, &ratio), isinf(ratio)) &&
		      correlation == 1.0,
	      "a coil that is silent");
}

static void turn(double angle)
{
	for (unsigned i = 0; i < SAMPLES * CHANNELS; i++) {
		data[2 * i] = (float)cos(angle);
		data[2 * i + 1] = (float)sin(angle);
	}
}

static void of_navigators(void)
{
	begin("cartesian");
	turn(0.0);
	add(BS_MRD_IS_NAVIGATION, 0);
	add_frame(LINES);
	turn(0.2);
	add(BS_MRD_IS_NAVIGATION, 0);
	h.idx.contrast = 1;
	turn(1.0); /* another echo's is not measured against the first one's */
	add(BS_MRD_IS_NAVIGATION, 0);
	h.idx.contrast = 0;
	h.idx.slice = 1;
	turn(2.0); /* nor another slice's */
	add(BS_MRD_IS_NAVIGATION, 0);
	turn(2.1);
	add(BS_MRD_IS_NAVIGATION, 0);
	h.idx.slice = 0;
	turn(3.0);
	h.number_of_samples = SAMPLES / 2; /* nor one of another length */
	add(BS_MRD_IS_NAVIGATION, 0);
	h.number_of_samples = SAMPLES;
	h.active_channels = 1; /* nor of other coils */
	add(BS_MRD_IS_NAVIGATION, 0);
	CHECK(make() == 0 && fabs(s.drift - 0.2) < 1e-5 && s.navigator_samples == SAMPLES &&
		      s.kinds[BS_KIND_NAVIGATION] == 7,
	      "the phase drifts by 0.2: %g", s.drift);
}

int main(void)
{
	if (mkdtemp(dir) == NULL)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/made.h5", dir);
	of_frames();
	of_channels();
	of_sizes();
	of_paths();
	of_noise();
	of_navigators();
	bs_survey_free(&s);
	(void)unlink(path);
	CHECK(rmdir(dir) == 0, "nothing else is left behind");
	return check_done();
}
