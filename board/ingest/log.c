/* board/ingest/log.c - ingest's side of the scan's log; see ingest.h and board/log/keeper.h */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "board/emit/folder.h"
#include "board/ingest/ingest.h"
#include "board/service/realtime.h"
#include "board/service/usage.h"
#include "core/thread/clock.h"
#include "drivers/log/finish.h"
#include "drivers/log/reader.h"
#include "drivers/log/solved.h"

static void enter(void *arg)
{
	struct ingest *in = arg;

	bs_rt_enter_log(in->env);
}

static void wake(void *arg)
{
	struct ingest *in = arg;

	bs_shm_ring_bell(&in->env->shm, BS_WORKER_INGEST);
}

static void beat(void *arg)
{
	struct ingest *in = arg;

	bs_usage_publish(&in->env->shm, BS_THREAD_LOG, bs_now_ns());
}

/* True if a scan in flight may go on with the log, or an earlier service's is read for one. */
static bool is_used(void *arg, const char *name, bool newest)
{
	const struct ingest *in = arg;
	const struct bs_shared *s = in->env->shm.s;
	bool used = newest && (atomic_load(&s->scan[0].open) || atomic_load(&s->scan[1].open));

	for (int i = 0; i < 2; i++) {
		const uint32_t step = atomic_load(&s->reopened[i].step);

		used = used || (step > BS_REOPEN_ENDED && step < BS_REOPEN_OVER &&
				strcmp(name, s->reopened[i].log) == 0);
	}
	return used;
}

int bs_ingest_log_start(struct ingest *in, struct bs_fail *why)
{
	static struct bs_keeper keeper;
	static struct bs_signer signer; /* in this process's memory alone */
	const char *key = in->env->site.keys.sign;
	const struct bs_shm *shm = &in->env->shm;
	int rc = 0;

	if (shm->log == NULL)
		return 0;
	if (key[0] != '\0')
		rc = bs_signer_read(&signer, key, why);
	if (rc != 0)
		return rc;
	rc = bs_keeper_start(
		&keeper,
		&(struct bs_keeper_options){ .spec = &in->env->site.log,
					     .message_max = in->message_max,
					     .segment_bytes = in->env->segment_bytes != 0
								      ? in->env->segment_bytes
								      : BS_LOG_SEGMENT,
					     .required = in->env->record_bytes != 0,
					     .signer = key[0] != '\0' ? &signer : NULL,
					     .record = &shm->s->log,
					     .ring = shm->log,
					     .ring_bytes = (size_t)shm->s->pools.log_bytes,
					     .enter = enter,
					     .leave = bs_rt_leave,
					     .wake = wake,
					     .make = bs_folder_make,
					     .study = shm->study,
					     .beat = beat,
					     .used = is_used,
					     .arg = in },
		why);
	in->log = rc == 0 ? &keeper : NULL;
	return rc;
}

/* True if the scan was reopened, and an earlier service's log is, or was, read for it. */
static bool is_reopened(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	const struct bs_reopened *o = bs_ingest_reopened(in);
	const uint32_t step = atomic_load(&o->step);

	return step >= BS_REOPEN_OPENS && step < BS_REOPEN_OVER &&
	       atomic_load(&o->scan) == scan->id;
}

bool bs_ingest_log_apart(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	return is_reopened(in, scan) && bs_ingest_reopened(in)->gone_on == 0;
}

bool bs_ingest_log_sealed(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	return bs_ingest_log_apart(in, scan) && bs_ingest_reopened(in)->sealed;
}

void bs_ingest_log_leave(struct ingest *in)
{
	struct bs_reopened *o = bs_ingest_reopened(in);

	/* also where a seal was seen, which the disk may not have */
	bs_keeper_seal(in->log, o->log);
	atomic_store(&o->step, BS_REOPEN_OVER);
}

void bs_ingest_log_newer(struct ingest *in)
{
	if (atomic_load(&bs_ingest_reopened(in)->step) == BS_REOPEN_OVER)
		atomic_store(&in->env->shm.s->reopening, 1);
}

