/*
 * test/peers/rules.h - the rules of ipc/WIRE.md for a sender of k-space: what to send, and when
 *
 * Nothing of the project's is in it: the envelope, its checksum, the payloads and the rules are the
 * page's, and it is no cleverer than the page. No socket and no clock: times are arguments, ns.
 * sender.h gives it nanomsg's socket, test/simulate/senders/peer.h the simulated network.
 *
 * begin -> { put, finish, next, sent, hear }* until it has ended; then begin again, or forget.
 */
#ifndef BS_TEST_PEERS_RULES_H
#define BS_TEST_PEERS_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULES_ENVELOPE 64u

enum sender_kind {
	SENDER_OPEN = 1,
	SENDER_ACQ = 2,
	SENDER_WAVEFORM = 3,
	SENDER_CLOSE = 4,
	SENDER_HEARTBEAT = 5,
	SENDER_ACCEPT = 16,
	SENDER_REFUSE = 17,
	SENDER_ACK = 18,
	SENDER_OUTCOME = 19,
	SENDER_ANSWER = 20 /* is counted alone */
};

enum sender_state {
	SENDER_IDLE,
	SENDER_OPENING,   /* OPEN is not answered */
	SENDER_STREAMING, /* accepted */
	SENDER_CLOSING,   /* CLOSE was made */
	SENDER_ENDED      /* OUTCOME, or a REFUSE that ends the scan, has come */
};

/* Of one scan; held to log are the last ACK's. */
struct sender_books {
	uint64_t sent, again; /* numbered messages; of these, those that had been sent before */
	uint64_t heard[SENDER_ANSWER + 1]; /* messages of the scan, by kind */
	uint64_t held, durable, unprotected;
	uint32_t log;
	uint64_t most_held, most_durable; /* of all ACKs */
	uint64_t held_back, durable_back; /* ACKs whose number is less than in one before it */
	uint64_t wrong;   /* ACKs with durable beyond held, or held beyond what was sent */
	uint64_t sockets; /* opened anew after 2 s of silence */
	bool refused;     /* the scan ended by REFUSE */
	int32_t code;     /* of the last REFUSE, or of OUTCOME, as the next six */
	char text[385];
	uint64_t undelivered, acquisitions, images, gaps, duplicates, rejected;
};

struct rules_kept {
	uint64_t seq;
	unsigned char *bytes;
	size_t len;
	bool was_sent;
};

struct rules {
	enum sender_state state;
	uint64_t session;
	uint64_t next_seq;  /* of the next numbered message */
	uint64_t last_sent; /* the highest number that was sent */
	uint64_t acqs;
	uint32_t window;
	struct rules_kept *kept;   /* may have to be sent again; the oldest first */
	size_t count, cap, cursor; /* of these; cursor: the first that is to be sent */
	unsigned char beat[RULES_ENVELOPE];
	int64_t heard_ns, said_ns, progress_ns, patience_ns;
	struct sender_books books;
};

/* A scan; session: not 0; its header: len bytes. One that has not ended is forgotten. */
void rules_begin(struct rules *r, uint64_t session, const char *protocol, const char *header,
		 size_t len, int64_t now_ns);
/* Its memory, too. */
void rules_forget(struct rules *r);
/* Its next message. False: it is not accepted yet, or W more are not durable (rule 4). */
bool rules_put(struct rules *r, enum sender_kind kind, const void *payload, size_t len,
	       int64_t now_ns);
bool rules_finish(struct rules *r, int64_t now_ns); /* the same of CLOSE */

/* What it would send now, valid until the next call; false: nothing. */
bool rules_next(struct rules *r, int64_t now_ns, const unsigned char **msg, size_t *len);
/* That was sent. */
void rules_sent(struct rules *r, int64_t now_ns);
/* The next moment at which time alone makes it send. INT64_MAX: none. */
int64_t rules_due(const struct rules *r);
void rules_hear(struct rules *r, const unsigned char *msg, size_t len, int64_t now_ns);
/* It has heard nothing for 2 s: it wants another socket (rule 6). */
bool rules_is_lonely(const struct rules *r, int64_t now_ns);
/* It has another connection: all that it keeps goes out again. */
void rules_connected(struct rules *r, int64_t now_ns);

#endif
