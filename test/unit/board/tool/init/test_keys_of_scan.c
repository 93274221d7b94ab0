/* test/unit/board/tool/init/test_keys_of_scan.c - protocols for headers that set keys themselves */
#include <math.h>
#include <string.h>

#include "board/tool/init/choose.h"
#include "core/plan/scankey.h"
#include "test/support/check.h"

static struct bs_survey s;
static struct bs_outline o;

/* 64 lines or spokes of 128 samples, 4 coils. */
static void grid(const char *trajectory)
{
	static uint8_t present[64], calibrates[64];

	memset(&s, 0, sizeof(s));
	memset(present, 1, sizeof(present));
	s.present = present;
	s.calibrates = calibrates;
	memcpy(s.info.encoded, (uint32_t[]){ 128, 64, 1 }, sizeof(s.info.encoded));
	memcpy(s.info.recon, (uint32_t[]){ 64, 64, 1 }, sizeof(s.info.recon));
	(void)strcpy(s.info.trajectory_name, trajectory);
	s.info.encodings = 1;
	s.samples = (struct bs_range){ 128, 128, 64 };
	s.channels = (struct bs_range){ 4, 4, 64 };
	s.slices = s.contrasts = s.averages = s.repetitions = s.sets = s.phases = s.frames = 1;
	s.size[0] = 64;
	s.size[1] = 1;
	s.alike = s.repeats = true;
	s.first_readouts = s.first_lines = s.path_frame = 64;
	s.center = (struct bs_center){ .line = { 32, 0 },
				       .header = { 32, 0 },
				       .told = { true, true } };
}

static int choose(void)
{
	const struct bs_choice c = { &s, "/data/scan.h5", &o };

	memset(&o, 0, sizeof(o));
	return bs_choose(&c, NULL);
}

static bool has(const char *path, const char *value)
{
	const char *is = bs_outline_value(&o, path);

	return is != NULL && strcmp(is, value) == 0;
}

/* Keys that the scan's header sets. */
int main(void)
{
	grid("cartesian");
	s.info.scan_keys = 1u << BS_SCANKEY_ITERATIONS;
	s.info.scan_value[BS_SCANKEY_ITERATIONS] = 5.0;
	CHECK(choose() == 0 && has("scan_keys", "[\"ls.iterations\"]") &&
		      has("parallel", "\"sense\"") && has("ls.iterations", "5"),
	      "iterations, of lines");
	s.info.scan_keys = 1u << BS_SCANKEY_VENC;
	s.info.scan_value[BS_SCANKEY_VENC] = 60.0;
	CHECK(choose() == 0 && has("scan_keys", "[\"image.venc\"]") &&
		      has("image.output", "\"velocity\"") &&
		      bs_outline_value(&o, "parallel") == NULL,
	      "a VENC");
	s.info.scan_keys |= 1u << BS_SCANKEY_ITERATIONS;
	CHECK(choose() == 0 && has("scan_keys", "[\"ls.iterations\", \"image.venc\"]"), "both");
	s.info.scan_value[BS_SCANKEY_ITERATIONS] = 2.5;
	s.info.scan_value[BS_SCANKEY_VENC] = (double)NAN;
	CHECK(choose() == 0 && bs_outline_value(&o, "scan_keys") == NULL,
	      "values that no protocol takes");
	grid("radial");
	s.dims = (struct bs_range){ 2, 2, 64 };
	s.reach[0] = s.reach[1] = 0.5;
	s.info.scan_keys = 1u << BS_SCANKEY_ITERATIONS;
	s.info.scan_value[BS_SCANKEY_ITERATIONS] = 7.0;
	CHECK(choose() == 0 && has("scan_keys", "[\"ls.iterations\"]") && has("method", "\"ls\"") &&
		      has("ls.iterations", "7") && bs_outline_value(&o, "gridding.density") == NULL,
	      "iterations, along paths");
	return check_done();
}
