/* ipc/gate.c - see gate.h */
#include "ipc/gate.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ipc/gatepeer.h"
#include "ipc/url.h"

#define ACCEPTS     16                /* connections accepted at one event */
#define SEND_BUFFER (4 * 1024 * 1024) /* bytes, for peers that are sent images */
#define READS       8                 /* reads of one peer for one event */
#define STREAK      64u /* messages of the favored peer before the others are read again */
#define IPC_MESSAGE 1   /* byte that stands before a length over ipc */

enum rank { CONNECTED, SHAKEN, VOUCHED };

/* Writes a greeting, with the numbers of SP's protocols. */
static void greeting_of(const struct bs_gate *g, bool own, unsigned char out[8])
{
	/* number of the peer's pattern, number of the gate's */
	static const unsigned char number[][2] = { [BS_GATE_PAIR] = { 0x10, 0x10 },
						   [BS_GATE_REP] = { 0x30, 0x31 },
						   [BS_GATE_PUSH] = { 0x51, 0x50 },
						   [BS_GATE_PUB] = { 0x21, 0x20 } };

	memcpy(out, "\0SP\0\0\0\0", 8);
	out[5] = number[g->spec.pattern][own];
}

/* ---- places ---- */

/* Lets the idlest peer of the lowest rank go. False: all must stay. */
static bool make_room(struct bs_gate *g)
{
	uint32_t place = g->places;
	uint64_t lowest = UINT64_MAX;

	for (uint32_t i = 0; i < g->places; i++)
		if (g->key[i] < lowest && g->peer[i].stage != BS_GATE_WHOLE &&
		    g->peer[i].id != g->favored) {
			lowest = g->key[i];
			place = i;
		}
	if (place == g->places)
		return false;
	g->let_go++;
	bs_gate_let_go(g, &g->peer[place]);
	return true;
}

static void set_listening(struct bs_gate *g, bool yes)
{
	struct epoll_event e = { .events = EPOLLIN };

	g->paused = epoll_ctl(g->fd, yes ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, g->listen_fd, &e) != 0 ||
		    !yes;
}

static void admit(struct bs_gate *g, int fd)
{
	const uint32_t place = g->vacant[--g->vacancies];
	struct bs_gate_peer *p = &g->peer[place];
	struct epoll_event e = { .events = EPOLLIN };
	unsigned char greeting[8];

	greeting_of(g, true, greeting);
	g->connected++;
	p->fd = fd;
	p->id = g->connected * BS_GATE_PEERS + place;
	p->stage = BS_GATE_SHAKING;
	p->gone = false;
	p->events = EPOLLIN;
	p->header_got = 0;
	p->len = p->got = 0;
	p->buffer = -1;
	p->out_len = p->out_at = 0;
	g->key[place] = RANK(CONNECTED) | ++g->clock;
	e.data.u64 = p->id;
	if (g->path[0] == '\0')
		bs_url_tune(fd);
	if (bs_gate_is_silent(g))
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BUFFER }, sizeof(int));
	if (send(fd, greeting, sizeof(greeting), MSG_NOSIGNAL) != sizeof(greeting) ||
	    epoll_ctl(g->fd, EPOLL_CTL_ADD, fd, &e) != 0)
		bs_gate_let_go(g, p);
}

static void accept_peers(struct bs_gate *g)
{
	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(g->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0) {
			/*
			 * without a descriptor or memory nothing is accepted before the next take
			 */
			if (errno != EAGAIN) {
				(void)make_room(g);
				set_listening(g, false);
			}
			return;
		}
		if (g->vacancies > 0 || make_room(g))
			admit(g, fd);
		else
			(void)close(fd);
	}
}

/* ---- reading ---- */

static bool free_buffer(struct bs_gate *g, const struct bs_gate_peer *p, int *at)
{
	const struct bs_gate_peer *f = bs_gate_find(g, g->favored);
	/* the last buffer is for the favored peer */
	unsigned spare = f == NULL || f == p || f->buffer >= 0 ? 0 : 1;
	unsigned vacant = 0;

	for (unsigned i = 0; i < BS_GATE_BUFFERS; i++)
		if (g->buffer_of[i] == 0) {
			*at = (int)i;
			vacant++;
		}
	return vacant > spare;
}

