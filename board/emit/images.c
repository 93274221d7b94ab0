/* board/emit/images.c - see images.h */
#include "board/emit/images.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/emit/folder.h"
#include "board/emit/front.h"
#include "board/emit/taker.h"
#include "board/log/stock.h"
#include "board/service/realtime.h"
#include "core/thread/clock.h"
#include "core/thread/thread.h"
#include "drivers/log/folder.h"

#define REQUEST_MAX 256u
#define POLL_MS     50
#define HOLD_NS     INT64_C(20000000)   /* longest wait of a question for an image */
#define AGAIN_NS    INT64_C(1000000000) /* time between attempts at a disk that refused */
#define HERE_NS     INT64_C(1000000000) /* a taker counts as connected this long after a question */
#define WAYS        64u                 /* images that are timed until a taker has them */

/* A taker that has asked this process. */
struct heard {
	char name[BS_WIRE_TAKER];
	int64_t at_ns;
	uint64_t cursor;
};

struct bs_images {
	struct emit *e;
	struct bs_endpoint socket; /* socket of askers; not open: the site lets no taker ask */
	char dir[BS_PATH_MAX_ + 8];
	size_t message_max;
	uint64_t most_bytes;
	struct bs_stock stock;
	struct bs_store_reader reader; /* used by the answering thread */
	unsigned char *answer;
	/* askers of the answering thread; others read them with the lock */
	struct heard heard[BS_ASKERS];
	struct {
		uint64_t number;
		int64_t handed_ns;
		uint32_t protocol;
	} way[WAYS]; /* the newest images, by number % WAYS; use with the lock held */
	pthread_t thread;
	bool has_thread;
	uint64_t made; /* files that the store had made when the stock was last woken */
	_Atomic bool quit;
	pthread_mutex_t lock;
	pthread_cond_t change;
};

/* Finds a taker of the site by its name in the store; NULL: the name is of a taker that asks. */
static struct bs_taker *own(const struct emit *e, const char *name)
{
	for (uint32_t i = 0; name[0] == '+' && i < BS_TAKERS; i++)
		if (e->taker[i] != NULL && strcmp(e->taker[i]->cursor, name) == 0)
			return e->taker[i];
	return NULL;
}

/* True if an image that the store has lost is in the queue. It is marked as not stored there. */
static bool in_queue(const struct emit *e, uint64_t number)
{
	const uint64_t base = e->env->shm.s->images.base;
	struct bs_image_meta *m = NULL;
	uint32_t slot;

	if (number > base + atomic_load(&e->env->shm.image_ring->tail))
		m = bs_front_image(e, number - base - 1, &slot);
	if (m != NULL)
		atomic_store(&m->stored, 0);
	return m != NULL;
}

static void missed(void *arg, const char *name, uint64_t session, uint64_t number)
{
	struct emit *e = ((struct bs_images *)arg)->e;
	struct bs_taker *t = own(e, name);

	(void)pthread_mutex_lock(&e->lock);
	if (t == NULL && name[0] != '+')
		bs_front_missed(e->taker[BS_TAKER_IMAGES], session);
	else if (in_queue(e, number))
		t = NULL;
	else if (t != NULL) /* the store's copy of the taker's cursor may be old */
		bs_front_gone(t, session, number);
	(void)pthread_mutex_unlock(&e->lock);
}

/* Makes the store's folder, and spill_dir if that is its parent. */
static int make_folders(const struct bs_images *im, struct bs_fail *why)
{
	const char *spill = im->e->env->site.overload.spill_dir;
	int rc = spill[0] != '\0' ? bs_folder_make(spill, 0750, why) : 0;

	return rc == 0 ? bs_folder_make(im->dir, 0750, why) : rc;
}

