/* board/tool/command/recorder.c - see recorder.h */
#include "board/tool/command/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/thread/clock.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/xml.h"

/* ---- what is said ---- */

static bool say_as(struct bs_recorder *r, struct bs_wire w, const void *payload, size_t len)
{
	unsigned char envelope[BS_WIRE_BYTES];

	const uint64_t peer = w.kind == BS_WIRE_REFUSE    ? r->from
			      : w.kind == BS_WIRE_OUTCOME ? r->ended_peer
							  : r->peer;

	bs_wire_encode(envelope, &w, payload, len);
	return r->o.say(r->o.arg, peer, envelope, payload, len);
}

static bool say_to_sender(struct bs_recorder *r, enum bs_wire_kind kind, uint64_t session,
			  int64_t time_ns, const void *payload, size_t len)
{
	return say_as(
		r,
		(struct bs_wire){ .kind = (uint16_t)kind, .session = session, .time_ns = time_ns },
		payload, len);
}

static bool say_answer(struct bs_recorder *r, struct bs_wire w, int code, const char *text)
{
	unsigned char payload[BS_WIRE_ANSWER_BYTES];
	struct bs_wire_answer v = { .code = code,
				    .window = w.kind == BS_WIRE_ACCEPT ? BS_HELD_MAX : 0 };

	(void)snprintf(v.text, sizeof(v.text), "%s", text);
	bs_wire_put_answer(payload, &v);
	return say_as(r, w, payload, sizeof(payload));
}

/* Refuses a message w, once; a sender that misses the answer asks again. */
static void refuse_message(struct bs_recorder *r, const struct bs_wire *w,
			   const struct bs_fail *why)
{
	r->o.news(r->o.arg, why->text);
	(void)say_answer(r,
			 (struct bs_wire){ .kind = BS_WIRE_REFUSE,
					   .session = w->session,
					   .seq = w->seq,
					   .version = w->version },
			 why->code, why->text);
}

static void fault(struct bs_recorder *r, const struct bs_fail *why)
{
	if (r->count.code == 0) {
		r->count.code = why->code;
		(void)snprintf(r->count.text, sizeof(r->count.text), "%s", why->text);
	}
}

/* ---- the log ---- */

/* Ends the scan and seals its log as far as possible. What is not on the disk was
 * never acknowledged. */
static void end_scan(struct bs_recorder *r)
{
	struct bs_fail why;
	char words[600];
	int rc = bs_log_writer_seal(&r->log, &why);

	if (rc != 0)
		fault(r, &why);
	(void)snprintf(words, sizeof(words),
		       "session %016llx: %llu acquisitions, %llu messages in %s (%u segment%s)%s%s",
		       (unsigned long long)r->session, (unsigned long long)r->count.acquisitions,
		       (unsigned long long)r->log.durable, r->log.name, r->log.head.index + 1,
		       bs_text_s(r->log.head.index + 1), r->count.code != 0 ? ": " : "",
		       r->count.text);
	r->o.news(r->o.arg, words);
	if (r->count.code == 0)
		(void)snprintf(r->count.text, sizeof(r->count.text),
			       "recorded, not reconstructed: %s", r->log.name);
	bs_log_writer_close(&r->log);
	r->scanning = r->accept_due = r->ack_due = r->close_due = false;
	r->ended = r->session;
	r->ended_peer = r->peer;
	r->outcome_due = true;
}

/* After a failure of the disk, writes again to another segment, once. False: the scan has ended. */
static bool survives(struct bs_recorder *r, int rc, const struct bs_fail *why)
{
	struct bs_fail again;

	if (rc == 0)
		return true;
	r->o.news(r->o.arg, why->text);
	if (bs_log_writer_continue(&r->log, &again) == 0) {
		r->o.news(r->o.arg, "the log goes on in another segment");
		return true;
	}
	r->o.news(r->o.arg, again.text);
	fault(r, &again);
	end_scan(r);
	return false;
}

/* Appends a message to the log. False: the message is not in the log, and the scan has ended. */
static bool keep_msg(struct bs_recorder *r, const unsigned char *msg, size_t len, int64_t now_ns)
{
	struct bs_fail why;
	int rc = bs_log_writer_append(&r->log, msg, len, now_ns, &why);

	if (rc == 0)
		return true;
	if (!survives(r, rc, &why))
		return false;
	return survives(r, bs_log_writer_append(&r->log, msg, len, now_ns, &why), &why);
}

