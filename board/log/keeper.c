/* board/log/keeper.c - the caller's thread puts messages into the keeper's ring; see keeper.h */
#include "board/log/keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "board/log/spool.h"
#include "core/thread/clock.h"
#include "drivers/log/folder.h"

/* Puts an entry and its message into the ring. entry: without its index. False: no room. */
static bool put_entry(struct bs_keeper *k, const struct bs_spool_entry *entry,
		      const unsigned char *msg)
{
	struct bs_log_record *r = k->r;
	const size_t len = entry->len;
	const uint64_t bytes = bs_spool_bytes(len);
	const uint64_t index = atomic_load(&r->put);
	uint64_t at = atomic_load(&r->head);
	const uint64_t left = k->o.ring_bytes - at % k->o.ring_bytes;
	const uint64_t skip = bytes > left ? left : 0;
	struct bs_spool_entry *e;

	if (len > k->o.message_max || at + skip + bytes - atomic_load(&r->tail) > k->o.ring_bytes)
		return false;
	if (skip != 0)
		bs_spool_at(k, at)->kind = BS_SPOOL_SKIP;
	at += skip;
	e = bs_spool_at(k, at);
	*e = *entry;
	e->index = index;
	if (len > 0)
		memcpy(e + 1, msg, len);
	if (atomic_load(&r->done) == index) /* the ring was empty: the wait for progress begins */
		k->progress_ns = e->put_ns;
	atomic_store(&r->put, index + 1);
	atomic_store(&r->head, at + bytes);
	bs_bell_ring(&k->bell, k->bell_fd);
	return true;
}

static void drop(struct bs_keeper *k)
{
	struct bs_log_record *r = k->r;

	atomic_store(&r->dropped, atomic_load(&r->dropped) + 1);
	atomic_store(&r->lacking, atomic_load(&r->lacking) + 1);
	r->owed = atomic_load(&r->put);
}

static void begin_scan(struct bs_keeper *k, const struct bs_spool_entry *open,
		       const unsigned char *msg)
{
	struct bs_log_record *r = k->r;

	atomic_store(&r->dropped, 0);
	atomic_store(&r->begun, atomic_load(&r->put)); /* the scan before is no longer counted */
	r->given_before = atomic_load(&r->given_up);
	r->told = 0;
	atomic_store(&r->end, 0);
	r->name[0] = '\0';
	k->ended_ns = 0;
	r->skips = !put_entry(k, open, msg);
	if (r->skips)
		drop(k);
}

void bs_keeper_open(struct bs_keeper *k, uint32_t scan, const unsigned char *msg, size_t len,
		    int64_t utc_ns, int64_t now_ns)
{
	memset(k->r->seen, 0, sizeof(k->r->seen));
	begin_scan(k,
		   &(struct bs_spool_entry){ .kind = BS_SPOOL_OPEN,
					     .len = (uint32_t)len,
					     .put_ns = now_ns,
					     .utc_ns = utc_ns,
					     .scan = scan },
		   msg);
}

void bs_keeper_go_on(struct bs_keeper *k, const struct bs_log_head *head, uint64_t records,
		     uint64_t held, int64_t now_ns)
{
	struct bs_wire w = { .kind = BS_WIRE_OPEN, .session = head->session };
	unsigned char open[BS_WIRE_BYTES]; /* an envelope alone: the real OPEN is record 0 */

	bs_wire_encode(open, &w, NULL, 0);
	begin_scan(k,
		   &(struct bs_spool_entry){ .kind = BS_SPOOL_OPEN,
					     .len = sizeof(open),
					     .mark = held,
					     .put_ns = now_ns,
					     .utc_ns = head->started_ns,
					     .records = records,
					     .scan = head->scan },
		   open);
}

void bs_keeper_has(struct bs_keeper *k, uint64_t number)
{
	k->r->seen[number % BS_LOG_SEEN] = number + 1;
}

void bs_keeper_seal(struct bs_keeper *k, const char *name)
{
	bs_stock_seal(&k->stock, name);
}

static void put_message(struct bs_keeper *k, uint64_t held, const unsigned char *msg, size_t len,
			int64_t now_ns)
{
	if (k->r->skips || !put_entry(k,
				      &(struct bs_spool_entry){ .kind = BS_SPOOL_MESSAGE,
								.len = (uint32_t)len,
								.mark = held,
								.put_ns = now_ns },
				      msg))
		drop(k);
}