void bs_ingest_log_open(struct ingest *in, const unsigned char *msg, size_t len)
{
	struct bs_reopened *newest = &in->env->shm.s->reopened[1];

	if (in->log == NULL)
		return;
	if (atomic_load(&bs_ingest_reopened(in)->step) == BS_REOPEN_OPENS) {
		atomic_store(&bs_ingest_reopened(in)->scan, in->now.id);
		return;
	}
	if (atomic_load(&newest->step) == BS_REOPEN_ENDED) /* no sender has asked for the outcome */
		atomic_store(&newest->step, BS_REOPEN_OVER);
	bs_keeper_open(in->log, (uint32_t)in->now.id, msg, len, bs_utc_ns(), bs_now_ns());
}

void bs_ingest_log_put(struct ingest *in, struct bs_ingest_scan *scan, uint64_t seq,
		       const unsigned char *msg, size_t len)
{
	if (!is_reopened(in, scan)) /* the messages come from the log */
		bs_keeper_put(in->log, seq, seq == scan->order.next ? seq : scan->order.next - 1,
			      msg, len, bs_now_ns());
}

void bs_ingest_log_answer(struct ingest *in, struct bs_ingest_scan *scan,
			  const struct bs_telling *t)
{
	unsigned char msg[BS_WIRE_BYTES + BS_WIRE_ANSWER_MAX];
	const size_t len = bs_wire_put_answer(msg + BS_WIRE_BYTES, &t->answer);
	struct bs_wire w = { .kind = BS_WIRE_ANSWER,
			     .session = t->session,
			     .time_ns = t->sender_ns };

	if (in->log == NULL || is_reopened(in, scan) || scan != &in->now)
		return;
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, len);
	bs_keeper_add(in->log, scan->order.next - 1, msg, BS_WIRE_BYTES + len, bs_now_ns());
}

/* True if bs_ingest_log_note has noted the scan's log: the keeper may have the next scan's log. */
static bool is_noted(const struct bs_ingest_scan *scan)
{
	return scan->id != 0 && atomic_load(&scan->record->log.scan) == scan->id;
}

void bs_ingest_log_end(struct ingest *in, struct bs_ingest_scan *scan)
{
	if (in->log != NULL && !bs_ingest_log_apart(in, scan) && !is_noted(scan))
		bs_keeper_end(in->log, !bs_ingest_is_over(scan), bs_now_ns());
}

bool bs_ingest_log_ended(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	return in->log == NULL || bs_ingest_log_apart(in, scan) || is_noted(scan) ||
	       bs_keeper_ended(in->log, bs_now_ns());
}

bool bs_ingest_log_closed(const struct ingest *in)
{
	return in->log == NULL || bs_ingest_log_apart(in, &in->now) || is_noted(&in->now) ||
	       (bs_keeper_closed(in->log) && !bs_keeper_unended(in->log));
}

const char *bs_ingest_log_lacks(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	const struct bs_log_record *r = &in->env->shm.s->log;

	if (in->log == NULL)
		return "no log is kept (log.dir, log.mode)";
	if (is_noted(scan))
		return scan->record->log.whole ? NULL : "its log is not whole";
	if (r->skips != 0 || atomic_load(&r->dropped) != 0 ||
	    atomic_load(&r->given_up) != r->given_before)
		return "its log is not whole";
	if (atomic_load(&r->failed) != 0 && atomic_load(&r->done) != atomic_load(&r->put))
		return "its log cannot be written";
	return NULL;
}

const char *bs_ingest_log_name(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	if (is_reopened(in, scan))
		return bs_ingest_reopened(in)->log;
	return is_noted(scan) ? scan->record->log.name : bs_keeper_name(in->log);
}

