/*
 * test/unit/board/tool/test_ball.c - what `boreside tune` says of a lesion's contrast, against a
 * direct solve in double precision of the same injection: W of a step, a small identity, radial
 * samples. 2 %; single precision and conjugate gradients to 1e-7 leave 1e-3
 */
#define _GNU_SOURCE /* M_PI, popen, mkdtemp */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "core/solve/prior.h"
#include "core/tool/ball.h"
#include "drivers/file/tables.h"
#include "test/support/check.h"
#include "test/support/folder.h"
#include "test/support/plan/planned.h"

#define NX      12u
#define NY      10u
#define VOXELS  (NX * NY)
#define SPOKES  9u
#define SAMPLES 24u
#define L2      0.02
#define STEPS   3

static const struct bs_ball ball = { { NX, NY, 1 }, { 5.0, 4.0, 0.0 }, 1.5 };
static double complex normal[VOXELS][VOXELS]; /* F^H F */
static double gram[VOXELS][VOXELS];           /* W^H W */
static struct bs_fail why;

/* F^H F by direct sums along the path that the program works out for itself. */
static bool sum_up(void)
{
	struct bs_protocol p = path_of(BS_METHOD_LS, BS_TRAJ_RADIAL2D, NX, NY, 1, 1);
	struct bs_loaded loaded = { 0 };
	int rc;

	readouts_of(&p, SPOKES, SAMPLES);
	p.traj.reach = 0.5;
	p = planned_host(p);
	rc = bs_tables_load(&loaded, &p, &why);
	for (uint32_t i = 0; rc == 0 && i < VOXELS * VOXELS; i++) {
		const double x = (double)(i % VOXELS % NX) - (double)(i / VOXELS % NX);
		const double y = (double)(i % VOXELS / NX) - (double)(i / VOXELS / NX);
		double complex sum = 0.0;

		for (uint32_t m = 0; m < SPOKES * SAMPLES; m++) {
			const float *k = loaded.traj.k + (size_t)2 * m;

			sum += cexp(-2.0 * M_PI * I * ((double)k[0] * x + (double)k[1] * y));
		}
		normal[i / VOXELS][i % VOXELS] = sum;
	}
	bs_tables_free(&loaded);
	return rc == 0;
}

/* W of a step through the ball's rim, as a file for the program and as W^H W. */
static bool make_w(void)
{
	static float step[VOXELS][2], mask[VOXELS][2];
	const struct bs_prior_spec spec = { .dims = 2,
					    .matrix = { NX, NY, 1 },
					    .neighbors = 8,
					    .images = 1,
					    .edge = 0.1,
					    .outside = 1.0 };
	FILE *f = fopen(in_dir("w.mtx"), "w");
	struct bs_csr w;

	for (uint32_t v = 0; v < VOXELS; v++) {
		step[v][0] = v % NX < 6 ? 1.0f : 0.3f;
		mask[v][0] = v % NX > 0 && v / NX > 0;
	}
	if (f == NULL || bs_prior_make(&w, &spec, &step[0][0], &mask[0][0], &why) != 0)
		return false;
	(void)fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n%llu %llu %llu\n",
		      (unsigned long long)w.rows, (unsigned long long)w.cols,
		      (unsigned long long)w.entries);
	for (uint64_t r = 0; r < w.rows; r++)
		for (uint64_t i = w.start[r]; i < w.start[r + 1]; i++) {
			(void)fprintf(f, "%llu %u %.9g\n", (unsigned long long)r + 1, w.col[i] + 1,
				      (double)w.value[i]);
			for (uint64_t j = w.start[r]; j < w.start[r + 1]; j++)
				gram[w.col[i]][w.col[j]] += (double)w.value[i] * (double)w.value[j];
		}
	bs_csr_close(&w);
	return fclose(f) == 0;
}

