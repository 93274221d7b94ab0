/*
 * test/unit/core/frame/test_averages.c - lines that a scan measures several times: their mean, in
 * whatever order they come; what ends such a frame and what it lacks; and which counters make an
 * image of their own
 */
/* Holds: W48, W49 */
#include "core/frame/recon.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define COILS    3
#define SAMPLES  7
#define DISCARD  2
#define ROWS     5
#define AVERAGES 4
#define STORED   (SAMPLES + DISCARD + 1)
#define VALUES   (2 * COILS * SAMPLES)

static struct bs_fail why;
static float sent[AVERAGES][ROWS][2 * COILS * STORED];

/* ---- an engine that keeps what it is given ---- */

static struct {
	float row[2][ROWS][VALUES];
	uint32_t have[2][ROWS];
	float side[ROWS][VALUES];
	uint32_t sides, finished;
} kept;

static int kept_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *fail)
{
	(void)p, (void)need, (void)fail;
	return 0;
}

static int kept_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		    const struct bs_arm_env *env, struct bs_fail *fail)
{
	(void)p, (void)tables, (void)env, (void)fail;
	*self = &kept;
	return 0;
}

static int kept_begin(void *self, uint32_t frame)
{
	(void)self;
	memset(kept.row[frame], 0, sizeof(kept.row[frame]));
	memset(kept.have[frame], 0, sizeof(kept.have[frame]));
	return 0;
}

static void copy(float *to, const float *data, size_t stride)
{
	for (size_t c = 0; c < COILS; c++)
		memcpy(to + 2 * c * SAMPLES, data + 2 * c * stride, 2 * SAMPLES * sizeof(*to));
}

static int kept_add(void *self, uint32_t frame, uint32_t row, const float *k, const float *data,
		    size_t stride)
{
	(void)k;
	(void)self;
	copy(kept.row[frame][row], data, stride);
	kept.have[frame][row]++;
	return 0;
}

static int kept_side(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		     const struct bs_mrd_acq *head, const float *data, size_t stride)
{
	(void)self, (void)frame, (void)kind, (void)head;
	copy(kept.side[row], data, stride);
	kept.sides++;
	return 0;
}

static int kept_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		      float *image, struct bs_report *report)
{
	(void)self, (void)frame, (void)held, (void)deadline_ns, (void)image, (void)report;
	kept.finished++;
	return 0;
}

static void kept_disarm(void *self)
{
	(void)self;
}

static const struct bs_engine keeper = { .need = kept_need,
					 .arm = kept_arm,
					 .begin = kept_begin,
					 .add = kept_add,
					 .side = kept_side,
					 .image = kept_image,
					 .disarm = kept_disarm };

/* ---- a protocol, and its readouts ---- */

static struct bs_protocol protocol(uint32_t averages)
{
	struct bs_protocol p = lines_of(SAMPLES, ROWS, 1, SAMPLES, COILS);

	p.discard = DISCARD + 1;
	p.slices = 2;
	p.averages = averages;
	return planned(p);
}

struct armed {
	struct bs_arena arena;
	struct bs_recon *r;
	struct bs_recon_image image;
};

static struct bs_scan_info info;

static void open_recon(struct armed *a, const struct bs_protocol *p)
{
	struct bs_need need = { 0 };
	const struct bs_tables tables = { 0 };

	memset(a, 0, sizeof(*a));
	CHECK(bs_recon_need(p, &keeper, &need, &why) == 0, "need %s", why.text);
	CHECK(bs_arena_open(&a->arena, need.total_bytes, &why) == 0, "arena");
	const struct bs_arm_env env = { .arena = &a->arena, .cache_dir = "" };

	CHECK(bs_recon_arm(&a->r, p, &keeper, &tables, &env, &why) == 0, "arm %s", why.text);
	CHECK(a->arena.used <= a->arena.size && a->arena.size - a->arena.used < 64,
	      "arming took what was planned: %zu of %zu", a->arena.used, a->arena.size);
	info = (struct bs_scan_info){ .encoded = { SAMPLES, ROWS, 1 } };
	bs_recon_scan(a->r, &info);
}

