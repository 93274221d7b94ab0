/* ipc/collector.c - see collector.h */
#include "ipc/collector.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"

/* time without an answer after which the question is asked again */
#define ANSWER_NS INT64_C(1000000000)
#define EMPTY_NS  INT64_C(5000000) /* time between two questions while nothing follows */
/* time until the next question after a refusal by the service or by the disk */
#define AGAIN_NS INT64_C(500000000)

void bs_collector_open(struct bs_collector *a, const char *name, uint64_t has)
{
	memset(a, 0, sizeof(*a));
	a->socket.socket = -1;
	a->name = name;
	a->has = has;
	a->needs = UINT64_MAX;
}

void bs_collector_close(struct bs_collector *a)
{
	bs_collector_release(a, false);
	bs_endpoint_close(&a->socket);
}

/* Returns the number of the image whose follower the question asks for. */
static uint64_t *front(struct bs_collector *a)
{
	return a->session != 0 ? &a->after : &a->has;
}

void bs_collector_release(struct bs_collector *a, bool keep)
{
	if (a->msg != NULL)
		bs_endpoint_release(a->msg);
	a->msg = NULL;
	if (keep)
		*front(a) = a->hand;
}

void bs_collector_about(struct bs_collector *a, uint64_t session, uint64_t after)
{
	a->session = session;
	a->after = after;
	if (session != 0 && a->none) /* the last "nothing follows" was about another scan */
		a->next_ns = 0;
}

static void say_fault(struct bs_collector *a, const struct bs_fail *why)
{
	if (strcmp(a->said, why->text) != 0)
		bs_log(BS_LOG_WARN, "images: %s: %s; it is tried again", bs_err_name(why->code),
		       why->text);
	(void)snprintf(a->said, sizeof(a->said), "%s", why->text);
}

void bs_collector_later(struct bs_collector *a, int64_t now_ns, const struct bs_fail *why)
{
	bs_collector_release(a, false);
	a->next_ns = now_ns + AGAIN_NS;
	say_fault(a, why);
}

static int ask(struct bs_collector *a, int64_t now_ns, struct bs_fail *why)
{
	unsigned char question[BS_WIRE_BYTES + BS_WIRE_NEXT_APART];
	struct bs_wire w = { .kind = BS_WIRE_NEXT,
			     .session = a->session,
			     .seq = a->needs < a->has ? a->needs : a->has,
			     .time_ns = now_ns };
	const bool apart = w.seq != *front(a);
	const size_t len = apart ? BS_WIRE_NEXT_APART : BS_WIRE_TAKER;
	struct bs_fail refused = { 0 };
	int rc;

	bs_wire_put_next(question + BS_WIRE_BYTES, a->name);
	bs_wire_put_u64(question + BS_WIRE_BYTES + BS_WIRE_TAKER, *front(a));
	bs_wire_encode(question, &w, question + BS_WIRE_BYTES, len);
	rc = bs_endpoint_send(&a->socket, question, BS_WIRE_BYTES + len, NULL, 0, 0, why);
	if (rc == 0)
		a->asked_ns = now_ns;
	a->next_ns = now_ns + (rc == 0 ? ANSWER_NS : EMPTY_NS);
	if (rc > 0 && bs_endpoint_refused(&a->socket, &refused) != 0) {
		a->next_ns = now_ns + AGAIN_NS;
		say_fault(a, &refused);
	}
	return rc < 0 ? rc : 0;
}

int bs_asked_open(struct bs_asked *out, const unsigned char *msg, size_t len, struct bs_fail *why)
{
	const unsigned char *body;
	size_t attributes_at;
	size_t pixels_at;
	struct bs_wire w;
	int rc = bs_wire_decode(&w, msg, len, &body, why);

	if (rc == 0 && w.kind != BS_WIRE_IMAGE)
		rc = bs_fail(why, BS_ERR_KIND, "a message of kind %u", w.kind);
	if (rc == 0)
		rc = bs_mrd_parse_image(&out->head, &attributes_at, &pixels_at, body,
					(size_t)w.payload_len, why);
	if (rc != 0)
		return rc;
	out->session = w.session;
	out->number = w.seq;
	out->handed_ns = w.time_ns;
	out->attributes = (const char *)body + attributes_at;
	out->attributes_len = out->head.attribute_string_len;
	out->pixels = body + pixels_at;
	out->pixels_len = (size_t)w.payload_len - pixels_at;
	return 0;
}