/* Opens the store. With the lock held, or before the threads run. */
static int open_store(struct bs_images *im, struct bs_fail *why)
{
	const struct bs_store_spec spec = {
		.dir = im->dir,
		.message_max = im->message_max,
		.most_bytes = im->most_bytes,
		.missed = missed,
		.arg = im,
	};
	struct bs_store *store = NULL;
	int rc;

	if (atomic_load(&im->e->store) != NULL)
		return 0;
	rc = make_folders(im, why);
	(void)bs_log_folder_sweep(im->dir); /* this process has no writer there yet */
	if (rc == 0)
		rc = bs_store_open(&store, &spec, why);
	atomic_store(&im->e->store, store);
	return rc;
}

static int open_locked(struct bs_images *im, struct bs_fail *why)
{
	(void)pthread_mutex_lock(&im->lock);
	int rc = open_store(im, why);

	(void)pthread_mutex_unlock(&im->lock);
	return rc;
}

/* Begins to time an image's way to the takers that ask. Previews are not timed. */
static void set_out(struct bs_images *im, const struct bs_image_meta *m, uint64_t number)
{
	if (m->image.preview)
		return;
	(void)pthread_mutex_lock(&im->lock);
	im->way[number % WAYS].number = number;
	im->way[number % WAYS].handed_ns = m->handed_ns;
	im->way[number % WAYS].protocol = m->protocol;
	(void)pthread_mutex_unlock(&im->lock);
}

/* Notes that a taker has this image. With the lock held. */
static void arrive(struct bs_images *im, uint64_t number)
{
	if (number != 0 && im->way[number % WAYS].number == number)
		bs_hist_add(bs_shm_hist(&im->e->env->shm, im->way[number % WAYS].protocol,
					BS_STAGE_TAKEN),
			    bs_now_ns() - im->way[number % WAYS].handed_ns);
}

/* Stores an image. Runs in the store's thread as a taker. */
static int put(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *why)
{
	struct bs_images *im = t->e->images;
	struct bs_image_meta *m =
		&t->e->env->shm.image_meta[(uint32_t)(atomic_load(&t->r->hand) - 1)];
	int rc = open_locked(im, why);

	set_out(im, m, o->number);
	if (rc == 0)
		rc = bs_store_append(im->e->store, o->msg, o->len, o->number, why);
	if (rc != 0 && im->e->store != NULL && bs_folder_gone(im->dir) &&
	    make_folders(im, NULL) == 0) /* somebody deleted the folder */
		rc = bs_store_append(im->e->store, o->msg, o->len, o->number, why);
	if (rc == 0) {
		atomic_store(&m->stored, 1);
		for (uint32_t i = 0; i < BS_TAKERS; i++)
			if (t->e->taker[i] != NULL)
				bs_taker_ack(t->e->taker[i], t->e->store);
	}
	(void)pthread_mutex_lock(&im->lock);
	(void)pthread_cond_broadcast(&im->change);
	(void)pthread_mutex_unlock(&im->lock);
	return rc == BS_ERR_ABORTED || rc == BS_ERR_TIMEOUT ? BS_ERR_IO : rc;
}

/* ---- the thread ---- */

static void publish(struct bs_images *im, struct bs_store *store)
{
	struct bs_images_record *r = &im->e->env->shm.s->images;
	struct bs_store_counts c;

	bs_store_count(store, &c);
	atomic_store(&r->last, c.last);
	atomic_store(&r->bytes, c.bytes);
	for (uint32_t i = 0, n = 0; i < c.takers && n < BS_ASKERS; i++) {
		if (c.taker[i].name[0] == '+')
			continue;
		atomic_store(&r->asker[n].cursor, c.taker[i].cursor);
		atomic_store(&r->asker[n].missed, c.taker[i].missed);
		memcpy(r->asker[n++].name, c.taker[i].name, sizeof(r->asker[0].name));
	}
	if (im->stock.started && c.made != im->made)
		bs_stock_wake(&im->stock);
	im->made = c.made;
}

