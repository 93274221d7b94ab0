/*
 * test/unit/core/test_frames.c - which readouts an engine is given, and what ends a frame: a
 * number, or the header and the flags of the stream
 */
/* Holds: W50 */
#include "core/frame/recon.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <stdarg.h>
#include <string.h>

static struct bs_fail why;

static struct bs_protocol cartesian(void)
{
	struct bs_protocol p = lines_of(16, 16, 1, 32, 2);

	p.slices = 2;
	return planned(p);
}

static struct bs_mrd_acq line_head(uint16_t ky)
{
	struct bs_mrd_acq h = { .version = 1,
				.number_of_samples = 32,
				.available_channels = 2,
				.active_channels = 2,
				.scan_counter = 100u + ky };

	h.idx.kspace_encode_step_1 = ky;
	return h;
}

/* An engine that keeps the order of what it is given. */
static char story[512];

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...)
{
	size_t n = strlen(story);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(story + n, sizeof(story) - n, format, args);
	va_end(args);
}

static int told_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *fail)
{
	(void)p;
	(void)need;
	(void)fail;
	return 0;
}

static int told_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		    const struct bs_arm_env *env, struct bs_fail *fail)
{
	static int some;

	(void)p;
	(void)tables;
	(void)env;
	(void)fail;
	*self = &some;
	return 0;
}

static int told_begin(void *self, uint32_t frame)
{
	(void)self;
	tell("begin%u ", frame);
	return 0;
}

static int told_add(void *self, uint32_t frame, uint32_t readout, const float *k, const float *data,
		    size_t stride)
{
	(void)k;
	(void)self;
	tell("add%u:%u(%g,%zu) ", frame, readout, (double)data[0], stride);
	return 0;
}

static int told_side(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		     const struct bs_mrd_acq *head, const float *data, size_t stride)
{
	(void)self;
	(void)stride;
	tell("%.3s%u:%d(%g,%u) ", bs_kind_name(kind), frame, (int)row, (double)data[0],
	     head->number_of_samples);
	return row == 13 ? BS_ERR_NOMEM : 0;
}

static void told_scan(void *self)
{
	(void)self;
	tell("scan ");
}

static int told_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		      float *image, struct bs_report *report)
{
	(void)self;
	(void)held;
	(void)deadline_ns;
	(void)image;
	(void)report;
	tell("finish%u ", frame);
	return 0;
}

static int told_peek(void *self, uint32_t frame, float *image)
{
	(void)self;
	(void)frame;
	(void)image;
	return 0;
}

static void told_disarm(void *self)
{
	(void)self;
}

static const struct bs_engine told = { .need = told_need,
				       .arm = told_arm,
				       .begin = told_begin,
				       .add = told_add,
				       .side = told_side,
				       .scan = told_scan,
				       .image = told_image,
				       .disarm = told_disarm };

static bool story_is(const char *want)
{
	bool same = strcmp(story, want) == 0;

	if (!same)
		printf("# wanted '%s'\n", want);
	return same;
}

static int give(struct bs_recon *r, uint64_t flags, uint16_t ky, uint16_t repetition)
{
	static float data[2 * 2 * 32];
	struct bs_mrd_acq h = line_head(ky);

	h.flags = flags;
	h.idx.repetition = repetition;
	h.number_of_samples = bs_mrd_kind(flags) == BS_KIND_NAVIGATION ? 20 : 32;
	h.discard_pre = 2;
	data[4] = ky;
	bool line =
		bs_mrd_kind(flags) == BS_KIND_IMAGING || bs_mrd_kind(flags) == BS_KIND_CALIBRATION;
	return bs_recon_readout(r, &h, line ? ky : BS_ROW_NONE, data, 7, &why);
}

