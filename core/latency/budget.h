/*
 * core/latency/budget.h - a protocol's latency budget, and doing less when it is missed
 *
 * Pure: no clock, no I/O, no memory of its own. One struct bs_budget for each armed protocol, used
 * by the reconstruction's thread alone. Times are bs_now_ns's, so a scripted clock can run it.
 *
 * open -> scan -> { aim, deadline, made -> handed }*
 *   aim       before a frame begins: how it is to be made
 *   deadline  before a frame is finished: until when the solver may go on
 *   made      right after: on which rung it was made. Steps down at once when it will be late
 *   handed    when the image was handed on: whether it was in time
 * Under flag and stop the ladder stays on full.
 *
 * The rungs under shed:
 *   full      all that the protocol asks for; a solver stops before an iteration that would not fit
 *   fewer     at most half of the protocol's iterations (ls, sense)
 *   gridding  of the same data (ls, sense; not for sliding windows): frames that begin now go to a
 *             second engine, armed beside the first for the same trajectory
 *   late      nothing more can be left out: as gridding, and the late image is marked
 * A rung that the method does not have is passed over.
 * Down: after a missed image, or when a miss is to be expected: on full, when the deadline stopped
 * the solver; on fewer, when the solver had time for one iteration only, which is no better than
 * gridding. Images that were in flight when a step was taken do not cause a second one.
 * Up: after `hold` images in a row that were met and whose solver was not stopped by its deadline.
 * hold is 8. A step down before so many good images have followed a step up doubles it (to 512 at
 * most); when they have followed, it is halved. So the ladder does not swing between two rungs.
 * A scan begins on full.
 * Test: test/unit/core/test_budget.c
 */
#ifndef BS_CORE_LATENCY_BUDGET_H
#define BS_CORE_LATENCY_BUDGET_H

#include "core/engine.h"
#include "core/protocol.h"
#include "core/thread/clock.h"

enum bs_rung { BS_RUNG_FULL, BS_RUNG_FEWER, BS_RUNG_GRIDDING, BS_RUNG_LATE, BS_RUNGS };

enum bs_budget_result {
	BS_RESULT_MET,
	BS_RESULT_TIGHT, /* met, but the solver was stopped by its deadline */
	BS_RESULT_MISSED,
	BS_RESULTS
};

#define BS_LADDER_HOLD     8u
#define BS_LADDER_HOLD_MAX 512u

struct bs_budget {
	const struct bs_protocol *p;
	bool has[BS_RUNGS];
	enum bs_rung rung;
	uint32_t good;   /* images in a row that were met on this rung */
	uint32_t hold;   /* so many bring a step up */
	uint32_t trial;  /* images that the last step up must still prove itself for */
	int64_t tail_ns; /* made to handed on: the largest of late (bs_tail_longest) */
	uint64_t down[BS_RUNGS], up[BS_RUNGS]; /* steps taken onto a rung */
};

struct bs_aim {
	bool gridding;       /* frames that begin now go to the gridding engine */
	uint32_t iterations; /* at most; 0: the protocol's */
};

const char *bs_rung_name(enum bs_rung r);
const char *bs_budget_stage_name(enum bs_budget_stage s);

/* gridding: an engine for it stands by. */
void bs_budget_open(struct bs_budget *b, const struct bs_protocol *p, bool gridding);
/* A scan begins: on full; counts stay. */
void bs_budget_scan(struct bs_budget *b);
struct bs_aim bs_budget_aim(const struct bs_budget *b);
/*
 * A solver's deadline after calibration for its image has taken spent_ns: that is not taken from
 * the solver's time, as far as calibration_ms goes.
 */
static inline int64_t bs_budget_later(const struct bs_protocol *p, int64_t deadline_ns,
				      int64_t spent_ns)
{
	const int64_t most_ns = bs_ns_of_ms(p->stage_ms[BS_BUDGET_CALIBRATION]);

	return deadline_ns == INT64_MAX ? INT64_MAX
					: deadline_ns + (spent_ns < most_ns ? spent_ns : most_ns);
}
/* *rung: that the image was made on. True: a step was taken (b->rung tells to where). */
bool bs_budget_made(struct bs_budget *b, const struct bs_report *report, int64_t from_ns,
		    int64_t made_ns, enum bs_rung *rung);
/* An image of that rung was handed on, emit_ns after it was made. True: a step was taken. */
bool bs_budget_handed(struct bs_budget *b, enum bs_rung rung, enum bs_budget_result v,
		      int64_t emit_ns);

/* The protocol's image budget; 0: none declared. */
static inline int64_t bs_budget_ns(const struct bs_protocol *p)
{
	return bs_ns_of_ms(p->image_ms);
}
/* Its images do less when they would miss that: else the ladder is on full for good. */
static inline bool bs_budget_sheds(const struct bs_protocol *p)
{
	return p->on_miss == BS_MISS_SHED && p->image_ms > 0.0;
}
/* The solver's, for an image whose latency counts from from_ns; INT64_MAX unless under shed. */
static inline int64_t bs_budget_deadline(const struct bs_budget *b, int64_t from_ns)
{
	int64_t budget = bs_budget_ns(b->p);

	if (!bs_budget_sheds(b->p))
		return INT64_MAX;
	/* half at most: one long stall of a taker must leave the solver some time */
	return from_ns + budget - (b->tail_ns < budget / 2 ? b->tail_ns : budget / 2);
}
/* The image's own: calibration_ms more where its report says that something was calibrated. */
static inline double bs_budget_image_ms(const struct bs_protocol *p, const struct bs_report *r)
{
	return p->image_ms > 0.0 && r->stage_ns[BS_BUDGET_CALIBRATION] > 0
		       ? p->image_ms + p->stage_ms[BS_BUDGET_CALIBRATION]
		       : p->image_ms;
}
/* latency_ns against that; never missed without one. */
static inline bool bs_budget_missed(const struct bs_protocol *p, const struct bs_report *r,
				    int64_t latency_ns)
{
	const double ms = bs_budget_image_ms(p, r);

	return ms > 0.0 && (double)latency_ns > ms * 1e6;
}
/* Bit i: stage i took longer than its own budget. */
uint32_t bs_budget_stages_missed(const struct bs_protocol *p,
				 const int64_t stage_ns[BS_BUDGET_STAGES]);

#endif
