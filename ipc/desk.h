/*
 * ipc/desk.h - the service's side of its sockets but k-space, behind a gate (gate.h): questions
 * that are answered (REP), images that are pushed to one taker (PUSH) or to all (PUB)
 *
 * open -> { recv, send }* -> close. REP, in turns, as nanomsg's: send answers the question that
 * recv gave last; its peer may be gone then. A question that is asked again (the same number) is
 * answered again. One answer of a peer may be on its way: one that does not take it is not answered
 * the next. One thread.
 * PUSH and PUB: send gives the message to the peer whose turn it is, or to each that has taken the
 * one before. A thread of the desk's own admits peers and sends what their connections did not take
 * at once. Any thread.
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
	size_t message_max, out_max;     /* bytes of what comes, and of what goes out */
	const struct bs_keys_spec *keys; /* sealed: whose keys may come in; else NULL */
	const char *endpoint;            /* sealed: as hello.h names it, */
	uint32_t roles;                  /* who may come in, */
	struct bs_seal_record *record;   /* and what is counted */
};

int bs_desk_open(struct bs_desk **d, const char *url, const struct bs_desk_spec *spec,
		 struct bs_fail *why);
void bs_desk_close(struct bs_desk *d);
/* As bs_endpoint_recv and bs_endpoint_send. */
int bs_desk_recv(struct bs_desk *d, void *buf, size_t cap, size_t *len, int timeout_ms);
int bs_desk_send(struct bs_desk *d, const void *head, size_t head_len, const void *tail,
		 size_t tail_len, int timeout_ms, struct bs_fail *why);
/* Sealed: who asked last; NULL: it is gone. */
const struct bs_seal_peer *bs_desk_who(const struct bs_desk *d);
bool bs_desk_is_sealed(const struct bs_desk *d);
/* Peers that have shaken hands, since open and now; bytes that they have not read yet. */
uint64_t bs_desk_connections(struct bs_desk *d, uint64_t *now);
uint64_t bs_desk_unsent(struct bs_desk *d);
/* REP: readable when recv may do something. PUSH: readable when send would not wait. */
int bs_desk_fd(const struct bs_desk *d);

#endif
