/* board/reproduce_2008.c - 128^3 voxels from 284,592 samples, without noise and with it */
#include "board/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "board/trial.h"
#include "core/clock.h"
#include "core/prior.h"

#define NOISE_SEED 11

enum route { ROUTE_DOUBLE, ROUTE_SINGLE, ROUTE_NUFFT, ROUTES };

static const char *const route_name[ROUTES] = { "exact, double precision",
						"exact, single precision", "NUFFT, accuracy 1e-5" };

struct work {
	struct bs_reproduce *r;
	struct bs_trial t;
	struct bs_solver s[2]; /* without W, with W */
	struct bs_csr w;
	float *fhd[ROUTES];
	double fhd_s[ROUTES];
	float *grid, *ls, *noisy, *noisy_grid, *noisy_ls;
	double ls_s;
};

/*
 * 462 x 616 = 284,592 positions at random in a cube that holds about as many unknowns (0.42^3 x
 * 128^3 = 155,000): enough for least squares, and uneven enough to spoil what gridding makes of it.
 */
static struct bs_protocol protocol(bool small)
{
	struct bs_protocol p = { .name = "2008",
				 .method = BS_METHOD_LS,
				 .dims = 3,
				 .coils = 1,
				 .slices = 1,
				 .contrasts = 1,
				 .accuracy = 1e-5,
				 .density = BS_DENSITY_PIPE,
				 .density_iterations = 20,
				 .iterations = 60,
				 .fhd = BS_SUM_NUFFT,
				 .q = BS_SUM_NUFFT };
	uint32_t n = small ? 48 : 128;

	p.matrix[0] = p.matrix[1] = p.matrix[2] = n;
	p.readouts = small ? 21 : 462;
	p.samples = small ? 714 : 616; /* small: as many for each voxel */
	p.traj.type = BS_TRAJ_RANDOM;
	p.traj.reach = 0.21;
	p.traj.seed = 1;
	return p;
}

static double seconds_since(int64_t start)
{
	return (double)(bs_now_ns() - start) * 1e-9;
}

