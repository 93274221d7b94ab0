/*
 * test/unit/core/volume/test_volume.c - slices joined into volumes: in any order, of two contrasts
 * at once, of odd sizes and several channels; volumes that lack slices, and what they say; more
 * volumes than may be open; the deadlines of slices
 */
#include "core/volume/volume.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <string.h>

#define NX       3u
#define NY       5u
#define SLICES   7u
#define CHANNELS 2u
#define STEP     4.0

static struct bs_protocol p;
static struct bs_arena arena;
static struct bs_volumes v;
static struct bs_fail why;
static float pixels[CHANNELS * SLICES * NY * NX];
static struct bs_recon_image out;
static struct bs_report each_report; /* the report of each slice's solve */
static float each_dir = 1.0f;        /* the length of slice_dir */

static void open_volumes(uint32_t contrasts, uint32_t repetitions)
{
	struct bs_need need = { 0 };

	p = planned((struct bs_protocol){ .name = "p",
					  .method = BS_METHOD_CARTESIAN,
					  .dims = 2,
					  .matrix = { NX, NY, 1 },
					  .coils = CHANNELS,
					  .combine = BS_COMBINE_NONE,
					  .slices = SLICES,
					  .contrasts = contrasts,
					  .repetitions = repetitions,
					  .volume = true });
	bs_arena_close(&arena);
	bs_volumes_need(&p, &need);
	CHECK(bs_arena_open(&arena, need.total_bytes, &why) == 0 &&
		      bs_volumes_arm(&v, &p, &arena, &why) == 0 && arena.used == arena.size,
	      "the memory that was planned is taken: %zu of %zu bytes", arena.used, arena.size);
}

static void scan(uint32_t max)
{
	const struct bs_scan_info info = { .slice = { .max = max, .given = 1 } };

	bs_volumes_scan(&v, &info);
}

static float value(uint32_t repetition, uint32_t contrast, uint32_t slice, uint32_t i)
{
	return (float)(repetition * 100000u + contrast * 10000u + slice * 100u + i);
}

struct given {
	uint32_t repetition, contrast, slice, z;
	const char *lacks;
	int64_t last_ns;
};

static struct bs_mrd_acq line(const struct given *g)
{
	struct bs_mrd_acq h = { .read_dir = { 1, 0, 0 },
				.phase_dir = { 0, 1, 0 },
				.slice_dir = { 0, 0, each_dir },
				.position = { 2, 3, (float)(STEP * g->z) } };

	h.idx.slice = (uint16_t)g->slice;
	h.idx.contrast = (uint16_t)g->contrast;
	h.idx.repetition = (uint16_t)g->repetition;
	return h;
}

/* The next volume that is over: its number; 0: none is. */
static uint64_t leave(void)
{
	memset(pixels, 0xff, sizeof(pixels));
	out.pixels = pixels;
	return bs_volumes_leave(&v, &out) != NULL ? out.number : 0;
}

/* A slice's image is made. Returns 0 where another volume must leave before. */
static int give(struct given g)
{
	const struct bs_mrd_acq h = line(&g);
	struct bs_recon_image slice = { .readouts = 4,
					.missing = g.lacks != NULL,
					.own = true,
					.last_ns = g.last_ns,
					.report = each_report };
	struct bs_volume *to;
	float *at;

	slice.report.stage_ns[BS_BUDGET_SOLVE] = 10;
	CHECK(bs_stack_see(&v.stack, &h, &why) == 0, "slice %u is seen", g.slice);
	to = bs_volumes_place(&v, &h);
	if (to == NULL)
		return 0;
	at = bs_volume_slice(&v, to, g.slice);
	for (uint32_t i = 0; i < CHANNELS * NX * NY; i++)
		at[i] = value(g.repetition, g.contrast, g.slice, i);
	slice.head = (struct bs_mrd_image){ .matrix_size = { NX, NY, 1 },
					    .field_of_view = { 6, 10, 3 },
					    .channels = CHANNELS,
					    .image_type = BS_MRD_MAGNITUDE,
					    .slice = (uint16_t)g.slice,
					    .contrast = (uint16_t)g.contrast,
					    .repetition = (uint16_t)g.repetition };
	memcpy(slice.head.position, h.position, sizeof(h.position));
	memcpy(slice.head.read_dir, h.read_dir, sizeof(h.read_dir));
	memcpy(slice.head.phase_dir, h.phase_dir, sizeof(h.phase_dir));
	memcpy(slice.head.slice_dir, h.slice_dir, sizeof(h.slice_dir));
	if (g.lacks != NULL)
		(void)snprintf(slice.lacks, sizeof(slice.lacks), "%s", g.lacks);
	bs_volumes_join(&v, to, &h, &slice);
	return 1;
}

