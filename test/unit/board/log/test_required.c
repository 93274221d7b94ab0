/*
 * test/unit/board/log/test_required.c - a log that is required, as `boreside record` has it: its
 * disk is waited for, and nothing is called durable that is not on it
 */
#define _GNU_SOURCE /* mkdtemp */
#include "test/unit/board/log/keeping.h"

int main(void)
{
	uint64_t n = 2;
	struct bs_wire_ack ack;

	CHECK(begin_keeping(), "starts: %s", why.text);
	k.o.required = true;
	open_scan(6);
	put(6, 1);
	AWAIT(durable(1));
	atomic_store(&disk_hangs, true);
	put(6, n);
	ack = look_at(n, bs_now_ns() + 2 * BS_KEEPER_SLOW_NS);
	CHECK(ack.durable == 1 && ack.unprotected == 0, "a slow disk is waited for");
	while (!bs_keeper_full(&k) && n < 1000)
		put(6, ++n);
	CHECK(n < 1000 && atomic_load(&shared->record.dropped) == 0 && !bs_keeper_broken(&k),
	      "the ring is said to be full at message %llu, and has all", (unsigned long long)n);
	atomic_store(&disk_hangs, false);
	AWAIT(durable(n));
	CHECK(!bs_keeper_full(&k), "then there is room");
	atomic_store(&disk_full, true);
	put(6, n + 1);
	AWAIT(atomic_load(&shared->record.failed) != 0);
	CHECK(bs_keeper_broken(&k) && look(n + 1).log == BS_WIRE_LOG_OFF,
	      "a disk that fails: nothing more is acknowledged");
	atomic_store(&disk_full, false);
	end_scan();
	read_log(shared->record.name);
	CHECK(got.last >= n && got.twice == 0 && !got.damaged, "what was durable is in the log");
	bs_keeper_stop(&k);
	return check_done();
}
