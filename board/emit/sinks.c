/* board/emit/sinks.c - see sinks.h */
#include "board/emit/sinks.h"

#include <stdio.h>
#include <string.h>

#include "board/emit/folder.h"
#include "core/thread/clock.h"
#include "drivers/file/draft.h"
#include "ipc/wire/envelope.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"

#define FILE_CLOCK_NS INT64_C(20000000)    /* most that a file's time is behind the clock */
#define STUCK_NS      INT64_C(10000000000) /* time at one file after which emit is replaced */

static int open_type(struct emit *e, uint32_t sink, struct bs_fail *why)
{
	const struct bs_sink_spec *spec = &e->env->site.sink[sink];
	const struct bs_sink *type = e->sink[sink].type;
	void *self = NULL;
	int rc = bs_sink_open(type, &self, spec->dir, why);

	if (rc == 0 && spec->store[0] != '\0')
		rc = type->send_to(self, spec->store, why);
	if (rc != 0 && self != NULL)
		(void)bs_sink_close(type, self, NULL);
	e->sink[sink].self = rc == 0 ? self : NULL;
	return rc;
}

static int open_sink(struct emit *e, uint32_t sink, struct bs_fail *why)
{
	const char *dir = e->env->site.sink[sink].dir;
	int rc;

	if (e->sink[sink].self != NULL)
		return 0;
	rc = bs_folder_make(dir, 0755, why);
	if (rc != 0)
		return rc;
	(void)bs_draft_sweep(dir);
	return open_type(e, sink, why);
}

/* Makes a deleted folder of a sink again, and reports that. */
static bool made_again(struct emit *e, uint32_t sink)
{
	const char *dir = e->env->site.sink[sink].dir;
	char line[BS_EVENT_TEXT];

	if (!bs_folder_gone(dir) || bs_folder_make(dir, 0755, NULL) != 0)
		return false;
	(void)snprintf(line, sizeof(line), "%s was deleted: it is made again", dir);
	bs_emit_say(e, BS_EVENT_LIMIT, 0, line);
	return true;
}

/* An image as a sink takes it: its attributes as pairs or, where there are none, as XML. */
struct given {
	struct bs_mrd_image head;
	struct bs_wire w; /* session, number and time of its message */
	const char *pairs;
	char xml[BS_POOLS_ATTRIBUTES + 1];
	const unsigned char *pixels;
};

/*
 * The image by its message. Where pixels begin in one depends on the attributes: those of the
 * store's go to the buffer's start, since sinks read them as numbers.
 */
static int read_message(struct given *g, struct bs_taker *t, const struct bs_offer *o,
			struct bs_fail *why)
{
	const unsigned char *payload = o->msg + BS_WIRE_BYTES;
	size_t attr_at = 0;
	size_t pixels_at = 0;
	int rc = bs_mrd_parse_image(&g->head, &attr_at, &pixels_at, payload, o->len - BS_WIRE_BYTES,
				    why);

	if (rc == 0 &&
	    (pixels_at - attr_at > BS_POOLS_ATTRIBUTES || !bs_wire_is_ours(&g->w, o->msg, o->len)))
		rc = bs_fail(why, BS_ERR_LENGTH, "image %u: attributes of %zu bytes",
			     g->head.image_index, pixels_at - attr_at);
	if (rc != 0)
		return rc;
	memcpy(g->xml, payload + attr_at, pixels_at - attr_at);
	g->xml[pixels_at - attr_at] = '\0';
	g->pixels = payload + pixels_at;
	if (o->m == NULL)
		g->pixels = memmove(t->buffer, g->pixels, o->len - BS_WIRE_BYTES - pixels_at);
	return 0;
}

/* The image in its slot, without what its message says of it. */
static void take_slot(struct given *g, const struct bs_offer *o)
{
	g->head = o->m->image.head;
	g->w = bs_message_wire(o->m);
	g->pairs = o->m->attributes;
	g->pixels = o->msg + o->len - o->m->pixel_bytes;
}

static int put(struct bs_taker *t, const struct given *g, struct bs_fail *why)
{
	const struct bs_sink *type = t->e->sink[t->id].type;
	void *self = t->e->sink[t->id].self;

	return g->pairs != NULL ? bs_sink_put_pairs(type, self, &g->head, g->pairs, g->pixels, why)
				: bs_sink_put(type, self, &g->head, g->xml, g->pixels, why);
}

