/* test/unit/board/init/test_choose.c - which protocol for which recording, by made surveys */
#define _XOPEN_SOURCE 700 /* M_PI */
#include "board/init/choose.h"

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
	s.slices = s.contrasts = s.averages = s.repetitions = s.sets = s.phases = s.encodings = 1;
	s.size[0] = 64;
	s.size[1] = 1;
	s.alike = s.repeats = true;
	memset(present, 1, 64);
	s.frames = 1;
	s.first_readouts = s.first_lines = 64;
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
	s.info.channels = 8;
	CHECK(choose() == BS_ERR_UNSUPPORTED && strstr(why.text, "receiverChannels"), "%s",
	      why.text);
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
		      { 2.0 * M_PI * 80.0, "\"rad/m\"" } };

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

int main(void)
{
	of_lines();
	of_ends();
	of_paths();
	of_noise();
	grid();
	CHECK(bs_choose_slots(&s) == 0, "short readouts: as many slots as ever");
	s.samples.max = 16000;
	s.channels.max = 64;
	CHECK(bs_choose_slots(&s) == 32, "long ones: %u slots", bs_choose_slots(&s));
	return check_done();
}
