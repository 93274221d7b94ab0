/*
 * core/latency/budget.h - a protocol's latency budget, and the ladder of doing less when it is
 * missed
 *
 * Pure: no clock, no I/O, no memory of its own. There is one struct bs_budget per armed protocol,
 * used by the reconstruction's thread alone. Times are bs_now_ns's, so a scripted clock can run it.
 *
 * open -> scan -> { aim, deadline, made -> handed }*
 *   aim       before a frame begins: how the frame is to be made
 *   deadline  before an image is made: until when the solver may go on
 *   made      right after: on which rung the image was made. Steps down at once when it will be
 *             late
 *   handed    when the image was handed on: whether it was in time
 * With on_miss flag and stop the ladder stays on full.
 *
 * The rungs with on_miss shed:
 *   full      all that the protocol asks for; a solver stops before an iteration that would not fit
 *   fewer     at most half of the protocol's iterations (ls, sense)
 *   quadratic at most a third of them, without solve.prior: conjugate gradients for the quadratic
 *             terms alone; of frames that are solved for together, the newest alone
 *   gridding  gridding of the same data (ls, sense; not for sliding windows): frames that begin now
 *             go to a second engine, armed beside the first for the same trajectory
 *   late      nothing more can be left out: gridding, and the late image is marked
 * A rung that the method does not have is passed over.
 * Step down: after a missed image, or when a miss is to be expected: on full, when the deadline
 * stopped the solver; on fewer, when the solver had time for one iteration only, which is no better
 * than gridding. Images that were in flight when a step was taken do not cause a second one.
 * Step up: after `hold` images in a row that were met and whose solver was not stopped by its
 * deadline. hold starts at 8. A step down before that many good images have followed a step up
 * doubles it (to 512 at most); when they have followed, it is halved. So the ladder does not swing
 * between two rungs.
 * A scan begins on full.
 * Test: test/unit/core/test_budget.c
 */
#ifndef BS_CORE_LATENCY_BUDGET_H
#define BS_CORE_LATENCY_BUDGET_H

#include "core/engine.h"
#include "core/protocol.h"
#include "core/thread/clock.h"

/* The numbers stand in images (user_int[6]); bs_rung_below has the ladder's order. */
enum bs_rung {
	BS_RUNG_FULL,
	BS_RUNG_FEWER,
	BS_RUNG_GRIDDING,
	BS_RUNG_LATE,
	BS_RUNG_QUADRATIC,
	BS_RUNGS
};

enum bs_budget_result {
	BS_RESULT_MET,
	BS_RESULT_TIGHT, /* image in time, but its solver was stopped by the deadline */
	BS_RESULT_MISSED,
	BS_RESULTS
};

#define BS_LADDER_HOLD     8u
#define BS_LADDER_HOLD_MAX 512u

struct bs_budget {
	const struct bs_protocol *p;
	bool has[BS_RUNGS];
	enum bs_rung rung;
	uint32_t good;   /* images in a row that were in time on this rung */
	uint32_t hold;   /* number of good images that bring a step up */
	uint32_t trial;  /* good images that must still follow the last step up */
	int64_t tail_ns; /* time from made to handed on: the largest of late (bs_tail_longest) */
	uint64_t down[BS_RUNGS], up[BS_RUNGS]; /* number of steps down and up onto each rung */
};

struct bs_aim {
	bool gridding;       /* frames that begin now go to the gridding engine */
	bool quadratic;      /* the solver leaves the prior out */
	uint32_t iterations; /* most iterations; 0: the protocol's number */
};

const char *bs_rung_name(enum bs_rung r);
/* True if rung r does less than the other one. */
bool bs_rung_below(enum bs_rung r, enum bs_rung other);
const char *bs_budget_stage_name(enum bs_budget_stage s);

/* gridding: an engine for that rung is armed. */
void bs_budget_open(struct bs_budget *b, const struct bs_protocol *p, bool gridding);
/* A scan begins: the ladder is on full; counts stay. */
void bs_budget_scan(struct bs_budget *b);
struct bs_aim bs_budget_aim(const struct bs_budget *b);
/*
 * A solver's deadline after calibration for its image has taken spent_ns. This time is not taken
 * from the solver's, up to calibration_ms.
 */
static inline int64_t bs_budget_later(const struct bs_protocol *p, int64_t deadline_ns,
				      int64_t spent_ns)
{
	const int64_t most_ns = bs_ns_of_ms(p->stage_ms[BS_BUDGET_CALIBRATION]);

	return deadline_ns == INT64_MAX ? INT64_MAX
					: deadline_ns + (spent_ns < most_ns ? spent_ns : most_ns);
}
/*
 * Notes the result of an image. *rung: the rung that it was made on. True: a step was taken
 * (b->rung tells to where).
 */
bool bs_budget_made(struct bs_budget *b, const struct bs_report *report, int64_t from_ns,
		    int64_t made_ns, enum bs_rung *rung);
/* The rung of an image that was made again; asked: the iterations that the scan set, or 0. */
enum bs_rung bs_rung_again(const struct bs_report *report, uint32_t asked);
/*
 * Notes that an image of this rung was handed on, emit_ns after it was made. True: a step was
 * taken.
 */
bool bs_budget_handed(struct bs_budget *b, enum bs_rung rung, enum bs_budget_result v,
		      int64_t emit_ns);

/* The protocol's image budget, ns; 0: none is declared. */
static inline int64_t bs_budget_ns(const struct bs_protocol *p)
{
	return bs_ns_of_ms(p->image_ms);
}
/* The protocol's images do less when they would miss the budget; else the ladder stays on full. */
static inline bool bs_budget_sheds(const struct bs_protocol *p)
{
	return p->on_miss == BS_MISS_SHED && p->image_ms > 0.0;
}
/*
 * The solver's deadline for an image whose latency counts from from_ns; INT64_MAX unless on_miss is
 * shed.
 */
static inline int64_t bs_budget_deadline(const struct bs_budget *b, int64_t from_ns)
{
	int64_t budget = bs_budget_ns(b->p);

	if (!bs_budget_sheds(b->p))
		return INT64_MAX;
	/*
	 * The tail is at most half of the budget: after one long stall of a taker the solver still
	 * has some time.
	 */
	return from_ns + budget - (b->tail_ns < budget / 2 ? b->tail_ns : budget / 2);
}
/*
 * The image's budget, ms: calibration_ms more where its report says that something was calibrated.
 */
static inline double bs_budget_image_ms(const struct bs_protocol *p, const struct bs_report *r)
{
	return p->image_ms > 0.0 && r->stage_ns[BS_BUDGET_CALIBRATION] > 0
		       ? p->image_ms + p->stage_ms[BS_BUDGET_CALIBRATION]
		       : p->image_ms;
}
/* latency_ns is above the image's budget; never true without a budget. */
static inline bool bs_budget_missed(const struct bs_protocol *p, const struct bs_report *r,
				    int64_t latency_ns)
{
	const double ms = bs_budget_image_ms(p, r);

	return ms > 0.0 && (double)latency_ns > ms * 1e6;
}
/* Bits: bit i is set where stage i took longer than its own budget. */
uint32_t bs_budget_stages_missed(const struct bs_protocol *p,
				 const int64_t stage_ns[BS_BUDGET_STAGES]);

#endif
