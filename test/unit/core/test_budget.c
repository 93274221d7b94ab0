/* test/unit/core/test_budget.c - budgets and the ladder on a scripted clock */
/* Holds: D2, D3, D5 */
#include "test/unit/core/small.h"

static void whole_ladder(void)
{
	struct bs_protocol p = protocol(BS_METHOD_LS, BS_MISS_SHED, 10.0);
	static struct small s;
	uint32_t n = 0;

	open_small(&s, &p, true);
	solver = (struct cost){ .rest_ns = 1 * MS, .iteration_ns = MS / 2 };
	gridder = (struct cost){ .rest_ns = 2 * MS };
	s.emit_ns = 1 * MS;
	for (int i = 0; i < 20; i++)
		frame(&s);
	CHECK(s.rung == BS_RUNG_FULL && s.image.report.iterations == ITERATIONS && !s.missed,
	      "in time: full, %u iterations, %.1f ms", s.image.report.iterations,
	      (double)s.latency_ns / (double)MS);

	/* iterations of 1.2 ms: 1 + 10 x 1.2 + 1 do not fit into 10, so the solver stops early */
	solver.iteration_ns = 12 * MS / 10;
	frame(&s);
	CHECK(s.rung == BS_RUNG_FULL && s.image.report.deadline_stop && !s.missed && s.stepped &&
		      s.image.report.iterations == 6 && s.latency_ns <= 10 * MS,
	      "the solver stops in time, %u iterations, %.1f ms, and the ladder steps",
	      s.image.report.iterations, (double)s.latency_ns / (double)MS);
	frame(&s);
	CHECK(s.rung == BS_RUNG_FEWER && s.image.report.iterations == ITERATIONS / 2 &&
		      !s.image.report.deadline_stop && !s.missed,
	      "fewer: half of the iterations, %.1f ms", (double)s.latency_ns / (double)MS);

	/* a sum that leaves room for one iteration only, which is always made: late */
	solver.rest_ns = 8 * MS + MS / 2;
	frame(&s);
	CHECK(s.rung == BS_RUNG_FEWER && s.missed && s.image.report.iterations == 1 && s.stepped &&
		      s.budget.rung == BS_RUNG_GRIDDING,
	      "fewer is not enough: %.1f ms, next is %s", (double)s.latency_ns / (double)MS,
	      bs_rung_name(s.budget.rung));
	n = solver.added;
	frame(&s);
	CHECK(s.rung == BS_RUNG_GRIDDING && s.image.report.gridded && !s.missed &&
		      solver.added == n && gridder.added == 2,
	      "gridding of the same data: %.1f ms, the solver is not fed",
	      (double)s.latency_ns / (double)MS);

	gridder.rest_ns = 12 * MS;
	frame(&s);
	CHECK(s.rung == BS_RUNG_GRIDDING && s.missed && s.budget.rung == BS_RUNG_LATE,
	      "gridding is late, too: %.1f ms", (double)s.latency_ns / (double)MS);
	for (int i = 0; i < 5; i++)
		frame(&s);
	CHECK(s.rung == BS_RUNG_LATE && s.missed && s.image.report.gridded,
	      "late: nothing is left to leave out, each one is marked");

	gridder.rest_ns = 1 * MS;
	solver = (struct cost){ .rest_ns = 1 * MS, .iteration_ns = MS / 2 };
	for (n = 0; s.budget.rung != BS_RUNG_FULL && n < 1000; n++)
		frame(&s);
	CHECK(s.budget.rung == BS_RUNG_FULL && n >= 3 * BS_LADDER_HOLD && n < 1000,
	      "it climbs back by itself, in %u images", n);
	frame(&s);
	CHECK(s.rung == BS_RUNG_FULL && !s.image.report.gridded &&
		      s.image.report.iterations == ITERATIONS,
	      "and is whole again");
	CHECK(s.budget.down[BS_RUNG_FEWER] == 1 && s.budget.down[BS_RUNG_GRIDDING] == 1 &&
		      s.budget.down[BS_RUNG_LATE] == 1 && s.budget.up[BS_RUNG_GRIDDING] == 1 &&
		      s.budget.up[BS_RUNG_FEWER] == 1 && s.budget.up[BS_RUNG_FULL] == 1,
	      "every step is counted");
	close_small(&s);
}

