/* ipc/gatepeer.h - functions about a gate's peers, for the gate's own sources alone */
#ifndef BS_IPC_GATEPEER_H
#define BS_IPC_GATEPEER_H

#include "ipc/gate.h"

#define SCRATCH 65536u
#define RANK(r) ((uint64_t)(r) << 60)

static inline uint32_t bs_gate_place(const struct bs_gate_peer *p)
{
	return (uint32_t)(p->id % BS_GATE_PEERS);
}

/* The peer with this id; NULL: it is not connected any more. */
static inline struct bs_gate_peer *bs_gate_find(const struct bs_gate *g, uint64_t id)
{
	const uint64_t place = id % BS_GATE_PEERS;

	return id != 0 && place < g->places && g->peer[place].id == id ? &g->peer[place] : NULL;
}

/* Returns true if the gate's peers may only listen. */
static inline bool bs_gate_is_silent(const struct bs_gate *g)
{
	return g->spec.pattern == BS_GATE_PUSH || g->spec.pattern == BS_GATE_PUB;
}

/* Returns the bytes that sealing adds to a message. */
static inline unsigned bs_gate_tag(const struct bs_gate *g)
{
	return g->sealed != NULL ? BS_SEAL_TAG : 0;
}

/* Notes that the peer was active just now. */
static inline void bs_gate_moved(struct bs_gate *g, const struct bs_gate_peer *p)
{
	const uint64_t rank = g->key[bs_gate_place(p)] & RANK(15);

	g->key[bs_gate_place(p)] = rank | ++g->clock;
}

static inline void bs_gate_wait_for(struct bs_gate *g, struct bs_gate_peer *p, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.u64 = p->id };

	if (p->events == events || p->gone)
		return;
	(void)epoll_ctl(g->fd, EPOLL_CTL_MOD, p->fd, &e);
	p->events = events;
}

static inline void bs_gate_forget_buffer(struct bs_gate *g, struct bs_gate_peer *p)
{
	if (p->buffer >= 0)
		g->buffer_of[p->buffer] = 0;
	p->buffer = -1;
}

/* ---- in gatepeer.c ---- */
/* Forgets what is kept of a message on its way to the peer. */
void bs_gate_forget_rest(struct bs_gate *g, struct bs_gate_peer *p);
void bs_gate_let_go(struct bs_gate *g, struct bs_gate_peer *p);
/*
 * Handles a peer that hung up, or that cannot be written to. A message that was taken stays valid
 * until release.
 */
void bs_gate_lose(struct bs_gate *g, struct bs_gate_peer *p);
void bs_gate_speaks_nonsense(struct bs_gate *g, struct bs_gate_peer *p);
/* Writes the bytes before a message of len bytes. */
void bs_gate_frame(const struct bs_gate *g, unsigned char *out, uint64_t len);

/* ---- in gateout.c ---- */
/* Sends what is kept for the peer. False: some is left, or the peer is lost. */
bool bs_gate_flush(struct bs_gate *g, struct bs_gate_peer *p);

/* ---- in gatehello.c ---- */
enum bs_gate_end { BS_GATE_UNKNOWN, BS_GATE_REFUSED, BS_GATE_FORGED, BS_GATE_CROWDED };

/*
 * Writes the answer to a hello to out (BS_HELLO_SECOND bytes). Returns its length. s->who is set
 * when the peer may come in. Else the peer is to be let go once the answer is out, unless the
 * answer has one byte.
 */
size_t bs_gate_hello(struct bs_gate *g, const struct bs_gate_peer *p, struct bs_gate_sealed *s,
		     unsigned char *out);
/* Counts a peer's end, and keeps the reason for the status. The caller lets the peer go. */
void bs_gate_end(struct bs_gate *g, const struct bs_gate_peer *p, enum bs_gate_end how,
		 const char *words);
/*
 * Counts the peer among its key's connections, since its first message has opened. False: they are
 * too many.
 */
bool bs_gate_prove(struct bs_gate *g, struct bs_gate_sealed *s);
/* Forgets what was known of the peer at a place, above all its keys. */
void bs_gate_forget(struct bs_gate *g, uint32_t place);
void bs_gate_wipe(struct bs_gate *g);

#endif
