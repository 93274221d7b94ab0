/* test/unit/core/test_online.c - paths of readouts: on the line that their counters name, or off */
/* Holds: W53 */
#include "core/traj/online.h"

#include <string.h>

#include "test/support/check.h"

#define N 32

static float k[3 * N];
static struct bs_mrd_acq head;
static struct bs_scan_info info;
static uint32_t encoded[3], line[2];

/* Line 5 of 32 x 24, in the header's unit, of so many components. */
static void put(const char *unit, double step_x, double step_y, uint16_t dims)
{
	memset(&info, 0, sizeof(info));
	memset(&head, 0, sizeof(head));
	memset(k, 0, sizeof(k));
	for (int a = 0; a < 3; a++) {
		encoded[a] = info.encoded[a] = (const uint32_t[]){ 32, 24, 1 }[a];
		info.encoded_fov_mm[a] = 100.0f;
	}
	(void)strcpy(info.trajectory_unit, unit);
	head.number_of_samples = N;
	head.trajectory_dimensions = dims;
	line[0] = 5;
	line[1] = 0;
	for (int s = 0; s < N; s++) {
		k[s * dims] = (float)((s - N / 2) * step_x);
		if (dims > 1)
			k[s * dims + 1] = (float)((5 - 12) * step_y);
	}
}

static bool on_line(void)
{
	return bs_traj_on_line(&head, k, &info, encoded, line);
}

static void add(int axis, double first, double each)
{
	for (int s = 0; s < N; s++)
		k[s * head.trajectory_dimensions + axis] += (float)(first + s * each);
}

static void units(void)
{
	static const struct {
		const char *unit;
		double x, y;
	} all[] = { { "cycles/voxel", 1.0 / 32, 1.0 / 24 },
		    { "cycles/fov", 1.0, 1.0 },
		    { "rad/voxel", 6.283185307 / 32, 6.283185307 / 24 },
		    { "rad/m", 62.83185307, 62.83185307 },
		    { "", 10.0, 10.0 },
		    { "furlongs", 0.3, 0.4 } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const bool known = i < 4;

		put(all[i].unit, all[i].x, all[i].y, 3);
		CHECK(on_line(), "'%s': points of the line", all[i].unit);
		add(1, 0.0, all[i].y / N / 2);
		CHECK(!on_line(), "'%s': half a line farther at its end", all[i].unit);
		put(all[i].unit, 0.97 * all[i].x, all[i].y, 2);
		CHECK(on_line() == !known, "'%s': steps of 0.97", all[i].unit);
		put(all[i].unit, all[i].x, all[i].y, 2);
		add(0, 0.5 * all[i].x, 0.0);
		CHECK(on_line() == !known, "'%s': half a sample late", all[i].unit);
		put(all[i].unit, all[i].x, all[i].y, 2);
		line[0] = 6;
		CHECK(on_line() == !known, "'%s': another line's", all[i].unit);
		put(all[i].unit, all[i].x, all[i].y, 1);
		k[20] += (float)(0.5 * all[i].x);
		CHECK(!on_line(), "'%s': uneven steps", all[i].unit);
	}
}

int main(void)
{
	units();
	put("cycles/voxel", 0.0, 0.0, 3);
	CHECK(on_line(), "zeros");
	k[3 * 7 + 2] = 0.5f;
	CHECK(!on_line(), "but one: no line that goes along x");
	put("cycles/voxel", 1.0 / 32, 1.0 / 24, 3);
	add(2, 0.3, 0.0);
	CHECK(on_line(), "a third component in 2D is not looked at");
	put("cycles/voxel", -1.0 / 32, 1.0 / 24, 2);
	CHECK(!on_line(), "backwards without the flag");
	head.flags = BS_MRD_IS_REVERSE;
	CHECK(on_line(), "and with it");
	put("cycles/voxel", 1.0 / 32, 1.0 / 24, 2);
	k[0] = k[1] = 0.7f;
	CHECK(!on_line(), "a sample elsewhere");
	head.discard_pre = 1;
	CHECK(on_line(), "that is discarded");
	head.discard_post = N - 1;
	CHECK(on_line(), "nothing is left");
	put("", 0.0, 0.0, 0);
	CHECK(on_line(), "no path");
	return check_done();
}