static void beside(void)
{
	struct bs_protocol p = cartesian();
	const struct bs_arm_env env = { 0 };
	const struct bs_tables tables = { 0 };
	const struct bs_scan_info info = { 0 };
	struct bs_recon_image image = { 0 };
	struct bs_recon *r;
	int n = 0;

	p.readouts = 2;
	CHECK(bs_recon_arm(&r, &p, &told, &tables, &env, &why) == 0, "arm %s", why.text);
	bs_recon_scan(r, &info);
	n += give(r, BS_MRD_IS_NOISE, 0, 0);
	n += give(r, BS_MRD_IS_CALIBRATION, 1, 0);
	n += give(r, BS_MRD_IS_CALIBRATION_TOO, 2, 0);
	CHECK(n == 0 && story_is("scan begin0 add0:2(2,32) "), "lines alone: %s", story);
	CHECK(bs_recon_kinds(r)->used[BS_KIND_IMAGING] == 1 &&
		      bs_recon_kinds(r)->unused[BS_KIND_NOISE] == 1 &&
		      bs_recon_kinds(r)->unused[BS_KIND_CALIBRATION] == 1 &&
		      bs_kinds_sum(bs_recon_kinds(r)) == 3,
	      "and what is not used is counted");

	p.parallel = BS_PARALLEL_GRAPPA;
	p.uses = 1u << BS_KIND_NOISE | 1u << BS_KIND_CALIBRATION | 1u << BS_KIND_NAVIGATION;
	bs_plan_make(&p);
	story[0] = '\0';
	bs_recon_scan(r, &info);
	CHECK(bs_kinds_sum(bs_recon_kinds(r)) == 0, "a scan counts anew");
	n += give(r, BS_MRD_IS_NOISE, 9, 0);
	n += give(r, BS_MRD_IS_CALIBRATION, 1, 0);
	n += give(r, BS_MRD_IS_NAVIGATION, 8, 0);
	n += give(r, BS_MRD_IS_CALIBRATION_TOO, 2, 0);
	n += give(r, BS_MRD_IS_DUMMY, 2, 0);
	n += give(r, BS_MRD_IS_NAVIGATION, 8, 1);
	n += give(r, 0, 3, 0);
	CHECK(n == 0 && story_is("scan cal0:1(1,32) begin0 add0:2(2,32) "
				 "cal0:2(2,32) add0:3(3,32) "),
	      "each kind as it comes, without the discarded samples: %s", story);
	CHECK(bs_recon_pop(r, &image, INT64_MAX, &why) == 1 && image.missing == 0 &&
		      image.kinds.used[BS_KIND_IMAGING] == 2 &&
		      image.kinds.used[BS_KIND_NAVIGATION] == 2 &&
		      image.kinds.used[BS_KIND_CALIBRATION] == 1 &&
		      image.kinds.unused[BS_KIND_DUMMY] == 1,
	      "the image has the counts");

	story[0] = '\0';
	n += give(r, 0, 4, 1);
	CHECK(give(r, BS_MRD_IS_CALIBRATION, 5, 2) == 0 && bs_recon_ready(r) == 0 &&
		      bs_recon_kinds(r)->used[BS_KIND_CALIBRATION] == 2 &&
		      story_is("begin0 add0:4(4,32) cal0:5(5,32) "),
	      "calibration of the next repetition ends nothing: %s", story);
	CHECK(give(r, BS_MRD_IS_CALIBRATION, 13, 2) == BS_ERR_NOMEM && n == 0, "%s", why.text);
	bs_recon_disarm(r);
}

