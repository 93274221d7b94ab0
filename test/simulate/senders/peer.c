/* test/simulate/senders/peer.c - see peer.h */
#include "test/simulate/senders/peer.h"

#include <stdlib.h>

#define RING_BYTES (4u << 20)

void peer_make(struct peer *p)
{
	struct bs_fail why;

	if (bs_sender_open(&p->ours, RING_BYTES, &why) != 0)
		abort();
}

void peer_reset(struct peer *p, bool plain)
{
	peer_drop(p);
	p->plain = plain;
}

void peer_drop(struct peer *p)
{
	p->ours.state = BS_SENDER_IDLE;
	rules_forget(&p->rules);
}

void peer_begin(struct peer *p, uint64_t session, const char *protocol, const char *header,
		size_t len)
{
	struct bs_fail why;

	if (p->plain)
		rules_begin(&p->rules, session, protocol, header, len, sim_now);
	else if (bs_sender_begin(&p->ours, session, protocol, header, len, sim_now, &why) != 0)
		sim_broken("the sender cannot begin: %s", why.text);
}

bool peer_has_ended(const struct peer *p)
{
	return p->plain ? p->rules.state == SENDER_ENDED : p->ours.state == BS_SENDER_ENDED;
}

bool peer_is_idle(const struct peer *p)
{
	return peer_has_ended(p) ||
	       (p->plain ? p->rules.state == SENDER_IDLE : p->ours.state == BS_SENDER_IDLE);
}

bool peer_streams(const struct peer *p)
{
	return p->plain ? p->rules.state == SENDER_STREAMING : p->ours.state == BS_SENDER_STREAMING;
}

bool peer_close_is_held(const struct peer *p)
{
	if (!p->plain)
		return p->ours.state == BS_SENDER_CLOSING && p->ours.close_held;
	return p->rules.state == SENDER_CLOSING &&
	       p->rules.books.most_durable + 1 >= p->rules.next_seq;
}

uint64_t peer_session(const struct peer *p)
{
	return p->plain ? p->rules.session : p->ours.session;
}

uint64_t peer_next_seq(const struct peer *p)
{
	return p->plain ? p->rules.next_seq : p->ours.next_seq;
}

bool peer_keeps(const struct peer *p)
{
	return p->plain ? p->rules.count > 0 : p->ours.count > 0;
}

bool peer_may_put(const struct peer *p)
{
	if (!p->plain)
		return peer_streams(p) && p->ours.count < p->ours.window;
	return peer_streams(p) &&
	       p->rules.next_seq <= p->rules.books.most_durable + p->rules.window;
}

uint64_t peer_window(const struct peer *p)
{
	return p->plain ? p->rules.window : p->ours.window;
}

bool peer_put(struct peer *p, enum bs_wire_kind kind, const void *payload, size_t len)
{
	struct bs_fail why;

	return p->plain ? rules_put(&p->rules, (enum sender_kind)kind, payload, len, sim_now)
			: bs_sender_put(&p->ours, kind, payload, len, sim_now, &why) == 0;
}

bool peer_finish(struct peer *p)
{
	struct bs_fail why;

	return p->plain ? rules_finish(&p->rules, sim_now)
			: bs_sender_finish(&p->ours, sim_now, &why) == 0;
}

bool peer_next(struct peer *p, const unsigned char **msg, size_t *len)
{
	return p->plain ? rules_next(&p->rules, sim_now, msg, len)
			: bs_sender_next(&p->ours, sim_now, msg, len);
}

void peer_sent(struct peer *p)
{
	if (p->plain)
		rules_sent(&p->rules, sim_now);
	else
		bs_sender_sent(&p->ours, sim_now);
}

void peer_hear(struct peer *p, const unsigned char *msg, size_t len)
{
	struct bs_fail why;

	if (p->plain)
		rules_hear(&p->rules, msg, len, sim_now);
	else
		(void)bs_sender_heard(&p->ours, msg, len, sim_now, &why);
}

void peer_reconnected(struct peer *p)
{
	if (p->plain)
		rules_connected(&p->rules, sim_now);
	else
		bs_sender_reconnected(&p->ours, sim_now);
}

int64_t peer_due(const struct peer *p)
{
	if (p->plain)
		return p->rules.cursor < p->rules.count ? sim_now : rules_due(&p->rules);
	return p->ours.cursor < p->ours.count ? sim_now : bs_sender_due(&p->ours);
}

void peer_overruns(struct peer *p)
{
	uint32_t *window = p->plain ? &p->rules.window : &p->ours.window;

	*window = *window * 8 < BS_SENDER_WINDOW ? *window * 8 : BS_SENDER_WINDOW;
}

int peer_code(const struct peer *p, bool *refused, const char **words)
{
	*refused = p->plain ? p->rules.books.refused : p->ours.refused;
	*words = p->plain ? p->rules.books.text : p->ours.outcome.text;
	return p->plain ? p->rules.books.code : p->ours.code;
}