/* ---- messages ---- */

static void deliver(struct bs_recorder *r, const struct bs_item *item)
{
	struct bs_fail why;

	bs_order_passed(&r->order, item->seq);
	r->ack_time_ns = item->time_ns;
	r->ack_due = true;
	r->acqs += item->kind == BS_WIRE_ACQ;
	r->count.acquisitions += item->kind == BS_WIRE_ACQ && item->used;
	if (item->kind != BS_WIRE_CLOSE)
		return;
	r->close_due = true;
	if (item->used && bs_item_closes(item, r->acqs, r->count.gaps, &why) != 0)
		fault(r, &why);
}

static void deliver_held(struct bs_recorder *r, int64_t now_ns)
{
	struct bs_item item;

	while (bs_order_next(&r->order, &item))
		deliver(r, &item);
	r->order.gap_since_ns = now_ns;
}

static void give_up_gap(struct bs_recorder *r, uint64_t seq, int64_t now_ns)
{
	const uint64_t first = r->order.next;
	const uint64_t n = bs_order_give_up(&r->order, seq);
	struct bs_fail why;

	(void)bs_fail(&why, BS_ERR_SEQUENCE,
		      "%llu messages from sequence number %llu on never came",
		      (unsigned long long)n, (unsigned long long)first);
	r->o.news(r->o.arg, why.text);
	r->count.gaps += n;
	fault(r, &why);
	r->ack_due = true;
	deliver_held(r, now_ns);
}

static bool wanted(struct bs_recorder *r, uint64_t seq, int64_t now_ns)
{
	struct bs_fail why;

	switch (bs_order_look(&r->order, seq)) {
	case BS_NUMBER_DUPLICATE:
		r->ack_due = true;
		r->count.duplicates++;
		return false;
	case BS_NUMBER_LATE:
		r->ack_due = true;
		r->count.rejected++;
		return false;
	case BS_NUMBER_ABSURD:
		(void)bs_fail(&why, BS_ERR_SEQUENCE, "sequence number %llu is absurd: %llu is next",
			      (unsigned long long)seq, (unsigned long long)r->order.next);
		r->count.rejected++;
		refuse_message(r, &(struct bs_wire){ .session = r->session, .seq = seq }, &why);
		return false;
	default:
		break;
	}
	while (bs_order_beyond(&r->order, seq))
		give_up_gap(r, seq, now_ns);
	if (bs_order_full(&r->order, seq)) {
		r->ack_due = true;
		return false;
	}
	return !r->close_due; /* CLOSE may have been among the held messages */
}

static int check_message(const struct bs_wire *w, const unsigned char *payload,
			 struct bs_item *item, struct bs_fail *why)
{
	struct bs_mrd_acq head;
	size_t traj;
	size_t data;

	return w->kind == BS_WIRE_ACQ
		       ? bs_mrd_parse_acq(&head, &traj, &data, payload, (size_t)w->payload_len, why)
		       : bs_item_check(item, w, payload, why);
}

/* Takes a numbered message. One that is refused uses up its number and is not logged. */
static void take_numbered(struct bs_recorder *r, const struct bs_wire *w, const unsigned char *msg,
			  size_t len, int64_t now_ns)
{
	struct bs_item item = {
		.seq = w->seq, .time_ns = w->time_ns, .kind = w->kind, .used = true
	};
	struct bs_fail why;

	if (w->seq != r->order.next && !wanted(r, w->seq, now_ns))
		return;
	if (check_message(w, msg + BS_WIRE_BYTES, &item, &why) != 0) {
		item.used = false;
		r->count.rejected++;
		fault(r, &why);
		refuse_message(r, w, &why);
	} else if (!keep_msg(r, msg, len, now_ns)) {
		return;
	}
	if (item.seq != r->order.next) {
		bs_order_hold(&r->order, &item, now_ns);
		r->ack_due = true;
		return;
	}
	deliver(r, &item);
	if (r->order.held_count > 0)
		deliver_held(r, now_ns);
}

