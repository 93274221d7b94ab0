/* board/ingest/await.c - scans that go on from their logs: turns, senders; see ingest.h */
#include "board/ingest/ingest.h"
#include "core/thread/clock.h"

/* ---- before the OPEN of a reopened scan ---- */

/* True if this session is the newest log's, and the older log's scan is reopened before it. */
static bool waits_its_turn(struct ingest *in, uint64_t session)
{
	struct bs_reopened *o = in->env->shm.s->reopened;
	const uint32_t step = atomic_load(&o[1].step);

	if (atomic_load(&in->env->shm.s->reopening) != 0 || o[1].session != session ||
	    (atomic_load(&o[0].step) == BS_REOPEN_OVER && !bs_ingest_in_scan(&in->now)))
		return false;
	if (step == BS_REOPEN_ENDED)
		atomic_store(&o[1].step, BS_REOPEN_FOUND);
	return step == BS_REOPEN_ENDED || step == BS_REOPEN_FOUND;
}

bool bs_ingest_reopen_due(struct ingest *in, uint64_t session)
{
	struct bs_reopened *o;

	if (waits_its_turn(in, session))
		return true;
	if (!bs_ingest_in_scan(&in->now))
		bs_ingest_log_newer(in);
	o = bs_ingest_reopened(in);
	if (o->session != session || bs_ingest_in_scan(&in->now))
		return false;
	/* the sender asks, because it never got the outcome */
	if (atomic_load(&o->step) == BS_REOPEN_ENDED)
		atomic_store(&o->step, BS_REOPEN_FOUND);
	return atomic_load(&o->step) == BS_REOPEN_FOUND;
}

bool bs_ingest_reopen_first(const struct ingest *in)
{
	const struct bs_reopened *o = in->env->shm.s->reopened;
	const uint32_t newest = atomic_load(&o[1].step);

	return atomic_load(&o[0].step) == BS_REOPEN_FOUND || newest == BS_REOPEN_FOUND ||
	       (newest == BS_REOPEN_ENDED && bs_now_ns() < o[1].alone_ns);
}

/* ---- once a reopened scan's log is read ---- */

/*
 * Continues the reopened scan's log in another file, now that its sender is connected. ACCEPT, and
 * the ACKs after it, wait for that file.
 */
static void go_on(struct ingest *in)
{
	struct bs_reopened *o = bs_ingest_reopened(in);
	const struct bs_log_head head = { .session = o->session,
					  .started_ns = o->started_ns,
					  .scan = (uint32_t)in->now.id };

	bs_keeper_go_on(in->log, &head, o->records, in->now.order.next - 1, bs_now_ns());
	in->now.accept_due = true;
	o->gone_on = 1;
	atomic_store(&o->step, BS_REOPEN_OVER);
}

bool bs_ingest_reopen_closed(const struct ingest *in)
{
	const struct bs_reopened *o = bs_ingest_reopened(in);
	bool closed = false;

	for (uint32_t i = 0; i < BS_HELD_MAX && atomic_load(&o->scan) == in->now.id; i++)
		closed = closed || in->now.order.held[i].kind == BS_WIRE_CLOSE;
	return closed;
}

void bs_ingest_reopen_read(struct ingest *in, uint64_t records)
{
	struct bs_reopened *o = bs_ingest_reopened(in);
	const double s = o->sealed ? 0.0 : in->env->site.log.resume_s;

	o->records = records;
	if (!bs_gate_here(&in->gate, in->now.peer))
		in->now.peer = 0; /* the sender has left, and has time to come back */
	/* the sender sends the held messages again: the log has them already */
	for (uint32_t i = 0; i < BS_HELD_MAX && !o->sealed; i++)
		if (in->now.order.held[i].kind != 0)
			bs_keeper_has(in->log, in->now.order.held[i].seq);
	if (o->gone_on) { /* the process that had read it before has died */
		atomic_store(&o->step, BS_REOPEN_OVER);
		return;
	}
	o->until_ns = bs_now_ns() + bs_ns_of_ms(s * 1000.0);
	o->alone_ns = bs_now_ns() + BS_RETURN_NS;
	if (bs_ingest_reopen_closed(in) && o->alone_ns < o->until_ns)
		o->until_ns = o->alone_ns;
	atomic_store(&o->step, BS_REOPEN_WAITS);
	bs_worker_tell(in->env, BS_EVENT_NOTE, 0, in->now.id,
		       "log %s is read: %llu messages, the scan goes on at number %llu; its sender "
		       "%s",
		       o->log, (unsigned long long)records, (unsigned long long)in->now.order.next,
		       in->now.peer != 0 ? "is here" : "is awaited");
	if (in->now.peer != 0 && !o->sealed)
		go_on(in);
}

void bs_ingest_reopen_heard(struct ingest *in)
{
	if (in->now.state == BS_STATE_SCANNING && !bs_ingest_reopened(in)->sealed &&
	    atomic_load(&bs_ingest_reopened(in)->step) == BS_REOPEN_WAITS)
		go_on(in);
}

bool bs_ingest_reopen_yields(const struct ingest *in)
{
	const struct bs_reopened *o = bs_ingest_reopened(in);

	return atomic_load(&o->step) == BS_REOPEN_WAITS && bs_now_ns() >= o->alone_ns;
}
