/*
 * test/unit/board/ingest/test_owed.c - a scan whose outcome is owed keeps its record: no other one
 * takes it, whoever dies meanwhile
 */
#include "test/unit/board/ingest/successor.h"

static bool may_open(void)
{
	return bs_ingest_may_open(&in, false);
}

/*
 * A scan from the log of a service before, and ingest ends while it gives it its outcome: until
 * that is done no other scan is opened, neither the one whose log has its turn then nor a new one.
 */
static void test_end_apart(void)
{
	struct bs_reopened *o = env.shm.s->reopened;
	struct bs_wire_outcome said;
	char words[2][64] = { "", "" };

	keep_log();
	(void)strcpy(o[0].log, "older.bslog");
	o[0].sealed = o[0].early = 1;
	o[0].session = in.now.session;
	atomic_store(&o[0].scan, in.now.id);
	atomic_store(&o[0].step, BS_REOPEN_WAITS);
	o[1].number = in.now.id + 1;
	atomic_store(&o[1].step, BS_REOPEN_FOUND);
	bs_ingest_drain(&in, &in.now, BS_ON_FAULT);
	atomic_store(&in.now.record->ended, in.now.id);
	CHECK(!may_open(), "its outcome is owed: no other scan is opened");
	for (int i = 0; i < 2; i++) {
		bs_ingest_log_words(&in, &in.now, words[i], sizeof(words[i]));
		succeed();
		bs_ingest_reopen_start(&in);
		CHECK(in.now.state == BS_STATE_ABORTING && !may_open() &&
			      strcmp(words[i], "log older.bslog") == 0,
		      "it still is for a successor, who says the same of it: %s", words[i]);
	}
	in.now.ack_due = true;
	in.now.unacked = 1;
	bs_ingest_end(&in, &in.now, BS_ON_DONE);
	CHECK(!in.now.ack_due && in.now.unacked == 0,
	      "no ACK follows, which would call a CLOSE durable that its log may lack");
	CHECK(due_of(in.now.session) != NULL &&
		      bs_wire_get_outcome(&said, due_of(in.now.session)->outcome,
					  BS_WIRE_OUTCOME_BYTES, NULL) == 0 &&
		      strstr(said.text, words[0]) != NULL,
	      "so does the outcome: %s", said.text);
	CHECK(in.now.state == BS_STATE_IDLE && atomic_load(&o[0].step) == BS_REOPEN_OVER,
	      "with it the log is left");
	atomic_store(&o[0].step, BS_REOPEN_WAITS); /* as one leaves it that ends before that */
	succeed();
	bs_ingest_reopen_start(&in);
	CHECK(in.now.state == BS_STATE_IDLE && atomic_load(&o[0].step) == BS_REOPEN_OVER,
	      "which a successor does, too");
	atomic_store(&o[1].step, BS_REOPEN_OVER);
	keeper = in.log = NULL;
	open_scan();
}

/* The newer of two scans ends first, as where its end is seen first: no log is taken up yet. */
static void test_beside(void)
{
	struct bs_reopened *o = &env.shm.s->reopened[1];

	close_it();
	CHECK(ask("p", 7) == 0 && in.before.id != 0, "two scans are open");
	close_it();
	o->sealed = 1;
	atomic_store(&o->step, BS_REOPEN_FOUND);
	atomic_store(&in.now.record->ended, in.now.id);
	bs_ingest_end(&in, &in.now, BS_ON_DONE);
	bs_ingest_reopen(&in);
	CHECK(in.now.state == BS_STATE_IDLE && in.before.id != 0 &&
		      atomic_load(&o->step) == BS_REOPEN_FOUND,
	      "the one before has yet to end: the log waits");
}

int main(void)
{
	open_memory();
	open_scan();
	test_end_apart();
	test_beside();
	bs_shm_close(&env.shm);
	return check_done();
}
