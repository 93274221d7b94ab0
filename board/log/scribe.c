/* board/log/scribe.c - the keeper's thread: writes the ring's messages to disk; see keeper.h */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "board/log/spool.h"
#include "core/log.h"
#include "core/thread/clock.h"
#include "drivers/log/finish.h"

/* Frees the ring's entries between tail and read. kept: they are durable; else: given up. */
static void publish(struct bs_keeper *k, bool kept)
{
	struct bs_log_record *r = k->r;
	const int64_t now = bs_now_ns();
	uint64_t at = atomic_load(&r->tail);

	if (at == k->read)
		return;
	for (; at != k->read; at = bs_spool_behind(k, at)) {
		const struct bs_spool_entry *e = bs_spool_at(k, at);

		if (e->kind == BS_SPOOL_SKIP || e->kind == BS_SPOOL_END)
			continue;
		if (kept) {
			bs_hist_add(&r->lag, now - e->put_ns);
			atomic_fetch_add(&r->bytes, e->len);
		} else {
			/* an older scan's outcome has been sent already */
			if (e->index >= atomic_load(&r->begun))
				atomic_fetch_add(&r->given_up, 1);
			atomic_fetch_add(&r->lacking, 1);
		}
	}
	/* a successor that knew the mark alone would write again what the sender was told of */
	atomic_store(&r->done, k->read_entries);
	atomic_store(&r->mark, k->read_mark);
	/* the value is stored last: a successor starts to count here */
	atomic_store(&r->tail, k->read);
	k->o.wake(k->o.arg);
}

static void close_log(struct bs_keeper *k)
{
	bs_log_writer_close(k->writer);
	k->r->state = BS_SPOOL_NO_LOG;
	k->taken = 0;
	bs_stock_wake(&k->stock);
}

/* Notes that the log has failed; it is tried again at retry_ns. Returns false. */
static bool fail_log(struct bs_keeper *k, const struct bs_fail *why)
{
	struct bs_log_record *r = k->r;

	k->retry_ns = bs_now_ns() + BS_KEEPER_RETRY_NS;
	atomic_store(&r->failed_at, k->read_entries);
	if (atomic_load(&r->failed) == 0) {
		(void)snprintf(r->fault, sizeof(r->fault), "%s", why->text);
		atomic_store(&r->failed, 1);
		k->o.wake(k->o.arg);
	}
	return false;
}

static void make_folder(struct bs_keeper *k)
{
	if (k->o.make != NULL) /* a failure shows when a file is opened */
		(void)k->o.make(k->o.spec->dir, 0750, NULL);
}

/*
 * rc: what a call of the writer returned. After a failure the writer continues in another segment.
 * False: that failed, too.
 */
static bool survives(struct bs_keeper *k, int rc, struct bs_fail *why)
{
	if (rc == 0)
		return true;
	atomic_fetch_add(&k->r->failures, 1);
	if (k->writer->removed != 0)
		bs_log(BS_LOG_WARN, "%s: %llu messages that it had are in no file", why->text,
		       (unsigned long long)k->writer->removed);
	atomic_fetch_add(&k->r->given_up, k->writer->removed);
	k->writer->removed = 0;
	make_folder(k);
	if (bs_log_writer_continue(k->writer, why) != 0)
		return fail_log(k, why);
	return true;
}

static void note_segments(struct bs_keeper *k)
{
	const uint32_t now = k->writer->head.index + 1;

	if (now == k->taken)
		return;
	atomic_fetch_add(&k->r->segments, 1);
	k->taken = now;
	bs_stock_wake(&k->stock);
}

static bool commit(struct bs_keeper *k)
{
	struct bs_log_record *r = k->r;
	const int64_t begin = bs_now_ns();
	struct bs_fail why;

	if (r->state == BS_SPOOL_NO_LOG)
		return true;
	if (!survives(k, bs_log_writer_commit(k->writer, &why), &why))
		return false;
	if (atomic_load(&r->tail) != k->read) {
		bs_hist_add(&r->commit, bs_now_ns() - begin);
		atomic_fetch_add(&r->commits, 1);
	}
	note_segments(k);
	publish(k, true);
	bs_log_writer_chain(k->writer); /* the sender has heard of the commit */
	return true;
}