void bs_ingest_log_steps(struct ingest *in)
{
	char path[sizeof(in->env->site.log.dir) + BS_LOG_NAME + 2];
	const struct bs_solved_head head = { in->now.session, in->now.p->name };
	struct bs_fail why = { 0, "" };
	int damaged;

	if (!bs_ingest_log_apart(in, &in->now))
		return;
	(void)snprintf(path, sizeof(path), "%s/%s", in->env->site.log.dir,
		       bs_ingest_reopened(in)->log);
	damaged = bs_solved_read(&in->now.record->solved, path, &head, &why);
	if (damaged != 0)
		bs_worker_tell(in->env, BS_EVENT_FAULT, BS_ERR_IO, in->now.id,
			       "how far solves went is not known of all images, which may come out "
			       "otherwise: %d records are damaged; %s",
			       damaged, why.text);
}

int bs_ingest_log_read(const struct ingest *in, const char *log, struct bs_log_reader **r,
		       bool settled, struct bs_fail *why)
{
	char path[sizeof(in->env->site.log.dir) + BS_LOG_NAME + 2];
	int rc = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", in->env->site.log.dir, log);
	if (settled)
		rc = bs_log_settle(path, why);
	return rc == 0 ? bs_log_open(r, path, why) : rc;
}

bool bs_ingest_log_written(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	const struct bs_log_record *r = &in->env->shm.s->log;

	return is_noted(scan) || atomic_load(&r->done) == atomic_load(&r->put);
}

void bs_ingest_log_note(struct ingest *in)
{
	struct bs_scan_log *l = &in->now.record->log;
	struct bs_wire_ack ack;

	if (in->log == NULL || is_noted(&in->now))
		return;
	(void)bs_ingest_log_ack(in, &in->now, &ack);
	bs_keeper_words(in->log, l->words, sizeof(l->words));
	l->whole = bs_ingest_log_lacks(in, &in->now) == NULL && bs_ingest_log_written(in, &in->now);
	l->unprotected = ack.unprotected;
	l->mode = ack.log;
	(void)snprintf(l->name, sizeof(l->name), "%s", bs_keeper_name(in->log));
	atomic_store(&l->scan, in->now.id);
}

/* Ends the newest scan's log and writes the keeper's words about it. */
static void keeper_words(struct ingest *in, struct bs_ingest_scan *scan, char *words, size_t cap)
{
	const struct timespec moment = { 0, 1000000 };

	bs_ingest_log_end(in, scan);
	in->was_early = in->env->shm.s->log.early != 0;
	/* a scan that was cut short has not waited for its log yet */
	while (!bs_ingest_log_ended(in, scan)) {
		(void)nanosleep(&moment, NULL);
		bs_worker_beat(in->env);
	}
	bs_keeper_words(in->log, words, cap);
}

void bs_ingest_log_words(struct ingest *in, struct bs_ingest_scan *scan, char *text, size_t cap)
{
	const size_t len = strlen(text);
	char words[sizeof(scan->record->log.words)];

	if (in->log == NULL)
		return;
	in->was_early = true;
	if (bs_ingest_log_apart(in, scan)) {
		(void)snprintf(words, sizeof(words), "log %.63s", bs_ingest_reopened(in)->log);
		in->was_early = bs_ingest_reopened(in)->early;
	} else if (is_noted(scan)) {
		memcpy(words, scan->record->log.words, sizeof(words));
	} else {
		keeper_words(in, scan, words, sizeof(words));
	}
	if (len + strlen(words) + 3 < cap)
		(void)snprintf(text + len, cap - len, "%s%s", len > 0 ? "; " : "", words);
}

void bs_ingest_log_made(struct ingest *in, struct bs_ingest_scan *scan)
{
	if (in->log != NULL && in->was_early) {
		bs_keeper_made(in->log, scan->session);
		bs_keeper_seal(in->log, bs_ingest_log_name(in, scan));
	}
	in->was_early = false;
}

void bs_ingest_log_over(struct ingest *in, const struct bs_ingest_scan *scan)
{
	if (bs_ingest_log_apart(in, scan))
		bs_ingest_log_leave(in);
	else if (is_reopened(in, scan)) /* the keeper has ended its log */
		atomic_store(&bs_ingest_reopened(in)->step, BS_REOPEN_OVER);
}

