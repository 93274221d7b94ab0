/* ipc/gatepeer.c - a gate's peers: their places, ranks, ends; see gate.h */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "ipc/gatepeer.h"

#define IPC_MESSAGE 1 /* byte that stands before a length over ipc */

static _Atomic uint64_t nonsense;

uint64_t bs_gate_nonsense(void)
{
	return atomic_load(&nonsense);
}

void bs_gate_forget_rest(struct bs_gate *g, struct bs_gate_peer *p)
{
	free(p->out_long);
	g->rests -= p->out_room;
	p->out_long = NULL;
	p->out_len = p->out_at = p->out_room = 0;
}

void bs_gate_let_go(struct bs_gate *g, struct bs_gate_peer *p)
{
	const uint32_t place = bs_gate_place(p);

	(void)close(p->fd);
	bs_gate_forget_buffer(g, p);
	bs_gate_forget_rest(g, p);
	bs_gate_forget(g, place);
	if (g->favored == p->id)
		g->favored = 0;
	p->id = 0;
	g->key[place] = UINT64_MAX;
	g->vacant[g->vacancies++] = place;
}

void bs_gate_lose(struct bs_gate *g, struct bs_gate_peer *p)
{
	if (p->stage != BS_GATE_WHOLE) {
		bs_gate_let_go(g, p);
	} else if (!p->gone) {
		(void)epoll_ctl(g->fd, EPOLL_CTL_DEL, p->fd, NULL);
		p->gone = true;
	}
}

void bs_gate_speaks_nonsense(struct bs_gate *g, struct bs_gate_peer *p)
{
	g->nonsense++;
	atomic_fetch_add(&nonsense, 1);
	bs_gate_let_go(g, p);
}

void bs_gate_frame(const struct bs_gate *g, unsigned char *out, uint64_t len)
{
	out[0] = IPC_MESSAGE;
	for (unsigned i = 0; i < 8; i++)
		out[g->header - 8 + i] = (unsigned char)(len >> (56 - 8 * i));
}

bool bs_gate_here(const struct bs_gate *g, uint64_t peer)
{
	const struct bs_gate_peer *p = bs_gate_find(g, peer);

	return p != NULL && !p->gone;
}
