/* test/unit/gpu/test_density.c - weights against the areas that they stand for, and their
 * normalization */
#include "gpu/nufft/density.h"
#include "gpu/solve/lsq.h"
#include "core/tool/trajcheck.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <complex.h>
#include <string.h>

#define PI 3.14159265358979323846

static struct bs_fail why;
static struct bs_team *team;

static struct bs_protocol protocol(uint32_t dims, enum bs_density density,
				   enum bs_normalize normalize)
{
	struct bs_protocol p =
		path_of(BS_METHOD_GRIDDING, BS_TRAJ_RADIAL2D, 32, 30, dims == 3 ? 16 : 1, 0);

	readouts_of(&p, 60, 64);
	p.density = density;
	p.density_iterations = 30;
	p.normalize = normalize;
	p.traj.min_extent = 0.25;
	return planned(p);
}

/* Direct: an image of ones at its center voxel, sum_m w_m sum_n exp(-i2pi k_m.n). */
static double center_of_ones(const float *w, const struct bs_protocol *p, const struct bs_traj *t)
{
	double sum = 0;

	for (size_t m = 0; m < (size_t)t->samples * t->readouts; m++) {
		double complex d = 1;

		for (uint32_t a = 0; a < t->dims; a++) {
			double complex axis = 0;

			for (uint32_t i = 0; i < p->matrix[a]; i++)
				axis += cexp(-I * 2 * PI * t->k[m * t->dims + a] *
					     ((double)i - p->matrix[a] / 2));
			d *= axis;
		}
		sum += w[m] * creal(d);
	}
	return sum;
}

static void ramp(void)
{
	struct bs_protocol p = protocol(2, BS_DENSITY_RAMP, BS_NORMALIZE_AUTO);
	struct bs_traj t = { 0 };
	float w[64 * 60];
	double area = 0;
	double one;

	CHECK(bs_traj_make(&t, &p, &why) == 0 && bs_traj_check(&t, &p, &why) == 0,
	      "radial table %s", why.text);
	CHECK(bs_density(w, &p, &t, NULL, team, &why) == 0, "ramp %s", why.text);
	one = center_of_ones(w, &p, &t);
	CHECK(fabs(one - 1) < 1e-6, "uniform: an image of ones comes back as %.8f", one);
	for (int m = 0; m < 64 * 60; m++)
		area += w[m];
	/* the disc of k-space; its edge is half a step (1/128) uncertain */
	CHECK(fabs(area - PI / 4) < PI * 0.5 / 64, "ramp: the weights add up to %.4f, pi/4 = %.4f",
	      area, PI / 4);
	p.normalize = BS_NORMALIZE_NONE;
	CHECK(bs_density(w, &p, &t, NULL, team, &why) == 0, "ramp, no normalization");
	double worst = 0;

	for (int m = 0; m < 64 * 60; m++)
		worst = fmax(worst, fabs(w[m] - hypot(t.k[2 * m], t.k[2 * m + 1])));
	CHECK(worst < 1e-6, "without normalization the ramp is |k|: %.1e", worst);
	p.traj.unit = BS_UNIT_CYCLES_PER_VOXEL;
	bs_plan_make(&p);
	bs_traj_close(&t);
}

/* A jittered Cartesian trajectory, every point of one half doubled: Pipe must halve those. */
static void pipe_menon(void)
{
	struct bs_protocol p = protocol(2, BS_DENSITY_PIPE, BS_NORMALIZE_AUTO);
	struct bs_traj t = { 0 };
	uint32_t N = 24;
	float *w;
	double left = 0;
	double right = 0;
	uint32_t n = 0;

	p.matrix[0] = p.matrix[1] = N;
	bs_plan_make(&p);
	CHECK(bs_traj_open(&t, 2, N * N + N * N / 2, 1, &why) == 0, "table");
	for (uint32_t y = 0; y < N; y++)
		for (uint32_t x = 0; x < N; x++)
			for (uint32_t twice = 0; twice < (x < N / 2 ? 2u : 1u); twice++, n++) {
				t.k[2 * n] = ((float)x + 0.25f) / (float)N - 0.5f;
				t.k[2 * n + 1] = ((float)y + 0.25f) / (float)N - 0.5f;
			}
	w = malloc(n * sizeof(*w));
	CHECK(bs_density(w, &p, &t, NULL, team, &why) == 0, "pipe %s", why.text);
	for (uint32_t m = 0; m < n; m++)
		*(t.k[2 * m] < 0.0f ? &left : &right) += w[m];
	left /= N * N;
	right /= N * N / 2;
	/* The kernel reaches over the seam and the table's ends: a few per cent of the mean
	 * remain. */
	CHECK(fabs(2 * left / right - 1) < 0.05,
	      "pipe: a doubled sample weighs %.4f of a single one", left / right);
	CHECK(fabs(center_of_ones(w, &p, &t) - 1) < 1e-6, "pipe is normalized");
	free(w);
	bs_traj_close(&t);
}

