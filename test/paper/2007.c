/* test/paper/2007.c - 64^3 voxels from 3.2 million samples of twisted projections */
#include "test/paper/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/paper/trial.h"
#include "test/support/plan/planned.h"

struct work {
	struct bs_reproduce *r;
	struct bs_trial t;
	struct bs_solver exact, nufft;
	float *grid, *fhd[2], *ls;
	struct bs_took exact_took, nufft_took, solve_took;
};

/* 3,200 x 1,000 = 3.2 million; the sodium trajectory of the papers' group. */
static struct bs_protocol protocol(bool small)
{
	struct bs_protocol p = bs_trial_protocol("2007", 1, 60);
	uint32_t n = small ? 24 : 64;

	p.matrix[0] = p.matrix[1] = p.matrix[2] = n;
	p.readouts = small ? 420 : 3200;
	p.samples = small ? 400 : 1000;
	p.traj.type = BS_TRAJ_TPI;
	return planned(p);
}

static int open_work(struct work *w, struct bs_fail *why)
{
	struct bs_protocol p = protocol(w->r->small);
	struct bs_tables tables = { .traj = &w->t.traj };
	float **image[] = { &w->grid, &w->fhd[0], &w->fhd[1], &w->ls };
	int rc;

	bs_reproduce_say(w->r, "2007: data and density compensation");
	rc = bs_trial_open(&w->t, &p, w->r->team, why);
	for (size_t i = 0; rc == 0 && i < sizeof(image) / sizeof(image[0]); i++) {
		*image[i] = bs_trial_take(w->t.voxels, why);
		rc = *image[i] ? 0 : BS_ERR_NOMEM;
	}
	w->t.p.fhd = BS_SUM_NUFFT;
	bs_plan_make(&w->t.p);
	if (rc == 0)
		rc = bs_solver_open(&w->nufft, &w->t.p, &tables, w->r->team, why);
	w->t.p.fhd = BS_SUM_EXACT;
	bs_plan_make(&w->t.p);
	if (rc == 0)
		rc = bs_solver_open(&w->exact, &w->t.p, &tables, w->r->team, why);
	return rc;
}

static void close_work(struct work *w)
{
	free(w->grid);
	free(w->fhd[0]);
	free(w->fhd[1]);
	free(w->ls);
	bs_solver_close(&w->exact);
	bs_solver_close(&w->nufft);
	bs_trial_close(&w->t);
}

static void measure(struct work *w)
{
	struct bs_trial *t = &w->t;
	struct bs_pcg_result result;
	struct bs_difference g;
	struct bs_difference d;
	double off;
	struct bs_took start;

	bs_reproduce_say(w->r, "2007: exact F^H d");
	start = bs_reproduce_now(w->r);
	bs_solver_fhd(&w->exact, t->data[0], w->fhd[0]);
	w->exact_took = bs_reproduce_since(w->r, start);
	start = bs_reproduce_now(w->r);
	bs_solver_fhd(&w->nufft, t->data[0], w->fhd[1]);
	w->nufft_took = bs_reproduce_since(w->r, start);
	off = bs_trial_error(t, w->fhd[1], w->fhd[0]).unscaled.nrmse;
	bs_trial_grid(t, t->data[0], w->grid);
	start = bs_reproduce_now(w->r);
	bs_solver_solve(&w->exact, 0.0, w->fhd[0], w->ls, &result);
	w->solve_took = bs_reproduce_since(w->r, start);
	g = bs_trial_error(t, w->grid, t->truth[0]).scaled;
	d = bs_trial_error(t, w->ls, t->truth[0]).unscaled;
	(void)fprintf(
		w->r->md,
		"| image or work | here | paper |\n|---|---|---|\n"
		"| gridding (weights after Pipe and Menon) | %.1f %%, %.1f dB | |\n"
		"| least squares, %u iterations without a constraint | %.1f %%, %.1f dB | |\n"
		"| F^H d, exact, single precision | %.2f s (%.2f) | |\n"
		"| F^H d, NUFFT, accuracy 1e-5 (differs from the exact by %.1e) | %.3f s (%.3f) | "
		"|\n"
		"| %u iterations | %.2f s (%.2f) | |\n"
		"| Q, once for the trajectory (NUFFT) | %.2f s | |\n"
		"| least squares: exact F^H d and iterations | %.2f s (%.2f) | 3.19 min |\n\n",
		100.0 * g.nrmse, g.psnr_db, result.iterations, 100.0 * d.nrmse, d.psnr_db,
		w->exact_took.wall_s, w->exact_took.busy_s, off, w->nufft_took.wall_s,
		w->nufft_took.busy_s, result.iterations, w->solve_took.wall_s, w->solve_took.busy_s,
		w->exact.q_s, w->exact_took.wall_s + w->solve_took.wall_s,
		w->exact_took.busy_s + w->solve_took.busy_s);
	bs_reproduce_figure(w->r, "2007.gridding.percent", 100.0 * g.nrmse);
	bs_reproduce_figure(w->r, "2007.ls.percent", 100.0 * d.nrmse);
	bs_reproduce_figure(w->r, "2007.nufft.off", off);
	bs_reproduce_figure(w->r, "2007.seconds.fhd_single", w->exact_took.wall_s);
	bs_reproduce_figure(w->r, "2007.seconds.fhd_nufft", w->nufft_took.wall_s);
	bs_reproduce_figure(w->r, "2007.seconds.solve", w->solve_took.wall_s);
}

static int picture(struct work *w, struct bs_fail *why)
{
	const float *images[] = { w->t.truth[0], w->grid, w->ls };
	struct bs_comparison c = bs_trial_error(&w->t, w->grid, w->t.truth[0]);
	char path[1024];

	for (size_t v = 0; v < w->t.voxels; v++) {
		double re = w->grid[2 * v];
		double im = w->grid[2 * v + 1];

		w->grid[2 * v] = (float)(c.scale[0] * re - c.scale[1] * im);
		w->grid[2 * v + 1] = (float)(c.scale[0] * im + c.scale[1] * re);
	}
	if (!bs_reproduce_path(w->r, path, sizeof(path), "2007.png"))
		return bs_fail(why, BS_ERR_USAGE, "the folder's name is too long");
	(void)fprintf(w->r->md, "![slices](2007.png)\n\nTrue image; gridding; least squares.\n\n");
	return bs_trial_picture(&w->t, path, "true, gridding, least squares", images, 3,
				w->t.p.matrix[2] * 3 / 8, 2.2, why);
}

int bs_reproduce_2007(struct bs_reproduce *r, struct bs_fail *why)
{
	struct work w = { .r = r };
	int rc = open_work(&w, why);

	if (rc == 0) {
		(void)fprintf(
			r->md,
			"## 2007: %u^3 voxels from %zu samples\n\n%u twisted projections of %u "
			"samples, without noise.\n\n",
			w.t.p.matrix[0], w.t.samples, w.t.p.readouts, w.t.p.samples);
		measure(&w);
		rc = picture(&w, why);
	}
	close_work(&w);
	return rc;
}
