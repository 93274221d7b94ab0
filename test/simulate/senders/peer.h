/*
 * test/simulate/senders/peer.h - one scan of a sender: the project's own sender
 * (drivers/source/sender.h), or one that knows ipc/WIRE.md alone (test/peers/rules.h)
 */
#ifndef BS_TEST_SIMULATE_SENDERS_PEER_H
#define BS_TEST_SIMULATE_SENDERS_PEER_H

#include "drivers/source/sender.h"
#include "test/peers/rules.h"
#include "test/simulate/simulate.h"

struct peer {
	bool plain; /* it knows the page alone */
	struct bs_sender ours;
	struct rules rules;
};

void peer_make(struct peer *p); /* once */
void peer_reset(struct peer *p, bool plain);
void peer_begin(struct peer *p, uint64_t session, const char *protocol, const char *header,
		size_t len);
/* Forgets its scan. */
void peer_drop(struct peer *p);

bool peer_is_idle(const struct peer *p); /* no scan, or it has ended */
bool peer_has_ended(const struct peer *p);
bool peer_streams(const struct peer *p);
bool peer_close_is_held(const struct peer *p); /* nothing is owed any more but OUTCOME */
uint64_t peer_session(const struct peer *p);
uint64_t peer_next_seq(const struct peer *p);
bool peer_keeps(const struct peer *p); /* messages that it may have to send again */
bool peer_may_put(const struct peer *p);
uint64_t peer_window(const struct peer *p);

/* False: it has to wait. */
bool peer_put(struct peer *p, enum bs_wire_kind kind, const void *payload, size_t len);
bool peer_finish(struct peer *p);
bool peer_next(struct peer *p, const unsigned char **msg, size_t *len);
void peer_sent(struct peer *p);
void peer_hear(struct peer *p, const unsigned char *msg, size_t len);
void peer_reconnected(struct peer *p);
/* When peer_next has to be asked again. */
int64_t peer_due(const struct peer *p);
/* It takes eight times what the service allows. */
void peer_overruns(struct peer *p);

/* Of a scan that has ended. */
int peer_code(const struct peer *p, bool *refused, const char **words);

#endif
