/*
 * test/unit/core/frame/test_open.c - which frame a line belongs to and when it is over: any
 * nesting, any order, lines that are lost, flags that lie, frames that find no place
 */
/* Holds: W44, W45 */
#include "core/frame/open.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <stdlib.h>
#include <string.h>

#define LINES 8u
#define LS    BS_MRD_LAST_IN_SLICE

static struct bs_protocol p;
static struct bs_scan_info info;
static struct bs_lines lines;
static struct bs_opens o;
static uint64_t seed = 9;

static void begin(uint32_t y, uint32_t z, uint32_t lanes)
{
	p = lines_of(8, y, z, 8, 1);
	p.by_header = 1;
	p.slices = p.contrasts = 2;
	bs_opens_free(&o);
	CHECK(bs_opens_make(&o, 4, lanes, y * z) == 0, "places");
	bs_lines_of(&lines, &p, &info);
	bs_opens_scan(&o, &p, &info, &lines);
}

/* 1: taken; 0: another must leave first. */
static int give(struct bs_mrd_idx idx, uint32_t row, uint64_t flags)
{
	const uint32_t pair = bs_protocol_pair(&p, idx.slice, idx.contrast);
	const uint32_t slot = bs_opens_place(&o, pair, &idx);

	if (slot == BS_OPEN_NONE)
		return 0;
	if (o.at[slot].state == BS_OPEN_EMPTY)
		bs_opens_begin(&o, slot, &idx);
	CHECK(!o.at[slot].row[row], "no line lies in another's frame");
	bs_opens_row(&o, slot, row);
	bs_opens_line(&o, slot, flags, false);
	return 1;
}

static int line(uint16_t repetition, uint32_t row, uint64_t flags)
{
	return give((struct bs_mrd_idx){ .repetition = repetition }, row, flags);
}

/* The next one that is over has these: repetition, lines, whether it lacks any. */
static bool leaves(uint16_t repetition, uint32_t have, bool lacks)
{
	const uint32_t slot = bs_opens_over(&o);
	uint32_t shutter;
	bool good;

	if (slot == BS_OPEN_NONE)
		return false;
	good = o.at[slot].idx.repetition == repetition && o.at[slot].have == have &&
	       (bs_opens_missing(&o, slot, have, &shutter) > 0) == lacks;
	bs_opens_empty(&o, slot);
	return good;
}

/* ---- all lines come ---- */

enum { LINE, SLICE, CONTRAST, PHASE, SET, REPETITION, AVERAGE, LOOPS };
static const uint32_t counters[LOOPS] = { LINES, 2, 2, 3, 2, 3, 2 };
#define ALL (LINES * 2 * 2 * 3 * 2 * 3 * 2)

struct item {
	uint32_t at[LOOPS];
};
static struct item item[ALL];
static uint32_t items;

/* The loops in this order, the first one innermost. */
static void nest(const int order[LOOPS], const uint32_t most[LOOPS])
{
	items = 1;
	for (int l = 0; l < LOOPS; l++)
		items *= most[l];
	for (uint32_t i = 0; i < items; i++) {
		uint32_t rest = i;

		for (int l = 0; l < LOOPS; l++) {
			item[i].at[order[l]] = rest % most[order[l]];
			rest /= most[order[l]];
		}
	}
}

static uint32_t up_to(uint32_t n)
{
	return (uint32_t)(n * check_uniform(&seed));
}

static void shuffle(void)
{
	for (uint32_t i = items - 1; i > 0; i--) {
		const uint32_t j = up_to(i + 1);
		const struct item t = item[i];

		item[i] = item[j];
		item[j] = t;
	}
}

static bool is_last(uint32_t i)
{
	for (uint32_t j = i + 1; j < items; j++) {
		bool same = true;

		for (int l = SLICE; l < LOOPS; l++)
			same = same && item[j].at[l] == item[i].at[l];
		if (same)
			return false;
	}
	return true;
}