/* A solver that has time for one iteration: met, but a step down, as gridding is as good. */
static void foreseen(void)
{
	struct bs_protocol p = protocol(BS_METHOD_LS, BS_MISS_SHED, 10.0);
	static struct small s;
	uint32_t late = 0;

	open_small(&s, &p, true);
	s.emit_ns = 1 * MS;
	solver = (struct cost){ .rest_ns = 1 * MS, .iteration_ns = MS / 2 };
	gridder = (struct cost){ .rest_ns = 2 * MS };
	frame(&s);
	CHECK(s.rung == BS_RUNG_FULL && !s.missed, "in time, and 1 ms to hand it on is known");
	solver.rest_ns = 7 * MS;
	solver.iteration_ns = 12 * MS / 10;
	for (int i = 0; i < 2; i++) {
		frame(&s);
		CHECK(s.rung == (i == 0 ? BS_RUNG_FULL : BS_RUNG_FEWER) && !s.missed && s.stepped &&
			      s.image.report.iterations == 1,
		      "%s: one iteration, met at %.1f ms, and down to %s", bs_rung_name(s.rung),
		      (double)s.latency_ns / (double)MS, bs_rung_name(s.budget.rung));
	}
	for (int i = 0; i < 100; i++) {
		frame(&s);
		late += s.missed;
	}
	CHECK(late == 0 && s.budget.down[BS_RUNG_LATE] == 0 && s.budget.up[BS_RUNG_FEWER] > 0,
	      "fewer is tried again %llu times in 100 images, and none is late",
	      (unsigned long long)s.budget.up[BS_RUNG_FEWER]);
	close_small(&s);
}

/* A load under which full never fits: the ladder tries it less and less often. */
static void hysteresis(void)
{
	struct bs_protocol p = protocol(BS_METHOD_SENSE, BS_MISS_SHED, 10.0);
	static struct small s;
	uint32_t tries[3] = { 0 };
	uint32_t late = 0;

	open_small(&s, &p, true);
	solver = (struct cost){ .rest_ns = 1 * MS, .iteration_ns = 12 * MS / 10 };
	for (int third = 0; third < 3; third++) {
		uint64_t before = s.budget.up[BS_RUNG_FULL];

		for (int i = 0; i < 1500; i++) {
			frame(&s);
			late += s.missed;
		}
		tries[third] = (uint32_t)(s.budget.up[BS_RUNG_FULL] - before);
	}
	CHECK(tries[0] > tries[1] && tries[0] <= 8 && tries[2] <= 3,
	      "full is tried %u, %u, %u times in 1,500 images each", tries[0], tries[1], tries[2]);
	CHECK(late == 0, "and none of them is late: %u", late);
	CHECK(s.budget.hold == BS_LADDER_HOLD_MAX, "the wait is at its longest: %u", s.budget.hold);
	solver.iteration_ns = MS / 10;
	for (int i = 0; i < 5000; i++)
		frame(&s);
	CHECK(s.budget.rung == BS_RUNG_FULL && s.budget.hold < BS_LADDER_HOLD_MAX,
	      "a climb that proves itself makes the next wait shorter: %u", s.budget.hold);
	bs_budget_scan(&s.budget);
	CHECK(s.budget.rung == BS_RUNG_FULL, "a scan begins on full");
	close_small(&s);
}

