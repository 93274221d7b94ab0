/*
 * test/unit/core/volume/test_stack.c - the order of slices: by position, whatever their numbers
 * say; what is no stack is refused at the line that shows it; where slices lie that never came
 */
/* Holds: C6, C12 */
#include "core/volume/stack.h"
#include "test/support/check.h"

#include <stddef.h>
#include <string.h>

static struct bs_protocol p = { .name = "p", .slices = 16, .volume = true };
static struct bs_stack s;
static struct bs_fail why;

static void begin(uint32_t min, uint32_t max)
{
	const struct bs_scan_info info = { .slice = { .min = min, .max = max, .given = 1 } };

	bs_stack_scan(&s, &p, &info);
}

/* A line of a slice that lies mm along a slice_dir turned about x by a radian's sine. */
static struct bs_mrd_acq line(uint32_t slice, double mm, double sine)
{
	const float c = (float)sqrt(1.0 - sine * sine);
	struct bs_mrd_acq h = { .read_dir = { 1.0f, 0.0f, 0.0f },
				.phase_dir = { 0.0f, c, (float)sine },
				.slice_dir = { 0.0f, (float)-sine, c } };

	h.idx.slice = (uint16_t)slice;
	for (int d = 0; d < 3; d++)
		h.position[d] = (float)(10.0 * d + mm * (double)h.slice_dir[d]);
	return h;
}

static int see(uint32_t slice, double mm)
{
	const struct bs_mrd_acq h = line(slice, mm, 0.6);

	return bs_stack_see(&s, &h, &why);
}

static bool lies(const int *z, uint32_t n)
{
	bool same = true;

	bs_stack_order(&s);
	for (uint32_t i = 0; i < n; i++)
		same = same && s.z[i] == z[i];
	return same;
}

/* mm of the stack's first place, from slice s.from. */
static double start_from(double first_mm)
{
	return first_mm + s.start;
}

static void test_orders(void)
{
	begin(0, 4);
	for (uint32_t i = 0; i < 5; i++)
		CHECK(see(i, -7.0 + 3.5 * i) == 0, "slice %u", i);
	CHECK(lies((const int[]){ 0, 1, 2, 3, 4 }, 5) && fabs(s.step - 3.5) < 1e-5 &&
		      fabs(start_from(-7.0) + 7.0) < 1e-5 && !s.guessed,
	      "ascending: %g mm apart from %g on", s.step, start_from(-7.0));
	begin(0, 4);
	for (uint32_t i = 0; i < 5; i++)
		(void)see((2 * i) % 5, 7.0 - 3.5 * ((2 * i) % 5));
	CHECK(lies((const int[]){ 4, 3, 2, 1, 0 }, 5) && fabs(s.step - 3.5) < 1e-5 &&
		      fabs(start_from(7.0) + 7.0) < 1e-5,
	      "descending, which come interleaved: from %g on", start_from(7.0));
	/* numbers in the order of excitation: 0 2 4 1 3 by place */
	begin(0, 4);
	for (uint32_t i = 0; i < 5; i++)
		(void)see(i, 2.0 * (i < 3 ? 2 * i : 2 * i - 5));
	CHECK(lies((const int[]){ 0, 2, 4, 1, 3 }, 5) && fabs(s.step - 2.0) < 1e-5,
	      "numbers that do not follow the places");
	begin(3, 5);
	CHECK(s.slices == 3 && see(3, 1.0) == 0 && see(5, 2.0) == 0 && see(4, 3.0) == 0 &&
		      lies((const int[]){ 0, 2, 1 }, 3),
	      "the header's slices 3 to 5");
	CHECK(see(2, 0.0) == BS_ERR_INDEX && see(6, 0.0) == BS_ERR_INDEX &&
		      strstr(why.text, "slice 6 is none of the header's 3 to 5") != NULL,
	      "no others: %s", why.text);
}