/* Each slice lies where its position says, in each channel; slices that lack are zeros. */
static bool joined(uint32_t repetition, uint32_t contrast, uint32_t slices, const uint32_t *z,
		   uint32_t lacking)
{
	for (uint32_t s = 0; s < slices; s++)
		for (uint32_t c = 0; c < CHANNELS; c++)
			for (uint32_t i = 0; i < NX * NY; i++) {
				const float got = pixels[(c * slices + z[s]) * NX * NY + i];
				const float want = lacking >> s & 1u ? 0.0f
								     : value(repetition, contrast,
									     s, c * NX * NY + i);

				if (got != want)
					return false;
			}
	return true;
}

static void test_order(const char *name, const uint32_t *turn, const uint32_t *z)
{
	scan(SLICES - 1);
	for (uint32_t i = 0; i < SLICES; i++) {
		CHECK(leave() == 0, "%s: nothing leaves before its last slice", name);
		(void)give((struct given){
			.slice = turn[i], .z = z[turn[i]], .last_ns = 100 + (int64_t)i });
	}
	CHECK(leave() == 1 && joined(0, 0, SLICES, z, 0), "%s: by position", name);
	CHECK(out.head.matrix_size[2] == SLICES &&
		      fabs((double)out.head.field_of_view[2] - STEP * SLICES) < 1e-4 &&
		      out.head.position[0] == 2.0f && out.head.position[2] == 3 * (float)STEP,
	      "%s: %u slices over %g mm about %g", name, out.head.matrix_size[2],
	      (double)out.head.field_of_view[2], (double)out.head.position[2]);
	CHECK(out.own && out.last_ns == 106 && out.readouts == 28 && out.missing == 0 &&
		      out.lacks[0] == '\0' && out.report.stage_ns[BS_BUDGET_SOLVE] == 10,
	      "%s: it is whole with its last line", name);
	CHECK(strcmp(out.header, "slices of 3 mm lie 4 mm apart") == 0, "%s: gaps: %s", name,
	      out.header);
	for (uint32_t s = 0; s < SLICES; s++)
		CHECK(out.joined.number[z[s]] == s, "%s: slice %u is named", name, s);
	CHECK(leave() == 0, "%s: it leaves once", name);
}

static void test_orders(void)
{
	const uint32_t ascending[] = { 0, 1, 2, 3, 4, 5, 6 };
	const uint32_t descending[] = { 6, 5, 4, 3, 2, 1, 0 };
	const uint32_t even_first[] = { 0, 2, 4, 6, 1, 3, 5 };
	const uint32_t odd_first[] = { 1, 3, 5, 0, 2, 4, 6 };
	const uint32_t places[] = {
		0, 4, 1, 5, 2, 6, 3
	}; /* of numbers in the order of excitation */

	open_volumes(1, 1);
	test_order("ascending", ascending, ascending);
	test_order("reverse", descending, ascending);
	test_order("interleaved", even_first, ascending);
	test_order("interleaved, odd first", odd_first, descending);
	test_order("numbers that are no places", ascending, places);
}

static void test_contrasts(void)
{
	const uint32_t z[] = { 0, 1, 2 };

	open_volumes(2, 1);
	scan(2);
	for (uint32_t s = 0; s < 3; s++)
		for (uint32_t c = 0; c < 2; c++)
			(void)give((struct given){ .contrast = c, .slice = s, .z = s });
	CHECK(leave() == 1 && out.head.contrast == 0 && joined(0, 0, 3, z, 0) && leave() == 2 &&
		      out.head.contrast == 1 && joined(0, 1, 3, z, 0) && leave() == 0,
	      "two contrasts in turns are two volumes");
}