static void close_recon(struct armed *a)
{
	bs_recon_disarm(a->r);
	bs_arena_close(&a->arena);
}

static struct bs_mrd_acq head_of(uint32_t average, uint32_t row)
{
	struct bs_mrd_acq h = { .version = 1,
				.number_of_samples = STORED,
				.discard_pre = DISCARD,
				.discard_post = 1,
				.active_channels = COILS,
				.scan_counter = 1 + row + ROWS * average };

	h.idx.average = (uint16_t)average;
	h.idx.kspace_encode_step_1 = (uint16_t)row;
	return h;
}

static int send(struct armed *a, uint32_t average, uint32_t row, uint64_t flags)
{
	struct bs_mrd_acq h = head_of(average, row);

	h.flags = flags;
	return bs_recon_readout(a->r, &h, row, sent[average][row], 1000 + h.scan_counter, &why);
}

static bool pops(struct armed *a)
{
	return bs_recon_pop(a->r, &a->image, INT64_MAX, &why) == 1;
}

/* The largest difference of a row that the engine has from the mean of some averages. */
static double off(uint32_t row, uint32_t averages)
{
	double worst = 0.0;

	for (size_t i = 0; i < VALUES; i++) {
		const size_t at = i / (2 * SAMPLES) * 2 * STORED + 2 * DISCARD + i % (2 * SAMPLES);
		double sum = 0.0;
		double n = 0.0;

		for (uint32_t a = 0; a < AVERAGES; a++)
			if (averages >> a & 1) {
				sum += sent[a][row][at];
				n += 1.0;
			}
		worst = fmax(worst, fabs(kept.row[0][row][i] - sum / n));
	}
	return worst;
}

/* Sums of 4 values below 1 in magnitude: three roundings of at most 2, and the division's. */
#define ROUNDED (4.0 * 2.0 * FLT_EPSILON)

/* ---- what is tested ---- */

static void orders(void)
{
	const struct bs_protocol p = protocol(AVERAGES);
	float first[ROWS][VALUES];
	uint64_t seed = 5;
	struct armed a;

	open_recon(&a, &p);
	for (int turn = 0; turn < 12; turn++) { /* 0: one after the other, 1: line by line */
		uint32_t order[AVERAGES * ROWS];
		int rc = 0;

		for (uint32_t i = 0; i < AVERAGES * ROWS; i++)
			order[i] = turn == 1 ? i % AVERAGES * ROWS + i / AVERAGES : i;
		for (uint32_t i = AVERAGES * ROWS - 1; turn > 1 && i > 0; i--) {
			const uint32_t j = (uint32_t)(check_uniform(&seed) * (i + 1)) % (i + 1);
			const uint32_t other = order[i];

			order[i] = order[j];
			order[j] = other;
		}
		for (uint32_t i = 0; i < AVERAGES * ROWS; i++) {
			CHECK(bs_recon_ready(a.r) == 0, "no image before its last readout");
			rc |= send(&a, order[i] / ROWS, order[i] % ROWS, 0);
		}
		CHECK(rc == 0 && pops(&a) && !bs_recon_ready(a.r), "one image of all averages");
		CHECK(a.image.readouts == AVERAGES * ROWS && a.image.missing == 0 &&
			      a.image.averages == AVERAGES && a.image.lacks[0] == '\0' &&
			      a.image.head.average == 0 &&
			      a.image.last_ns == 1001 + order[AVERAGES * ROWS - 1],
		      "it is whole: %u readouts", a.image.readouts);
		for (uint32_t row = 0; row < ROWS; row++)
			CHECK(off(row, 0xf) <= ROUNDED && kept.have[0][row] == 1,
			      "row %u: off by %g", row, off(row, 0xf));
		if (turn == 0)
			memcpy(first, kept.row[0], sizeof(first));
		CHECK(memcmp(first, kept.row[0], sizeof(first)) == 0, "order %d: the same bytes",
		      turn);
	}
	CHECK(bs_recon_kinds(a.r)->used[BS_KIND_IMAGING] == 12 * AVERAGES * ROWS,
	      "every readout is counted");
	close_recon(&a);
}