static bool append(struct bs_keeper *k, const struct bs_spool_entry *e)
{
	struct bs_fail why;
	int rc = bs_log_writer_append(k->writer, e + 1, e->len, e->put_ns, &why);

	if (rc == 0)
		return true;
	if (!survives(k, rc, &why))
		return false;
	rc = bs_log_writer_append(k->writer, e + 1, e->len, e->put_ns, &why);
	return rc == 0 || fail_log(k, &why);
}

void bs_scribe_name(const struct bs_log_record *r, char name[BS_LOG_NAME])
{
	bs_log_name(name,
		    &(struct bs_log_head){ .session = r->session, .started_ns = r->started_ns });
}

/* Notes which entry of the ring is which record of the log: a successor's resume needs it. */
static void number_record(struct bs_log_record *r, const struct bs_spool_entry *e, uint64_t next)
{
	atomic_store(&r->first_before,
		     next == 0 || e->records > 0 ? e->index - e->records : atomic_load(&r->first));
	atomic_store(&r->open_at, e->index);
	atomic_store(&r->first, e->index + (next > 0) - next);
}

/* Appends OPEN as the first record, unless a predecessor process did. */
static bool enter_open(struct bs_keeper *k, const struct bs_spool_entry *e)
{
	const uint64_t next = k->writer->next;

	atomic_store(&k->r->entered, e->index + 1);
	number_record(k->r, e, next);
	return next > 0 || append(k, e);
}

/* Continues the log of head's scan, in another file, with record number `next`. */
static int resume_log(const struct bs_keeper *k, const struct bs_log_head *head, uint64_t next,
		      struct bs_fail *why)
{
	const struct bs_log_room room = { k->o.spec->dir, k->segment_bytes, k->buffer,
					  k->buffer_bytes };
	const int rc = bs_log_writer_resume(k->writer, &room, head, next, why);

	k->writer->relaxed = rc == 0 && k->o.spec->mode == BS_LOG_MODE_RELAXED;
	k->writer->signer = rc == 0 ? k->o.signer : NULL;
	return rc;
}

/* Opens the log of the scan that this OPEN begins. A predecessor may have begun the log. */
static bool begin_log(struct bs_keeper *k, const struct bs_spool_entry *e)
{
	struct bs_log_record *r = k->r;
	const uint64_t session = bs_wire_session((const unsigned char *)(e + 1));
	const struct bs_log_head head = { .session = session,
					  .started_ns = e->utc_ns > 0 ? e->utc_ns : 0,
					  .scan = e->scan };
	struct bs_fail why;

	if (r->state != BS_SPOOL_NO_LOG && r->session == session)
		return enter_open(k, e);
	if (r->state != BS_SPOOL_NO_LOG)
		close_log(k);
	make_folder(k);
	/* a predecessor process may have made the first file and died right after */
	if (resume_log(k, &head, e->records, &why) != 0) {
		atomic_fetch_add(&r->failures, 1);
		return fail_log(k, &why);
	}
	r->session = head.session;
	r->started_ns = head.started_ns;
	r->scan = head.scan;
	number_record(r, e, e->records);
	atomic_store(&r->state, BS_SPOOL_WRITTEN);
	atomic_fetch_add(&r->unprepared, k->writer->unprepared);
	note_segments(k);
	return enter_open(k, e);
}

static bool is_sealed(const struct bs_keeper *k)
{
	char name[BS_LOG_NAME];

	bs_scribe_name(k->r, name);
	return bs_log_has_end(k->o.spec->dir, name);
}

/*
 * Has the stock end the log of the last OPEN, which this process cannot: OUTCOME names it. end: of
 * its scan, as in the record. early: there was no OUTCOME when that was put. If there still is none
 * the next scan waits for it, and the stock is asked then.
 */
static void end_later(struct bs_keeper *k, uint64_t end, bool early)
{
	char name[BS_LOG_NAME];

	early = early && atomic_load(&k->r->over) < end;
	if (early)
		atomic_store(&k->r->unended, end);
	if (early || k->r->session == 0 || k->opened != atomic_load(&k->r->open_at))
		return;
	bs_scribe_name(k->r, name);
	bs_stock_seal(&k->stock, name);
}

