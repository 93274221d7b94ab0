/*
 * test/unit/core/test_lines.c - lines of a pattern that are missing, against a count over all
 * patterns there are; limits of a header; words
 */
/* Holds: W50, C2 */
#include "core/frame/lines.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <string.h>

static uint8_t present[64 * 64];

static struct bs_protocol grid(uint32_t y, uint32_t z)
{
	struct bs_protocol p = { .name = "grid",
				 .method = BS_METHOD_CARTESIAN,
				 .traj.type = BS_TRAJ_CARTESIAN,
				 .encoded = { 64, y, z },
				 .samples = 64 };
	return planned(p);
}

static uint64_t seed = 77;

static uint32_t up_to(uint32_t n)
{
	return (uint32_t)(n * check_uniform(&seed));
}

/*
 * A pattern that begins anywhere, in each partition or along each line by itself (inner 0 or 1): of
 * each eight lines that follow the first two one is lost, and there is one off the pattern. Returns
 * how many were lost.
 */
static uint32_t make(const uint32_t size[2], const uint32_t step[2], int inner, uint32_t *count)
{
	const int outer = 1 - inner;
	const uint32_t begins = up_to(step[outer]);
	uint32_t lost = 0;

	*count = 0;
	memset(present, 0, sizeof(present));
	for (uint32_t o = begins; o < size[outer]; o += step[outer]) {
		const uint32_t first = up_to(step[inner]);

		for (uint32_t i = first; i < size[inner]; i += step[inner]) {
			bool gone = i > first + 2 * step[inner] && up_to(8) == 0;

			present[inner == 0 ? i + size[0] * o : o + size[0] * i] = !gone;
			lost += gone;
			++*count;
		}
		if (step[inner] > 1)
			present[inner == 0 ? first + 1 + size[0] * o : o + size[0] * (first + 1)] =
				1;
	}
	return lost;
}

static void patterns(void)
{
	int wrong = 0;

	for (int trial = 0; trial < 2000; trial++) {
		const uint32_t size[2] = { 24 + up_to(40), 16 + up_to(8) };
		const uint32_t step[2] = { 1 + up_to(4), 1 + up_to(3) };
		struct bs_protocol p = grid(size[0], size[1]);
		struct bs_scan_info info = { .acceleration = { step[0], step[1] } };
		struct bs_lines l;
		uint32_t count;
		uint32_t total;
		uint32_t lost = make(size, step, trial % 2, &count);

		bs_lines_of(&l, &p, &info);
		wrong += bs_lines_missing(&l, present, size[0] * size[1], &total) != lost ||
			 total != count;
	}
	CHECK(wrong == 0, "lines of 2,000 patterns that were lost: %d are wrong", wrong);

	struct bs_protocol p = grid(16, 4);
	struct bs_scan_info info = { .acceleration = { 3, 2 } };
	struct bs_lines l;
	uint32_t total;

	bs_lines_of(&l, &p, &info);
	memset(present, 0, sizeof(present));
	for (uint32_t y = 0; y < 16; y += 3)
		present[y + 16 * 1] = 1;
	CHECK(bs_lines_missing(&l, present, 64, &total) == 6 && total == 12,
	      "a partition that was lost: %u lines of it", total - 6);
}

