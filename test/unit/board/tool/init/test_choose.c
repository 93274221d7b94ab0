/* test/unit/board/tool/init/test_choose.c - which protocol for which recording, by made surveys */
#define _XOPEN_SOURCE 700 /* M_PI */
#include "board/tool/init/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/check.h"

static struct bs_survey s;
static struct bs_outline o;
static uint8_t present[64 * 32], calibrates[64 * 32];
static struct bs_fail why;

/* A plain scan of 64 lines of 128 samples, 4 coils. */
static void grid(void)
{
	memset(&s, 0, sizeof(s));
	memset(present, 0, sizeof(present));
	memset(calibrates, 0, sizeof(calibrates));
	s.present = present;
	s.calibrates = calibrates;
	memcpy(s.info.encoded, (uint32_t[]){ 128, 64, 1 }, sizeof(s.info.encoded));
	memcpy(s.info.recon, (uint32_t[]){ 64, 64, 1 }, sizeof(s.info.recon));
	for (int a = 0; a < 3; a++) {
		s.info.encoded_fov_mm[a] = a == 0 ? 400.0f : 200.0f;
		s.info.fov_mm[a] = 200.0f;
	}
	(void)strcpy(s.info.trajectory_name, "cartesian");
	s.info.encodings = 1;
	s.samples = (struct bs_range){ 128, 128, 64 };
	s.channels = (struct bs_range){ 4, 4, 64 };
	s.slices = s.contrasts = s.averages = s.repetitions = s.sets = s.phases = 1;
	s.size[0] = 64;
	s.size[1] = 1;
	s.alike = s.repeats = true;
	memset(present, 1, 64);
	s.frames = 1;
	s.first_readouts = s.first_lines = 64;
	s.center = (struct bs_center){ .line = { 32, 0 },
				       .header = { 32, 0 },
				       .told = { true, true } };
}

/* Spokes of 64 samples, 2D, 3 coils. */
static void paths(double reach)
{
	grid();
	(void)strcpy(s.info.trajectory_name, "radial");
	memcpy(s.info.encoded, (uint32_t[]){ 32, 32, 1 }, sizeof(s.info.encoded));
	memcpy(s.info.recon, s.info.encoded, sizeof(s.info.recon));
	s.info.encoded_fov_mm[0] = s.info.encoded_fov_mm[1] = 200.0f;
	s.samples.min = s.samples.max = 64;
	s.dims = (struct bs_range){ 2, 2, 50 };
	s.reach[0] = s.reach[1] = reach;
	s.path_frame = s.first_readouts = 50;
}

static int choose(void)
{
	const struct bs_choice c = { &s, "/data/scan.h5", &o };

	memset(&o, 0, sizeof(o));
	why.code = 0;
	return bs_choose(&c, &why);
}

static bool has(const char *path, const char *value)
{
	const char *is = bs_outline_value(&o, path);

	return is != NULL && strcmp(is, value) == 0;
}

static bool said(const char *words)
{
	for (uint32_t i = 0; i < o.says; i++)
		if (strstr(o.said[i], words) != NULL)
			return true;
	return false;
}