/* Takes a buffer for the peer. False: there is none. */
static bool take_buffer(struct bs_gate *g, struct bs_gate_peer *p)
{
	int at = -1;

	while (!free_buffer(g, p, &at)) {
		struct bs_gate_peer *slowest = NULL;

		for (unsigned i = 0; i < BS_GATE_BUFFERS; i++) {
			struct bs_gate_peer *q = bs_gate_find(g, g->buffer_of[i]);

			if (q != NULL && q->stage == BS_GATE_BODY && q->id != g->favored &&
			    (slowest == NULL ||
			     (g->key[bs_gate_place(q)] & ~RANK(15)) <
				     (g->key[bs_gate_place(slowest)] & ~RANK(15))))
				slowest = q;
		}
		if (slowest == NULL)
			return false;
		g->let_go++;
		bs_gate_let_go(g, slowest);
	}
	p->buffer = at;
	g->buffer_of[at] = p->id;
	return true;
}

/* Begins a message, whose length has come. The peer may be gone afterwards. */
static void begin_message(struct bs_gate *g, struct bs_gate_peer *p)
{
	const unsigned char *n = p->header + g->header - 8;
	const unsigned tag = bs_gate_tag(g);

	p->len = p->got = 0;
	for (int i = 0; i < 8; i++)
		p->len = p->len << 8 | n[i];
	p->header_got = 0;
	if (p->len > BS_GATE_LONGEST || (g->header == 9 && p->header[0] != IPC_MESSAGE) ||
	    p->len < tag) {
		bs_gate_speaks_nonsense(g, p);
		return;
	}
	if (g->sealed != NULL && g->sealed[bs_gate_place(p)].who == NULL) {
		p->stage = BS_GATE_HELLO;
		if (p->len != BS_HELLO_FIRST) {
			bs_gate_end(g, p, BS_GATE_UNKNOWN, "a peer did not say hello with a key");
			bs_gate_let_go(g, p);
		}
		return;
	}
	p->stage = p->len > g->message_max + tag ? BS_GATE_DROPPING
		   : p->len > 0                  ? BS_GATE_BODY
						 : BS_GATE_WHOLE;
	if (p->stage == BS_GATE_BODY && p->len > BS_GATE_HEAD + tag && !take_buffer(g, p)) {
		g->let_go++;
		bs_gate_let_go(g, p);
	}
}

/* Reads the message, and the length of the next one in the same call. */
static ssize_t read_body(struct bs_gate *g, struct bs_gate_peer *p)
{
	unsigned char *body = p->buffer >= 0 ? g->buffer[p->buffer] : p->head;
	const size_t left = (size_t)(p->len - p->got);
	struct iovec piece[2] = { { body + p->got, left }, { p->header, g->header } };
	ssize_t n = readv(p->fd, piece, 2);

	if (n < 0 || (n == 0 && left > 0))
		return n;
	if ((size_t)n < left) {
		p->got += (size_t)n;
		return n;
	}
	p->got = p->len;
	p->header_got = (unsigned)((size_t)n - left);
	p->stage = BS_GATE_WHOLE;
	return n > 0 ? n : 1;
}

static ssize_t drop_body(struct bs_gate *g, struct bs_gate_peer *p)
{
	const uint64_t left = p->len - p->got;
	ssize_t n = p->got < BS_GATE_HEAD
			    ? read(p->fd, p->head + p->got, (size_t)(BS_GATE_HEAD - p->got))
			    : read(p->fd, g->scratch, left < SCRATCH ? (size_t)left : SCRATCH);

	if (n > 0)
		p->got += (size_t)n;
	if (p->got == p->len)
		p->stage = BS_GATE_WHOLE;
	return n;
}

static ssize_t read_greeting(struct bs_gate *g, struct bs_gate_peer *p)
{
	unsigned char greeting[8];
	ssize_t n = read(p->fd, p->head + p->got, sizeof(greeting) - p->got);

	if (n <= 0)
		return n;
	p->got += (size_t)n;
	if (p->got < sizeof(greeting))
		return n;
	greeting_of(g, false, greeting);
	if (memcmp(p->head, greeting, sizeof(greeting)) != 0) {
		bs_gate_speaks_nonsense(g, p);
		return 1;
	}
	p->stage = BS_GATE_LENGTH;
	if (g->sealed == NULL) {
		g->shaken++;
		g->key[bs_gate_place(p)] = RANK(SHAKEN);
	}
	return n;
}

