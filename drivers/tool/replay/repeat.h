/*
 * drivers/tool/replay/repeat.h - a recording's repetitions, played again and again with counters
 * that go on
 *
 * What comes up to the end of the first repetition is played once (references among it); the
 * repetitions after it come one after the other until the scan has as many as are wanted. Each time
 * their repetition, scan_counter and times go on (acquisition_time_stamp, and user_int[0] where it
 * counts microseconds); physiological stamps stay. LAST_IN_MEASUREMENT is on the last readout
 * alone, if at all.
 * find -> { at, count }*. xml: allocates; the rest does not. Any thread. Test:
 * test/unit/drivers/tool/test_repeat.c
 */
#ifndef BS_DRIVERS_TOOL_REPLAY_REPEAT_H
#define BS_DRIVERS_TOOL_REPLAY_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/mrd.h"

struct bs_repeat {
	/*
	 * numbers of readouts of the recording: from is the first that comes again; count: of all
	 */
	uint32_t from, count;
	uint32_t repetitions; /* number of the repetitions that come again */
	uint32_t total;       /* number of readouts that are played in all */
	/* The caller sets these after find. */
	int64_t period_ns; /* time from these repetitions' beginning to their next one */
	bool microseconds; /* user_int[0] is a time in microseconds */
	bool last;         /* the recording's last readout is flagged LAST_IN_MEASUREMENT */
};

/*
 * repetition [count]: that of each readout. wanted: number of the scan's repetitions.
 * BS_ERR_UNSUPPORTED: the recording has one repetition, or does not have them one after the other.
 */
int bs_repeat_find(struct bs_repeat *r, const uint16_t *repetition, uint32_t count, uint32_t wanted,
		   struct bs_fail *why);
/*
 * Returns which readout of the recording is the n-th of the scan; round: how often it was played.
 */
uint32_t bs_repeat_at(const struct bs_repeat *r, uint32_t n, uint32_t *round);
/* Makes a readout of the recording the n-th of the scan, by its counters. */
void bs_repeat_count(const struct bs_repeat *r, uint32_t n, struct bs_mrd_acq *head);
/* Returns the header with limits of so many repetitions; NULL: no memory. The caller frees it. */
char *bs_repeat_xml(const char *xml, uint32_t wanted);

#endif
