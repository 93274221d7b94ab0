/*
 * test/unit/board/log/test_keeper.c - messages on their way to a log: what an ACK may say at each
 * moment, a disk that fails, hangs or is full
 *
 * The log is read with the reader, message by message: what was said to be durable is in it. That
 * it is where the process is killed between any two steps, and each message once: test/simulate.
 */
/* Holds: W5, W12, L3 */
#define _GNU_SOURCE /* mkdtemp */
#include "test/unit/board/log/keeping.h"

#include <stdlib.h>
#include <unistd.h>

#include "drivers/log/finish.h"
#include "test/support/files.h"

static void test_whole(void)
{
	struct bs_wire_ack ack;
	uint64_t commits;
	char words[128];

	atomic_store(&disk_hangs, true);
	open_scan(1);
	put(1, 1);
	CHECK(look(1).log == BS_WIRE_LOG_OFF, "nothing can be said before OPEN is on the disk");
	atomic_store(&disk_hangs, false);
	AWAIT(durable(1));
	for (uint64_t n = 2; n <= 100; n++)
		put(1, n);
	AWAIT(durable(100));
	ack = look(100);
	CHECK(ack.durable == 100 && ack.unprotected == 0 && ack.log == BS_WIRE_LOG_DURABLE,
	      "all 100 are durable");
	atomic_store(&disk_hangs, true);
	commits = atomic_load(&shared->record.commits);
	for (uint64_t n = 101; n <= 150; n++)
		put(1, n);
	await_pause_ms(5); /* each is older than a commit waits */
	atomic_store(&disk_hangs, false);
	AWAIT(durable(150));
	CHECK(durable(150) && atomic_load(&shared->record.commits) <= commits + 3,
	      "50 that came while the disk was busy are committed together: %llu commits",
	      (unsigned long long)(atomic_load(&shared->record.commits) - commits));
	read_log(shared->record.name);
	CHECK(got.count == 151 && got.twice == 0 && !got.sealed && !got.damaged,
	      "and in the log: %llu messages", (unsigned long long)got.count);
	end_scan();
	bs_keeper_words(&k, words, sizeof(words));
	read_log(shared->record.name);
	CHECK(got.count == 151 && got.sealed && got.mode == 0640 &&
		      strncmp(words, "log ", 4) == 0 && strcmp(words + 4, shared->record.name) == 0,
	      "sealed, of mode %o: \"%s\"", got.mode, words);
	clean();
}

/* A disk that takes nothing for a while and then does: what waited is in the log after all. */
static void test_fails(void)
{
	struct bs_wire_ack ack;

	open_scan(2);
	put(2, 1);
	AWAIT(durable(1));
	atomic_store(&disk_full, true);
	for (uint64_t n = 2; n <= 50; n++)
		put(2, n);
	AWAIT(atomic_load(&shared->record.failed) != 0);
	ack = look(50);
	CHECK(ack.durable == 50 && ack.unprotected == 49 &&
		      atomic_load(&shared->record.unprotected) == 1 &&
		      strstr(shared->record.fault, strerror(ENOSPC)) != NULL,
	      "a full disk: all goes on, 49 are said to be unprotected (%llu): %s",
	      (unsigned long long)ack.unprotected, shared->record.fault);
	atomic_store(&disk_full, false);
	AWAIT(look(50).unprotected == 0);
	ack = look(50);
	CHECK(ack.durable == 50 && atomic_load(&shared->record.unprotected) == 0,
	      "there is room again: protected again, nothing is lacking");
	end_scan();
	read_log(shared->record.name);
	CHECK(got.count == 51 && got.twice == 0 && got.sealed && !got.damaged,
	      "and all are in the log: %llu: %s", (unsigned long long)got.count, why.text);
	clean();
}

/* The same for longer than the ring lasts: what had no room is counted, the rest is in the log. */
static void test_full_ring(void)
{
	uint64_t n = 1;
	char words[128];
	char want[64];
	struct bs_wire_ack ack;

	open_scan(3);
	atomic_store(&disk_full, true);
	for (; n <= 1000; n++)
		put(3, n);
	AWAIT(atomic_load(&shared->record.failed) != 0);
	ack = look(1000);
	CHECK(ack.durable == 1000 && atomic_load(&shared->record.dropped) > 0,
	      "%llu of 1000 found no room",
	      (unsigned long long)atomic_load(&shared->record.dropped));
	atomic_store(&disk_full, false);
	AWAIT((ack = look(1000)).unprotected == atomic_load(&shared->record.dropped));
	CHECK(atomic_load(&shared->record.unprotected) == 0, "protected again");
	for (; n <= 1100; n++)
		put(3, n);
	AWAIT(look(1100).durable == 1100 &&
	      atomic_load(&shared->record.done) == atomic_load(&shared->record.put));
	end_scan();
	bs_keeper_words(&k, words, sizeof(words));
	read_log(shared->record.name);
	(void)snprintf(want, sizeof(want), " lacks %llu messages",
		       (unsigned long long)(1101 - got.count));
	CHECK(got.count < 1101 && got.has[1100] && got.has[0] && got.sealed && !got.damaged &&
		      got.twice == 0 && strstr(words, want) != NULL &&
		      ack.unprotected == 1101 - got.count,
	      "what ACK and outcome called unprotected is what the log lacks: %s", words);
	clean();
}

