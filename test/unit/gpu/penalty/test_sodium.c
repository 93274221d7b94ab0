/*
 * test/unit/gpu/penalty/test_sodium.c - W of a proton image on the sodium problem of data/prior:
 * errors with W and a small identity, without W, one voxel off, and how far off it is found to be
 */
#define _GNU_SOURCE /* for M_PI */
#include <stdlib.h>
#include <string.h>

#include "board/arm/anatomy.h"
#include "board/tool/offline/solver.h"
#include "drivers/tool/load/cfl.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#define N       32
#define VOXELS  (N * N * N)
#define SPOKES  700u
#define SAMPLES 32u

static struct bs_cfl data, proton, truth;
static float magnitude[VOXELS], image[VOXELS][2], mask[VOXELS][2], rho[VOXELS][2], fhd[VOXELS][2],
	work[2 * VOXELS];
static struct bs_protocol p;
static struct bs_traj traj;
static struct bs_csr w;
static struct bs_team *team;
static struct bs_fail why;

/* Centre-out spokes, as data/prior/README.md has them. */
static int make_traj(void)
{
	int rc = bs_traj_open(&traj, 3, SAMPLES, SPOKES, &why);

	for (uint32_t i = 0; rc == 0 && i < SPOKES; i++) {
		const double z = 1.0 - 2.0 * (i + 0.5) / SPOKES;
		const double r = sqrt(1.0 - z * z);
		const double angle = M_PI * (1.0 + sqrt(5.0)) * (i + 0.5);

		for (uint32_t m = 0; m < SAMPLES; m++) {
			float *k = traj.k + 3 * (i * SAMPLES + m);

			k[0] = (float)(r * cos(angle) * m / 64.0);
			k[1] = (float)(r * sin(angle) * m / 64.0);
			k[2] = (float)(z * m / 64.0);
		}
	}
	return rc;
}

static int open_problem(const char *folder)
{
	char path[512];
	int rc;

	(void)snprintf(path, sizeof(path), "%s/prior/na_ksp.cfl", folder);
	rc = bs_cfl_read(&data, path, &why);
	(void)snprintf(path, sizeof(path), "%s/prior/na_proton.cfl", folder);
	rc = rc == 0 ? bs_cfl_read(&proton, path, &why) : rc;
	(void)snprintf(path, sizeof(path), "%s/prior/ref/na_truth.cfl", folder);
	rc = rc == 0 ? bs_cfl_read(&truth, path, &why) : rc;
	if (rc == 0 &&
	    (data.size != SPOKES * SAMPLES || proton.size != VOXELS || truth.size != VOXELS))
		rc = bs_fail(&why, BS_ERR_SIZE, "the sodium problem has other sizes");
	p = (struct bs_protocol){ .name = "sodium",
				  .method = bs_method_least_squares(),
				  .dims = 3,
				  .matrix = { N, N, N },
				  .coils = 1,
				  .samples = SAMPLES,
				  .readouts = SPOKES,
				  .slices = 1,
				  .contrasts = 1,
				  .traj.type = BS_TRAJ_RADIAL3D,
				  .accuracy = 1e-5,
				  .density = BS_DENSITY_NONE,
				  .fhd = BS_SUM_NUFFT,
				  .q = BS_SUM_NUFFT,
				  .iterations = 60,
				  .lambda = 0.03,
				  .w = { .from = BS_W_STUDY,
					 .protocol = "proton",
					 .neighbors = 26,
					 .edge = 0.1,
					 .outside = 1.0,
					 .mask = 0.1,
					 .margin = 1.5,
					 .off = 0.75,
					 .l2 = 0.1 } };
	bs_plan_make(&p);
	for (size_t i = 0; rc == 0 && i < data.size * 2; i++)
		data.data[i] *= sqrtf(VOXELS); /* the problem's scale is BART's */
	return rc == 0 ? make_traj() : rc;
}