static void test_untold(void)
{
	const struct bs_mrd_acq nowhere = { 0 };
	struct bs_mrd_acq h = nowhere;
	const struct bs_scan_info silent = { 0 };

	bs_stack_scan(&s, &p, &silent);
	CHECK(s.slices == 16, "without limits the protocol has %u slices", s.slices);
	for (uint32_t i = 0; i < 16; i++) {
		h.idx.slice = (uint16_t)(15 - i);
		CHECK(bs_stack_see(&s, &h, &why) == 0, "a slice without a place");
	}
	bs_stack_order(&s);
	CHECK(s.z[0] == 0 && s.z[15] == 15 && s.step == 0.0, "they lie by their numbers");
	begin(0, 0);
	CHECK(see(0, 5.0) == 0 && lies((const int[]){ 0 }, 1) && s.step == 0.0, "one slice");
}

static void test_refused(void)
{
	struct bs_mrd_acq h;

	begin(0, 3);
	(void)see(0, 0.0);
	h = line(1, 3.0, 0.61);
	CHECK(bs_stack_see(&s, &h, &why) == BS_ERR_UNSUPPORTED &&
		      strstr(why.text, "slice 1 is not parallel to slice 0") != NULL,
	      "a slice that is turned: %s", why.text);
	h = line(1, 3.0, 0.6);
	h.read_dir[0] = -1.0f;
	CHECK(bs_stack_see(&s, &h, &why) == BS_ERR_UNSUPPORTED, "a slice that is mirrored");
	h = line(1, 3.0, 0.6);
	h.position[0] += 0.5f;
	CHECK(bs_stack_see(&s, &h, &why) == BS_ERR_UNSUPPORTED &&
		      strstr(why.text, "slice 1 lies 0.5 mm aside of slice 0") != NULL,
	      "a slice beside the others: %s", why.text);
	CHECK(see(1, 3.0) == 0 && see(2, 6.0) == 0 && see(3, 9.5) == BS_ERR_UNSUPPORTED &&
		      strstr(why.text, "slices lie 3 to 3.5 mm apart") != NULL,
	      "unequal distances, at the last slice's first line: %s", why.text);
	begin(0, 2);
	CHECK(see(0, 0.0) == 0 && see(1, 3.0) == 0 && see(2, 3.0) == BS_ERR_UNSUPPORTED,
	      "two slices in one place: %s", why.text);
	begin(0, 2);
	CHECK(see(0, 0.0) == 0 && see(1, 3.0) == 0 && see(2, 6.01) == 0,
	      "a place that a header has rounded");
	CHECK(bs_stack_admit(&p, &(struct bs_scan_info){ .slice = { 0, 16, 0, 1 } }, &why) ==
			      BS_ERR_SIZE &&
		      strstr(why.text, "slices 0 to 16") != NULL,
	      "more slices than the protocol has: %s", why.text);
	CHECK(bs_stack_admit(&p, &(struct bs_scan_info){ .slice = { 0, 15, 0, 1 } }, &why) == 0,
	      "as many");
}

static void test_not_finite(void)
{
	static const float bad[] = { NAN, INFINITY };
	static const size_t member[] = { offsetof(struct bs_mrd_acq, position),
					 offsetof(struct bs_mrd_acq, read_dir),
					 offsetof(struct bs_mrd_acq, phase_dir),
					 offsetof(struct bs_mrd_acq, slice_dir) };
	bool refused = true;

	for (uint32_t i = 0; i < 24; i++) {
		struct bs_mrd_acq h = line(i % 2, 3.0 * (i % 2), 0.6);

		begin(0, 3);
		if (i % 2 == 1)
			(void)see(0, 0.0);
		memcpy((char *)&h + member[i / 6] + i % 3 * sizeof(float), &bad[i / 3 % 2],
		       sizeof(float));
		why.text[0] = '\0';
		refused =
			refused && bs_stack_see(&s, &h, &why) == BS_ERR_UNSUPPORTED &&
			strstr(why.text, i % 2 ? "slice 1 is not finite" : "slice 0 is not finite");
	}
	CHECK(refused, "a place that is not finite, of the first slice or a later one: %s",
	      why.text);
	begin(0, 1);
	CHECK(see(0, 0.0) == 0 && see(1, 3.0) == 0 && see(0, 0.0) == 0 &&
		      see(0, (double)NAN) == BS_ERR_UNSUPPORTED,
	      "and of a frame behind that: %s", why.text);
}

