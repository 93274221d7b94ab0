/*
 * test/unit/core/frame/test_readout.c - center_sample: what is admitted of it, its readings, where
 * reversed lines come to lie by them, and the words
 */
/* Holds: W54 */
#include "core/frame/geometry.h"
#include "core/frame/recon.h"

#include <string.h>

#include "test/support/check.h"

static struct bs_protocol p = { .name = "p",
				.method = BS_METHOD_CARTESIAN,
				.dims = 2,
				.matrix = { 8, 4, 1 },
				.encoded = { 8, 4, 1 },
				.coils = 2,
				.samples = 8,
				.discard = 3,
				.readouts = 4,
				.slices = 1,
				.contrasts = 1 };
static const struct bs_scan_info siemens = { .vendor = "Siemens Healthineers",
					     .encoded = { 8, 4, 1 } };
static const struct bs_scan_info other = { .vendor = "ACME", .encoded = { 8, 4, 1 } };
static float data[2][16 * 2];
static struct bs_fail why;

static struct bs_mrd_acq line(uint16_t center, bool reversed)
{
	return (struct bs_mrd_acq){ .version = 1,
				    .flags = reversed ? BS_MRD_IS_REVERSE : 0,
				    .number_of_samples = (uint16_t)(p.samples + 3),
				    .active_channels = 2,
				    .available_channels = 2,
				    .discard_pre = 2,
				    .discard_post = 1,
				    .center_sample = center };
}

static bool admitted(uint16_t center, bool reversed)
{
	struct bs_mrd_acq h = line(center, reversed);
	const struct bs_intake in = { .p = &p, .info = &other };
	uint32_t row;

	return bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0;
}

static void admission(void)
{
	CHECK(admitted(2 + 4, false) && admitted(0, false) && !admitted(2 + 3, false) &&
		      admitted(2 + 5, false) && !admitted(2 + 6, false),
	      "a forward line: its middle, or the sample behind it");
	CHECK(admitted(2 + 3, true) && admitted(2 + 4, true) && admitted(0, true) &&
		      !admitted(2 + 2, true) && !admitted(2 + 5, true),
	      "a reversed one: as stored, as copied");
	CHECK(!admitted(10, false) && admitted(11, false) && admitted(64, true),
	      "beyond its end it says nothing");
	p.samples = 6;
	CHECK(admitted(2 + 2, false) && admitted(2 + 3, true) && admitted(2 + 4, true) &&
		      !admitted(2 + 2, true),
	      "a late echo");
	CHECK(!admitted(9, false), "of which the end is not the middle");
	p.samples = 8;
}

/* A reversed line of samples 1, 2, ... in the order of k, stated so, once turned. */
static struct bs_mrd_acq turn(uint16_t center)
{
	struct bs_mrd_acq h = line(center, true);
	float *all = data[0];

	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t i = 0; i < p.samples; i++)
			all[2 * (c * h.number_of_samples + 2 + i)] =
				(float)(100 * c + p.samples - i);
	bs_admit_reverse(&p, &h, all);
	return h;
}

static bool begins(const struct bs_mrd_acq *h, float first, float second)
{
	bool same = true;

	for (uint32_t c = 0; c < 2; c++) {
		const float *at = data[0] + 2 * ((size_t)c * h->number_of_samples + h->discard_pre);
		const float add = first != 0.0f ? 100.0f * (float)c : 0.0f;

		same = same && at[0] == first + add && at[2] == second + 100.0f * (float)c;
	}
	return same;
}

static void turned(void)
{
	struct bs_mrd_acq h = turn(2 + 3);

	CHECK(begins(&h, 1, 2) && !bs_readout_doubtful(&p, &h), "one reading");
	p.reversed_center = BS_REVERSED_STORED;
	h = turn(2 + 3);
	CHECK(begins(&h, 1, 2), "by either key");
	h = turn(2 + 4);
	CHECK(begins(&h, 8, 1) && bs_readout_doubtful(&p, &h),
	      "a sample later: a whole line turns");
	p.samples = 6;
	h = turn(2 + 4);
	CHECK(begins(&h, 0, 1), "a late echo lacks one");
	p.samples = 8;
	p.epi_correct = true;
	bs_plan_make(&p);
	h = turn(2 + 4);
	CHECK(begins(&h, 1, 2), "the triple's shift is taken off later");
	p.epi_correct = false;
	p.reversed_center = BS_REVERSED_CONVERTER;
	bs_plan_make(&p);
	h = turn(2 + 4);
	CHECK(begins(&h, 1, 2), "as copied");
	p.reversed_center = BS_REVERSED_AUTO;
	h = turn(2 + 4);
	CHECK(begins(&h, 1, 2), "which is the default");
}

static const char *said(const struct bs_readouts *all, const struct bs_scan_info *info, float shift)
{
	static char words[BS_READOUT_WORDS];

	return bs_readouts_words(words, sizeof(words), all, &p, info, shift);
}

