/*
 * test/unit/board/emit/test_front.c - where takers of images are when an emit begins: the first of
 * a service, one whose predecessor was killed at any moment; what the archive's connection held
 */
/* Holds: W62 */
#define _GNU_SOURCE
#include "board/emit/front.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/thread/clock.h"
#include "drivers/log/writer.h"
#include "test/unit/board/emit/line.h"

#define FAR (UINT64_C(1) << 63) /* a number beyond any clock's */

static void test_killed_at_once(void)
{
	begin(true);
	atomic_store(&env.me->epoch, 2);
	CHECK(!bs_emit_succeeds(&e), "a predecessor that was killed as it started left nothing");
	CHECK(bs_images_open(&e, &why) == 0 && shm.s->images.base >= UINT64_C(1) << 32,
	      "the next one gives the numbers: beyond %llx",
	      (unsigned long long)shm.s->images.base);
	bs_front_open(&e);
	CHECK(bs_emit_succeeds(&e), "and only then a third one goes on with them");
	end();
}

static void write_cursor(const char *name, uint64_t number)
{
	char path[120];

	(void)snprintf(path, sizeof(path), "%s/%s" BS_CURSOR_SUFFIX, folder, name);
	CHECK(bs_cursor_put(path, number, false, &why) == 0, "a cursor of %s", name);
}

/* Beyond what was given before, however the clock was set since. */
static void test_numbers(void)
{
	static unsigned char buffer[400000];
	struct bs_log_writer w;

	begin(true);
	CHECK(mkdir(folder, 0750) == 0, "a store's folder");
	write_cursor("+cfl-1", FAR + 1);
	write_cursor("archive", FAR + 1000);
	CHECK(bs_images_open(&e, &why) == 0 && shm.s->images.base == FAR + 1,
	      "a folder of files has had images that were never stored: numbers from %llx on",
	      (unsigned long long)shm.s->images.base);
	end();
	begin(false);
	CHECK(bs_log_writer_open(&w,
				 &(struct bs_log_room){ folder, 1u << 20, buffer, sizeof(buffer) },
				 FAR + 7, 0, &why) == 0,
	      "a file that was begun for an image that was never stored");
	bs_log_writer_close(&w);
	CHECK(bs_images_open(&e, &why) == 0 && shm.s->images.base == FAR + 7,
	      "numbers are beyond it, too: %llx", (unsigned long long)shm.s->images.base);
	end();
}

static void test_message_was_made(void)
{
	struct bs_taker_record *r;
	uint32_t slot;

	begin(true);
	r = bs_emit_record(&e, BS_TAKER_VIEWERS);
	slot = queue_image(true);
	atomic_store(&r->hand, slot + UINT64_C(1)); /* killed right before it was dropped */
	bs_front_open(&e);
	CHECK(bs_pool_in_use(shm.image_pool) == 0 && atomic_load(&r->hand) == 0,
	      "a slot whose message a predecessor had made is free when its takers are done");
}

/* ---- the store and those that spill ---- */