/* Embedded calibration lines are lines of the image for a protocol that uses them. */
static void embedded(void)
{
	struct bs_protocol p = cartesian();
	const struct bs_arm_env env = { 0 };
	const struct bs_tables tables = { 0 };
	const struct bs_scan_info info = { .calibration = BS_CALIBRATION_EMBEDDED };
	struct bs_recon_image made = { 0 };
	struct bs_recon *r;
	int n = 0;

	p.readouts = 3;
	p.parallel = BS_PARALLEL_SENSE;
	p.uses = 1u << BS_KIND_CALIBRATION;
	bs_plan_make(&p);
	CHECK(bs_recon_arm(&r, &p, &told, &tables, &env, &why) == 0, "arm %s", why.text);
	story[0] = '\0';
	bs_recon_scan(r, &info);
	n += give(r, BS_MRD_IS_CALIBRATION, 1, 0);
	n += give(r, BS_MRD_IS_CALIBRATION_TOO, 2, 0);
	n += give(r, 0, 4, 0);
	CHECK(n == 0 && story_is("scan begin0 add0:1(1,32) cal0:1(1,32) add0:2(2,32) cal0:2(2,32) "
				 "add0:4(4,32) "),
	      "embedded: %s", story);
	CHECK(bs_recon_pop(r, &made, INT64_MAX, &why) == 1 && made.readouts == 3 &&
		      made.missing == 0 && made.kinds.used[BS_KIND_CALIBRATION] == 1,
	      "and the image holds them");
	bs_recon_disarm(r);
}

/* ---- as many as the header says ----------------------------------------------------------- */

#define LS BS_MRD_LAST_IN_SLICE
#define LR BS_MRD_LAST_IN_REPETITION
#define LM BS_MRD_LAST_IN_MEASUREMENT

static struct bs_recon_image image;

/* A line of a frame; contrast and repetition of its counters. Images that are due. */
static uint32_t line(struct bs_recon *r, uint64_t flags, uint32_t row, uint16_t contrast,
		     uint16_t repetition)
{
	static float data[2 * 2 * 32];
	struct bs_mrd_acq h = line_head((uint16_t)row);
	int rc;

	h.flags = flags;
	h.idx.contrast = contrast;
	h.idx.repetition = repetition;
	rc = bs_recon_readout(r, &h, row, data, 7, &why);
	CHECK(rc == 0 || rc == BS_RECON_POP_FIRST, "line %u is taken: %s", row,
	      rc < 0 ? why.text : "");
	return bs_recon_ready(r);
}

static bool pops(struct bs_recon *r, uint32_t readouts, uint32_t missing, const char *lacks)
{
	memset(&image, 0, sizeof(image));
	return bs_recon_pop(r, &image, INT64_MAX, &why) == 1 && image.readouts == readouts &&
	       image.missing == missing && strcmp(image.lacks, lacks) == 0;
}

static struct bs_recon *arm(const struct bs_protocol *p, const struct bs_scan_info *info)
{
	const struct bs_arm_env env = { 0 };
	const struct bs_tables tables = { 0 };
	struct bs_recon *r = NULL;

	CHECK(bs_recon_arm(&r, p, &told, &tables, &env, &why) == 0, "arm %s", why.text);
	bs_recon_scan(r, info);
	return r;
}

/* 12 of 16 lines are promised, in any order; a frame is complete with them, flagged or not. */
static void promised(void)
{
	struct bs_scan_info info = { .step1 = { .min = 0, .max = 11, .center = 4, .given = 1 } };
	static const char zeros[] =
		"lines 0 to 3 of 16 were not measured (partial Fourier) and are zeros";
	struct bs_protocol p = cartesian();
	struct bs_recon *r;
	uint32_t due = 0;

	p.by_header = 1;
	r = arm(&p, &info);
	for (uint32_t i = 0; i < 11; i++)
		due += line(r, 0, 15 - i, 0, 0);
	CHECK(due == 0 && line(r, 0, 4, 0, 0) == 1,
	      "the last of the promised lines ends the frame");
	CHECK(pops(r, 12, 0, "") && strcmp(image.zeros, zeros) == 0, "%s", image.zeros);
	for (uint32_t i = 0; i < 11; i++)
		if (i != 5)
			due += line(r, i == 7 ? LR : 0, 4 + i, 0, 1);
	CHECK(due == 0 && line(r, LS, 15, 0, 1) == 0, "no flag ends it, since a line lacks");
	CHECK(line(r, 0, 9, 0, 1) == 1 && pops(r, 12, 0, ""), "it was late: %s", image.lacks);
	(void)line(r, 0, 4, 0, 2);
	CHECK(line(r, 0, 4, 0, 3) == 1 && pops(r, 1, 11, image.lacks) &&
		      strcmp(image.lacks,
			     "11 of 12 readouts did not come while it was open, since more frames "
			     "began than may be open of a slice and contrast, 1 (phases x sets x "
			     "repetitions)") == 0,
	      "where one may be open, the next frame ends it: %s", image.lacks);
	bs_recon_disarm(r);
}

