/*
 * test/unit/core/frame/test_center.c - where k-space's center is taken from: the header, readouts,
 * neither; when partial Fourier is left as zeros, and the words; through frames
 */
/* Holds: W46 */
#include "core/frame/recon.h"

#include <stdio.h>
#include <string.h>

#include "test/support/check.h"

static const uint32_t size[2] = { 64, 16 };
static uint8_t came[64 * 16];
static struct bs_fail why;

static struct bs_mrd_idx line(uint16_t ky, uint16_t kz, uint16_t y, uint16_t z)
{
	struct bs_mrd_idx i = { .kspace_encode_step_1 = ky, .kspace_encode_step_2 = kz };

	i.user[5] = y;
	i.user[6] = z;
	return i;
}

/* Of limits 0 to max with this center, and a line that says another. */
static struct bs_center of(uint32_t max, uint32_t header, uint16_t ky, uint16_t said)
{
	const struct bs_scan_info info = { .step1 = { 0, max, header, 1 } };
	const struct bs_mrd_idx i = line(ky, 0, said, 0);
	struct bs_center c;

	bs_center_of(&c, size, &info, &i);
	return c;
}

static void taken(void)
{
	const struct bs_scan_info info = { .step1 = { 0, 47, 32, 1 }, .step2 = { 0, 11, 8, 1 } };
	const struct bs_scan_info none = { .channels = 1 };
	const struct bs_mrd_idx told = line(3, 2, 16, 4);
	const struct bs_mrd_idx half = line(3, 2, 0, 4);
	char text[BS_CENTER_WORDS];
	struct bs_center c;

	bs_center_of(&c, size, &info, NULL);
	CHECK(c.line[0] == 32 && c.line[1] == 8 && !c.told[0] && !c.told[1], "the header's");
	CHECK(bs_center_words(text, sizeof(text), &c)[0] == '\0', "of which there are no words");
	bs_center_of(&c, size, &info, &told);
	CHECK(c.line[0] == 16 && c.line[1] == 4 && c.told[0] && c.told[1], "the readout's");
	CHECK(strcmp(bs_center_words(text, sizeof(text), &c),
		     "line 16 by idx.user[5] of the readouts, not 32 as by the header; partition 4 "
		     "by idx.user[6] of the readouts, not 8 as by the header") == 0,
	      "%s", text);
	bs_center_of(&c, size, &info, &half);
	CHECK(c.line[0] == 32 && c.line[1] == 4 && !c.told[0] && c.told[1], "each axis by itself");
	bs_center_of(&c, size, &none, NULL);
	CHECK(c.line[0] == 32 && c.line[1] == 8, "half of the grid without limits");
	bs_center_of(&c, size, &none, &told);
	CHECK(c.told[0] && strncmp(bs_center_words(text, sizeof(text), &c),
				   "line 16 by idx.user[5] of the readouts, not 32 as in the "
				   "middle of the grid; ",
				   77) == 0,
	      "%s", text);
	c = of(47, 16, 3, 16);
	CHECK(c.told[0] && bs_center_words(text, sizeof(text), &c)[0] == '\0', "both say the same");
	c = of(63, 32, 3, 20);
	CHECK(!c.told[0] && c.line[0] == 32, "lines 0 to 63 about 20 are off the grid");
	c = of(199, 40, 3, 20);
	CHECK(c.told[0] && c.line[0] == 20, "so are those about either");
	c = of(0, 0, 40, 32);
	CHECK(c.told[0] && c.line[0] == 32, "limits of one line say nothing");
	c = of(0, 0, 40, 3);
	CHECK(!c.told[0], "nor does what would put this line off the grid");
}

static uint32_t unknown(const struct bs_center *c, uint32_t strongest)
{
	return bs_center_unknown(c, size, came, strongest);
}

static void lines_of(uint32_t from, uint32_t to, uint32_t step)
{
	memset(came, 0, sizeof(came));
	for (uint32_t y = from; y < to; y += step)
		for (uint32_t z = 0; z < size[1]; z++)
			came[z * size[0] + y] = 1;
}