/* Of a store's first image. */
static void damage(uint64_t number)
{
	static unsigned char answer[1u << 20];
	struct bs_store_reader reader = { .fd = -1 };
	char path[180];
	size_t len = 0;
	int fd;

	CHECK(bs_store_next(e.store, &reader, number - 1, answer, &len, &why) == 1, "it is stored");
	(void)snprintf(path, sizeof(path), "%s/%s", folder, reader.name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	for (off_t at = BS_LOG_RECORDS + 60; at < BS_LOG_RECORDS + 300; at += 8)
		(void)!pwrite(fd, "damaged!", 8, at);
	(void)close(fd);
	(void)close(reader.fd);
}

/* The store has lost an image: damage where its bytes are. */
static void lose_image(uint64_t number)
{
	static unsigned char answer[1u << 20];
	struct bs_store_reader reader = { .fd = -1 };
	size_t len = 0;

	damage(number);
	CHECK(bs_store_next(e.store, &reader, number - 1, answer, &len, &why) < 0,
	      "it is damaged: %s", why.text);
	(void)close(reader.fd);
}

static void test_lost_image(bool in_slot)
{
	unsigned char msg[400];
	struct bs_taker_record *r;
	uint64_t number;
	char path[120];

	begin(true);
	CHECK(bs_images_open(&e, &why) == 0 &&
		      bs_taker_make(&e, 0, "folder", "+cfl-1", BS_POLICY_SPILL, nothing, &why) == 0,
	      "a store and a folder that spills");
	(void)snprintf(path, sizeof(path), "%s/+cfl-1" BS_CURSOR_SUFFIX, folder);
	CHECK(access(path, R_OK) == 0, "the store knows it before there is an image");
	bs_front_open(&e);
	r = bs_emit_record(&e, 0);
	number = shm.s->images.base + 1;
	const uint32_t slot = queue_image(!in_slot);

	atomic_store(&shm.image_meta[slot].stored, 1);
	CHECK(bs_store_append(e.store, msg, stored_image(msg), number, &why) == 0, "an image");
	if (!in_slot) { /* a predecessor had it in hand, and was killed */
		atomic_store(&r->behind, 1);
		atomic_store(&r->hand_at, number);
		atomic_store(&r->hand, BS_HAND_STORED);
	}
	lose_image(number);
	if (in_slot)
		CHECK(atomic_load(&r->shed) == 0 && !atomic_load(&shm.image_meta[slot].stored),
		      "it can be given from its slot: nothing is lost yet");
	else
		CHECK(atomic_load(&r->shed) == 1 && atomic_load(&r->behind) == 0,
		      "it is counted as lost, though a predecessor had it in hand");
	end();
}

/*
 * A taker has an image in hand, from a slot that the queue has no more, and its cursor was set back
 * before that: the image was to come from the store once more, which loses it.
 */
static void test_lost_in_hand(void)
{
	unsigned char msg[400];
	struct bs_taker_record *r;
	uint64_t number;

	begin(true);
	CHECK(bs_images_open(&e, &why) == 0 &&
		      bs_taker_make(&e, 0, "folder", "+cfl-1", BS_POLICY_SPILL, nothing, &why) == 0,
	      "a store and a folder that spills");
	bs_front_open(&e);
	r = bs_emit_record(&e, 0);
	number = shm.s->images.base + 1;
	atomic_store(&r->hand, queue_image(true) + UINT64_C(1));
	CHECK(bs_store_append(e.store, msg, stored_image(msg), number, &why) == 0,
	      "an image, in its hand");
	atomic_store(&r->behind, 1);
	lose_image(number);
	CHECK(atomic_load(&r->behind) == 0, "nothing of the store waits for it any more");
	CHECK(atomic_load(&r->lost) == 1 && atomic_load(&r->shed) == 0,
	      "what is in its hand counts as lost until it has that");
	end();
}

/* The newest image cannot be read once a service starts, and somebody has not had it. */
static void test_lost_at_start(void)
{
	unsigned char msg[400];
	struct bs_taker_record *r;
	uint64_t number;

	begin(true);
	CHECK(bs_images_open(&e, &why) == 0, "a store");
	bs_front_open(&e);
	number = shm.s->images.base + 1;
	CHECK(bs_store_ack(e.store, "asker", 0, &why) == 0 &&
		      bs_store_ack(e.store, "+cfl-1", 0, &why) == 0 &&
		      bs_store_append(e.store, msg, stored_image(msg), number, &why) == 0,
	      "an image, for one that asks and a folder that spills");
	end();
	begin(false);
	CHECK(bs_images_open(&e, &why) == 0 &&
		      bs_taker_make(&e, 0, "folder", "+cfl-1", BS_POLICY_SPILL, nothing, &why) == 0,
	      "the next start");
	damage(number);
	bs_images_find_kept(&e);
	r = bs_emit_record(&e, 0);
	CHECK(shm.s->images.kept[1].session == 0 && atomic_load(&r->shed) == 1 &&
		      atomic_load(&bs_emit_record(&e, BS_TAKER_IMAGES)->shed) == 1,
	      "the image cannot be read: it is counted for both");
	end();
}

/* ---- the archive ---- */

static void leave(struct bs_endpoint *in)
{
	bs_endpoint_close(in);
	AWAIT(!there());
	CHECK(!there(), "the archive goes, and has taken nothing");
}

static void look(int64_t *now_ns)
{
	*now_ns += 25 * MS;
	if (bs_flight_look(e.taker[BS_TAKER_ARCHIVE]))
		bs_front_rewind(&e);
}

static void send_image(uint64_t number)
{
	static unsigned char msg[2000];
	const struct bs_offer o = { msg, sizeof(msg), number, 0, NULL };
	int rc = 1;

	AWAIT((rc = bs_flight_send(e.taker[BS_TAKER_ARCHIVE], &o, &why)) != 1);
	CHECK(rc == 0, "image %llu is sent", (unsigned long long)number);
	atomic_store(&bs_emit_record(&e, BS_TAKER_ARCHIVE)->had, number);
	bs_flight_sent(e.taker[BS_TAKER_ARCHIVE], &o);
}

static struct bs_endpoint *comes; /* when an image is handed to the transport */

struct nn_msghdr;
int __real_nn_sendmsg(int s, const struct nn_msghdr *msg, int flags);
int __wrap_nn_sendmsg(int s, const struct nn_msghdr *msg, int flags);
int __wrap_nn_sendmsg(int s, const struct nn_msghdr *msg, int flags)
{
	struct bs_endpoint *in = comes;

	comes = NULL;
	if (in != NULL)
		connect_archive(in);
	return __real_nn_sendmsg(s, msg, flags);
}

/* An archive that comes in the very moment in which it is offered an image is given it once. */
static void test_comes(void)
{
	static unsigned char msg[2000];
	const struct bs_offer o = { msg, sizeof(msg), 1, 0, NULL };
	struct bs_endpoint in = { .socket = -1 };
	int64_t now_ns = 1000000 * MS; /* the last look was in another test */
	int rc;

	begin(true);
	bs_clock_script(&now_ns);
	CHECK(bs_endpoint_bind(&e.archive, BS_ENDPOINT_ARCHIVE_OUT, url, 1u << 20, &why) == 0 &&
		      bs_push_make(&e, &why) == 0,
	      "the service's end");
	(void)queue_image(false);
	(void)pthread_mutex_lock(&e.lock);
	look(&now_ns);
	comes = &in;
	rc = bs_flight_send(e.taker[BS_TAKER_ARCHIVE], &o, &why);
	if (comes != NULL)
		connect_archive(&in);
	comes = NULL;
	if (rc == 0) {
		atomic_store(&bs_emit_record(&e, BS_TAKER_ARCHIVE)->had, 1);
		bs_flight_sent(e.taker[BS_TAKER_ARCHIVE], &o);
	} else {
		send_image(1);
	}
	look(&now_ns);
	CHECK(atomic_load(&bs_emit_record(&e, BS_TAKER_ARCHIVE)->had) == 1,
	      "its connection is the one that the image went into: it does not come again");
	(void)pthread_mutex_unlock(&e.lock);
	bs_endpoint_close(&in);
	end();
	bs_endpoint_close(&e.archive);
	bs_clock_script(NULL);
}

/* What lay in a connection that broke is sent again, whenever that is seen. */
static void test_connection(void)
{
	struct bs_endpoint in = { .socket = -1 };
	struct bs_taker_record *r;
	int64_t now_ns = 1000 * MS;

	begin(true);
	bs_clock_script(&now_ns);
	CHECK(bs_endpoint_bind(&e.archive, BS_ENDPOINT_ARCHIVE_OUT, url, 1u << 20, &why) == 0 &&
		      bs_push_make(&e, &why) == 0,
	      "the service's end");
	r = bs_emit_record(&e, BS_TAKER_ARCHIVE);
	for (unsigned i = 0; i < SENT; i++)
		(void)queue_image(false);
	(void)pthread_mutex_lock(&e.lock);
	connect_archive(&in);
	for (unsigned i = 1; i <= SENT / 2; i++)
		send_image(i);
	leave(&in);
	connect_archive(&in);
	look(&now_ns);
	CHECK(atomic_load(&r->had) == 0, "it is there again before anybody looks: all comes again");
	for (unsigned i = 1; i <= SENT; i++)
		send_image(i);
	look(&now_ns);
	leave(&in);
	for (int i = 0; i < 5; i++)
		look(&now_ns);
	CHECK(atomic_load(&r->safe) == 0, "nothing is safe while it is away: %llu",
	      (unsigned long long)atomic_load(&r->safe));
	connect_archive(&in);
	look(&now_ns);
	CHECK(atomic_load(&r->had) == 0, "and all comes again when it is there");
	(void)pthread_mutex_unlock(&e.lock);
	bs_endpoint_close(&in);
	end();
	bs_endpoint_close(&e.archive);
	bs_clock_script(NULL);
}

/* Image `number` is stored, and lies in the archive's connection alone. */
static void send_stored(uint64_t number)
{
	(void)queue_image(true);
	store_image(number);
	send_image(number);
	atomic_fetch_add(&bs_emit_record(&e, BS_TAKER_ARCHIVE)->handed, 1);
}

/* What the store loses while it lies in the archive's connection is lost where that breaks. */
static void test_lost_in_connection(bool breaks)
{
	static unsigned char got[1u << 16];
	struct bs_endpoint in = { .socket = -1 };
	struct bs_taker_record *r;
	int64_t now_ns = 1000 * MS;
	uint64_t number;
	size_t len;

	begin(true);
	e.env->site.overload.archive = BS_POLICY_SPILL;
	bs_clock_script(&now_ns);
	CHECK(bs_endpoint_bind(&e.archive, BS_ENDPOINT_ARCHIVE_OUT, url, 1u << 20, &why) == 0 &&
		      bs_images_open(&e, &why) == 0 && bs_push_make(&e, &why) == 0,
	      "an archive that spills");
	bs_front_open(&e);
	r = bs_emit_record(&e, BS_TAKER_ARCHIVE);
	number = shm.s->images.base + 1;
	connect_archive(&in);
	send_stored(number);
	send_stored(number + 1);
	lose_image(number);
	CHECK(atomic_load(&r->lost) == 1 && atomic_load(&r->handed) == 1,
	      "it may be lost, and counts so");
	if (breaks) {
		leave(&in);
		connect_archive(&in);
	}
	for (unsigned i = 0; i < 2 && !breaks; i++)
		AWAIT(bs_endpoint_recv(&in, got, sizeof(got), &len, 10, &why) == 0);
	(void)pthread_mutex_lock(&e.lock);
	AWAIT((look(&now_ns),
	       breaks ? atomic_load(&r->had) < number : atomic_load(&r->unsafe) == 0));
	(void)pthread_mutex_unlock(&e.lock);
	if (breaks)
		CHECK(atomic_load(&r->lost) == 1 && atomic_load(&r->gone) == 0 &&
			      atomic_load(&r->had) < number,
		      "it is lost with the connection, and the other one comes again");
	else
		CHECK(atomic_load(&r->lost) == 0 && atomic_load(&r->handed) == 2,
		      "it has arrived, and is not lost");
	bs_endpoint_close(&in);
	end();
	bs_endpoint_close(&e.archive);
	bs_clock_script(NULL);
}

int main(void)
{
	line_setup();
	test_killed_at_once();
	test_numbers();
	test_message_was_made();
	test_lost_image(false);
	test_lost_image(true);
	test_lost_in_hand();
	test_lost_at_start();
	test_connection();
	test_lost_in_connection(true);
	test_lost_in_connection(false);
	test_comes();
	line_remove();
	return check_done();
}