static void test_lacking(void)
{
	const uint32_t z[] = { 0, 1, 2, 3, 4 };

	open_volumes(1, 1);
	scan(4);
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t s = 0; s < 5; s++)
			if (r > 0 || (s != 1 && s != 4)) {
				CHECK(leave() == 0, "slice %u of repetition %u", s, r);
				(void)give((struct given){ .repetition = r, .slice = s, .z = s });
			}
	CHECK(leave() == 1 && out.head.repetition == 0 && joined(0, 0, 5, z, 1u << 1 | 1u << 4) &&
		      !out.own && out.missing == 8 &&
		      strcmp(out.lacks, "slices 1, 4 are missing and zeros") == 0,
	      "a later volume that is whole ends it: %s, %u readouts", out.lacks, out.missing);
	CHECK(leave() == 2 && out.head.repetition == 1 && joined(1, 0, 5, z, 0), "behind it");
	(void)give((struct given){ .repetition = 2, .slice = 3, .z = 3 });
	CHECK(leave() == 0, "one slice");
	bs_volumes_end(&v);
	CHECK(leave() == 3 && joined(2, 0, 5, z, ~(1u << 3)) &&
		      strcmp(out.lacks, "slices 0-2, 4 are missing and zeros") == 0,
	      "the scan's end: %s", out.lacks);
}

static void test_partial(void)
{
	open_volumes(1, 1);
	scan(3);
	for (uint32_t s = 0; s < 4; s++)
		(void)give((struct given){
			.slice = s, .z = s, .lacks = s == 2 ? "3 lines did not come" : NULL });
	CHECK(leave() == 1 && out.missing == 1 &&
		      strcmp(out.lacks, "slice 2 is partial; 3 lines did not come") == 0,
	      "one slice is partial: %s", out.lacks);
	for (uint32_t s = 0; s < 4; s++)
		(void)give((struct given){ .repetition = 1,
					   .slice = s,
					   .z = s,
					   .lacks = s == 2  ? "3 lines did not come"
						    : s > 0 ? "a line did not come"
							    : NULL });
	CHECK(leave() == 2 && strcmp(out.lacks, "slices 1-3 are partial; slice 1: a line did not "
						"come") == 0,
	      "several slices are: %s", out.lacks);
	for (uint32_t s = 0; s < 4; s++)
		(void)give((struct given){
			.repetition = 2, .slice = s, .z = s, .lacks = "it is accelerated" });
	CHECK(leave() == 3 && strcmp(out.lacks, "slices 0-3 are partial; it is accelerated") == 0,
	      "all alike: %s", out.lacks);
	for (uint32_t s = 0; s < 4; s++)
		(void)give((struct given){ .repetition = 3, .slice = s, .z = s + (s == 3) });
	CHECK(leave() == 4 && strcmp(out.lacks, "slice 3 is moved against the others") == 0,
	      "a slice that has moved: %s", out.lacks);
}

/* A volume's report is the worst of its slices', and says that one of them was cut short. */
static void test_report(void)
{
	static const struct {
		uint32_t allowed, iterations;
		double residual;
	} made[] = { { 15, 15, 0.2 }, { 15, 9, 0.1 }, { 30, 11, 0.3 } };

	open_volumes(1, 1);
	scan(2);
	for (uint32_t i = 0; i < 3; i++) {
		each_report = (struct bs_report){ .allowed = made[i].allowed,
						  .iterations = made[i].iterations,
						  .residual = made[i].residual };
		(void)give((struct given){ .slice = i, .z = i });
	}
	CHECK(leave() == 1 && out.report.iterations == 9 && out.report.residual == 0.3 &&
		      out.report.iterations >= out.report.allowed && out.report.allowed > 0,
	      "cut to %u of %u iterations", out.report.iterations, out.report.allowed);
	for (uint32_t i = 0; i < 3; i++) {
		const float most = i == 1 ? 0.2f : 0.1f;

		each_report = (struct bs_report){
			.segments = i == 0 ? 5 : 3,
			.field_error = (double)most,
			.apart = { .of = 2, .left = most, .phased = i != 1, .leakage = { most } }
		};
		each_report.apart.leakage[1] = i == 0 ? 0.3f : 0.0f;
		(void)give((struct given){
			.repetition = 1, .slice = i, .z = i, .last_ns = i == 0 ? 50 : 40 });
	}
	CHECK(leave() == 2 && out.report.apart.left == 0.2f && !out.report.apart.phased &&
		      out.report.apart.leakage[0] == 0.2f && out.report.apart.leakage[1] == 0.3f,
	      "the worst of its slices came apart with %g left, %g and %g through",
	      (double)out.report.apart.left, (double)out.report.apart.leakage[0],
	      (double)out.report.apart.leakage[1]);
	CHECK(out.report.segments == 5 && out.report.field_error == (double)0.2f,
	      "the worst field error, %g", out.report.field_error);
	CHECK(out.report.stage_ns[BS_BUDGET_SOLVE] == 30, "three solves behind the last line");
	each_report = (struct bs_report){ 0 };
}

