/*
 * ipc/gate.h - the service's side of a socket: it admits many peers, and none keeps another out
 *
 * open -> { wait on fd, take* (each message released), send, favor, ... }* -> close.
 *
 * A peer is an ordinary socket of nanomsg or nng that connects: the gate speaks the scalability
 * protocols' handshake and framing itself. nanomsg's own PAIR admits one peer, and its raw REP any
 * number without a bound; all of its sockets end their process at one wrong byte on ipc
 * (ARCHITECTURE.md has the measurements). Bytes from a peer that may only listen (PULL, SUB) are
 * nonsense.
 *
 * When a peer connects and every place is taken, another peer is let go (disconnected): one of the
 * lowest rank, and of these the one that has been idle for the longest time. Ranks, from the
 * lowest: connected; handshake done; a scan was accepted (bs_gate_vouch); favored (bs_gate_favor):
 * its scan is running. The favored peer is read first, always has a buffer and is never let go. A
 * message longer than an envelope needs one of BS_GATE_BUFFERS buffers. When all are in use, the
 * peer whose unfinished message has waited longest for its next byte is let go. So a peer that
 * stops in the middle of something keeps nobody out, and no memory is needed beyond open's.
 *
 * Messages of a peer come in order. After take the peer is not read again before release, or before
 * keep, which leaves the message in its buffer until forgo. A message longer than message_max is
 * discarded as it comes; take then gives its length and its first BS_GATE_HEAD bytes. A peer that
 * announces more than BS_GATE_LONGEST bytes does not speak the protocol and is let go.
 *
 * With keys a connection is sealed: behind the greeting a peer says hello with a
 * key that is known (ipc/seal/hello.h), and every message after that is sealed (ipc/seal/seal.h).
 * take gives the opened message. A peer without such a key, or whose message does not open, is let
 * go and counted. Until its first message has opened, a peer has the lowest rank and does not count
 * among its key's connections. A key may have keys->connections of them; one more is refused in
 * words. Over tcp a peer whose host is gone is noticed within two minutes.
 *
 * A message goes out at once, as far as the peer's connection takes it; the rest is kept. When all
 * rests together are more than BS_GATE_RESTS bytes, the idlest peer that has one is let go. Only
 * open allocates, and send for the kept rest of a message longer than BS_GATE_OUT; nothing blocks.
 * One thread.
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

/* places for peers; fewer where the process may not open as many files */
#define BS_GATE_PEERS   1024u
#define BS_GATE_BUFFERS 10u
/* messages that may be taken and not released, or kept, at the same time */
#define BS_GATE_KEEP    8u
#define BS_GATE_KEPT    UINT64_MAX
#define BS_GATE_HEAD    64u
#define BS_GATE_OUT     1024u /* bytes of the longest answer, its length field included */
#define BS_GATE_EVENTS  16
#define BS_GATE_LONGEST (UINT64_C(64) << 20)
#define BS_GATE_RESTS   ((size_t)256 << 20)

/* The gate's side of the protocols: REP answers REQ, PUSH sends to one PULL, PUB to each SUB. */
enum bs_gate_pattern { BS_GATE_PAIR, BS_GATE_REP, BS_GATE_PUSH, BS_GATE_PUB };

/* What a gate speaks and who may connect; these outlive the gate. */
struct bs_gate_spec {
	enum bs_gate_pattern pattern;
	uint32_t places; /* most peers; 0: BS_GATE_PEERS */
	size_t out_max;  /* bytes of the longest message that goes out; 0: BS_GATE_OUT */
	/* keys that may connect, or NULL; only this gate may count connections in it */
	struct bs_seal_keys *keys;
	const char *endpoint; /* name of the endpoint in hello.h, with keys */
	uint32_t roles;       /* roles of which a peer's key needs one, with keys */
	struct bs_seal_record *record;
};

/* State of a peer of a gate with keys. */
struct bs_gate_sealed {
	struct bs_seal out, in;
	/* the peer that the key belongs to; NULL: it has not said hello */
	const struct bs_seal_peer *who;
	bool proved; /* a message of the peer has opened */
	unsigned char hello[BS_HELLO_FIRST];
};

struct bs_gate_peer {
	int fd;
	uint64_t id; /* number of the peer; 0: the place is free */
	enum {
		BS_GATE_SHAKING,
		BS_GATE_HELLO,    /* the peer's hello is awaited, with keys */
		BS_GATE_LENGTH,   /* the length of the next message is awaited */
		BS_GATE_BODY,     /* the bytes of a message whose length has come are awaited */
		BS_GATE_DROPPING, /* the message is too long, and its bytes are discarded */
		BS_GATE_WHOLE     /* the message was taken and is not released */
	} stage;
	bool gone; /* the peer hung up while a message was taken; what else it sent is still read */
	uint32_t events; /* epoll events that are waited for */
	unsigned char header[9];
	unsigned header_got;
	uint64_t len, got;
	int buffer; /* index of the message's buffer; -1: the message is in head */
	_Alignas(8) unsigned char head[BS_GATE_HEAD + BS_SEAL_TAG];
	/* bytes that the peer did not take yet, up to BS_GATE_OUT */
	unsigned char out[BS_GATE_OUT];
	/* bytes that the peer did not take yet, if they are more than BS_GATE_OUT */
	unsigned char *out_long;
	size_t out_len, out_at; /* out_at: number of bytes of out_long that the peer took */
	size_t out_room;        /* size of the buffer out_long, bytes */
};