static void hear(struct bs_images *im, const char *name, uint64_t cursor)
{
	struct heard *h = NULL;

	(void)pthread_mutex_lock(&im->lock);
	for (uint32_t i = 0; i < BS_ASKERS && h == NULL; i++)
		if (im->heard[i].name[0] == '\0' || strcmp(im->heard[i].name, name) == 0)
			h = &im->heard[i];
	if (h != NULL) {
		if (h->cursor != cursor)
			arrive(im, cursor);
		(void)snprintf(h->name, sizeof(h->name), "%s", name);
		h->at_ns = bs_now_ns();
		h->cursor = cursor;
	}
	(void)pthread_mutex_unlock(&im->lock);
}

/* Reads the answer, as bs_store_next does. hold: waits up to HOLD_NS for the next image. */
static int look_up(struct bs_images *im, uint64_t after, bool hold, size_t *len,
		   struct bs_fail *why)
{
	int rc = bs_store_next(im->e->store, &im->reader, after, im->answer, len, why);

	if (rc != 0 || !hold || bs_endpoint_connections_now(&im->socket) > 1 ||
	    atomic_load(&im->quit))
		return rc;
	/* no other question waits: hold this one, since the next image may be about to come */
	(void)pthread_mutex_lock(&im->lock);
	bs_lock_wait(&im->lock, &im->change, bs_now_ns() + HOLD_NS);
	(void)pthread_mutex_unlock(&im->lock);
	return bs_store_next(im->e->store, &im->reader, after, im->answer, len, why);
}

/* A client with a key may ask only under its own name: a question tells what a taker has. */
static int may_ask(const struct bs_images *im, const char *name, struct bs_fail *why)
{
	const char *who = bs_endpoint_asker(&im->socket);

	if (who != NULL && (who[0] == '\0' || strcmp(who, name) == 0))
		return 0;
	return bs_fail(why, BS_ERR_KEY, "'%s' is asked for with the key of '%s'", name,
		       who != NULL ? who : "a peer that is gone");
}

/* Answers one question. An image that cannot be read is reported here and skipped. */
static int reply(struct bs_images *im, const struct bs_wire *w, const unsigned char *payload,
		 size_t *len, struct bs_fail *why)
{
	char name[BS_WIRE_TAKER];
	uint64_t after = w->seq;
	int rc;

	if (w->kind != BS_WIRE_NEXT)
		return bs_fail(why, BS_ERR_KIND, "a message of kind %u: only NEXT is answered here",
			       w->kind);
	rc = bs_wire_get_next(name, payload, (size_t)w->payload_len, why);
	if (rc == 0 && bs_endpoint_is_sealed(&im->socket))
		rc = may_ask(im, name, why);
	if (rc != 0)
		return rc;
	rc = open_locked(im, why);
	if (rc == 0)
		rc = bs_store_ack(im->e->store, name, w->seq, why);
	if (rc != 0)
		return rc;
	hear(im, name, w->seq);
	if (w->payload_len == BS_WIRE_NEXT_APART)
		(void)bs_wire_get_u64(&after, payload + BS_WIRE_TAKER, sizeof(after), why);
	im->reader.session = w->session;
	while ((rc = look_up(im, after, after == w->seq, len, why)) < 0 && rc != BS_ERR_TIMEOUT)
		bs_emit_fault(im->e, why);
	return rc == BS_ERR_TIMEOUT ? BS_ERR_IO : rc; /* the taker may ask again */
}

static void answer(struct bs_images *im, const unsigned char *request, size_t request_len)
{
	unsigned char head[BS_WIRE_BYTES];
	unsigned char no[BS_WIRE_REPLY_BYTES];
	struct bs_wire_reply words = { 0 };
	const unsigned char *payload = NULL;
	struct bs_fail why = { 0 };
	struct bs_wire w = { 0 };
	struct bs_wire out = { .kind = BS_WIRE_NONE };
	size_t len = 0;
	int rc = bs_wire_decode(&w, request, request_len, &payload, &why);

	if (rc == 0)
		rc = reply(im, &w, payload, &len, &why);
	if (rc == 1) {
		(void)bs_endpoint_send(&im->socket, im->answer, len, NULL, 0, POLL_MS, NULL);
		return;
	}
	out.seq = w.seq;
	if (rc < 0) {
		out.kind = BS_WIRE_REFUSE;
		words.code = rc;
		(void)snprintf(words.text, sizeof(words.text), "%s", why.text);
		bs_wire_put_reply(no, &words);
	}
	len = rc < 0 ? sizeof(no) : 0;
	bs_wire_encode(head, &out, no, len);
	(void)bs_endpoint_send(&im->socket, head, sizeof(head), no, len, POLL_MS, NULL);
}