static void begin_scan(struct bs_recorder *r, const struct bs_wire *w, const unsigned char *msg,
		       size_t len, int64_t now_ns)
{
	static struct bs_scan_info info;
	char name[BS_WIRE_OPEN_NAME];
	struct bs_fail why;
	const char *xml;
	size_t xml_len;
	int rc = bs_wire_get_open(name, &xml, &xml_len, msg + BS_WIRE_BYTES, (size_t)w->payload_len,
				  &why);

	if (rc == 0)
		rc = bs_mrdxml_read(&info, xml, xml_len, &why);
	if (rc == 0 && (w->session == 0 || w->seq != 0))
		rc = bs_fail(&why, BS_ERR_STATE, "OPEN has session %llx and number %llu: not 0, 0",
			     (unsigned long long)w->session, (unsigned long long)w->seq);
	if (rc == 0)
		rc = bs_log_writer_open(&r->log, r->o.dir, w->session, bs_utc_ns(),
					r->o.segment_bytes, r->buffer, r->cap, &why);
	if (rc != 0) {
		refuse_message(r, w, &why);
		return;
	}
	r->scanning = true;
	r->outcome_due = false;
	r->session = w->session;
	r->peer = r->from;
	r->heard_ns = now_ns;
	r->count = (struct bs_wire_outcome){ 0 };
	r->acqs = 0;
	memset(&r->order, 0, sizeof(r->order));
	bs_order_start(&r->order, 1);
	r->order.window = BS_HELD_MAX;
	r->order.room = BS_HELD_MAX;
	r->accept_due = keep_msg(r, msg, len, now_ns);
}

static void take_open(struct bs_recorder *r, const struct bs_wire *w, const unsigned char *msg,
		      size_t len, int64_t now_ns)
{
	struct bs_fail why;

	if (!r->scanning && w->session == r->ended && r->ended != 0) {
		r->ended_peer = r->from;
		r->outcome_due = true;
		return;
	}
	if (r->scanning && w->session == r->session) { /* the sender sent OPEN again */
		r->count.duplicates++;
		r->accept_due = true;
		return;
	}
	if (r->scanning && r->from != r->peer && now_ns - r->heard_ns <= BS_SILENT_NS &&
	    (r->o.here(r->o.arg, r->peer) || now_ns - r->heard_ns <= BS_GONE_NS)) {
		(void)bs_fail(&why, BS_ERR_STATE, "another scan is being recorded");
		refuse_message(r, w, &why);
		return;
	}
	if (r->scanning) {
		(void)bs_fail(&why, BS_ERR_STATE,
			      "another header (session %016llx) came before the scan was closed",
			      (unsigned long long)w->session);
		fault(r, &why);
		end_scan(r);
		/* the old scan's outcome goes out before the new scan's answer */
		bs_recorder_tick(r, now_ns);
	}
	begin_scan(r, w, msg, len, now_ns);
}

void bs_recorder_take(struct bs_recorder *r, uint64_t peer, const unsigned char *msg, size_t len,
		      int64_t now_ns)
{
	const unsigned char *payload;
	struct bs_wire w;
	struct bs_fail why;
	bool ours;

	r->from = peer;
	if (bs_wire_decode(&w, msg, len, &payload, &why) != 0) {
		const bool sender = r->scanning && peer == r->peer;

		r->count.rejected += sender;
		if (why.code != BS_ERR_VERSION || !bs_wire_is_previous(&w, msg, len))
			w = (struct bs_wire){ .session = sender ? r->session : 0 };
		refuse_message(r, &w, &why);
		return;
	}
	ours = r->scanning && w.session == r->session;
	if (ours) {
		r->heard_ns = now_ns;
		if (peer != r->peer) { /* the sender is back, and may have missed answers */
			r->accept_due = r->accept_due || r->order.next == 1;
			r->ack_due = true;
		}
		r->peer = peer;
	}
	if (w.kind == BS_WIRE_HEARTBEAT) {
		if (!r->scanning && r->ended != 0 && w.session == r->ended &&
		    peer != r->ended_peer) { /* the sender was away when the scan ended */
			r->ended_peer = peer;
			r->outcome_due = true;
		}
		return;
	}
	if (w.kind == BS_WIRE_OPEN && (w.seq == 0 || !ours)) {
		take_open(r, &w, msg, len, now_ns);
	} else if (ours && w.kind <= BS_WIRE_CLOSE) {
		if (!r->close_due)
			take_numbered(r, &w, msg, len, now_ns);
	} else if (!r->scanning && w.session == r->ended && r->ended != 0) {
		r->ended_peer = peer;
		r->outcome_due = true;
	} else {
		(void)bs_fail(&why, w.kind > BS_WIRE_CLOSE ? BS_ERR_KIND : BS_ERR_STATE,
			      "message of kind %u, number %llu: session %016llx is not open",
			      w.kind, (unsigned long long)w.seq, (unsigned long long)w.session);
		refuse_message(r, &w, &why);
	}
}