/* The place of a line on the central partition. */
static uint32_t on(uint32_t y)
{
	return 8 * size[0] + y;
}

static void left(void)
{
	struct bs_center c = { .line = { 32, 8 }, .header = { 32, 8 } };
	const struct bs_center told = { .line = { 16, 8 }, .header = { 32, 8 }, .told = { true } };
	char text[320];

	lines_of(0, 64, 1);
	CHECK(unknown(&c, on(3)) == 0, "a whole grid has no end to fill");
	lines_of(0, 48, 1);
	CHECK(unknown(&c, on(32)) == 0 && unknown(&c, on(29)) == 0 && unknown(&c, on(35)) == 0,
	      "the strongest line at the header's center, or near it");
	CHECK(unknown(&c, on(16)) == 1 && unknown(&c, on(28)) == 1 && unknown(&c, on(36)) == 1,
	      "elsewhere");
	CHECK(unknown(&told, on(5)) == 0, "what readouts say needs no proof");
	CHECK(strcmp(bs_center_unknown_words(text, sizeof(text), &c, size, 1, on(16)),
		     "not filled, the center is not known "
		     "(readouts say none that fits): line 32 by the "
		     "header, the strongest is 16") == 0,
	      "%s", text);
	CHECK(strcmp(bs_center_unknown_words(text, sizeof(text), &c, size, 3, 4 * 64 + 16),
		     "not filled, the center is not known "
		     "(readouts say none that fits): line 32 by the "
		     "header, the strongest is 16, partition 8 by the header, the strongest is "
		     "4") == 0,
	      "%s", text);
	lines_of(0, 62, 1);
	CHECK(unknown(&c, on(31)) == 0 && unknown(&c, on(30)) == 1, "few lines are left out");
	lines_of(0, 46, 3);
	CHECK(unknown(&c, on(29)) == 0 && unknown(&c, on(28)) == 1, "by the gap between lines");
	lines_of(0, 32, 1);
	c.told[0] = true;
	CHECK(unknown(&c, on(31)) == 1, "the center did not come");
	CHECK(strcmp(bs_center_unknown_words(text, sizeof(text), &c, size, 1, on(31)),
		     "not filled: the center, line 32, was not measured") == 0,
	      "%s", text);
	memset(came, 0, sizeof(came));
	memset(came, 1, (size_t)64 * 12);
	CHECK(unknown(&c, 4 * 64 + 32) == 2 && unknown(&c, 8 * 64 + 2) == 0, "partitions alike");
}

static void weighed(void)
{
	float data[2 * 2 * 21];

	for (int i = 0; i < 84; i++)
		data[i] = (float)(i + 1);
	CHECK(bs_center_energy(data + 2, 21, 2, 19) ==
		      (40. * 41 * 81 - 2. * 3 * 5 + 82. * 83 * 165 - 44. * 45 * 89) / 6,
	      "the sum of squares of both channels");
}

/* ---- through frames ------------------------------------------------------------------------ */

static uint32_t reported; /* what finish was told to leave */

static int none_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *fail)
{
	(void)p;
	(void)need;
	(void)fail;
	return 0;
}

static int none_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		    const struct bs_arm_env *env, struct bs_fail *fail)
{
	(void)p;
	(void)tables;
	(void)env;
	(void)fail;
	*self = &reported;
	return 0;
}

static int none_begin(void *self, uint32_t frame)
{
	(void)self;
	(void)frame;
	return 0;
}

static int none_add(void *self, uint32_t frame, uint32_t row, const float *k, const float *data,
		    size_t stride)
{
	(void)k;
	(void)self;
	(void)frame;
	(void)row;
	(void)data;
	(void)stride;
	return 0;
}

static int none_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		      float *pixels, struct bs_report *report)
{
	(void)self;
	(void)frame;
	(void)held;
	(void)deadline_ns;
	(void)pixels;
	reported = report->unknown;
	return 0;
}

static void none_disarm(void *self)
{
	(void)self;
}