/*
 * True if an earlier service, killed during this image's scan, had filed the image already: after a
 * restart the scan's images are made again. A file's name has 16 bits of an image's number.
 */
static bool was_filed(struct bs_taker *t, const struct given *g)
{
	const struct bs_reopened *o = t->e->env->shm.s->reopened;

	o += g->w.session == o[1].session;
	return atomic_load(&o->scan) != 0 && g->w.session == o->session &&
	       g->w.seq % BS_WIRE_PREVIEWS <= UINT16_MAX &&
	       bs_sink_has(t->e->sink[t->id].type, t->e->sink[t->id].self, &g->head, o->started_ns);
}

/*
 * True if a predecessor process had filed the image already. It ended with the image in hand, or
 * before it moved the taker's cursor in the store.
 */
static bool is_filed(struct bs_taker *t, const struct given *g, uint64_t number)
{
	const int64_t handed_utc_ns = bs_utc_ns() - (bs_now_ns() - g->w.time_ns);

	return (atomic_load(&t->r->blame) != 0 || number <= t->e->env->shm.s->images.base) &&
	       bs_sink_has(t->e->sink[t->id].type, t->e->sink[t->id].self, &g->head,
			   handed_utc_ns - FILE_CLOCK_NS);
}

static int give(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *why)
{
	struct given g;
	int rc = 0;

	g.pairs = NULL;
	if (o->m != NULL && t->e->sink[t->id].type->put_pairs != NULL)
		take_slot(&g, o);
	else
		rc = read_message(&g, t, o, why);
	if (rc == 0)
		rc = open_sink(t->e, t->id, why);
	if (rc == 0 && t->e->sink[t->id].type->scan != NULL)
		t->e->sink[t->id].type->scan(t->e->sink[t->id].self, g.w.session);
	if (rc == 0 && !was_filed(t, &g) && !is_filed(t, &g, o->number)) {
		rc = put(t, &g, why);
		if (rc != 0 && made_again(t->e, t->id)) {
			*why = (struct bs_fail){ 0 };
			rc = put(t, &g, why);
		}
	}
	(void)snprintf(t->r->refusal, sizeof(t->r->refusal), "%s", rc != 0 ? why->text : "");
	return rc == BS_ERR_ABORTED || rc == BS_ERR_TIMEOUT ? BS_ERR_IO : rc;
}

int bs_sinks_make_all(struct emit *e, struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < site->sinks; i++) {
		const struct bs_sink_spec *s = &site->sink[i];
		char cursor[32];
		char name[64];

		/* named by type and places: a sink's number in the site may change */
		(void)snprintf(cursor, sizeof(cursor), "+%.8s-%08x", s->type,
			       bs_crc32c(bs_crc32c(0, s->dir, strlen(s->dir)), s->store,
					 strlen(s->store)));
		(void)snprintf(name, sizeof(name), "%.8s %.54s", s->type, s->dir);
		e->sink[i].type = bs_sink_find(s->type);
		if (e->sink[i].type == NULL)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "sink %u: no type '%s'", i + 1,
				       s->type);
		if (s->store[0] != '\0' && e->sink[i].type->send_to == NULL)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "sink %u: %s stores nowhere", i + 1,
				       s->type);
		if (!bs_emit_succeeds(e))
			rc = open_sink(e, i, why);
		if (rc == 0)
			rc = bs_taker_make(e, i, name, cursor, site->overload.sinks, give, why);
	}
	return rc;
}

bool bs_sinks_stuck(const struct emit *e)
{
	for (uint32_t i = 0; i < e->env->site.sinks; i++) {
		const struct bs_taker_record *r = bs_emit_record(e, i);
		const int64_t since_ns = atomic_load(&r->since_ns);

		if (r->policy == BS_POLICY_WAIT && since_ns != 0 &&
		    bs_now_ns() - since_ns > STUCK_NS)
			return true;
	}
	return false;
}

void bs_sinks_close_all(struct emit *e)
{
	struct bs_fail why = { 0 };

	for (uint32_t i = 0; i < e->env->site.sinks; i++)
		if (e->sink[i].self != NULL &&
		    bs_sink_close(e->sink[i].type, e->sink[i].self, &why) != 0)
			bs_emit_fault(e, &why);
}
