/*
 * test/simulate/totals.h - what was covered: faults by state, what became of scans, places of kills
 *
 * One structure for each process that runs schedules; the first one adds them up and prints them.
 */
#ifndef BS_TEST_SIMULATE_TOTALS_H
#define BS_TEST_SIMULATE_TOTALS_H

#include "core/frame/state.h"
#include "test/simulate/faults.h"
#include "test/simulate/simulate.h"

#define STATES     (BS_STATES + 1) /* the last one: ingest is dead */
#define PLACES_MAX 2048u

/* What became of scans, by the books. */
enum sim_seen {
	SEEN_ACCEPTED,
	SEEN_WHOLE,
	SEEN_GAPS,
	SEEN_CUT_SHORT,
	SEEN_REFUSED,
	SEEN_OVER_INGEST,
	SEEN_OVER_RECON,
	SEEN_OVER_BOTH,
	SEEN_OVER_SERVICE,
	SEEN_SECOND,
	SEEN_SECOND_OVER,
	SEEN_LOST_RECON,
	SEEN_UNPROTECTED,
	SEEN_UNPROTECTED_RECON,
	SEEN_UNPROTECTED_INGEST,
	SEEN_DURABLE_POWER,
	SEEN_RETURNED,
	SEEN_LOGS,
	SEEN_SEGMENTS,
	SEEN_PROVEN,
	SEEN_RECOVERED,
	SEEN_ANSWERS_SAID,
	SEEN_ANSWERS_OVER,
	SEEN_ANSWERS_HEARD,
	SEEN_ANSWERS_LATE,
	SEEN_ANSWERS_LOGGED,
	SEEN_ANSWERS_AGAIN,
	SEEN_IMAGES_STORED,
	SEEN_IMAGES_TAKEN,
	SEEN_IMAGES_TWICE,
	SEEN_IMAGES_TOLD,
	SEEN_IMAGES_NAMED,
	SEEN_EMIT_STALLED,
	SEEN_STEP_USED,
	SEEN_STEP_NUMBERED,
	SEEN_STEP_LATE,
	SEEN_STEP_DIED,
	SEEN_STEP_HUNG,
	SEEN_STEP_WRONG,
	SEEN_STEP_WITHOUT,
	SEEN_MAX
};

struct sim_totals {
	uint64_t schedules, failed, steps, faults, scans;
	uint64_t fewest_steps, fewest_faults;
	int64_t longest_ns;             /* from the last fault to rest */
	uint64_t fault[FAULTS][STATES]; /* schedules that had it */
	uint64_t seen[SEEN_MAX];
	uint8_t reached[PLACES_MAX];
	uint32_t killed[PLACES_MAX];
};

/* This process's. */
extern struct sim_totals *sim_totals;

static inline void sim_saw(enum sim_seen what)
{
	sim_totals->seen[what]++;
}

void totals_add(struct sim_totals *to, const struct sim_totals *from);
/* places: also those where no kill struck. */
void totals_print(const struct sim_totals *t, bool places);
const char *totals_state(unsigned state);
const char *totals_seen(enum sim_seen what);

#endif