static void of_lines(void)
{
	grid();
	CHECK(choose() == 0 && has("method", "\"cartesian\"") && has("matrix", "[64, 64, 1]") &&
		      has("readouts", "\"header\"") && o.says == 0,
	      "a plain scan");
	CHECK(bs_outline_value(&o, "parallel") == NULL &&
		      bs_outline_value(&o, "partial_fourier") == NULL &&
		      bs_outline_value(&o, "image.matrix") == NULL,
	      "and no more");
	(void)strcpy(s.info.protocol, "a/b \x80");
	CHECK(choose() == 0 && has("name", "\"a_b _\""), "a name that can be a file's");
	s.info.protocol[0] = '\0';
	CHECK(choose() == 0 && has("name", "\"scan\""), "no name");

	memset(s.info.fov_mm, 0, sizeof(s.info.fov_mm));
	CHECK(choose() == 0 && has("matrix", "[64, 64, 1]"), "by the matrices, without a FOV");
	grid();
	memcpy(s.info.recon, (uint32_t[]){ 96, 96, 1 }, sizeof(s.info.recon));
	CHECK(choose() == 0 && has("matrix", "[64, 64, 1]") && has("image.matrix", "[96, 96, 1]"),
	      "a larger image of the same field of view");
	s.info.fov_mm[1] = 150.0f;
	CHECK(choose() == 0 && has("matrix", "[64, 48, 1]"), "phase oversampling is cut off");

	grid();
	for (int y = 0; y < 64; y += 2)
		present[y] = 0;
	memset(present + 24, 1, 16);
	memset(calibrates + 24, 1, 16);
	CHECK(choose() == 0 && has("parallel", "\"grappa\"") && has("readouts", "40"),
	      "lines left out that the header does not tell of: counted (%s)",
	      bs_outline_value(&o, "readouts"));
	s.alike = false;
	CHECK(choose() == 0 && has("readouts", "\"header\"") && said("different numbers"),
	      "frames that differ");
	grid();
	for (int y = 0; y < 64; y += 2)
		present[y] = 0;
	CHECK(choose() == 0 && bs_outline_value(&o, "parallel") == NULL &&
		      said("no line of calibration"),
	      "nothing to calibrate by");
}

static void of_ends(void)
{
	grid();
	memset(present + 50, 0, 14);
	CHECK(choose() == 0 && has("partial_fourier", "\"pocs\"") && has("readouts", "50"),
	      "one end left out, which the header does not tell");
	memset(present, 0, 14);
	CHECK(choose() == 0 && bs_outline_value(&o, "partial_fourier") == NULL,
	      "both ends: a coarser scan");
	grid();
	memset(present + 33, 0, 31);
	CHECK(choose() == 0 && bs_outline_value(&o, "partial_fourier") == NULL &&
		      said("too little for a phase"),
	      "half of it");
	grid();
	s.samples.min = s.samples.max = 96;
	CHECK(choose() == 0 && has("partial_fourier", "\"pocs\""), "an asymmetric echo");
	s.samples.min = s.samples.max = 64;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "half of encodedSpace"),
	      "half an echo: %s", why.text);
	s.samples.max = 96;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "64 to 96 samples"), "%s",
	      why.text);
	grid();
	s.info.channels = 2;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "receiverChannels"), "%s",
	      why.text);
	s.info.channels = 8;
	CHECK(choose() == 0 && has("coils", "4") && said("receiverChannels of the header is 8"),
	      "a receiver that has more: %s", why.text);
	grid();
	s.reversed = 32;
	s.kinds[BS_KIND_PHASE_CORRECTION] = 3;
	s.info.slice = (struct bs_limit){ 0, 11, 0, 1 };
	s.averages = 2;
	CHECK(choose() == 0 && has("epi.correct", "true") && has("slices", "12") &&
		      has("averages", "2"),
	      "EPI; slices that the header promises; averages");
	why.code = BS_ERR_CALIBRATION;
	CHECK(bs_choose_retreat(&(struct bs_choice){ &s, "", &o }, &why) &&
		      bs_outline_value(&o, "epi.correct") == NULL && said("ghosts") &&
		      !bs_choose_retreat(&(struct bs_choice){ &s, "", &o }, &why),
	      "triples that are no triples: without, and then no more");
	grid();
	s.outside = 3;
	CHECK(choose() == 0 && said("outside of the encoded grid"), "lines off the grid are said");
	s.slices = 600;
	CHECK(choose() == BS_ERR_UNSUPPORTED, "%s", why.text);
}