/* Lines beyond the header's limits, of a frame that left without them. */
static void beyond(void)
{
	struct bs_scan_info info = { .step1 = { .min = 0, .max = 13, .center = 8, .given = 1 } };
	struct bs_protocol p = cartesian();
	struct bs_recon *r;
	char words[512];

	p.by_header = 1;
	r = arm(&p, &info);
	for (uint32_t row = 0; row < 14; row++)
		(void)line(r, 0, row, 0, 0);
	CHECK(pops(r, 14, 0, "") && bs_recon_words(r, words, sizeof(words))[0] == '\0',
	      "as many as are promised: %s", words);
	(void)line(r, 0, 14, 0, 0);
	(void)line(r, 0, 15, 0, 0);
	CHECK(strcmp(bs_recon_words(r, words, sizeof(words)),
		     "images 1 to 1 left before it was known: lines came beyond the header's "
		     "limits, in frames that were whole without them (2)") == 0,
	      "two more: %s", words);
	bs_recon_close(r);
	CHECK(pops(r, 2, 14, image.lacks), "an image of their own, partial: %s", image.lacks);
	bs_recon_scan(r, &info);
	for (uint32_t row = 16; row-- > 0;)
		(void)line(r, 0, row, 0, 0);
	CHECK(pops(r, 16, 0, "") && bs_recon_words(r, words, sizeof(words))[0] == '\0',
	      "they came first: %s", words);
	(void)line(r, 0, 15, 0, 0);
	CHECK(bs_recon_words(r, words, sizeof(words))[0] == '\0', "and once more: %s", words);
	bs_recon_disarm(r);
}

/* R = 3 with lines 5, 8, .. 14 and calibration between them, of two contrasts in turns. */
static void accelerated(void)
{
	struct bs_scan_info info = { .acceleration = { 3, 1 } };
	static const char folded[] = "accelerated 3 x 1, and this protocol does not unfold it";
	struct bs_protocol p = cartesian();
	struct bs_recon *r;
	uint32_t due = 0;

	p.by_header = 1;
	p.contrasts = 2;
	p.slices = 1;
	bs_plan_make(&p);
	r = arm(&p, &info);
	for (uint32_t row = 2; row < 16; row++)
		for (uint16_t c = 0; c < 2; c++) {
			bool grid = row % 3 == 2;
			bool both = row >= 5 && row <= 11;

			if (grid && row < 14)
				due += line(r, both ? BS_MRD_IS_CALIBRATION_TOO : 0, row, c, 0);
			else if (both)
				due += line(r, BS_MRD_IS_CALIBRATION, row, c, 0);
		}
	CHECK(due == 0 && line(r, LS | LR, 14, 0, 0) == 1, "contrast 0 has its last line");
	CHECK(pops(r, 5, 0, folded) && image.head.contrast == 0, "%s", image.lacks);
	CHECK(line(r, LS | LR | LM, 14, 1, 0) == 1 && pops(r, 5, 0, folded) &&
		      image.head.contrast == 1,
	      "contrast 1 as well: the other's flags were not its own");

	for (uint32_t row = 0; row < 15; row += 3) /* another beginning; 6 and 15 are lost */
		if (row != 6)
			due += line(r, 0, row, 0, 1);
	CHECK(due == 0 && line(r, BS_MRD_IS_CALIBRATION | LS, 7, 0, 1) == 0,
	      "a calibration line that is last ends no frame that lacks lines");
	bs_recon_close(r);
	CHECK(pops(r, 4, 2,
		   "2 of 6 readouts did not come; accelerated 3 x 1, and this protocol does "
		   "not unfold it"),
	      "%s", image.lacks);
	for (uint32_t row = 0; row < 16; row += 3)
		due += line(r, 0, row, 0, 2);
	CHECK(due == 1 && pops(r, 6, 0, folded), "more than the whole one before: %s", image.lacks);
	for (uint32_t row = 1; row < 16; row += 3)
		due += row < 13 ? line(r, 0, row, 0, 3) : 0;
	CHECK(due == 1 && line(r, 0, 13, 0, 3) == 0 &&
		      line(r, BS_MRD_IS_CALIBRATION | LS, 7, 0, 3) == 1 && pops(r, 5, 0, folded),
	      "a calibration line that is last ends a frame that lacks none: %s", image.lacks);
	CHECK(line(r, BS_MRD_IS_CALIBRATION | LS, 7, 0, 1) == 0, "one before a frame ends nothing");
	bs_recon_disarm(r);
}