/* Images in flight when a step is taken cause no second one. */
static void in_flight(void)
{
	struct bs_protocol p = protocol(BS_METHOD_LS, BS_MISS_SHED, 10.0);
	struct bs_budget b;
	struct bs_report report = { 0 };
	enum bs_rung rung;

	bs_budget_open(&b, &p, true);
	CHECK(bs_budget_made(&b, &report, 0, 11 * MS, &rung) && rung == BS_RUNG_FULL &&
		      b.rung == BS_RUNG_FEWER,
	      "an image that is late when it is made brings a step before it is handed on");
	CHECK(!bs_budget_handed(&b, BS_RUNG_FULL, BS_RESULT_MISSED, 0) &&
		      !bs_budget_handed(&b, BS_RUNG_FULL, BS_RESULT_MISSED, 0) &&
		      b.rung == BS_RUNG_FEWER,
	      "misses of full do not step down from fewer");
	CHECK(bs_budget_handed(&b, BS_RUNG_FEWER, BS_RESULT_MISSED, 0) &&
		      b.rung == BS_RUNG_GRIDDING,
	      "one of fewer does");
	CHECK(!bs_budget_made(&b, &report, 0, 1, &rung) && rung == BS_RUNG_FEWER,
	      "a frame that began before is solved, by fewer iterations");
	report.gridded = true;
	CHECK(!bs_budget_made(&b, &report, 0, 1, &rung) && rung == BS_RUNG_GRIDDING,
	      "one that began after is gridded");
	for (uint32_t i = 0; i < BS_LADDER_HOLD; i++)
		(void)bs_budget_handed(&b, BS_RUNG_GRIDDING, BS_RESULT_MET, 0);
	CHECK(b.rung == BS_RUNG_FEWER, "up again");
	CHECK(!bs_budget_made(&b, &report, 0, 1, &rung) && rung == BS_RUNG_GRIDDING &&
		      bs_budget_aim(&b).iterations == ITERATIONS / 2 && !bs_budget_aim(&b).gridding,
	      "a frame that was begun by gridding ends so");
	CHECK(!bs_budget_handed(&b, BS_RUNG_FEWER, (enum bs_budget_result)15, 0) &&
		      b.rung == BS_RUNG_FEWER,
	      "a result that is none changes nothing");
}

/* Rungs that a method does not have are passed over. */
static void other_methods(void)
{
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING, BS_MISS_SHED, 10.0);
	struct bs_budget b;

	bs_budget_open(&b, &p, false);
	CHECK(bs_budget_handed(&b, BS_RUNG_FULL, BS_RESULT_MISSED, 0) && b.rung == BS_RUNG_LATE &&
		      !bs_budget_aim(&b).gridding && bs_budget_aim(&b).iterations == 0,
	      "gridding: from full to late");
	CHECK(!bs_budget_handed(&b, BS_RUNG_LATE, BS_RESULT_MISSED, 0) && b.rung == BS_RUNG_LATE,
	      "there is nothing below it");
	for (uint32_t i = 0; i < BS_LADDER_HOLD; i++)
		(void)bs_budget_handed(&b, BS_RUNG_LATE, BS_RESULT_MET, 0);
	CHECK(b.rung == BS_RUNG_FULL, "and back");
	p.method = BS_METHOD_LS;
	p.iterations = 1;
	bs_plan_make(&p);
	bs_budget_open(&b, &p, true);
	CHECK(bs_budget_handed(&b, BS_RUNG_FULL, BS_RESULT_MISSED, 0) && b.rung == BS_RUNG_GRIDDING,
	      "one iteration has no fewer: from full to gridding");
	p.iterations = 10;
	bs_budget_open(&b, &p, false);
	(void)bs_budget_handed(&b, BS_RUNG_FULL, BS_RESULT_MISSED, 0);
	CHECK(bs_budget_handed(&b, BS_RUNG_FEWER, BS_RESULT_MISSED, 0) && b.rung == BS_RUNG_LATE &&
		      bs_budget_aim(&b).iterations == 5,
	      "no gridding stands by: from fewer to late, still by fewer iterations");
}

