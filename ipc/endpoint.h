/*
 * ipc/endpoint.h - nanomsg sockets: the only place that sees the library
 *
 * bind|connect -> { send, recv, wait }* -> close. One thread per endpoint. bind, connect and close
 * allocate, and nanomsg itself allocates once per message on each side; nothing else here does.
 *
 * URLs: ipc/url.h. A path's directory must exist; the socket is made for owner and group only. A
 * stale socket is replaced; a socket that is still served after a second, or any other file, is
 * refused.
 *
 * A send that succeeds says only that nanomsg has queued the message. A message longer than the
 * receiver's message_max is lost and the connection is made anew; the last messages before close
 * may be lost. A peer that comes back is connected again silently (bs_endpoint_connections counts
 * it). So delivery is ensured by the wire protocol: ipc/WIRE.md.
 *
 * Results of send, recv, wait: 0, or BS_ENDPOINT_TIMEOUT, or BS_ENDPOINT_INTERRUPTED (a signal
 * came, nothing was sent or received), or a negative enum bs_err.
 * Test: test/unit/ipc/test_endpoint.c
 */
#ifndef BS_IPC_ENDPOINT_H
#define BS_IPC_ENDPOINT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct bs_keyed;
struct bs_keys_spec;
struct bs_site;
struct bs_seal_keys;
struct bs_seal_record;

#define BS_ENDPOINT_TIMEOUT     1
#define BS_ENDPOINT_INTERRUPTED 2

enum bs_endpoint_role {
	BS_ENDPOINT_KSPACE,      /* PAIR: a scanner; the service's side is ipc/gate.h */
	BS_ENDPOINT_ARCHIVE_OUT, /* PUSH: the service; blocks while the archive is slow or away */
	BS_ENDPOINT_ARCHIVE_IN,  /* PULL, the archive's side */
	/* PUB, the service's side; never blocks, drops what a viewer misses */
	BS_ENDPOINT_VIEWERS_OUT,
	BS_ENDPOINT_VIEWERS_IN, /* SUB to everything, a viewer's side */
	BS_ENDPOINT_STATUS,     /* REP: recv and send alternate, recv first */
	BS_ENDPOINT_STATUS_ASK, /* REQ: send and recv alternate, send first */
	BS_ENDPOINT_IMAGES,     /* REP, the service's side */
	BS_ENDPOINT_IMAGES_ASK, /* REQ: an archive that asks */
};

struct bs_endpoint {
	int socket;     /* number of nanomsg's socket; -1: closed */
	int receive_fd; /* readable (POLLIN) when recv may have a message; -1: it never receives */
	int send_fd;    /* readable, not writable, when send would not block; -1: it never sends */
	int send_ms, recv_ms; /* timeouts that are set on the socket, ms */
	enum bs_endpoint_role role;
	size_t message_max;
	char url[128]; /* URL, at most of nanomsg's length */
	/* socket is -1 where one of the next two members is not NULL. */
	struct bs_seal_link *link; /* connection of a sealed client */
	struct bs_desk *desk;      /* desk of a service */
};

static inline bool bs_endpoint_is_open(const struct bs_endpoint *e)
{
	return e->socket >= 0 || e->link != NULL || e->desk != NULL;
}

/* Returns true if the endpoint is a service's, and asks its peers for keys. */
bool bs_endpoint_is_sealed(const struct bs_endpoint *e);

/*
 * message_max: bytes of the largest message that will be received; a longer one is not read. Keep
 * it just above the largest legal message. On failure *e is closed and the reason names the URL.
 * bind makes the socket's file and listens in one call of nanomsg, so the process's umask is
 * changed meanwhile: call it before there are threads that make files, as emit's takers do.
 */
int bs_endpoint_bind(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
		     size_t message_max, struct bs_fail *why);
int bs_endpoint_connect(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			size_t message_max, struct bs_fail *why);

/*
 * Bind and connect over tcp, sealed. IMAGES and STATUS are bound so, with the site's keys (the
 * k-space endpoint is ipc/gate.h's); answer_max: bytes of the longest answer. KSPACE, IMAGES_ASK
 * and STATUS_ASK connect so; keys: a client's, copied, or NULL: plain connect.
 */
