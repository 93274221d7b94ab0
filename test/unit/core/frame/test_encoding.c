/* test/unit/core/frame/test_encoding.c - readouts of encodings behind the first: used, or marked */
/* Holds: W52 */
#include "core/frame/encoding.h"

#include <string.h>

#include "core/frame/center.h"
#include "core/frame/geometry.h"
#include "core/frame/recon.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static struct bs_protocol p;
static struct bs_scan_info info;
static struct bs_mrd_acq head;
static float data[2 * 2 * 40];

static void same(struct bs_mrd_encoding *e)
{
	memset(e, 0, sizeof(*e));
	memcpy(e->encoded, info.encoded, sizeof(e->encoded));
	memcpy(e->recon, info.recon, sizeof(e->recon));
	memcpy(e->encoded_fov_mm, info.encoded_fov_mm, sizeof(e->encoded_fov_mm));
	memcpy(e->fov_mm, info.fov_mm, sizeof(e->fov_mm));
	e->step1 = info.step1;
	e->step2 = info.step2;
}

/* 40 x 48 of 200 x 240 mm; encoding 1 twice as wide, encoding 2 a reference of 24 lines. */
static void begin(void)
{
	memset(&info, 0, sizeof(info));
	memset(&head, 0, sizeof(head));
	p = lines_of(40, 48, 1, 40, 2);
	p.uses = 1u << BS_KIND_CALIBRATION;
	p.parallel = BS_PARALLEL_GRAPPA;
	bs_plan_make(&p);
	memcpy(info.encoded, p.encoded, sizeof(info.encoded));
	memcpy(info.recon, p.encoded, sizeof(info.recon));
	for (int a = 0; a < 3; a++)
		info.encoded_fov_mm[a] = info.fov_mm[a] = (const float[]){ 200, 240, 5 }[a];
	info.step1 = (struct bs_limit){ 0, 47, 24, 1 };
	info.encodings = 3;
	same(&info.more[0]);
	for (int a = 0; a < 3; a++)
		info.more[0].encoded_fov_mm[a] = info.more[0].fov_mm[a] = 2.0f * info.fov_mm[a];
	same(&info.more[1]);
	info.more[1].encoded[1] = info.more[1].recon[1] = 24;
	info.more[1].step1 = (struct bs_limit){ 0, 23, 12, 1 };
	head.version = 1;
	head.number_of_samples = 40;
	head.active_channels = head.available_channels = 2;
	head.center_sample = 20;
	head.idx.kspace_encode_step_1 = 3;
}

static enum bs_kind kind(uint16_t ref, uint64_t flags)
{
	head.encoding_space_ref = ref;
	head.flags = flags;
	bs_encoding_mark(&p, &info, &head);
	return bs_mrd_kind(head.flags);
}

static int admit(uint32_t *row, struct bs_fail *why)
{
	return bs_admit_acq(&(struct bs_intake){ .p = &p, .info = &info }, &head, NULL, data, row,
			    why);
}

static void of_lines(void)
{
	float fov_mm[3];

	begin();
	CHECK(kind(0, BS_MRD_OF_ANOTHER) == BS_KIND_IMAGING,
	      "the first: nobody else's mark counts");
	CHECK(kind(1, 0) == BS_KIND_IMAGING, "another field of view");
	bs_geometry_other(fov_mm, &p, bs_encoding_of(&info, &head));
	CHECK(fov_mm[0] == 400.0f && fov_mm[1] == 480.0f && fov_mm[2] == 10.0f, "its own");
	CHECK(kind(2, 0) == BS_KIND_OTHER, "another matrix");
	info.more[0].acceleration[0] = 1;
	CHECK(kind(1, 0) == BS_KIND_IMAGING, "acceleration 1 is none");
	info.more[0].acceleration[0] = 2;
	CHECK(kind(1, 0) == BS_KIND_OTHER, "acceleration of its own");
	begin();
	info.more[0].recon[0] = 20;
	CHECK(kind(1, 0) == BS_KIND_OTHER, "reconSpace of another matrix");
	begin();
	info.more[0].step1.center = 20;
	CHECK(kind(1, 0) == BS_KIND_OTHER, "limits of its own");
	CHECK(kind(1, BS_MRD_IS_PHASE_CORRECTION) == BS_KIND_OTHER, "phase correction of another");
	CHECK(kind(1, BS_MRD_IS_NOISE) == BS_KIND_NOISE, "noise is noise");
}