static double error(void)
{
	double e = 0.0;
	double r = 0.0;

	for (int v = 0; v < VOXELS; v++) {
		const double x = (v % N - N / 2) / 14.2;
		const double y = (v / N % N - N / 2) / 12.2;
		const double z = (v / N / N - N / 2) / 13.2;

		if (x * x + y * y + z * z > 1.0) /* the README's mask, but for its rim */
			continue;
		for (int i = 0; i < 2; i++) {
			const double d = (double)rho[v][i] - (double)truth.data[2 * v + i];

			e += d * d;
			r += (double)truth.data[2 * v + i] * (double)truth.data[2 * v + i];
		}
	}
	return sqrt(e / r);
}

/* Makes W of the proton image as if it lay x voxels off. */
static int make_w(double x)
{
	struct bs_grid g = {
		.matrix = { N, N, N },
		.fov_mm = { N, N, N },
		.pose = { .read_dir = { 1 }, .phase_dir = { 0, 1 }, .slice_dir = { 0, 0, 1 } }
	};
	struct bs_grid from = g;

	from.pose.position[0] = (float)x;
	return bs_anatomy_make(&w, &p, &image[0][0], &mask[0][0], &g, magnitude, &from, &why);
}

static double solve(struct bs_solver *s, bool hold)
{
	struct bs_pcg_result result;

	bs_ls_hold(s->ls, hold);
	bs_solver_solve(s, p.lambda, &fhd[0][0], &rho[0][0], &result);
	return error();
}

/* Aligned, half a voxel and a voxel off: errors at most those of the README, and the offset. */
static void test_errors(struct bs_solver *s)
{
	static const struct {
		double off, most;
	} row[] = { { 0.0, 0.0585 }, { 0.5, 0.0635 }, { 1.0, 0.0985 } };
	const double without = solve(s, false);
	double aligned = 0.0;
	struct bs_offset o;

	CHECK(without < 0.115, "without W: NRMSE %.4f", without);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int rc = make_w(row[i].off);
		double e;

		(void)solve(s, false);
		bs_offset_find(&o, p.matrix, &rho[0][0], 1, &image[0][0], work);
		CHECK(rc == 0 && o.found && fabs((double)o.voxels[0] + row[i].off) < 0.3 &&
			      fabsf(o.voxels[1]) < 0.3f && fabsf(o.voxels[2]) < 0.3f,
		      "%g voxels off: found %.2f, %.2f, %.2f %s", row[i].off, (double)o.voxels[0],
		      (double)o.voxels[1], (double)o.voxels[2], why.text);
		e = solve(s, true);
		aligned = i == 0 ? e : aligned;
		/* half a voxel of misregistration costs at most 0.005 */
		CHECK(e <= row[i].most && (row[i].off > 0.5 || e <= aligned + 0.005),
		      "%g voxels off: NRMSE %.4f, %.4f more", row[i].off, e, e - aligned);
	}
}

int main(void)
{
	const char *folder = getenv("DATA");
	struct bs_prior_spec spec;
	struct bs_solver s;
	struct bs_tables tables = { .traj = &traj, .w = &w };
	int rc;

	if (folder == NULL || open_problem(folder) != 0) {
		SKIP("no sodium problem in DATA: %s", why.text);
		return check_done();
	}
	spec = bs_live_spec(&p);
	for (int v = 0; v < VOXELS; v++)
		magnitude[v] = hypotf(proton.data[2 * v], proton.data[2 * v + 1]);
	rc = bs_team_open(&team, 2, &why);
	rc = rc == 0 ? bs_prior_make(&w, &spec, NULL, NULL, &why) : rc;
	rc = rc == 0 ? bs_solver_open(&s, &p, &tables, team, &why) : rc;
	CHECK(rc == 0, "the problem is open %s", why.text);
	if (rc == 0) {
		bs_solver_fhd(&s, data.data, &fhd[0][0]);
		test_errors(&s);
		bs_solver_close(&s);
	}
	bs_csr_close(&w);
	bs_team_close(team);
	bs_traj_close(&traj);
	bs_cfl_free(&data);
	bs_cfl_free(&proton);
	bs_cfl_free(&truth);
	return check_done();
}