struct bs_gate {
	int listen_fd, fd; /* fd: readable when take or send may do something */
	bool paused;       /* the system refused a connection: no more until the next take */
	unsigned header;   /* bytes of the header before a message: 8 over tcp, 9 over ipc */
	size_t message_max;
	char path[108]; /* path of the socket's file; "": tcp */
	struct bs_gate_peer *peer;
	struct bs_gate_spec spec; /* the spec that open was given */
	/* [places]: the seal of each peer; NULL: there are no keys */
	struct bs_gate_sealed *sealed;
	/* a hello has cost a product of the curve: the favored peer is read next */
	bool said_hello;
	/*
	 * [places]: rank and last activity of a peer; the lowest is let go. UINT64_MAX: free place
	 */
	uint64_t *key;
	uint32_t *vacant; /* places that are free */
	uint32_t places, vacancies;
	unsigned char *buffer[BS_GATE_BUFFERS], *scratch;
	/* owner of each buffer: a peer's id, BS_GATE_KEPT, or 0 */
	uint64_t buffer_of[BS_GATE_BUFFERS];
	uint64_t favored; /* id of the favored peer, or 0 */
	unsigned streak;  /* messages of the favored peer in a row */
	size_t rests;     /* bytes kept of messages on their way */
	uint32_t sent_to; /* the place that was last sent to */
	uint64_t clock;   /* counts activity, so that keys tell who was idle longer */
	struct epoll_event event[BS_GATE_EVENTS];
	int events, event_at;
	/* Counts since open. */
	uint64_t connected; /* number of peers that connected; part of their ids */
	uint64_t shaken;    /* number of peers that shook hands or, with keys, proved a key */
	uint64_t let_go;    /* peers let go for want of a place or a buffer */
	uint64_t nonsense;  /* peers let go because they did not speak the protocol */
};

struct bs_gate_message {
	uint64_t peer;            /* id of the sender, never 0 */
	const unsigned char *msg; /* message, aligned to 8 bytes */
	uint64_t len;
	/*
	 * msg is the whole message; false: it was too long, and these are its first BS_GATE_HEAD
	 * bytes
	 */
	bool whole;
};

/*
 * message_max: bytes of the longest legal message. The gate's memory is BS_GATE_BUFFERS times that,
 * all of it touched. The URL is refused as bs_endpoint_bind refuses it; with keys any address over
 * tcp is accepted. On failure g is closed.
 */
int bs_gate_open(struct bs_gate *g, const char *url, size_t message_max,
		 const struct bs_gate_spec *spec, struct bs_fail *why);
void bs_gate_close(struct bs_gate *g);

/* Gives the next message of any peer, without waiting; false: there is none. */
bool bs_gate_take(struct bs_gate *g, struct bs_gate_message *m);
/* Releases the message that take gave, which is no longer needed. The peer may be gone. */
void bs_gate_release(struct bs_gate *g, uint64_t peer);
/*
 * Keeps the message that take gave in its buffer until forgo; its peer is read on. False: the
 * message has at most BS_GATE_HEAD bytes, and is released.
 */
bool bs_gate_keep(struct bs_gate *g, uint64_t peer);
void bs_gate_forgo(struct bs_gate *g, const unsigned char *msg);

/*
 * Does what time and peers ask for, for PUSH and PUB, which take nothing; for the other patterns
 * take does it.
 */
void bs_gate_tend(struct bs_gate *g);

/* PUSH: the next peer in rotation that would take a message whole or in part; 0: none. */
uint64_t bs_gate_next(struct bs_gate *g);
/* PUB: sends to each peer that has taken the message before. */
void bs_gate_publish(struct bs_gate *g, const void *head, size_t head_len, const void *tail,
		     size_t tail_len);
/* Number of peers that have shaken hands and are connected. */
uint32_t bs_gate_ready(const struct bs_gate *g);
/* Bytes on their way that peers have not read yet, as far as this machine's kernel knows. */
uint64_t bs_gate_unsent(const struct bs_gate *g);
/* Peers of this process's gates that did not speak the protocol. Any thread. */
uint64_t bs_gate_nonsense(void);

/*
 * Sends one message made of two pieces. 0: it is on its way. BS_ENDPOINT_TIMEOUT: the peer has not
 * taken the message before it. BS_ERR_IO: the peer is gone.
 */
int bs_gate_send(struct bs_gate *g, uint64_t peer, const void *head, size_t head_len,
		 const void *tail, size_t tail_len);

/* The peer that the key belongs to; NULL: there are no keys. */
const struct bs_seal_peer *bs_gate_who(const struct bs_gate *g, uint64_t peer);
/* Returns true if the peer is still connected, as far as is known. */
bool bs_gate_here(const struct bs_gate *g, uint64_t peer);
/* Notes that a scan of this peer was accepted. */
void bs_gate_vouch(struct bs_gate *g, uint64_t peer);
/* Names the peer whose scan runs (0: none). The peer favored before gets the rank below. */
void bs_gate_favor(struct bs_gate *g, uint64_t peer);
static inline uint32_t bs_gate_peers(const struct bs_gate *g)
{
	return g->places - g->vacancies;
}
/*
 * Writes the peer's name: "process 123 of user 0", "127.0.0.1:5123", "mr1 at 10.0.0.7:5123"; "": it
 * is not connected. Returns the number of its process; 0: it is not known.
 */
int bs_gate_name(const struct bs_gate *g, uint64_t peer, char *out, size_t cap);

#endif
