/* test/simulate/senders/network.c - see network.h */
#define _GNU_SOURCE /* ppoll */
#include "test/simulate/senders/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "ipc/endpoint.h"
#include "ipc/gate.h"
#include "test/simulate/answers.h"
#include "test/simulate/books.h"
#include "test/simulate/faults.h"
#include "test/simulate/places.h"
#include "test/simulate/process.h"
#include "test/simulate/service.h"

#define MESSAGES     256u
#define WAY_MESSAGES 200u /* that a way takes; changes may add some */
#define GATE_FD      2000000

struct message {
	unsigned char *bytes;
	size_t len;
	int64_t at_ns; /* when it arrives */
};

struct way {
	struct message message[MESSAGES];
	unsigned count, most;
	enum network_change change;
};

static struct link {
	struct way way[WAYS];
	bool wanted, connected;
	bool blocked; /* the service has something to say, and the way is full */
	int64_t away_until_ns, frozen_until_ns;
	int64_t lost_ns; /* when a message of it was lost */
	uint64_t id;     /* of its connection, to the service */
} link_of[LINKS];

static bool listens;
static uint64_t connections;
static struct {
	uint64_t session, seq, numbers;
	int64_t until_ns;
	bool struck, swallows; /* the scan's last message with a number fell into it */
} hole;
static unsigned char *lent[BS_GATE_KEEP]; /* to the service */
static uint64_t lent_to[BS_GATE_KEEP];    /* of which peer, which is not read; 0: it is */

static void drop_all(struct way *w)
{
	for (unsigned i = 0; i < w->count; i++)
		free(w->message[i].bytes);
	w->count = 0;
}

static void free_lent(void)
{
	for (unsigned i = 0; i < BS_GATE_KEEP; i++) {
		free(lent[i]);
		lent[i] = NULL;
	}
}

static unsigned char **lent_of(uint64_t peer)
{
	for (unsigned i = 0; i < BS_GATE_KEEP; i++)
		if (lent[i] != NULL && lent_to[i] == peer)
			return &lent[i];
	return NULL;
}

static struct link *link_by(uint64_t peer)
{
	for (unsigned i = 0; i < LINKS; i++)
		if (link_of[i].connected && link_of[i].id == peer)
			return &link_of[i];
	return NULL;
}

static void lose(struct link *l)
{
	l->connected = l->blocked = false;
	for (int i = 0; i < WAYS; i++)
		drop_all(&l->way[i]);
}

void network_reset(void)
{
	for (unsigned i = 0; i < LINKS; i++) {
		lose(&link_of[i]);
		link_of[i].wanted = i == 0;
		link_of[i].id = 0;
		link_of[i].lost_ns = 0;
		for (int j = 0; j < WAYS; j++)
			link_of[i].way[j].most = WAY_MESSAGES;
	}
	free_lent();
	listens = false;
	connections = 0;
	hole.until_ns = 0;
	network_calm();
}

void network_calm(void)
{
	for (unsigned i = 0; i < LINKS; i++) {
		for (int j = 0; j < WAYS; j++) {
			if (i == 0) /* the others are as they are */
				link_of[i].way[j].most = WAY_MESSAGES;
			link_of[i].way[j].change = CHANGE_NONE;
		}
		link_of[i].away_until_ns = link_of[i].frozen_until_ns = 0;
	}
}

uint64_t network_connections(unsigned link)
{
	return link_of[link].id;
}

bool network_connected(unsigned link)
{
	return link_of[link].connected;
}

bool network_is_hindered(unsigned link, int64_t since_ns)
{
	const struct link *l = &link_of[link];

	return !listens || l->lost_ns >= since_ns || sim_now < l->away_until_ns ||
	       sim_now < l->frozen_until_ns;
}

void network_want(unsigned link, bool wanted)
{
	link_of[link].wanted = wanted;
	if (!wanted)
		lose(&link_of[link]);
}

void network_turn(void)
{
	for (unsigned i = 0; i < LINKS; i++) {
		struct link *l = &link_of[i];

		if (l->connected || !l->wanted || !listens || sim_now < l->away_until_ns)
			continue;
		l->connected = true;
		l->id = ++connections;
		SAY("connection %llu, of link %u", (unsigned long long)connections, i);
	}
}

static int64_t link_due(const struct link *l)
{
	int64_t due = !l->connected && l->wanted && listens ? l->away_until_ns : INT64_MAX;

	for (int i = 0; i < WAYS; i++)
		if (l->way[i].count > 0) {
			int64_t at = l->way[i].message[0].at_ns;

			at = at > l->frozen_until_ns ? at : l->frozen_until_ns;
			due = at < due ? at : due;
		}
	return due;
}

int64_t network_due(void)
{
	int64_t due = INT64_MAX;

	for (unsigned i = 0; i < LINKS; i++)
		if (link_due(&link_of[i]) < due)
			due = link_due(&link_of[i]);
	return due;
}

void network_break(unsigned link, int64_t until_ns)
{
	SAY("the connection of link %u breaks", link);
	lose(&link_of[link]);
	link_of[link].away_until_ns = until_ns;
}