/* Numbers in the order of excitation, 2 mm apart, without one slice; its place, and the step. */
static void test_gap(void)
{
	for (uint32_t missing = 0; missing < 5; missing++) {
		bool same = true;

		begin(0, 4);
		for (uint32_t i = 0; i < 5; i++)
			if (i != missing)
				(void)see(i, 2.0 * (i < 3 ? 2 * i : 2 * i - 5));
		bs_stack_order(&s);
		for (uint32_t i = 0; missing > 0 && i < 5; i++)
			same = same && s.z[i] == (i < 3 ? 2 * i : 2 * i - 5);
		CHECK(missing == 2 || (same && fabs(s.step - 2.0) < 1e-5),
		      "without slice %u: %g mm apart", missing, s.step);
		CHECK(s.guessed == (missing == 0 || missing == 2),
		      "slice %u is in the gap, or at an end", missing);
	}
	begin(0, 5);
	(void)see(0, 0.0);
	(void)see(2, 4.0);
	(void)see(1, 9.0);
	(void)see(4, 11.5);
	CHECK(lies((const int[]){ 0, 2, 1, 4, 3, 5 }, 6) && s.step == 0.0 && s.guessed,
	      "gaps of 4, 5 and 2.5 mm: no step is told, not %g", s.step);
}

static void test_missing(void)
{
	begin(0, 5);
	(void)see(1, 1.0);
	(void)see(4, 10.0);
	CHECK(lies((const int[]){ 0, 1, 2, 3, 4, 5 }, 6) && fabs(s.step - 3.0) < 1e-5 &&
		      fabs(start_from(1.0) + 2.0) < 1e-5 && !s.guessed,
	      "by their numbers, also before the first that came: from %g on", start_from(1.0));
	begin(0, 5);
	(void)see(4, 1.0);
	(void)see(1, 10.0);
	CHECK(lies((const int[]){ 5, 4, 3, 2, 1, 0 }, 6) && fabs(start_from(1.0) + 2.0) < 1e-5,
	      "by their numbers, downward");
	/* 0 3 1 4 2 by place, and slice 2 is missing */
	begin(0, 4);
	(void)see(0, 0.0);
	(void)see(3, 2.0);
	(void)see(1, 4.0);
	(void)see(4, 6.0);
	CHECK(lies((const int[]){ 0, 2, 4, 1, 3 }, 5) && s.guessed,
	      "behind the others, which is said to be a guess");
	(void)see(2, 8.0);
	CHECK(lies((const int[]){ 0, 2, 4, 1, 3 }, 5) && !s.guessed, "until it comes");
}

static void test_moved(void)
{
	const struct bs_mrd_acq lines[] = { line(0, 8.0, 0.6), line(2, 14.0, 0.6),
					    line(2, 15.0, 0.6) };
	struct bs_pose pose[3];

	begin(0, 2);
	for (uint32_t i = 0; i < 3; i++) {
		(void)see(i, 3.0 * i);
		bs_pose_of(&pose[i], &lines[i]);
	}
	CHECK(bs_stack_fits(&s, &pose[0], 0, &pose[1], 2), "the whole stack has moved");
	CHECK(!bs_stack_fits(&s, &pose[0], 0, &pose[2], 2), "a slice has moved");
}

int main(void)
{
	bs_plan_make(&p);
	test_orders();
	test_untold();
	test_refused();
	test_not_finite();
	test_gap();
	test_missing();
	test_moved();
	return check_done();
}