/* Row 1 has averages 0 and 2, row 3 none, row 4 the last alone. */
static void fewer(void)
{
	static const uint32_t came[ROWS] = { 0x7, 0x5, 0x7, 0, 0x4 };
	const struct bs_protocol p = protocol(3);
	float first[ROWS][VALUES];
	struct armed a;

	open_recon(&a, &p);
	for (int back = 0; back < 2; back++) {
		for (uint32_t i = 0; i < 3 * ROWS; i++) {
			const uint32_t at = back ? 3 * ROWS - 1 - i : i;

			if (came[at % ROWS] >> at / ROWS & 1)
				CHECK(send(&a, at / ROWS, at % ROWS, 0) == 0, "%s", why.text);
		}
		CHECK(!bs_recon_ready(a.r), "it waits for what lacks");
		bs_recon_close(a.r);
		CHECK(pops(&a) && a.image.readouts == 9 && a.image.missing == 6 &&
			      strcmp(a.image.lacks, "6 of 15 readouts did not come") == 0,
		      "%u readouts, %u missing, '%s'", a.image.readouts, a.image.missing,
		      a.image.lacks);
		for (uint32_t row = 0; row < ROWS; row++)
			CHECK(kept.have[0][row] == (came[row] != 0) &&
				      (came[row] == 0 || off(row, came[row]) <= ROUNDED),
			      "row %u is divided by its own count", row);
		if (!back)
			memcpy(first, kept.row[0], sizeof(first));
	}
	CHECK(memcmp(first, kept.row[0], sizeof(first)) == 0, "backwards: the same bytes");

	CHECK(send(&a, 1, 2, 0) == 0 && send(&a, 1, 2, 0) == 0, "an average comes again");
	struct bs_mrd_acq next = head_of(0, 0);

	next.idx.repetition = 1;
	CHECK(bs_recon_readout(a.r, &next, 0, sent[0][0], 0, &why) == BS_RECON_POP_FIRST &&
		      pops(&a) && a.image.readouts == 1 && kept.have[0][2] == 1 &&
		      off(2, 0x2) <= ROUNDED &&
		      strstr(a.image.lacks, "; 1 of 1 lines (no counter") != NULL &&
		      bs_recon_readout(a.r, &next, 0, sent[0][0], 0, &why) == 0,
	      "the next repetition ends it");
	close_recon(&a);
}

/* Fewer lines a frame than the grid has: what is kept does not outgrow its memory. */
static void crowd(void)
{
	struct bs_protocol p = protocol(2);
	struct armed a;
	int rc = 0;

	p.readouts = 2;
	open_recon(&a, &p);
	for (uint32_t row = 0; row < 2; row++)
		rc |= send(&a, 0, row, 0);
	CHECK(rc == 0 && send(&a, 0, 3, 0) == BS_ERR_INDEX &&
		      strstr(why.text, "more than the 2 readouts of a frame") != NULL,
	      "%s", why.text);
	CHECK(send(&a, 1, 0, 0) == 0 && send(&a, 0, 3, 0) == 0, "a row that is whole makes room");
	close_recon(&a);
}