/* Finds the image of a STORED message. */
static int open_stored(struct bs_collector *a, const struct bs_wire *w,
		       const unsigned char *payload, struct bs_asked *out, struct bs_fail *why)
{
	const unsigned char *image;
	struct bs_fail reason;
	uint64_t previous;
	size_t len;
	int rc = bs_wire_get_stored(&previous, &image, &len, payload, (size_t)w->payload_len, why);

	if (rc == 0 && w->seq <= *front(a))
		rc = bs_fail(why, BS_ERR_SEQUENCE, "image %" PRIu64 " follows %" PRIu64, w->seq,
			     *front(a));
	if (rc != 0)
		return rc;
	rc = bs_asked_open(out, image, len, &reason);
	if (rc != 0)
		(void)bs_fail(why, rc, "image %" PRIu64 ": %s", w->seq, reason.text);
	if (rc != 0 && a->skips) {
		*front(a) = w->seq;
		a->missed++;
	}
	if (rc != 0)
		return rc;
	a->hand = w->seq;
	if (a->session == 0 && a->has != 0 && previous > a->has && a->counted != w->seq) {
		bs_log(BS_LOG_WARN,
		       "images beyond %" PRIu64 " up to %" PRIu64 " are not there any more", a->has,
		       previous);
		a->missed++;
		a->counted = w->seq;
	}
	return 0;
}

/* Reads an answer. 1: an image came; 0: nothing follows, or the answer cannot be used. */
static int hear_answer(struct bs_collector *a, size_t len, struct bs_asked *out, int64_t now_ns)
{
	const unsigned char *payload = NULL;
	struct bs_wire_reply words;
	struct bs_fail why = { 0 };
	struct bs_wire w;
	int rc = bs_wire_decode(&w, a->msg, len, &payload, &why);

	a->next_ns = now_ns;
	a->none = rc == 0 && w.kind == BS_WIRE_NONE;
	if (rc == 0 && w.kind == BS_WIRE_STORED) {
		rc = open_stored(a, &w, payload, out, &why);
		if (rc == 0) {
			a->said[0] = '\0';
			a->asked_ns = 0;
			return 1;
		}
	} else if (a->none) {
		if (a->session == 0) {
			a->none_ns = a->asked_ns;
			a->next_ns = now_ns + EMPTY_NS;
		}
		a->said[0] = '\0';
	} else if (rc == 0 && w.kind == BS_WIRE_REFUSE &&
		   bs_wire_get_reply(&words, payload, (size_t)w.payload_len, &why) == 0) {
		rc = bs_fail(&why, words.code < 0 ? words.code : BS_ERR_STATE,
			     "the service refuses: %s", words.text);
	} else if (rc == 0) {
		rc = bs_fail(&why, BS_ERR_KIND, "an answer of kind %u", w.kind);
	}
	if (rc != 0)
		bs_collector_later(a, now_ns, &why);
	a->asked_ns = 0;
	return 0;
}

int bs_collector_take(struct bs_collector *a, struct bs_asked *out, int64_t now_ns,
		      struct bs_fail *why)
{
	size_t len;
	int rc;

	bs_collector_release(a, false);
	if (a->asked_ns == 0)
		return now_ns >= a->next_ns ? ask(a, now_ns, why) : 0;
	rc = bs_endpoint_take(&a->socket, &a->msg, &len, why);
	if (rc == 0) {
		rc = hear_answer(a, len, out, now_ns);
		if (rc == 0)
			bs_collector_release(a, false);
		return rc;
	}
	a->msg = NULL;
	if (rc < 0)
		return rc;
	return now_ns >= a->next_ns ? ask(a, now_ns, why) : 0;
}
