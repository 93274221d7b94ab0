/* board/ingest/scan.c - a scan from its header to its outcome; see ingest.h */
#include <stdio.h>
#include <string.h>

#include "board/ingest/ingest.h"
#include "config/config.h"
#include "core/protocol.h"
#include "core/thread/clock.h"
#include "core/frame/recon.h"
#include "core/text.h"
#include "ipc/wire/xml.h"

void bs_ingest_step(struct ingest *in, struct bs_ingest_scan *scan, enum bs_happening on,
		    uint64_t entry)
{
	bool known;
	enum bs_state before = scan->state;

	scan->state = bs_state_next(before, on, &known);
	bs_ingest_commit(in, scan, entry);
	bs_worker_say(in->env, BS_EVENT_STATE, 0,
		      (const uint64_t[3]){ (uint64_t)before, (uint64_t)on, (uint64_t)scan->state },
		      NULL);
}

/*
 * Chooses the scan's protocol. Refuses a scan that does not fit it, or whose protocol recon could
 * not arm, with recon's reason. A recorder takes any scan.
 */
static int choose(const struct ingest *in, const char *name, const struct bs_scan_info *info,
		  const struct bs_protocol **p, struct bs_fail *why)
{
	const struct bs_site *site = &in->env->site;
	const struct bs_shared *s = in->env->shm.s;
	size_t i;
	int rc;

	*p = site->protocol;
	if (in->env->record_bytes != 0)
		return 0;
	*p = bs_config_choose(site, name, info->protocol, why);
	if (*p == NULL)
		return BS_ERR_PROTOCOL;
	i = (size_t)(*p - site->protocol);
	if (s->refused[i] != 0)
		return bs_fail(why, s->refused[i], "%s", s->refusal[i]);
	rc = bs_admit_scan(*p, info, why);
	return rc == 0 ? bs_admission_rate(&s->admission[i], *p, info, why) : rc;
}

/* Replaces an earlier scan's data in the record; the step that opens the new scan follows. */
static void start_record(struct ingest *in, const struct bs_scan_info *info,
			 const struct bs_scan_study *study)
{
	struct bs_scan_record *s = in->now.record;
	_Atomic uint64_t *const counts[] = {
		&s->images_made,      &s->images_partial, &s->previews_made, &s->previews_skipped,
		&s->readouts_missing, &s->unused,         &s->images_left,   &s->images_unsent,
		&s->undelivered,      &s->images_late,    &s->noise_number,  &s->lost,
		&s->answers,          &s->answers_late,
	};

	s->session = in->now.session;
	s->opened_ns = bs_now_ns();
	s->protocol = (uint32_t)(in->now.p - in->env->site.protocol);
	s->info = *info;
	s->study = *study;
	bs_scan_noise_open(&s->noise, info,
			   bs_noise_find(&in->env->shm.s->noise, info->noise_scan));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		atomic_store(counts[i], 0);
	atomic_store(&s->recon_at, 0);
	s->recon_code = s->emit_code = 0;
	s->recon_text[0] = s->emit_text[0] = '\0';
	s->lacks[0] = s->words[0] = s->remark[0] = '\0';
	bs_solved_clear(&s->solved);
	bs_answers_start(&s->answering);
	bs_ingest_log_steps(in);
}

/*
 * True while emit still reads the record that the next scan takes. A scan that a dead recon has
 * lost ends before all of its images have left.
 */
static bool record_is_read(const struct ingest *in)
{
	const struct bs_shared *s = in->env->shm.s;
	uint64_t entry;

	for (uint64_t at = atomic_load(&s->images.ready);
	     bs_ring_look(in->env->shm.image_ring, at, &entry); at++)
		if (bs_entry_kind(entry) == BS_ENTRY_IMAGE &&
		    bs_entry_place(entry) == ((in->now.id + 1) & 1))
			return true;
	return false;
}

bool bs_ingest_may_open(struct ingest *in, bool alone)
{
	if (bs_ingest_reopen_first(in) || record_is_read(in))
		return false;
	if (in->before.id != 0 || in->now.state == BS_STATE_IDLE)
		return in->before.id == 0;
	if (alone || !bs_ingest_is_closed(&in->now) || in->feed != NULL ||
	    bs_ingest_log_apart(in, &in->now) ||
	    atomic_load(&in->env->shm.s->reload.step) >= BS_RELOAD_WAIT)
		return false;
	bs_ingest_log_end(in, &in->now);
	/* however slow the disk is: otherwise a kill would lose the end of the log */
	return bs_ingest_log_closed(in);
}

