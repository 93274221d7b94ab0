/* board/ingest/reopen.c - a scan that a service before this one was killed in; see ingest.h */
#include "board/ingest/ingest.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/thread/clock.h"
#include "drivers/log/folder.h"
#include "drivers/log/reader.h"
#include "ipc/wire/envelope.h"

#define TRIES 3 /* attempts to read a file's head */

/* Gives up reopening the scan of this log, and reports why. */
static void leave(struct ingest *in, const struct bs_reopened *o, const struct bs_fail *why)
{
	bs_worker_tell(in->env, BS_EVENT_FAULT, why->code, 0,
		       "log %s: the scan does not go on: %.200s; `boreside recon` takes the log",
		       o->log, why->text);
	bs_ingest_log_leave(in);
}

/* ---- at the start ---- */

/* Fills in *o from the log's head and seal; returns the step that the log is at. */
static uint32_t look_into(struct ingest *in, struct bs_reopened *o, const struct bs_log_entry *log)
{
	const char *dir = in->env->site.log.dir;
	struct bs_log_reader *r;
	struct bs_fail why;
	bool early;

	(void)snprintf(o->log, sizeof(o->log), "%s", log->name);
	o->sealed = bs_log_folder_sealed(dir, log, &early) == 1;
	if (bs_ingest_log_read(in, o->log, &r, false, &why) != 0) {
		bs_worker_say(in->env, BS_EVENT_FAULT, why.code, NULL, why.text);
		return BS_REOPEN_OVER;
	}
	o->session = bs_log_begins(r)->session;
	o->started_ns = bs_log_begins(r)->started_ns;
	o->number = bs_log_begins(r)->scan;
	bs_log_close(r);
	o->alone_ns = bs_now_ns() + BS_RETURN_NS;
	o->early = early && bs_log_folder_made(dir) != o->session;
	atomic_store(&o->scan, 0);
	o->gone_on = 0;
	return o->sealed && !o->early ? BS_REOPEN_ENDED : BS_REOPEN_FOUND;
}

/* True if the log's last file says that it was sealed before its images were made. */
static bool is_early(struct ingest *in, const struct bs_log_entry *log)
{
	bool early = false;
	int rc = BS_ERR_IO;

	for (int i = 0; i < TRIES && rc < 0; i++)
		rc = bs_log_folder_sealed(in->env->site.log.dir, log, &early);
	if (rc < 0)
		bs_worker_tell(in->env, BS_EVENT_FAULT, rc, 0,
			       "log %s: it cannot be read whether its images were made", log->name);
	return early;
}

/* True if the log has at most an OPEN: no other message of its scan was taken. */
static bool is_empty(const struct ingest *in, const struct bs_log_entry *log)
{
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_fail why;
	int rc = BS_ERR_IO;

	for (int i = 0; i < TRIES && rc < 0; i++) {
		rc = bs_ingest_log_read(in, log->name, &r, false, &why);
		if (rc != 0)
			continue;
		rc = bs_log_next(r, &m, &why);
		if (rc == 1)
			rc = bs_log_next(r, &m, &why);
		bs_log_close(r);
	}
	return rc == 0;
}

/*
 * Finds the logs to reopen: the newest, and the one before it if that was sealed before its images
 * were made. Between the two may be empty logs, of scans at whose OPEN an earlier process died.
 */
static void look(struct ingest *in)
{
	struct bs_reopened *o = in->env->shm.s->reopened;
	const char *dir = in->env->site.log.dir;
	struct bs_log_entry *list = NULL;
	struct bs_fail why = { 0 };
	uint32_t step = BS_REOPEN_OVER;
	size_t before;
	size_t n = 0;

	atomic_store(&in->env->shm.s->reopening, 0);
	o[0].early = 0;
	if (in->log != NULL && bs_log_folder_list(dir, &list, &n, &why) != 0)
		bs_worker_say(in->env, BS_EVENT_FAULT, why.code, NULL, why.text);
	before = n;
	if (n > 0)
		step = look_into(in, &o[1], &list[n - 1]);
	while (before > 1 && is_empty(in, &list[before - 2]))
		before--;
	/* an older log without a seal is sealed by another thread (board/log/stock.h) */
	if (before > 1 && is_early(in, &list[before - 2]))
		(void)look_into(in, &o[0], &list[before - 2]);
	/* the older was not continued, and its sender began anew */
	if (o[0].session == o[1].session)
		o[0].early = 0;
	atomic_store(&o[0].step, o[0].early ? BS_REOPEN_FOUND : BS_REOPEN_OVER);
	atomic_store(&o[1].step, step);
	free(list);
}

/* Leaves a log whose scan a predecessor process ended before it died. */
static void end_log(struct ingest *in, const struct bs_reopened *o)
{
	if (o->early)
		bs_keeper_made(in->log, o->session);
	bs_ingest_log_leave(in);
}

/*
 * True if the messages that a dead process held beyond a gap are to be read again. Their sender may
 * not send them again: the service before may have called them durable.
 */