/* Opens the store and starts its stock of spare files; due_ns: when to try again after an error. */
static void begin(struct bs_images *im, int64_t *due_ns)
{
	const uint64_t segment = bs_store_segment(im->message_max, im->most_bytes);
	struct bs_fail why = { 0 };
	int rc = open_locked(im, &why);

	if (rc == 0)
		rc = bs_log_spare_fill(im->dir, 0, segment, &why);
	if (rc == 0)
		rc = bs_stock_start(
			&im->stock,
			&(struct bs_stock_options){ .dir = im->dir, .segment_bytes = segment },
			&why);
	if (rc != 0 && *due_ns == 0)
		bs_emit_fault(im->e, &why);
	*due_ns = rc == 0 ? INT64_MAX : bs_now_ns() + AGAIN_NS;
}

/* Reports that somebody removed the store's files, now and in outcomes; makes the folder again. */
static void look_after(struct bs_images *im)
{
	char line[BS_EVENT_TEXT];

	if (!bs_store_swept(im->e->store))
		return;
	atomic_store(&im->e->swept[0], true);
	atomic_store(&im->e->swept[1], true);
	(void)snprintf(line, sizeof(line),
		       "%.250s was removed, with images that were not taken yet; it %s made again",
		       im->dir, make_folders(im, NULL) == 0 ? "is" : "cannot be");
	bs_emit_say(im->e, BS_EVENT_FAULT, BS_ERR_IO, line);
	if (im->stock.started)
		bs_stock_wake(&im->stock);
}

static void *serve(void *arg)
{
	struct bs_images *im = arg;
	unsigned char request[REQUEST_MAX];
	int64_t due_ns = 0;
	size_t len;
	int rc;

	bs_rt_leave();
	while (!atomic_load(&im->quit)) {
		if (bs_now_ns() >= due_ns)
			begin(im, &due_ns);
		if (bs_endpoint_is_open(&im->socket)) {
			rc = bs_endpoint_recv(&im->socket, request, sizeof(request), &len, POLL_MS,
					      NULL);
			if (rc == 0 || rc == BS_ERR_LENGTH)
				answer(im, request, rc == 0 ? len : 0);
		} else {
			bs_sleep_ns(INT64_C(1000000) * POLL_MS);
		}
		if (atomic_load(&im->e->store) != NULL)
			look_after(im);
		if (atomic_load(&im->e->store) != NULL)
			publish(im, im->e->store);
	}
	return NULL;
}

/* Chooses the first number of this service's images: from the clock, but beyond all numbers of
 * stored images, of a file that was begun, and of the own takers' cursors. */
static void number(struct bs_images *im)
{
	uint64_t base = (uint64_t)(bs_utc_ns() / 1000000000) << 32;
	struct bs_store_counts c = { 0 };

	bs_store_count(im->e->store, &c);
	base = base > c.last ? base : c.last;
	base = base > c.begun ? base : c.begun;
	for (uint32_t i = 0; i < c.takers; i++)
		if (c.taker[i].name[0] == '+' && c.taker[i].cursor > base)
			base = c.taker[i].cursor;
	im->e->env->shm.s->images.base = base;
}

