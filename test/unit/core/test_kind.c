/* test/unit/core/test_kind.c - every flag has its kind; the sentence about what is not used */
/* Holds: W51, C3 */
#include "core/frame/admit.c"
#include "core/frame/kind.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <string.h>

/* As ipc/WIRE.md has them; any other flag, alone, leaves a readout imaging. */
static enum bs_kind expected(int flag)
{
	switch (flag) {
	case 19:
		return BS_KIND_NOISE;
	case 20:
		return BS_KIND_CALIBRATION;
	case 23:
		return BS_KIND_NAVIGATION;
	case 24:
		return BS_KIND_PHASE_CORRECTION;
	case 26:
	case 28:
		return BS_KIND_FEEDBACK;
	case 27:
		return BS_KIND_DUMMY;
	case 29:
	case 30:
	case 31:
	case 47:
	case 48: /* core/frame/encoding.h sets it */
		return BS_KIND_OTHER;
	default:
		return BS_KIND_IMAGING;
	}
}

static void flags(void)
{
	int wrong = 0;

	for (int flag = 1; flag <= 64; flag++)
		wrong += bs_mrd_kind(BS_MRD_FLAG(flag)) != expected(flag);
	CHECK(wrong == 0, "each flag by itself: %d of 64 are of another kind", wrong);
	CHECK(bs_mrd_kind(0) == BS_KIND_IMAGING, "no flag: imaging");
	CHECK(bs_mrd_kind(BS_MRD_IS_CALIBRATION | BS_MRD_IS_CALIBRATION_TOO) == BS_KIND_IMAGING,
	      "a line of both scans, by a converter that sets both flags");
	CHECK(bs_mrd_kind(BS_MRD_IS_PHASE_CORRECTION | BS_MRD_IS_REVERSE | BS_MRD_IS_CALIBRATION) ==
			      BS_KIND_PHASE_CORRECTION &&
		      bs_mrd_kind(BS_MRD_IS_NAVIGATION | BS_MRD_IS_CALIBRATION_TOO) ==
			      BS_KIND_NAVIGATION &&
		      bs_mrd_kind(BS_MRD_IS_NOISE | BS_MRD_IS_CALIBRATION) == BS_KIND_NOISE,
	      "of several, the one that makes it no line");
	CHECK(strcmp(bs_kind_name(BS_KIND_PHASE_CORRECTION), "phase correction") == 0 &&
		      strcmp(bs_kind_name(BS_KIND_OTHER), "other") == 0 &&
		      strcmp(bs_kind_name(BS_KINDS), "?") == 0,
	      "names");
}

static void uses(void)
{
	struct bs_protocol p = { .uses = 0 };

	CHECK(bs_kind_used(&p, BS_KIND_IMAGING) && !bs_kind_used(&p, BS_KIND_NOISE) &&
		      !bs_kind_used(&p, BS_KIND_OTHER),
	      "lines alone");
	p.uses = 1u << BS_KIND_CALIBRATION;
	CHECK(bs_kind_used(&p, BS_KIND_IMAGING) && bs_kind_used(&p, BS_KIND_CALIBRATION) &&
		      !bs_kind_used(&p, BS_KIND_NOISE),
	      "lines and calibration");
}

/* Maps from a file: calibration lines beside the image are of no use, those in it are lines. */
static void calibration(void)
{
	struct bs_protocol p = { .method = BS_METHOD_CARTESIAN_SENSE,
				 .parallel = BS_PARALLEL_SENSE,
				 .combine = BS_COMBINE_SENSE,
				 .uses = 1u << BS_KIND_CALIBRATION };
	struct bs_scan_info info = { .calibration = BS_CALIBRATION_SEPARATE };

	bs_plan_make(&p);
	CHECK(bs_kind_used(&p, BS_KIND_CALIBRATION) &&
		      !bs_scan_uses(&p, &info, BS_KIND_CALIBRATION, 0) &&
		      bs_scan_uses(&p, &info, BS_KIND_IMAGING, 0),
	      "separate lines, maps from a file: not used");
	info.calibration = BS_CALIBRATION_EMBEDDED;
	CHECK(bs_scan_uses(&p, &info, BS_KIND_CALIBRATION, 0), "embedded lines: used");
	info.calibration = BS_CALIBRATION_SEPARATE;
	p.maps = BS_MAPS_ESPIRIT;
	bs_plan_make(&p);
	CHECK(bs_scan_uses(&p, &info, BS_KIND_CALIBRATION, 0), "maps from the scan: used");
	CHECK(bs_scan_uses(&p, &info, BS_KIND_CALIBRATION, 1),
	      "of each average that is kept apart");
	p.averages = 2;
	bs_plan_make(&p);
	CHECK(bs_scan_uses(&p, &info, BS_KIND_CALIBRATION, 0) &&
		      !bs_scan_uses(&p, &info, BS_KIND_CALIBRATION, 1) &&
		      bs_scan_uses(&p, &info, BS_KIND_IMAGING, 1),
	      "of summed averages those of the first");
}

