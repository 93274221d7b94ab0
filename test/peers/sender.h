/*
 * test/peers/sender.h - a sender of k-space that knows ipc/WIRE.md alone
 *
 * A plain nanomsg PAIR. Nothing of the project's is in it: the envelope, its checksum, the payloads
 * and the rules are the page's, and it is no cleverer than the page. It is not told when its
 * connection breaks or comes back, as nanomsg does not say: it lives by the time limits of rule 6.
 *
 * open -> { begin -> { put, finish, step }* until it has ended }* -> close.
 * All that it does it does in step, one thing a call: a message heard, one sent, or a moment
 * waited. So a test stops it between any two steps by not calling, and kills it by close.
 * What it was told is in its books.
 */
#ifndef BS_TEST_PEERS_SENDER_H
#define BS_TEST_PEERS_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sender_kind {
	SENDER_OPEN = 1,
	SENDER_ACQ = 2,
	SENDER_WAVEFORM = 3,
	SENDER_CLOSE = 4,
	SENDER_HEARTBEAT = 5,
	SENDER_ACCEPT = 16,
	SENDER_REFUSE = 17,
	SENDER_ACK = 18,
	SENDER_OUTCOME = 19
};

enum sender_state {
	SENDER_IDLE,
	SENDER_OPENING,   /* OPEN is not answered */
	SENDER_STREAMING, /* accepted */
	SENDER_CLOSING,   /* CLOSE was made */
	SENDER_ENDED      /* OUTCOME, or a REFUSE that ends the scan, has come */
};

/* What step has done. */
enum sender_did { SENDER_HEARD, SENDER_SENT, SENDER_WAITED };

/* Of one scan; held to log are the last ACK's. */
struct sender_books {
	uint64_t sent, again; /* numbered messages; of these, those that had been sent before */
	uint64_t heard[SENDER_OUTCOME + 1]; /* messages of the scan, by kind */
	uint64_t held, durable, unprotected;
	uint32_t log;
	uint64_t most_held, most_durable; /* of all ACKs */
	uint64_t held_back, durable_back; /* ACKs whose number is less than in one before it */
	uint64_t wrong;   /* ACKs with durable beyond held, or held beyond what was sent */
	uint64_t sockets; /* opened anew after 2 s of silence */
	bool refused;     /* the scan ended by REFUSE */
	int32_t code;     /* of the last REFUSE, or of OUTCOME, as the next six */
	char text[385];
	uint64_t acquisitions, images, gaps, duplicates, rejected;
};

struct sender_kept {
	uint64_t seq;
	unsigned char *bytes;
	size_t len;
	bool was_sent;
};

struct sender {
	char url[256];
	int socket;
	enum sender_state state;
	uint64_t session;
	uint64_t next_seq;  /* of the next numbered message */
	uint64_t last_sent; /* the highest number that was sent */
	uint64_t acqs;
	uint32_t window;
	struct sender_kept *kept;  /* may have to be sent again; the oldest first */
	size_t count, cap, cursor; /* of these; cursor: the first that is to be sent */
	int64_t heard_ns, said_ns, progress_ns, patience_ns;
	struct sender_books books;
};

bool sender_open(struct sender *s, const char *url);
void sender_close(struct sender *s);

/* A scan; session: not 0. One that has not ended is forgotten. */
void sender_begin(struct sender *s, uint64_t session, const char *protocol, const char *header);
/* Its next message. False: it is not accepted yet, or W more are not durable (rule 4). */
bool sender_put(struct sender *s, enum sender_kind kind, const void *payload, size_t len);
bool sender_finish(struct sender *s); /* the same of CLOSE */

/* Waits for at most wait_ms, if there is nothing else to do. */
enum sender_did sender_step(struct sender *s, int wait_ms);

/* An ACQ's payload: a readout on the grid, samples of both parts 0.5. Returns its length. */
#define SENDER_ACQ_BYTES(samples, channels) (340 + 8 * (size_t)(samples) * (channels))
size_t sender_readout(unsigned char *payload, unsigned samples, unsigned channels, unsigned line,
		      unsigned repetition);

#endif