static void of_paths(void)
{
	static const struct {
		double reach;
		const char *unit; /* NULL: the default */
	} units[] = { { 0.5, NULL },
		      { 0.4, NULL },
		      { M_PI, "\"rad/voxel\"" },
		      { 16.0, "\"cycles/fov\"" },
		      { 2.0 * M_PI * 80.0, "\"rad/m\"" },
		      { 80.0, "\"1/m\"" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const char *unit;

		paths(units[i].reach);
		CHECK(choose() == 0, "a reach of %g: %s", units[i].reach, why.text);
		unit = bs_outline_value(&o, "trajectory.unit");
		CHECK((units[i].unit == NULL) == (unit == NULL) &&
			      (unit == NULL || strcmp(unit, units[i].unit) == 0) &&
			      said("does not say the trajectory's unit"),
		      "is taken for %s", unit != NULL ? unit : "cycles/voxel");
	}
	paths(1e6);
	CHECK(choose() == BS_ERR_UNSUPPORTED, "%s", why.text);
	paths(0.51);
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "cycles/voxel fits best"), "%s",
	      why.text);
	paths(0.5);
	(void)strcpy(s.info.trajectory_unit, "cycles/voxel");
	CHECK(choose() == 0 && o.says == 0 && has("trajectory.type", "\"file\"") &&
		      has("trajectory.file", "\"/data/scan.h5\"") && has("readouts", "50") &&
		      has("gridding.density", "\"ramp\""),
	      "spokes: the header says the unit");
	why.code = BS_ERR_TRAJECTORY;
	CHECK(bs_choose_retreat(&(struct bs_choice){ &s, "", &o }, &why) &&
		      has("trajectory.type", "\"stream\"") &&
		      bs_outline_value(&o, "trajectory.file") == NULL &&
		      !bs_choose_retreat(&(struct bs_choice){ &s, "", &o }, &why),
	      "where the table does not hold: a stream, and then no more");
	s.repeats = false;
	s.bend = 0.5;
	CHECK(choose() == 0 && has("trajectory.type", "\"stream\"") &&
		      has("gridding.density", "\"pipe\""),
	      "other paths in each frame, no spokes");
	s.dims.min = s.dims.max = 3;
	s.reach[2] = 0.1;
	CHECK(choose() == 0 && has("trajectory.third_ignored", "true"), "a third component in 2D");
	(void)strcpy(s.info.trajectory_unit, "furlongs");
	CHECK(choose() == BS_ERR_UNSUPPORTED, "%s", why.text);
	paths(0.5);
	s.dims.min = s.dims.max = 0;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "no readout carries its path"),
	      "%s", why.text);
}

static void of_noise(void)
{
	grid();
	s.kinds[BS_KIND_NOISE] = 2;
	s.noise.coils = 4;
	s.noise.readouts = 2;
	s.noise.samples = 1000;
	for (uint32_t i = 0; i < 64 * 64; i++)
		s.noise.sum[i] = 0.0;
	CHECK(choose() == 0, "noise of nothing");
	s.noise.coils = 3;
	CHECK(choose() == 0 && said("other channels"), "noise of other coils");
	grid();
	s.kinds[BS_KIND_NAVIGATION] = 4;
	s.navigator_samples = 64;
	s.drift = 0.001;
	CHECK(choose() == 0 && bs_outline_value(&o, "navigators") == NULL, "no drift");
	s.drift = 0.1;
	CHECK(choose() == 0 && has("navigators", "\"phase\""), "a drift");
	s.navigator_samples = 4096;
	CHECK(choose() == 0 && bs_outline_value(&o, "navigators") == NULL &&
		      said("longer than the lines"),
	      "navigators that are too long");
}