static void of_calibration(void)
{
	struct bs_fail why = { 0 };
	uint32_t row = 0;

	begin();
	CHECK(kind(2, BS_MRD_IS_CALIBRATION) == BS_KIND_CALIBRATION,
	      "a reference of the same steps");
	CHECK(admit(&row, &why) == 0 && row == 3 - 12 + 24, "on its own limits: line %u %s", row,
	      why.text);
	info.more[1].encoded_fov_mm[1] = 120.0f;
	CHECK(kind(2, BS_MRD_IS_CALIBRATION) == BS_KIND_OTHER, "of other steps");
	info.more[1].encoded_fov_mm[1] = 0.0f;
	CHECK(kind(2, BS_MRD_IS_CALIBRATION) == BS_KIND_OTHER, "of steps that nobody knows");
	begin();
	info.encoded[0] = 20;
	info.encoded_fov_mm[0] = 100.0f;
	CHECK(kind(2, BS_MRD_IS_CALIBRATION) == BS_KIND_CALIBRATION,
	      "the first lacks the oversampling that this one has");
	info.more[1].encoded_fov_mm[0] = 100.0f;
	CHECK(kind(2, BS_MRD_IS_CALIBRATION) == BS_KIND_OTHER, "of half the field of view");
	begin();
	head.number_of_samples = 80;
	CHECK(kind(2, BS_MRD_IS_CALIBRATION) == BS_KIND_OTHER, "of other samples");
	begin();
	head.active_channels = 1;
	CHECK(kind(2, BS_MRD_IS_CALIBRATION) == BS_KIND_OTHER, "of other channels");
	begin();
	info.channels = 2;
	head.active_channels = 1;
	CHECK(kind(0, 0) == BS_KIND_OTHER && (head.flags & BS_MRD_MISFIT) != 0 &&
		      admit(&row, &why) == 0 && row == BS_ROW_NONE,
	      "a line of other channels than the header's is no line: %s", why.text);
	CHECK(kind(0, BS_MRD_IS_NOISE) == BS_KIND_NOISE, "noise may be of other channels");
	head.active_channels = 2;
	CHECK(kind(0, BS_MRD_MISFIT) == BS_KIND_IMAGING, "nobody else's mark counts");
	CHECK(kind(0, BS_MRD_FOLDED) == BS_KIND_IMAGING && (head.flags & BS_MRD_FOLDED) == 0,
	      "nor that of several slices");
	info.channels = 0;
	head.active_channels = 1;
	CHECK(kind(0, 0) == BS_KIND_IMAGING, "nor without a word of the header");
	begin();
	head.number_of_samples = 0;
	CHECK(kind(0, 0) == BS_KIND_OTHER, "one without samples");
	begin();
	head.idx.kspace_encode_step_1 = 60;
	CHECK(kind(2, BS_MRD_IS_CALIBRATION) == BS_KIND_OTHER, "outside the grid");
}

static void of_none(void)
{
	struct bs_encodings_left left = { 0 };
	struct bs_fail why = { 0 };
	char words[BS_ENCODINGS_WORDS];
	uint32_t row;

	begin();
	head.encoding_space_ref = 3;
	CHECK(admit(&row, &why) == BS_ERR_INDEX && strstr(why.text, "the header has 3"), "%s",
	      why.text);
	info.encodings = 9;
	head.encoding_space_ref = 8;
	CHECK(admit(&row, &why) == 0 && row == BS_ROW_NONE, "one that is not kept: %s", why.text);
	bs_encodings_see(&left, &head, 0);
	CHECK(strstr(bs_encodings_words(words, sizeof(words), &left, &info, true),
		     "1 readout is of encoding 8, which"),
	      "%s", words);
	(void)kind(2, 0);
	bs_encodings_see(&left, &head, 0);
	CHECK(strstr(bs_encodings_words(words, sizeof(words), &left, &info, true),
		     "2 readouts are of encoding 2 (40 x 24 x 1, 200 x 240 x 5 mm)"),
	      "%s", words);
	left.lines = 0;
	left.calibration = 4;
	CHECK(bs_encodings_words(words, sizeof(words), &left, &info, true)[0] == '\0' &&
		      bs_encodings_words(words, sizeof(words), &left, &info, false)[0] == '4',
	      "calibration is no line");
}

int main(void)
{
	of_lines();
	of_calibration();
	of_none();
	return check_done();
}