/* Reads the image with this number; *before: the number before it. False: there is none. */
static bool read_back(struct bs_images *im, uint64_t number, struct bs_wire *its, uint64_t *before)
{
	const unsigned char *image;
	struct bs_fail why;
	struct bs_wire w;
	size_t len = 0;

	return number != 0 &&
	       bs_store_next(im->e->store, &im->reader, number - 1, im->answer, &len, &why) == 1 &&
	       bs_wire_is_ours(&w, im->answer, len) && w.seq == number &&
	       bs_wire_get_stored(before, &image, &len, im->answer + BS_WIRE_BYTES,
				  (size_t)w.payload_len, &why) == 0 &&
	       bs_wire_is_ours(its, image, len);
}

/* Finds the last image and the last preview of the scan of image `at`, reading backwards while the
 * images are of that scan; previews only if the site makes any. Returns the session; 0: none. */
static uint64_t find_kept(struct bs_images *im, uint64_t at, uint32_t place)
{
	const struct bs_site *site = &im->e->env->site;
	uint64_t session = 0;
	uint64_t image = 0;
	uint64_t preview = 0;
	struct bs_wire its;
	bool previews = false;

	for (uint32_t i = 0; i < site->protocols; i++)
		previews = previews || site->protocol[i].preview_every != 0;
	for (uint64_t before; read_back(im, at, &its, &before); at = before) {
		if (session == 0)
			session = its.session;
		if (its.session != session)
			break;
		if (its.seq > BS_WIRE_PREVIEWS && preview == 0)
			preview = its.seq - BS_WIRE_PREVIEWS;
		if (its.seq < BS_WIRE_PREVIEWS && image == 0)
			image = its.seq;
		if (image != 0 && (preview != 0 || !previews))
			break;
	}
	im->e->env->shm.s->images.kept[place].session = session;
	im->e->env->shm.s->images.kept[place].image = image;
	im->e->env->shm.s->images.kept[place].preview = preview;
	return session;
}

static int bind_socket(struct bs_images *im, const struct bs_site *site, struct bs_fail *why)
{
	const struct bs_endpoint_seal seal = { bs_store_answer_max(im->message_max), &site->keys,
					       &im->e->env->shm.s->seal[BS_SEAL_IMAGES] };

	if (!bs_site_seals(site, site->images_url))
		return bs_endpoint_bind(&im->socket, BS_ENDPOINT_IMAGES, site->images_url,
					REQUEST_MAX, why);
	return bs_endpoint_bind_sealed(&im->socket, BS_ENDPOINT_IMAGES, site->images_url,
				       REQUEST_MAX, &seal, why);
}

int bs_images_open(struct emit *e, struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	const char *spill = site->overload.spill_dir;
	const bool first = !bs_emit_succeeds(e);
	struct bs_images *im;
	int rc = 0;

	if (!bs_site_stores(site))
		return 0;
	im = e->images = calloc(1, sizeof(*im));
	if (im == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "the store of images");
	im->e = e;
	im->socket.socket = im->reader.fd = -1;
	im->message_max = (size_t)e->env->shm.s->pools.image_bytes;
	im->most_bytes = spill[0] != '\0' ? (uint64_t)site->overload.spill_mib << 20
					  : site->overload.queue * (uint64_t)im->message_max;
	bs_lock_init(&im->lock, &im->change);
	(void)snprintf(im->dir, sizeof(im->dir), "%s/images",
		       spill[0] != '\0' ? spill : site->run_dir);
	im->answer = malloc(bs_store_answer_max(im->message_max));
	if (im->answer == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "an answer of %zu bytes", im->message_max);
	if (site->images_url[0] != '\0')
		rc = bind_socket(im, site, why);
	if (rc == 0 && first)
		rc = open_store(im, why);
	if (rc == 0 && first)
		number(im);
	return rc == 0 ? bs_taker_make(e, BS_TAKER_IMAGES, "images", "", BS_POLICY_WAIT, put, why)
		       : rc;
}

