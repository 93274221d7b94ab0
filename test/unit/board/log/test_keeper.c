/*
 * test/unit/board/log/test_keeper.c - messages on their way to a log: what an ACK may say at each
 * moment, a disk that fails, hangs or is full
 *
 * The log is read with the reader, message by message: what was said to be durable is in it. That
 * it is where the process is killed between any two steps, and each message once: test/simulate.
 */
#define _GNU_SOURCE /* mkdtemp */
#include "board/log/keeper.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/log/reader.h"
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/folder.h"
#include "test/support/files.h"
#include "test/unit/board/log/baddisk.h"

#define RING    (256u << 10)
#define SEGMENT (1u << 20)
#define MESSAGE 1000u
#define MOST    100000u

static struct bs_log_spec spec = { .mode = BS_LOG_MODE_DURABLE };
static struct bs_keeper k;
static struct bs_fail why;

static struct bs_log_record record;
static _Alignas(64) unsigned char ring[RING];

static void nothing(void *arg)
{
	(void)arg;
}

static void nothing_more(void)
{
}

static bool start(void)
{
	return bs_keeper_start(&k,
			       &(struct bs_keeper_options){ .spec = &spec,
							    .message_max = 4096,
							    .segment_bytes = SEGMENT,
							    .record = &record,
							    .ring = ring,
							    .ring_bytes = RING,
							    .enter = nothing,
							    .leave = nothing_more,
							    .wake = nothing },
			       &why) == 0;
}

/* Message number n of a session, as the wire has it. */
static size_t message(unsigned char *msg, uint64_t session, uint64_t n)
{
	struct bs_wire w = { .kind = n == 0 ? BS_WIRE_OPEN : BS_WIRE_ACQ,
			     .session = session,
			     .seq = n };
	const size_t len = MESSAGE - n % 7 * 100;

	memset(msg + BS_WIRE_BYTES, (int)(n % 251), len);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, len);
	return BS_WIRE_BYTES + len;
}

static void open_scan(uint64_t session)
{
	unsigned char msg[2048];

	bs_keeper_open(&k, 1, msg, message(msg, session, 0), (int64_t)session * 1000, bs_now_ns());
}

static void put_at(uint64_t session, uint64_t n, int64_t now_ns)
{
	unsigned char msg[2048];

	bs_keeper_put(&k, n, n, msg, message(msg, session, n), now_ns);
}

static void put(uint64_t session, uint64_t n)
{
	put_at(session, n, bs_now_ns());
}

static struct bs_wire_ack look_at(uint64_t held, int64_t now_ns)
{
	struct bs_wire_ack ack = { 0 };

	if (!bs_keeper_look(&k, held, now_ns, &ack))
		ack.log = BS_WIRE_LOG_OFF;
	return ack;
}

static struct bs_wire_ack look(uint64_t held)
{
	return look_at(held, bs_now_ns());
}

/* All up to held, and the log has it. */
static bool durable(uint64_t held)
{
	const struct bs_wire_ack ack = look(held);

	return ack.log == BS_WIRE_LOG_DURABLE && ack.durable == held && ack.unprotected == 0;
}

/* The log of the folder's only scan, read: how many of its numbers are there, each once. */
static struct read {
	uint64_t count, twice, last;
	bool sealed, damaged;
	unsigned mode;
	bool has[MOST];
} got;

static void read_log(const char *name)
{
	char path[sizeof(dir) + BS_LOG_NAME];
	const unsigned char *payload;
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_wire w;
	struct stat st = { 0 };
	int rc;

	memset(&got, 0, sizeof(got));
	(void)snprintf(path, sizeof(path), "%s/%.63s", dir, name);
	got.damaged = bs_log_open(&r, path, &why) != 0;
	if (got.damaged)
		return;
	while ((rc = bs_log_next(r, &m, &why)) == 1) {
		got.damaged |= bs_wire_decode(&w, m.bytes, m.len, &payload, &why) != 0;
		got.twice += got.has[w.seq % MOST];
		got.has[w.seq % MOST] = true;
		got.last = w.seq > got.last ? w.seq : got.last;
		got.count++;
	}
	got.damaged |= rc != 0;
	got.sealed = bs_log_end(r) == BS_LOG_END_SEALED;
	bs_log_close(r);
	got.mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

static void clean(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (strstr(e->d_name, BS_LOG_SUFFIX) != NULL)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d != NULL)
		(void)closedir(d);
}

