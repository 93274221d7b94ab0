/*
 * ipc/desk.h - the service's side of all its sockets but k-space, behind a gate (gate.h): questions
 * that are answered (REP), images that are pushed to one taker (PUSH) or to all (PUB)
 *
 * open -> { recv, send }* -> close. REP alternates, as nanomsg's does: send answers the question
 * that recv gave last; the peer may be gone by then. A question that is asked again (the same
 * number) is answered again. One answer per peer may be on its way: a peer that does not read it
 * gets no next one. One thread.
 * PUSH and PUB: send gives the message to the next peer in rotation (PUSH), or to each peer that
 * has taken the message before (PUB). A thread of the desk's own admits peers and sends what their
 * connections did not take at once. Any thread.
 * ipc/endpoint.h calls it. Tests: test/unit/ipc/test_endpoint.c, test/unit/ipc/seal/test_link.c,
 * test/fault/fault_hostile.c
 */
#ifndef BS_IPC_DESK_H
#define BS_IPC_DESK_H

#include "core/protocol.h"
#include "ipc/gate.h"

struct bs_desk;

struct bs_desk_spec {
	enum bs_gate_pattern pattern;
	/* bytes of the longest message that comes in, and that goes out */
	size_t message_max, out_max;
	/* keys that may connect, where messages are sealed; else NULL */
	const struct bs_keys_spec *keys;
	const char *endpoint;          /* name of a sealed endpoint, as in hello.h */
	uint32_t roles;                /* roles of which a peer of a sealed endpoint needs one */
	struct bs_seal_record *record; /* where a sealed endpoint counts its events */
};

int bs_desk_open(struct bs_desk **d, const char *url, const struct bs_desk_spec *spec,
		 struct bs_fail *why);
void bs_desk_close(struct bs_desk *d);
/* These functions work as bs_endpoint_recv and bs_endpoint_send do. */
int bs_desk_recv(struct bs_desk *d, void *buf, size_t cap, size_t *len, int timeout_ms);
int bs_desk_send(struct bs_desk *d, const void *head, size_t head_len, const void *tail,
		 size_t tail_len, int timeout_ms, struct bs_fail *why);
/* The peer that asked last, where sealed; NULL: it is gone. */
const struct bs_seal_peer *bs_desk_who(const struct bs_desk *d);
bool bs_desk_is_sealed(const struct bs_desk *d);
/*
 * connections: peers that have shaken hands since open, and now. unsent: bytes that peers have not
 * read yet.
 */
uint64_t bs_desk_connections(struct bs_desk *d, uint64_t *now);
uint64_t bs_desk_unsent(struct bs_desk *d);
/*
 * The descriptor to poll. REP: readable when recv may do something. PUSH: readable when send would
 * not wait.
 */
int bs_desk_fd(const struct bs_desk *d);

#endif
