/*
 * drivers/tool/replay/replay.h - a recording played to the service, the way a scanner would send it
 *
 * open (reads the recording into memory, the part beyond 1 GiB from disk while it plays) ->
 * run*, a scan each -> close. The pace is the recording's own: user_int[0] in microseconds where it
 * counts them, else acquisition_time_stamp in ticks of 2.5 ms, else the readouts' sampling times
 * back to back. A readout is due at the scan's start plus its stamp over the speed; what the
 * service or the machine delays is sent as soon as possible after that.
 * One thread; open and run allocate. Open before any endpoint: reading forks
 * (drivers/tool/load/probe.h).
 * Test: test/unit/drivers/tool/test_replay.c
 */
#ifndef BS_DRIVERS_TOOL_REPLAY_REPLAY_H
#define BS_DRIVERS_TOOL_REPLAY_REPLAY_H

#include <signal.h>
#include <stdint.h>

#include "core/err.h"
#include "core/latency/hist.h"
#include "drivers/tool/replay/departures.h"
#include "drivers/tool/replay/faults.h"
#include "drivers/source/sender.h"
#include "ipc/endpoint.h"

enum bs_replay_clock {
	BS_REPLAY_MICROSECONDS, /* clock: user_int[0] */
	BS_REPLAY_TICKS,        /* clock: acquisition_time_stamp */
	BS_REPLAY_SAMPLING,     /* clock: number_of_samples x sample_time_us */
};

#define BS_REPLAY_MESSAGE_MAX 4096u /* bytes, more than any message of the service */

struct bs_replay;

/* Progress of a scan, and its result at the end. */
struct bs_replay_report {
	enum bs_sender_state state;
	uint32_t sent, total;   /* number of acquisitions: sent so far, and of the whole scan */
	uint32_t kept;          /* messages that the service has not acknowledged */
	uint64_t session;       /* session that was begun last */
	struct bs_wire_ack ack; /* newest ACK of the session that was begun last */
	uint64_t bytes;         /* bytes of acquisitions with their envelopes, each counted once */
	uint64_t resent, complaints, strays;
	int64_t elapsed_ns; /* time since OPEN */
	int code;           /* code of the service's outcome; valid when run returned 0 */
	bool refused;       /* the scan was refused */
	struct bs_wire_outcome outcome;
	struct bs_fail complaint; /* latest refusal of a single message */
};

struct bs_replay_options {
	const char *protocol; /* protocol to ask for; "": the header decides */
	uint64_t session;     /* session number, not 0 */
	/* multiple of the recording's own pace; 0: without a pace */
	double speed;
	int64_t patience_ns; /* longest silence of the service */
	/* once set, the sender sends no more readouts, sends CLOSE and waits for the outcome */
	const volatile sig_atomic_t *stop;
	/* called a few times a second */
	void (*progress)(void *arg, const struct bs_replay_report *now);
	void *arg;
	/* called for each answer, where the header asks for them (bs_replay_ask); or NULL */
	void (*answered)(void *arg, const struct bs_answer *a);
	void *answered_arg;
	/* changes the samples of readout n of the scan, right before it is sent; or NULL */
	void (*shape)(void *arg, unsigned char *payload, uint32_t n);
	void *shape_arg;
	/* plan of faults; NULL: none. A killed sender begins again with session + 1. */
	struct bs_faults *faults;
};

/* limit: most acquisitions to play; 0: all. */
int bs_replay_open(struct bs_replay **r, const char *path, uint32_t limit, struct bs_fail *why);
/*
 * Each scan has so many repetitions (drivers/tool/replay/repeat.h), bs_replay_count readouts then.
 * The recording must fit in memory. Before the first run.
 */
int bs_replay_repeat(struct bs_replay *r, uint32_t repetitions, struct bs_fail *why);
/* Has the scans' headers ask for answers. Before the first run. */
int bs_replay_ask(struct bs_replay *r, struct bs_fail *why);
const char *bs_replay_xml(const struct bs_replay *r);
enum bs_replay_clock bs_replay_clock(const struct bs_replay *r);
const char *bs_replay_clock_name(enum bs_replay_clock clock);
/* Returns the note on what the recording lacks of the scan (bs_recording_note), or "". */
const char *bs_replay_note(const struct bs_replay *r);
uint32_t bs_replay_count(const struct bs_replay *r);
/*
 * Plays one scan. e: a connected BS_ENDPOINT_KSPACE. 0: the service ended it, the report says how.
 * BS_ERR_TIMEOUT: the service was silent for too long.
 */
int bs_replay_run(struct bs_replay *r, struct bs_endpoint *e, const struct bs_replay_options *o,
		  struct bs_replay_report *report, struct bs_fail *why);
/* Returns the lateness of each readout at the socket, over all runs at a pace. */
const struct bs_hist *bs_replay_lateness(const struct bs_replay *r);
/* Returns when each readout was due and sent. Valid until close; any thread may look. */
const struct bs_departures *bs_replay_departures(const struct bs_replay *r);
void bs_replay_close(struct bs_replay *r);

#endif