/* Moves the closed scan to in->before: the next scan becomes in->now. */
static void step_back(struct ingest *in)
{
	struct bs_kspace_record *k = &in->env->shm.s->kspace;

	bs_ingest_log_note(in);
	if (in->now.record->noise.own) /* the next scan may ask for this noise */
		bs_noise_keep(&in->env->shm.s->noise, &in->now.record->noise.noise);
	memcpy(k->before, k->sender, sizeof(k->before));
	atomic_store(&k->closed_ns, in->now.heard_ns);
	in->before = in->now;
	in->now.state = BS_STATE_IDLE;
}

static void start_scan(struct ingest *in, const struct bs_wire *w, const struct bs_protocol *p,
		       const struct bs_scan_info *info, const struct bs_scan_study *study,
		       const unsigned char *payload)
{
	struct bs_shm *shm = &in->env->shm;
	struct bs_ingest_scan *scan = &in->now;
	/* a reopened scan keeps its number if that is beyond the last one */
	const uint64_t id = in->reopens > scan->id ? in->reopens : scan->id + 1;
	char words[BS_ADMIT_WORDS];

	if (bs_ingest_in_scan(scan))
		step_back(in);
	*scan = (struct bs_ingest_scan){
		.record = &shm->s->scan[id & 1],
		.state = scan->state,
		.p = p,
		.id = id,
		.session = w->session,
		.order = { .next = 1, .window = scan->order.window, .room = scan->order.room },
		.apart_ns = INT64_MAX,
		.heard_ns = bs_now_ns(),
		.said_ns = scan->said_ns,
		.accept_due = true,
		.so_far.ack_time_ns = w->time_ns
	}; /* ack_time_ns: of the header, which is number 0 */
	bs_ingest_log_open(in, payload - BS_WIRE_BYTES, BS_WIRE_BYTES + (size_t)w->payload_len);
	bs_ingest_follow(in, in->from);
	scan->heard_from = bs_ingest_log_apart(in, scan) ? BS_NUMBER_NONE : 0;
	atomic_store(&shm->s->kspace.clock, (uint32_t)scan->clock);
	atomic_store(&shm->s->kspace.since_ns, scan->heard_ns);
	scan->has_table =
		bs_shm_table(shm, (uint32_t)(scan->p - in->env->site.protocol), &scan->table);
	start_record(in, info, study);
	bs_count(&in->totals->scans, 1);
	bs_worker_say(in->env, BS_EVENT_OPEN, 0, (const uint64_t[3]){ scan->id, scan->session },
		      scan->p->name);
	if (bs_admit_words(words, scan->p, info)[0] != '\0')
		bs_worker_say(in->env, BS_EVENT_NOTE, 0, (const uint64_t[3]){ scan->id }, words);
	bs_ingest_step(in, scan, BS_ON_OPEN, bs_entry(BS_ENTRY_OPEN, scan->id, 0));
}

/*
 * True if the protocol's scans begin only when no other scan is open: they take what an earlier
 * scan leaves at its end (maps, a field), or their images have a budget, which they would miss
 * behind another scan's images.
 */
static bool is_alone(const struct bs_protocol *p)
{
	bool takes = p->image_ms > 0.0;

	for (int k = 0; k < BS_KEPT_KINDS; k++)
		takes = takes || p->plan.takes[k];
	return takes;
}

int bs_ingest_open(struct ingest *in, const struct bs_wire *w, const unsigned char *payload)
{
	char name[BS_WIRE_OPEN_NAME];
	const char *xml;
	size_t xml_len;
	static struct bs_scan_info info;
	static struct bs_scan_study study;
	const struct bs_protocol *p = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_wire_get_open(name, &xml, &xml_len, payload, (size_t)w->payload_len, &why);

	if (rc == 0)
		rc = bs_mrdxml_read(&info, xml, xml_len, &why);
	if (rc == 0)
		rc = choose(in, name, &info, &p, &why);
	if (rc == 0 && (w->session == 0 || w->seq != 0))
		rc = bs_fail(&why, BS_ERR_STATE,
			     "OPEN has session %llx and number %llu: not 0, and 0",
			     (unsigned long long)w->session, (unsigned long long)w->seq);
	if (rc == 0 && bs_ingest_in_scan(&in->now) && is_alone(p))
		return BS_INGEST_ALONE;
	if (rc == 0)
		rc = bs_scan_study_open(&study, in->env->shm.study, p, &info, &why);
	if (rc == 0)
		start_scan(in, w, p, &info, &study, payload);
	else
		bs_ingest_refuse_open(in, w->session, &why);
	return rc;
}

