/*
 * drivers/tool/replay/departures.h - when a sender's latest readouts were due, taken up and sent
 *
 * { slept* -> queued -> sent }*: slept after each sleep (when it began and ended; owed: as it
 * began, the service had not acknowledged everything), queued when a readout that is due is taken
 * up, sent right before what is queued is handed to the socket. find: the newest readout with that
 * due time.
 * overslept: how long after the readout's due time the sender still slept, by its own fault. It is
 * 0 unless the sleep had begun when the readout came due and nothing was owed: then only the
 * sender's own clock could wake it. What comes after the sleep (a slow send, a full socket or
 * window) does not count.
 * One thread writes; any thread of the process finds meanwhile. The newest BS_DEPARTURES are kept.
 * Due times never fall. Allocates nothing, waits for nothing.
 * Test: test/unit/drivers/tool/test_departures.c
 */
#ifndef BS_DRIVERS_TOOL_REPLAY_DEPARTURES_H
#define BS_DRIVERS_TOOL_REPLAY_DEPARTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/latency/hist.h"

#define BS_DEPARTURES 16384u

struct bs_departure {
	int64_t due_ns;
	/* beginning and end of the last sleep before the readout was taken up; 0: none */
	int64_t slept_ns, woke_ns;
	int64_t sent_ns; /* time just before the readout went to the socket; 0: not yet */
	bool owed;
};

struct bs_departures {
	_Atomic uint64_t count;  /* number of queued readouts */
	uint64_t sent;           /* number of sent readouts, for the writer alone */
	struct bs_departure now; /* sleep before the next readout, for the writer alone */
	struct bs_hist overslept;
	struct {
		_Atomic int64_t due_ns, slept_ns, woke_ns, sent_ns;
		_Atomic bool owed;
	} at[BS_DEPARTURES]; /* number i is in place i % BS_DEPARTURES */
};

void bs_departures_open(struct bs_departures *d);
void bs_departures_slept(struct bs_departures *d, int64_t begin_ns, int64_t end_ns, bool owed);
void bs_departures_queued(struct bs_departures *d, int64_t due_ns);
void bs_departures_sent(struct bs_departures *d, int64_t now_ns);
bool bs_departures_find(const struct bs_departures *d, int64_t due_ns, struct bs_departure *out);

int64_t bs_departure_overslept(const struct bs_departure *d);

#endif
