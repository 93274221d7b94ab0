/*
 * test/unit/core/frame/test_intake.c - what lies in a readout's place, by what it is for, and what
 * the scan's first lines are held to
 */
/* Holds: W46, C13 */
#include "core/frame/intake.h"

#include <string.h>

#include "test/support/check.h"

#define COILS   2u
#define SAMPLES 8u
#define VALUES  (2u * COILS * SAMPLES)

static struct bs_protocol p = { .name = "p",
				.method = BS_METHOD_CARTESIAN,
				.matrix = { SAMPLES, 8, 1 },
				.encoded = { SAMPLES, 8, 1 },
				.dims = 2,
				.coils = COILS,
				.samples = SAMPLES,
				.readouts = 8,
				.slices = 1,
				.contrasts = 1,
				.whiten = BS_WHITEN_REQUIRE,
				.uses = 1u << BS_KIND_NOISE };
static const struct bs_scan_info info;
static struct bs_scan_noise noise;
static struct bs_scan_study scan;
static struct bs_fail why;
static float data[VALUES], place[VALUES];

static struct bs_intake intake(size_t room)
{
	return (struct bs_intake){ .p = &p,
				   .info = &info,
				   .noise = &noise,
				   .scan = &scan,
				   .sums_noise = true,
				   .room = room };
}

static struct bs_mrd_acq head_of(uint64_t flags)
{
	return (struct bs_mrd_acq){ .flags = flags,
				    .number_of_samples = SAMPLES,
				    .active_channels = COILS };
}

/* Nothing is in the place but what put writes. */
static void put(const struct bs_intake *in, struct bs_mrd_acq *h)
{
	memset(place, 0xff, sizeof(place));
	bs_intake_put(in, h, 3, NULL, data, place);
}

static bool is_untouched(void)
{
	unsigned char none[sizeof(place)];

	memset(none, 0xff, sizeof(none));
	return memcmp(place, none, sizeof(none)) == 0;
}

static void test_noise(void)
{
	const struct bs_intake in = intake(sizeof(place));
	const struct bs_intake small = intake(COILS * COILS * sizeof(double) - 1);
	struct bs_mrd_acq h = head_of(BS_MRD_IS_NOISE);
	struct bs_mrd_acq line = head_of(0);
	double gram[COILS * COILS];

	bs_scan_noise_open(&noise, &info, NULL);
	(void)bs_scan_study_open(&scan, NULL, &p, &info, &why);
	CHECK(bs_intake_fits(&in, &line, &why) == BS_ERR_CALIBRATION,
	      "a line before the noise that the protocol requires: %s", why.text);
	bs_scan_noise_open(&noise, &info, NULL);
	bs_noise_gram(gram, &h, data);
	put(&in, &h);
	CHECK(bs_intake_sums(&in, &h) && memcmp(place, gram, sizeof(gram)) == 0,
	      "of noise its Gram matrix lies there");
	CHECK(bs_intake_fits(&in, &h, &why) == 0 && noise.frozen == 0, "noise is asked nothing");
	put(&small, &h);
	CHECK(!bs_intake_sums(&small, &h) && is_untouched(), "without room it is not summed");
	for (int i = 0; i < 4; i++)
		(void)bs_scan_noise_add(&noise, &info, &h, gram);
	CHECK(bs_intake_fits(&in, &line, &why) == 0 && noise.frozen != 0 && scan.posed[0],
	      "then a line is taken, and says where its slice lies");
}

static void test_lines(void)
{
	const struct bs_intake in = intake(sizeof(place));
	struct bs_mrd_acq h = head_of(0);

	put(&in, &h);
	CHECK(memcmp(place, data, sizeof(data)) == 0, "a line lies there as it came");
	h = head_of(BS_MRD_IS_REVERSE);
	h.discard_pre = 1;
	put(&in, &h);
	CHECK(memcmp(place, data + 2 * (SAMPLES - 1), 2 * sizeof(float)) == 0 &&
		      h.discard_pre == 0 && h.discard_post == 1,
	      "a reversed one in the order of k, its header accordingly");
	h = head_of(BS_MRD_IS_NAVIGATION);
	put(&in, &h);
	CHECK(is_untouched() && bs_intake_fits(&in, &h, &why) == 0,
	      "of what the protocol does not use nothing");
}

int main(void)
{
	bs_plan_make(&p);
	for (uint32_t i = 0; i < VALUES; i++)
		data[i] = (float)(i * i % 7) - 2.0f;
	test_noise();
	test_lines();
	return check_done();
}
