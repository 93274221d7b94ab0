/*
 * test/unit/board/log/test_keeper.c - messages on their way to a log: what an ACK may say at each
 * moment, a disk that fails, hangs or is full, a process that is killed and succeeded
 *
 * The log is read with the reader, message by message: what was said to be durable is in it.
 */
#define _GNU_SOURCE /* mkdtemp */
#include "test/unit/board/log/keeping.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/files.h"

#define KILLS 8

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
	read_log(shared->record.name);
	CHECK(got.count == 2 && got.sealed && atomic_load(&shared->record.unprotected) == 0,
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

/* What a process does until it is killed; its successor goes on and ends the scan. */
static void feed(uint64_t session, uint64_t last)
{
	struct bs_wire_ack ack = { 0 };

	while (atomic_load(&shared->next) <= last) {
		const uint64_t n = atomic_load(&shared->next);

		put(session, n);
		atomic_store(&shared->next, n + 1);
		if (bs_keeper_look(&k, n, bs_now_ns(), &ack) && ack.unprotected == 0)
			atomic_store(&shared->durable, ack.durable);
		if (n % 16 == 0)
			AWAIT((ack = look(n)).log != BS_WIRE_LOG_OFF && ack.unprotected == 0 &&
			      ack.durable + 100 > n);
	}
}

static void test_killed(void)
{
	const uint64_t last = 1000;
	uint64_t seed = 5;
	uint64_t kills = 0;
	int bad = 0;

	for (uint64_t session = 100; session < 100 + KILLS; session++) {
		uint64_t said;
		pid_t pid;

		atomic_store(&shared->next, 0);
		atomic_store(&shared->durable, 0);
		pid = fork();
		if (pid == 0) {
			if (!start())
				_exit(1);
			open_scan(session);
			atomic_store(&shared->next, 1);
			feed(session, last);
			_exit(0);
		}
		const uint64_t until = (uint64_t)(check_uniform(&seed) * (double)last);
		int status;

		AWAIT(atomic_load(&shared->next) > until);
		if (pid <= 0)
			exit(1);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
		kills += WIFSIGNALED(status);
		said = atomic_load(&shared->durable);
		if (!start())
			exit(1);
		feed(session, last);
		end_scan();
		bs_keeper_stop(&k);
		read_log(shared->record.name);
		for (uint64_t n = 0; n <= said; n++)
			bad += !got.has[n];
		if (got.count != last + 1 || got.twice != 0 || !got.sealed || got.damaged) {
			printf("# killed at %llu: %llu messages, %llu twice, %s\n",
			       (unsigned long long)said, (unsigned long long)got.count,
			       (unsigned long long)got.twice, got.damaged ? why.text : "open");
			bad++;
		}
		clean();
	}
	CHECK(bad == 0 && kills > KILLS / 2,
	      "killed %llu times: all messages are in the log, each once (%d are not)",
	      (unsigned long long)kills, bad);
}

/*
 * The moments between two steps of a process that is killed, each made by hand: its commit is done
 * and not published (counted: or half of it), its message is put and the scan's own step is not.
 */
static void test_between(bool counted)
{
	uint64_t tail, done, mark;

	CHECK(start(), "starts");
	open_scan(50);
	put(50, 1);
	AWAIT(durable(1));
	tail = atomic_load(&shared->record.tail);
	done = atomic_load(&shared->record.done);
	mark = atomic_load(&shared->record.mark);
	for (uint64_t n = 2; n <= 20; n++)
		put(50, n);
	AWAIT(durable(20));
	bs_keeper_stop(&k);
	atomic_store(&shared->record.tail, tail);
	if (!counted) {
		atomic_store(&shared->record.done, done);
		atomic_store(&shared->record.mark, mark);
	}
	CHECK(start(), "a successor starts");
	put(50, 20); /* it comes again */
	for (uint64_t n = 21; n <= 30; n++)
		put(50, n);
	AWAIT(durable(30));
	end_scan();
	bs_keeper_stop(&k);
	read_log(shared->record.name);
	CHECK(got.count == 31 && got.twice == 0 && got.sealed && !got.damaged,
	      "each message once: %llu, %llu twice", (unsigned long long)got.count,
	      (unsigned long long)got.twice);
	clean();
}

/* A process that died over a scan's OPEN has put it; its successor puts it once more. */
static void test_open_again(void)
{
	char words[128];

	clean();
	open_scan(77);
	AWAIT(durable(0));
	open_scan(77);
	AWAIT(durable(0));
	CHECK(atomic_load(&shared->record.done) == atomic_load(&shared->record.put),
	      "what is in the log already is waited for no longer");
	bs_keeper_words(&k, words, sizeof(words));
	CHECK(strncmp(words, "log ", 4) == 0 && strstr(words, "lacks") == NULL,
	      "and the log has its name: %s", words);
	end_scan();
}

/* A successor that is killed while it takes the log up, its writer half made; and the next one. */
static void test_half_resumed(void)
{
	clean();
	CHECK(start(), "starts");
	open_scan(51);
	for (uint64_t n = 1; n <= 10; n++)
		put(51, n);
	AWAIT(durable(10));
	bs_keeper_stop(&k);
	memset(shared->record.writer, 0, sizeof(shared->record.writer));
	CHECK(start(), "a successor of a successor starts");
	for (uint64_t n = 11; n <= 20; n++)
		put(51, n);
	AWAIT(durable(20));
	end_scan();
	bs_keeper_stop(&k);
	read_log(shared->record.name);
	CHECK(got.count == 21 && got.twice == 0 && got.sealed && !got.damaged,
	      "all that was durable is in the scan's log: %llu, %llu twice",
	      (unsigned long long)got.count, (unsigned long long)got.twice);
	clean();
}

int main(void)
{
	CHECK(begin_keeping(), "starts: %s", why.text);
	test_whole();
	test_fails();
	test_full_ring();
	test_goes_on();
	test_hangs();
	test_ends_full();
	test_ends_failed();
	test_open_again();
	bs_keeper_stop(&k);
	test_between(false);
	test_between(true);
	test_half_resumed();
	test_killed();
	return check_done();
}
