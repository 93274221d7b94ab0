/*
 * ipc/seal/desk.h - the service's end of sealed questions and answers over tcp: REP behind a gate
 * with a lock
 *
 * open -> { recv, send }* -> close, in turns, as nanomsg's REP: send answers the question that recv
 * gave last; its peer may be gone then. A question that is asked again (the same number) is
 * answered again. One answer of a peer may be on its way: one that does not take it is not answered
 * the next. One thread (ipc/endpoint.h calls it). Test: test/unit/ipc/seal/test_link.c
 */
#ifndef BS_IPC_SEAL_DESK_H
#define BS_IPC_SEAL_DESK_H

#include "core/protocol.h"
#include "ipc/seal/hello.h"
#include "ipc/seal/record.h"

struct bs_seal_desk;

int bs_seal_desk_open(struct bs_seal_desk **d, const char *url, const char *endpoint,
		      uint32_t roles, size_t message_max, size_t answer_max,
		      const struct bs_keys_spec *keys, struct bs_seal_record *record,
		      struct bs_fail *why);
void bs_seal_desk_close(struct bs_seal_desk *d);
/* As bs_endpoint_recv and bs_endpoint_send. */
int bs_seal_desk_recv(struct bs_seal_desk *d, void *buf, size_t cap, size_t *len, int timeout_ms);
int bs_seal_desk_send(struct bs_seal_desk *d, const void *head, size_t head_len, const void *tail,
		      size_t tail_len, struct bs_fail *why);
/* Who asked last; NULL: it is gone. */
const struct bs_seal_peer *bs_seal_desk_who(const struct bs_seal_desk *d);
int bs_seal_desk_fd(const struct bs_seal_desk *d);

#endif