/* What was said to be durable stays so, whatever waits: a message that was refused is in no log. */
static void test_goes_on(void)
{
	uint64_t n = 1;
	int64_t now;

	open_scan(6);
	put(6, 1);
	AWAIT(durable(1));
	AWAIT(durable(2)); /* it was refused */
	atomic_store(&disk_hangs, true);
	now = bs_now_ns(); /* no disk is slow before its time, though this thread stands still */
	put_at(6, 3, now);
	CHECK(look_at(3, now).durable == 2, "3 waits, 2 is durable as before (%llu)",
	      (unsigned long long)look_at(3, now).durable);
	CHECK(look_at(3, now + BS_KEEPER_SLOW_NS).durable == 3,
	      "it is called durable, unprotected, once the disk is slow");
	atomic_store(&disk_hangs, false);
	AWAIT(durable(3));
	end_scan();
	clean();
	open_scan(7);
	atomic_store(&disk_full, true);
	for (; n <= 1000; n++)
		put(7, n);
	AWAIT(atomic_load(&shared->record.failed) != 0);
	CHECK(look(1000).durable == 1000 && atomic_load(&shared->record.dropped) > 0,
	      "a full disk, and no room in memory: all 1000 are said to be durable, unprotected");
	atomic_store(&disk_full, false);
	AWAIT(look(1000).unprotected == atomic_load(&shared->record.dropped));
	atomic_store(&disk_hangs, true);
	now = bs_now_ns();
	put_at(7, 1001, now);
	CHECK(look_at(1001, now).durable == 1000, "protected again, 1001 waits, 1000 as before");
	atomic_store(&disk_hangs, false);
	AWAIT(look(1001).durable == 1001);
	end_scan();
	clean();
}

/*
 * A call that hangs: after a while nothing is waited for, and the outcome does not wait either.
 * early: the images were not made when the scan ended.
 */
static void test_hangs(bool early)
{
	struct bs_wire_ack ack = { 0 };
	char words[128];
	char slow[BS_LOG_NAME];
	int64_t later;

	open_scan(4);
	put(4, 1);
	AWAIT(durable(1));
	atomic_store(&disk_hangs, true);
	put(4, 2);
	ack = look(2);
	CHECK(ack.durable == 1 && ack.unprotected == 0, "the second is on its way");
	later = bs_now_ns() + BS_KEEPER_SLOW_NS;
	CHECK(bs_keeper_due(&k) <= later, "it is looked at again by then");
	(void)bs_keeper_look(&k, 2, later, &ack);
	CHECK(ack.durable == 2 && ack.unprotected == 1, "too slow: unprotected");
	bs_keeper_end(&k, early, bs_now_ns());
	CHECK(!bs_keeper_ended(&k, k.ended_ns) && bs_keeper_ended(&k, later + BS_KEEPER_SLOW_NS),
	      "the scan's end waits for a while");
	bs_keeper_words(&k, words, sizeof(words));
	CHECK(strstr(words, "lacks 1 messages") != NULL, "\"%s\"", words);
	(void)snprintf(slow, sizeof(slow), "%s", shared->record.name);
	open_scan(5);
	put(5, 1);
	CHECK(look(1).durable == 1 && look(1).unprotected == 2,
	      "the next scan is unprotected, too");
	atomic_store(&disk_hangs, false);
	AWAIT(durable(1));
	end_scan();
	read_log(shared->record.name);
	CHECK(got.count == 2 && got.sealed && atomic_load(&shared->record.unprotected) == 0,
	      "the next scan has its log, and is protected");
	AWAIT((read_log(slow), got.sealed));
	CHECK(got.count >= 2, "the log that was given up has an end, too");
	clean();
}

/* The log before a scan's hangs until the scan has ended: it has none yet, and gets its log. */
static void test_waits(void)
{
	char words[128];

	open_scan(9);
	put(9, 1);
	AWAIT(durable(1));
	atomic_store(&disk_hangs, true);
	put(9, 2);
	bs_keeper_end(&k, false, bs_now_ns());
	open_scan(10);
	put(10, 1);
	bs_keeper_end(&k, false, bs_now_ns());
	bs_keeper_words(&k, words, sizeof(words));
	CHECK(strcmp(words, "no log: its disk was too slow") == 0, "\"%s\"", words);
	atomic_store(&disk_hangs, false);
	AWAIT(bs_keeper_closed(&k));
	clean();
}

