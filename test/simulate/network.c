/* test/simulate/network.c - see network.h */
#define _GNU_SOURCE /* ppoll */
#include "test/simulate/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "ipc/endpoint.h"
#include "ipc/gate.h"
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

static struct way {
	struct message message[MESSAGES];
	unsigned count, most;
	enum network_change change;
} way[WAYS];

static bool listens, connected;
static int64_t away_until_ns, frozen_until_ns;
static uint64_t connections;
static struct {
	uint64_t session, seq;
	int64_t until_ns;
	bool struck;
} hole;
static unsigned char *lent[BS_GATE_KEEP]; /* to the service */
static bool blocked;                   /* the service has something to say, and the way is full */
static uint64_t lent_to[BS_GATE_KEEP]; /* of which peer */

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

void network_reset(void)
{
	for (int i = 0; i < WAYS; i++)
		drop_all(&way[i]);
	free_lent();
	listens = connected = blocked = false;
	connections = 0;
	hole.until_ns = 0;
	network_calm();
}

void network_calm(void)
{
	for (int i = 0; i < WAYS; i++) {
		way[i].most = WAY_MESSAGES;
		way[i].change = CHANGE_NONE;
	}
	away_until_ns = frozen_until_ns = 0;
}

uint64_t network_connections(void)
{
	return connections;
}

bool network_connected(void)
{
	return connected;
}

void network_turn(void)
{
	if (connected || !listens || sim_now < away_until_ns)
		return;
	connected = true;
	connections++;
	SAY("connection %llu", (unsigned long long)connections);
}

int64_t network_due(void)
{
	int64_t due = !connected && listens ? away_until_ns : INT64_MAX;

	for (int i = 0; i < WAYS; i++)
		if (way[i].count > 0) {
			int64_t at = way[i].message[0].at_ns;

			at = at > frozen_until_ns ? at : frozen_until_ns;
			due = at < due ? at : due;
		}
	return due;
}

static void lose(void)
{
	connected = false;
	drop_all(&way[TO_SERVICE]);
	drop_all(&way[TO_SENDER]);
}

void network_break(int64_t until_ns)
{
	SAY("the connection breaks");
	lose();
	away_until_ns = until_ns;
}

void network_freeze(int64_t until_ns)
{
	frozen_until_ns = until_ns;
}

void network_narrow(unsigned messages)
{
	way[TO_SENDER].most = messages;
}

void network_service_gone(void)
{
	lose();
	listens = false;
	free_lent();
	if (away_until_ns < sim_now + MS)
		away_until_ns = sim_now + MS; /* the other end looks again after a moment */
}

void network_change(enum network_way to, enum network_change what)
{
	way[to].change = what;
}

bool network_changes(enum network_way to)
{
	return way[to].change != CHANGE_NONE;
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

void network_hole(uint64_t session, uint64_t seq, int64_t until_ns)
{
	hole.session = session;
	hole.seq = seq;
	hole.until_ns = until_ns;
	hole.struck = false;
}

static bool falls(const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_wire w;

	if (sim_now >= hole.until_ns || bs_wire_decode(&w, msg, len, &payload, NULL) != 0 ||
	    w.session != hole.session || w.seq != hole.seq ||
	    (w.kind != BS_WIRE_ACQ && w.kind != BS_WIRE_WAVEFORM))
		return false;
	if (!hole.struck)
		faults_strike(FAULT_HOLE);
	hole.struck = true;
	return true;
}

static void carry(enum network_way to, unsigned char *bytes, size_t len)
{
	struct way *w = &way[to];
	const enum network_change change = w->change;

	w->change = CHANGE_NONE;
	if (change != CHANGE_NONE)
		faults_strike((enum sim_fault)(FAULT_LOST + change - CHANGE_DROP));
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

bool network_send(const unsigned char *msg, size_t len)
{
	if (!connected || way[TO_SERVICE].count >= way[TO_SERVICE].most)
		return false;
	if (!falls(msg, len))
		carry(TO_SERVICE, copy(msg, len), len);
	return true;
}

void network_inject(const unsigned char *msg, size_t len)
{
	if (connected)
		put(&way[TO_SERVICE], copy(msg, len), len, 0);
}

bool network_waits(enum network_way to)
{
	const struct way *w = &way[to];

	return w->count > 0 && w->message[0].at_ns <= sim_now && sim_now >= frozen_until_ns;
}

static unsigned char *take(enum network_way to, size_t *len)
{
	struct way *w = &way[to];
	unsigned char *bytes = w->message[0].bytes;

	*len = w->message[0].len;
	w->count--;
	memmove(&w->message[0], &w->message[1], w->count * sizeof(w->message[0]));
	return bytes;
}

unsigned char *network_take(size_t *len)
{
	return network_waits(TO_SENDER) ? take(TO_SENDER, len) : NULL;
}

bool network_ready(int fd)
{
	return fd == GATE_FD && ((network_waits(TO_SERVICE) && lent_of(connections) == NULL) ||
				 (blocked && way[TO_SENDER].count < way[TO_SENDER].most));
}

/* ---- ipc/gate.h: the service's end, of one peer at a time; each connection is another ---- */

int bs_gate_open(struct bs_gate *g, const char *url, size_t message_max, struct bs_fail *why)
{
	(void)url;
	(void)why;
	SIM_PLACE();
	*g = (struct bs_gate){ .fd = GATE_FD, .message_max = message_max, .places = 1 };
	listens = true;
	return 0;
}

int bs_gate_open_by(struct bs_gate *g, const char *url, size_t message_max,
		    const struct bs_gate_spec *spec, struct bs_fail *why)
{
	(void)spec; /* the simulated network is not sealed */
	return bs_gate_open(g, url, message_max, why);
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
	unsigned char *msg;

	SIM_PLACE();
	if (!bs_gate_here(g, peer))
		return BS_ERR_IO;
	blocked = way[TO_SENDER].count >= way[TO_SENDER].most;
	if (blocked)
		return BS_ENDPOINT_TIMEOUT;
	msg = malloc(head_len + tail_len);
	if (msg == NULL)
		abort();
	memcpy(msg, head, head_len);
	if (tail_len > 0)
		memcpy(msg + head_len, tail, tail_len);
	books_answered(msg, head_len + tail_len);
	carry(TO_SENDER, msg, head_len + tail_len);
	SIM_PLACE();
	return 0;
}

bool bs_gate_take(struct bs_gate *g, struct bs_gate_message *m)
{
	unsigned char *msg;
	unsigned at = 0;
	size_t len;

	(void)g;
	SIM_PLACE();
	if (way[TO_SENDER].count < way[TO_SENDER].most)
		blocked = false;
	if (!network_ready(GATE_FD))
		return false;
	while (lent[at] != NULL)
		if (++at == BS_GATE_KEEP)
			sim_broken("%u messages are kept", at);
	msg = take(TO_SERVICE, &len);
	lent[at] = msg;
	lent_to[at] = connections;
	*m = (struct bs_gate_message){ .peer = connections, .msg = msg, .len = len, .whole = true };
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

bool bs_gate_here(const struct bs_gate *g, uint64_t peer)
{
	(void)g;
	return connected && peer == connections;
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
