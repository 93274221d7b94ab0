/*
 * test/twin/twin_window.c - sliding windows and previews on the device: the checks of
 * test/unit/gpu/test_window.c, and each frame against the host's
 *
 * Gridding in other groups differs by roundings, 1e-6 (test/unit/gpu/test_window.c says why). The
 * device's exact sums are good to 3e-6 whatever the grouping, and three iterations of a system of
 * condition below 10 pass that on: 1e-5 between groupings. Against the host: gridding at accuracy
 * 1e-6 1e-5, the bound of twin_nufft.c; least squares, whose Q has 3e-6 of its own, 1e-4.
 */
#include "test/support/check.h"
#include "test/twin/device.h"
#include "test/support/window.h"

static void frames(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 4);

	window_frames(&p, &bs_engine_cuda, "gridding/cuda, 6 groups", 1e-6);
	if (!small()) {
		p = window_golden(BS_METHOD_GRIDDING, 1);
		window_frames(&p, &bs_engine_cuda, "gridding/cuda, 24 groups", 1e-6);
		p = window_golden(BS_METHOD_GRIDDING, 24);
		window_frames(&p, &bs_engine_cuda, "gridding/cuda, one group", 1e-6);
	}
	p = window_golden(BS_METHOD_GRIDDING, 8);
	p.output = BS_OUTPUT_COMPLEX;
	p.combine = BS_COMBINE_NONE;
	bs_plan_make(&p);
	window_frames(&p, &bs_engine_cuda, "gridding/cuda, complex coil images", 1e-6);
	p = window_stack(8);
	window_frames(&p, &bs_engine_cuda, "gridding/cuda of a stack", 1e-6);
	p = window_golden(BS_METHOD_LS, 8);
	window_frames(&p, &bs_engine_cuda, "ls/cuda", 1e-5);
	p = window_golden(BS_METHOD_SENSE, 6);
	p.basis = BS_BASIS_BOX;
	window_frames(&p, &bs_engine_cuda, "sense/cuda, box voxels", 1e-5);
}

static void against_host(struct bs_protocol p, const struct bs_engine *cuda,
			 const struct bs_engine *host, const char *what, double tolerance)
{
	struct window_site s;
	struct window_run a;
	struct window_run b;
	double worst = 0.0;

	p.fhd = p.q = BS_SUM_EXACT;
	bs_plan_make(&p);
	if (p.method == BS_METHOD_GRIDDING) {
		p.width = p.oversampling = 0.0;
		p.accuracy = 1e-6;
	}
	CHECK(window_site_open(&s, &p, 3), "%s: a stream", what);
	window_run(&a, &s, &p, cuda, 2, 0, p.readouts * 2, NULL, true);
	window_run(&b, &s, &p, host, 2, 0, p.readouts * 2, NULL, true);
	CHECK(a.rc == 0 && b.rc == 0 && a.images == b.images, "%s: %u and %u frames %s%s", what,
	      a.images, b.images, a.why.text, b.why.text);
	for (uint32_t f = 0; f < a.images && f < b.images; f++) {
		double e = check_rel(window_image(&a, f), window_image(&b, f), a.floats);

		worst = e > worst || !(e == e) ? e : worst;
	}
	CHECK(worst <= tolerance, "%s: at most %.1e from the host's frames (%.0e)", what, worst,
	      tolerance);
	free(a.pixels);
	free(b.pixels);
	window_site_close(&s);
}

static void against_hosts(void)
{
	against_host(window_golden(BS_METHOD_GRIDDING, 4), &bs_engine_cuda, &bs_engine_host,
		     "gridding", 1e-5);
	against_host(window_stack(8), &bs_engine_cuda, &bs_engine_host, "stack", 1e-5);
	against_host(window_golden(BS_METHOD_LS, 8), &bs_engine_cuda, &bs_engine_host, "ls", 1e-4);
	against_host(window_golden(BS_METHOD_SENSE, 6), &bs_engine_cuda, &bs_engine_host, "sense",
		     1e-4);
}