/* Solves a x = b in place, by elimination without pivots: a is positive definite. */
static void eliminate(double complex a[VOXELS][VOXELS], double complex b[VOXELS])
{
	for (uint32_t c = 0; c < VOXELS; c++)
		for (uint32_t r = c + 1; r < VOXELS; r++) {
			const double complex by = a[r][c] / a[c][c];

			for (uint32_t i = c; i < VOXELS; i++)
				a[r][i] -= by * a[c][i];
			b[r] -= by * b[c];
		}
	for (uint32_t c = VOXELS; c-- > 0;) {
		for (uint32_t i = c + 1; i < VOXELS; i++)
			b[c] -= a[c][i] * b[i];
		b[c] /= a[c][c];
	}
}

static double kept_at(double lambda)
{
	static double complex a[VOXELS][VOXELS], x[VOXELS];
	static float put[VOXELS][2], got[VOXELS][2];

	bs_ball_put(&ball, &put[0][0]);
	for (uint32_t r = 0; r < VOXELS; r++) {
		x[r] = 0.0;
		for (uint32_t c = 0; c < VOXELS; c++) {
			a[r][c] = normal[r][c] + lambda * VOXELS * gram[r][c];
			x[r] += normal[r][c] * (double)put[c][0];
		}
		a[r][r] += L2 * VOXELS;
	}
	eliminate(a, x);
	for (uint32_t v = 0; v < VOXELS; v++) {
		got[v][0] = (float)creal(x[v]);
		got[v][1] = (float)cimag(x[v]);
	}
	return bs_ball_kept(&ball, &got[0][0]);
}

static void write_site(void)
{
	FILE *f = fopen(in_dir("site.cfg"), "w");

	if (f == NULL)
		abort();
	(void)fprintf(
		f,
		"node: { run_dir = \"run\"; cache_dir = \"\"; };\n"
		"protocols = ( { name = \"p\"; method = \"ls\"; matrix = [%u, %u]; coils = 1;\n"
		"samples = %u; readouts = %u; trajectory: { type = \"radial2d\"; };\n"
		"ls: { iterations = 400; tolerance = 1e-7; lambda = 0.1; l2 = %g;\n"
		"w_file = \"w.mtx\";\n"
		"fhd = \"exact\"; q = \"exact\"; }; } );\n",
		NX, NY, SAMPLES, SPOKES, L2);
	(void)fclose(f);
}

/* Reads what the program says at each lambda. */
static void program(void)
{
	char command[600];
	char line[256];
	bool warned = false;
	double least = 1.0;
	int rows = 0;
	FILE *f;

	(void)snprintf(command, sizeof(command),
		       "cd '%s' && '%s' tune -c site.cfg -p p --lambda 0.001:1 --steps %d "
		       "--trials 1 --ball 5,4 --radius 1.5",
		       dir, getenv("BORESIDE"), STEPS);
	f = popen(command, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		double lambda, said;

		warned = warned || strncmp(line, "warning: from lambda", 20) == 0;
		if (sscanf(line, "%lf %*f %*f %*f %lf", &lambda, &said) != 2)
			continue;
		rows++;
		least = fmin(least, kept_at(lambda));
		CHECK(fabs(said / kept_at(lambda) - 1.0) < 0.02,
		      "lambda %g: %.3f is kept, %.4f by the direct solve", lambda, said,
		      kept_at(lambda));
	}
	CHECK(f != NULL && pclose(f) == 0 && rows == STEPS, "%d lambdas", rows);
	CHECK(warned == (least < 0.9), "%s below 0.9: %.3f", warned ? "warned" : "no warning",
	      least);
}

static void shapes(void)
{
	static float image[VOXELS][2];
	double sum = 0.0;

	bs_ball_put(&ball, &image[0][0]);
	for (uint32_t v = 0; v < VOXELS; v++)
		sum += (double)image[v][0];
	/* points of an eighth of a voxel: the disk's area to its rim's share of one */
	CHECK(fabs(sum / (M_PI * 1.5 * 1.5) - 1.0) < 0.02, "a disk of area %.3f", sum);
	CHECK(fabs(bs_ball_kept(&ball, &image[0][0]) - 1.0) < 1e-6, "is itself");
}

int main(void)
{
	shapes();
	if (getenv("BORESIDE") == NULL) {
		SKIP("tune: no program (BORESIDE)");
		return check_done();
	}
	write_site();
	CHECK(sum_up() && make_w(), "the problem: %s", why.text);
	program();
	return check_done();
}