static void limits(void)
{
	struct bs_protocol p = grid(64, 16);
	struct bs_scan_info info = { 0 };
	struct bs_lines l;
	struct bs_fail why = { 0 };

	bs_lines_of(&l, &p, &info);
	CHECK(bs_lines_full(&l) == 1024 && bs_lines_inside(&l, 0) && bs_lines_inside(&l, 1023),
	      "a header that says nothing: all lines");
	info.step1 = (struct bs_limit){ 0, 47, 16, 1 };
	info.step2 = (struct bs_limit){ 0, 0, 0, 1 };
	bs_lines_of(&l, &p, &info);
	CHECK(bs_lines_full(&l) == 768 && !bs_lines_inside(&l, 15) && bs_lines_inside(&l, 16) &&
		      bs_lines_inside(&l, 63 + 64 * 15),
	      "lines from 16 on; limits of 16 partitions that say one are not filled in");
	info.step2 = (struct bs_limit){ 2, 13, 8, 1 };
	bs_lines_of(&l, &p, &info);
	CHECK(bs_lines_full(&l) == 576 && !bs_lines_inside(&l, 63 + 64) &&
		      bs_lines_inside(&l, 63 + 64 * 2) && !bs_lines_inside(&l, 63 + 64 * 14),
	      "partitions 2 to 13");
	info.step2 = (struct bs_limit){ UINT32_MAX - 1, UINT32_MAX, 0, 1 };
	info.step1 = (struct bs_limit){ 0, UINT32_MAX, 0, 1 };
	bs_lines_of(&l, &p, &info);
	CHECK(bs_lines_full(&l) == 16 * 32 && l.first[0] == 32 && l.last[0] == 63,
	      "absurd limits stay on the grid");
	info.acceleration[0] = UINT32_MAX;
	info.acceleration[1] = 3;
	bs_lines_of(&l, &p, &info);
	CHECK(l.step[0] == 1 && l.step[1] == 3 && bs_lines_full(&l) == 0,
	      "so does an absurd acceleration");
	p.readouts = 32 * 6;
	CHECK(bs_lines_admit(&p, &info, &why) == 0, "every third partition: %s", why.text);
	p.readouts--;
	CHECK(bs_lines_admit(&p, &info, &why) == BS_ERR_SIZE, "%s", why.text);
}

static void words(void)
{
	struct bs_protocol p = grid(64, 16);
	struct bs_scan_info info = { .step1 = { 0, 47, 32, 1 }, .step2 = { 0, 11, 6, 1 } };
	struct bs_lines l;
	char text[BS_LACKS_WORDS];
	char small[40];
	struct bs_held held = {
		.lines = &l, .present = present, .rows = 64 * 16, .readouts = 48 * 12
	};

	p.samples = 40;
	memset(present, 0, sizeof(present));
	for (uint32_t z = 2; z < 14; z++)
		memset(present + 64 * z, 1, 48);
	bs_lines_of(&l, &p, &info);
	CHECK(bs_lacks_words(text, sizeof(text), &p, &info, &held)[0] == '\0',
	      "what nobody promised does not lack: %s", text);
	CHECK(strcmp(bs_zeros_words(text, sizeof(text), &p, &held),
		     "lines 48 to 63 of 64 were not measured (partial Fourier) and are zeros; "
		     "partitions 0 to 1 and 14 to 15 of 16 were not measured (lower resolution) "
		     "and are zeros; samples 0 to 23 of 64 were not measured (asymmetric echo) "
		     "and are zeros") == 0,
	      "but is said: %s", text);
	p.partial_fourier = BS_PARTIAL_FOURIER_POCS;
	bs_plan_make(&p);
	CHECK(strcmp(bs_zeros_words(text, sizeof(text), &p, &held),
		     "partitions 0 to 1 and 14 to 15 of 16 were not measured (lower resolution) "
		     "and are zeros") == 0,
	      "where partial Fourier is completed: %s", text);
	held.shutter = 12;
	held.lines = &l;
	CHECK(strstr(bs_zeros_words(text, sizeof(text), &p, &held),
		     "; 12 lines outside of an ellipse were not measured, which is taken for an "
		     "elliptical shutter") != NULL,
	      "%s", text);
	held.shutter = 0;
	p.partial_fourier = BS_PARTIAL_FOURIER_NONE;
	bs_plan_make(&p);
	held.readouts = 1024;
	p.samples = 64;
	info.acceleration[0] = 2;
	CHECK(bs_lacks_words(text, sizeof(text), &p, &info, &held)[0] == '\0',
	      "every line has come, whatever the header says: %s", text);
	held.readouts = 7;
	held.missing = 3;
	(void)bs_lacks_words(small, sizeof(small), &p, &info, &held);
	CHECK(strlen(small) < sizeof(small), "cut to size: %s", small);
	held.averages = 2;
	held.fewer = 1;
	CHECK(strncmp(bs_lacks_words(text, sizeof(text), &p, &info, &held),
		      "7 of 20 readouts did not come; ", 31) == 0,
	      "three rows of two averages, and one of a row: %s", text);
	p.method = BS_METHOD_NOOP;
	bs_plan_make(&p);
	CHECK(bs_lacks_words(text, sizeof(text), &p, &info, &held)[0] == '\0',
	      "an image of zeros lacks nothing");
}

