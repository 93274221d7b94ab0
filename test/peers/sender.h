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

#include "test/peers/rules.h"

/* What step has done. */
enum sender_did { SENDER_HEARD, SENDER_SENT, SENDER_WAITED };

struct sender {
	char url[256];
	int socket;
	struct rules rules;
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