/* Forgets takers that the site no longer names or that no longer spill; reports their images. */
void bs_images_forget(struct emit *e)
{
	struct bs_store_counts c = { 0 };
	char line[BS_EVENT_TEXT];

	if (e->images == NULL || bs_emit_succeeds(e))
		return;
	bs_store_count(e->store, &c);
	for (uint32_t i = 0; i < c.takers; i++) {
		if (c.taker[i].name[0] != '+' || own(e, c.taker[i].name) != NULL)
			continue;
		const uint64_t n = bs_store_waiting(e->store, c.taker[i].cursor, UINT64_MAX);

		(void)snprintf(line, sizeof(line),
			       "%.64s: the site has no such taker that spills any more: %" PRIu64
			       " images that are kept are not given to it",
			       c.taker[i].name, n);
		if (n == BS_STORE_UNKNOWN)
			continue; /* this file is tried again at the next start */
		if (n > 0)
			bs_emit_say(e, BS_EVENT_LIMIT, 0, line);
		bs_store_forget(e->store, c.taker[i].name);
	}
}

/* Looks at the newest image's scan and, if the site keeps logs, at the scan before. */
void bs_images_find_kept(struct emit *e)
{
	struct bs_store_counts c = { 0 };
	uint64_t session;

	if (e->images == NULL || bs_emit_succeeds(e))
		return;
	bs_store_count(e->store, &c);
	session = find_kept(e->images, c.last, 1);
	if (session != 0 && bs_site_logs(&e->env->site))
		(void)find_kept(e->images, bs_store_other(e->store, session), 0);
}

int bs_images_serve(struct bs_images *im, struct bs_fail *why)
{
	int rc = im != NULL ? bs_thread_start(&im->thread, serve, im) : 0;

	if (im != NULL)
		im->has_thread = rc == 0;
	return rc == 0 ? 0 : bs_fail(why, BS_ERR_NOMEM, "the images' thread: %s", strerror(rc));
}

/* True if a connected taker has not had all images. *have: grows as takers get images. */
static bool somebody_wants(struct bs_images *im, uint64_t *have)
{
	const int64_t now = bs_now_ns();
	struct bs_store_counts c = { 0 };
	bool wants = false;

	*have = 0;
	(void)pthread_mutex_lock(&im->lock);
	if (im->e->store != NULL)
		bs_store_count(im->e->store, &c);
	for (uint32_t i = 0; i < BS_ASKERS; i++) {
		if (im->heard[i].name[0] == '\0')
			continue;
		*have += im->heard[i].cursor;
		wants = wants ||
			(im->heard[i].cursor < c.last && now - im->heard[i].at_ns < HERE_NS);
	}
	(void)pthread_mutex_unlock(&im->lock);
	return wants;
}

/* Waits for the takers that ask, as long as the stop allows and while they get more images. */
void bs_images_finish(struct bs_images *im)
{
	int64_t since_ns = bs_now_ns();
	uint64_t before = 0;
	uint64_t have;

	while (im != NULL && somebody_wants(im, &have) &&
	       bs_now_ns() - since_ns < BS_IMAGES_LAST_NS &&
	       bs_now_ns() < atomic_load(&im->e->env->shm.s->end_by_ns)) {
		if (have != before)
			since_ns = bs_now_ns();
		before = have;
		bs_sleep_ns(2000000);
		bs_worker_beat(im->e->env);
	}
}

void bs_images_stop(struct bs_images *im)
{
	if (im == NULL)
		return;
	atomic_store(&im->quit, true);
	if (im->has_thread)
		(void)pthread_join(im->thread, NULL);
	im->has_thread = false;
	bs_stock_stop(&im->stock);
}

void bs_images_close(struct emit *e)
{
	struct bs_images *im = e->images;

	if (im == NULL)
		return;
	for (uint32_t i = 0; im->e->store != NULL && i < BS_TAKERS; i++)
		if (e->taker[i] != NULL)
			bs_taker_ack(e->taker[i], im->e->store);
	bs_store_close(im->e->store);
	if (im->reader.fd >= 0)
		(void)close(im->reader.fd);
	bs_endpoint_close(&im->socket);
	free(im->answer);
	free(im);
	e->images = NULL;
}
