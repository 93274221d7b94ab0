/*
 * test/unit/gpu/test_window.c - sliding windows and previews, host engines
 *
 * A sum of the same float terms in other groups differs by a few roundings of 2^-24 = 6e-8 of the
 * largest term: 1e-6 of the image. The grid is oversampled twice here, so that what undoes the
 * window at the image's edge does not magnify them; three iterations pass them on as they are.
 */
#include "test/support/window.h"

static void frames(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 4);

	window_frames(&p, &bs_engine_host, "gridding, 6 groups", 1e-6);
	p.chunk_readouts = 3; /* the largest chunk of at most 3 that 4 is a multiple of: 2 */
	window_frames(&p, &bs_engine_host, "gridding, 6 groups of 2 chunks", 1e-6);
	p = window_golden(BS_METHOD_GRIDDING, 1);
	window_frames(&p, &bs_engine_host, "gridding, 24 groups", 1e-6);
	p = window_golden(BS_METHOD_GRIDDING, 24);
	window_frames(&p, &bs_engine_host, "gridding, one group", 1e-6);
	p = window_golden(BS_METHOD_GRIDDING, 8);
	p.output = BS_OUTPUT_COMPLEX;
	p.combine = BS_COMBINE_NONE;
	bs_plan_make(&p);
	window_frames(&p, &bs_engine_host, "gridding, complex coil images", 1e-6);
	p = window_stack(8);
	window_frames(&p, &bs_engine_host, "gridding of a stack", 1e-6);
	p = window_golden(BS_METHOD_LS, 8);
	window_frames(&p, &bs_engine_host, "ls, NUFFT", 1e-6);
	p.fhd = BS_SUM_EXACT;
	bs_plan_make(&p);
	window_frames(&p, &bs_engine_host, "ls, exact sum", 1e-6);
	p = window_golden(BS_METHOD_SENSE, 6);
	p.fhd = BS_SUM_EXACT;
	p.basis = BS_BASIS_BOX;
	bs_plan_make(&p);
	window_frames(&p, &bs_engine_host, "sense, exact sum", 1e-6);
	p = window_golden(BS_METHOD_NOOP, 4);
	window_frames(&p, &bs_engine_noop, "noop", 0.0);
}

/* ---- what is lost ------------------------------------------------------------------------- */

static bool two_lost(uint32_t readout)
{
	return readout == 30 || readout == 31; /* rows 6 and 7: the end of group 1, second pass */
}

static bool group_lost(uint32_t readout)
{
	return readout / 4 == 7; /* rows 4 .. 7 of the second pass: group 1 */
}

static bool pass_lost(uint32_t readout)
{
	return readout >= 26 &&
	       readout < 26 + 28; /* a pass and a bit, from the middle of group 0 */
}

static void losses(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 4);
	struct window_site s;
	struct window_run run;
	struct window_run part;

	CHECK(window_site_open(&s, &p, 3), "a stream");
	window_run(&run, &s, &p, &bs_engine_host, 1, 0, 60, two_lost, true);
	CHECK(run.rc == 0 && run.images == 10, "two readouts lost: %u frames all the same",
	      run.images);
	for (uint32_t f = 0; f < 10; f++)
		CHECK(run.image[f].missing == (f >= 2 && f < 8 ? 2u : 0u),
		      "frame %u lacks %u: as long as the window holds their group", f,
		      run.image[f].missing);
	window_run(&part, &s, &p, &bs_engine_host, 1, 8, 32, two_lost, true);
	CHECK(part.images == 1 && window_same(&run, 2, &part, 0),
	      "the frame that lacks them is that of the rest");
	free(part.pixels);
	free(run.pixels);

	window_run(&run, &s, &p, &bs_engine_host, 1, 0, 60, group_lost, true);
	CHECK(run.rc == 0 && run.images == 9, "a group lost: one frame less: %u", run.images);
	for (uint32_t f = 0; f < 9; f++)
		CHECK(run.image[f].missing == (f >= 2 && f < 7 ? 4u : 0u) &&
			      run.image[f].readouts == 24 - run.image[f].missing,
		      "frame %u lacks %u", f, run.image[f].missing);
	for (uint32_t f = 2; f < 9; f++) {
		uint32_t first = 12 + 4 * (f - 2);

		window_run(&part, &s, &p, &bs_engine_host, 2, first, first + 24, group_lost, true);
		CHECK(part.images == 1 && window_same(&run, f, &part, 0),
		      "and frame %u is that of readouts %u to %u, bit for bit", f, first,
		      first + 23);
		free(part.pixels);
	}
	free(run.pixels);

	window_run(&run, &s, &p, &bs_engine_host, 1, 0, 64, pass_lost, true);
	/* 0..23: one frame; 24, 25: group 0 ends with 2; 54, 55 end group 1, then groups 2 and 3 */
	CHECK(run.rc == 0 && run.images == 5, "more than a pass lost: %u frames", run.images);
	CHECK(run.image[1].missing == 2 && run.image[2].readouts == 2 &&
		      run.image[3].readouts == 6 && run.image[4].readouts == 10,
	      "what is older than a window is in no frame: %u, %u, %u, %u readouts",
	      run.image[1].readouts, run.image[2].readouts, run.image[3].readouts,
	      run.image[4].readouts);
	free(run.pixels);
	window_site_close(&s);
}

