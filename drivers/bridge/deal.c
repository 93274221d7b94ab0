/*
 * drivers/bridge/deal.c - gives images to clients; see server.h
 *
 * One question at a time goes to the store. Questions alternate: for the newest image of any scan,
 * and for the next image of one client that is behind and takes more. An image that its client does
 * not take now stays in the store, which is told what the clients still need.
 */
#include "core/log.h"
#include "core/thread/clock.h"
#include "drivers/bridge/server.h"

#define MS       INT64_C(1000000)
#define LARGE    ((size_t)64 << 20) /* bytes of large images of all clients, or one image */
#define STALE_NS (200 * MS)         /* time without reading after which a client's image may go */
#define AGAIN_NS (20 * MS)          /* time between attempts to find memory for an image */
#define IMAGES   16                 /* most images in one loop iteration */

/* Frees memory for a large image: drops large images of clients that do not read, longest first. */
static bool make_room(struct bs_server *v, size_t bytes, int64_t now_ns)
{
	for (;;) {
		struct bs_client *stale = NULL;
		size_t held = 0;

		for (uint32_t i = 0; i < BS_SERVER_PLACES; i++) {
			struct bs_client *c = &v->client[i];

			if (c->album.hand == 0 || c->album.bytes.len == 0)
				continue;
			held += c->album.bytes.cap;
			if (c->stuck && now_ns - c->wrote_ns > STALE_NS &&
			    (stale == NULL || c->wrote_ns < stale->wrote_ns))
				stale = c;
		}
		if (held == 0 || (bytes <= LARGE && held <= LARGE - bytes))
			return true;
		if (stale == NULL)
			return false;
		bs_album_drop(&stale->album);
	}
}

/* Gives an image to a client. 1: done. 0: not possible now. */
static int give(struct bs_server *v, struct bs_client *c, const struct bs_asked *image,
		uint64_t number, int64_t now_ns)
{
	const size_t bytes = bs_form_most(&c->album.form, image);
	const bool again = c->album.hand == number;
	struct bs_fail why = { 0 };

	if (!bs_album_takes(&c->album, bytes) ||
	    (bytes > BS_ALBUM_SMALL && !make_room(v, bytes, now_ns)))
		return 0;
	if (bs_album_put(&c->album, number, image, &why) == 0) {
		v->env.images += !again;
		return 1;
	}
	bs_log(BS_LOG_WARN, "%s: %s", c->peer, why.text);
	if (bs_album_torn(&c->album)) /* a message was sent in part and cannot be completed */
		bs_client_gone(c, now_ns);
	return 1;
}

/* Returns the next client that is behind and takes more; NULL: none. */
static struct bs_client *next_behind(struct bs_server *v, int64_t now_ns)
{
	for (uint32_t n = 1; now_ns >= v->again_ns && n <= BS_SERVER_PLACES; n++) {
		const uint32_t i = (v->dealt + n) % BS_SERVER_PLACES;
		struct bs_client *c = &v->client[i];

		if (c->fd >= 0 && !c->stuck && bs_album_wants(&c->album))
			return c;
	}
	return NULL;
}

/* Chooses the next question to the store. */
static void choose(struct bs_server *v, int64_t now_ns)
{
	struct bs_client *c = v->images.session == 0 ? next_behind(v, now_ns) : NULL;

	v->images.needs = UINT64_MAX;
	for (uint32_t i = 0; i < BS_SERVER_PLACES; i++) {
		const struct bs_client *o = &v->client[i];

		if (o->fd >= 0 && !bs_album_done(&o->album) && o->album.has < v->images.needs)
			v->images.needs = o->album.has;
	}
	if (c != NULL)
		v->dealt = (uint32_t)(c - v->client);
	bs_collector_about(&v->images, c != NULL ? c->session : 0, c != NULL ? c->album.has : 0);
}

/* Gives a new image to the clients of its scan. */
static void take_news(struct bs_server *v, const struct bs_asked *image, int64_t now_ns)
{
	const uint64_t number = v->images.hand;

	for (uint32_t i = 0; i < BS_SERVER_PLACES; i++) {
		struct bs_client *c = &v->client[i];
		const bool done = bs_album_done(&c->album);

		if (!bs_client_has(c, image->session))
			continue;
		c->album.newest = number;
		if (done)
			(void)give(v, c, image, number, now_ns);
	}
	v->env.newest = number;
}

/* Takes an answer about one client's scan; image NULL: no image follows. False: not now. */
static bool take_behind(struct bs_server *v, const struct bs_asked *image, int64_t now_ns)
{
	struct bs_client *c = &v->client[v->dealt];

	if (c->fd < 0 || c->session != v->images.session)
		return true; /* the client has gone meanwhile */
	if (image != NULL && give(v, c, image, v->images.hand, now_ns) == 0) {
		v->again_ns = now_ns + AGAIN_NS;
		return false;
	}
	if (image == NULL && bs_album_torn(&c->album))
		bs_client_gone(c, now_ns);
	else if (image == NULL) /* the store has removed the images */
		c->album.has = c->album.newest;
	return true;
}

int bs_server_deal(struct bs_server *v, struct bs_fail *why)
{
	int rc = 0;

	for (int n = 0; n < IMAGES; n++) {
		const int64_t now = bs_now_ns();
		const bool asking = v->images.asked_ns != 0;
		struct bs_asked image;
		bool none;
		bool kept = true;

		if (!asking)
			choose(v, now);
		rc = bs_collector_take(&v->images, &image, now, why);
		if (rc < 0)
			break;
		none = asking && v->images.asked_ns == 0 && v->images.none;
		if (v->images.session == 0 && rc == 1)
			take_news(v, &image, now);
		else if (v->images.session != 0 && (rc == 1 || none))
			kept = take_behind(v, rc == 1 ? &image : NULL, now);
		if (rc == 1)
			bs_collector_release(&v->images, kept);
		if (v->images.asked_ns != 0 ||
		    (now < bs_collector_due(&v->images) && next_behind(v, now) == NULL))
			break;
	}
	v->env.none_ns = v->images.none_ns;
	return rc < 0 ? rc : 0;
}