void bs_keeper_add(struct bs_keeper *k, uint64_t held, const unsigned char *msg, size_t len,
		   int64_t now_ns)
{
	if (atomic_load(&k->r->end) == 0)
		put_message(k, held, msg, len, now_ns);
}

void bs_keeper_put(struct bs_keeper *k, uint64_t number, uint64_t held, const unsigned char *msg,
		   size_t len, int64_t now_ns)
{
	struct bs_log_record *r = k->r;
	uint64_t *seen = &r->seen[number % BS_LOG_SEEN];

	if (*seen == number + 1)
		return; /* a process before this one has put it */
	r->seen_number = number;
	r->seen_at = atomic_load(&r->head);
	*seen = number + 1;
	atomic_signal_fence(memory_order_seq_cst);
	put_message(k, held, msg, len, now_ns);
}

void bs_keeper_made(struct bs_keeper *k, uint64_t session)
{
	bs_stock_made(&k->stock, session);
}

void bs_keeper_end(struct bs_keeper *k, bool early, int64_t now_ns)
{
	struct bs_log_record *r = k->r;
	const uint64_t one = 1;
	uint64_t end = atomic_load(&r->put) + 1;

	if (atomic_load(&r->end) != 0)
		return;
	k->ended_ns = now_ns;
	r->early = early;
	r->endless = r->skips ||
		     !put_entry(k,
				&(struct bs_spool_entry){
					.kind = BS_SPOOL_END, .put_ns = now_ns, .early = early },
				NULL);
	if (r->endless)
		atomic_store(&r->abandon, --end);
	atomic_store(&r->end, end);
	/* wakes the thread also from its wait to retry a log */
	(void)!write(k->bell_fd, &one, sizeof(one));
}

/* Counts the scan's messages that no log has; pending: counts those not durable yet, too. */
static uint64_t lacking(const struct bs_keeper *k, bool pending)
{
	const struct bs_log_record *r = k->r;
	const uint64_t done = atomic_load(&r->done);
	const uint64_t from = done > r->begun ? done : r->begun;
	const uint64_t put = atomic_load(&r->put);
	/* the END entry is no message */
	const uint64_t to = put - (put == atomic_load(&r->end) && !r->endless);
	uint64_t n = atomic_load(&r->dropped) + atomic_load(&r->given_up) - r->given_before;

	return pending && to > from ? n + to - from : n;
}

bool bs_keeper_closed(const struct bs_keeper *k)
{
	const uint64_t end = atomic_load(&k->r->end);

	return end != 0 && atomic_load(&k->r->done) >= end;
}

bool bs_keeper_unended(const struct bs_keeper *k)
{
	const uint64_t end = atomic_load(&k->r->end);

	return end != 0 && atomic_load(&k->r->unended) == end;
}

bool bs_keeper_ended(const struct bs_keeper *k, int64_t now_ns)
{
	return bs_keeper_closed(k) || (atomic_load(&k->r->end) != 0 && !k->o.required &&
				       now_ns - k->ended_ns >= BS_KEEPER_SLOW_NS);
}

bool bs_keeper_news(const struct bs_keeper *k)
{
	/* a required log that fails is never unprotected: bs_keeper_broken tells of it */
	return atomic_load(&k->r->done) != k->seen_done ||
	       atomic_load(&k->r->mark) != k->seen_mark ||
	       (!k->o.required &&
		(atomic_load(&k->r->failed) != 0) > atomic_load(&k->r->unprotected));
}

bool bs_keeper_void(const struct bs_keeper *k)
{
	const struct bs_log_record *r = k->r;

	/* done goes beyond OPEN only when the log exists or is given up */
	return atomic_load(&r->done) > atomic_load(&r->begun) && atomic_load(&r->end) == 0 &&
	       atomic_load(&r->state) == BS_SPOOL_NO_LOG;
}

bool bs_keeper_full(const struct bs_keeper *k)
{
	/* the longest message may have to skip the end of the ring */
	return k->o.required && atomic_load(&k->r->head) - atomic_load(&k->r->tail) +
						2 * bs_spool_bytes(k->o.message_max) >
					k->o.ring_bytes;
}