/* Priors along the frames; 1e-4 as least squares. */
static void priors(void)
{
	static const enum bs_prior kinds[] = { BS_PRIOR_TV_FRAMES, BS_PRIOR_TV_CYCLE,
					       BS_PRIOR_LOW_RANK, BS_PRIOR_WAVELET };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (int follows = 0; follows < 2; follows++) {
			struct bs_protocol p =
				window_golden(follows ? BS_METHOD_LS : BS_METHOD_SENSE, 4);

			p.prior.kind = kinds[i];
			p.prior.lambda = 0.005 /* about all of what F^H d is in a voxel */;
			p.prior.block = 5;
			p.prior.start = follows ? BS_START_LAST : BS_START_ZERO;
			p.iterations = 12;
			against_host(p, &bs_engine_cuda, &bs_engine_host, bs_prior_names[kinds[i]],
				     1e-4);
		}
}

static bool some_lost(uint32_t readout)
{
	return readout == 26 || readout / 4 == 8 || readout == 3;
}

static void losses(enum bs_method method, const struct bs_engine *engine)
{
	struct bs_protocol p = window_golden(method, 4);
	struct window_site s;
	struct window_run run;
	struct window_run part;

	CHECK(window_site_open(&s, &p, 3), "%s: a stream", bs_method_name(method));
	window_run(&run, &s, &p, engine, 1, 0, 52, some_lost, true);
	window_run(&part, &s, &p, engine, 1, 8, 32, some_lost, true);
	CHECK(run.rc == 0 && run.images == 7 && run.image[0].missing == 1 &&
		      run.image[1].missing == 1 && run.image[3].missing == 5,
	      "%s: lost readouts are counted in each frame: %u frames, %u, %u, %u %s",
	      bs_method_name(method), run.images, run.image[0].missing, run.image[1].missing,
	      run.image[3].missing, run.why.text);
	CHECK(part.images == 1 && window_same(&run, 2, &part, 0),
	      "%s: and the frame is that of the rest, bit for bit", bs_method_name(method));
	free(run.pixels);
	free(part.pixels);
	window_site_close(&s);
}

/* A preview against the frame that would have ended there. */
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
	window_run(&a, &s, &p, &bs_engine_cuda, 1, 0, 24, NULL, true);
	window_run(&b, &s, &plain, &bs_engine_cuda, 1, 0, 14, NULL, true);
	CHECK(a.images == 4 && b.images == 1 &&
		      check_rel(window_image(&a, 1), window_image(&b, 0), a.floats) <= 1e-6,
	      "gridding/cuda: a preview is the partial frame: %.1e %s",
	      check_rel(window_image(&a, 1), window_image(&b, 0), a.floats), a.why.text);
	free(a.pixels);
	free(b.pixels);
	window_site_close(&s);
}

static void previews(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 0);

	window_previews(&p, &bs_engine_cuda, "gridding/cuda", 7);
	if (small())
		return;
	p.slices = 2; /* two states: each has a grid, previews a third */
	bs_plan_make(&p);
	window_previews(&p, &bs_engine_cuda, "gridding/cuda, two slices", 7);
	p.slices = 1;
	p.chunk_readouts = 24;
	bs_plan_make(&p);
	window_previews(&p, &bs_engine_cuda, "gridding/cuda in one chunk", 10);
	p = window_stack(0);
	window_previews(&p, &bs_engine_cuda, "gridding/cuda of a stack", 9);
	p = window_golden(BS_METHOD_LS, 0);
	window_previews(&p, &bs_engine_cuda, "ls/cuda", 6);
	p = window_golden(BS_METHOD_SENSE, 0);
	window_previews(&p, &bs_engine_cuda, "sense/cuda", 10);
	preview_content();
}

static void refusals(void)
{
	struct bs_protocol p = window_golden(BS_METHOD_GRIDDING, 1);
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };

	p.readouts = 2048;
	CHECK(bs_recon_need(&p, &bs_engine_cuda, &need, &why) == BS_ERR_UNSUPPORTED,
	      "too many groups are refused: %s", why.text);
	p = window_golden(BS_METHOD_CARTESIAN, 4);
	CHECK(bs_recon_need(&p, &bs_engine_cuda, &need, &why) == BS_ERR_UNSUPPORTED,
	      "a window of cartesian lines: %s", why.text);
}

static void compare_all(void)
{
	refusals();
	frames();
	if (!small())
		against_hosts();
	priors();
	losses(BS_METHOD_GRIDDING, &bs_engine_cuda);
	losses(BS_METHOD_LS, &bs_engine_cuda);
	previews();
}

int main(void)
{
	return twin_main("sliding windows on the device", 0, compare_all);
}