static void end_scan(void)
{
	bs_keeper_end(&k, false, bs_now_ns());
	AWAIT(atomic_load(&record.done) == atomic_load(&record.put));
	CHECK(bs_keeper_ended(&k, bs_now_ns()), "the scan's log is done with");
}

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
	commits = atomic_load(&record.commits);
	for (uint64_t n = 101; n <= 150; n++)
		put(1, n);
	await_pause_ms(5); /* each is older than a commit waits */
	atomic_store(&disk_hangs, false);
	AWAIT(durable(150));
	CHECK(durable(150) && atomic_load(&record.commits) <= commits + 3,
	      "50 that came while the disk was busy are committed together: %llu commits",
	      (unsigned long long)(atomic_load(&record.commits) - commits));
	read_log(record.name);
	CHECK(got.count == 151 && got.twice == 0 && !got.sealed && !got.damaged,
	      "and in the log: %llu messages", (unsigned long long)got.count);
	end_scan();
	bs_keeper_words(&k, words, sizeof(words));
	read_log(record.name);
	CHECK(got.count == 151 && got.sealed && got.mode == 0640 &&
		      strncmp(words, "log ", 4) == 0 && strcmp(words + 4, record.name) == 0,
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
	AWAIT(atomic_load(&record.failed) != 0);
	ack = look(50);
	CHECK(ack.durable == 50 && ack.unprotected == 49 && atomic_load(&record.unprotected) == 1 &&
		      strstr(record.fault, strerror(ENOSPC)) != NULL,
	      "a full disk: all goes on, 49 are said to be unprotected (%llu): %s",
	      (unsigned long long)ack.unprotected, record.fault);
	atomic_store(&disk_full, false);
	AWAIT(look(50).unprotected == 0);
	ack = look(50);
	CHECK(ack.durable == 50 && atomic_load(&record.unprotected) == 0,
	      "there is room again: protected again, nothing is lacking");
	end_scan();
	read_log(record.name);
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
	AWAIT(atomic_load(&record.failed) != 0);
	ack = look(1000);
	CHECK(ack.durable == 1000 && atomic_load(&record.dropped) > 0, "%llu of 1000 found no room",
	      (unsigned long long)atomic_load(&record.dropped));
	atomic_store(&disk_full, false);
	AWAIT((ack = look(1000)).unprotected == atomic_load(&record.dropped));
	CHECK(atomic_load(&record.unprotected) == 0, "protected again");
	for (; n <= 1100; n++)
		put(3, n);
	AWAIT(look(1100).durable == 1100 && atomic_load(&record.done) == atomic_load(&record.put));
	end_scan();
	bs_keeper_words(&k, words, sizeof(words));
	read_log(record.name);
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
	AWAIT(atomic_load(&record.failed) != 0);
	CHECK(look(1000).durable == 1000 && atomic_load(&record.dropped) > 0,
	      "a full disk, and no room in memory: all 1000 are said to be durable, unprotected");
	atomic_store(&disk_full, false);
	AWAIT(look(1000).unprotected == atomic_load(&record.dropped));
	atomic_store(&disk_hangs, true);
	now = bs_now_ns();
	put_at(7, 1001, now);
	CHECK(look_at(1001, now).durable == 1000, "protected again, 1001 waits, 1000 as before");
	atomic_store(&disk_hangs, false);
	AWAIT(look(1001).durable == 1001);
	end_scan();
	clean();
}

/* A call that hangs: after a while nothing is waited for, and the outcome does not wait either. */
static void test_hangs(void)
{
	struct bs_wire_ack ack = { 0 };
	char words[128];
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
	bs_keeper_end(&k, false, bs_now_ns());
	CHECK(!bs_keeper_ended(&k, k.ended_ns) && bs_keeper_ended(&k, later + BS_KEEPER_SLOW_NS),
	      "the scan's end waits for a while");
	bs_keeper_words(&k, words, sizeof(words));
	CHECK(strstr(words, "lacks 1 messages") != NULL, "\"%s\"", words);
	open_scan(5);
	put(5, 1);
	CHECK(look(1).durable == 1 && look(1).unprotected == 2,
	      "the next scan is unprotected, too");
	atomic_store(&disk_hangs, false);
	AWAIT(durable(1));
	end_scan();
	read_log(record.name);
	CHECK(got.count == 2 && got.sealed && atomic_load(&record.unprotected) == 0,
	      "the next scan has its log, and is protected");
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
	AWAIT(atomic_load(&record.failed) != 0);
	end_scan();
	bs_keeper_words(&k, words, sizeof(words));
	read_log(record.name);
	CHECK(got.count == 2 && !got.sealed && !got.damaged && strstr(words, "lacks 1") != NULL,
	      "the log has what was durable: %s", words);
	const uint64_t tail = atomic_load(&record.tail);

	open_scan(7);
	AWAIT(look(0).unprotected == 1);
	end_scan();
	bs_keeper_words(&k, words, sizeof(words));
	CHECK(strcmp(words, "no log: it could not be written") == 0, "\"%s\"", words);
	atomic_store(&disk_full, false);
	clean();
	bs_keeper_stop(&k);
	atomic_store(&record.tail, tail); /* it was killed right before it moved that */
	CHECK(start(), "a successor starts");
	AWAIT(atomic_load(&record.tail) == atomic_load(&record.head));
	CHECK(files_in(dir, BS_LOG_SUFFIX) == 0, "what was given up is not begun again");
}

int main(void)
{
	(void)snprintf(spec.dir, sizeof(spec.dir), "%s", dir);
	CHECK(bs_log_spare_fill(dir, 0, SEGMENT, &why) == 0 && start(), "starts: %s", why.text);
	test_whole();
	test_fails();
	test_full_ring();
	test_goes_on();
	test_hangs();
	test_ends_full();
	test_ends_failed();
	bs_keeper_stop(&k);
	return check_done();
}
