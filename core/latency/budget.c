/* core/latency/budget.c - see budget.h */
#include "core/latency/budget.h"

#include <string.h>

/* Effect of an image on the ladder: one step down, one more good image, or a new
 * count of good ones. */
enum move { DOWN, GOOD, STAY };

static const enum move moves[BS_RUNGS][BS_RESULTS] = {
	/* columns: the result was met, tight, missed */
	[BS_RUNG_FULL] = { GOOD, DOWN, DOWN },      [BS_RUNG_FEWER] = { GOOD, STAY, DOWN },
	[BS_RUNG_QUADRATIC] = { GOOD, STAY, DOWN }, [BS_RUNG_GRIDDING] = { GOOD, GOOD, DOWN },
	[BS_RUNG_LATE] = { GOOD, STAY, STAY },
};

static const enum bs_rung ladder[] = { BS_RUNG_FULL, BS_RUNG_FEWER, BS_RUNG_QUADRATIC,
				       BS_RUNG_GRIDDING, BS_RUNG_LATE };
_Static_assert(sizeof(ladder) / sizeof(ladder[0]) == BS_RUNGS, "every rung has its place");

static int place_of(enum bs_rung r)
{
	int at = 0;

	while (at < BS_RUNGS - 1 && ladder[at] != r)
		at++;
	return at;
}

bool bs_rung_below(enum bs_rung r, enum bs_rung other)
{
	return place_of(r) > place_of(other);
}

const char *bs_rung_name(enum bs_rung r)
{
	static const char *const names[BS_RUNGS] = { "full", "fewer", "gridding", "late",
						     "quadratic" };

	return (unsigned)r < BS_RUNGS ? names[r] : "?";
}

const char *bs_budget_stage_name(enum bs_budget_stage s)
{
	static const char *const names[BS_BUDGET_STAGES] = { "receive", "upload",     "accumulate",
							     "solve",   "combine",    "download",
							     "emit",    "calibration" };

	return (unsigned)s < BS_BUDGET_STAGES ? names[s] : "?";
}

void bs_budget_open(struct bs_budget *b, const struct bs_protocol *p, bool gridding)
{
	bool solves = p->plan.solve != BS_SOLVE_NONE;

	memset(b, 0, sizeof(*b));
	b->p = p;
	b->has[BS_RUNG_FULL] = true;
	b->has[BS_RUNG_FEWER] = solves && p->iterations > 1;
	b->has[BS_RUNG_QUADRATIC] = p->plan.quadratic;
	b->has[BS_RUNG_GRIDDING] = solves && gridding;
	b->has[BS_RUNG_LATE] = true;
	b->hold = BS_LADDER_HOLD;
}

void bs_budget_scan(struct bs_budget *b)
{
	b->rung = BS_RUNG_FULL;
	b->good = 0;
	b->trial = 0;
}

/* The ladder is on this rung, which the method has, or below it. */
static bool is_at(const struct bs_budget *b, enum bs_rung rung)
{
	return b->has[rung] && !bs_rung_below(rung, b->rung);
}

struct bs_aim bs_budget_aim(const struct bs_budget *b)
{
	struct bs_aim aim = { 0 };

	aim.gridding = is_at(b, BS_RUNG_GRIDDING);
	aim.quadratic = is_at(b, BS_RUNG_QUADRATIC);
	if (is_at(b, BS_RUNG_FEWER))
		aim.iterations = b->p->iterations / 2;
	if (aim.quadratic)
		aim.iterations = b->p->iterations > 3 ? b->p->iterations / 3 : 1;
	return aim;
}

/* The rung of a frame is the one that it began on: a step meanwhile is for later frames. */
static enum bs_rung rung_of(const struct bs_budget *b, bool gridded)
{
	if (!b->has[BS_RUNG_GRIDDING])
		return b->rung;
	if (gridded)
		return bs_rung_below(b->rung, BS_RUNG_GRIDDING) ? b->rung : BS_RUNG_GRIDDING;
	if (bs_rung_below(BS_RUNG_GRIDDING, b->rung))
		return b->rung;
	return b->has[BS_RUNG_QUADRATIC] ? BS_RUNG_QUADRATIC
	       : b->has[BS_RUNG_FEWER]   ? BS_RUNG_FEWER
					 : BS_RUNG_FULL;
}

/* Steps to the next rung that the method has. by: 1 down, -1 up. */
static enum bs_rung step_rung(struct bs_budget *b, int by)
{
	do
		b->rung = ladder[place_of(b->rung) + by];
	while (!b->has[b->rung]);
	b->good = 0;
	return b->rung;
}

static bool go_down(struct bs_budget *b)
{
	b->down[step_rung(b, 1)]++;
	if (b->trial > 0 && b->hold < BS_LADDER_HOLD_MAX)
		b->hold *= 2;
	b->trial = 0;
	return true;
}

static bool good_image(struct bs_budget *b)
{
	b->good++;
	if (b->trial > 0 && --b->trial == 0 && b->hold > BS_LADDER_HOLD)
		b->hold /= 2;
	if (b->rung == BS_RUNG_FULL || b->good < b->hold)
		return false;
	b->up[step_rung(b, -1)]++;
	b->trial = b->hold;
	return true;
}

static bool judge(struct bs_budget *b, enum bs_rung rung, enum bs_budget_result v)
{
	if (!bs_budget_sheds(b->p) || rung != b->rung || (unsigned)v >= BS_RESULTS)
		return false;
	switch (moves[rung][v]) {
	case DOWN:
		return go_down(b);
	case GOOD:
		return good_image(b);
	default:
		b->good = 0;
		return false;
	}
}

bool bs_budget_made(struct bs_budget *b, const struct bs_report *report, int64_t from_ns,
		    int64_t made_ns, enum bs_rung *rung)
{
	*rung = rung_of(b, report->gridded);
	if (bs_budget_missed(b->p, report,
			     made_ns - from_ns)) /* the image is late before it is handed on */
		return judge(b, *rung, BS_RESULT_MISSED);
	if (report->deadline_stop) /* a stop after one iteration counts as a miss */
		return judge(b, *rung, report->iterations > 1 ? BS_RESULT_TIGHT : BS_RESULT_MISSED);
	return false;
}

enum bs_rung bs_rung_again(const struct bs_report *report, uint32_t asked)
{
	return report->gridded                                      ? BS_RUNG_GRIDDING
	       : report->quadratic                                  ? BS_RUNG_QUADRATIC
	       : !report->deadline_stop && report->allowed != asked ? BS_RUNG_FEWER
								    : BS_RUNG_FULL;
}

bool bs_budget_handed(struct bs_budget *b, enum bs_rung rung, enum bs_budget_result v,
		      int64_t emit_ns)
{
	b->tail_ns = bs_tail_longest(b->tail_ns, emit_ns);
	return judge(b, rung, v);
}

uint32_t bs_budget_stages_missed(const struct bs_protocol *p,
				 const int64_t stage_ns[BS_BUDGET_STAGES])
{
	uint32_t missed = 0;

	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		if (p->stage_ms[i] > 0.0 && (double)stage_ns[i] > p->stage_ms[i] * 1e6)
			missed |= 1u << i;
	return missed;
}