bool bs_keeper_broken(const struct bs_keeper *k)
{
	const struct bs_log_record *r = k->r;
	/* a failure before the scan's OPEN is the log's of the scan before */
	const bool its = atomic_load(&r->failed_at) >= atomic_load(&r->begun);

	return k->o.required && ((its && atomic_load(&r->failed) != 0) || r->skips ||
				 bs_keeper_void(k) || lacking(k, false) > 0);
}

bool bs_keeper_look(struct bs_keeper *k, uint64_t held, int64_t now_ns, struct bs_wire_ack *ack)
{
	struct bs_log_record *r = k->r;
	const uint64_t done = atomic_load(&r->done);
	const uint64_t mark = atomic_load(&r->mark);
	const uint64_t all = atomic_load(&r->put);
	const bool in_no_log = bs_keeper_void(k);
	bool slow;
	bool open;

	if (done != k->seen_done)
		k->progress_ns = now_ns;
	k->seen_done = done;
	k->seen_mark = mark;
	(void)bs_keeper_name(k); /* emit reads it */
	if (bs_keeper_broken(k))
		return false;
	slow = done < all && now_ns - k->progress_ns >= BS_KEEPER_SLOW_NS;
	if (!k->o.required && (atomic_load(&r->failed) != 0 || slow || r->skips || in_no_log))
		r->owed = all; /* owed stays when the scan has ended */
	open = done < r->owed || r->skips || in_no_log;
	atomic_store(&r->unprotected, open);
	*ack = (struct bs_wire_ack){ .held = held,
				     .durable = held,
				     .unprotected = lacking(k, open),
				     .log = k->o.spec->mode == BS_LOG_MODE_DURABLE
						    ? BS_WIRE_LOG_DURABLE
						    : BS_WIRE_LOG_RELAXED };
	if (ack->unprotected > held + 1) /* messages beyond a gap are put, but not held */
		ack->unprotected = held + 1;
	if (!open && done < all) {
		if (done <= r->begun)
			return false;
		/* durable never goes back: a refused or dropped message leaves no mark */
		ack->durable = mark > r->told ? mark : r->told;
		if (ack->durable > held)
			ack->durable = held;
	}
	r->told = ack->durable;
	return true;
}

int64_t bs_keeper_due(const struct bs_keeper *k)
{
	const struct bs_log_record *r = k->r;
	const int64_t over = k->ended_ns + BS_KEEPER_SLOW_NS;
	int64_t due = INT64_MAX;

	if (atomic_load(&r->done) < atomic_load(&r->put) && !atomic_load(&r->unprotected) &&
	    !k->o.required)
		due = k->progress_ns + BS_KEEPER_SLOW_NS;
	if (atomic_load(&r->done) < atomic_load(&r->end) && over < due && bs_now_ns() < over)
		due = over;
	return due;
}

const char *bs_keeper_name(struct bs_keeper *k)
{
	struct bs_log_record *r = k->r;

	if (r->skips != 0 || atomic_load(&r->entered) != 1 + atomic_load(&r->begun))
		return "";
	if (r->name[0] == '\0') /* the log's thread is at no later scan: session and time stay */
		bs_scribe_name(r, r->name);
	return r->name;
}

void bs_keeper_words(struct bs_keeper *k, char *out, size_t cap)
{
	struct bs_log_record *r = k->r;
	const unsigned long long n = lacking(k, true);
	const bool named = bs_keeper_name(k)[0] != '\0';
	const bool waits = atomic_load(&r->done) < atomic_load(&r->end);

	atomic_store(&r->over, atomic_load(&r->end));
	if (waits)
		atomic_store(&r->abandon, atomic_load(&r->end));
	if (named && n == 0)
		(void)snprintf(out, cap, "log %.63s", r->name);
	else if (named)
		(void)snprintf(out, cap, "log %.63s lacks %llu messages", r->name, n);
	else /* it may come yet where the thread is still at the log before it */
		(void)snprintf(out, cap, "no log: %s",
			       waits && atomic_load(&r->failed) == 0 ? "its disk was too slow"
								     : "it could not be written");
}

/* ---- start and stop ---- */

