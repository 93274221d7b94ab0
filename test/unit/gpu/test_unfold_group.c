/*
 * test/unit/gpu/test_unfold_group.c - slices at once by SENSE, against the dense system by LAPACK
 *
 * Samples are random. The dense system is formed column by column from the definitions: the lines'
 * exponentials, sensitivities and phases, nothing of the operator under test. Tolerance 1e-5 of the
 * solution, as for gpu/solve/ls.h. Maps of a group's slices do not lie side by side.
 */
#define _DEFAULT_SOURCE /* M_PI */
#include "gpu/calibrate/dense.h"
#include "gpu/image/unfold.h"
#include "test/support/check.h"
#include "test/support/isa.h"

#include <complex.h>
#include <string.h>

#define GROUPS 3u /* of slices in the maps; the last one is solved for */

struct problem {
	const char *name;
	struct bs_unfold_spec s;
	double shift;      /* fields of view from slice to slice */
	uint32_t step;     /* of the lines; 0: irregular ones */
	uint32_t from, to; /* slices that the lines hold */
	int members;
};

struct parts {
	size_t coil, slice, voxels; /* values of a coil's map, a slice's maps; unknowns */
	float *maps, *images, *rho, *again;
	double complex *samples; /* [coil][ky][x] in hybrid space */
	uint8_t line[64];
	double cycles[16];
};

static double complex pair(const float *x, size_t i)
{
	return (double)x[2 * i] + (double)x[2 * i + 1] * I;
}

static float *random_floats(size_t n, uint64_t seed)
{
	float *x = malloc(n * 4);

	for (size_t i = 0; i < n; i++)
		x[i] = (float)(check_uniform(&seed) - 0.5);
	return x;
}

/* Row y of an axis of n points and line ky of E: exp(-i 2pi k n) / sqrt(E). */
static double complex wave(uint32_t ky, uint32_t E, uint32_t y, uint32_t n)
{
	return cexp(-2.0 * M_PI * I * ((double)ky - E / 2) * ((double)y - n / 2) / E) /
	       sqrt((double)E);
}

/* Random samples of the lines that come, and the coils' images of them. */
static void make_data(struct parts *p, const struct problem *t)
{
	const uint32_t E = t->s.encoded[0];
	const uint32_t X = t->s.matrix[0];
	uint64_t seed = 23;

	for (uint32_t ky = 0; ky < E; ky++)
		p->line[ky] = t->step > 0 ? ky % t->step == 0 : check_uniform(&seed) < 0.7;
	for (uint32_t b = 0; b < t->s.matrix[2]; b++)
		p->cycles[b] = b * t->shift;
	for (size_t i = 0; i < (size_t)t->s.coils * E * X; i++)
		p->samples[i] = p->line[i / X % E] ? check_uniform(&seed) - 0.5 +
							     (check_uniform(&seed) - 0.5) * I
						   : 0.0;
	for (size_t c = 0; c < t->s.coils; c++)
		for (uint32_t y = 0; y < E; y++)
			for (uint32_t x = 0; x < X; x++) {
				float *to = p->images + 2 * ((c * E + y) * X + x);
				double complex sum = 0.0;

				for (uint32_t ky = 0; ky < E; ky++)
					sum += conj(wave(ky, E, y, E)) *
					       p->samples[(c * E + ky) * X + x];
				to[0] = (float)creal(sum);
				to[1] = (float)cimag(sum);
			}
}

/* What coil c's line ky has of slice b's row y in column x. */
static double complex weight(const struct parts *p, const struct problem *t, size_t c, uint32_t ky,
			     size_t i, uint32_t x)
{
	const uint32_t *N = t->s.matrix;
	const uint32_t b = (uint32_t)(i / N[1]);
	const uint32_t y = (uint32_t)(i % N[1]);
	const double k = (double)ky - t->s.encoded[0] / 2;

	if (!p->line[ky] || b < t->from || b >= t->to)
		return 0.0;
	return cexp(2.0 * M_PI * I * p->cycles[b] * k) * wave(ky, t->s.encoded[0], y, N[1]) *
	       pair(p->maps, b * GROUPS * p->slice + c * p->coil + (size_t)y * N[0] + x);
}

/* Solves column x; the squares of the error and of the solution are added to sums. */
static void dense_column(const struct parts *p, const struct problem *t, uint32_t x, double sums[2])
{
	const size_t n = (size_t)t->s.matrix[2] * t->s.matrix[1];
	double complex *a = calloc(n * n, sizeof(*a));
	double complex *b = calloc(n, sizeof(*b));
	double complex *row = malloc(n * sizeof(*row));
	struct bs_fail why = { 0 };

	for (size_t c = 0; c < t->s.coils; c++)
		for (uint32_t ky = 0; ky < t->s.encoded[0]; ky++) {
			const size_t at = (c * t->s.encoded[0] + ky) * t->s.matrix[0] + x;

			for (size_t i = 0; i < n; i++)
				row[i] = weight(p, t, c, ky, i, x);
			for (size_t i = 0; i < n; i++) {
				b[i] += conj(row[i]) * p->samples[at];
				for (size_t j = 0; j < n; j++)
					a[i + j * n] += conj(row[i]) * row[j];
			}
		}
	for (size_t i = 0; i < n; i++)
		a[i * n + i] += t->s.lambda;
	CHECK(bs_dense_open(&why) == 0 &&
		      bs_dense_solve((uint32_t)n, 1, (double *)a, (double *)b, &why) == 0,
	      "LAPACK solves it: %s", why.text);
	for (size_t i = 0; i < n; i++) {
		const double complex d = pair(p->rho, i * t->s.matrix[0] + x) - b[i];

		sums[0] += creal(d * conj(d));
		sums[1] += creal(b[i] * conj(b[i]));
	}
	free(a);
	free(b);
	free(row);
}

