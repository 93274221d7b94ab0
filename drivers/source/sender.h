/*
 * drivers/source/sender.h - the scanner's side of the protocol: what to send, and when
 * (ipc/WIRE.md)
 *
 * open -> { begin -> { put }* -> finish -> until ended }* -> close. Meanwhile the owner of the
 * socket calls next for a message to send, sent after sending, heard and reconnected when they
 * happen, and next again at the latest at the time that due returns. There is no socket, clock or
 * thread in here: times are arguments (bs_now_ns), so that a test can script them.
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
#include "ipc/wire/answer.h"
#include "ipc/wire/wire.h"

#define BS_SENDER_FULL     1     /* window or ring: wait for an acknowledgement, then again */
#define BS_SENDER_WINDOW   8192u /* messages kept at most, whatever the service allows */
#define BS_SENDER_RING_MAX (UINT64_C(1) << 32) /* most bytes of the ring */
/* silence of the sender before it sends a heartbeat */
#define BS_SENDER_BEAT_NS INT64_C(200000000)
/* time without progress before the first resend */
#define BS_SENDER_RESEND_NS     INT64_C(1000000000)
#define BS_SENDER_RESEND_MAX_NS INT64_C(4000000000)

enum bs_sender_state {
	BS_SENDER_IDLE,      /* there is no scan */
	BS_SENDER_OPENING,   /* OPEN is queued or sent, no answer has come */
	BS_SENDER_STREAMING, /* the service has accepted the scan */
	BS_SENDER_CLOSING,   /* CLOSE is queued or sent, no outcome has come */
	BS_SENDER_ENDED,     /* the outcome, or the refusal (refused), has come */
};

struct bs_sender_item {
	uint64_t seq;
	size_t at, len; /* place in the ring, and length, in bytes */
};

struct bs_sender {
	enum bs_sender_state state;
	uint64_t session;
	unsigned char *ring;
	size_t ring_bytes, free_at;
	struct bs_sender_item *item; /* [BS_SENDER_WINDOW], a ring: first, count */
	uint32_t first, count;
	uint32_t cursor; /* kept messages that were sent on this connection */
	uint32_t window; /* messages in the service's window; 1 before ACCEPT */
	uint64_t next_seq, acquisitions;
	uint64_t high_seq;      /* highest number that was ever sent, + 1 */
	bool close_held;        /* CLOSE is durable; its outcome is still to come */
	struct bs_wire_ack ack; /* newest ACK */
	int64_t sent_ns, heard_ns, progress_ns, resend_ns;
	unsigned char beat[BS_WIRE_BYTES];
	bool beating; /* the last message that next returned is the heartbeat */

	/* Outcome of the scan, valid in ENDED. code 0: no fault. */
	int code;
	bool refused; /* the scan ended by REFUSE; outcome's counts are zeros */
	struct bs_wire_outcome outcome;
	struct bs_fail complaint; /* latest refusal of a single message */
	uint64_t complaints, resent;
	struct bs_answer answer; /* newest ANSWER */
	uint64_t answers;        /* answers that came in all */
	uint64_t strays;         /* messages from the service that were not expected */
};

int bs_sender_open(struct bs_sender *s, size_t ring_bytes, struct bs_fail *why);
void bs_sender_close(struct bs_sender *s);

/* Begins a scan: queues its OPEN. session: not 0; protocol "": the one that the header names. */
int bs_sender_begin(struct bs_sender *s, uint64_t session, const char *protocol, const char *xml,
		    size_t xml_len, int64_t now_ns, struct bs_fail *why);
/*
 * Queues a message; its payload is copied. time_ns goes into the envelope. 0, BS_SENDER_FULL,
 * BS_ERR_STATE (no scan is streaming), BS_ERR_SIZE (larger than the whole ring).
 */
int bs_sender_put(struct bs_sender *s, unsigned kind, const void *payload, size_t len,
		  int64_t time_ns, struct bs_fail *why);
/* Queues CLOSE. Errors as put. */
int bs_sender_finish(struct bs_sender *s, int64_t time_ns, struct bs_fail *why);

/* Returns true if *msg is to be sent now; it is valid until the next call of any function here. */
bool bs_sender_next(struct bs_sender *s, int64_t now_ns, const unsigned char **msg, size_t *len);
/* Call when the message that next returned was handed to the transport. */
void bs_sender_sent(struct bs_sender *s, int64_t now_ns);
/* When next must be called again even if nothing was heard or put. INT64_MAX: never. */
int64_t bs_sender_due(const struct bs_sender *s);
/* Call when the transport has a new connection: messages sent on the old one may be lost. */
void bs_sender_reconnected(struct bs_sender *s, int64_t now_ns);
/* Takes a message of the service. Not 0: an unexpected one, why says which; the scan goes on. */
int bs_sender_heard(struct bs_sender *s, const unsigned char *msg, size_t len, int64_t now_ns,
		    struct bs_fail *why);

#endif