/* flag and stop: nothing is left out, whatever comes; no budget: nothing is ever missed. */
static void other_policies(void)
{
	static const struct {
		enum bs_miss on_miss;
		double ms;
		const char *name;
		bool missed;
	} all[] = { { BS_MISS_FLAG, 10.0, "flag", true },
		    { BS_MISS_STOP, 10.0, "stop", true },
		    { BS_MISS_SHED, 0.0, "no budget", false } };

	for (int i = 0; i < 3; i++) {
		struct bs_protocol p = protocol(BS_METHOD_LS, all[i].on_miss, all[i].ms);
		static struct small s;

		open_small(&s, &p, false);
		solver = (struct cost){ .rest_ns = 1 * MS, .iteration_ns = 5 * MS };
		for (int n = 0; n < 3; n++)
			frame(&s);
		CHECK(s.missed == all[i].missed && s.rung == BS_RUNG_FULL && !s.stepped &&
			      s.image.report.iterations == ITERATIONS &&
			      !s.image.report.deadline_stop &&
			      bs_budget_deadline(&s.budget, 0) == INT64_MAX,
		      "%s: %.1f ms, all %u iterations, missed %d", all[i].name,
		      (double)s.latency_ns / (double)MS, s.image.report.iterations, s.missed);
		close_small(&s);
	}
}

/* The time that images take on their way out is kept free before the deadline. */
static void tail(void)
{
	struct bs_protocol p = protocol(BS_METHOD_LS, BS_MISS_SHED, 10.0);
	struct bs_budget b;
	int64_t was;

	bs_budget_open(&b, &p, true);
	CHECK(bs_budget_deadline(&b, 100) == 100 + 10 * MS, "nothing known: the whole budget");
	(void)bs_budget_handed(&b, BS_RUNG_FULL, BS_RESULT_MET, 2 * MS);
	CHECK(bs_budget_deadline(&b, 100) == 100 + 8 * MS, "2 ms to hand it on: 8 are left");
	was = bs_budget_deadline(&b, 100);
	(void)bs_budget_handed(&b, BS_RUNG_FULL, BS_RESULT_MET, 1 * MS);
	CHECK(bs_budget_deadline(&b, 100) > was && bs_budget_deadline(&b, 100) < was + MS / 2,
	      "a longer one fades slowly: %.3f ms left",
	      (double)bs_budget_deadline(&b, 100) / (double)MS);
	(void)bs_budget_handed(&b, BS_RUNG_FULL, BS_RESULT_MET, 500 * MS);
	CHECK(bs_budget_deadline(&b, 100) == 100 + 5 * MS,
	      "a stalled taker takes at most half of it");
	for (int i = 0; i < 200; i++)
		(void)bs_budget_handed(&b, BS_RUNG_FULL, BS_RESULT_MET, 1 * MS);
	CHECK(bs_budget_deadline(&b, 100) == 100 + 9 * MS, "and is forgotten");
}

