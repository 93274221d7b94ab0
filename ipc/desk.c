/* ipc/desk.c - see desk.h */
#include "ipc/desk.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "core/thread/thread.h"
#include "ipc/endpoint.h"

#define ID    4u
#define SMALL 1024u /* bytes of a head that has a tail, at most */
#define FRAME 9u
/* places for peers in the gate; several desks share their process's descriptors */
#define PLACES    256u
#define WAIT_MS   100
#define MS        INT64_C(1000000)
#define IS_NUMBER 0x80u /* bit of the first byte of a question's number: no device is between */

struct bs_desk {
	struct bs_gate gate;
	struct bs_seal_keys keys;
	uint64_t peer; /* the peer that asked; 0: none, or it has been answered */
	unsigned char id[ID];
	/* The members below are for PUSH and PUB. */
	pthread_mutex_t lock; /* lock of the gate */
	pthread_t thread;
	bool has_thread;
	_Atomic bool quit;
	int room_fd;   /* PUSH: an eventfd that counts while some peer would take a message */
	bool has_room; /* room_fd is readable */
};

/* Returns true if the desk is PUSH or PUB: its peers only listen. */
static bool hands_out(const struct bs_desk *d)
{
	return d->gate.spec.pattern != BS_GATE_REP;
}

/* ---- PUSH and PUB ---- */

static void look_for_room(struct bs_desk *d)
{
	const bool room = d->gate.spec.pattern == BS_GATE_PUSH && bs_gate_next(&d->gate) != 0;
	uint64_t count = 1;

	if (room == d->has_room)
		return;
	d->has_room = room;
	if (room)
		(void)!write(d->room_fd, &count, sizeof(count));
	else
		(void)!read(d->room_fd, &count, sizeof(count));
}

static void *serve_questions(void *arg)
{
	struct bs_desk *d = arg;
	struct pollfd fd = { d->gate.fd, POLLIN, 0 };

	while (!atomic_load(&d->quit)) {
		(void)poll(&fd, 1, WAIT_MS);
		(void)pthread_mutex_lock(&d->lock);
		bs_gate_tend(&d->gate);
		look_for_room(d);
		(void)pthread_mutex_unlock(&d->lock);
	}
	return NULL;
}

static int start_desk(struct bs_desk *d, struct bs_fail *why)
{
	d->room_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->room_fd < 0)
		return bs_fail(why, BS_ERR_IO, "no descriptor");
	d->has_thread = bs_thread_start(&d->thread, serve_questions, d) == 0;
	return d->has_thread ? 0 : bs_fail(why, BS_ERR_NOMEM, "no thread");
}

/* Gives the message to the next peer in rotation. True: the peer has it. */
static bool push(struct bs_desk *d, const void *head, size_t head_len, const void *tail,
		 size_t tail_len)
{
	bool sent = false;
	uint64_t peer;

	(void)pthread_mutex_lock(&d->lock);
	bs_gate_tend(&d->gate);
	while (!sent && (peer = bs_gate_next(&d->gate)) != 0)
		sent = bs_gate_send(&d->gate, peer, head, head_len, tail, tail_len) == 0;
	look_for_room(d);
	(void)pthread_mutex_unlock(&d->lock);
	return sent;
}

static int hand_out(struct bs_desk *d, const void *head, size_t head_len, const void *tail,
		    size_t tail_len, int timeout_ms)
{
	const int64_t until = bs_now_ns() + timeout_ms * MS;
	struct pollfd fd = { d->room_fd, POLLIN, 0 };

	if (d->gate.spec.pattern == BS_GATE_PUB) {
		(void)pthread_mutex_lock(&d->lock);
		bs_gate_tend(&d->gate);
		bs_gate_publish(&d->gate, head, head_len, tail, tail_len);
		(void)pthread_mutex_unlock(&d->lock);
		return 0;
	}
	while (!push(d, head, head_len, tail, tail_len)) {
		const int64_t left = until - bs_now_ns();

		if (timeout_ms >= 0 && left <= 0)
			return BS_ENDPOINT_TIMEOUT;
		(void)poll(&fd, 1, timeout_ms < 0 ? -1 : (int)((left + MS - 1) / MS));
	}
	return 0;
}

/* ---- REP ---- */

/* Takes the next question, if there is one. */
static bool take_question(struct bs_desk *d, void *buf, size_t cap, size_t *len)
{
	struct bs_gate_message m;

	while (bs_gate_take(&d->gate, &m)) {
		const bool asked = m.whole && m.len >= ID && (m.msg[0] & IS_NUMBER) != 0;

		if (asked) {
			memcpy(d->id, m.msg, ID);
			*len = (size_t)m.len - ID;
			memcpy(buf, m.msg + ID, *len < cap ? *len : cap);
			d->peer = m.peer;
		}
		bs_gate_release(&d->gate, m.peer);
		if (asked)
			return true;
	}
	return false;
}