/* Reports once when the scan becomes unprotected, and once when it is protected again. */
static void say_protection(struct ingest *in, struct bs_ingest_scan *scan,
			   const struct bs_wire_ack *ack)
{
	const struct bs_log_record *r = &in->env->shm.s->log;
	const bool unprotected = atomic_load(&r->unprotected) != 0;

	if (unprotected == in->unprotected)
		return;
	in->unprotected = unprotected;
	if (!unprotected)
		bs_worker_tell(in->env, BS_EVENT_NOTE, 0, atomic_load(&scan->record->id),
			       "the log goes on: what comes is protected again; it lacks %llu "
			       "messages",
			       (unsigned long long)ack->unprotected);
	else if (atomic_load(&r->failed) != 0 || bs_keeper_void(in->log))
		bs_worker_tell(in->env, BS_EVENT_FAULT, BS_ERR_IO, 0,
			       "the scan goes on unprotected: %.*s", (int)sizeof(r->fault) - 1,
			       r->fault);
	else
		bs_worker_tell(in->env, BS_EVENT_FAULT, BS_ERR_IO, 0,
			       "the scan goes on unprotected: the disk of the log is too slow, "
			       "%llu messages wait for it",
			       (unsigned long long)(atomic_load(&r->put) - atomic_load(&r->done)));
}

bool bs_ingest_log_ack(struct ingest *in, struct bs_ingest_scan *scan, struct bs_wire_ack *ack)
{
	const uint64_t held = scan->order.next - 1;
	/* message number `held` is CLOSE then */
	const bool closed = scan->state == BS_STATE_DRAINING;
	bool open = true;

	*ack = (struct bs_wire_ack){ .held = held, .durable = held };
	if (is_noted(scan)) {
		ack->unprotected = scan->record->log.unprotected;
		ack->log = scan->record->log.mode;
		/* what a recorder's log lacks is nowhere: OUTCOME says so, and no ACK before it */
		open = in->env->record_bytes == 0 || scan->record->log.whole;
	} else if (in->log != NULL) {
		open = bs_keeper_look(in->log, held, bs_now_ns(), ack);
		say_protection(in, scan, ack);
	}
	if (scan->heard_from <= scan->order.next && ack->durable + 1 < scan->heard_from)
		/* number in the earlier log file, or given up */
		ack->durable = scan->heard_from - 1;
	/* a sender keeps CLOSE until OUTCOME, whatever ACK says. If the log may lack CLOSE after a
	 * new start, ACK does not call it durable, so that it is sent again */
	if (closed && ack->durable == held &&
	    (ack->unprotected != 0 || ack->log == BS_WIRE_LOG_RELAXED)) {
		ack->durable = held - 1;
		ack->unprotected -= ack->unprotected > held;
	}
	/* no ACK if the sender has sent only CLOSE since the new start: an earlier ACK may have
	 * called CLOSE durable */
	return open && !(closed && scan->heard_from == held && ack->durable < held);
}

bool bs_ingest_log_has_work(const struct ingest *in)
{
	return in->log != NULL && bs_keeper_news(in->log);
}

int64_t bs_ingest_log_due(const struct ingest *in)
{
	return in->log != NULL ? bs_keeper_due(in->log) : INT64_MAX;
}

void bs_ingest_log_watch(struct ingest *in, int64_t now)
{
	struct bs_wire_ack ack;

	if (in->log == NULL || (!bs_keeper_news(in->log) && now < bs_keeper_due(in->log)))
		return;
	if (is_noted(&in->now)) /* the next scan's log has not begun */
		(void)bs_keeper_look(in->log, in->now.order.next - 1, now, &ack);
	else
		(void)bs_ingest_log_ack(in, &in->now, &ack);
	in->now.ack_due = in->now.ack_due || (bs_ingest_in_scan(&in->now) &&
					      (ack.durable > in->now.durable_said ||
					       ack.unprotected < in->now.unprotected_said));
}
