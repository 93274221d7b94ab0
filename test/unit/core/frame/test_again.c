/* test/unit/core/frame/test_again.c - the rung without a prior; images that are made again */
#include "test/unit/core/small.h"

/* With a prior there is a rung between fewer iterations and gridding: the solve without it. */
static void without_prior(void)
{
	static const enum bs_rung wanted[] = { BS_RUNG_FULL, BS_RUNG_FEWER, BS_RUNG_QUADRATIC,
					       BS_RUNG_GRIDDING, BS_RUNG_LATE };
	static const uint32_t most[] = { ITERATIONS, ITERATIONS / 2, ITERATIONS / 3 };
	struct bs_protocol p = protocol(BS_METHOD_LS, BS_MISS_SHED, 10.0);
	static struct small s;

	p.prior.kind = BS_PRIOR_WAVELET;
	p.prior.lambda = 1.0;
	bs_plan_make(&p);
	open_small(&s, &p, true);
	solver = gridder = (struct cost){ .rest_ns = 12 * MS };
	for (int i = 0; i < 5; i++) {
		frame(&s);
		CHECK(s.rung == wanted[i] && s.missed &&
			      s.image.report.quadratic == (wanted[i] == BS_RUNG_QUADRATIC) &&
			      s.image.report.gridded == (i > 2) &&
			      (i > 2 || s.image.report.allowed == (i > 0 ? most[i] : 0)),
		      "late on %s: at most %u iterations", bs_rung_name(s.rung),
		      s.image.report.allowed);
	}
	solver.rest_ns = gridder.rest_ns = 1 * MS;
	for (int n = 0; s.budget.rung != BS_RUNG_FULL && n < 1000; n++)
		frame(&s);
	CHECK(s.budget.up[BS_RUNG_QUADRATIC] == 1 && s.budget.up[BS_RUNG_FEWER] == 1 &&
		      s.budget.down[BS_RUNG_QUADRATIC] == 1 && s.budget.rung == BS_RUNG_FULL,
	      "and up again by the same rungs");
	close_small(&s);
	p.on_miss = BS_MISS_FLAG;
	bs_plan_make(&p);
	CHECK(!p.plan.quadratic, "no ladder, no memory for that solve");
}

/* A frame that has its word is made by it, wherever the ladder stands; others leave theirs. */
static void made_again(void)
{
	struct bs_protocol p = protocol(BS_METHOD_LS, BS_MISS_SHED, 10.0);
	static struct bs_solved steps;
	static struct small s;
	struct bs_report first[6];
	uint32_t alike = 0;

	open_small(&s, &p, true);
	bs_recon_solved(s.recon, &steps);
	solver = (struct cost){ .rest_ns = 1 * MS, .iteration_ns = 12 * MS / 10 };
	gridder = (struct cost){ .rest_ns = 2 * MS };
	for (int i = 0; i < 6; i++) {
		if (i == 2)
			solver.rest_ns = 9 * MS;
		frame(&s);
		first[i] = s.image.report;
	}
	CHECK(first[0].deadline_stop && first[1].allowed == ITERATIONS / 2 && first[5].gridded &&
		      atomic_load(&steps.used) == 6,
	      "made: stopped after %u, at most %u, by gridding", first[0].iterations,
	      first[1].allowed);
	close_small(&s);
	open_small(&s, &p, true);
	bs_recon_solved(s.recon, &steps);
	solver = (struct cost){ .rest_ns = 9 * MS, .iteration_ns = 12 * MS };
	for (int i = 0; i < 6; i++) {
		const struct bs_report *r = &s.image.report;

		frame(&s);
		alike += r->again && r->iterations == first[i].iterations &&
			 r->gridded == first[i].gridded &&
			 r->deadline_stop == first[i].deadline_stop;
	}
	CHECK(alike == 6, "%u of 6 made again, ten times as slowly, are as they were", alike);
	frame(&s);
	CHECK(!s.image.report.again && atomic_load(&steps.used) == 7, "one more is made as it can");
	bs_solved_clear(&steps);
	CHECK(bs_solved_of(&steps, 0) == 0 && bs_solved_of(&steps, 6) == 0 &&
		      bs_solved_of(&steps, BS_SOLVED_MAX) == 0 && bs_solved_of(NULL, 0) == 0,
	      "cleared");
	close_small(&s);
}

int main(void)
{
	bs_clock_script(&now_ns);
	without_prior();
	made_again();
	bs_clock_script(NULL);
	return check_done();
}