/* Some streams flag each partition's last line: only a frame that lacks nothing believes them. */
static void partitions(void)
{
	struct bs_scan_info info = { .acceleration = { 2, 2 } };
	struct bs_protocol p = cartesian();
	struct bs_recon *r;
	uint32_t due = 0;

	p.by_header = 1;
	p.dims = 3;
	p.matrix[2] = p.encoded[2] = 4;
	p.readouts = 64;
	bs_plan_make(&p);
	r = arm(&p, &info);
	for (uint32_t z = 1; z < 4; z += 2)
		for (uint32_t y = z / 2; y < 16; y += 2) /* shifted from partition to partition */
			due += line(r, y >= 14 && z == 1 ? LS : 0, y + 16 * z, 0, 0);
	CHECK(due == 0 && line(r, LS, 7 + 16, 0, 0) == 1 &&
		      pops(r, 17, 0, "accelerated 2 x 2, and this protocol does not unfold it"),
	      "%s", image.lacks);
	due += line(r, 0, 16, 0, 1);
	CHECK(due == 0 && line(r, LR, 46 + 16, 0, 1) == 0, "nor is any other believed");
	bs_recon_close(r);
	CHECK(bs_recon_pop(r, &image, INT64_MAX, &why) == 1 && image.missing == 14,
	      "with the scan it ends: %u missing", image.missing);
	bs_recon_disarm(r);
}

/* By number, as ever: flags end nothing; what no line tells of is said. */
static void numbered(void)
{
	const struct bs_scan_info info = { 0 };
	struct bs_protocol p = cartesian();
	struct bs_recon *r;

	p.readouts = 3;
	p.samples = 24;
	r = arm(&p, &info);
	CHECK(line(r, LS | LR | LM, 4, 0, 0) == 0 && line(r, 0, 5, 0, 0) == 0 &&
		      line(r, 0, 6, 0, 0) == 1,
	      "three lines");
	CHECK(pops(r, 3, 0, "13 of 16 lines were not measured") &&
		      strcmp(image.zeros, "samples 0 to 7 of 32 were not measured (asymmetric "
					  "echo) and are zeros") == 0,
	      "%s; %s", image.lacks, image.zeros);
	bs_recon_disarm(r);
	p.parallel = BS_PARALLEL_SENSE;
	bs_plan_make(&p);
	r = arm(&p, &info);
	for (uint32_t row = 4; row < 7; row++)
		(void)line(r, 0, row, 0, 0);
	CHECK(pops(r, 3, 0, ""), "a mask that the solver fills lacks nothing: %s", image.lacks);
	bs_recon_disarm(r);
	p = cartesian();
	r = arm(&p, &info);
	for (uint32_t row = 0; row < 16; row++)
		(void)line(r, 0, row, 0, 0);
	CHECK(pops(r, 16, 0, ""), "all lines lack nothing: %s", image.lacks);
	bs_recon_disarm(r);
}

