/*
 * test/unit/board/log/test_no_log.c - a scan whose log cannot go on in a successor: what an ACK
 * says is durable is in a log, or counted as unprotected, at each moment
 *
 * A successor finds a scan's OPEN that is not durable, and no folder to write it to. What comes
 * then is given up one by one; the thread is stopped before it.
 */
#define _GNU_SOURCE /* mkdtemp */
#include "board/log/keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/folder.h"

#define RING    (64u << 10)
#define SEGMENT (1u << 20)

static struct bs_log_spec spec = { .mode = BS_LOG_MODE_DURABLE };
static struct bs_keeper k;
static struct bs_log_record record;
static _Alignas(64) unsigned char ring[RING];
static atomic_bool stop_it, stands;

static void nothing(void *arg)
{
	(void)arg;
}

static void nothing_more(void)
{
}

/* The thread, at a turn at which its log has not failed. */
static void stand(void *arg)
{
	(void)arg;
	while (atomic_load(&stop_it) && atomic_load(&record.failed) == 0) {
		atomic_store(&stands, true);
		await_pause_ms(1);
	}
}

static int start(void)
{
	struct bs_fail why = { 0 };
	const int rc = bs_keeper_start(&k,
				       &(struct bs_keeper_options){ .spec = &spec,
								    .message_max = 4096,
								    .segment_bytes = SEGMENT,
								    .record = &record,
								    .ring = ring,
								    .ring_bytes = RING,
								    .enter = nothing,
								    .leave = nothing_more,
								    .wake = nothing,
								    .beat = stand },
				       &why);

	CHECK(rc == 0, "starts %s", why.text);
	return rc;
}

/* Number n of a session; 0: its OPEN. */
static void put(uint64_t session, uint64_t n)
{
	struct bs_wire w = { .kind = n == 0 ? BS_WIRE_OPEN : BS_WIRE_ACQ,
			     .session = session,
			     .seq = n };
	unsigned char msg[BS_WIRE_BYTES];

	bs_wire_encode(msg, &w, NULL, 0);
	if (n == 0)
		bs_keeper_open(&k, 1, msg, sizeof(msg), (int64_t)session * 1000, bs_now_ns());
	else
		bs_keeper_put(&k, n, n, msg, sizeof(msg), bs_now_ns());
}

static bool all_done(void)
{
	return atomic_load(&record.done) == atomic_load(&record.put);
}

/* A scan of 10 numbers, whole; and the OPEN of another one, whose commit is not published yet. */
static int two_scans(void)
{
	uint64_t tail, done, mark;

	if (start() != 0)
		return 1;
	for (uint64_t n = 0; n <= 10; n++)
		put(1, n);
	bs_keeper_end(&k, false, bs_now_ns());
	AWAIT(all_done());
	tail = atomic_load(&record.tail);
	done = atomic_load(&record.done);
	mark = atomic_load(&record.mark);
	put(2, 0);
	AWAIT(all_done());
	bs_keeper_stop(&k);
	CHECK(mark == 10 && all_done(), "one scan is over, another has begun");
	atomic_store(&record.tail, tail);
	atomic_store(&record.done, done);
	atomic_store(&record.mark, mark);
	return 0;
}

/* The scan ends while its last number, told as unprotected, waits to be given up. */
static void ends_before_it_gave_up(void)
{
	struct bs_wire_ack ack = { 0 };

	atomic_store(&stands, false);
	atomic_store(&stop_it, true);
	AWAIT(atomic_load(&stands));
	put(2, 4);
	CHECK(bs_keeper_look(&k, 4, bs_now_ns(), &ack) && ack.durable == 4 && ack.unprotected == 5,
	      "what waits to be given up is told, too: %llu, %llu", (unsigned long long)ack.durable,
	      (unsigned long long)ack.unprotected);
	bs_keeper_end(&k, false, bs_now_ns());
	const bool said = bs_keeper_look(&k, 4, bs_now_ns(), &ack);

	CHECK(!said || ack.durable < 4 || ack.unprotected == 5,
	      "and once the scan has ended before it was: %llu, %llu",
	      (unsigned long long)ack.durable, (unsigned long long)ack.unprotected);
	atomic_store(&stop_it, false);
	AWAIT(all_done());
}

/* The folder is there again, and another scan begins. */
static void goes_on(const char *away)
{
	struct bs_wire_ack ack = { 0 };

	(void)bs_keeper_look(&k, 4, bs_now_ns(), &ack);
	CHECK(atomic_load(&record.unprotected) == 0 && ack.unprotected == 5,
	      "once it is over, nothing is unprotected; the log lacks %llu messages",
	      (unsigned long long)ack.unprotected);
	CHECK(rename(away, dir) == 0, "its folder comes back");
	put(3, 0);
	put(3, 1);
	AWAIT(all_done() && atomic_load(&record.failed) == 0);
	CHECK(bs_keeper_look(&k, 1, bs_now_ns(), &ack) && ack.durable == 1 &&
		      ack.unprotected == 0 && atomic_load(&record.unprotected) == 0,
	      "the next scan is protected: %llu durable, %llu in no log",
	      (unsigned long long)ack.durable, (unsigned long long)ack.unprotected);
	bs_keeper_end(&k, false, bs_now_ns());
	AWAIT(all_done());
}

int main(void)
{
	char away[sizeof(dir) + 5];
	struct bs_wire_ack ack = { 0 };
	bool said;

	(void)snprintf(spec.dir, sizeof(spec.dir), "%s", dir);
	(void)snprintf(away, sizeof(away), "%s.away", dir);
	if (two_scans() != 0 || rename(dir, away) != 0)
		return 1;
	atomic_store(&stop_it, true);
	if (start() != 0)
		return 1;
	AWAIT(atomic_load(&stands));
	CHECK(atomic_load(&record.given_up) == 1, "its OPEN is in no log");
	for (uint64_t n = 1; n <= 3; n++)
		put(2, n);
	said = bs_keeper_look(&k, 3, bs_now_ns(), &ack);
	CHECK(said && ack.durable < ack.unprotected,
	      "no number of the scan before is told: %llu are durable, %llu of these in no log",
	      (unsigned long long)ack.durable, (unsigned long long)ack.unprotected);
	atomic_store(&stop_it, false);
	AWAIT(all_done());
	said = bs_keeper_look(&k, 3, bs_now_ns(), &ack);
	CHECK(said && ack.durable == 3 && ack.unprotected == 4,
	      "then all of them, OPEN too, are told as unprotected: %llu, %llu",
	      (unsigned long long)ack.durable, (unsigned long long)ack.unprotected);
	CHECK(atomic_load(&record.unprotected) == 1 && bs_keeper_void(&k),
	      "the scan goes on unprotected to its end, which status says: %s", record.fault);
	ends_before_it_gave_up();
	goes_on(away);
	bs_keeper_stop(&k);
	return check_done();
}
