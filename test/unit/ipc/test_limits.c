/*
 * test/unit/ipc/test_limits.c - encodingLimits as tools write them: what is taken, and what is said
 */
/* Holds: W30 */
#include "ipc/wire/limits.h"
#include "test/support/check.h"

#include <string.h>

#define NO INT64_MIN /* not there */

static struct bs_scan_info info;

/* Of 20 lines on a grid, or more partitions. */
static const struct bs_limit *step(int n, uint32_t size, int64_t min, int64_t max, int64_t center)
{
	static const char *const names[] = { "kspace_encoding_step_1", "kspace_encoding_step_2" };
	static const char *const parts[] = { "minimum", "maximum", "center" };
	const int64_t v[3] = { min, max, center };
	struct bs_limits l = { 0 };

	info = (struct bs_scan_info){ .encoded = { 24, 20, 1 }, .recon = { 24, 20, 1 } };
	info.encoded[n] = info.recon[n] = size;
	if (n == 2)
		CHECK(bs_limits_put(&l, names[0], parts[1], 19) &&
			      bs_limits_put(&l, names[0], parts[2], 10),
		      "the other step is whole");
	for (int i = 0; i < 3; i++)
		if (v[i] != NO)
			CHECK(bs_limits_put(&l, names[n - 1], parts[i], v[i]), "%s", parts[i]);
	bs_limits_take(&l, &info);
	return n == 1 ? &info.step1 : &info.step2;
}

static void is(const struct bs_limit *l, uint32_t min, uint32_t max, uint32_t center,
	       const char *words)
{
	CHECK(l->given && l->min == min && l->max == max && l->center == center &&
		      strcmp(info.remark, words) == 0,
	      "%u to %u, center %u: '%s'", l->min, l->max, l->center, info.remark);
}

static void is_none(const struct bs_limit *l, const char *written)
{
	CHECK(!l->given && strstr(info.remark, written) != NULL &&
		      strstr(info.remark, "counters as they are, center") != NULL,
	      "'%s', not '%s'", info.remark, written);
}

static void steps(void)
{
	is(step(1, 20, 0, 19, 10), 0, 19, 10, "");
	is(step(1, 20, NO, 19, 10), 0, 19, 10, "");
	is(step(1, 64, 0, 47, 16), 0, 47, 16, "");
	is(step(1, 64, 0, 31, 32), 0, 31, 32, "");
	is(step(1, 20, 1, 20, 11), 1, 20, 11, "");
	/* none of these fits: readouts may say another one */
	is(step(1, 24, 0, 30, 15), 0, 30, 15, "");
	is(step(1, 20, 0, 19, 0), 0, 19, 10,
	   "kspace_encoding_step_1 of encodingLimits is 0 to 19, center 0: center 10 taken");
	is_none(step(1, 20, -10, 9, 0), "kspace_encoding_step_1 of encodingLimits is -10 to 9, "
					"center 0: counters as they are, center 10 taken");
	is_none(step(1, 20, 0, 0, 0), "is 0 to 0, center 0");
	is_none(step(1, 20, 9, 3, 5), "is 9 to 3, center 5");
	is_none(step(1, 20, NO, NO, NO), "is not there: counters");
	is_none(step(1, 20, 0, NO, 10), "is 0 to none, center 10");
	is_none(step(2, 16, 0, 0, 0), "kspace_encoding_step_2 of encodingLimits is 0 to 0");
	is(step(1, 20, 0, 15, NO), 0, 15, 10,
	   "kspace_encoding_step_1 of encodingLimits is 0 to 15, center none: center 10 taken");
	is(step(1, 20, 0, 15, -3), 0, 15, 10,
	   "kspace_encoding_step_1 of encodingLimits is 0 to 15, center -3: center 10 taken");
	is(step(1, 20, 0, 9, 17), 0, 9, 10,
	   "kspace_encoding_step_1 of encodingLimits is 0 to 9, center 17: center 10 taken");
	/* one partition, as KomaMRI.jl writes it: the center is the count */
	is(step(2, 1, 0, 0, 1), 0, 0, 0,
	   "kspace_encoding_step_2 of encodingLimits is 0 to 0, center 1: center 0 taken");
	is(step(2, 1, 0, 0, 0), 0, 0, 0, "");
	is(step(2, 1, 0, 0, NO), 0, 0, 0, "");
	is(step(1, 1, 0, 0, 1), 0, 0, 0,
	   "kspace_encoding_step_1 of encodingLimits is 0 to 0, center 1: center 0 taken");
	CHECK(!step(2, 1, NO, NO, NO)->given && info.remark[0] == '\0', "2D has no partitions");
}

static void others(void)
{
	struct bs_limits l = { 0 };

	info = (struct bs_scan_info){ .encoded = { 24, 1, 1 }, .recon = { 24, 1, 1 } };
	CHECK(bs_limits_put(&l, "slice", "maximum", 4) && bs_limits_put(&l, "set", "maximum", -1) &&
		      bs_limits_put(&l, "phase", "center", 3) &&
		      !bs_limits_put(&l, "segment", "maximum", 3) &&
		      !bs_limits_put(&l, "slice", "middle", 3),
	      "names");
	bs_limits_take(&l, &info);
	CHECK(info.slice.given && info.slice.max == 4 && !info.set.given && !info.phase.given &&
		      !info.average.given,
	      "counters");
	CHECK(strcmp(info.remark, "set of encodingLimits is none to -1, center none: not used") ==
		      0,
	      "'%s'", info.remark);
	/* a path has no center among its lines, and may have one of them */
	info = (struct bs_scan_info){ .encoded = { 24, 24, 1 }, .trajectory_name = "spiral" };
	l = (struct bs_limits){ 0 };
	(void)bs_limits_put(&l, "kspace_encoding_step_1", "maximum", 79);
	(void)bs_limits_put(&l, "kspace_encoding_step_1", "center", 160);
	bs_limits_take(&l, &info);
	is(&info.step1, 0, 79, 160, "");
}

/* Two partitions of 10 mm, of which the limits know one. */
static void one_slice(void)
{
	const struct bs_scan_info written = { .encoded = { 24, 1, 2 },
					      .recon = { 24, 1, 1 },
					      .encoded_fov_mm = { 120, 100, 10 },
					      .fov_mm = { 120, 100, 5 } };
	struct bs_limits l = { 0 };

	info = written;
	(void)bs_limits_put(&l, "kspace_encoding_step_2", "maximum", 0);
	bs_limits_take(&l, &info);
	CHECK(info.encoded[2] == 1 && info.encoded_fov_mm[2] == 5.0f &&
		      strstr(info.remark, "one partition taken, 5 mm by reconSpace") != NULL,
	      "%u of %g mm: '%s'", info.encoded[2], (double)info.encoded_fov_mm[2], info.remark);
	info = written;
	(void)bs_limits_put(&l, "kspace_encoding_step_2", "maximum", 1);
	(void)bs_limits_put(&l, "kspace_encoding_step_2", "center", 1);
	bs_limits_take(&l, &info);
	CHECK(info.encoded[2] == 2 && info.remark[0] == '\0', "two were measured");
}

int main(void)
{
	steps();
	others();
	one_slice();
	return check_done();
}