void bs_ingest_fault(struct bs_ingest_scan *scan, const struct bs_fail *why)
{
	if (scan->so_far.fault.code == 0)
		scan->so_far.fault = *why;
}

static void drop_held(struct ingest *in, struct bs_ingest_scan *scan)
{
	uint32_t n = scan->order.held_count;
	struct bs_item item;

	if (n == 0)
		return;
	while (bs_order_drop(&scan->order, &item))
		if (item.kind == BS_WIRE_ACQ && item.used)
			bs_pool_give(in->env->shm.acq_pool, item.slot);
	scan->so_far.count.late += n;
	bs_count(&in->totals->late, n);
	bs_worker_tell(in->env, BS_EVENT_REJECTED, BS_ERR_SEQUENCE, scan->id,
		       "%u messages that were held, their numbers beyond %llu, are dropped: the "
		       "scan is over",
		       n, (unsigned long long)scan->order.next);
}

/* Recon makes images of the readouts that came, and puts END behind the last image. */
void bs_ingest_drain(struct ingest *in, struct bs_ingest_scan *scan, enum bs_happening on)
{
	drop_held(in, scan);
	/* while recon is fed from the log, feed.c pushes the close behind the last readout */
	bs_ingest_step(in, scan, on, in->feed == NULL ? bs_entry(BS_ENTRY_CLOSE, scan->id, 0) : 0);
}

void bs_ingest_close(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *close)
{
	struct bs_fail why;

	if (bs_item_closes(close, scan->so_far.acqs, scan->so_far.count.gaps, &why) != 0)
		bs_ingest_fault(scan, &why);
	scan->ack_due = true;
	bs_ingest_drain(in, scan, BS_ON_CLOSE);
}

/*
 * Writes the outcome's text of a scan without a fault: what its images lack (first what no image
 * says itself), what they remark, and which readouts the protocol does not use.
 */
static void remark(const struct bs_scan_record *s, struct bs_wire_outcome *o,
		   unsigned long long partial)
{
	struct bs_text t = { o->text, sizeof(o->text), 0, false };
	const unsigned long long late = atomic_load(&s->answers_late);
	char words[BS_KINDS_WORDS];

	bs_text_put(&t, "%.*s", (int)sizeof(s->words), s->words);
	if (partial > 0)
		bs_text_put(&t, "%s%llu images are partial, the first: %.*s", bs_text_between(&t),
			    partial, (int)sizeof(s->lacks), s->lacks);
	if (late > 0)
		bs_text_put(&t, "%s%llu of %llu answers were too late, and dropped",
			    bs_text_between(&t), late,
			    late + (unsigned long long)atomic_load(&s->answers));
	if (s->remark[0] != '\0')
		bs_text_put(&t, "%s%.*s", bs_text_between(&t), (int)sizeof(s->remark), s->remark);
	(void)bs_kinds_words(words, sizeof(words), &o->kinds);
	if (words[0] != '\0')
		bs_text_put(&t, "%s%s", bs_text_between(&t), words);
}

/* Sets the outcome's code and text: the fault of ingest, else of recon, else of emit, else missing
 * readouts. */
static void judge(struct bs_ingest_scan *scan, struct bs_wire_outcome *o)
{
	const struct bs_scan_record *s = scan->record;
	const struct {
		int code;
		const char *text;
	} said[] = { { scan->so_far.fault.code, scan->so_far.fault.text },
		     { s->recon_code, s->recon_text },
		     { s->emit_code, s->emit_text } };

	const unsigned long long partial = atomic_load(&s->images_partial);

	for (int i = 0; i < 3 && o->code == 0; i++)
		if (said[i].code != 0) {
			o->code = said[i].code;
			(void)snprintf(o->text, sizeof(o->text), "%s", said[i].text);
		}
	if (o->code == 0 && atomic_load(&s->readouts_missing) != 0) {
		o->code = BS_ERR_LENGTH;
		(void)snprintf(o->text, sizeof(o->text),
			       "%llu readouts did not come; %llu images are partial, the first: "
			       "%.*s",
			       (unsigned long long)atomic_load(&s->readouts_missing), partial,
			       (int)sizeof(s->lacks), s->lacks);
	}
	if (o->code == 0 && scan->so_far.acqs == 0) {
		o->code = BS_ERR_LENGTH;
		(void)snprintf(o->text, sizeof(o->text), "the scan has a header and no readout");
	}
	if (o->code == 0)
		remark(s, o, partial);
	else if (s->words[0] != '\0' &&
		 strlen(o->text) + sizeof("; ") + strlen(s->words) <= sizeof(o->text))
		(void)snprintf(o->text + strlen(o->text), sizeof(o->text) - strlen(o->text), "; %s",
			       s->words);
}