static void file_and_none(void)
{
	struct bs_protocol p = protocol(3, BS_DENSITY_FILE, BS_NORMALIZE_AUTO);
	struct bs_traj t = { 0 };
	float w[6];
	float given[6] = { 1, 2, 3, 4, 5, 6 };

	CHECK(bs_traj_open(&t, 3, 3, 2, &why) == 0, "table");
	for (int i = 0; i < 18; i++)
		t.k[i] = 0.01f * (float)i;
	CHECK(bs_density(w, &p, &t, given, team, &why) == 0 && memcmp(w, given, sizeof(w)) == 0,
	      "file: as they are");
	p.density = BS_DENSITY_NONE;
	bs_plan_make(&p);
	CHECK(bs_density(w, &p, &t, NULL, team, &why) == 0 && w[0] == 1 && w[5] == 1, "none: 1");
	p.density = BS_DENSITY_RAMP;
	p.normalize = BS_NORMALIZE_NONE;
	bs_plan_make(&p);
	CHECK(bs_density(w, &p, &t, NULL, team, &why) == 0, "ramp in 3D");
	CHECK(fabs(w[5] - (0.15 * 0.15 + 0.16 * 0.16 + 0.17 * 0.17)) < 1e-7,
	      "ramp in 3D is k squared");
	for (int i = 0; i < 6; i++)
		t.k[3 * i + 2] = (float)(i - 3) / 16.0f;
	CHECK(bs_density(w, &p, &t, NULL, team, &why) == 0, "ramp of a stack");
	CHECK(fabs(w[5] - hypot(0.15, 0.16)) < 1e-7, "planes on the grid: |k| in the plane, %g",
	      w[5]);
	bs_traj_close(&t);
}

/* Least squares takes weights that were made beforehand as they are, and none where it wants
 * none. */
static void beforehand(void)
{
	struct bs_protocol p = protocol(2, BS_DENSITY_RAMP, BS_NORMALIZE_AUTO);
	struct bs_traj t = { 0 };
	float given[64 * 60];
	float made[64 * 60];
	float *w = NULL;
	struct bs_tables tables = { .traj = &t, .density = given };

	p.method = BS_METHOD_LS;
	bs_plan_make(&p);
	CHECK(bs_traj_make(&t, &p, &why) == 0, "radial table %s", why.text);
	for (int m = 0; m < 64 * 60; m++)
		given[m] = 1.0f / (float)(m + 1);
	CHECK(bs_lsq_weights(&w, &p, &tables, team, &why) == 0 && w != NULL &&
		      memcmp(w, given, sizeof(given)) == 0,
	      "least squares: weights made beforehand, as they are");
	free(w);
	p.density = BS_DENSITY_NONE;
	bs_plan_make(&p);
	CHECK(bs_lsq_weights(&w, &p, &tables, team, &why) == 0 && w == NULL,
	      "least squares: none where none are wanted");
	p.density = BS_DENSITY_RAMP;
	bs_plan_make(&p);
	tables.density = NULL;
	CHECK(bs_lsq_weights(&w, &p, &tables, team, &why) == 0 && w != NULL &&
		      bs_density(made, &p, &t, NULL, team, &why) == 0 &&
		      memcmp(w, made, sizeof(made)) == 0,
	      "least squares: made where there are none yet");
	free(w);
	bs_traj_close(&t);
}

static int ones_by(float *w, const struct bs_protocol *p, const struct bs_traj *t,
		   struct bs_team *with, struct bs_fail *reason)
{
	(void)t;
	(void)with;
	(void)reason;
	for (uint64_t m = 0; m < bs_protocol_samples(p); m++)
		w[m] = 1.0f;
	return 0;
}

static int refuses(float *w, const struct bs_protocol *p, const struct bs_traj *t,
		   struct bs_team *with, struct bs_fail *reason)
{
	(void)w;
	(void)t;
	(void)with;
	return bs_fail(reason, BS_ERR_NOMEM, "protocol '%s': no room", p->name);
}