static int solve(const struct problem *t, const struct parts *p, int members, float *rho)
{
	const struct bs_unfold_group group = { t->from, t->to, p->cycles };
	const struct bs_pcg_stop stop = { t->s.iterations, 1e-7, INT64_MAX };
	struct bs_pcg_result result;
	struct bs_unfold *plan = NULL;
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_team_open(&team, members, &why);

	if (rc == 0)
		rc = bs_unfold_need(&t->s, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_unfold_plan(&plan, &t->s, NULL, &arena, team, &why);
	CHECK(rc == 0 && arena.used == need.total_bytes, "%s: plan takes what need states %s",
	      t->name, why.text);
	if (rc == 0) {
		bs_unfold_hold(plan, &group);
		bs_unfold_solve(plan, p->maps, p->line, p->images, rho, &stop, &result);
	}
	bs_unfold_close(plan);
	bs_arena_close(&arena);
	bs_team_close(team);
	return rc;
}

static void one(struct problem t)
{
	const uint32_t *N = t.s.matrix;
	struct parts p = { .coil = (size_t)N[0] * N[1] };
	double sums[2] = { 0.0, 0.0 };
	size_t others = 0;

	p.slice = p.coil * t.s.coils;
	p.voxels = p.coil * N[2];
	t.s.group = GROUPS * p.slice;
	p.maps = random_floats(2 * GROUPS * N[2] * p.slice, 17);
	p.images = malloc((size_t)t.s.coils * t.s.encoded[0] * N[0] * 8);
	p.samples = malloc((size_t)t.s.coils * t.s.encoded[0] * N[0] * sizeof(*p.samples));
	p.rho = malloc(p.voxels * 8);
	p.again = malloc(p.voxels * 8);
	make_data(&p, &t);
	if (solve(&t, &p, t.members, p.rho) == 0 && solve(&t, &p, 1, p.again) == 0) {
		CHECK(memcmp(p.rho, p.again, p.voxels * 8) == 0,
		      "%s: the same bytes with 1 and %d threads", t.name, t.members);
		for (uint32_t x = 0; x < N[0]; x++)
			dense_column(&p, &t, x, sums);
		CHECK(sqrt(sums[0] / sums[1]) <= 1e-5, "%s: %.1e of the dense solution", t.name,
		      sqrt(sums[0] / sums[1]));
		for (size_t i = 0; i < 2 * p.voxels; i++)
			others += (i / (2 * p.coil) < t.from || i / (2 * p.coil) >= t.to) &&
				  p.rho[i] != 0.0f;
		CHECK(others == 0, "%s: slices that the lines do not hold are 0", t.name);
	}
	free(p.maps);
	free(p.images);
	free(p.samples);
	free(p.rho);
	free(p.again);
}

static void refusals(void)
{
	const struct bs_unfold_spec bad[] = {
		{ { 16, 2 }, { 16, 16, 2 }, 2, 1, 10, 0.0, 512, 0 }, /* partitions, too */
		{ { 16, 1 }, { 16, 16, 2 }, 2, 2, 10, 0.0, 512, 0 }, /* sets of maps, too */
		{ { 16, 1 }, { 16, 17, 2 }, 2, 1, 10, 0.0, 512, 0 },
		{ { 16, 1 }, { 16, 16, 2 }, 2, 1, 10, 0.0, 0, 0 }, /* not slices, so partitions */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bs_need need = { 0 };
		struct bs_fail why = { 0 };

		CHECK(bs_unfold_need(&bad[i], &need, &why) == BS_ERR_CONFIG, "refused: %s",
		      why.text);
	}
}

int main(void)
{
	/* clang-format off */
	const struct problem problems[] = {
		{ "2 slices, half a field", { { 13, 1 }, { 5, 13, 2 }, 5, 1, 400, 0.05, 1, 0 }, 0.5,
		  1, 0, 2, 2 },
		{ "3 slices, a third", { { 15, 1 }, { 17, 15, 3 }, 6, 1, 400, 0.05, 1, 0 },
		  1.0 / 3.0, 1, 0, 3, 3 },
		{ "3 slices, half a field", { { 11, 1 }, { 9, 11, 3 }, 6, 1, 400, 0.05, 1, 0 }, 0.5,
		  1, 0, 3, 2 },
		{ "2 slices, a third, every second line", { { 17, 1 }, { 7, 17, 2 }, 6, 1, 400,
		  0.05, 1, 0 }, 1.0 / 3.0, 2, 0, 2, 2 },
		{ "4 slices, a quarter back, irregular", { { 12, 1 }, { 3, 12, 4 }, 8, 1, 400,
		  0.05, 1, 0 }, -0.25, 0, 0, 4, 2 },
		{ "4 slices, no phase, fewer rows than lines", { { 14, 1 }, { 4, 9, 4 }, 8, 1, 400,
		  0.05, 1, 0 }, 0.0, 1, 0, 4, 2 },
		{ "odd rows of even lines, a phase of no simple share", { { 16, 1 }, { 6, 11, 2 },
		  5, 1, 400, 0.05, 1, 0 }, 0.4271, 0, 0, 2, 2 },
		{ "one slice of three alone", { { 13, 1 }, { 5, 13, 3 }, 4, 1, 400, 0.05, 1, 0 },
		  0.0, 2, 1, 2, 2 },
	};
	/* clang-format on */
	const enum bs_isa best = bs_isa();

	for (int isa = BS_ISA_V2; isa <= (int)best; isa++) {
		CHECK(isa_use((enum bs_isa)isa), "instruction set %s", isa_name[isa]);
		for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
			one(problems[i]);
	}
	refusals();
	return check_done();
}