/* Takes over what a process before this one had put and had not made durable. */
static void take_over(struct bs_keeper *k)
{
	struct bs_log_record *r = k->r;
	const uint64_t head = atomic_load(&r->head);
	uint64_t entries = atomic_load(&r->done);

	k->read = atomic_load(&r->tail);
	k->read_entries = entries;
	k->read_mark = atomic_load(&r->mark);
	for (uint64_t at = k->read; at != head; at = bs_spool_behind(k, at))
		if (bs_spool_at(k, at)->kind != BS_SPOOL_SKIP)
			entries = bs_spool_at(k, at)->index + 1;
	atomic_store(&r->put, entries);
	if (r->seen_at == head && r->seen[r->seen_number % BS_LOG_SEEN] == r->seen_number + 1)
		/* the scan's OPEN is seen, but never put */
		r->seen[r->seen_number % BS_LOG_SEEN] = 0;
	k->seen_done = atomic_load(&r->done);
	k->seen_mark = atomic_load(&r->mark);
	k->progress_ns = k->ended_ns = bs_now_ns();
}

static bool is_used(void *arg, const char *name, bool newest)
{
	const struct bs_keeper *k = arg;

	return (!atomic_load(&k->resumed) && strcmp(name, k->resumes) == 0) ||
	       (k->o.used != NULL && k->o.used(k->o.arg, name, newest));
}

int bs_keeper_start(struct bs_keeper *k, const struct bs_keeper_options *o, struct bs_fail *why)
{
	int rc;

	memset(k, 0, sizeof(*k));
	k->o = *o;
	k->r = o->record;
	k->writer = (struct bs_log_writer *)(void *)k->r->writer;
	k->writer->fd = k->writer->dir_fd = -1;
	k->buffer_bytes = bs_log_writer_bytes(o->message_max);
	k->segment_bytes = o->segment_bytes;
	while (k->segment_bytes / 2 < k->buffer_bytes)
		k->segment_bytes *= 2;
	k->buffer = malloc(k->buffer_bytes);
	k->bell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (k->buffer == NULL || k->bell_fd < 0) {
		bs_keeper_stop(k);
		return bs_fail(why, BS_ERR_NOMEM, "a log's buffer of %zu bytes", k->buffer_bytes);
	}
	/* touches the buffer's pages before the first scan */
	memset(k->buffer, 0, k->buffer_bytes);
	take_over(k);
	if (k->r->state != BS_SPOOL_NO_LOG)
		bs_scribe_name(k->r, k->resumes);
	(void)bs_log_folder_sweep(o->spec->dir);
	rc = bs_stock_start(&k->stock,
			    &(struct bs_stock_options){ .dir = o->spec->dir,
							.segment_bytes = k->segment_bytes,
							.keep_mib = o->spec->keep_mib,
							.keep_hours = o->spec->keep_hours,
							.signer = o->signer,
							.study = o->study,
							.asks = &o->record->asks,
							.used = is_used,
							.arg = k,
							.enter = o->leave },
			    why);
	if (rc == 0 && pthread_create(&k->thread, NULL, bs_scribe_run, k) != 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: no thread for the log", o->spec->dir);
	k->started = rc == 0;
	if (rc != 0)
		bs_keeper_stop(k);
	return rc;
}

void bs_keeper_stop(struct bs_keeper *k)
{
	const struct timespec moment = { 0, 1000000 };
	const int64_t until = bs_now_ns() + BS_KEEPER_SLOW_NS;
	const uint64_t one = 1;

	if (k->started) {
		while (atomic_load(&k->r->done) < atomic_load(&k->r->put) && bs_now_ns() < until)
			(void)nanosleep(&moment, NULL);
		atomic_store(&k->stop, true);
		(void)!write(k->bell_fd, &one, sizeof(one));
		if (atomic_load(&k->r->done) < atomic_load(&k->r->put))
			return; /* the thread hangs in a system call and ends with the process */
		(void)pthread_join(k->thread, NULL);
	}
	bs_stock_stop(&k->stock); /* the stock may run even if the log's thread could not start */
	free(k->buffer);
	k->buffer = NULL;
	if (k->bell_fd >= 0)
		(void)close(k->bell_fd);
	k->bell_fd = -1;
	k->started = false;
}
