/*
 * ipc/seal/link.h - the client's end of a sealed connection over tcp: PAIR or REQ, made anew when
 * it breaks
 *
 * open -> { send, take }* -> close. A link does what nanomsg's socket does for an endpoint that is
 * not sealed (ipc/endpoint.h calls it): greeting, hello (hello.h), framing. Nothing is queued but
 * the one message that the connection has not wholly taken. A question (REQ) that is not answered
 * when the connection breaks is asked again on the next connection.
 * send_fd and receive_fd are readable (POLLIN) when send or take may do something; take also does
 * what time asks for. take's message is valid until the next call. One thread.
 * open allocates; so do send and take where a message is longer than any before.
 * Results: as endpoint.h's. Test: test/unit/ipc/seal/test_link.c
 */
#ifndef BS_IPC_SEAL_LINK_H
#define BS_IPC_SEAL_LINK_H

#include "ipc/seal/hello.h"

struct bs_seal_link;

/* endpoint: its name as in hello.h. asks: true for REQ. keys: a client's; copied. */
int bs_seal_link_open(struct bs_seal_link **l, const char *url, const char *endpoint, bool asks,
		      size_t message_max, const struct bs_seal_keys *keys, struct bs_fail *why);
void bs_seal_link_close(struct bs_seal_link *l);
int bs_seal_link_send(struct bs_seal_link *l, const void *head, size_t head_len, const void *tail,
		      size_t tail_len, int timeout_ms, struct bs_fail *why);
int bs_seal_link_take(struct bs_seal_link *l, const unsigned char **msg, size_t *len,
		      int timeout_ms, struct bs_fail *why);
int bs_seal_link_receive_fd(const struct bs_seal_link *l);
int bs_seal_link_send_fd(const struct bs_seal_link *l);
/* Makes the connection anew; what was under way is lost. */
void bs_seal_link_renew(struct bs_seal_link *l);
/* Number of hellos that were welcome since open; *now: there is a connection now. */
uint64_t bs_seal_link_connections(const struct bs_seal_link *l, bool *now);
/* Returns BS_ERR_KEY and why when the service has refused the last few hellos; else 0. */
int bs_seal_link_refused(const struct bs_seal_link *l, struct bs_fail *why);

#endif
