/*
 * test/unit/gpu/calibrate/test_region.c - which calibration lines count, and the box that they make
 */
#include "gpu/calibrate/region.h"
#include "test/support/check.h"

#include <string.h>

#define COILS 2

static struct bs_region *region;
static struct bs_arena arena;
static struct bs_region_spec spec;

static int open_region(const struct bs_region_spec *s, struct bs_fail *why)
{
	struct bs_need need = { 0 };
	int rc = bs_region_need(s, &need, why);

	spec = *s;
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	return rc != 0 ? rc : bs_region_plan(&region, s, &arena, why);
}

static void close_region(void)
{
	bs_region_close(region);
	bs_arena_close(&arena);
}

/* A readout whose samples say where they belong. */
static float value(uint32_t frame, uint32_t line, uint32_t coil, uint32_t sample, int pass)
{
	return (float)(((frame * 4096 + line) * 4 + coil) * 32 + sample) + 0.25f * (float)pass;
}

static void send(uint32_t frame, uint32_t line, bool flagged, int pass)
{
	float data[COILS][40][2];

	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t i = 0; i < 40; i++) {
			data[c][i][0] = value(frame, line, c, i, pass);
			data[c][i][1] = -1.0f;
		}
	bs_region_add(region, frame, line, flagged, &data[0][0][0], 40);
}

/* The box's samples are those of these lines. */
static bool holds(const struct bs_grappa_lines *b, uint32_t frame, uint32_t y0, uint32_t z0,
		  int pass)
{
	const uint32_t missing = spec.encoded[0] - spec.samples;

	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t z = 0; z < b->lines[1]; z++)
			for (uint32_t y = 0; y < b->lines[0]; y++)
				for (uint32_t x = 0; x < spec.encoded[0]; x++) {
					const float *at =
						b->at + 2 * (c * b->coil_step + z * b->z_step +
							     y * b->y_step + x);
					const uint32_t line = y0 + y + (z0 + z) * spec.encoded[1];

					if (at[0] != (x < missing ? 0.0f
								  : value(frame, line, c,
									  x - missing, pass)))
						return false;
				}
	return true;
}

static void flat(void)
{
	const struct bs_region_spec s = { { 20, 21, 1 }, 16, COILS, { 8, 1 }, 2, 2, 1, false };
	const uint32_t least[2] = { 4, 1 };
	struct bs_grappa_lines b;
	struct bs_fail why = { 0 };
	uint64_t version;

	CHECK(open_region(&s, &why) == 0, "region %s", why.text);
	CHECK(!bs_region_box(region, 1, least, &b) && b.lines[0] == 0, "nothing has come");
	for (uint32_t l = 0; l < 21; l++) /* k = 0 is 10, the window 6 .. 13 */
		if (l != 12)
			send(1, l, false, 0);
	CHECK(bs_region_box(region, 1, least, &b) && b.lines[0] == 6 && holds(&b, 1, 6, 0, 0),
	      "lines of the image: 6 to 11 (%u)", b.lines[0]);
	version = b.version;
	send(1, 9, false, 1);
	CHECK(bs_region_box(region, 1, least, &b) && b.version == version && holds(&b, 1, 6, 0, 0),
	      "once taken, the image's later lines are left out");
	send(1, 10, true, 2);
	CHECK(!bs_region_box(region, 1, least, &b) && b.lines[0] == 1,
	      "calibration lines have come: the image's do not count");
	for (uint32_t l = 8; l < 12; l++)
		send(1, l, true, 2);
	send(1, 9, false, 3);
	CHECK(bs_region_box(region, 1, least, &b) && b.lines[0] == 4 && holds(&b, 1, 8, 0, 2) &&
		      b.version != version,
	      "calibration lines 8 to 11, another version");
	CHECK(bs_region_box(region, 0, least, &b) && holds(&b, 1, 8, 0, 2),
	      "the slice's other contrast has none: it takes these");
	CHECK(!bs_region_box(region, 2, least, &b), "another slice does not");
	bs_region_scan(region);
	CHECK(!bs_region_box(region, 1, least, &b) && b.lines[0] == 0, "another scan");
	close_region();
}

static void solid(void)
{
	const struct bs_region_spec s = { { 12, 16, 10 }, 12, COILS, { 8, 6 }, 1, 1, 1, false };
	const uint32_t least[2] = { 2, 2 };
	struct bs_grappa_lines b;
	struct bs_fail why = { 0 };

	CHECK(open_region(&s, &why) == 0, "region %s", why.text);
	/* the window is y 4 .. 11, z 2 .. 7; an ellipse of lines around y 8, z 5 */
	for (int z = 0; z < 10; z++)
		for (int y = 0; y < 16; y++)
			if ((y - 8) * (y - 8) + 2 * (z - 5) * (z - 5) <= 12)
				send(0, (uint32_t)(z * 16 + y), true, 0);
	CHECK(bs_region_box(region, 0, least, &b) && b.lines[0] == 5 && b.lines[1] == 5 &&
		      holds(&b, 0, 6, 3, 0),
	      "of an ellipse of 33 lines the largest box: 5 x 5 (%u x %u)", b.lines[0], b.lines[1]);
	close_region();
}

static void refusals(void)
{
	struct bs_region_spec s = { { 20, 21, 1 }, 16, COILS, { 22, 1 }, 1, 1, 1, false };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };

	CHECK(bs_region_need(&s, &need, &why) == BS_ERR_CONFIG, "%s", why.text);
	s.lines[0] = 8;
	s.samples = 21;
	CHECK(bs_region_need(&s, &need, &why) == BS_ERR_CONFIG, "%s", why.text);
}

int main(void)
{
	flat();
	solid();
	refusals();
	return check_done();
}