/* A header that tells less than it should, or what it tells disagrees with what came. */
static void of_headers(void)
{
	grid();
	(void)strcpy(s.info.protocol, ".hidden\x01");
	CHECK(choose() == 0 && has("name", "\"_hidden_\""), "a name that would hide its file");
	memset(s.info.protocol, 'n', sizeof(s.info.protocol) - 1);
	CHECK(choose() == 0 && strlen(bs_outline_value(&o, "name")) == BS_NAME_MAX + 1,
	      "a name that is too long is cut");

	grid();
	memset(s.info.recon, 0, sizeof(s.info.recon));
	memset(s.info.fov_mm, 0, sizeof(s.info.fov_mm));
	CHECK(choose() == 0 && has("matrix", "[128, 64, 1]") &&
		      bs_outline_value(&o, "image.matrix") == NULL,
	      "no reconSpace: what is encoded");
	grid();
	memcpy(s.info.recon, (uint32_t[]){ 64, 600, 1 }, sizeof(s.info.recon));
	CHECK(choose() == 0 && said("64 x 600 x 1, more than 512") &&
		      bs_outline_value(&o, "image.matrix") == NULL,
	      "an image beyond what may be is not made");
	grid();
	s.info.fov_mm[0] = 199.0f;
	CHECK(choose() == 0 && has("matrix", "[64, 64, 1]"), "rounded as reconSpace is: down");
	s.info.fov_mm[0] = 202.0f;
	CHECK(choose() == 0 && has("matrix", "[64, 64, 1]"), "and up");
	s.info.recon[1] = 65;
	CHECK(choose() == 0 && has("matrix", "[64, 64, 1]") && has("image.matrix", "[64, 65, 1]"),
	      "a reconSpace that is larger than encodedSpace is an image's");
	s.info.fov_mm[0] = 0.5f;
	s.info.recon[0] = 0;
	CHECK(choose() == 0 && has("matrix", "[1, 64, 1]"), "no less than one voxel");
	grid();
	s.info.encoded[0] = s.samples.max = s.samples.min = 1026;
	s.info.encoded_fov_mm[0] = s.info.fov_mm[0];
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "1026 voxels along x"), "%s",
	      why.text);
	s.info.encoded[0] = 1024;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "encodedSpace of the header 1024"),
	      "%s", why.text);
	grid();
	s.info.encoded[2] = 8;
	s.info.fov_mm[2] = 25.0f;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "8 partitions"), "%s", why.text);

	grid();
	s.info.encoded_fov_mm[0] = 200.0f;
	memcpy(s.info.recon, (uint32_t[]){ 127, 63, 1 }, sizeof(s.info.recon));
	CHECK(choose() == 0 && has("matrix", "[128, 64, 1]") && has("image.matrix", "[127, 63, 1]"),
	      "an odd image of the whole field of view");
	grid();
	s.info.trajectory_name[0] = '\0';
	CHECK(choose() == 0 && has("method", "\"cartesian\""), "no trajectory at all: a grid");
	s.dims = (struct bs_range){ 2, 2, 64 };
	CHECK(choose() == 0 && has("method", "\"cartesian\""), "nor is one that says the same");
	s.off_lines = 64;
	CHECK(choose() == BS_ERR_UNSUPPORTED && has("name", "\"scan\""),
	      "but where readouts bring a path: %s", why.text);
	grid();
	s.dims = (struct bs_range){ 2, 2, 64 };
	CHECK(choose() == 0 && has("method", "\"cartesian\""), "a path of the grid's own points");
	s.info.encodings = 2;
	CHECK(choose() == 0 && !said("encoding"), "two encodings in the header");
	s.left.calibration = 5;
	s.left.ref = 1;
	CHECK(choose() == 0 && said("5 readouts are of encoding 1"), "and readouts of the second");
	s.astray = 4;
	CHECK(choose() == 0 && said("of 4 readouts are not of length 1"), "directions of length 0");
	(void)strcpy(s.note, "other groups hold scans");
	CHECK(choose() == 0 && said("other groups hold scans"), "another scan in the file");
	s.kinds[BS_KIND_DUMMY] = 7;
	CHECK(choose() == 0 && said("7 readouts"), "readouts that nothing uses are counted");
	grid();
	s.discarded.max = 100;
	CHECK(choose() == 0 && has("discard", "100"), "more discarded samples than by default");
}

