/*
 * drivers/source/sender.h - the scanner's side of the protocol: what to send, and when
 * (ipc/WIRE.md)
 *
 * open -> { begin -> { acq }* -> finish -> until ended }* -> close, and all the while, whatever
 * carries the messages asks next what to send, tells sent, heard and reconnected, and looks again
 * at the latest when due says. No socket, no clock and no thread in here: times are arguments
 * (bs_now_ns), so that a test can script them.
 *
 * Messages stay in a fixed ring until the service says that they are durable; after a reconnect, or
 * when no acknowledgement makes progress, all of them go out again, oldest first.
 * One thread. Only open allocates. Test: test/unit/drivers/test_sender.c
 */
#ifndef BS_DRIVERS_SOURCE_SENDER_H
#define BS_DRIVERS_SOURCE_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "ipc/wire/wire.h"

#define BS_SENDER_FULL          1     /* window or ring: wait for an acknowledgement, then again */
#define BS_SENDER_WINDOW        8192u /* messages kept at most, whatever the service allows */
#define BS_SENDER_RING_MAX      (UINT64_C(1) << 32) /* bytes */
#define BS_SENDER_BEAT_NS       INT64_C(200000000)  /* silence before a heartbeat */
#define BS_SENDER_RESEND_NS     INT64_C(1000000000) /* without progress before the first resend */
#define BS_SENDER_RESEND_MAX_NS INT64_C(4000000000)

enum bs_sender_state {
	BS_SENDER_IDLE,      /* no scan */
	BS_SENDER_OPENING,   /* OPEN is out, no answer yet */
	BS_SENDER_STREAMING, /* accepted */
	BS_SENDER_CLOSING,   /* CLOSE is out, no outcome yet */
	BS_SENDER_ENDED,     /* outcome or refusal is here: result says which */
};

struct bs_sender_item {
	uint64_t seq;
	size_t at, len; /* in the ring, bytes */
};

struct bs_sender {
	enum bs_sender_state state;
	uint64_t session;
	unsigned char *ring;
	size_t ring_bytes, free_at;
	struct bs_sender_item *item; /* [BS_SENDER_WINDOW], a ring: first, count */
	uint32_t first, count;
	uint32_t cursor; /* of the kept ones, this many went out on this connection */
	uint32_t window; /* the service's; 1 before ACCEPT */
	uint64_t next_seq, acquisitions;
	uint64_t high_seq;      /* highest that ever went out, + 1 */
	bool close_held;        /* CLOSE is durable; its outcome is still to come */
	struct bs_wire_ack ack; /* the newest */
	int64_t sent_ns, heard_ns, progress_ns, resend_ns;
	unsigned char beat[BS_WIRE_BYTES];
	bool beating; /* next gave the heartbeat last */

	/* What the service said; valid in ENDED. code 0 is a scan without fault. */
	int code;
	bool refused; /* by REFUSE, and outcome's counts are zeros */
	struct bs_wire_outcome outcome;
	struct bs_fail complaint; /* the latest refusal of a single message */
	uint64_t complaints, resent;
	uint64_t strays; /* messages from the service that mean nothing here */
};

int bs_sender_open(struct bs_sender *s, size_t ring_bytes, struct bs_fail *why);
void bs_sender_close(struct bs_sender *s);

/* A new scan: queues its OPEN. session not 0; protocol "" for the header's own. */
int bs_sender_begin(struct bs_sender *s, uint64_t session, const char *protocol, const char *xml,
		    size_t xml_len, int64_t now_ns, struct bs_fail *why);
/*
 * Queues a message; its payload is copied. time_ns goes into the envelope. 0, BS_SENDER_FULL,
 * BS_ERR_STATE (no scan is streaming), BS_ERR_SIZE (larger than the whole ring).
 */
int bs_sender_put(struct bs_sender *s, unsigned kind, const void *payload, size_t len,
		  int64_t time_ns, struct bs_fail *why);
/* Queues CLOSE. As put. */
int bs_sender_finish(struct bs_sender *s, int64_t time_ns, struct bs_fail *why);

/* Is there something to send now? The message stays valid until the next call of anything here. */
bool bs_sender_next(struct bs_sender *s, int64_t now_ns, const unsigned char **msg, size_t *len);
/* What next gave was handed to the transport. */
void bs_sender_sent(struct bs_sender *s, int64_t now_ns);
/* When next has to be asked again although nothing was heard or put. INT64_MAX: never. */
int64_t bs_sender_due(const struct bs_sender *s);
/* The transport has a new connection: what went out on the old one may be lost. */
void bs_sender_reconnected(struct bs_sender *s, int64_t now_ns);
/* A message came. Not 0: it means nothing here; the reason says why. The scan goes on. */
int bs_sender_heard(struct bs_sender *s, const unsigned char *msg, size_t len, int64_t now_ns,
		    struct bs_fail *why);

#endif