static ssize_t read_hello(struct bs_gate *g, struct bs_gate_peer *p)
{
	struct bs_gate_sealed *s = &g->sealed[bs_gate_place(p)];
	ssize_t n = read(p->fd, s->hello + p->got, (size_t)(p->len - p->got));
	size_t len;

	if (n <= 0)
		return n;
	p->got += (size_t)n;
	if (p->got < p->len)
		return n;
	g->said_hello = true;
	len = bs_gate_hello(g, p, s, p->out + g->header);
	if (len > 0) { /* the answer is the first message to the peer: nothing waits before it */
		bs_gate_frame(g, p->out, len);
		p->out_len = g->header + len;
		if (send(p->fd, p->out, p->out_len, MSG_NOSIGNAL) != (ssize_t)p->out_len)
			s->who = NULL;
		p->out_len = 0;
	}
	p->stage = BS_GATE_LENGTH;
	if (s->who == NULL && len != 1)
		bs_gate_let_go(g, p);
	return n;
}

/* Opens a message that has come whole and sealed. False: it does not open, and the peer is gone. */
static bool open_message(struct bs_gate *g, struct bs_gate_peer *p)
{
	struct bs_gate_sealed *s = &g->sealed[bs_gate_place(p)];

	if (p->len > g->message_max + BS_SEAL_TAG) { /* a message that is too long is not opened */
		bs_seal_skip(&s->in);
		memset(p->head, 0, sizeof(p->head));
	} else if (!bs_seal_open(&s->in, p->buffer >= 0 ? g->buffer[p->buffer] : p->head,
				 (size_t)p->len)) {
		bs_gate_end(g, p, BS_GATE_FORGED, "a message did not open");
		bs_gate_let_go(g, p);
		return false;
	}
	p->len -= BS_SEAL_TAG;
	if (!s->proved && p->len <= g->message_max) {
		if (!bs_gate_prove(g, s)) {
			bs_gate_end(g, p, BS_GATE_CROWDED, "too many connections of its key");
			bs_gate_let_go(g, p);
			return false;
		}
		atomic_fetch_add(&g->spec.record->sessions, 1);
		g->shaken++;
		g->key[bs_gate_place(p)] = RANK(SHAKEN) | ++g->clock;
	}
	return true;
}

/* Reads with one system call. <= 0: as from read; the peer may be gone afterwards. */
static ssize_t read_some(struct bs_gate *g, struct bs_gate_peer *p)
{
	ssize_t n;

	switch (p->stage) {
	case BS_GATE_SHAKING:
		return read_greeting(g, p);
	case BS_GATE_HELLO:
		return read_hello(g, p);
	case BS_GATE_LENGTH: /* the length may have come with the message before */
		n = 1;
		if (p->header_got < g->header)
			n = read(p->fd, p->header + p->header_got, g->header - p->header_got);
		if (n <= 0)
			return n;
		if (bs_gate_is_silent(g)) {
			bs_gate_speaks_nonsense(g, p);
			return n;
		}
		if (p->header_got < g->header)
			p->header_got += (unsigned)n;
		if (p->header_got == g->header)
			begin_message(g, p);
		return n;
	case BS_GATE_BODY:
		return read_body(g, p);
	case BS_GATE_DROPPING:
		return drop_body(g, p);
	default:
		return -1;
	}
}

/* Reads from a peer. True: a message is whole. The peer may be gone afterwards. */
static bool read_peer(struct bs_gate *g, struct bs_gate_peer *p)
{
	const uint64_t id = p->id;

	for (int i = 0; i < READS; i++) {
		ssize_t n;

		errno = 0;
		n = read_some(g, p);
		if (p->id != id)
			return false;
		if (n <= 0) {
			if (n == 0 || (errno != EAGAIN && errno != EINTR))
				bs_gate_lose(g, p);
			return false;
		}
		bs_gate_moved(g, p);
		if (p->stage == BS_GATE_WHOLE)
			return g->sealed == NULL || open_message(g, p);
	}
	return false;
}

/* ---- taking ---- */

static bool give_message(struct bs_gate *g, const struct bs_gate_peer *p, struct bs_gate_message *m)
{
	*m = (struct bs_gate_message){ .peer = p->id,
				       .msg = p->buffer >= 0 ? g->buffer[p->buffer] : p->head,
				       .len = p->len,
				       .whole = p->len <= g->message_max };
	return true;
}

