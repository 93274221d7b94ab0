/*
 * drivers/tool/replay/replay.h - a recording played to the service, the way a scanner would send it
 *
 * open (reads the recording into memory, the part beyond 1 GiB from disk while it plays) ->
 * run*, a scan each -> close. The pace is the recording's own: user_int[0] in microseconds where it
 * counts them, else acquisition_time_stamp in ticks of 2.5 ms, else the readouts' sampling times
 * back to back. A readout is due at the scan's start plus its stamp over the speed; what the
 * service or the machine delays is sent as soon as possible after that.
 * One thread; open and run allocate. Open before any endpoint: reading forks
 * (drivers/file/probe.h).
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
	BS_REPLAY_MICROSECONDS, /* user_int[0] */
	BS_REPLAY_TICKS,        /* acquisition_time_stamp */
	BS_REPLAY_SAMPLING,     /* number_of_samples x sample_time_us */
};

#define BS_REPLAY_MESSAGE_MAX 4096u /* bytes; the service's messages are shorter */

struct bs_replay;

/* While it plays, and at the end. */
struct bs_replay_report {
	enum bs_sender_state state;
	uint32_t sent, total;   /* acquisitions */
	uint32_t kept;          /* messages that the service has not acknowledged */
	uint64_t session;       /* the one that was begun last */
	struct bs_wire_ack ack; /* of it, the newest */
	uint64_t bytes;         /* of acquisitions, envelopes included, each once */
	uint64_t resent, complaints, strays;
	int64_t elapsed_ns; /* since OPEN */
	int code;           /* the service's outcome; valid when run returned 0 */
	bool refused;       /* no scan took place */
	struct bs_wire_outcome outcome;
	struct bs_fail complaint; /* the latest refusal of a single message */
};

struct bs_replay_options {
	const char *protocol;              /* "": by the header */
	uint64_t session;                  /* not 0 */
	double speed;                      /* of the recording's own pace; 0: as fast as it goes */
	int64_t patience_ns;               /* longest silence of the service */
	const volatile sig_atomic_t *stop; /* set: no more readouts, CLOSE, wait for the outcome */
	void (*progress)(void *arg, const struct bs_replay_report *now); /* a few times a second */
	void *arg;
	struct bs_faults *faults; /* NULL: none. Killed, the sender begins again: session + 1 */
};

/* limit: at most so many acquisitions; 0: all. */
int bs_replay_open(struct bs_replay **r, const char *path, uint32_t limit, struct bs_fail *why);
/*
 * Each scan has so many repetitions (drivers/tool/replay/repeat.h), bs_replay_count readouts then.
 * The recording must fit in memory. Before the first run.
 */
int bs_replay_repeat(struct bs_replay *r, uint32_t repetitions, struct bs_fail *why);
enum bs_replay_clock bs_replay_clock(const struct bs_replay *r);
const char *bs_replay_clock_name(enum bs_replay_clock clock);
/* "", or what of the scan is not in the recording (bs_recording_note). */
const char *bs_replay_note(const struct bs_replay *r);
uint32_t bs_replay_count(const struct bs_replay *r);
/*
 * One scan. e: a connected BS_ENDPOINT_KSPACE. 0: the service ended it, the report says how.
 * BS_ERR_TIMEOUT: the service was silent for too long.
 */
int bs_replay_run(struct bs_replay *r, struct bs_endpoint *e, const struct bs_replay_options *o,
		  struct bs_replay_report *report, struct bs_fail *why);
/* How long after its due time each readout was handed to the socket, over all runs at a pace. */
const struct bs_hist *bs_replay_lateness(const struct bs_replay *r);
/* When each was due, and when it went; until close. Any thread may look. */
const struct bs_departures *bs_replay_departures(const struct bs_replay *r);
void bs_replay_close(struct bs_replay *r);

#endif
