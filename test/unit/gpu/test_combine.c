/* test/unit/gpu/test_combine.c - coil combination against double precision */
#include "gpu/image/combine.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <complex.h>
#include <string.h>

#define VOXELS 2500u /* two whole blocks and a part */
#define COILS  5u

static float in[2 * COILS * VOXELS], maps[2 * COILS * VOXELS], out[2 * COILS * VOXELS],
	want[2 * COILS * VOXELS];

static double complex at(const float *a, uint32_t coil, uint32_t v)
{
	const float *z = a + 2 * ((size_t)coil * VOXELS + v);

	return z[0] + I * (double)z[1];
}

/* Fills want by the formulas in combine.h; returns the number of floats. */
static size_t expect(enum bs_combine how, enum bs_output output)
{
	const bool cx = output == BS_OUTPUT_COMPLEX;

	size_t n = 0;

	for (uint32_t c = 0; c < (how == BS_COMBINE_NONE ? COILS : 1); c++)
		for (uint32_t v = 0; v < VOXELS; v++) {
			double complex sum = 0;
			double power = 0;

			if (how == BS_COMBINE_NONE)
				sum = at(in, c, v);
			for (uint32_t k = 0; how != BS_COMBINE_NONE && k < COILS; k++) {
				double complex m =
					how == BS_COMBINE_RSS ? at(in, k, v) : at(maps, k, v);

				sum += conj(m) * at(in, k, v);
				power += creal(m * conj(m));
			}
			if (how == BS_COMBINE_RSS)
				sum = sqrt(creal(sum));
			else if (how == BS_COMBINE_SENSE)
				sum = power > 0 ? sum / power : 0;
			want[n++] = (float)(cx                          ? creal(sum)
					    : output == BS_OUTPUT_PHASE ? carg(sum)
									: cabs(sum));
			if (cx)
				want[n++] = (float)cimag(sum);
		}
	return n;
}