/* Which methods have gridding beside them, and its memory in their need; a failing engine. */
static void refusals(void)
{
	static const struct {
		enum bs_method method;
		enum bs_miss on_miss;
		double ms;
		const struct bs_engine *engine;
		bool stands_in;
		const char *what;
	} all[] = {
		{ BS_METHOD_LS, BS_MISS_SHED, 10.0, &solver_engine, true, "ls that sheds" },
		{ BS_METHOD_SENSE, BS_MISS_SHED, 10.0, &solver_engine, true, "sense that sheds" },
		{ BS_METHOD_LS, BS_MISS_FLAG, 10.0, &solver_engine, false, "ls that flags" },
		{ BS_METHOD_LS, BS_MISS_STOP, 10.0, &solver_engine, false, "ls that stops" },
		{ BS_METHOD_LS, BS_MISS_SHED, 0.0, &solver_engine, false, "ls without a budget" },
		{ BS_METHOD_GRIDDING, BS_MISS_SHED, 10.0, &solver_engine, false,
		  "gridding itself" },
		{ BS_METHOD_LS, BS_MISS_SHED, 10.0, &lone_engine, false, "an engine without one" },
	};
	struct bs_protocol p;
	struct bs_tables tables = { 0 };
	struct bs_arm_env env = { 0 };
	static struct small s;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct bs_need need = { 0 };
		struct bs_recon *r = NULL;

		p = protocol(all[i].method, all[i].on_miss, all[i].ms);
		CHECK(bs_recon_need(&p, all[i].engine, &need, &why) == 0 &&
			      need.total_bytes == (all[i].stands_in ? 128u : 64u) &&
			      bs_recon_arm(&r, &p, all[i].engine, &tables, &env, &why) == 0 &&
			      bs_recon_stands_in(r) == all[i].stands_in,
		      "%s: %llu bytes, gridding %s", all[i].what,
		      (unsigned long long)need.total_bytes,
		      all[i].stands_in ? "stands by" : "does not");
		bs_recon_disarm(r);
	}
	p = protocol(BS_METHOD_LS, BS_MISS_SHED, 10.0);
	open_small(&s, &p, false);
	readout(&s, 0);
	readout(&s, 1);
	solver.refuse = BS_ERR_NOMEM;
	CHECK(bs_recon_pop(s.recon, &s.image, INT64_MAX, &why) == BS_ERR_NOMEM, "%s", why.text);
	s.repetition++;
	frame(&s);
	CHECK(s.rung == BS_RUNG_FULL && !s.missed, "and the next image is made");
	close_small(&s);
	CHECK(strcmp(bs_rung_name((enum bs_rung)77), "?") == 0 &&
		      strcmp(bs_budget_stage_name((enum bs_budget_stage) - 1), "?") == 0,
	      "names");
}

/* An image that calibrates may take both budgets; its solver keeps its time. */
static void calibration(void)
{
	struct bs_protocol p = protocol(BS_METHOD_LS, BS_MISS_SHED, 10.0);
	struct bs_report report = { .iterations = 8 };
	enum bs_rung rung;
	struct bs_budget b;

	p.stage_ms[BS_BUDGET_CALIBRATION] = 5.0;
	bs_budget_open(&b, &p, true);
	CHECK(bs_budget_missed(&p, &report, 12 * MS), "12 ms of 10");
	report.stage_ns[BS_BUDGET_CALIBRATION] = 1;
	CHECK(!bs_budget_missed(&p, &report, 12 * MS) && !bs_budget_missed(&p, &report, 15 * MS) &&
		      bs_budget_missed(&p, &report, 15 * MS + 1),
	      "of 15 where it calibrates");
	CHECK(!bs_budget_made(&b, &report, 0, 12 * MS, &rung) && b.rung == BS_RUNG_FULL,
	      "no step down for it");
	CHECK(bs_budget_made(&b, &report, 0, 16 * MS, &rung) && b.rung == BS_RUNG_FEWER,
	      "one for what is late even so");
	CHECK(bs_budget_later(&p, 7 * MS, 3 * MS) == 10 * MS &&
		      bs_budget_later(&p, 7 * MS, 9 * MS) == 12 * MS,
	      "a deadline moves by what calibration took, by 5 ms at most");
	CHECK(bs_budget_later(&p, INT64_MAX, 3 * MS) == INT64_MAX, "none stays none");
	p.stage_ms[BS_BUDGET_CALIBRATION] = 0.0;
	CHECK(bs_budget_missed(&p, &report, 10 * MS + 1) &&
		      bs_budget_later(&p, 7 * MS, 3 * MS) == 7 * MS,
	      "without calibration_ms an image has image_ms");
	p.image_ms = 0.0;
	p.stage_ms[BS_BUDGET_CALIBRATION] = 5.0;
	CHECK(!bs_budget_missed(&p, &report, 20 * MS), "and without image_ms none is late");
}

int main(void)
{
	bs_clock_script(&now_ns);
	whole_ladder();
	foreseen();
	hysteresis();
	in_flight();
	other_methods();
	other_policies();
	tail();
	refusals();
	calibration();
	bs_clock_script(NULL);
	return check_done();
}