static void by_header(void)
{
	struct bs_protocol p = protocol(AVERAGES);
	struct armed a;

	p.by_header = 1;
	open_recon(&a, &p);
	info.average = (struct bs_limit){ 0, 1, 0, 1 };
	bs_recon_scan(a.r, &info);
	for (uint32_t i = 0; i < 2 * ROWS; i++) {
		CHECK(bs_recon_ready(a.r) == 0, "no flag of an average before the last ends it");
		CHECK(send(&a, i / ROWS, i % ROWS,
			   i % ROWS == ROWS - 1 ? BS_MRD_LAST_IN_SLICE : 0) == 0,
		      "%s", why.text);
	}
	CHECK(pops(&a) && a.image.averages == 2 && a.image.readouts == 2 * ROWS &&
		      a.image.missing == 0,
	      "two averages, as the header says");
	CHECK(send(&a, 0, 0, 0) == 0 && send(&a, 1, 1, BS_MRD_LAST_IN_SLICE) == 0 &&
		      send(&a, 0, 2, BS_MRD_LAST_IN_MEASUREMENT) == 0 && bs_recon_ready(a.r) == 0,
	      "flags end nothing that lacks lines");
	bs_recon_close(a.r);
	CHECK(pops(&a) && a.image.readouts == 3 && a.image.missing == 2 * ROWS - 3,
	      "the scan does, %u are missing", a.image.missing);

	info.average.max = AVERAGES;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE &&
		      strstr(why.text, "averages 0 to 4 of each line, averages of protocol 'lines' "
				       "is 4") != NULL,
	      "%s", why.text);
	info.average.max = 1;
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "%s", why.text);

	const struct bs_intake in = { .p = &p, .info = &info };
	struct bs_mrd_acq h = head_of(2, 0);
	uint32_t row;

	CHECK(bs_admit_acq(&in, &h, NULL, sent[2][0], &row, &why) == BS_ERR_INDEX &&
		      strstr(why.text, "average 2 of 2") != NULL,
	      "%s", why.text);
	h.idx.average = 1;
	CHECK(bs_admit_acq(&in, &h, NULL, sent[1][0], &row, &why) == 0, "%s", why.text);
	close_recon(&a);
}

/* Separate lines: of the first average. Lines of the image that calibrate: their mean. */
static void calibration(void)
{
	struct bs_protocol p = protocol(2);
	struct armed a;

	p.parallel = BS_PARALLEL_GRAPPA;
	p.uses = 1u << BS_KIND_CALIBRATION;
	bs_plan_make(&p);
	open_recon(&a, &p);
	kept.sides = 0;
	for (uint32_t i = 0; i < 2 * ROWS; i++)
		CHECK(send(&a, i / ROWS, i % ROWS, BS_MRD_IS_CALIBRATION) == 0, "%s", why.text);
	CHECK(kept.sides == ROWS && !bs_recon_ready(a.r) &&
		      bs_recon_kinds(a.r)->used[BS_KIND_CALIBRATION] == ROWS &&
		      bs_recon_kinds(a.r)->unused[BS_KIND_CALIBRATION] == ROWS,
	      "the first average calibrates, the other is counted: %u", kept.sides);
	for (uint32_t i = 0; i < 2 * ROWS; i++)
		CHECK(send(&a, i / ROWS, i % ROWS, i % ROWS < 3 ? BS_MRD_IS_CALIBRATION_TOO : 0) ==
			      0,
		      "%s", why.text);
	CHECK(kept.sides == ROWS + 3 &&
		      memcmp(kept.side[2], kept.row[0][2], sizeof(kept.side[2])) == 0 &&
		      off(2, 0x3) <= ROUNDED && pops(&a) && a.image.readouts == 2 * ROWS,
	      "lines that calibrate, too, do so by their mean");
	info.calibration = BS_CALIBRATION_EMBEDDED;
	bs_recon_scan(a.r, &info);
	for (uint32_t i = 0; i < 2 * ROWS; i++)
		CHECK(send(&a, i / ROWS, i % ROWS, i % ROWS < 2 ? BS_MRD_IS_CALIBRATION : 0) == 0,
		      "%s", why.text);
	CHECK(kept.sides == ROWS + 5 && pops(&a) && a.image.readouts == 2 * ROWS &&
		      bs_recon_kinds(a.r)->used[BS_KIND_CALIBRATION] == 4,
	      "embedded lines, too");
	close_recon(&a);
}