static bool finish_log(struct bs_keeper *k, uint64_t end, bool early)
{
	char name[BS_LOG_NAME];
	struct bs_fail why;
	int rc;

	if (k->r->state == BS_SPOOL_NO_LOG) {
		end_later(k, end, early);
		return true;
	}
	if (!commit(k))
		return false;
	k->writer->uncut = true; /* the stock cuts the file: the next scan's OPEN does not wait */
	k->r->state = BS_SPOOL_SEALED;
	k->writer->early = early;
	rc = bs_log_writer_seal(k->writer, &why);
	if (rc != 0 && !is_sealed(k)) { /* the error was not only in cutting the file */
		if (!survives(k, rc, &why))
			return false;
		rc = bs_log_writer_seal(k->writer, &why);
		if (rc != 0)
			return fail_log(k, &why);
	}
	memcpy(name, k->writer->name, sizeof(name));
	close_log(k);
	bs_stock_cut(&k->stock, name);
	return true;
}

/* Gives the next entry to the writer. False: the log has failed; the entry stays in the ring. */
static bool take_entry(struct bs_keeper *k, const struct bs_spool_entry *e, uint64_t next)
{
	bool good = true;

	if (e->kind == BS_SPOOL_OPEN)
		k->opened = e->index;
	if (e->kind == BS_SPOOL_OPEN)
		good = begin_log(k, e);
	else if (e->kind == BS_SPOOL_MESSAGE)
		good = k->r->state == BS_SPOOL_NO_LOG || append(k, e);
	else if (e->kind == BS_SPOOL_END)
		good = finish_log(k, e->index + 1, e->early != 0);
	if (!good)
		return false;
	k->read = next;
	if (e->kind == BS_SPOOL_SKIP)
		return true;
	k->read_entries = e->index + 1;
	k->read_mark = e->kind == BS_SPOOL_END ? k->read_mark : e->mark;
	if (e->kind == BS_SPOOL_END || k->r->state == BS_SPOOL_NO_LOG)
		publish(k, k->r->state != BS_SPOOL_NO_LOG || e->kind == BS_SPOOL_END);
	else if (k->writer->used == 0) /* the log had this OPEN: nothing is left to commit */
		publish(k, true);
	return true;
}

/*
 * Gives up all entries before number `entries`. Their log stays as it is; where the scan is over,
 * the stock ends it, since OUTCOME names a log that has an end.
 */
static void give_up(struct bs_keeper *k, uint64_t entries)
{
	const uint64_t head = atomic_load(&k->r->head);
	uint64_t end;

	if (k->read_entries >= entries && atomic_load(&k->r->done) >= entries)
		return;
	if (k->r->state != BS_SPOOL_NO_LOG)
		close_log(k);
	while (k->read != head && k->read_entries < entries) {
		const struct bs_spool_entry *e = bs_spool_at(k, k->read);

		if (e->kind != BS_SPOOL_SKIP)
			k->read_entries = e->index + 1;
		if (e->kind == BS_SPOOL_OPEN || e->kind == BS_SPOOL_MESSAGE)
			/* the mark of an OPEN replaces that of the scan before */
			k->read_mark = e->mark;
		if (e->kind == BS_SPOOL_OPEN)
			k->opened = e->index;
		if (e->kind == BS_SPOOL_END) /* before the next scan's OPEN is read */
			end_later(k, e->index + 1, e->early != 0);
		k->read = bs_spool_behind(k, k->read);
	}
	end = atomic_load(&k->r->end);
	if (end != 0) /* its entry may have had no room */
		end_later(k, end, k->r->early != 0);
	atomic_store(&k->r->failed, 0); /* of no other scan: the next one's log is tried at once */
	publish(k, false);
}

/* Sleeps until due: the ring is empty, or the log has failed. rung: a message ends the sleep. */
static void rest(struct bs_keeper *k, int64_t due, bool rung)
{
	struct pollfd fd = { k->bell_fd, POLLIN, 0 };
	const int64_t left = due - bs_now_ns();
	const struct timespec t = bs_timespec(left < 0 ? 0 : left);

	if (rung)
		bs_bell_announce(&k->bell);
	if (!rung || atomic_load(&k->r->head) == k->read)
		(void)ppoll(&fd, 1, &t, NULL);
	bs_bell_awake(&k->bell, k->bell_fd);
}

/* Tries a failed log again. If that fails after the scan's end, its log is given up. */
static void try_again(struct bs_keeper *k)
{
	struct bs_log_record *r = k->r;
	const uint64_t end = atomic_load(&r->end);
	struct bs_fail why;
	bool good = true;

	if (bs_now_ns() < k->retry_ns && end <= atomic_load(&r->done)) {
		rest(k, k->retry_ns, false);
		return;
	}
	make_folder(k);
	if (r->state != BS_SPOOL_NO_LOG && k->writer->failed)
		good = bs_log_writer_continue(k->writer, &why) == 0;
	if (good && atomic_load(&r->head) != k->read)
		good = take_entry(k, bs_spool_at(k, k->read), bs_spool_behind(k, k->read));
	if (good)
		good = commit(k);
	k->retry_ns = bs_now_ns() + BS_KEEPER_RETRY_NS;
	if (good)
		atomic_store(&r->failed, 0);
	else if (end > atomic_load(&r->done))
		give_up(k, end);
}