/* What tells no order is told, and a direction that is not of length 1 moves nothing astray. */
static void test_direction(void)
{
	open_volumes(1, 1);
	each_dir = 1.5f;
	scan(2);
	for (uint32_t i = 0; i < 3; i++)
		(void)give((struct given){ .slice = i, .z = i });
	CHECK(leave() == 1 && fabs((double)out.head.position[2] - STEP) < 1e-5,
	      "a direction of length 1.5: about %g mm", (double)out.head.position[2]);
	each_dir = 0.0f;
	scan(2);
	for (uint32_t i = 0; i < 3; i++)
		(void)give((struct given){ .slice = i, .z = i });
	CHECK(leave() == 1 && strcmp(out.header, "no direction tells the slices' order: it is that "
						 "of their numbers") == 0,
	      "no direction: %s", out.header);
	each_dir = 1.0f;
	scan(2);
	for (uint32_t i = 0; i < 3; i++)
		(void)give((struct given){ .slice = i });
	CHECK(leave() == 1 && strcmp(out.header, "no position tells the slices' order: it is that "
						 "of their numbers") == 0,
	      "no position: %s", out.header);
}

/* More volumes begin than may be open: the one that began first leaves. */
static void test_crowded(void)
{
	open_volumes(1, 2);
	scan(1);
	for (uint32_t r = 0; r < 3; r++)
		CHECK(give((struct given){ .repetition = r }) == 1, "volume %u begins", r);
	CHECK(give((struct given){ .repetition = 3 }) == 0, "the fourth must wait");
	CHECK(leave() == 1 && out.head.repetition == 0 &&
		      strcmp(out.lacks, "slice 1 is missing and zeros") == 0,
	      "the first leaves: %s", out.lacks);
	CHECK(give((struct given){ .repetition = 3 }) == 1, "the fourth begins");
	for (uint32_t r = 3; r >= 1; r--)
		(void)give((struct given){ .repetition = r, .slice = 1, .z = 1 });
	CHECK(leave() == 2 && out.head.repetition == 1 && leave() == 3 &&
		      out.head.repetition == 2 && leave() == 4 && out.lacks[0] == '\0' &&
		      leave() == 0,
	      "volumes in turns are whole, and leave in the order of their beginning");
}

static void test_deadlines(void)
{
	const struct bs_mrd_acq h = line(&(struct given){ .repetition = 1 });
	struct bs_volume *to;

	open_volumes(1, 1);
	scan(3);
	for (uint32_t s = 0; s < 4; s++)
		(void)give((struct given){ .slice = s, .z = s, .last_ns = 1000 * (int64_t)s });
	CHECK(leave() == 1, "a whole volume");
	to = bs_volumes_place(&v, &h);
	CHECK(bs_volume_deadline(&v, to, 0, 5000, 4000) == 5000,
	      "slice 0 came 3000 before the volume's end: a quarter of 5000 + 3000 - 4000");
	CHECK(bs_volume_deadline(&v, to, 3, 5000, 4000) == 4250, "slice 3 was the last one");
	CHECK(bs_volume_deadline(&v, to, 3, INT64_MAX, 4000) == INT64_MAX, "no deadline");
	for (uint32_t s = 0; s < 3; s++)
		(void)give((struct given){ .repetition = 1, .slice = s, .z = s });
	CHECK(bs_volume_deadline(&v, to, 3, 5000, 4000) == 5000, "the last slice has all of it");
}

int main(void)
{
	test_orders();
	test_contrasts();
	test_lacking();
	test_partial();
	test_report();
	test_direction();
	test_crowded();
	test_deadlines();
	bs_arena_close(&arena);
	return check_done();
}