/* A table has its own number; the flag tells that the rest will not come. */
static void table(void)
{
	const struct bs_scan_info info = { .acceleration = { 2, 1 } };
	struct bs_protocol p = cartesian();
	struct bs_recon *r;
	uint32_t due = 0;

	p.method = BS_METHOD_SENSE;
	p.traj.type = BS_TRAJ_FILE;
	p.by_header = 1;
	p.readouts = 5;
	bs_plan_make(&p);
	r = arm(&p, &info);
	for (uint32_t row = 0; row < 4; row++)
		due += line(r, 0, row, 0, 0);
	CHECK(due == 0 && line(r, 0, 4, 0, 0) == 1 && pops(r, 5, 0, ""),
	      "complete; what is accelerated, sense unfolds: %s", image.lacks);
	CHECK(line(r, 0, 0, 0, 1) == 0 && line(r, LS, 4, 0, 1) == 0, "2 of 5, and a flag");
	bs_recon_close(r);
	CHECK(pops(r, 2, 3, "3 of 5 readouts did not come"), "%s", image.lacks);
	bs_recon_disarm(r);
	p.method = BS_METHOD_GRIDDING;
	bs_plan_make(&p);
	r = arm(&p, &info);
	for (uint32_t row = 0; row < 5; row++)
		(void)line(r, 0, row, 0, 0);
	CHECK(pops(r, 5, 0, "accelerated 2 x 1, and this protocol does not unfold it"),
	      "gridding: %s", image.lacks);
	bs_recon_disarm(r);
}

/* ---- device memory: of every engine that is armed ---- */

static int told_device(const struct bs_protocol *p, const float *field, struct bs_need *need,
		       struct bs_fail *w)
{
	(void)w;
	bs_need_add(need, "told", 1, p->method == BS_METHOD_GRIDDING ? 640 : 64);
	if (field != NULL)
		bs_need_add(need, "of the map", 1, (uint64_t)*field);
	return 0;
}

static uint64_t device_with(const struct bs_protocol *p, const struct bs_engine *engine,
			    const float *field)
{
	struct bs_need need = { 0 };

	return bs_recon_device(p, engine, field, &need, &why) == 0 ? need.total_bytes : UINT64_MAX;
}

static uint64_t device_of(const struct bs_protocol *p, const struct bs_engine *engine)
{
	return device_with(p, engine, NULL);
}

static void devices(void)
{
	const float field = 1280.0f;
	const struct bs_engine gridder = { .device = told_device, .peek = told_peek };
	struct bs_engine solver = { .device = told_device, .preview = &gridder };
	struct bs_protocol p = cartesian();

	p.method = BS_METHOD_LS;
	bs_plan_make(&p);
	CHECK(device_of(&p, &told) == 0, "an engine that tells none");
	CHECK(device_of(&p, &solver) == 64, "its own alone");
	CHECK(device_with(&p, &solver, &field) == 1344, "with what a field map decides");
	p.preview_every = 4;
	bs_plan_make(&p);
	CHECK(device_of(&p, &solver) == 704, "and that of its previews");
	p.on_miss = BS_MISS_SHED;
	p.image_ms = 5.0;
	CHECK(device_of(&p, &solver) == 1344, "and that of what stands in");
	solver.device = NULL;
	CHECK(device_of(&p, &solver) == 1280, "of those that tell it");
	p.frame_step = 3;
	bs_plan_make(&p);
	CHECK(device_of(&p, &solver) == UINT64_MAX, "refused as need refuses: %s", why.text);
}

int main(void)
{
	devices();
	beside();
	embedded();
	promised();
	beyond();
	accelerated();
	partitions();
	numbered();
	table();
	return check_done();
}