/* Another iteration in the place of pipe's: normalized alike, and asked for pipe alone. */
static void by_another(void)
{
	struct bs_protocol p = protocol(2, BS_DENSITY_PIPE, BS_NORMALIZE_AUTO);
	struct bs_traj t = { 0 };
	float w[64 * 60];
	double one;

	CHECK(bs_traj_make(&t, &p, &why) == 0, "radial table %s", why.text);
	CHECK(bs_density_by(ones_by, w, &p, &t, NULL, team, &why) == 0, "by another iteration");
	one = center_of_ones(w, &p, &t);
	CHECK(fabs(one - 1) < 1e-6 && w[0] == w[64 * 60 - 1], "it is normalized: %.8f", one);
	CHECK(bs_density_by(refuses, w, &p, &t, NULL, team, &why) == BS_ERR_NOMEM,
	      "its failure is the caller's: %s", why.text);
	p.density = BS_DENSITY_RAMP;
	bs_plan_make(&p);
	CHECK(bs_density_by(refuses, w, &p, &t, NULL, team, &why) == 0, "a ramp does not ask it");
	bs_traj_close(&t);
}

/* Weights of a path that comes later: a table's, to the bit; of what did not come 0. */
static void later(enum bs_density density)
{
	struct bs_protocol p = protocol(2, density, BS_NORMALIZE_AUTO);
	struct bs_protocol few = p;
	struct bs_density_plan *plan = NULL;
	struct bs_need need = { .parts = 0 };
	struct bs_arena arena = { 0 };
	struct bs_traj t = { 0 };
	uint8_t present[60];
	double seen[64 * 60];
	float w[64 * 60];
	float want[64 * 60];
	size_t zeros = 0;

	few.readouts = 50;
	memset(present, 1, sizeof(present));
	CHECK(bs_traj_make(&t, &p, &why) == 0, "radial table %s", why.text);
	CHECK(bs_density_need(&p, &need, &why) == 0 &&
		      bs_arena_open(&arena, need.total_bytes, &why) == 0 &&
		      bs_density_plan(&plan, &p, &arena, team, &why) == 0 &&
		      arena.used == need.total_bytes,
	      "planned without a path: %s", why.text);
	for (int turn = 0; turn < 2; turn++) {
		for (size_t r = 0; r < 60; r++)
			bs_density_see(&p, t.k + r * 64 * 2, 64, seen + r * 64);
		CHECK(bs_density(want, &p, &t, NULL, team, &why) == 0 &&
			      bs_density_make(plan, w, &t, present, seen, &why) == 0,
		      "path %d: %s", turn, why.text);
		CHECK(memcmp(w, want, sizeof(w)) == 0, "path %d has a table's weights", turn);
		for (size_t i = 0; i < (size_t)60 * 64; i++) /* the other way round */
			t.k[2 * i] = -t.k[2 * i] < 0.5f ? -t.k[2 * i] : -0.5f;
	}
	/* the first 50 alone: the weights of a table of 50 */
	memset(present + 50, 0, 10);
	memset(t.k + (size_t)2 * 50 * 64, 0, sizeof(float) * 2 * 10 * 64);
	bs_density_see(&p, t.k, (size_t)50 * 64, seen);
	CHECK(bs_density_make(plan, w, &t, present, seen, &why) == 0, "%s", why.text);
	t.readouts = 50;
	CHECK(bs_density(want, &few, &t, NULL, team, &why) == 0, "%s", why.text);
	for (size_t i = (size_t)50 * 64; i < (size_t)60 * 64; i++)
		zeros += w[i] == 0.0f;
	CHECK(zeros == 640, "what did not come has no weight");
	/* pipe: single precision on grids that are added to in another order, 30 steps */
	CHECK(check_rel(w, want, (size_t)50 * 64) < 1e-5, "the others those of a table: %.1e",
	      check_rel(w, want, (size_t)50 * 64));
	bs_density_close(plan);
	bs_arena_close(&arena);
	bs_traj_close(&t);
}

int main(void)
{
	CHECK(bs_team_open(&team, 2, &why) == 0, "team");
	ramp();
	pipe_menon();
	file_and_none();
	beforehand();
	by_another();
	later(BS_DENSITY_RAMP);
	later(BS_DENSITY_PIPE);
	later(BS_DENSITY_NONE);
	bs_team_close(team);
	return check_done();
}
