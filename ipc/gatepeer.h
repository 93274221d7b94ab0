/* ipc/gatepeer.h - what gate.c, gateopen.c and gatehello.c share of a gate's peers; theirs alone */
#ifndef BS_IPC_GATEPEER_H
#define BS_IPC_GATEPEER_H

#include "ipc/gate.h"

#define SCRATCH 65536u

static inline uint32_t bs_gate_place(const struct bs_gate_peer *p)
{
	return (uint32_t)(p->id % BS_GATE_PEERS);
}

/* NULL: it is not here any more. */
static inline struct bs_gate_peer *bs_gate_find(const struct bs_gate *g, uint64_t id)
{
	struct bs_gate_peer *p = &g->peer[id % BS_GATE_PEERS];

	return id != 0 && id % BS_GATE_PEERS < g->places && p->id == id ? p : NULL;
}

enum bs_gate_end { BS_GATE_UNKNOWN, BS_GATE_REFUSED, BS_GATE_FORGED, BS_GATE_CROWDED };

/*
 * What a hello is answered with, to out (BS_HELLO_SECOND bytes): its length. s->who is set when the
 * peer may come in; else it is to be let go, once the answer is out, but for an answer of one byte.
 */
size_t bs_gate_hello(struct bs_gate *g, const struct bs_gate_peer *p, struct bs_gate_sealed *s,
		     unsigned char *out);
/* Counts, and keeps the reason for the status. The caller lets the peer go. */
void bs_gate_end(struct bs_gate *g, const struct bs_gate_peer *p, enum bs_gate_end how,
		 const char *words);
/* Its first message has opened: it is one of its key's connections. False: they are too many. */
bool bs_gate_prove(struct bs_gate *g, struct bs_gate_sealed *s);
/* What was known of the peer at a place, its keys above all. */
void bs_gate_forget(struct bs_gate *g, uint32_t place);
void bs_gate_wipe(struct bs_gate *g);

#endif