static bool work_off(struct bs_keeper *k)
{
	const uint64_t abandon = atomic_load(&k->r->abandon);
	const struct bs_spool_entry *e;
	int64_t due;

	if (k->o.beat != NULL)
		k->o.beat(k->o.arg);
	if (k->read_entries < abandon || atomic_load(&k->r->done) < abandon)
		give_up(k, abandon);
	if (atomic_load(&k->r->failed) != 0) {
		try_again(k);
		return !atomic_load(&k->stop);
	}
	/* all entries that wait go into one commit */
	while (atomic_load(&k->r->head) != k->read &&
	       (k->r->state == BS_SPOOL_NO_LOG || k->writer->used < BS_LOG_COMMIT_BYTES)) {
		e = bs_spool_at(k, k->read);
		if (!take_entry(k, e, bs_spool_behind(k, k->read)))
			return true;
	}
	due = k->r->state != BS_SPOOL_NO_LOG ? bs_log_writer_due(k->writer) : INT64_MAX;
	if (due <= bs_now_ns()) {
		(void)commit(k);
	} else if (atomic_load(&k->r->head) == k->read) {
		if (atomic_load(&k->stop) && due == INT64_MAX)
			return false;
		rest(k, due < INT64_MAX ? due : bs_now_ns() + BS_KEEPER_SLOW_NS, due == INT64_MAX);
	}
	return true;
}

/*
 * Continues a log that a dead process was writing. That process's writer may be inconsistent and is
 * not used. Its messages beyond `done` are written again.
 */
static void resume(struct bs_keeper *k)
{
	struct bs_log_record *r = k->r;
	const struct bs_log_head head = { .session = r->session,
					  .started_ns = r->started_ns,
					  .scan = r->scan };
	const uint64_t done = atomic_load(&r->done);
	const uint64_t first =
		atomic_load(done <= atomic_load(&r->open_at) ? &r->first_before : &r->first);
	const int64_t ahead = (int64_t)(done - first); /* first may lie before entry 0 */
	const uint64_t durable = ahead > 0 ? (uint64_t)ahead : 0;
	/* entries before this one are in the log, or given up */
	const uint64_t there = r->state == BS_SPOOL_NO_LOG ? done : first + durable;
	struct bs_fail why;

	k->opened = atomic_load(&r->open_at);
	while (k->read != atomic_load(&r->head)) {
		const struct bs_spool_entry *e = bs_spool_at(k, k->read);

		if (e->kind != BS_SPOOL_SKIP && e->index >= there)
			break;
		if (e->kind != BS_SPOOL_SKIP) {
			k->read_entries = e->index + 1;
			k->read_mark = e->mark;
		}
		k->read = bs_spool_behind(k, k->read);
	}
	if (r->state == BS_SPOOL_NO_LOG) { /* the entries were given up and counted */
		atomic_store(&r->tail, k->read);
		return;
	}
	publish(k, true);
	if (r->state == BS_SPOOL_SEALED && is_sealed(k)) {
		r->state = BS_SPOOL_NO_LOG;
		return;
	}
	r->state = BS_SPOOL_WRITTEN;
	if (resume_log(k, &head, durable, &why) == 0) {
		note_segments(k);
		return;
	}
	r->state = BS_SPOOL_NO_LOG; /* the log stays as it is; the scan's rest is in no log */
	atomic_fetch_add(&r->failures, 1);
	(void)fail_log(k, &why);
	if ((k->o.required || atomic_load(&r->end) != 0) && k->read == atomic_load(&r->head))
		atomic_store(&r->failed, 0); /* of no other scan: the next one's log is tried */
	atomic_store(&r->abandon, atomic_load(&r->put));
}

void *bs_scribe_run(void *arg)
{
	struct bs_keeper *k = arg;

	k->o.enter(k->o.arg);
	resume(k);
	atomic_store(&k->resumed, true);
	while (work_off(k))
		;
	bs_log_writer_close(k->writer);
	return NULL;
}
