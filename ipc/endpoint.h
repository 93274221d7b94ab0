/*
 * ipc/endpoint.h - nanomsg sockets: the only place that sees the library
 *
 * bind|connect -> { send, recv, wait }* -> close. One thread per endpoint; bind, connect and close
 * allocate, and nanomsg itself allocates once per message on each side; nothing else here does.
 *
 * URLs: ipc/url.h. A path's directory must exist; the socket is made for owner and group only; a
 * stale socket is replaced; one that is served, still after a second, or any other file is refused.
 *
 * A send that succeeds says only that nanomsg has queued the message. A message beyond the
 * receiver's message_max is lost and the connection made anew; the last messages before close may
 * be lost. A peer that comes back is connected again without a word (bs_endpoint_connections
 * tells). So delivery is the wire protocol's own: ipc/WIRE.md.
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
	BS_ENDPOINT_ARCHIVE_IN,  /* PULL: the archive */
	BS_ENDPOINT_VIEWERS_OUT, /* PUB: the service; never blocks, drops what a viewer misses */
	BS_ENDPOINT_VIEWERS_IN,  /* SUB, to everything: a viewer */
	BS_ENDPOINT_STATUS,      /* REP: recv, then send, in turns */
	BS_ENDPOINT_STATUS_ASK,  /* REQ: send, then recv, in turns */
	BS_ENDPOINT_IMAGES,      /* REP: the service */
	BS_ENDPOINT_IMAGES_ASK,  /* REQ: an archive that asks */
};

struct bs_endpoint {
	int socket;     /* nanomsg's number; -1: closed */
	int receive_fd; /* readable (POLLIN) when recv may have a message; -1: it never receives */
	int send_fd;    /* readable, not writable, when send would not block; -1: it never sends */
	int send_ms, recv_ms; /* timeouts that are set */
	enum bs_endpoint_role role;
	size_t message_max;
	char url[128]; /* nanomsg's own limit */
	/* the socket is -1 where it is one of these */
	struct bs_seal_link *link; /* a client's, sealed */
	struct bs_desk *desk;      /* a service's */
};

static inline bool bs_endpoint_is_open(const struct bs_endpoint *e)
{
	return e->socket >= 0 || e->link != NULL || e->desk != NULL;
}

/* A service's, for whose peers keys are asked. */
bool bs_endpoint_is_sealed(const struct bs_endpoint *e);

/*
 * message_max: bytes of the largest message that will be received; beyond it nothing is read.
 * Keep it just above the largest legal message. On failure *e is closed and the reason names the
 * URL. bind makes nanomsg's socket file and listens in one call, so the process's umask is another
 * one meanwhile: before threads that make files, as emit's takers do.
 */
int bs_endpoint_bind(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
		     size_t message_max, struct bs_fail *why);
int bs_endpoint_connect(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			size_t message_max, struct bs_fail *why);

/*
 * The same over tcp, sealed. IMAGES and STATUS are bound so, by the site's keys (the k-space
 * endpoint is ipc/gate.h's); answer_max: bytes of the longest answer. KSPACE, IMAGES_ASK and
 * STATUS_ASK connect so; keys: a client's, copied, or NULL: as connect.
 */
int bs_endpoint_bind_sealed(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			    size_t message_max, size_t answer_max, const struct bs_keys_spec *keys,
			    struct bs_seal_record *record, struct bs_fail *why);
int bs_endpoint_connect_sealed(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			       size_t message_max, const struct bs_seal_keys *keys,
			       struct bs_fail *why);
/* For what runs on the service's own node: sealed where the site seals this URL, by who's key
 * (bs_seal_keys_node), else plain. */
int bs_endpoint_connect_own(struct bs_endpoint *e, enum bs_endpoint_role role,
			    const struct bs_site *site, const struct bs_keyed *who, const char *url,
			    size_t message_max, struct bs_fail *why);
/* BS_ERR_KEY and why, while the service refuses this client's key; else 0. */
int bs_endpoint_refused(const struct bs_endpoint *e, struct bs_fail *why);
/* Sealed questions: by whose key the one in hand was asked, "" for the node's own. NULL: not
 * sealed, or the peer is gone. */
const char *bs_endpoint_asker(const struct bs_endpoint *e);

/*
 * One message made of two pieces (an envelope and its payload); tail may be NULL when tail_len is
 * 0. timeout_ms: 0 does not wait, -1 waits for ever.
 */
int bs_endpoint_send(struct bs_endpoint *e, const void *head, size_t head_len, const void *tail,
		     size_t tail_len, int timeout_ms, struct bs_fail *why);

/*
 * One message into buf. *len: its length. BS_ERR_LENGTH when it was longer than cap: the message is
 * gone, its first cap bytes are in buf, *len is what it had.
 */
int bs_endpoint_recv(struct bs_endpoint *e, void *buf, size_t cap, size_t *len, int timeout_ms,
		     struct bs_fail *why);

/*
 * One message where nanomsg has it, without a copy; does not wait. *msg is the caller's until
 * release. For a reader that looks first and then copies the part it wants to where it wants it.
 */
int bs_endpoint_take(struct bs_endpoint *e, const unsigned char **msg, size_t *len,
		     struct bs_fail *why);
void bs_endpoint_release(const unsigned char *msg);

/*
 * Until one of the descriptors is ready or bs_now_ns reaches until_ns (INT64_MAX: no end); 0 then
 * says that fds[].revents are set. fds: endpoints' receive_fd and send_fd, eventfds, timers, ...
 */
int bs_endpoint_wait(struct pollfd *fds, unsigned n, int64_t until_ns, struct bs_fail *why);

/* Connections made since open; grows when a peer came back. Now: present right now. */
uint64_t bs_endpoint_connections(const struct bs_endpoint *e);
uint64_t bs_endpoint_connections_now(const struct bs_endpoint *e);

/*
 * ARCHIVE_OUT: bytes that its peers have not read yet, as far as this machine's kernel knows. What
 * a peer's own socket has read ahead is not seen.
 */
uint64_t bs_endpoint_unsent(const struct bs_endpoint *e);

/*
 * A connected endpoint anew: another socket to the same URL; what was under way is lost. Needed
 * because nanomsg 1.1.5's PAIR can fail to let go of a connection that broke while it was sending:
 * it then connects and drops every new one, 50 times a second, for ever (about one break in ten
 * when the peer closes under load). Seen as connections that grow while nothing is heard. And where
 * the other side closes right behind the handshake, it may never connect again (over ipc, of 200
 * each that were closed after 0, 50, 200, 1000 us: 58, 50, 100, 5). Seen as silence.
 */
int bs_endpoint_renew(struct bs_endpoint *e, struct bs_fail *why);

/* May be called on a closed endpoint; not in the child after fork, where it hangs: exec instead. */
void bs_endpoint_close(struct bs_endpoint *e);

/*
 * Once per process, before the first endpoint: keeps malloc from mapping and unmapping nanomsg's
 * message buffers, which costs a page fault per page of every message. message_max: as above.
 */
void bs_endpoint_tune_malloc(size_t message_max);

#endif