static void ends(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 4);
	struct window_site s;
	struct window_run run;

	CHECK(window_site_open(&s, &p, 3), "a stream");
	window_run(&run, &s, &p, &bs_engine_host, 1, 0, 32, NULL, true);
	CHECK(run.images == 3 && run.image[2].missing == 0, "an end between groups: nothing more");
	free(run.pixels);
	window_run(&run, &s, &p, &bs_engine_host, 1, 0, 33, NULL, true);
	CHECK(run.images == 4 && run.image[3].missing == 3 && run.image[3].readouts == 21,
	      "one readout into a group: it is not lost, the old group is: %u readouts",
	      run.image[3].readouts);
	free(run.pixels);
	window_run(&run, &s, &p, &bs_engine_host, 1, 0, 8, NULL, true);
	CHECK(run.images == 1 && run.image[0].readouts == 8 && run.image[0].missing == 16,
	      "less than a window: one image that says so");
	free(run.pixels);
	window_run(&run, &s, &p, &bs_engine_host, 1, 2, 2, NULL, true);
	CHECK(run.rc == 0 && run.images == 0, "nothing at all: no image");
	free(run.pixels);
	window_run(&run, &s, &p, &bs_engine_host, 1, 2, 28, NULL, true);
	CHECK(run.images == 2 && run.image[0].readouts == 22 && run.image[1].missing == 0,
	      "a stream that begins within a group: the first frame lacks 2, the second nothing");
	free(run.pixels);
	window_site_close(&s);
}

/* A second scan of the same recon, and a readout twice. */
static void scans(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 8);
	struct bs_tables tables = { 0 };
	struct bs_scan_info info = { 0 };
	struct bs_need need = { 0 };
	struct bs_recon_image image = { 0 };
	struct bs_fail why = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	struct bs_recon *r = NULL;
	struct window_site s;
	int rc = 0;

	CHECK(window_site_open(&s, &p, 1) && bs_team_open(&team, 1, NULL) == 0 &&
		      bs_recon_need(&p, &bs_engine_host, &need, &why) == 0 &&
		      bs_arena_open(&arena, need.total_bytes, NULL) == 0,
	      "a stream");
	struct bs_arm_env env = { .arena = &arena, .team = team, .cache_dir = "" };

	tables.traj = &s.traj;
	CHECK(bs_recon_arm(&r, &p, &bs_engine_host, &tables, &env, &why) == 0, "armed %s",
	      why.text);
	image.pixels = malloc((size_t)bs_protocol_image_bytes(&p));
	for (int scan = 0; scan < 2; scan++) {
		bs_recon_scan(r, &info);
		for (uint32_t i = 0; rc == 0 && i < 12; i++) {
			struct bs_mrd_acq h = { .number_of_samples = 40, .scan_counter = i };

			rc = bs_recon_readout(r, &h, i, s.data + s.row * i, i, &why);
			if (i == 9)
				CHECK(bs_recon_readout(r, &h, i, s.data, i, &why) == BS_ERR_INDEX,
				      "twice: %s", why.text);
		}
		CHECK(rc == 0 && bs_recon_ready(r) == 0, "half a window: no image %s", why.text);
		if (scan == 1) {
			bs_recon_close(r);
			CHECK(bs_recon_pop(r, &image, INT64_MAX, &why) == 1 &&
				      image.readouts == 12 &&
				      bs_recon_pop(r, &image, INT64_MAX, &why) == 0,
			      "a scan that was given up leaves nothing to the next: %u readouts",
			      image.readouts);
		}
	}
	bs_recon_disarm(r);
	bs_arena_close(&arena);
	bs_team_close(team);
	free(image.pixels);
	window_site_close(&s);
}