/* As a line, flagged as surface coil correction, too. */
static void sort(void)
{
	const struct bs_mrd_acq line = { .flags = BS_MRD_IS_COIL_CORRECTION | BS_MRD_IS_REVERSE,
					 .number_of_samples = 12,
					 .discard_pre = 3,
					 .discard_post = 1,
					 .active_channels = 2 };
	struct bs_mrd_acq h = line;

	bs_kind_sort(&h, 2, 8);
	CHECK(h.flags == BS_MRD_IS_REVERSE, "a line loses the flag: %llx",
	      (unsigned long long)h.flags);
	for (int i = 0; i < 3; i++) {
		h = line;
		h.encoding_space_ref = i == 2;
		bs_kind_sort(&h, i == 0 ? 3 : 2, i == 1 ? 12 : 8);
		CHECK(bs_mrd_kind(h.flags) == BS_KIND_OTHER,
		      "of other channels, samples, encoding: it is one");
	}
}

static void words(void)
{
	char text[BS_KINDS_WORDS];
	char small[20];
	struct bs_kinds k = { .used = { 36 } };

	CHECK(strcmp(bs_kinds_words(text, sizeof(text), &k), "") == 0, "nothing to say");
	k.unused[BS_KIND_CALIBRATION] = 33;
	CHECK(strcmp(bs_kinds_words(text, sizeof(text), &k),
		     "33 of 69 readouts are calibration and this protocol does not use them") ==
			      0 &&
		      bs_kinds_sum(&k) == 69,
	      "%s", text);
	k.unused[BS_KIND_NOISE] = 1;
	CHECK(strcmp(bs_kinds_words(text, sizeof(text), &k),
		     "1 of 70 readouts is noise, 33 are calibration, and this protocol does not "
		     "use them") == 0,
	      "%s", text);
	k.unused[BS_KIND_CALIBRATION] = 0;
	CHECK(strcmp(bs_kinds_words(text, sizeof(text), &k),
		     "1 of 37 readouts is noise and this protocol does not use it") == 0,
	      "%s", text);
	CHECK(strlen(bs_kinds_words(small, sizeof(small), &k)) < sizeof(small), "cut to size: %s",
	      small);
	for (int i = 0; i < BS_KINDS; i++)
		k.used[i] = k.unused[i] = UINT64_MAX;
	(void)bs_kinds_words(text, sizeof(text), &k);
	CHECK(strlen(text) + 1 < sizeof(text) && strstr(text, "does not use them") != NULL,
	      "the longest has %zu bytes", strlen(text));
}

/* What calibrates is in another scan: known before the first readout. */
static void admit_external(void)
{
	struct bs_protocol p = lines_of(16, 16, 1, 32, 2);
	struct bs_scan_info info = { .encoded = { 32, 16, 1 },
				     .acceleration = { 1, 1 },
				     .calibration = BS_CALIBRATION_EXTERNAL };
	struct bs_fail why;

	p.parallel = BS_PARALLEL_GRAPPA;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "not accelerated: nothing is to be made");
	info.acceleration[0] = 2;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_CALIBRATION &&
		      strstr(why.text, "'external' at acceleration 2 x 1") != NULL,
	      "grappa: %s", why.text);
	info.calibration = BS_CALIBRATION_SEPARATE;
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "separate lines are the scan's own");
	info.calibration = BS_CALIBRATION_EXTERNAL;
	p.grappa_lacking = BS_LACKING_ZEROS;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "the site file takes zeros");
	p.parallel = BS_PARALLEL_NONE;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "zeros: nothing is calibrated");
	p.combine = BS_COMBINE_SENSE;
	p.maps = BS_MAPS_WALSH;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "Walsh's maps need one line");
	p.maps = BS_MAPS_ESPIRIT;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_CALIBRATION, "maps: %s", why.text);
	p.method = BS_METHOD_SENSE;
	p.traj.type = BS_TRAJ_RADIAL2D;
	p.matrix[0] = 32;
	p.matrix[1] = 16;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) != BS_ERR_CALIBRATION,
	      "maps from the center of spokes need no lines");
}

int main(void)
{
	flags();
	uses();
	calibration();
	admit_external();
	sort();
	words();
	return check_done();
}
