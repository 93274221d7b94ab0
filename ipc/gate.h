/*
 * ipc/gate.h - the service's side of a socket: it admits many peers, and none keeps another out
 *
 * open -> { wait on fd, take* (each message released), send, favor, ... }* -> close.
 *
 * A peer is an ordinary socket of nanomsg or nng that connects: the gate speaks the scalability
 * protocols' handshake and framing itself. nanomsg's own PAIR admits one peer and its raw REP any
 * number without a bound; all of its sockets end their process at one wrong byte on ipc
 * (ARCHITECTURE.md has the measurements). What comes from a peer that may only listen (PULL, SUB)
 * is nonsense.
 *
 * When a peer connects and every place is taken, another one is let go (disconnected): the one of
 * the lowest rank, and of these the one that has been idle for the longest time. Ranks, from the
 * lowest: connected; handshake done; a scan was accepted (bs_gate_vouch); favored (bs_gate_favor):
 * its scan is running. The favored peer is read first, always has a buffer and is never let go.
 * A message longer than an envelope needs one of BS_GATE_BUFFERS buffers. When all are in use, the
 * peer whose unfinished message has waited longest for its next byte is let go. So a peer that
 * stops in the middle of something keeps nobody out, and no memory is needed beyond open's.
 *
 * Messages of a peer come in order; after take the peer is not read again before release, or before
 * keep, which leaves the message where it is until forgo. A message longer than message_max is
 * discarded as it comes; take then gives its length and its first BS_GATE_HEAD bytes. A peer that
 * announces more than BS_GATE_LONGEST bytes does not speak the protocol and is let go.
 *
 * With keys (bs_gate_open_by) a connection is sealed: behind the greeting a peer says hello
 * with a key that is known (ipc/seal/hello.h), and every message after that is sealed
 * (ipc/seal/seal.h). take gives what was opened. Whoever has no such key, or whose message does not
 * open, is let go and counted. Until its first message has opened a peer has the lowest rank, and
 * is none of its key's connections, of which there may be so many (keys->connections): one more is
 * refused in words. Over tcp a peer whose host is gone is noticed within two minutes.
 *
 * A message goes out at once, as far as the peer's connection takes it; the rest is kept. When the
 * rests are more than BS_GATE_RESTS bytes together, the idlest peer that has one is let go.
 * Nothing but open allocates, and send what is kept of a message longer than BS_GATE_OUT; nothing
 * blocks. One thread.
 * Source: the SP protocols' RFCs of nanomsg, sp-tcp-mapping-01 and sp-ipc-mapping-01.
 * Test: test/unit/ipc/test_gate.c, test/fault/fault_crowd.c
 */
#ifndef BS_IPC_GATE_H
#define BS_IPC_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "core/err.h"
#include "ipc/seal/hello.h"
#include "ipc/seal/record.h"

#define BS_GATE_PEERS   1024u /* places; fewer where the process may not open as many files */
#define BS_GATE_BUFFERS 9u
#define BS_GATE_KEEP    7u /* messages that may be taken and not released, or kept */
#define BS_GATE_KEPT    UINT64_MAX
#define BS_GATE_HEAD    64u
#define BS_GATE_OUT     1024u /* bytes of the longest answer, its length included */
#define BS_GATE_EVENTS  16
#define BS_GATE_LONGEST (UINT64_C(64) << 20)
#define BS_GATE_RESTS   ((size_t)256 << 20)

/* The gate's side of the protocols: REP answers REQ, PUSH sends to one PULL, PUB to each SUB. */
enum bs_gate_pattern { BS_GATE_PAIR, BS_GATE_REP, BS_GATE_PUSH, BS_GATE_PUB };

/* What it speaks, and who may come in; all of it outlives the gate. */
struct bs_gate_spec {
	enum bs_gate_pattern pattern;
	uint32_t places;           /* for peers; 0: BS_GATE_PEERS */
	size_t out_max;            /* bytes of the longest message that goes out; 0: BS_GATE_OUT */
	struct bs_seal_keys *keys; /* the gate alone counts its peers' connections there; or NULL */
	const char *endpoint;      /* with keys, as hello.h names it */
	uint32_t roles;            /* a key has one of these */
	struct bs_seal_record *record;
};

/* A peer of a gate with keys. */
struct bs_gate_sealed {
	struct bs_seal out, in;
	const struct bs_seal_peer *who; /* NULL: it has not said hello */
	bool proved;                    /* a message of it has opened */
	unsigned char hello[BS_HELLO_FIRST];
};

struct bs_gate_peer {
	int fd;
	uint64_t id; /* 0: the place is free */
	enum {
		BS_GATE_SHAKING,
		BS_GATE_HELLO,    /* with keys: it says who it is */
		BS_GATE_LENGTH,   /* of the next message */
		BS_GATE_BODY,     /* of it */
		BS_GATE_DROPPING, /* it is too long */
		BS_GATE_WHOLE     /* it was taken and is not released */
	} stage;
	bool gone;       /* it hung up with a message taken; what else it sent is still read */
	uint32_t events; /* that are waited for */
	unsigned char header[9];
	unsigned header_got;
	uint64_t len, got;
	int buffer; /* -1: the message is in head */
	_Alignas(8) unsigned char head[BS_GATE_HEAD + BS_SEAL_TAG];
	unsigned char out[BS_GATE_OUT]; /* what the peer did not take yet, */
	unsigned char *out_long;        /* or is here, if that is longer */
	size_t out_len, out_at;         /* out_at: of out_long, what it took */
	size_t out_room;                /* bytes of out_long */
};