#define COPIED                                                                                     \
	"center_sample of reversed lines is 4: k = 0 is taken at sample 3 (as Siemens' "           \
	"converter copies it), not 4 (by MRD's text)"
#define STORED                                                                                     \
	"center_sample of reversed lines is 4: k = 0 is taken at sample 4 (by MRD's text), not 3 " \
	"(as Siemens' converter copies it)"

static void words(void)
{
	struct bs_readouts all = { 0 };
	struct bs_mrd_acq h = line(2 + 4, false);
	char text[BS_READOUT_WORDS];

	bs_readouts_see(&all, &p, &h);
	h = turn(2 + 3);
	bs_readouts_see(&all, &p, &h);
	CHECK(said(&all, &other, 0.0f)[0] == '\0' && !bs_readouts_untold(&all, &p, &other),
	      "nothing to say");
	h = turn(2 + 4);
	bs_readouts_see(&all, &p, &h);
	CHECK(strcmp(said(&all, &siemens, 0.0f), COPIED ", by systemVendor of the header") == 0 &&
		      !bs_readouts_untold(&all, &p, &siemens),
	      "%s", said(&all, &siemens, 0.0f));
	CHECK(said(&all, &other, 0.0f)[0] == '\0' && bs_readouts_untold(&all, &p, &other),
	      "another vendor's");
	CHECK(strcmp(bs_readouts_untold_words(text, sizeof(text), &all, &p),
		     COPIED "; nothing tells which is right but the key reversed_center: "
			    "\"converter\" or \"stored\"") == 0,
	      "%s", text);
	p.reversed_center = BS_REVERSED_STORED;
	CHECK(strcmp(said(&all, &siemens, 0.0f), STORED ", by reversed_center of the protocol") ==
			      0 &&
		      !bs_readouts_untold(&all, &p, &other),
	      "the key: %s", said(&all, &siemens, 0.0f));
	p.epi_correct = true;
	bs_plan_make(&p);
	CHECK(strcmp(said(&all, &other, 0.1f), COPIED ", by the phase-correction lines") == 0 &&
		      strcmp(said(&all, &siemens, 1.0f),
			     STORED ", by the phase-correction lines") == 0,
	      "the data: %s", said(&all, &siemens, 1.0f));
	p.epi_correct = false;
	p.reversed_center = BS_REVERSED_AUTO;
	bs_plan_make(&p);

	memset(&all, 0, sizeof(all));
	h = line(0, false);
	bs_readouts_see(&all, &p, &h);
	CHECK(strcmp(said(&all, &other, 0.0f), "center_sample is 0: k = 0 is taken at sample 4") ==
		      0,
	      "%s", said(&all, &other, 0.0f));
	h = line(2 + 4, false);
	bs_readouts_see(&all, &p, &h);
	CHECK(said(&all, &other, 0.0f)[0] == '\0', "one line that says it is enough");
	h = line(2 + 5, false);
	bs_readouts_see(&all, &p, &h);
	CHECK(strcmp(said(&all, &other, 0.0f),
		     "center_sample of some lines is 5: k = 0 is taken at sample 4") == 0,
	      "%s", said(&all, &other, 0.0f));
	all.next = false;
	h = line(11, false);
	bs_readouts_see(&all, &p, &h);
	CHECK(strcmp(said(&all, &other, 0.0f),
		     "center_sample is beyond the lines' end: k = 0 is taken at sample 4") == 0,
	      "%s", said(&all, &other, 0.0f));
}

/* encodedSpace without the oversampling that the lines have. */
static void oversampled(void)
{
	struct bs_scan_info info = { .encoded = { 4, 4, 1 },
				     .encoded_fov_mm = { 40, 40, 5 },
				     .recon = { 4, 4, 1 },
				     .fov_mm = { 40, 40, 5 },
				     .trajectory_name = "cartesian",
				     .encodings = 1 };
	const struct bs_readouts none = { 0 };
	float fov[3];

	CHECK(bs_readout_oversampling(80, 80) == 1 && bs_readout_oversampling(48, 80) == 1 &&
		      bs_readout_oversampling(80, 40) == 2 &&
		      bs_readout_oversampling(120, 40) == 3 &&
		      bs_readout_oversampling(60, 40) == 0 && bs_readout_oversampling(8, 0) == 0,
	      "a whole number, or none");
	p.matrix[0] = 4;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "4 for readouts of 8: %s", why.text);
	bs_geometry_fov(fov, &p, &info);
	CHECK(fov[0] == 40.0f, "%g mm", (double)fov[0]);
	CHECK(strcmp(said(&none, &info, 0.0f), "the samples, not encodedSpace, tell the "
					       "oversampling of 2: lines have 8 for 4") == 0,
	      "%s", said(&none, &info, 0.0f));
	info.encoded[0] = 8;
	info.encoded_fov_mm[0] = 80.0f;
	CHECK(bs_admit_scan(&p, &info, &why) == 0 && said(&none, &info, 0.0f)[0] == '\0',
	      "the header has it: %s", why.text);
	bs_geometry_fov(fov, &p, &info);
	CHECK(fov[0] == 40.0f, "%g mm", (double)fov[0]);
	info.encoded[0] = 5;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "not whole: %s", why.text);
	info.encoded[0] = 16;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "more than there are: %s", why.text);
	info.encoded[0] = 4;
	p.samples = 6;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "a late echo: %s", why.text);
	p.samples = 8;
	p.matrix[0] = 8;
	bs_plan_make(&p);
}