int bs_endpoint_bind_sealed(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			    size_t message_max, size_t answer_max, const struct bs_keys_spec *keys,
			    struct bs_seal_record *record, struct bs_fail *why);
int bs_endpoint_connect_sealed(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			       size_t message_max, const struct bs_seal_keys *keys,
			       struct bs_fail *why);
/*
 * Connects a process on the service's own node: sealed where the site seals this URL, with who's
 * key (bs_seal_keys_node), else plain.
 */
int bs_endpoint_connect_own(struct bs_endpoint *e, enum bs_endpoint_role role,
			    const struct bs_site *site, const struct bs_keyed *who, const char *url,
			    size_t message_max, struct bs_fail *why);
/* Returns BS_ERR_KEY and why while the service refuses this client's key; else 0. */
int bs_endpoint_refused(const struct bs_endpoint *e, struct bs_fail *why);
/*
 * Sealed questions: the name of the key that asked the question in hand, "" for the node's own.
 * NULL: the endpoint is not sealed, or the peer is gone.
 */
const char *bs_endpoint_asker(const struct bs_endpoint *e);

/*
 * Sends one message made of two pieces (an envelope and its payload); tail may be NULL when
 * tail_len is 0. timeout_ms: 0 does not wait, -1 waits for ever.
 */
int bs_endpoint_send(struct bs_endpoint *e, const void *head, size_t head_len, const void *tail,
		     size_t tail_len, int timeout_ms, struct bs_fail *why);

/*
 * Receives one message into buf. *len: its length. BS_ERR_LENGTH when it was longer than cap: the
 * message is gone, its first cap bytes are in buf, and *len is its whole length.
 */
int bs_endpoint_recv(struct bs_endpoint *e, void *buf, size_t cap, size_t *len, int timeout_ms,
		     struct bs_fail *why);

/*
 * Receives one message where nanomsg has it, without a copy; does not wait. *msg is the caller's
 * until release. For a reader that inspects the message first and then copies a part of it.
 */
int bs_endpoint_take(struct bs_endpoint *e, const unsigned char **msg, size_t *len,
		     struct bs_fail *why);
void bs_endpoint_release(const unsigned char *msg);

/*
 * Waits until one of the descriptors is ready or bs_now_ns reaches until_ns (INT64_MAX: no end); 0
 * then says that fds[].revents are set. fds: endpoints' receive_fd and send_fd, eventfds, timers,
 * ...
 */
int bs_endpoint_wait(struct pollfd *fds, unsigned n, int64_t until_ns, struct bs_fail *why);

/*
 * connections: number made since open, which grows when a peer comes back. connections_now: present
 * ones.
 */
uint64_t bs_endpoint_connections(const struct bs_endpoint *e);
uint64_t bs_endpoint_connections_now(const struct bs_endpoint *e);

/*
 * ARCHIVE_OUT: bytes that peers have not read yet, as far as this machine's kernel knows. What a
 * peer's own socket has read ahead is not known.
 */
uint64_t bs_endpoint_unsent(const struct bs_endpoint *e);

/*
 * Connects an endpoint anew, with another socket to the same URL; what was under way is lost. Two
 * faults of nanomsg 1.1.5 need it. Its PAIR can fail to let go of a connection that broke while it
 * was sending: it then connects and drops every new one, 50 times a second, for ever (about one
 * break in ten when the peer closes under load); connections grow while nothing is heard. And where
 * the other side closes right behind the handshake, it may never connect again (over ipc, of 200
 * each that were closed after 0, 50, 200, 1000 us: 58, 50, 100, 5); nothing is heard.
 */
int bs_endpoint_renew(struct bs_endpoint *e, struct bs_fail *why);

/*
 * Closes an endpoint, also a closed one. Do not call it in the child after fork, where it hangs:
 * exec instead.
 */
void bs_endpoint_close(struct bs_endpoint *e);

/*
 * Call once per process, before the first endpoint: keeps malloc from mapping and unmapping
 * nanomsg's message buffers, which costs a page fault per page of every message. message_max: as
 * for bind.
 */
void bs_endpoint_tune_malloc(size_t message_max);

#endif
