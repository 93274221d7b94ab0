/* board/web/taker.c - see taker.h */
#include "board/web/taker.h"

#include <jansson.h>
#include <string.h>

#include "board/status/ask.h"
#include "board/status/status.h"
#include "board/web/picture.h"
#include "core/log.h"
#include "core/memory/pools.h"
#include "core/thread/clock.h"
#include "core/thread/thread.h"

#define MS      INT64_C(1000000)
#define POLL_MS 200
#define PACE_NS (25 * MS) /* least time between two pictures */
/* least time between two pictures, in multiples of the time that the last one took */
#define SHARE       20
#define LOOK_NS     (1000 * MS)
#define PICTURES    48u
#define SHELF_BYTES ((size_t)48 << 20)

/* Makes a picture of an image and puts it on the shelf. */
static int show(struct bs_web_taker *t, struct bs_asked *image, struct bs_fail *why)
{
	unsigned char *picture;
	size_t n;
	int rc =
		t->asks ? 0
			: bs_asked_open(image, t->pending[t->first], t->pending_len[t->first], why);

	if (rc == 0)
		rc = bs_picture_make(&picture, &n, image, why);
	if (rc == 0)
		rc = bs_shelf_put(&t->shelf, picture, n);
	if (rc == 0)
		atomic_fetch_add(&t->page->pictures, 1);
	return rc;
}

static void leave_out(struct bs_web_taker *t)
{
	bs_endpoint_release(t->pending[t->first]);
	t->pending_bytes -= t->pending_len[t->first];
	t->first = (t->first + 1) % BS_WEB_PENDING;
	t->count--;
}

/* Takes all images that the socket has; if they are too many, the oldest are dropped. */
static void collect(struct bs_web_taker *t)
{
	const unsigned char *msg;
	struct bs_fail why;
	size_t len;

	while (bs_endpoint_take(&t->images.socket, &msg, &len, &why) == 0) {
		while (t->count == BS_WEB_PENDING ||
		       (t->count > 0 && t->pending_bytes + len > BS_WEB_PENDING_BYTES)) {
			leave_out(t);
			atomic_fetch_add(&t->page->skipped, 1);
		}
		const uint32_t at = (t->first + t->count++) % BS_WEB_PENDING;

		t->pending[at] = msg;
		t->pending_len[at] = len;
		t->pending_bytes += len;
	}
}

/* Number of the store's last image, from the status document; 0: there is none. */
static uint64_t last_image(const char *status)
{
	json_t *root = json_loads(status, 0, NULL);
	json_int_t last =
		json_integer_value(json_object_get(json_object_get(root, "images"), "last"));

	json_decref(root);
	return last > 0 ? (uint64_t)last : 0;
}

/* Skips all but the last few images of the store if it has more than the page can show. */
static void catch_up(struct bs_web_taker *t, int64_t *due_ns)
{
	static char status[BS_STATUS_MAX];
	const struct bs_keyed self = { BS_PEER_PAGE, t->page->site->web.key };
	struct bs_fail why;
	uint64_t from;

	if (bs_now_ns() < *due_ns)
		return;
	*due_ns = bs_now_ns() + LOOK_NS;
	if (bs_status_ask_own(t->page->site, &self, "json", status, sizeof(status), POLL_MS,
			      &why) != 0)
		return;
	from = last_image(status);
	if (from < BS_WEB_PENDING || from - BS_WEB_PENDING <= t->images.has)
		return;
	if (t->images.has != 0)
		atomic_fetch_add(&t->page->skipped, from - BS_WEB_PENDING - t->images.has);
	t->images.has = from - BS_WEB_PENDING;
}

/* Waits until until_ns for an image to show. An image is not shown before due_ns. */
static bool has_image(struct bs_web_taker *t, struct bs_asked *image, int64_t due_ns,
		      int64_t until_ns)
{
	struct pollfd fd = { t->images.socket.receive_fd, POLLIN, 0 };
	const int64_t now = bs_now_ns();
	struct bs_fail why;

	if (now >= due_ns &&
	    (t->asks ? bs_collector_take(&t->images, image, now, &why) == 1 : t->count > 0))
		return true;
	if (now < due_ns && due_ns < until_ns)
		until_ns = due_ns;
	if (t->asks && now < due_ns) {
		bs_sleep_ns(until_ns - now);
		return false;
	}
	if (t->asks && bs_collector_due(&t->images) < until_ns)
		until_ns = bs_collector_due(&t->images);
	(void)bs_endpoint_wait(&fd, 1, until_ns, NULL);
	return false;
}

static void *make_pictures(void *arg)
{
	struct bs_web_taker *t = arg;
	struct bs_fail why = { 0 };
	struct bs_asked image;
	int64_t next_ns = 0;
	int64_t look_ns = 0;
	bool said = false;

	while (!atomic_load(&t->quit)) {
		atomic_store(&t->connected, bs_endpoint_connections_now(&t->images.socket) != 0);
		if (t->asks)
			catch_up(t, &look_ns);
		else
			collect(t);
		if (!has_image(t, &image, next_ns, bs_now_ns() + POLL_MS * MS))
			continue;
		const int64_t begun = bs_now_ns();

		if (show(t, &image, &why) != 0 && !said) {
			bs_log(BS_LOG_WARN, "an image is not shown: %s", why.text);
			said = true;
		}
		if (t->asks)
			bs_collector_release(&t->images, true);
		else
			leave_out(t);
		const int64_t rest = SHARE * (bs_now_ns() - begun);

		next_ns = bs_now_ns() + (rest > PACE_NS ? rest : PACE_NS);
	}
	return NULL;
}

int bs_web_taker_open(struct bs_web_taker *t, struct bs_documents *page, struct bs_fail *why)
{
	static struct bs_pools pools;
	const struct bs_site *site = page->site;
	const struct bs_keyed self = { BS_PEER_PAGE, site->web.key };
	int rc = 0;

	memset(t, 0, sizeof(*t));
	t->page = page;
	bs_collector_open(&t->images, BS_PEER_PAGE, 0);
	t->images.skips = true;
	bs_shelf_open(&t->shelf, PICTURES, SHELF_BYTES);
	t->asks = site->viewers_url[0] == '\0';
	if (t->asks && site->images_url[0] == '\0')
		return 0;
	rc = bs_pools_size(&pools, site, why);
	if (rc == 0)
		rc = t->asks ? bs_endpoint_connect_own(&t->images.socket, BS_ENDPOINT_IMAGES_ASK,
						       site, &self, site->images_url,
						       (size_t)pools.image_bytes + 4096, why)
			     : bs_endpoint_connect(&t->images.socket, BS_ENDPOINT_VIEWERS_IN,
						   site->viewers_url,
						   (size_t)pools.image_bytes + 4096, why);
	if (rc != 0)
		return rc;
	t->has_thread = bs_thread_start(&t->thread, make_pictures, t) == 0;
	return t->has_thread ? 0 : bs_fail(why, BS_ERR_NOMEM, "the page's thread for images");
}

void bs_web_taker_close(struct bs_web_taker *t)
{
	atomic_store(&t->quit, true);
	if (t->has_thread)
		(void)pthread_join(t->thread, NULL);
	while (t->count > 0)
		leave_out(t);
	bs_collector_close(&t->images);
	bs_shelf_close(&t->shelf);
}