static const struct bs_engine none = { .need = none_need,
				       .arm = none_arm,
				       .begin = none_begin,
				       .add = none_add,
				       .image = none_image,
				       .disarm = none_disarm };

static struct bs_protocol partial = { .name = "partial",
				      .method = BS_METHOD_CARTESIAN,
				      .dims = 2,
				      .traj.type = BS_TRAJ_CARTESIAN,
				      .matrix = { 8, 64, 1 },
				      .encoded = { 8, 64, 1 },
				      .fov_mm = { 8.0f, 64.0f, 1.0f },
				      .coils = 1,
				      .samples = 8,
				      .readouts = 64,
				      .by_header = 1,
				      .slices = 1,
				      .contrasts = 1,
				      .partial_fourier = BS_PARTIAL_FOURIER_POCS };

static int put(struct bs_recon *r, const struct bs_scan_info *info, uint16_t ky, uint16_t said,
	       uint16_t strongest)
{
	struct bs_mrd_acq h = { .version = 1,
				.number_of_samples = 8,
				.active_channels = 1,
				.available_channels = 1,
				.center_sample = 4,
				.scan_counter = ky };
	float data[16] = { [8] = ky == strongest ? 9.0f : 1.0f };
	const struct bs_intake in = { .p = &partial, .info = info };
	uint32_t row;
	int rc;

	h.idx = line(ky, 0, said, 0);
	rc = bs_admit_acq(&in, &h, NULL, data, &row, &why);
	return rc == 0 ? bs_recon_readout(r, &h, row, data, 1, &why) : rc;
}

/* Lines 0 to 47 of one frame, and its image. */
static void frame(struct bs_recon_image *image, const struct bs_scan_info *info, uint16_t said,
		  uint16_t strongest, uint16_t other)
{
	static float pixels[8 * 64];
	const struct bs_arm_env env = { 0 };
	const struct bs_tables tables = { 0 };
	struct bs_recon *r = NULL;

	image->pixels = pixels;
	CHECK(bs_recon_arm(&r, &partial, &none, &tables, &env, &why) == 0, "arm %s", why.text);
	bs_recon_scan(r, info);
	for (uint16_t ky = 0; ky < 48; ky++)
		CHECK(put(r, info, ky, said, strongest) == 0, "line %u: %s", ky, why.text);
	CHECK(bs_recon_ready(r) == 1 && bs_recon_pop(r, image, INT64_MAX, &why) == 1,
	      "48 lines are all that the header promises");
	CHECK(other == said || (put(r, info, 5, other, 0) == BS_ERR_INDEX &&
				strstr(why.text, "by the scan's first line") != NULL),
	      "another center later: %s", why.text);
	bs_recon_disarm(r);
}

static void frames(void)
{
	const struct bs_scan_info info = { .step1 = { 0, 47, 32, 1 } };
	static const char zeros[] =
		"lines 48 to 63 of 64 were not measured (partial Fourier); not filled, the center "
		"is not known "
		"(readouts say none that fits): line 32 by the header, the strongest is 16";
	static struct bs_recon_image image;
	char remark[BS_REMARK_WORDS];

	frame(&image, &info, 16, 3, 17);
	CHECK(reported == 0 && image.lacks[0] == '\0', "filled about the readouts' center: %s",
	      image.lacks);
	CHECK(strcmp(bs_image_remark(remark, sizeof(remark), &image),
		     "the center of k-space is line 16 by idx.user[5] of the readouts, not 32 as "
		     "by the header") == 0,
	      "%s", remark);
	frame(&image, &info, 0, 32, 16);
	CHECK(reported == 0 && image.lacks[0] == '\0' && image.center[0] == '\0',
	      "filled about the header's: %s", image.lacks);
	frame(&image, &info, 0, 16, 0);
	CHECK(reported == 1 && image.missing == 0 && strcmp(image.lacks, zeros) == 0,
	      "left as zeros: %s", image.lacks);
}

int main(void)
{
	bs_plan_make(&partial);
	taken();
	left();
	weighed();
	frames();
	return check_done();
}