static void of_coils(void)
{
	grid();
	s.channels.min = 3;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "3 to 4 channels"), "%s",
	      why.text);
	s.channels.min = s.channels.max = 65;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "at most 64 coils"), "%s",
	      why.text);
	grid();
	s.info.channels = 4;
	CHECK(choose() == 0, "the header's channels are those that came");

	grid();
	for (int y = 0; y < 64; y += 2)
		present[y] = 0;
	s.info.acceleration[0] = 2;
	CHECK(choose() == 0 && said("accelerated 2 x 1, and no line of calibration"),
	      "accelerated, and nothing to calibrate by");
	s.info.acceleration[0] = 0;
	s.info.acceleration[1] = 3;
	s.channels.min = s.channels.max = 1;
	memset(calibrates + 24, 1, 16);
	CHECK(choose() == 0 && bs_outline_value(&o, "parallel") == NULL &&
		      said("accelerated 1 x 3, and one coil"),
	      "lines of calibration are of no use to one coil");
}

static void of_frames(void)
{
	grid();
	s.info.slice = (struct bs_limit){ 0, 599, 0, 1 };
	s.slices = 3;
	s.contrasts = 2;
	CHECK(choose() == 0 && has("slices", "3") && has("contrasts", "2"),
	      "limits that promise too much: as many as came");
	s.contrasts = 65;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "64 contrasts"), "%s", why.text);
	grid();
	s.averages = 65;
	CHECK(choose() == 0 && bs_outline_value(&o, "averages") == NULL && said("more than the 64"),
	      "averages that cannot be summed");
	paths(0.5);
	(void)strcpy(s.info.trajectory_unit, "cycles/voxel");
	s.averages = 2;
	CHECK(choose() == 0 && has("averages", "2"), "averages of the same paths");
	s.repeats = false;
	CHECK(choose() == 0 && bs_outline_value(&o, "averages") == NULL &&
		      said("a path of its own"),
	      "and of others");
}

/* A volume of 64 x 16 lines, of which one end along z is left out. */
static void of_volumes(void)
{
	grid();
	s.info.encoded[2] = s.info.recon[2] = s.size[1] = 16;
	s.center.line[1] = s.center.header[1] = 8;
	memset(present, 1, (size_t)64 * 16);
	s.first_readouts = s.first_lines = 64 * 16;
	CHECK(choose() == 0 && has("matrix", "[64, 64, 16]") && o.says == 0, "a volume");
	memset(present + (size_t)64 * 12, 0, (size_t)64 * 4);
	CHECK(choose() == 0 && has("partial_fourier", "\"pocs\"") && has("readouts", "768"),
	      "one end along z left out");
	memset(present + (size_t)64 * 9, 0, (size_t)64 * 3);
	s.samples.min = s.samples.max = 96;
	for (int z = 0; z < 16; z++)
		memset(present + (size_t)z * 64 + 50, 0, 14);
	CHECK(choose() == 0 && bs_outline_value(&o, "partial_fourier") == NULL && said("(xyz)"),
	      "all three ends, half of z: too little");
	for (int y = 1; y < 50; y += 2)
		for (int z = 0; z < 16; z++)
			present[(size_t)z * 64 + (size_t)y] = 0;
	CHECK(choose() == 0 && said("between those that came are left out"),
	      "and lines between, of which the header says nothing");
	s.info.recon[2] = 0;
	s.info.fov_mm[2] = s.info.encoded_fov_mm[2];
	s.info.recon[0] = 96;
	CHECK(choose() == 0 && has("image.matrix", "[96, 64, 16]"),
	      "an image whose header leaves z open");
	grid();
	memset(present, 0, sizeof(present));
	CHECK(choose() == 0 && has("readouts", "0"), "a first frame without a line on the grid");
	grid();
	s.samples.min = s.samples.max = 67;
	CHECK(choose() == 0 && said("missing all but wholly (x)"), "an echo with 3 samples before");
}