/* Rows 0 and 1, of calibration, several times, the others once; lacks: one of them less often. */
static void alone(bool lacks)
{
	struct bs_protocol p = protocol(2);
	struct armed a;
	int rc = 0;

	p.parallel = BS_PARALLEL_GRAPPA;
	p.uses = 1u << BS_KIND_CALIBRATION;
	bs_plan_make(&p);
	open_recon(&a, &p);
	info.calibration = BS_CALIBRATION_EMBEDDED;
	bs_recon_scan(a.r, &info);
	for (uint32_t i = 0; i < (lacks ? 3u : 4u); i++)
		rc |= send(&a, i / 2, i % 2, BS_MRD_IS_CALIBRATION);
	for (uint32_t row = 2; row < ROWS; row++)
		rc |= send(&a, 0, row, 0);
	bs_recon_close(a.r);
	CHECK(rc == 0 && pops(&a) && a.image.missing == (lacks ? ROWS - 1 : 0u) &&
		      (a.image.lacks[0] != '\0') == lacks,
	      "calibration alone has averages: %u lack, '%s'", a.image.missing, a.image.lacks);
	CHECK(lacks != (strstr(a.image.readout, "calibration lines alone have averages") != NULL),
	      "and that is said: '%s'", a.image.readout);
	close_recon(&a);
}

/* What makes an image of its own: repetition, set, phase; average where they are kept apart. */
static void keys(void)
{
	for (int which = 0; which < 5; which++) {
		const bool makes = which < 4;
		const struct bs_protocol p = protocol(1);
		struct armed a;
		uint32_t images = 0;

		open_recon(&a, &p);
		for (uint32_t i = 0; i < 2 * ROWS; i++) {
			struct bs_mrd_acq h = head_of(0, i % ROWS);
			const uint16_t turn = i >= ROWS;
			uint16_t row = (uint16_t)(i % ROWS);
			int rc;

			h.idx.repetition = which == 0 ? turn : 0;
			h.idx.set = which == 1 ? turn : 0;
			h.idx.phase = which == 2 ? turn : 0;
			h.idx.average = which == 3 ? turn : 0;
			h.idx.segment = which == 4 ? row % 2 : 0;
			if (!makes && turn)
				break;
			rc = bs_recon_readout(a.r, &h, row, sent[turn][row], 0, &why);
			CHECK(rc == 0, "%s", why.text);
			while (bs_recon_ready(a.r) > 0 && pops(&a)) {
				CHECK(a.image.missing == 0 && a.image.averages == 0 &&
					      a.image.head.repetition == h.idx.repetition &&
					      a.image.head.set == h.idx.set &&
					      a.image.head.phase == h.idx.phase &&
					      a.image.head.average == h.idx.average,
				      "the image has the counters");
				images++;
			}
		}
		CHECK(images == (makes ? 2 : 1), "counter %d: %u images", which, images);
		close_recon(&a);
	}
}

/* Two slices, a line of each in turn, each measured twice. */
static void interleaved(void)
{
	const struct bs_protocol p = protocol(2);
	struct armed a;

	open_recon(&a, &p);
	for (uint32_t i = 0; i < 4 * ROWS; i++) {
		struct bs_mrd_acq h = head_of(i / (2 * ROWS), i / 2 % ROWS);

		h.idx.slice = (uint16_t)(i % 2);
		CHECK(bs_recon_readout(a.r, &h, i / 2 % ROWS,
				       sent[h.idx.average + 2 * (i % 2)][i / 2 % ROWS], 0,
				       &why) == 0,
		      "%s", why.text);
	}
	CHECK(bs_recon_ready(a.r) == 2, "both are complete");
	CHECK(off(2, 0x3) <= ROUNDED, "slice 0 has its own lines");
	memcpy(kept.row[0], kept.row[1], sizeof(kept.row[0]));
	CHECK(off(2, 0xc) <= ROUNDED, "slice 1 has its own lines");
	CHECK(pops(&a) && a.image.head.slice == 0 && pops(&a) && a.image.head.slice == 1,
	      "two images");
	close_recon(&a);
}

int main(void)
{
	uint64_t seed = 1;

	for (size_t i = 0; i < sizeof(sent) / sizeof(float); i++)
		(&sent[0][0][0])[i] = (float)(2.0 * check_uniform(&seed) - 1.0);
	orders();
	fewer();
	crowd();
	by_header();
	calibration();
	alone(false);
	alone(true);
	keys();
	interleaved();
	return check_done();
}