_Static_assert(BS_SCAN_END_BYTES == BS_WIRE_OUTCOME_BYTES, "an outcome fits the shared memory");

/*
 * Returns how many scans have ended before this one. It may be the last that has: a process before
 * this one ended it, and died.
 */
static uint64_t ended_before(const struct bs_shared *s, uint64_t scan)
{
	const uint64_t n = atomic_load(&s->past_scans);

	return n > 0 && s->past[(n - 1) % BS_SCANS_PAST].number == scan ? n - 1 : n;
}

/* Keeps the ended scan for `boreside status`, the page and the audit line. */
static void keep(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_wire_outcome *o)
{
	struct bs_shared *s = in->env->shm.s;
	const uint64_t n = ended_before(s, scan->id);
	const bool again = n != atomic_load(&s->past_scans);
	struct bs_scan_past *p = &s->past[n % BS_SCANS_PAST];

	*p = (struct bs_scan_past){ .number = scan->id,
				    .session = scan->record->session,
				    .ended_ns = bs_utc_ns(),
				    .took_ns = bs_now_ns() - scan->record->opened_ns,
				    .acquisitions = o->acquisitions,
				    .images = o->images,
				    .gaps = o->gaps,
				    .duplicates = o->duplicates,
				    .rejected = o->rejected,
				    .late = o->late,
				    .undelivered = o->undelivered,
				    .code = o->code };
	(void)snprintf(p->protocol, sizeof(p->protocol), "%s", scan->p->name);
	(void)snprintf(p->text, sizeof(p->text), "%s", o->text);
	if (again)
		return;
	if (o->code != 0)
		bs_count(&in->totals->failed, 1);
	atomic_store(&s->past_scans, n + 1);
}

void bs_ingest_end(struct ingest *in, struct bs_ingest_scan *scan, enum bs_happening on)
{
	struct bs_scan_record *s = scan->record;
	/* takes the place of the scan that ended the longest time ago */
	const uint64_t at = ended_before(in->env->shm.s, scan->id) & 1;
	struct bs_scan_end *end = in->outcome[at].end;
	uint64_t undelivered = atomic_load(&s->undelivered);
	const char *lacks;

	bs_ingest_tell_outcomes(in); /* CLOSE may just have asked for the one that is replaced */
	drop_held(in, scan);         /* held messages are dropped before their count is read */
	if (bs_ingest_steps_said(in))
		bs_ingest_answer_steps(in);
	bs_ingest_tell_end(in, scan);
	if (s->noise.own)
		bs_noise_keep(&in->env->shm.s->noise, &s->noise.noise);
	struct bs_wire_outcome o = { .acquisitions = scan->so_far.count.acquisitions,
				     .undelivered = undelivered > UINT32_MAX
							    ? UINT32_MAX
							    : (uint32_t)undelivered,
				     .images = atomic_load(&s->images_left),
				     .gaps = scan->so_far.count.gaps,
				     .duplicates = scan->so_far.count.duplicates,
				     .rejected = scan->so_far.count.rejected +
						 atomic_load(&s->unused) + scan->so_far.count.late,
				     .late = atomic_load(&s->images_late),
				     .kinds = bs_scan_kinds(s) };

	judge(scan, &o);
	lacks = in->env->record_bytes != 0 ? bs_ingest_log_lacks(in, scan) : NULL;
	if (o.code == 0 && lacks != NULL) {
		o.code = BS_ERR_IO;
		(void)snprintf(o.text, sizeof(o.text), "%s", lacks);
	}
	bs_ingest_log_words(in, scan, o.text, sizeof(o.text));
	scan->accept_due = scan->ack_due = false; /* OUTCOME acknowledges all that is left */
	scan->unacked = 0;
	in->outcome[at].due = true;
	in->outcome[at].peer = scan->peer;
	atomic_store(&end->known, 0);
	end->session = s->session;
	bs_wire_put_outcome(end->outcome, &o);
	atomic_store(&end->known, 1);
	keep(in, scan, &o);
	bs_worker_say(in->env, BS_EVENT_OUTCOME, o.code,
		      (const uint64_t[3]){ scan->id, o.acquisitions, o.images }, o.text);
	/* before the step: the successor of a process that is killed here asks again */
	bs_ingest_log_made(in, scan);
	bs_ingest_step(in, scan, on, 0);
	bs_ingest_log_over(in, scan);
	if (scan == &in->before)
		scan->id = 0;
}