static void of_echoes(void)
{
	grid();
	s.reversed = 32;
	CHECK(choose() == 0 && bs_outline_value(&o, "epi.correct") == NULL &&
		      said("32 lines run backwards"),
	      "an EPI without phase-correction lines");
	(void)strcpy(s.info.trajectory_name, "epi");
	(void)strcpy(s.info.description, "ConventionalEPI");
	s.info.ramp_up_us = 100.0f;
	s.info.acquisition_delay_us = 20.0f;
	CHECK(choose() == 0 && has("epi.correct", "true"), "one that samples on its ramps");
	s.kinds[BS_KIND_PHASE_CORRECTION] = 3;
	CHECK(choose() == 0 && has("epi.correct", "true"), "and brings the lines, too");
}

static void of_units(void)
{
	static const char *const unit = "rad/m";

	paths(0.5);
	(void)strcpy(s.info.trajectory_unit, unit);
	s.reach[0] = s.reach[1] = 2.0 * M_PI * 80.0;
	CHECK(choose() == 0 && has("trajectory.unit", "\"rad/m\"") &&
		      has("fov_mm", "[200.0000, 200.0000, 200.0000]"),
	      "rad/m, and the field of view that it needs");
	s.reach[1] = 2.0 * M_PI * 16.0;
	CHECK(choose() == 0 && has("trajectory.min_extent", "0.0900") && said("reaches 0.1 of 0.5"),
	      "one axis is coarse");
	paths(0.0);
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "reaches 0 cycles"),
	      "paths that stay at the center have no unit: %s", why.text);

	paths(0.5);
	(void)strcpy(s.info.trajectory_unit, "cycles/voxel");
	s.info.encoded[1] = 600;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "600 voxels along y"), "%s",
	      why.text);
	s.info.encoded[1] = 32;
	s.info.fov_mm[1] = 150.0f;
	CHECK(choose() == 0 && has("matrix", "[32, 24, 1]") && has("encoded", "[32, 32, 1]") &&
		      has("image.matrix", "[32, 32, 1]"),
	      "a part of the trajectory's field of view, in smaller voxels");
	s.info.encoded_fov_mm[0] = s.info.fov_mm[1] = 0.0f;
	CHECK(choose() == 0 && !said("reconSpace covers"), "none is no other one");
	s.alike = false;
	CHECK(choose() == 0 && said("different numbers of readouts"), "frames that differ");
	s.alike = true;
	s.path_frame = 40;
	CHECK(choose() == 0 && has("trajectory.type", "\"stream\""),
	      "a first frame that has another average's readouts, too");
	paths(0.5);
	s.first_readouts = s.path_frame = 200;
	CHECK(choose() == 0 && said("they make one image"),
	      "all readouts of a slice are one image");
	s.info.encoded[2] = 32;
	s.dims.min = s.dims.max = 3;
	s.reach[2] = 0.5;
	CHECK(choose() == 0 && !said("they make one image") && has("matrix", "[32, 32, 32]"),
	      "or one volume");
	s.dims.min = s.dims.max = 2;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "for images of 3"), "%s",
	      why.text);
	s.dims.min = 3;
	s.dims.max = 4;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "3 to 4 dimensions"), "%s",
	      why.text);
	s.dims.min = 4;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "4 to 4 dimensions"), "%s",
	      why.text);

	/* a log of a scan is no recording that a table can be read from */
	paths(0.5);
	memset(&o, 0, sizeof(o));
	CHECK(bs_choose(&(struct bs_choice){ &s, "/logs/00c1.bslog", &o }, &why) == 0 &&
		      has("trajectory.type", "\"stream\""),
	      "paths of a scan's log");
	memset(&o, 0, sizeof(o));
	CHECK(bs_choose(&(struct bs_choice){ &s, ".h5", &o }, &why) == 0 &&
		      has("trajectory.type", "\"stream\""),
	      "a file of no name");
}

static void noise_of(double a, double b, double both)
{
	memset(s.noise.sum, 0, sizeof(s.noise.sum));
	for (uint32_t i = 0; i < 4; i++)
		s.noise.sum[i * 4 + i] = i == 0 ? a : b;
	s.noise.sum[1 * 4 + 0] = both;
}