/* What leaves of a protocol's coil images, or of a solver's two images. */
static size_t leaves(const struct bs_protocol *p, const float *images, const float *own,
		     struct bs_team *team, float *to)
{
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_combiner *plan = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_combiner_need(p, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_combiner_plan(&plan, p, &arena, team, &why);
	CHECK(rc == 0 && arena.used == need.total_bytes, "combiner %s", why.text);
	if (rc == 0)
		bs_combiner_run(plan, images, own, &(struct bs_flow){ 0 }, to);
	bs_combiner_close(plan);
	bs_arena_close(&arena);
	return (size_t)bs_protocol_image_voxels(p);
}

/*
 * Two sets of maps: each set's own image, as it is by itself, whose root of the sum of squares
 * leaves as magnitude, the first alone as complex; also on another matrix.
 */
static void two_sets(struct bs_team *team, bool solved, uint32_t image)
{
	const enum bs_method method = solved ? BS_METHOD_SENSE : BS_METHOD_GRIDDING;
	struct bs_protocol p = path_of(method, BS_TRAJ_FILE, VOXELS / 10, 10, 1, COILS / 2);
	const size_t set = 2 * (size_t)p.coils * (VOXELS / 10) * 10;
	const size_t step = 2 * (size_t)(VOXELS / 10) * 10;
	float *one[2] = { malloc(sizeof(out)), malloc(sizeof(out)) };
	size_t n = 0;
	double worst = 0;

	p.image_matrix[0] = p.image_matrix[1] = image;
	p.image_matrix[2] = 1;
	p.combine = BS_COMBINE_SENSE;
	p.output = BS_OUTPUT_COMPLEX;
	bs_plan_make(&p);
	for (int m = 0; m < 2; m++)
		n = leaves(&p, solved ? in + (size_t)m * step : in, maps + (size_t)m * set, team,
			   one[m]);
	p.map_images = 2;
	bs_plan_make(&p);
	(void)leaves(&p, in, maps, team, out);
	CHECK(memcmp(out, one[0], n * 8) == 0, "two sets, complex: the first image");
	p.output = BS_OUTPUT_MAGNITUDE;
	bs_plan_make(&p);
	(void)leaves(&p, in, maps, team, out);
	for (size_t v = 0; v < n; v++) {
		double sum = 0;

		for (int m = 0; m < 2; m++)
			sum += (double)one[m][2 * v] * one[m][2 * v] +
			       (double)one[m][2 * v + 1] * one[m][2 * v + 1];
		worst = fmax(worst, fabs(out[v] - sqrt(sum)) / (1 + sqrt(sum)));
	}
	CHECK(n > 0 && worst < 1e-6, "two sets, magnitude: error %.1e", worst);
	free(one[0]);
	free(one[1]);
}

/* What is resized is the coils' images, before they are multiplied; image 0: nothing. */
static void velocities(struct bs_team *team, enum bs_combine how, uint32_t image)
{
	const uint32_t nx = VOXELS / 10;
	struct bs_protocol p = path_of(BS_METHOD_GRIDDING, BS_TRAJ_FILE, nx, 10, 1, COILS / 2);
	struct bs_protocol each;
	const struct bs_flow set[4] = { { 2, 0, 80 }, { 1, 0, 80 }, { 0, 2, 80 }, { 0, 0, 80 } };
	const float *own[2] = { in, in + 2 * (size_t)p.coils * nx * 10 };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_combiner *plan = NULL;
	struct bs_fail why = { 0 };
	float *one[2] = { malloc(sizeof(out)), malloc(sizeof(out)) };
	size_t n = 0;
	double worst = 0;
	int rc;

	p.image_matrix[0] = p.image_matrix[1] = image;
	p.image_matrix[2] = 1;
	p.slices = 2;
	p.combine = how;
	p.output = BS_OUTPUT_VELOCITY;
	bs_plan_make(&p);
	rc = bs_combiner_need(&p, &need, &why);

	/* each coil by itself, as it leaves */
	each = coils_apart(p);
	for (int s = 0; s < 2; s++)
		n = leaves(&each, own[s], maps, team, one[s]);
	each = p;
	each.output = BS_OUTPUT_MAGNITUDE;
	bs_plan_make(&each);
	(void)leaves(&each, own[0], maps, team, want);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_combiner_plan(&plan, &p, &arena, team, &why);
	CHECK(rc == 0 && arena.used == need.total_bytes, "combiner %s", why.text);
	if (rc != 0)
		return;
	bs_combiner_run(plan, own[0], maps, &set[0], out);
	CHECK(memcmp(out, want, n * 4) == 0, "set 0 leaves as magnitude");
	bs_combiner_run(plan, own[1], maps, &set[1], out); /* another place */
	bs_combiner_run(plan, own[1], maps, &set[2], out);
	for (size_t v = 0; v < n; v++) {
		double complex sum = 0;
		double off;

		for (uint32_t c = 0; c < p.coils; c++) {
			const float *a = one[0] + 2 * (c * n + v);
			const float *b = one[1] + 2 * (c * n + v);

			sum += (b[0] + I * (double)b[1]) * (a[0] - I * (double)a[1]);
		}
		off = fabs(out[v] - 80 / acos(-1.0) * carg(sum));
		/* roundings of products, which may cancel, against what is left of them */
		worst = fmax(worst, fmin(off, 160 - off) * fmin(cabs(sum), 1));
	}
	CHECK(n > 0 && worst < 1e-4, "velocity, combine %d, image %u: error %.1e cm/s", how, image,
	      worst);
	bs_combiner_run(plan, own[0], maps, &set[3], out);
	CHECK(memcmp(out, want, n * 4) == 0, "without a set 0 a magnitude leaves");
	bs_combiner_close(plan);
	bs_arena_close(&arena);
	free(one[0]);
	free(one[1]);
}

/* The phase of 0 is 0, whatever its signs. */
static void zeros(struct bs_team *team)
{
	const float z[8] = { 0.0f, 0.0f, -0.0f, 0.0f, -0.0f, -0.0f, 0.0f, -0.0f };
	float phase[4] = { 1, 1, 1, 1 };

	bs_combine(team, (struct bs_combination){ BS_COMBINE_NONE, BS_OUTPUT_PHASE, 1, 4, z, NULL,
						  phase });
	CHECK(phase[0] == 0 && phase[1] == 0 && phase[2] == 0 && phase[3] == 0, "phases of 0");
}

int main(void)
{
	static const char *const names[] = { "none", "rss", "sense" };
	uint64_t seed = 3;

	for (size_t i = 0; i < 2 * COILS * VOXELS; i++) {
		in[i] = (float)(check_uniform(&seed) - 0.5);
		maps[i] = i / 2 % VOXELS == 7 ? 0.0f : (float)(check_uniform(&seed) - 0.5);
	}
	for (int members = 1; members <= 3; members += 2) {
		struct bs_team *team;
		struct bs_fail why;

		CHECK(bs_team_open(&team, members, &why) == 0, "team of %d", members);
		for (int how = BS_COMBINE_NONE; how <= BS_COMBINE_SENSE; how++)
			for (int o = BS_OUTPUT_MAGNITUDE; o <= BS_OUTPUT_PHASE; o++) {
				size_t n = expect((enum bs_combine)how, (enum bs_output)o);
				double e;

				if (how == BS_COMBINE_RSS && o == BS_OUTPUT_PHASE)
					continue; /* it has none, and rules refuse it */
				bs_combine(team, (struct bs_combination){ (enum bs_combine)how,
									  (enum bs_output)o, COILS,
									  VOXELS, in, maps, out });
				e = check_rel(out, want, n);
				/* a few roundings of 6e-8 a voxel; cancellation in sense's sum */
				CHECK(e <= 1e-6, "%s, output %d, %d threads: error %.1e",
				      names[how], o, members, e);
			}
		for (int i = 0; i < 4; i++)
			two_sets(team, i % 2 != 0, i < 2 ? 0 : 12);
		for (int i = 0; i < 4; i++)
			velocities(team, i % 2 != 0 ? BS_COMBINE_SENSE : BS_COMBINE_RSS,
				   i < 2 ? 0 : 12);
		zeros(team);
		bs_team_close(team);
	}
	return check_done();
}
