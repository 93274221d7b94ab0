/*
 * ipc/gatehello.c - who a gate's peers are: their hellos, and the ends of those that are refused;
 * see gate.h
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "ipc/gatepeer.h"
#include "ipc/url.h"

void bs_gate_end(struct bs_gate *g, const struct bs_gate_peer *p, enum bs_gate_end how,
		 const char *words)
{
	struct bs_seal_record *r = g->spec.record;
	char from[64];

	atomic_fetch_add(how == BS_GATE_UNKNOWN   ? &r->unknown
			 : how == BS_GATE_REFUSED ? &r->refused
			 : how == BS_GATE_CROWDED ? &r->crowded
						  : &r->forged,
			 1);
	(void)bs_url_name_peer(p->fd, from, sizeof(from));
	(void)snprintf(r->last, sizeof(r->last), "%s: %.90s", from[0] != '\0' ? from : "a peer",
		       words);
}

size_t bs_gate_hello(struct bs_gate *g, const struct bs_gate_peer *p, struct bs_gate_sealed *s,
		     unsigned char *out)
{
	struct bs_hello_answer a = { 0 };
	struct bs_fail why;
	int rc = bs_hello_answer(&a, g->spec.keys, g->spec.endpoint, g->spec.roles, s->hello,
				 (size_t)p->len, &why);

	sodium_memzero(s->hello, sizeof(s->hello));
	memcpy(out, a.bytes, a.len);
	s->out = a.out;
	s->in = a.in;
	s->who = rc == 0 ? a.who : NULL;
	if (rc < 0)
		bs_gate_end(g, p,
			    a.who == NULL || a.len == 0 ? BS_GATE_UNKNOWN
			    : rc == BS_ERR_STATE        ? BS_GATE_CROWDED
							: BS_GATE_REFUSED,
			    why.text);
	sodium_memzero(&a.out, sizeof(a.out));
	sodium_memzero(&a.in, sizeof(a.in));
	return a.len;
}

/* Returns the entry of a peer's key among the gate's keys. */
static struct bs_seal_peer *key_of(const struct bs_gate *g, const struct bs_gate_sealed *s)
{
	return &g->spec.keys->peer[s->who - g->spec.keys->peer];
}

bool bs_gate_prove(struct bs_gate *g, struct bs_gate_sealed *s)
{
	if (bs_seal_keys_full(g->spec.keys, s->who))
		return false;
	key_of(g, s)->here++;
	s->proved = true;
	return true;
}

void bs_gate_forget(struct bs_gate *g, uint32_t place)
{
	if (g->sealed == NULL)
		return;
	if (g->sealed[place].proved)
		key_of(g, &g->sealed[place])->here--;
	sodium_memzero(&g->sealed[place], sizeof(g->sealed[place]));
}

void bs_gate_wipe(struct bs_gate *g)
{
	sodium_memzero(g->sealed, g->places * sizeof(*g->sealed));
}

const struct bs_seal_peer *bs_gate_who(const struct bs_gate *g, uint64_t peer)
{
	const struct bs_gate_peer *p = bs_gate_find(g, peer);

	return p != NULL && g->sealed != NULL ? g->sealed[bs_gate_place(p)].who : NULL;
}

int bs_gate_name(const struct bs_gate *g, uint64_t peer, char *out, size_t cap)
{
	const struct bs_gate_peer *p = bs_gate_find(g, peer);
	const struct bs_seal_peer *who = bs_gate_who(g, peer);
	char from[64];
	int pid;

	out[0] = '\0';
	if (p == NULL)
		return 0;
	pid = bs_url_name_peer(p->fd, from, sizeof(from));
	(void)snprintf(out, cap, "%s%s%.40s", who != NULL ? who->name : "",
		       who != NULL ? " at " : "", from);
	return pid;
}