/* F^H d by a direct sum; sums in double where twice. */
static int exact(struct work *w, bool twice, enum route route, struct bs_fail *why)
{
	const struct bs_trial *t = &w->t;
	struct bs_exact_spec spec = {
		.dims = 3, .coils = 1, .samples = t->samples, .states = 1, .twice = twice
	};
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_exact *plan = NULL;
	int64_t start;
	int rc;

	memcpy(spec.matrix, t->p.matrix, sizeof(spec.matrix));
	rc = bs_exact_need(&spec, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_exact_plan(&plan, &spec, t->traj.k, NULL, &arena, t->team, why);
	if (rc == 0) {
		bs_reproduce_say(w->r, route_name[route]);
		start = bs_now_ns();
		bs_exact_adjoint(plan, t->data[0], w->fhd[route]);
		w->fhd_s[route] = seconds_since(start);
		bs_exact_close(plan);
	}
	bs_arena_close(&arena);
	return rc;
}

static int open_operators(struct work *w, struct bs_fail *why)
{
	struct bs_prior_spec prior = {
		.dims = 3, .neighbors = 6, .images = 1, .edge = 0.05, .outside = 1.0
	};
	struct bs_tables tables = { .traj = &w->t.traj };
	struct bs_trial *t = &w->t;
	struct bs_phantom ph;
	float *reference = bs_trial_take(t->voxels, why);
	int rc = reference ? 0 : BS_ERR_NOMEM;

	/* the reference is another contrast of the same anatomy */
	memcpy(prior.matrix, t->p.matrix, sizeof(prior.matrix));
	if (rc == 0)
		rc = bs_phantom_make(&ph, 3, t->p.matrix, 0, 1, 1, why);
	if (rc == 0) {
		bs_phantom_image(&ph, 4, reference, t->team);
		for (size_t v = t->voxels; v-- > 0;) {
			float value = reference[v];

			reference[2 * v] = value;
			reference[2 * v + 1] = 0.0f;
		}
		rc = bs_prior_make(&w->w, &prior, reference, NULL, why);
	}
	free(reference);
	bs_reproduce_say(w->r, "Q");
	if (rc == 0)
		rc = bs_solver_open(&w->s[0], &t->p, &tables, t->team, why);
	tables.w = &w->w;
	if (rc == 0)
		rc = bs_solver_open(&w->s[1], &t->p, &tables, t->team, why);
	return rc;
}

static int open_work(struct work *w, struct bs_fail *why)
{
	struct bs_protocol p = protocol(w->r->small);
	float **image[] = { &w->grid,   &w->ls,     &w->noisy_grid, &w->noisy_ls,
			    &w->fhd[0], &w->fhd[1], &w->fhd[2] };
	int rc;

	bs_reproduce_say(w->r, "2008: data and density compensation");
	rc = bs_trial_open(&w->t, &p, w->r->team, why);
	for (size_t i = 0; rc == 0 && i < sizeof(image) / sizeof(image[0]); i++) {
		*image[i] = bs_trial_take(w->t.voxels, why);
		rc = *image[i] ? 0 : BS_ERR_NOMEM;
	}
	if (rc == 0) {
		w->noisy = bs_trial_take(w->t.samples, why);
		rc = w->noisy ? 0 : BS_ERR_NOMEM;
	}
	return rc == 0 ? open_operators(w, why) : rc;
}

static void close_work(struct work *w)
{
	float *image[] = { w->grid,   w->ls,     w->noisy_grid, w->noisy_ls,
			   w->fhd[0], w->fhd[1], w->fhd[2],     w->noisy };

	for (size_t i = 0; i < sizeof(image) / sizeof(image[0]); i++)
		free(image[i]);
	bs_solver_close(&w->s[0]);
	bs_solver_close(&w->s[1]);
	bs_csr_close(&w->w);
	bs_trial_close(&w->t);
}

static void row(struct work *w, const char *what, const char *key, struct bs_difference d,
		const char *paper)
{
	char name[64];

	(void)fprintf(w->r->md, "| %s | %.1f %% | %.1f dB | %s |\n", what, 100.0 * d.nrmse,
		      d.psnr_db, paper);
	(void)snprintf(name, sizeof(name), "2008.%s.percent", key);
	bs_reproduce_figure(w->r, name, 100.0 * d.nrmse);
	(void)snprintf(name, sizeof(name), "2008.%s.db", key);
	bs_reproduce_figure(w->r, name, d.psnr_db);
}

static int without_noise(struct work *w, struct bs_fail *why)
{
	static const char *const key[ROUTES] = { "ls.double", "ls.single", "ls.nufft" };
	struct bs_trial *t = &w->t;
	struct bs_pcg_result result;
	double off[ROUTES] = { 0 };
	double ratio = 0.0;
	int64_t start;
	int rc = exact(w, true, ROUTE_DOUBLE, why);

	if (rc == 0)
		rc = exact(w, false, ROUTE_SINGLE, why);
	if (rc != 0)
		return rc;
	start = bs_now_ns();
	bs_solver_fhd(&w->s[0], t->data[0], w->fhd[ROUTE_NUFFT]);
	w->fhd_s[ROUTE_NUFFT] = seconds_since(start);
	bs_trial_grid(t, t->data[0], w->grid);
	(void)fprintf(w->r->md,
		      "### Without noise\n\n| image | error | PSNR | paper |\n|---|---|---|---|\n");
	struct bs_difference g = bs_trial_error(t, w->grid, t->truth[0]).scaled;

	row(w, "gridding (weights after Pipe and Menon)", "gridding", g, "42 %, 17 dB");
	for (int i = 0; i < ROUTES; i++) {
		char what[80];
		struct bs_difference d;

		start = bs_now_ns();
		bs_solver_solve(&w->s[0], 0.0, w->fhd[i], w->ls, &result);
		w->ls_s = seconds_since(start);
		d = bs_trial_error(t, w->ls, t->truth[0]).unscaled;
		(void)snprintf(what, sizeof(what), "least squares, F^H d %s", route_name[i]);
		row(w, what, key[i], d, "12-13 %, 27-28 dB");
		ratio = g.nrmse / d.nrmse;
		off[i] = bs_trial_error(t, w->fhd[i], w->fhd[ROUTE_DOUBLE]).unscaled.nrmse;
	}
	bs_reproduce_figure(w->r, "2008.ratio", ratio);
	bs_reproduce_figure(w->r, "2008.single.off", off[ROUTE_SINGLE]);
	bs_reproduce_figure(w->r, "2008.nufft.off", off[ROUTE_NUFFT]);
	(void)fprintf(
		w->r->md,
		"\n%u iterations without a constraint; the gridded image has %.1f times the error. "
		"F^H d differs from the\nsum in double precision by %.1e (single precision) and "
		"%.1e (NUFFT), relative l2.\n\n",
		result.iterations, ratio, off[ROUTE_SINGLE], off[ROUTE_NUFFT]);
	return 0;
}

static int with_noise(struct work *w, struct bs_fail *why)
{
	static const double lambda[] = { 0.1, 1.0, 3.0, 10.0, 30.0 };
	struct bs_trial *t = &w->t;
	struct bs_pcg_result result;
	struct bs_difference best = { INFINITY, 0.0 };
	double chosen = 0.0;
	double sigma = 0.0;
	float *image = bs_trial_take(t->voxels, why);
	double wanted = 100.0 * bs_trial_error(t, w->grid, t->truth[0]).scaled.nrmse * 47.0 / 42.0;
	int rc = image ? bs_trial_noise_for(t, w->r->small ? wanted : 47.0, NOISE_SEED, &sigma, why)
		       : BS_ERR_NOMEM;

	if (rc != 0) {
		free(image);
		return rc;
	}
	bs_reproduce_say(w->r, "2008: with noise");
	bs_trial_noisy(t, t->data[0], sigma, NOISE_SEED, w->noisy);
	bs_trial_grid(t, w->noisy, w->noisy_grid);
	bs_solver_fhd(&w->s[0], w->noisy, w->fhd[ROUTE_NUFFT]);
	(void)fprintf(
		w->r->md,
		"### With noise\n\nThe noise that brings the gridded image's error to %.0f %%: "
		"a Cartesian scan would have an image SNR of %.2f.\nW: differences of the 6 neighbors, "
		"small across the edges of a reference image of another contrast.\n\n"
		"| image | error | PSNR | paper |\n|---|---|---|---|\n",
		100.0 * bs_trial_error(t, w->noisy_grid, t->truth[0]).scaled.nrmse,
		sqrt(t->energy) / sigma);
	row(w, "gridding", "noise.gridding", bs_trial_error(t, w->noisy_grid, t->truth[0]).scaled,
	    "47 %, 16 dB");
	bs_solver_solve(&w->s[0], 0.0, w->fhd[ROUTE_NUFFT], image, &result);
	row(w, "least squares without W", "noise.ls",
	    bs_trial_error(t, image, t->truth[0]).unscaled, "");
	for (size_t i = 0; i < sizeof(lambda) / sizeof(lambda[0]); i++) {
		char what[80];
		char key[32];
		struct bs_difference d;

		bs_solver_solve(&w->s[1], lambda[i], w->fhd[ROUTE_NUFFT], image, &result);
		d = bs_trial_error(t, image, t->truth[0]).unscaled;
		(void)snprintf(what, sizeof(what), "least squares with W, lambda %g", lambda[i]);
		(void)snprintf(key, sizeof(key), "noise.w.%g", lambda[i]);
		row(w, what, key, d, "16 %, 25 dB");
		if (d.nrmse < best.nrmse) {
			best = d;
			chosen = lambda[i];
			memcpy(w->noisy_ls, image, t->voxels * 2 * sizeof(*image));
		}
	}
	bs_reproduce_figure(w->r, "2008.noise.best.percent", 100.0 * best.nrmse);
	bs_reproduce_figure(w->r, "2008.noise.best.db", best.psnr_db);
	(void)fprintf(w->r->md, "\nBest: lambda %g.\n\n", chosen);
	free(image);
	return 0;
}

/* One other trajectory of as many samples, without noise. */
static int other(struct work *w, const char *name, const char *key, const struct bs_protocol *p,
		 struct bs_fail *why)
{
	static const char *const density[] = { "Pipe and Menon", "ramp" };
	struct bs_tables tables = { .w = &w->w };
	struct bs_trial t = { .voxels = 0 };
	struct bs_solver s = { .voxels = 0 };
	struct bs_protocol q = *p;
	struct bs_pcg_result result;
	char text[96];
	int rc = 0;

	for (int i = 0; rc == 0 && i < (p->traj.type == BS_TRAJ_RADIAL3D ? 2 : 1); i++) {
		bs_trial_close(&t);
		q.density = i ? BS_DENSITY_RAMP : BS_DENSITY_PIPE;
		rc = bs_trial_open(&t, &q, w->r->team, why);
		if (rc != 0)
			break;
		bs_trial_grid(&t, t.data[0], w->ls);
		(void)snprintf(text, sizeof(text), "%s: gridding, %s", name, density[i]);
		(void)snprintf(t.p.name, sizeof(t.p.name), "%s.%s", key, i ? "ramp" : "pipe");
		row(w, text, t.p.name, bs_trial_error(&t, w->ls, t.truth[0]).scaled, "");
	}
	for (int i = 0; rc == 0 && i < 2; i++) {
		tables.traj = &t.traj;
		tables.w = i ? &w->w : NULL;
		rc = bs_solver_open(&s, &q, &tables, w->r->team, why);
		if (rc != 0)
			break;
		bs_solver_fhd(&s, t.data[0], w->fhd[ROUTE_NUFFT]);
		bs_solver_solve(&s, i ? 1.0 : 0.0, w->fhd[ROUTE_NUFFT], w->ls, &result);
		(void)snprintf(text, sizeof(text), "%s: least squares%s", name,
			       i ? " with W, lambda 1" : "");
		(void)snprintf(t.p.name, sizeof(t.p.name), "%s.ls%s", key, i ? ".w" : "");
		row(w, text, t.p.name, bs_trial_error(&t, w->ls, t.truth[0]).unscaled, "");
		bs_solver_close(&s);
	}
	bs_trial_close(&t);
	return rc;
}

static int others(struct work *w, struct bs_fail *why)
{
	struct bs_protocol cones = w->t.p;
	struct bs_protocol koosh = w->t.p;
	int rc;

	cones.traj.type = BS_TRAJ_CONES;
	cones.traj.reach = 0.325;
	cones.readouts = w->r->small ? 21 : 84;
	cones.samples = w->r->small ? 714 : 3388;
	koosh.traj.type = BS_TRAJ_RADIAL3D;
	koosh.traj.reach = 0.5;
	koosh.readouts = w->r->small ? 119 : 924;
	koosh.samples = w->r->small ? 126 : 308;
	bs_reproduce_say(w->r, "2008: other trajectories");
	(void)fprintf(w->r->md, "### Other trajectories of as many samples, without noise\n\n"
				"| image | error | PSNR | |\n|---|---|---|---|\n");
	rc = other(w, "cones to 0.325", "cones", &cones, why);
	if (rc == 0)
		rc = other(w, "koosh ball to 0.5", "koosh", &koosh, why);
	(void)fprintf(w->r->md, "\n");
	return rc;
}

static void times(struct work *w)
{
	FILE *md = w->r->md;
	double total = w->fhd_s[ROUTE_SINGLE] + w->ls_s;

	(void)fprintf(md, "### Time\n\n| work | here | paper |\n|---|---|---|\n");
	(void)fprintf(md, "| F^H d, exact, double precision | %.2f s | 22.5 min (four cores) |\n",
		      w->fhd_s[ROUTE_DOUBLE]);
	(void)fprintf(md, "| F^H d, exact, single precision | %.2f s | 49 s (GPU) |\n",
		      w->fhd_s[ROUTE_SINGLE]);
	(void)fprintf(md, "| F^H d, NUFFT | %.3f s | |\n", w->fhd_s[ROUTE_NUFFT]);
	(void)fprintf(md, "| 60 iterations | %.2f s | 17 s (GPU) |\n", w->ls_s);
	(void)fprintf(md, "| F^H d (exact, single) and 60 iterations | %.2f s | 66 s (GPU) |\n",
		      total);
	(void)fprintf(md, "| Q, once for the trajectory | %.2f s | |\n\nOne run each.\n\n",
		      w->s[0].q_s);
	bs_reproduce_figure(w->r, "2008.seconds.fhd_double", w->fhd_s[ROUTE_DOUBLE]);
	bs_reproduce_figure(w->r, "2008.seconds.fhd_single", w->fhd_s[ROUTE_SINGLE]);
	bs_reproduce_figure(w->r, "2008.seconds.fhd_nufft", w->fhd_s[ROUTE_NUFFT]);
	bs_reproduce_figure(w->r, "2008.seconds.solve", w->ls_s);
}

/* A copy of an image times its best scale, for the picture. */
static float *scaled(const struct bs_trial *t, const float *image, struct bs_fail *why)
{
	struct bs_comparison c = bs_trial_error(t, image, t->truth[0]);
	float *out = bs_trial_take(t->voxels, why);

	for (size_t v = 0; out != NULL && v < t->voxels; v++) {
		out[2 * v] = (float)(c.scale[0] * image[2 * v] - c.scale[1] * image[2 * v + 1]);
		out[2 * v + 1] = (float)(c.scale[0] * image[2 * v + 1] + c.scale[1] * image[2 * v]);
	}
	return out;
}

static int pictures(struct work *w, struct bs_fail *why)
{
	struct bs_trial *t = &w->t;
	float *grid = scaled(t, w->grid, why);
	float *noisy = scaled(t, w->noisy_grid, why);
	const float *images[] = { t->truth[0], grid, w->ls, noisy, w->noisy_ls };
	char path[1024];
	int rc = grid && noisy ? 0 : BS_ERR_NOMEM;

	if (rc == 0 && !bs_reproduce_path(w->r, path, sizeof(path), "2008.png"))
		rc = bs_fail(why, BS_ERR_USAGE, "the folder's name is too long");
	/* through the ventricles; white at 2.2: the skull is 2 */
	if (rc == 0)
		rc = bs_trial_picture(t, path,
				      "true, gridding, least squares; with noise: gridding, "
				      "least squares with W",
				      images, 5, t->p.matrix[2] * 3 / 8, 2.2, why);
	if (rc == 0)
		(void)fprintf(w->r->md,
			      "![slices](2008.png)\n\nTrue image; gridding; least squares; with "
			      "noise: gridding; least squares with W.\n\n");
	free(grid);
	free(noisy);
	return rc;
}

int bs_reproduce_2008(struct bs_reproduce *r, struct bs_fail *why)
{
	struct work w = { .r = r };
	int rc = open_work(&w, why);

	if (rc == 0) {
		(void)fprintf(
			r->md,
			"## 2008: %u^3 voxels from %zu samples\n\nPositions at random, within "
			"%.2f cycles per voxel of the center on each axis: the papers do not\nsay "
			"enough of their trajectory to repeat it; this one gives gridding the error "
			"that they report.\n\n",
			w.t.p.matrix[0], w.t.samples, w.t.p.traj.reach);
		rc = without_noise(&w, why);
	}
	if (rc == 0)
		rc = with_noise(&w, why);
	if (rc == 0) {
		times(&w);
		rc = pictures(&w, why);
	}
	if (rc == 0)
		rc = others(&w, why);
	close_work(&w);
	return rc;
}