/* The ring is full when the scan ends, and has no room for its end: all that waits is counted. */
static void test_ends_full(void)
{
	struct bs_wire_ack ack = { 0 };
	int64_t later;

	open_scan(8);
	put(8, 1);
	AWAIT(durable(1));
	atomic_store(&disk_hangs, true);
	for (uint64_t n = 2; n <= 1000; n++)
		put(8, n);
	later = bs_now_ns() + BS_KEEPER_SLOW_NS;
	(void)bs_keeper_look(&k, 1000, later, &ack);
	CHECK(ack.durable == 1000 && ack.unprotected == 999, "%llu wait or had no room",
	      (unsigned long long)ack.unprotected);
	bs_keeper_end(&k, false, bs_now_ns());
	(void)bs_keeper_look(&k, 1000, later, &ack);
	CHECK(ack.unprotected == 999, "and no fewer at the scan's end: %llu",
	      (unsigned long long)ack.unprotected);
	atomic_store(&disk_hangs, false);
	end_scan();
	clean();
}

/* The disk is full when the scan ends: it ends, its log as far as it got. */
static void test_ends_failed(void)
{
	char words[128];

	open_scan(6);
	put(6, 1);
	AWAIT(durable(1));
	atomic_store(&disk_full, true);
	put(6, 2);
	AWAIT(atomic_load(&shared->record.failed) != 0);
	end_scan();
	bs_keeper_words(&k, words, sizeof(words));
	read_log(shared->record.name);
	CHECK(got.count == 2 && !got.sealed && !got.damaged && strstr(words, "lacks 1") != NULL,
	      "the log has what was durable: %s", words);
	const uint64_t tail = atomic_load(&shared->record.tail);

	open_scan(7);
	AWAIT(look(0).unprotected == 1);
	end_scan();
	bs_keeper_words(&k, words, sizeof(words));
	CHECK(strcmp(words, "no log: it could not be written") == 0, "\"%s\"", words);
	atomic_store(&disk_full, false);
	clean();
	bs_keeper_stop(&k);
	atomic_store(&shared->record.tail, tail); /* it was killed right before it moved that */
	CHECK(start(), "a successor starts");
	AWAIT(atomic_load(&shared->record.tail) == atomic_load(&shared->record.head));
	CHECK(files_in(dir, BS_LOG_SUFFIX) == 0, "what was given up is not begun again");
}

/* An early end that no log has: the next scan is not to be opened before this one is over. */
static void test_unended(void)
{
	open_scan(11);
	put(11, 1);
	AWAIT(durable(1));
	bs_keeper_end(&k, true, bs_now_ns());
	AWAIT(bs_keeper_closed(&k));
	CHECK(!bs_keeper_unended(&k), "the log says that its images are to be made");
	open_scan(12);
	put(12, 1);
	AWAIT(durable(1));
	atomic_store(&disk_full, true);
	put(12, 2);
	AWAIT(atomic_load(&shared->record.failed) != 0);
	bs_keeper_end(&k, true, bs_now_ns());
	AWAIT(bs_keeper_closed(&k));
	CHECK(bs_keeper_unended(&k), "the log does not say so");
	atomic_store(&disk_full, false);
	open_scan(13);
	CHECK(!bs_keeper_unended(&k), "and that is not the next one's");
	end_scan();
	clean();
}

/* A stock that is busy while more is asked of it than there are places for requests. */
static atomic_bool stock_waits;

static void wait_first(void)
{
	AWAIT(!atomic_load(&stock_waits));
}

static void test_asked_more(void)
{
	static struct bs_log_asks asks = { .looked = 1 }; /* the service's first look was made */
	char name[BS_LOG_ASKED + 2][BS_LOG_NAME];
	const unsigned logs = BS_LOG_ASKED + 2;
	struct bs_stock stock;
	unsigned ended = 0;

	CHECK(start(), "a keeper again: %s", why.text);
	for (unsigned i = 0; i < logs; i++) {
		open_scan(20 + i);
		put(20 + i, 1);
		AWAIT(durable(1));
		memcpy(name[i], shared->record.name, sizeof(name[i]));
	}
	bs_keeper_stop(&k); /* none of them has an end */
	for (unsigned i = 0; i < logs; i++)
		ended += bs_log_has_end(dir, name[i]);
	CHECK(ended == 0, "%u logs without an end", logs);
	atomic_store(&stock_waits, true);
	CHECK(bs_stock_start(&stock,
			     &(struct bs_stock_options){ .dir = dir,
							 .segment_bytes = SEGMENT,
							 .asks = &asks,
							 .enter = wait_first },
			     &why) == 0,
	      "a stock that is busy: %s", why.text);
	for (unsigned i = 0; i < logs; i++)
		bs_stock_seal(&stock, name[i]);
	CHECK(atomic_load(&asks.dropped) == 2, "two requests find no place");
	atomic_store(&stock_waits, false);
	bs_stock_stop(&stock);
	for (unsigned i = 0; i < logs; i++)
		ended += bs_log_has_end(dir, name[i]);
	CHECK(ended == logs, "all of them have an end: %u", ended);
	clean();
}

int main(void)
{
	CHECK(begin_keeping(), "starts: %s", why.text);
	test_whole();
	test_fails();
	test_full_ring();
	test_goes_on();
	test_hangs(false);
	test_hangs(true);
	test_waits();
	test_unended();
	test_ends_full();
	test_ends_failed();
	bs_keeper_stop(&k);
	test_asked_more();
	return check_done();
}
