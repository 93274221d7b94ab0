/*
 * test/unit/board/emit/test_hand.c - what emit has in hand when it is killed, and the store has
 * lost: a successor gives it once, and it counts as lost no more
 */
#define _GNU_SOURCE
#include "test/unit/board/emit/line.h"

/* emit is killed. Its successor has a folder that spills, or the archive. */
static void replace(bool archive)
{
	end();
	bs_endpoint_close(&e.archive);
	memset(&e, 0, sizeof(e));
	atomic_fetch_add(&env.me->epoch, 1);
	atomic_store(&env.me->killed, 1);
	bs_emit_init(&e, &env);
	CHECK(bs_images_open(&e, &why) == 0 &&
		      (archive ? bs_endpoint_bind(&e.archive, BS_ENDPOINT_ARCHIVE_OUT, url,
						  1u << 20, &why) == 0 &&
					 bs_push_make(&e, &why) == 0
			       : bs_taker_make(&e, 0, "folder", "+cfl-1", BS_POLICY_SPILL, nothing,
					       &why) == 0),
	      "emit is replaced");
	bs_front_open(&e);
}

static void stop(struct bs_taker *t)
{
	(void)pthread_mutex_lock(&e.lock);
	atomic_store(&e.quit, true);
	(void)pthread_cond_broadcast(&e.change);
	(void)pthread_mutex_unlock(&e.lock);
	bs_images_stop(e.images);
	bs_taker_stop(t);
}

/* Image `number`, out of the queue, is in the taker's hand. */
static uint32_t hold(struct bs_taker_record *r, uint64_t number)
{
	const uint32_t slot = queue_image(true);

	atomic_store(&r->hand_at, number - shm.s->images.base - 1);
	atomic_store(&r->hand, slot + UINT64_C(1));
	atomic_store(&r->had, number);
	return slot;
}

static void test_given_after_all(void)
{
	struct bs_taker_record *r;

	begin(true);
	replace(false);
	r = bs_emit_record(&e, 0);
	(void)hold(r, shm.s->images.base + 1);
	bs_front_gone(e.taker[0], 5, shm.s->images.base + 1);
	CHECK(atomic_load(&r->lost) == 1, "the store has lost what is in hand");
	replace(false);
	CHECK(bs_taker_start(e.taker[0], &why) == 0, "its thread");
	AWAIT(atomic_load(&r->handed) == 1);
	stop(e.taker[0]);
	CHECK(atomic_load(&r->handed) == 1 && atomic_load(&r->lost) == 0,
	      "a successor gives it from its slot: it is not lost (%llu)",
	      (unsigned long long)atomic_load(&r->lost));
	end();
}

/*
 * An image was in the archive's connection, and has not arrived; the next one in hand: stored, or
 * lost by the store.
 */
static void test_hand_and_connection(bool stored)
{
	static unsigned char got[1u << 16];
	struct bs_endpoint in = { .socket = -1 };
	struct bs_taker_record *r;
	unsigned came = 0;
	uint64_t number;
	size_t len;

	begin(true);
	e.env->site.overload.archive = BS_POLICY_SPILL;
	replace(true);
	r = bs_emit_record(&e, BS_TAKER_ARCHIVE);
	number = shm.s->images.base + 1;
	(void)queue_image(true);
	store_image(number);
	atomic_store(&r->handed, 1);
	atomic_store(&r->unsafe, 1);
	atomic_store(&shm.image_meta[hold(r, number + 1)].stored, stored);
	if (stored)
		store_image(number + 1);
	else
		bs_front_gone(e.taker[BS_TAKER_ARCHIVE], 5, number + 1);
	replace(true);
	connect_archive(&in);
	CHECK(bs_images_serve(e.images, &why) == 0 &&
		      bs_taker_start(e.taker[BS_TAKER_ARCHIVE], &why) == 0,
	      "the store's thread, and its own");
	for (int64_t limit = await_limit();
	     atomic_load(&r->safe) != number + 1 && await_now_ns() < limit;)
		came += bs_endpoint_recv(&in, got, sizeof(got), &len, 100, &why) == 0;
	stop(e.taker[BS_TAKER_ARCHIVE]);
	CHECK(came == 2, "the archive gets both, each once: %u came", came);
	CHECK(atomic_load(&r->lost) == 0 && atomic_load(&r->gone) == 0 &&
		      bs_pool_in_use(shm.image_pool) == 1,
	      "and none is lost: %llu", (unsigned long long)atomic_load(&r->lost));
	bs_endpoint_close(&in);
	end();
	bs_endpoint_close(&e.archive);
}

int main(void)
{
	line_setup();
	test_given_after_all();
	test_hand_and_connection(true);
	test_hand_and_connection(false);
	line_remove();
	return check_done();
}
