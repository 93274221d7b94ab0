/* ipc/gateout.c - what a gate sends; see gate.h */
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "ipc/endpoint.h"
#include "ipc/gatepeer.h"

bool bs_gate_flush(struct bs_gate *g, struct bs_gate_peer *p)
{
	const unsigned char *from = p->out_long != NULL ? p->out_long + p->out_at : p->out;
	ssize_t n = send(p->fd, from, p->out_len, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		bs_gate_forget_rest(g, p);
		bs_gate_lose(g, p);
		return false;
	}
	if (n > 0) {
		p->out_len -= (size_t)n;
		if (p->out_long != NULL)
			p->out_at += (size_t)n;
		else
			memmove(p->out, p->out + n, p->out_len);
	}
	if (n > 0 && bs_gate_is_silent(g))
		bs_gate_moved(g, p);
	if (p->out_len == 0)
		bs_gate_forget_rest(g, p);
	bs_gate_wait_for(g, p,
			 p->out_len > 0 ? p->events | EPOLLOUT : p->events & ~(uint32_t)EPOLLOUT);
	return p->out_len == 0;
}

/* Makes room for what is kept of a message; NULL: there is none. */
static unsigned char *keep_rest(struct bs_gate *g, struct bs_gate_peer *p, size_t bytes)
{
	while (g->rests > 0 && g->rests + bytes > BS_GATE_RESTS) {
		struct bs_gate_peer *idlest = NULL;

		for (uint32_t i = 0; i < g->places; i++)
			if (g->peer[i].id != 0 && g->peer[i].out_room > 0 &&
			    g->peer[i].stage != BS_GATE_WHOLE &&
			    (idlest == NULL || g->key[i] < g->key[bs_gate_place(idlest)]))
				idlest = &g->peer[i];
		if (idlest == NULL)
			return NULL;
		g->let_go++;
		bs_gate_let_go(g, idlest);
	}
	p->out_long = malloc(bytes);
	p->out_room = p->out_long != NULL ? bytes : 0;
	g->rests += p->out_room;
	return p->out_long;
}

/*
 * Sends a long message; what the connection does not take at once is kept. The peer may be gone
 * afterwards.
 */
static int send_long(struct bs_gate *g, struct bs_gate_peer *p, const void *head, size_t head_len,
		     const void *tail, size_t tail_len)
{
	const size_t len = g->header + head_len + tail_len;
	unsigned char framed[9];
	/* an iovec is not const; it is only read here */
	struct iovec piece[3] = { { framed, g->header },
				  { (void *)(uintptr_t)head, head_len },
				  { (void *)(uintptr_t)tail, tail_len } };
	const struct msghdr msg = { .msg_iov = piece, .msg_iovlen = tail_len > 0 ? 3 : 2 };
	unsigned char *rest;
	size_t sent;
	ssize_t n;

	bs_gate_frame(g, framed, head_len + tail_len);
	n = sendmsg(p->fd, &msg, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		bs_gate_lose(g, p);
		return BS_ERR_IO;
	}
	sent = n > 0 ? (size_t)n : 0;
	if (sent > 0 && bs_gate_is_silent(g))
		bs_gate_moved(g, p);
	if (sent == len)
		return 0;
	rest = keep_rest(g, p, len - sent);
	if (rest == NULL) { /* a part of the message may have been sent */
		bs_gate_lose(g, p);
		return BS_ERR_IO;
	}
	for (unsigned i = 0; i < 3; i++) {
		const size_t from = sent < piece[i].iov_len ? sent : piece[i].iov_len;
		const size_t left = piece[i].iov_len - from;

		sent -= from;
		if (left > 0)
			memcpy(rest, (unsigned char *)piece[i].iov_base + from, left);
		rest += left;
	}
	p->out_len = p->out_room;
	bs_gate_wait_for(g, p, p->events | EPOLLOUT);
	return 0;
}

/* Sends a message in one piece, because it is sealed or short. The peer may be gone afterwards. */
static int send_whole(struct bs_gate *g, struct bs_gate_peer *p, const void *head, size_t head_len,
		      const void *tail, size_t tail_len)
{
	struct bs_gate_sealed *s = g->sealed != NULL ? &g->sealed[bs_gate_place(p)] : NULL;
	const size_t bytes = g->header + head_len + tail_len + bs_gate_tag(g);
	unsigned char *out = bytes <= BS_GATE_OUT ? p->out : keep_rest(g, p, bytes);

	if (out == NULL)
		return BS_ERR_IO;
	bs_gate_frame(g, out, head_len + tail_len + bs_gate_tag(g));
	memcpy(out + g->header, head, head_len);
	if (tail_len > 0)
		memcpy(out + g->header + head_len, tail, tail_len);
	if (s != NULL && !bs_seal_close(&s->out, out + g->header, head_len + tail_len))
		return BS_ERR_IO;
	p->out_len = bytes;
	(void)bs_gate_flush(g, p);
	return 0;
}

int bs_gate_send(struct bs_gate *g, uint64_t peer, const void *head, size_t head_len,
		 const void *tail, size_t tail_len)
{
	struct bs_gate_peer *p = bs_gate_find(g, peer);
	const size_t most = g->spec.out_max > BS_GATE_OUT ? g->spec.out_max : BS_GATE_OUT;
	const size_t around = g->header + bs_gate_tag(g);
	int rc;

	if (p == NULL || p->gone || head_len > most || tail_len > most ||
	    head_len + tail_len + around > most ||
	    (g->sealed != NULL && g->sealed[bs_gate_place(p)].who == NULL))
		return BS_ERR_IO;
	g->sent_to = bs_gate_place(p);
	if (p->out_len > 0 && !bs_gate_flush(g, p))
		return bs_gate_here(g, peer) ? BS_ENDPOINT_TIMEOUT : BS_ERR_IO;
	rc = g->sealed == NULL && around + head_len + tail_len > BS_GATE_OUT
		     ? send_long(g, p, head, head_len, tail, tail_len)
		     : send_whole(g, p, head, head_len, tail, tail_len);
	return rc == 0 && bs_gate_here(g, peer) ? 0 : BS_ERR_IO;
}

/* Returns true if the peer has shaken hands and has not hung up. */
static bool is_ready(const struct bs_gate_peer *p)
{
	return p->id != 0 && !p->gone && p->stage > BS_GATE_HELLO;
}

uint64_t bs_gate_next(struct bs_gate *g)
{
	for (uint32_t i = 1; i <= g->places; i++) {
		struct bs_gate_peer *p = &g->peer[(g->sent_to + i) % g->places];

		if (is_ready(p) && (p->out_len == 0 || bs_gate_flush(g, p)))
			return p->id;
	}
	return 0;
}

void bs_gate_publish(struct bs_gate *g, const void *head, size_t head_len, const void *tail,
		     size_t tail_len)
{
	for (uint32_t i = 0; i < g->places; i++)
		if (is_ready(&g->peer[i]))
			(void)bs_gate_send(g, g->peer[i].id, head, head_len, tail, tail_len);
}

uint32_t bs_gate_ready(const struct bs_gate *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->places; i++)
		n += is_ready(&g->peer[i]);
	return n;
}

uint64_t bs_gate_unsent(const struct bs_gate *g)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < g->places; i++) {
		const struct bs_gate_peer *p = &g->peer[i];
		int queued = 0;

		if (is_ready(p) && ioctl(p->fd, SIOCOUTQ, &queued) == 0 && queued > 0)
			bytes += (uint64_t)queued;
		bytes += is_ready(p) ? p->out_len : 0;
	}
	return bytes;
}