/* Handles a peer's events. True: the peer has a message now. */
static bool look_at(struct bs_gate *g, struct bs_gate_peer *p, uint32_t events)
{
	if (p->stage == BS_GATE_WHOLE) { /* the peer is not read now, only watched for hanging up */
		if ((events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) != 0)
			bs_gate_lose(g, p);
		else
			bs_gate_wait_for(g, p, EPOLLRDHUP | (p->events & EPOLLOUT));
	}
	if ((events & EPOLLOUT) != 0 && !p->gone) {
		const uint64_t id = p->id;

		if (p->out_len > 0)
			(void)bs_gate_flush(g, p);
		else
			bs_gate_wait_for(g, p, p->events & ~(uint32_t)EPOLLOUT);
		if (p->id != id)
			return false;
	}
	return p->stage != BS_GATE_WHOLE && read_peer(g, p);
}

bool bs_gate_take(struct bs_gate *g, struct bs_gate_message *m)
{
	struct bs_gate_peer *p;

	if (g->paused)
		set_listening(g, true);
	for (;;) {
		if (g->event_at == g->events || g->said_hello) {
			g->said_hello = false;
			p = bs_gate_find(g, g->favored);
			if (p != NULL && p->stage != BS_GATE_WHOLE && g->streak++ < STREAK &&
			    read_peer(g, p))
				return give_message(g, p, m);
			g->streak = 0;
			if (g->event_at < g->events)
				continue;
			g->event_at = 0;
			g->events = epoll_wait(g->fd, g->event, BS_GATE_EVENTS, 0);
			if (g->events <= 0) {
				g->events = 0;
				return false;
			}
		}
		const struct epoll_event e = g->event[g->event_at++];

		p = bs_gate_find(g, e.data.u64);
		if (e.data.u64 == 0)
			accept_peers(g);
		else if (p != NULL && look_at(g, p, e.events))
			return give_message(g, p, m);
	}
}

void bs_gate_tend(struct bs_gate *g)
{
	struct bs_gate_message m;

	while (bs_gate_take(g, &m))
		bs_gate_release(g, m.peer);
}

void bs_gate_release(struct bs_gate *g, uint64_t peer)
{
	struct bs_gate_peer *p = bs_gate_find(g, peer);
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = peer };

	if (p == NULL || p->stage != BS_GATE_WHOLE)
		return;
	bs_gate_forget_buffer(g, p);
	p->stage = BS_GATE_LENGTH;
	if (!p->gone) {
		/* an empty message whose length was read already brings no event of its own */
		const bool empty = p->header_got == g->header &&
				   memcmp(p->header + g->header - 8, (char[8]){ 0 }, 8) == 0;

		bs_gate_wait_for(g, p, EPOLLIN | (p->out_len > 0 || empty ? EPOLLOUT : 0u));
		return;
	}
	p->gone = false; /* the gate first reads all that the peer sent before it hung up */
	p->events = EPOLLIN;
	if (epoll_ctl(g->fd, EPOLL_CTL_ADD, p->fd, &e) != 0)
		bs_gate_let_go(g, p);
}

bool bs_gate_keep(struct bs_gate *g, uint64_t peer)
{
	struct bs_gate_peer *p = bs_gate_find(g, peer);
	const bool kept = p != NULL && p->stage == BS_GATE_WHOLE && p->buffer >= 0;

	if (kept) {
		g->buffer_of[p->buffer] = BS_GATE_KEPT;
		p->buffer = -1;
	}
	bs_gate_release(g, peer);
	return kept;
}

void bs_gate_forgo(struct bs_gate *g, const unsigned char *msg)
{
	for (unsigned i = 0; i < BS_GATE_BUFFERS; i++)
		if (g->buffer[i] == msg)
			g->buffer_of[i] = 0;
}

/* ---- who is who ---- */

void bs_gate_vouch(struct bs_gate *g, uint64_t peer)
{
	const struct bs_gate_peer *p = bs_gate_find(g, peer);

	if (p != NULL)
		g->key[bs_gate_place(p)] = RANK(VOUCHED) | ++g->clock;
}

void bs_gate_favor(struct bs_gate *g, uint64_t peer)
{
	bs_gate_vouch(g, peer);
	g->favored = bs_gate_find(g, peer) != NULL ? peer : 0;
	g->streak = 0;
}
