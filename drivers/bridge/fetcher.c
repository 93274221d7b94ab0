/* drivers/bridge/fetcher.c - see fetcher.h */
#include "drivers/bridge/fetcher.h"

#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"

#define ANSWER_NS INT64_C(1000000000) /* then the question is asked again */
#define EMPTY_NS  INT64_C(5000000)    /* between two questions while nothing follows */
#define AGAIN_NS  INT64_C(500000000)  /* after a refusal */

int bs_fetcher_open(struct bs_fetcher *a, const struct bs_site *site, const char *name,
		    size_t message_max, struct bs_fail *why)
{
	const struct bs_keyed self = { name, site->mrd.key };

	memset(a, 0, sizeof(*a));
	a->name = name;
	return bs_endpoint_connect_own(&a->socket, BS_ENDPOINT_IMAGES_ASK, site, &self,
				       site->images_url, message_max, why);
}

void bs_fetcher_close(struct bs_fetcher *a)
{
	bs_fetcher_release(a);
	bs_endpoint_close(&a->socket);
}

void bs_fetcher_release(struct bs_fetcher *a)
{
	if (a->msg != NULL)
		bs_endpoint_release(a->msg);
	a->msg = NULL;
}

static int ask(struct bs_fetcher *a, int64_t now_ns, struct bs_fail *why)
{
	unsigned char question[BS_WIRE_BYTES + BS_WIRE_TAKER];
	struct bs_wire w = { .kind = BS_WIRE_NEXT, .seq = a->has, .time_ns = now_ns };
	int rc;

	bs_wire_put_next(question + BS_WIRE_BYTES, a->name);
	bs_wire_encode(question, &w, question + BS_WIRE_BYTES, BS_WIRE_TAKER);
	rc = bs_endpoint_send(&a->socket, question, sizeof(question), NULL, 0, 0, why);
	if (rc == 0)
		a->asked_ns = now_ns;
	a->next_ns = now_ns + (rc == 0 ? ANSWER_NS : EMPTY_NS);
	return rc < 0 ? rc : 0;
}

/* A STORED message's image. */
static int open_image(struct bs_fetcher *a, const struct bs_wire *w, const unsigned char *payload,
		      struct bs_asked *out, struct bs_fail *why)
{
	const unsigned char *image;
	const unsigned char *body;
	struct bs_wire its;
	uint64_t previous;
	size_t attributes_at;
	size_t pixels_at;
	size_t len;
	int rc = bs_wire_get_stored(&previous, &image, &len, payload, (size_t)w->payload_len, why);

	if (rc == 0 && w->seq <= a->has)
		rc = bs_fail(why, BS_ERR_SEQUENCE, "an image that was here already");
	if (rc != 0)
		return rc;
	if (a->has != 0 && previous > a->has)
		a->missed++;
	a->has = w->seq;
	rc = bs_wire_decode(&its, image, len, &body, why);
	if (rc == 0 && its.kind != BS_WIRE_IMAGE)
		rc = bs_fail(why, BS_ERR_KIND, "an image of kind %u", its.kind);
	if (rc == 0)
		rc = bs_mrd_parse_image(&out->head, &attributes_at, &pixels_at, body,
					(size_t)its.payload_len, why);
	if (rc != 0)
		return rc;
	out->session = its.session;
	out->number = its.seq;
	out->attributes = (const char *)body + attributes_at;
	out->attributes_len = pixels_at - attributes_at;
	out->pixels = body + pixels_at;
	out->pixels_len = (size_t)its.payload_len - pixels_at;
	return 0;
}

static void say(struct bs_fetcher *a, const struct bs_fail *why)
{
	if (strcmp(a->said, why->text) != 0)
		bs_log(BS_LOG_WARN, "images: %s: %s", bs_err_name(why->code), why->text);
	(void)snprintf(a->said, sizeof(a->said), "%s", why->text);
}

/* 1: an image; 0: nothing follows, or what came cannot be used. */
static int hear(struct bs_fetcher *a, size_t len, struct bs_asked *out, int64_t now_ns)
{
	const unsigned char *payload = NULL;
	struct bs_wire_answer words;
	struct bs_fail why = { 0 };
	struct bs_wire w;
	int rc = bs_wire_decode(&w, a->msg, len, &payload, &why);

	a->next_ns = now_ns;
	if (rc == 0 && w.kind == BS_WIRE_STORED) {
		rc = open_image(a, &w, payload, out, &why);
		if (rc == 0) {
			a->said[0] = '\0';
			a->asked_ns = 0;
			return 1;
		}
	} else if (rc == 0 && w.kind == BS_WIRE_NONE) {
		a->none_ns = a->asked_ns;
		a->next_ns = now_ns + EMPTY_NS;
		a->said[0] = '\0';
	} else if (rc == 0 && w.kind == BS_WIRE_REFUSE &&
		   bs_wire_get_answer(&words, payload, (size_t)w.payload_len, &why) == 0) {
		a->next_ns = now_ns + AGAIN_NS;
		rc = bs_fail(&why, words.code < 0 ? words.code : BS_ERR_STATE,
			     "the service refuses: %s", words.text);
	}
	if (rc != 0)
		say(a, &why);
	a->asked_ns = 0;
	return 0;
}

int bs_fetcher_take(struct bs_fetcher *a, struct bs_asked *out, int64_t now_ns, struct bs_fail *why)
{
	size_t len;
	int rc;

	bs_fetcher_release(a);
	if (a->asked_ns == 0 && now_ns >= a->next_ns)
		return ask(a, now_ns, why);
	if (a->asked_ns == 0)
		return 0;
	rc = bs_endpoint_take(&a->socket, &a->msg, &len, why);
	if (rc == 0) {
		rc = hear(a, len, out, now_ns);
		if (rc == 0)
			bs_fetcher_release(a);
		return rc;
	}
	a->msg = NULL;
	if (rc < 0)
		return rc;
	return now_ns >= a->next_ns ? ask(a, now_ns, why) : 0;
}

int64_t bs_fetcher_due(const struct bs_fetcher *a)
{
	return a->next_ns;
}