/* Each frame is over with the last of its lines and not before; none else ends. */
static bool in_order(void)
{
	uint32_t frames = 0;

	begin(LINES, 1, 36);
	for (uint32_t i = 0; i < items; i++) {
		const uint32_t *at = item[i].at;
		const struct bs_mrd_idx idx = { .slice = (uint16_t)at[SLICE],
						.contrast = (uint16_t)at[CONTRAST],
						.phase = (uint16_t)at[PHASE],
						.set = (uint16_t)at[SET],
						.repetition = (uint16_t)at[REPETITION],
						.average = (uint16_t)at[AVERAGE],
						.segment = (uint16_t)up_to(4) };
		const uint64_t flags = up_to(5) == 0 ? BS_MRD_LAST : 0;
		uint32_t slot;

		if (give(idx, at[LINE], flags) == 0)
			return false;
		slot = bs_opens_over(&o);
		if ((slot != BS_OPEN_NONE) != is_last(i))
			return false;
		if (slot == BS_OPEN_NONE)
			continue;
		if (o.at[slot].have != LINES || !o.at[slot].own || o.over != 1 ||
		    memcmp(&o.at[slot].idx.average, &idx.average, 6 * sizeof(idx.average)) != 0)
			return false;
		bs_opens_empty(&o, slot);
		frames++;
	}
	return frames == items / LINES;
}

static void any_order(void)
{
	int order[LOOPS] = { 0, 1, 2, 3, 4, 5, 6 };

	for (int turn = 0; turn < 200; turn++) {
		for (int i = LOOPS - 1; i > 0; i--) {
			const int j = (int)up_to((uint32_t)i + 1);
			const int t = order[i];

			order[i] = order[j];
			order[j] = t;
		}
		nest(order, counters);
		if (!in_order()) {
			CHECK(false, "nesting %d %d %d %d %d %d %d", order[0], order[1], order[2],
			      order[3], order[4], order[5], order[6]);
			return;
		}
	}
	CHECK(true, "200 nestings of line, slice, contrast, phase, set, repetition, average");
	/* of each kind one frame: a whole repetition ends an earlier one that it came behind */
	for (int turn = 0; turn < 100; turn++) {
		nest(order, (const uint32_t[LOOPS]){ LINES, 2, 2, 6, 6, 1, 1 });
		shuffle();
		if (!in_order()) {
			CHECK(false, "order %d", turn);
			return;
		}
	}
	CHECK(true, "and 100 orders without any");
}

/* ---- lines lack ---- */

static void lost(void)
{
	begin(LINES, 1, 2);
	for (uint32_t i = 1; i < LINES; i++)
		(void)line(0, i, i + 1 == LINES ? BS_MRD_LAST : 0);
	CHECK(o.over == 0, "flags of a frame that lacks a line end nothing");
	for (uint32_t i = 0; i < LINES; i++) {
		CHECK(o.over == 0, "and so it waits");
		(void)line(1, i, 0);
	}
	CHECK(leaves(0, LINES - 1, true) && leaves(1, LINES, false),
	      "until a later repetition is whole");

	for (uint32_t i = 1; i < LINES; i++)
		(void)line(2, i, 0);
	for (uint32_t i = 0; i < LINES; i++) {
		CHECK(o.over == 0, "without a flag nothing ends before it is whole");
		(void)line(3, i, 0);
	}
	CHECK(leaves(2, LINES - 1, true) && leaves(3, LINES, false),
	      "a later repetition is whole: the earlier one leaves first");

	(void)line(6, 0, 0);
	for (uint32_t i = 0; i < LINES; i++)
		(void)line(5, i, 0);
	CHECK(leaves(5, LINES, false) && o.over == 0, "an earlier one ends none");
	for (uint32_t i = 0; i + 1 < LINES; i++)
		(void)line(7, i, 0);
	(void)line(6, 1, 0);
	(void)line(7, LINES - 1, 0);
	CHECK(leaves(7, LINES, false) && o.over == 0, "nor one that it comes in turns with");
	(void)give((struct bs_mrd_idx){ .repetition = 8, .set = 1 }, 0, 0);
	bs_opens_close(&o);
	CHECK(leaves(6, 2, true) && leaves(8, 1, true) && o.over == 0, "with the scan all end");

	p.by_header = 0;
	p.readouts = 3;
	(void)line(0, 5, LS);
	(void)line(0, 6, BS_MRD_LAST);
	CHECK(o.over == 0, "by number flags say nothing");
	(void)line(0, 1, 0);
	CHECK(leaves(0, 3, false), "three");
}

static void no_place(void)
{
	begin(LINES, 1, 2);
	(void)line(0, 0, 0);
	(void)line(1, 0, 0);
	(void)line(0, 1, 0);
	CHECK(line(2, 0, 0) == 0 && leaves(1, 1, true) && line(2, 0, 0) == 1 && o.over == 0,
	      "the one untouched longest makes room");
	CHECK(give((struct bs_mrd_idx){ .slice = 1 }, 0, 0) == 1 &&
		      give((struct bs_mrd_idx){ .contrast = 1 }, 0, 0) == 1,
	      "slices and contrasts have places of their own");
	CHECK(line(3, 0, 0) == 0 && o.crowded && o.over == 1, "and it is told");
}