int bs_desk_recv(struct bs_desk *d, void *buf, size_t cap, size_t *len, int timeout_ms)
{
	const int64_t until = bs_now_ns() + timeout_ms * MS;
	struct pollfd fd = { d->gate.fd, POLLIN, 0 };

	*len = 0;
	while (!take_question(d, buf, cap, len)) {
		const int64_t left = until - bs_now_ns();

		if (timeout_ms >= 0 && left <= 0)
			return BS_ENDPOINT_TIMEOUT;
		(void)poll(&fd, 1, timeout_ms < 0 ? -1 : (int)((left + MS - 1) / MS));
	}
	return 0;
}

static int reply(struct bs_desk *d, const void *head, size_t head_len, const void *tail,
		 size_t tail_len, struct bs_fail *why)
{
	unsigned char start_of[ID + SMALL];
	const uint64_t peer = d->peer;
	int rc;

	d->peer = 0;
	memcpy(start_of, d->id, ID);
	if (peer == 0)
		return bs_fail(why, BS_ERR_STATE, "send: no question waits for an answer");
	if (tail_len > 0 && head_len > SMALL)
		return bs_fail(why, BS_ERR_STATE, "send: %zu bytes before others, at most %u",
			       head_len, SMALL);
	if (tail_len > 0)
		memcpy(start_of + ID, head, head_len);
	rc = tail_len == 0 ? bs_gate_send(&d->gate, peer, start_of, ID, head, head_len)
			   : bs_gate_send(&d->gate, peer, start_of, ID + head_len, tail, tail_len);
	return rc < 0 ? bs_fail(why, rc, "send: who asked is gone, or the answer is too long") : rc;
}

/* ---- */

int bs_desk_open(struct bs_desk **out, const char *url, const struct bs_desk_spec *spec,
		 struct bs_fail *why)
{
	struct bs_desk *d = calloc(1, sizeof(*d));
	size_t message_max = spec->message_max + ID;
	struct bs_gate_spec gate = { .pattern = spec->pattern,
				     .places = PLACES,
				     .out_max = spec->out_max + ID + BS_SEAL_TAG + FRAME,
				     .endpoint = spec->endpoint,
				     .roles = spec->roles,
				     .record = spec->record };
	int rc = 0;

	*out = NULL;
	if (d == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory", url);
	d->room_fd = -1;
	(void)pthread_mutex_init(&d->lock, NULL);
	if (spec->keys != NULL) {
		gate.keys = &d->keys;
		rc = bs_seal_keys_load(&d->keys, spec->keys, why);
	}
	if (rc == 0)
		rc = bs_gate_open(&d->gate, url,
				  message_max < BS_GATE_HEAD ? BS_GATE_HEAD : message_max, &gate,
				  why);
	if (rc != 0) {
		bs_seal_wipe_bytes(&d->keys, sizeof(d->keys));
		(void)pthread_mutex_destroy(&d->lock);
		free(d);
		return rc;
	}
	if (hands_out(d))
		rc = start_desk(d, why);
	if (rc != 0) {
		bs_desk_close(d);
		return rc;
	}
	if (spec->record != NULL)
		atomic_store(&spec->record->on, 1);
	*out = d;
	return 0;
}

void bs_desk_close(struct bs_desk *d)
{
	if (d == NULL)
		return;
	atomic_store(&d->quit, true);
	if (d->has_thread)
		(void)pthread_join(d->thread, NULL);
	if (d->room_fd >= 0)
		(void)close(d->room_fd);
	bs_gate_close(&d->gate);
	bs_seal_wipe_bytes(&d->keys, sizeof(d->keys));
	(void)pthread_mutex_destroy(&d->lock);
	free(d);
}

int bs_desk_send(struct bs_desk *d, const void *head, size_t head_len, const void *tail,
		 size_t tail_len, int timeout_ms, struct bs_fail *why)
{
	return hands_out(d) ? hand_out(d, head, head_len, tail, tail_len, timeout_ms)
			    : reply(d, head, head_len, tail, tail_len, why);
}

const struct bs_seal_peer *bs_desk_who(const struct bs_desk *d)
{
	return bs_gate_who(&d->gate, d->peer);
}

bool bs_desk_is_sealed(const struct bs_desk *d)
{
	return d->gate.spec.keys != NULL;
}

uint64_t bs_desk_connections(struct bs_desk *d, uint64_t *now)
{
	uint64_t n;

	(void)pthread_mutex_lock(&d->lock);
	if (hands_out(d)) /* PUSH and PUB count peers that have shaken hands */
		bs_gate_tend(&d->gate);
	n = d->gate.shaken;
	*now = bs_gate_ready(&d->gate);
	(void)pthread_mutex_unlock(&d->lock);
	return n;
}

uint64_t bs_desk_unsent(struct bs_desk *d)
{
	uint64_t n;

	(void)pthread_mutex_lock(&d->lock);
	n = bs_gate_unsent(&d->gate);
	(void)pthread_mutex_unlock(&d->lock);
	return n;
}

int bs_desk_fd(const struct bs_desk *d)
{
	return d->room_fd >= 0 ? d->room_fd : d->gate.fd;
}