void network_freeze(unsigned link, int64_t until_ns)
{
	link_of[link].frozen_until_ns = until_ns;
}

void network_narrow(unsigned link, unsigned messages)
{
	link_of[link].way[TO_SENDER].most = messages;
}

void network_service_gone(void)
{
	for (unsigned i = 0; i < LINKS; i++) {
		lose(&link_of[i]);
		if (link_of[i].away_until_ns < sim_now + MS)
			link_of[i].away_until_ns = sim_now + MS; /* it looks again after a moment */
	}
	listens = false;
	free_lent();
}

void network_change(unsigned link, enum network_way to, enum network_change what)
{
	link_of[link].way[to].change = what;
}

bool network_changes(unsigned link, enum network_way to)
{
	return link_of[link].way[to].change != CHANGE_NONE;
}

/* A copy of exactly its length, so that a read beyond it is found. */
static unsigned char *copy(const unsigned char *msg, size_t len)
{
	unsigned char *p = malloc(len > 0 ? len : 1);

	if (p == NULL)
		abort();
	if (len > 0)
		memcpy(p, msg, len);
	return p;
}

/* Takes the bytes. Before the last `early` that are under way. */
static void put(struct way *w, unsigned char *bytes, size_t len, unsigned early)
{
	int64_t at_ns = sim_now + 20000 + sim_below(200000);
	unsigned at = w->count - (early < w->count ? early : w->count);

	if (w->count == MESSAGES) {
		free(bytes);
		return;
	}
	memmove(&w->message[at + 1], &w->message[at], (w->count - at) * sizeof(w->message[0]));
	w->message[at] = (struct message){ bytes, len, at_ns };
	w->count++;
}

void network_hole(uint64_t session, uint64_t seq, uint64_t numbers, int64_t until_ns)
{
	hole.session = session;
	hole.seq = seq;
	hole.numbers = numbers;
	hole.until_ns = until_ns;
	hole.struck = hole.swallows = false;
}

bool network_swallows(uint64_t session)
{
	return hole.session == session && hole.swallows;
}

static bool falls(const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_wire w;

	if (bs_wire_decode(&w, msg, len, &payload, NULL) != 0 || w.session != hole.session ||
	    w.kind > BS_WIRE_CLOSE)
		return false;
	hole.swallows = sim_now < hole.until_ns && w.seq >= hole.seq &&
			w.seq - hole.seq < hole.numbers &&
			(w.kind == BS_WIRE_ACQ || w.kind == BS_WIRE_WAVEFORM);
	if (!hole.swallows)
		return false;
	SAY("number %llu falls into the hole", (unsigned long long)w.seq);
	if (!hole.struck)
		faults_strike(FAULT_HOLE);
	hole.struck = true;
	return true;
}

static void carry(struct link *l, enum network_way to, unsigned char *bytes, size_t len)
{
	struct way *w = &l->way[to];
	const enum network_change change = w->change;

	w->change = CHANGE_NONE;
	if (change != CHANGE_NONE)
		faults_strike((enum sim_fault)(FAULT_LOST + change - CHANGE_DROP));
	if (change != CHANGE_NONE && change != CHANGE_REPEAT)
		l->lost_ns = sim_now;
	switch (change) {
	case CHANGE_DROP:
		free(bytes);
		return;
	case CHANGE_REPEAT:
		put(w, copy(bytes, len), len, 0);
		put(w, bytes, len, sim_below(2) * sim_below(8));
		return;
	case CHANGE_ORDER:
		put(w, bytes, len, 1 + sim_below(8));
		return;
	case CHANGE_BIT: {
		uint32_t bit = sim_below((uint32_t)len * 8);

		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		put(w, bytes, len, 0);
		return;
	}
	case CHANGE_CUT: {
		size_t shorter = sim_below((uint32_t)len);

		put(w, copy(bytes, shorter), shorter, 0);
		free(bytes);
		return;
	}
	default:
		put(w, bytes, len, 0);
	}
}

bool network_send(unsigned link, const unsigned char *msg, size_t len)
{
	struct way *w = &link_of[link].way[TO_SERVICE];

	if (!link_of[link].connected || w->count >= w->most)
		return false;
	if (!falls(msg, len))
		carry(&link_of[link], TO_SERVICE, copy(msg, len), len);
	return true;
}

void network_inject(unsigned link, const unsigned char *msg, size_t len)
{
	if (link_of[link].connected)
		put(&link_of[link].way[TO_SERVICE], copy(msg, len), len, 0);
}

bool network_waits(unsigned link, enum network_way to)
{
	const struct way *w = &link_of[link].way[to];

	return w->count > 0 && w->message[0].at_ns <= sim_now &&
	       sim_now >= link_of[link].frozen_until_ns;
}

static unsigned char *take(struct way *w, size_t *len)
{
	unsigned char *bytes = w->message[0].bytes;

	*len = w->message[0].len;
	w->count--;
	memmove(&w->message[0], &w->message[1], w->count * sizeof(w->message[0]));
	return bytes;
}

unsigned char *network_take(unsigned link, size_t *len)
{
	return network_waits(link, TO_SENDER) ? take(&link_of[link].way[TO_SENDER], len) : NULL;
}