/* ---- what the header cannot say ---- */

/* Lines in this order, the one flagged; whether they end the frame. */
static bool ends(const uint32_t *row, uint32_t n, uint32_t flagged)
{
	begin(LINES, 1, 2);
	for (uint32_t i = 0; i < n; i++) {
		if (o.over > 0)
			return false;
		(void)line(0, row[i], row[i] == flagged ? LS : 0);
	}
	return o.over == 1;
}

/* Every second line, and line 3 that calibrates: nobody knows how many such there are. */
static void remembered(void)
{
	CHECK(ends((const uint32_t[]){ 0, 2, 3, 6, 4 }, 5, 6),
	      "a flag is remembered until what lacked has come");
	CHECK(ends((const uint32_t[]){ 0, 3, 6, 2, 4 }, 5, 6), "two lines");
	CHECK(!ends((const uint32_t[]){ 0, 2, 3, 6, 5, 4 }, 6, 6),
	      "another line came: the flag was not the last one's");
	CHECK(!ends((const uint32_t[]){ 0, 2, 6, 4, 3 }, 5, 6),
	      "nor does it end a frame whose calibration has not come");
	CHECK(!ends((const uint32_t[]){ 0, 2, 3, 6, 4 }, 5, 9), "without a flag it waits");
	bs_opens_close(&o);
	CHECK(leaves(0, 5, false), "for the scan's end");
}

static void calibration(void)
{
	info.acceleration[0] = 2;
	info.calibration = BS_CALIBRATION_EMBEDDED;
	begin(LINES, 1, 2);
	for (uint32_t i = 0; i < LINES; i += 2)
		(void)line(0, i, 0);
	CHECK(o.over == 0, "the pattern is there: calibration may follow");
	(void)line(0, 3, 0);
	for (uint32_t i = 0; i < LINES; i += 2)
		(void)line(1, i, 0);
	CHECK(o.over == 0, "one line fewer than the repetition before");
	(void)line(1, 3, 0);
	CHECK(leaves(0, 5, false) && leaves(1, 5, false), "as many: both are over");
	(void)line(2, 3, 0);
	for (uint32_t i = 0; i < LINES; i += 2)
		(void)line(2, i, 0);
	CHECK(leaves(2, 5, false), "from then on at once");
	for (uint32_t i = 0; i < LINES; i += 2)
		(void)line(3, i, i + 2 == LINES ? LS : 0);
	CHECK(leaves(3, 4, false), "a flag is believed where no line is known to lack");
	remembered();
	info.calibration = BS_CALIBRATION_INTERLEAVED;
	begin(LINES, 1, 2);
	for (uint32_t i = 1; i < LINES; i += 2)
		(void)line(0, i, 0);
	CHECK(leaves(0, 4, false), "nothing lies between the lines of the pattern: it is whole");
	info = (struct bs_scan_info){ 0 };
}

static bool in_shutter(uint32_t row)
{
	const double y = ((double)(row % 16) - 8) / 8;
	const double z = ((double)(row / 16) - 4) / 4;

	return y * y + z * z <= 1.0;
}

static uint32_t shut(uint16_t repetition, bool flags)
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < 16 * 8; row++) {
		bool last = true;

		if (!in_shutter(row))
			continue;
		for (uint32_t other = row + 1; other < 16 * 8; other++)
			last = last && !in_shutter(other);
		(void)line(repetition, row, flags && last ? BS_MRD_LAST_IN_REPETITION : 0);
		n++;
	}
	return n;
}

static void shutter(void)
{
	uint32_t n;

	begin(16, 8, 2);
	n = shut(0, true);
	CHECK(leaves(0, n, false), "a flag ends a frame that lacks a shutter's lines alone");
	(void)shut(1, false);
	CHECK(leaves(1, n, false), "as many as the whole frame before, at once");
	begin(16, 8, 2);
	(void)shut(0, false);
	(void)shut(1, false);
	CHECK(leaves(0, n, false) && leaves(1, n, false), "or a later repetition has as many");
	begin(16, 8, 2);
	o.lost = true;
	(void)shut(0, true);
	CHECK(o.over == 0, "not where a readout was lost: the shutter's lines may have come");
	bs_opens_close(&o);
	CHECK(leaves(0, n, true), "it lacks lines");
}

int main(void)
{
	any_order();
	lost();
	no_place();
	calibration();
	shutter();
	bs_opens_free(&o);
	return check_done();
}