/* Of 8 samples it has 5: the last three lack, or the first. */
static void filled(uint32_t at)
{
	const uint16_t center = (uint16_t)(2 + 4 - at);
	struct bs_mrd_acq h = line(center, false);
	struct bs_readouts all = { 0 };
	struct bs_held held = { .lines = &(struct bs_lines){ .size = { 4, 1 }, .last = { 3, 0 } } };
	float from[2][8 * 2];
	float to[2][8 * 2];
	char words[BS_LACKS_WORDS];
	bool good;

	for (int i = 0; i < 32; i++)
		from[i / 16][i % 16] = (float)(i + 1);
	h.number_of_samples = 5 + 3;
	bs_admit_copy(&p, &h, 0, to[0], from);
	good = h.number_of_samples == 8 && h.center_sample == 4 && h.discard_pre == 0;
	for (uint32_t i = 0; i < 8; i++)
		for (int c = 0; c < 2; c++)
			good = good &&
			       to[c][2 * i] ==
				       (i >= at && i < at + 5 ? from[c][2 * (i - at + 2)] : 0.0f);
	CHECK(good, "it lies at sample %u, with zeros around", at);
	bs_readouts_see(&all, &p, &h);
	memcpy(held.measured, all.measured, sizeof(held.measured));
	(void)bs_zeros_words(words, sizeof(words), &p, &held);
	CHECK(strcmp(words, at == 0 ? "samples 5 to 7 of 8 were not measured (asymmetric echo) and "
				      "are zeros"
				    : "samples 0 to 2 of 8 were not measured (asymmetric echo) and "
				      "are zeros") == 0,
	      "%s", words);
}

/* Short lines that begin at a and b; the second is of this contrast, and longer by so much. */
static bool are_apart(uint32_t a, uint32_t b, uint16_t contrast, int32_t longer)
{
	struct bs_mrd_acq h = { .flags = BS_MRD_FILLED, .number_of_samples = 8 };
	struct bs_readouts all = { 0 };
	const struct bs_scan_info info = { 0 };

	h.user_int[0] = (int32_t)a;
	h.user_int[1] = (int32_t)a + 5;
	bs_readouts_see(&all, &p, &h);
	h.idx.contrast = contrast;
	h.user_int[0] = (int32_t)b;
	h.user_int[1] = (int32_t)b + 5 + longer;
	bs_readouts_see(&all, &p, &h);
	return bs_readouts_untold(&all, &p, &info);
}

static void short_apart(void)
{
	char text[BS_READOUT_WORDS];
	const struct bs_readouts all = { .apart = 5 };

	CHECK(are_apart(1, 2, 0, 0) && are_apart(2, 1, 0, 0), "a sample apart: which is right?");
	CHECK(!are_apart(1, 1, 0, 0) && !are_apart(0, 2, 0, 0) && !are_apart(1, 2, 1, 0) &&
		      !are_apart(2, 1, 0, 1),
	      "alike, farther apart, of another echo, a sample more in front: all well");
	CHECK(strcmp(bs_readouts_untold_words(text, sizeof(text), &all, &p),
		     "center_sample of lines of 5 samples differs by one: nothing tells which is "
		     "right") == 0,
	      "%s", text);
}

static void short_ones(void)
{
	struct bs_mrd_acq h = line(2 + 4, false);
	uint32_t at;

	filled(0);
	filled(3);
	h.number_of_samples = 6 + 3;
	CHECK(!bs_readout_short(&p, &h, &at), "two samples less are a mistake");
	h.number_of_samples = 5 + 3;
	h.center_sample = 2 + 5;
	CHECK(!bs_readout_short(&p, &h, &at), "it would begin before the line");
	h.center_sample = 0;
	CHECK(!bs_readout_short(&p, &h, &at), "nothing tells where it lies");
	h = line(2 + 2, false);
	h.number_of_samples = 4 + 3;
	CHECK(!bs_readout_short(&p, &h, &at), "half a line is none");
}

int main(void)
{
	bs_plan_make(&p);
	p.max_sample = 1e12;
	admission();
	turned();
	words();
	oversampled();
	short_ones();
	short_apart();
	return check_done();
}