static void of_whitening(void)
{
	grid();
	(void)strcpy(s.info.noise_scan, "1.2.3");
	CHECK(choose() == 0 && bs_outline_value(&o, "noise.whiten") == NULL,
	      "an earlier scan's noise is for the reader to switch on");
	s.kinds[BS_KIND_NOISE] = 1;
	CHECK(choose() == 0 && said("other channels"), "readouts of noise that cannot be used");
	s.noise.coils = 4;
	s.noise.readouts = 1;
	s.noise.samples = 10000;
	noise_of(10000.0, 10000.0, 0.0);
	CHECK(choose() == 0 && bs_outline_value(&o, "noise.whiten") == NULL, "equal and white");
	noise_of(20000.0, 10000.0, 0.0);
	CHECK(choose() == 0 && has("noise.whiten", "\"auto\""), "one coil has more of it");
	noise_of(10000.0, 10000.0, 5000.0);
	CHECK(choose() == 0 && has("noise.whiten", "\"auto\""), "two coils have it together");
}

/* What is given up goes only where it was what was refused. */
static void of_retreats(void)
{
	const struct bs_choice c = { &s, "/data/scan.h5", &o };
	static const enum bs_err codes[] = { BS_ERR_CALIBRATION, BS_ERR_SIZE, BS_ERR_TRAJECTORY,
					     BS_ERR_INDEX, BS_ERR_NOMEM };

	grid();
	CHECK(choose() == 0, "a plain scan");
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		CHECK(!bs_choose_retreat(&c, &(struct bs_fail){ .code = codes[i] }),
		      "nothing of it can be given up for %s", bs_err_name(codes[i]));
	for (int y = 0; y < 64; y += 2)
		present[y] = 0;
	memset(calibrates + 24, 1, 16);
	CHECK(choose() == 0 && has("parallel", "\"grappa\"") &&
		      bs_choose_retreat(&c, &(struct bs_fail){ .code = BS_ERR_CALIBRATION }) &&
		      bs_outline_value(&o, "parallel") == NULL && said("images are folded"),
	      "lines of calibration that do not do");
	grid();
	s.kinds[BS_KIND_NAVIGATION] = 4;
	s.drift = 0.1;
	CHECK(choose() == 0 && has("navigators", "\"phase\"") &&
		      !bs_choose_retreat(&c, &(struct bs_fail){ .code = BS_ERR_INDEX }) &&
		      bs_choose_retreat(&c, &(struct bs_fail){ .code = BS_ERR_SIZE }) &&
		      bs_outline_value(&o, "navigators") == NULL,
	      "navigators that cannot be used");
	for (size_t i = 1; i < 4; i++) {
		paths(0.5);
		CHECK(choose() == 0 && has("trajectory.type", "\"file\"") &&
			      bs_choose_retreat(&c, &(struct bs_fail){ .code = codes[i] }) &&
			      has("trajectory.type", "\"stream\""),
		      "a table that %s speaks against", bs_err_name(codes[i]));
	}
	paths(0.5);
	CHECK(choose() == 0 && !bs_choose_retreat(&c, &(struct bs_fail){ .code = BS_ERR_NOMEM }),
	      "memory speaks against no table");
}

int main(void)
{
	of_lines();
	of_ends();
	of_paths();
	of_noise();
	of_headers();
	of_coils();
	of_frames();
	of_volumes();
	of_echoes();
	of_units();
	of_whitening();
	of_retreats();
	grid();
	CHECK(bs_choose_slots(&s) == 0, "short readouts: as many slots as ever");
	s.samples.max = 16000;
	s.channels.max = 64;
	CHECK(bs_choose_slots(&s) == 32, "long ones: %u slots", bs_choose_slots(&s));
	s.dims.max = 3;
	s.samples.max = 64000;
	CHECK(bs_choose_slots(&s) == 16, "no fewer than 16, with their paths: %u slots",
	      bs_choose_slots(&s));
	return check_done();
}