static void refused(const struct bs_protocol *p, const struct bs_engine *engine, int code)
{
	struct bs_tables tables = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_arm_env env = { .arena = &arena, .team = NULL, .cache_dir = "" };
	struct bs_need need = { 0 };
	struct bs_recon *r = NULL;
	struct bs_fail why = { 0 };

	CHECK(bs_recon_arm(&r, p, engine, &tables, &env, &why) == code && r == NULL, "refused: %s",
	      why.text);
	CHECK(bs_recon_need(p, engine, &need, &why) == code, "and when its memory is asked for");
}

static void refusals(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 5);

	refused(&p, &bs_engine_host, BS_ERR_CONFIG);
	p = window_golden(BS_METHOD_GRIDDING, 4);
	p.preview_every = 6;
	bs_plan_make(&p);
	refused(&p, &bs_engine_host, BS_ERR_CONFIG);
	p = window_golden(BS_METHOD_CARTESIAN, 4);
	refused(&p, &bs_engine_host, BS_ERR_UNSUPPORTED);
	p.frame_step = 0;
	p.preview_every = 6;
	bs_plan_make(&p);
	refused(&p, &bs_engine_host, BS_ERR_UNSUPPORTED);
}

/* ---- previews ----------------------------------------------------------------------------- */

/* A preview is what a frame would be that ended there; for ls, what gridding makes of it. */
static void preview_content(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 0);
	struct bs_protocol plain = p;
	struct window_site s;
	struct window_run a;
	struct window_run b;

	p.preview_every = 7;
	bs_plan_make(&p);
	CHECK(window_site_open(&s, &p, 1), "a stream");
	window_run(&a, &s, &p, &bs_engine_host, 1, 0, 24, NULL, true);
	window_run(&b, &s, &plain, &bs_engine_host, 1, 0, 14, NULL, true);
	CHECK(window_same(&a, 1, &b, 0), "gridding: a preview is the partial frame, bit for bit");
	free(a.pixels);
	p = window_golden(BS_METHOD_LS, 0);
	p.preview_every = 7;
	bs_plan_make(&p);
	window_run(&a, &s, &p, &bs_engine_host, 1, 0, 24, NULL, true);
	CHECK(a.images == 4 &&
		      check_rel(window_image(&a, 1), window_image(&b, 0), a.floats) <= 2e-2,
	      "ls: a preview is gridding's partial frame to its 1e-2: %.1e",
	      check_rel(window_image(&a, 1), window_image(&b, 0), a.floats));
	free(a.pixels);
	free(b.pixels);
	window_site_close(&s);
}

static void previews(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 0);

	window_previews(&p, &bs_engine_host, "gridding", 7);
	p.coils = 11; /* two batches */
	p.chunk_readouts = 24;
	bs_plan_make(&p);
	window_previews(&p, &bs_engine_host, "gridding in one chunk", 10);
	p = window_stack(0);
	window_previews(&p, &bs_engine_host, "gridding of a stack", 9);
	p = window_golden(BS_METHOD_LS, 0);
	window_previews(&p, &bs_engine_host, "ls", 6);
	p = window_golden(BS_METHOD_SENSE, 0);
	p.fhd = BS_SUM_EXACT;
	bs_plan_make(&p);
	window_previews(&p, &bs_engine_host, "sense", 10);
}

int main(void)
{
	frames();
	losses();
	ends();
	scans();
	refusals();
	previews();
	preview_content();
	return check_done();
}