/* Lines of a grid by what an ellipse of these half axes holds, about (cy, cz) in half lines. */
static uint32_t ellipse(const struct bs_protocol *p, double a, double b, int cy, int cz,
			uint32_t step)
{
	const uint32_t ny = p->encoded[1];
	const uint32_t nz = p->encoded[2];
	uint32_t left_out = 0;

	memset(present, 0, sizeof(present));
	for (uint32_t i = 0; i < ny * nz; i++) {
		const double y = (double)(i % ny) - ny / 2 + 0.5 * cy;
		const double z = (double)(i / ny) - nz / 2 + 0.5 * cz;
		const bool in = y * y / (a * a) + z * z / (b * b) <= 1.0;

		present[i] = in && i % ny % step == 0;
		left_out += !in && i % ny % step == 0;
	}
	return left_out;
}

static bool shut(const struct bs_lines *l)
{
	return bs_lines_shutter(l, present, l->size[0] * l->size[1]);
}

/* Exactly what is outside of an ellipse that reaches the limits, and nothing else. */
static void shutter(void)
{
	const struct bs_protocol grids[] = { grid(32, 12), grid(64, 16), grid(16, 64),
					     grid(21, 17) };
	struct bs_scan_info info = { 0 };
	struct bs_lines l;

	for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++) {
		const struct bs_protocol *p = &grids[g];
		const double a = p->encoded[1] / 2;
		const double b = p->encoded[2] / 2;
		const uint32_t middle = p->encoded[1] / 2 + p->encoded[1] * (p->encoded[2] / 2);

		info.acceleration[0] = 1;
		bs_lines_of(&l, p, &info);
		for (int shift = 0; shift < 2; shift++) {
			const uint32_t n = ellipse(p, a, b, shift, shift, 1);

			CHECK(n > 0 && shut(&l) &&
				      bs_lines_missing(&l, present, p->encoded[1] * p->encoded[2],
						       NULL) == n,
			      "grid %zu: %u lines are outside, shift %d", g, n, shift);
		}
		(void)ellipse(p, a - 1e-6, b - 1e-6, 0, 0, 1);
		CHECK(shut(&l), "without the very ends");
		(void)ellipse(p, a, b, 0, 0, 1);
		present[middle] = 0;
		CHECK(!shut(&l), "a line inside lacks, too");
		present[middle] = 1;
		present[0] = 1;
		CHECK(!shut(&l), "a corner came");
		(void)ellipse(p, 0.7 * a, 0.7 * b, 0, 0, 1);
		CHECK(!shut(&l), "an ellipse that ends before the limits: the scan is not over");
		memset(present, 1, sizeof(present));
		present[0] = 0;
		CHECK(!shut(&l), "a corner alone");
		memset(present, 0, p->encoded[1]);
		CHECK(!shut(&l), "the first partition");
		info.acceleration[0] = 2;
		bs_lines_of(&l, p, &info);
		(void)ellipse(p, a, b, 0, 0, 2);
		CHECK(shut(&l), "every second line of it, grid %zu", g);
		present[middle - middle % p->encoded[1] % 2] = 0;
		CHECK(!shut(&l), "and one of these lacks");
	}
	info.acceleration[0] = 1;
	bs_lines_of(&l, &(struct bs_protocol){ .encoded = { 64, 64, 1 } }, &info);
	memset(present, 0, sizeof(present));
	memset(present + 4, 1, 56);
	CHECK(!shut(&l), "none in 2D");
}

int main(void)
{
	patterns();
	limits();
	words();
	shutter();
	return check_done();
}