struct bs_gate {
	int listen_fd, fd; /* fd: readable when take or send may do something */
	bool paused;       /* the system refused a connection: no more until the next take */
	unsigned header;   /* bytes before a message: 8 over tcp, 9 over ipc */
	size_t message_max;
	char path[108]; /* "": tcp */
	struct bs_gate_peer *peer;
	struct bs_gate_spec spec;      /* as open was told */
	struct bs_gate_sealed *sealed; /* [places], of each peer; NULL: there are no keys */
	bool said_hello;               /* a curve's product was spent: the favored peer is next */
	uint64_t *key;    /* [places] rank, last activity; the lowest is let go. UINT64_MAX: free */
	uint32_t *vacant; /* places that are free */
	uint32_t places, vacancies;
	unsigned char *buffer[BS_GATE_BUFFERS], *scratch;
	uint64_t buffer_of[BS_GATE_BUFFERS]; /* a peer's id, BS_GATE_KEPT, or 0 */
	uint64_t favored;                    /* a peer's id, or 0 */
	unsigned streak;                     /* messages of it in a row */
	size_t rests;                        /* bytes that are kept of messages on their way */
	uint32_t turn;                       /* the place that was last sent to */
	uint64_t clock; /* counts activity, so that keys tell who was idle longer */
	struct epoll_event event[BS_GATE_EVENTS];
	int events, event_at;
	/* since open */
	uint64_t connected; /* peers that connected; a part of their ids */
	uint64_t shaken;    /* that shook hands, or proved a key */
	uint64_t let_go;    /* for want of a place or a buffer */
	uint64_t nonsense;  /* let go because they did not speak the protocol */
};

struct bs_gate_message {
	uint64_t peer;            /* never 0 */
	const unsigned char *msg; /* aligned to 8 */
	uint64_t len;
	bool whole; /* else it was too long: msg has its first BS_GATE_HEAD bytes */
};

/*
 * message_max: bytes of the longest legal message. The memory is BS_GATE_BUFFERS times that, all of
 * it touched. The URL is refused as bs_endpoint_bind refuses it. On failure g is closed.
 */
int bs_gate_open(struct bs_gate *g, const char *url, size_t message_max, struct bs_fail *why);
/* The same on other terms; with keys any address over tcp. */
int bs_gate_open_by(struct bs_gate *g, const char *url, size_t message_max,
		    const struct bs_gate_spec *spec, struct bs_fail *why);
void bs_gate_close(struct bs_gate *g);

/* The next message of any peer, without waiting; false: none is there. */
bool bs_gate_take(struct bs_gate *g, struct bs_gate_message *m);
/* The message that take gave is no longer needed. The peer may be gone. */
void bs_gate_release(struct bs_gate *g, uint64_t peer);
/*
 * The message that take gave stays where it is, until forgo, and its peer is read on. False: it is
 * of BS_GATE_HEAD bytes at most, and is released.
 */
bool bs_gate_keep(struct bs_gate *g, uint64_t peer);
void bs_gate_forgo(struct bs_gate *g, const unsigned char *msg);

/* What time and peers ask for, of PUSH and PUB, which take nothing; take does it of the others. */
void bs_gate_turn(struct bs_gate *g);

/* PUSH: the peer whose turn it is, of those that would take a message whole or in part; or 0. */
uint64_t bs_gate_next(struct bs_gate *g);
/* PUB: to each peer that has taken the one before. */
void bs_gate_publish(struct bs_gate *g, const void *head, size_t head_len, const void *tail,
		     size_t tail_len);
/* Peers that have shaken hands, and are here. */
uint32_t bs_gate_ready(const struct bs_gate *g);
/* Bytes on their way that peers have not read yet, as far as this machine's kernel knows. */
uint64_t bs_gate_unsent(const struct bs_gate *g);
/* Peers of this process's gates that did not speak the protocol. Any thread. */
uint64_t bs_gate_nonsense(void);

/*
 * One message made of two pieces. 0: it is on its way. BS_ENDPOINT_TIMEOUT: the peer has not taken
 * the one before it. BS_ERR_IO: the peer is gone.
 */
int bs_gate_send(struct bs_gate *g, uint64_t peer, const void *head, size_t head_len,
		 const void *tail, size_t tail_len);

/* Whose key it has; NULL: there are no keys. */
const struct bs_seal_peer *bs_gate_who(const struct bs_gate *g, uint64_t peer);
/* Still connected, as far as is known. */
bool bs_gate_here(const struct bs_gate *g, uint64_t peer);
/* A scan of this peer was accepted. */
void bs_gate_vouch(struct bs_gate *g, uint64_t peer);
/* This peer's scan is running; 0: no scan is. The one favored before keeps the rank below. */
void bs_gate_favor(struct bs_gate *g, uint64_t peer);
static inline uint32_t bs_gate_peers(const struct bs_gate *g)
{
	return g->places - g->vacancies;
}
/* "process 123 of user 0", "127.0.0.1:5123", "mr1 at 10.0.0.7:5123"; "": it is not here. Returns
 * the process's number; 0: it is not known. */
int bs_gate_name(const struct bs_gate *g, uint64_t peer, char *out, size_t cap);

#endif