static bool reads_again(const struct ingest *in, const struct bs_reopened *o)
{
	const uint32_t step = atomic_load(&o->step);

	return in->now.state == BS_STATE_SCANNING &&
	       (step == BS_REOPEN_WAITS ||
		(step == BS_REOPEN_OVER && o->gone_on && atomic_load(&o->scan) == in->now.id));
}

void bs_ingest_reopen_start(struct ingest *in)
{
	if (atomic_load(&in->env->shm.s->reopened[1].step) == BS_REOPEN_NOT_LOOKED)
		look(in);
	struct bs_reopened *o = bs_ingest_reopened(in);
	const uint32_t step = atomic_load(&o->step);
	const bool its = bs_ingest_in_scan(&in->now) && atomic_load(&o->scan) == in->now.id;
	const struct bs_fail ends = { BS_ERR_ABORTED, "its OPEN ends the process that reads it" };

	if (step == BS_REOPEN_OPENS && !its && atomic_load(&in->env->me->killed))
		atomic_store(&o->step, BS_REOPEN_FOUND);
	else if (step == BS_REOPEN_OPENS && !its)
		leave(in, o, &ends);
	else if (step > BS_REOPEN_OPENS && step < BS_REOPEN_OVER && !its)
		end_log(in, o);
	else if (step == BS_REOPEN_OPENS || step == BS_REOPEN_READS || reads_again(in, o))
		atomic_store(&o->step, BS_REOPEN_READS);
	if (atomic_load(&o->step) == BS_REOPEN_READS && in->feed == NULL)
		bs_ingest_feed_rest(in);
}

/* ---- the OPEN of a reopened scan ---- */

/* Opens the scan by the log's first message, as any OPEN is. False: the scan is not opened. */
static bool open_scan(struct ingest *in, struct bs_fail *why)
{
	const unsigned char *payload;
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_reopened *o = bs_ingest_reopened(in);
	struct bs_wire w;
	int rc = bs_ingest_log_read(in, o->log, &r, true, why);

	if (rc != 0)
		return false;
	rc = bs_log_next(r, &m, why);
	if (rc == 0)
		rc = bs_fail(why, BS_ERR_LENGTH, "it has no message");
	if (rc == 1)
		rc = bs_wire_decode(&w, m.bytes, m.len, &payload, why);
	if (rc == 0 && w.kind != BS_WIRE_OPEN)
		rc = bs_fail(why, BS_ERR_KIND, "it does not begin with OPEN");
	if (rc == 0) {
		o->session = w.session;
		in->from = 0;
		for (uint32_t i = 0; i < BS_WAITING_MAX; i++)
			if (bs_ingest_waits_at(&in->waiting[i], w.session) &&
			    bs_gate_here(&in->gate, in->waiting[i].peer))
				in->from = in->waiting[i].peer;
		in->reopens = o->number;
		rc = bs_ingest_open(in, &w, payload);
		in->reopens = 0;
		(void)bs_fail(why, rc, "its OPEN is refused");
	}
	bs_log_close(r);
	return rc == 0;
}

void bs_ingest_reopen(struct ingest *in)
{
	struct bs_reopened *o;
	struct bs_fail why;

	if (in->now.state != BS_STATE_IDLE || in->before.id != 0 || bs_worker_stop(in->env))
		return;
	bs_ingest_log_newer(in);
	o = bs_ingest_reopened(in);
	if (atomic_load(&o->step) != BS_REOPEN_FOUND)
		return;
	atomic_store(&o->step, BS_REOPEN_OPENS);
	bs_worker_tell(in->env, BS_EVENT_NOTE, 0, in->now.id,
		       "log %s %s: the service before was killed in that scan, which goes on from "
		       "the log",
		       o->log,
		       o->early    ? "was sealed before its images were made"
		       : o->sealed ? "is whole, but its sender asks"
				   : "has no end");
	if (open_scan(in, &why)) {
		bs_ingest_feed_rest(in);
		return;
	}
	leave(in, o, &why);
}

/* ---- once a reopened scan's log is read ---- */

bool bs_ingest_reopen_waits(struct ingest *in, int64_t now)
{
	const struct bs_reopened *o = bs_ingest_reopened(in);
	struct bs_fail why;

	if (atomic_load(&o->step) != BS_REOPEN_WAITS)
		return false;
	in->now.heard_ns = in->now.order.gap_since_ns = now;
	if (now < o->until_ns && !bs_worker_stop(in->env))
		return true;
	while (in->now.state == BS_STATE_SCANNING && bs_ingest_reopen_closed(in))
		bs_ingest_give_up_gap(in, &in->now, BS_NUMBER_NONE);
	if (in->now.state != BS_STATE_SCANNING)
		return true;
	if (o->sealed)
		(void)bs_fail(
			&why, BS_ERR_ABORTED,
			"the scan was over, after number %llu, when the service ended; its outcome "
			"was not heard",
			(unsigned long long)(in->now.order.next - 1));
	else
		(void)bs_fail(
			&why, BS_ERR_TIMEOUT,
			"the service was killed and started again, and the scan's sender did not "
			"come back, after number %llu",
			(unsigned long long)(in->now.order.next - 1));
	bs_ingest_abort(in, &in->now, &why, o->sealed ? BS_ON_FAULT : BS_ON_SILENCE);
	return true;
}