/* It has a message that the service may take. */
static bool offers(unsigned link)
{
	return network_waits(link, TO_SERVICE) && lent_of(link_of[link].id) == NULL;
}

static bool is_full(const struct link *l)
{
	return l->way[TO_SENDER].count >= l->way[TO_SENDER].most;
}

bool network_ready(int fd)
{
	if (fd != GATE_FD)
		return false;
	for (unsigned i = 0; i < LINKS; i++)
		if (offers(i) || (link_of[i].blocked && !is_full(&link_of[i])))
			return true;
	return false;
}

/* ---- ipc/gate.h: the service's end; each connection is another peer ---- */

int bs_gate_open(struct bs_gate *g, const char *url, size_t message_max,
		 const struct bs_gate_spec *spec, struct bs_fail *why)
{
	(void)url;
	(void)spec; /* the simulated network is not sealed */
	(void)why;
	SIM_PLACE();
	*g = (struct bs_gate){ .fd = GATE_FD, .message_max = message_max, .places = LINKS };
	listens = true;
	return 0;
}

void bs_gate_close(struct bs_gate *g)
{
	SIM_PLACE();
	g->fd = -1;
	network_service_gone();
}

int bs_gate_send(struct bs_gate *g, uint64_t peer, const void *head, size_t head_len,
		 const void *tail, size_t tail_len)
{
	struct link *l = link_by(peer);
	unsigned char *msg;

	(void)g;
	SIM_PLACE();
	if (l == NULL)
		return BS_ERR_IO;
	l->blocked = is_full(l);
	if (l->blocked)
		return BS_ENDPOINT_TIMEOUT;
	msg = malloc(head_len + tail_len);
	if (msg == NULL)
		abort();
	memcpy(msg, head, head_len);
	if (tail_len > 0)
		memcpy(msg + head_len, tail, tail_len);
	books_answered(msg, head_len + tail_len);
	answers_said((unsigned)(l - link_of), msg, head_len + tail_len);
	carry(l, TO_SENDER, msg, head_len + tail_len);
	SIM_PLACE();
	return 0;
}

/* One that has something to say; LINKS: none. */
static unsigned next_link(void)
{
	unsigned i = sim_below(LINKS);

	for (unsigned n = 0; n < LINKS; n++, i = (i + 1) % LINKS)
		if (offers(i))
			return i;
	return LINKS;
}

bool bs_gate_take(struct bs_gate *g, struct bs_gate_message *m)
{
	unsigned char *msg;
	struct link *l;
	unsigned at = 0;
	unsigned i;
	size_t len;

	(void)g;
	SIM_PLACE();
	for (i = 0; i < LINKS; i++)
		link_of[i].blocked = link_of[i].blocked && is_full(&link_of[i]);
	i = next_link();
	if (i == LINKS)
		return false;
	l = &link_of[i];
	while (lent[at] != NULL)
		if (++at == BS_GATE_KEEP)
			sim_broken("%u messages are kept", at);
	msg = take(&l->way[TO_SERVICE], &len);
	lent[at] = msg;
	lent_to[at] = l->id;
	*m = (struct bs_gate_message){ .peer = l->id, .msg = msg, .len = len, .whole = true };
	if (books_delivered(msg, len) || sim_chance(100))
		service_moment(9);
	SIM_PLACE();
	return true;
}

void bs_gate_release(struct bs_gate *g, uint64_t peer)
{
	unsigned char **msg = lent_of(peer);

	(void)g;
	SIM_PLACE();
	if (msg == NULL)
		sim_broken("a message is released that was not taken");
	free(*msg);
	*msg = NULL;
}

bool bs_gate_keep(struct bs_gate *g, uint64_t peer)
{
	(void)g;
	SIM_PLACE();
	for (unsigned i = 0; i < BS_GATE_KEEP; i++)
		if (lent[i] != NULL && lent_to[i] == peer)
			lent_to[i] = 0;
	return true;
}

void bs_gate_forgo(struct bs_gate *g, const unsigned char *msg)
{
	(void)g;
	SIM_PLACE();
	for (unsigned i = 0; i < BS_GATE_KEEP; i++)
		if (lent[i] == msg) {
			free(lent[i]);
			lent[i] = NULL;
		}
}

bool bs_gate_here(const struct bs_gate *g, uint64_t peer)
{
	(void)g;
	return link_by(peer) != NULL;
}

void bs_gate_favor(struct bs_gate *g, uint64_t peer)
{
	g->favored = peer;
}

int bs_gate_name(const struct bs_gate *g, uint64_t peer, char *out, size_t cap)
{
	(void)g;
	(void)snprintf(out, cap, "peer %llu", (unsigned long long)peer);
	return 0;
}

/* ---- ipc/endpoint.h ---- */

int bs_endpoint_wait(struct pollfd *fds, unsigned n, int64_t until_ns, struct bs_fail *why)
{
	const struct timespec t = bs_timespec(until_ns > sim_now ? until_ns - sim_now : 0);

	(void)why;
	(void)ppoll(fds, n, &t, NULL);
	return 0;
}