/* ---- time ---- */

/* Sends what is due. Only what is on the disk is acknowledged. */
static void answer(struct bs_recorder *r, int64_t now_ns)
{
	const uint64_t held = r->order.next - 1; /* all acknowledged messages are on the disk */
	unsigned char number[BS_WIRE_ACK_BYTES];
	unsigned char payload[BS_WIRE_OUTCOME_BYTES];

	if (r->accept_due &&
	    say_answer(r, (struct bs_wire){ .kind = BS_WIRE_ACCEPT, .session = r->session }, 0,
		       "recording")) {
		r->accept_due = false;
		r->said_ns = now_ns;
	}
	bs_wire_put_ack(
		number,
		&(struct bs_wire_ack){ .held = held, .durable = held, .log = BS_WIRE_LOG_DURABLE });
	if (r->ack_due && !r->accept_due &&
	    say_to_sender(r, BS_WIRE_ACK, r->session, r->ack_time_ns, number, sizeof(number))) {
		r->ack_due = false;
		r->said_ns = now_ns;
	}
	if (r->close_due)
		end_scan(r);
	if (!r->outcome_due)
		return;
	bs_wire_put_outcome(payload, &r->count);
	if (say_to_sender(r, BS_WIRE_OUTCOME, r->ended, now_ns, payload, sizeof(payload)))
		r->outcome_due = false;
}

static void watch_sender(struct bs_recorder *r, int64_t now_ns)
{
	struct bs_fail why;

	if (r->order.held_count > 0 && (now_ns - r->order.gap_since_ns >= BS_GAP_NS ||
					now_ns - r->heard_ns > r->o.silence_ns)) {
		r->heard_ns = now_ns;
		give_up_gap(r, BS_NUMBER_NONE, now_ns);
	} else if (now_ns - r->heard_ns > r->o.silence_ns) {
		(void)bs_fail(&why, BS_ERR_TIMEOUT, "nothing came from the sender for %lld ms",
			      (long long)(r->o.silence_ns / 1000000));
		fault(r, &why);
		end_scan(r);
		return;
	}
	if (now_ns - r->said_ns >= r->o.heartbeat_ns) {
		(void)say_to_sender(r, BS_WIRE_HEARTBEAT, r->session, now_ns, NULL, 0);
		r->said_ns = now_ns;
		/* the sender may have missed ACCEPT */
		r->accept_due = r->accept_due || r->order.next == 1;
	}
}

void bs_recorder_tick(struct bs_recorder *r, int64_t now_ns)
{
	struct bs_fail why;

	if (r->scanning && bs_log_writer_due(&r->log) <= now_ns)
		(void)survives(r, bs_log_writer_commit(&r->log, &why), &why);
	if (!r->scanning || r->log.durable == r->log.next)
		answer(r, now_ns);
	if (r->scanning)
		watch_sender(r, now_ns);
}

int64_t bs_recorder_due(const struct bs_recorder *r, int64_t now_ns)
{
	int64_t due = r->scanning ? bs_log_writer_due(&r->log) : INT64_MAX;
	int64_t beat = r->said_ns + r->o.heartbeat_ns;

	/* an answer that could not be sent is tried again 2 ms later */
	if (r->outcome_due || r->accept_due || r->ack_due)
		due = due < now_ns + 2000000 ? due : now_ns + 2000000;
	if (r->scanning && beat < due)
		due = beat;
	return due;
}

void bs_recorder_stop(struct bs_recorder *r)
{
	struct bs_fail why;

	if (!r->scanning)
		return;
	(void)bs_fail(&why, BS_ERR_ABORTED, "the recorder was told to end");
	fault(r, &why);
	end_scan(r);
}

int bs_recorder_open(struct bs_recorder *r, const struct bs_recorder_options *o,
		     struct bs_fail *why)
{
	memset(r, 0, sizeof(*r));
	r->o = *o;
	r->log.fd = r->log.dir_fd = -1;
	r->cap = bs_log_writer_bytes(o->message_max);
	r->buffer = malloc(r->cap);
	return r->buffer != NULL
		       ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "a log's buffer of %zu bytes", r->cap);
}

void bs_recorder_close(struct bs_recorder *r)
{
	bs_log_writer_close(&r->log);
	free(r->buffer);
	r->buffer = NULL;
}
