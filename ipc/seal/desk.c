/* ipc/seal/desk.c - see desk.h */
#include "ipc/seal/desk.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "ipc/endpoint.h"
#include "ipc/gate.h"

#define ID        4u
#define SMALL     1024u /* bytes of a head that has a tail */
#define FRAME     9u
#define MS        INT64_C(1000000)
#define IS_NUMBER 0x80u /* the first byte of a question's number: no device lies between */

struct bs_seal_desk {
	struct bs_gate gate;
	struct bs_seal_keys keys;
	uint64_t peer; /* who asked; 0: nobody, or he is answered */
	unsigned char id[ID];
};

int bs_seal_desk_open(struct bs_seal_desk **out, const char *url, const char *endpoint,
		      uint32_t roles, size_t message_max, size_t answer_max,
		      const struct bs_keys_spec *keys, struct bs_seal_record *record,
		      struct bs_fail *why)
{
	struct bs_seal_desk *d = calloc(1, sizeof(*d));
	struct bs_gate_lock lock = { .endpoint = endpoint,
				     .roles = roles,
				     .answers = true,
				     .answer_max = answer_max + ID + BS_SEAL_TAG + FRAME,
				     .record = record };
	int rc;

	*out = NULL;
	if (d == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory", url);
	lock.keys = &d->keys;
	message_max += ID;
	rc = bs_seal_keys_load(&d->keys, keys, why);
	if (rc == 0)
		rc = bs_gate_open_locked(&d->gate, url,
					 message_max < BS_GATE_HEAD ? BS_GATE_HEAD : message_max,
					 &lock, why);
	if (rc == 0) {
		atomic_store(&record->on, 1);
		*out = d;
		return 0;
	}
	bs_seal_keys_wipe(&d->keys);
	free(d);
	return rc;
}

void bs_seal_desk_close(struct bs_seal_desk *d)
{
	if (d == NULL)
		return;
	bs_gate_close(&d->gate);
	bs_seal_keys_wipe(&d->keys);
	free(d);
}

/* The next question that is there. */
static bool take(struct bs_seal_desk *d, void *buf, size_t cap, size_t *len)
{
	struct bs_gate_message m;

	while (bs_gate_take(&d->gate, &m)) {
		const bool good =
			m.whole && m.len >= ID && m.len - ID <= cap && (m.msg[0] & IS_NUMBER) != 0;

		if (good) {
			memcpy(d->id, m.msg, ID);
			*len = (size_t)m.len - ID;
			memcpy(buf, m.msg + ID, *len);
			d->peer = m.peer;
		}
		bs_gate_release(&d->gate, m.peer);
		if (good)
			return true;
	}
	return false;
}

int bs_seal_desk_recv(struct bs_seal_desk *d, void *buf, size_t cap, size_t *len, int timeout_ms)
{
	const int64_t until = bs_now_ns() + timeout_ms * MS;
	struct pollfd fd = { d->gate.fd, POLLIN, 0 };

	*len = 0;
	while (!take(d, buf, cap, len)) {
		const int64_t left = until - bs_now_ns();

		if (timeout_ms >= 0 && left <= 0)
			return BS_ENDPOINT_TIMEOUT;
		(void)poll(&fd, 1, timeout_ms < 0 ? -1 : (int)((left + MS - 1) / MS));
	}
	return 0;
}

int bs_seal_desk_send(struct bs_seal_desk *d, const void *head, size_t head_len, const void *tail,
		      size_t tail_len, struct bs_fail *why)
{
	unsigned char start[ID + SMALL];
	const uint64_t peer = d->peer;
	int rc;

	d->peer = 0;
	memcpy(start, d->id, ID);
	if (peer == 0)
		return bs_fail(why, BS_ERR_STATE, "send: no question waits for an answer");
	if (tail_len > 0 && head_len > SMALL)
		return bs_fail(why, BS_ERR_STATE, "send: %zu bytes before others, at most %u",
			       head_len, SMALL);
	if (tail_len > 0)
		memcpy(start + ID, head, head_len);
	rc = tail_len == 0 ? bs_gate_send(&d->gate, peer, start, ID, head, head_len)
			   : bs_gate_send(&d->gate, peer, start, ID + head_len, tail, tail_len);
	return rc < 0 ? bs_fail(why, rc, "send: who asked is gone, or the answer is too long") : rc;
}

const struct bs_seal_peer *bs_seal_desk_who(const struct bs_seal_desk *d)
{
	return bs_gate_who(&d->gate, d->peer);
}

int bs_seal_desk_fd(const struct bs_seal_desk *d)
{
	return d->gate.fd;
}
