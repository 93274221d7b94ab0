/* board/tool/audit/kspace.c - see kspace.h */
#include "board/tool/audit/kspace.h"

#include <inttypes.h>
#include <string.h>

#include "ipc/wire/answer.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"
#include "ipc/wire/xml.h"

/* distance beyond the next number from which a message is refused (WIRE.md, 8) */
#define ABSURD 16777216u
#define WINDOW 8192u /* messages in the largest window (WIRE.md, 4) */

void bs_audit_kspace_begin(struct bs_audit_kspace *k, struct bs_findings *f, const char *where,
			   struct bs_audit_log *log)
{
	memset(k, 0, sizeof(*k));
	k->f = f;
	k->where = where;
	k->log = log;
	k->settled = 1; /* number 0 is OPEN */
}

/* ---- numbers ---- */

static void settle_number(struct bs_audit_kspace *k, uint64_t number)
{
	struct bs_audit_log *log = k->log;

	if (k->there[number % BS_AUDIT_WINDOW])
		return;
	if (log->missing == 0)
		log->first_missing = number;
	log->missing++;
}

/* Ends the wait for numbers below `before`. */
static void settle_to(struct bs_audit_kspace *k, uint64_t before)
{
	const uint64_t known = k->settled + BS_AUDIT_WINDOW; /* numbers beyond this have not come */

	for (; k->settled < before && k->settled < known; k->settled++) {
		settle_number(k, k->settled);
		k->there[k->settled % BS_AUDIT_WINDOW] = false;
	}
	if (k->settled >= before)
		return;
	if (k->log->missing == 0)
		k->log->first_missing = k->settled;
	k->log->missing += before - k->settled;
	k->settled = before;
}

/* Notes a message's number. False: the message is not to be counted. */
static bool take_number(struct bs_audit_kspace *k, const struct bs_wire *w)
{
	struct bs_audit_log *log = k->log;
	const uint32_t at = (uint32_t)(w->seq % BS_AUDIT_WINDOW);

	bs_judged(k->f, BS_PROMISE_ONCE);
	bs_judged(k->f, BS_PROMISE_ORDER);
	if (w->seq > log->highest && w->seq - log->highest > ABSURD) {
		bs_found(k->f, BS_PROMISE_ORDER, k->where, "number %" PRIu64 " follows %" PRIu64,
			 w->seq, log->highest);
		return false;
	}
	if (w->seq < k->settled ||
	    (w->seq < log->highest && log->highest - w->seq > WINDOW && !k->there[at])) {
		bs_found(k->f, BS_PROMISE_ORDER, k->where,
			 "number %" PRIu64 " comes after %" PRIu64, w->seq, log->highest);
		return false;
	}
	if (w->seq >= k->settled + BS_AUDIT_WINDOW)
		settle_to(k, w->seq - BS_AUDIT_WINDOW + 1);
	if (k->there[at]) {
		bs_found(k->f, BS_PROMISE_ONCE, k->where,
			 "number %" PRIu64 " comes again, with %s bytes", w->seq,
			 k->crc[at] == w->crc ? "the same" : "other");
		return false;
	}
	k->there[at] = true;
	k->crc[at] = w->crc;
	log->highest = w->seq > log->highest ? w->seq : log->highest;
	return true;
}

/* ---- messages ---- */

static void take_open(struct bs_audit_kspace *k, const struct bs_wire *w,
		      const unsigned char *payload, uint64_t record)
{
	static struct bs_scan_info info;
	struct bs_fail why;
	const char *xml;
	size_t len;

	bs_judged(k->f, BS_PROMISE_OPEN);
	if (record != 0 || w->seq != 0 || k->opened) {
		bs_found(k->f, BS_PROMISE_OPEN, k->where, "OPEN of number %" PRIu64, w->seq);
		return;
	}
	k->opened = true;
	if (bs_wire_get_open(k->log->protocol, &xml, &len, payload, (size_t)w->payload_len, &why) !=
		    0 ||
	    bs_mrdxml_read(&info, xml, len, &why) != 0) {
		/* the header's text is its sender's and may name a patient: it is not printed */
		bs_found(k->f, BS_PROMISE_OPEN, k->where, "%.*s", (int)bs_mrdxml_bare(why.text),
			 why.text);
		return;
	}
	memcpy(k->log->measurement, info.measurement, sizeof(k->log->measurement));
}

static void take_acq(struct bs_audit_kspace *k, const struct bs_wire *w,
		     const unsigned char *payload)
{
	struct bs_audit_log *log = k->log;
	struct bs_mrd_acq head;
	struct bs_fail why;
	size_t traj;
	size_t data;

	bs_judged(k->f, BS_PROMISE_READOUT);
	if (bs_mrd_parse_acq(&head, &traj, &data, payload, (size_t)w->payload_len, &why) != 0) {
		bs_found(k->f, BS_PROMISE_READOUT, k->where, "%s", why.text);
		return;
	}
	if (log->acqs == 0) {
		log->from_ns = log->to_ns = w->time_ns;
		log->uid = head.measurement_uid;
	}
	log->acqs++;
	log->uids = log->uids || head.measurement_uid != log->uid;
	log->from_ns = w->time_ns < log->from_ns ? w->time_ns : log->from_ns;
	log->to_ns = w->time_ns > log->to_ns ? w->time_ns : log->to_ns;
}

static void take_close(struct bs_audit_kspace *k, const struct bs_wire *w,
		       const unsigned char *payload)
{
	struct bs_fail why;

	bs_judged(k->f, BS_PROMISE_CLOSE);
	if (k->close != 0)
		bs_found(k->f, BS_PROMISE_CLOSE, k->where, "a second CLOSE");
	else if (bs_wire_get_u64(&k->log->close_count, payload, (size_t)w->payload_len, &why) != 0)
		bs_found(k->f, BS_PROMISE_CLOSE, k->where, "%s", why.text);
	k->close = w->seq;
	k->log->closed = true;
}

static void take_kind(struct bs_audit_kspace *k, const struct bs_wire *w,
		      const unsigned char *payload)
{
	switch (w->kind) {
	case BS_WIRE_ACQ:
		take_acq(k, w, payload);
		return;
	case BS_WIRE_WAVEFORM:
		k->log->waves++;
		return;
	case BS_WIRE_CLOSE:
		take_close(k, w, payload);
		return;
	case BS_WIRE_OPEN:
	case BS_WIRE_HEARTBEAT:
	case BS_WIRE_ACCEPT:
	case BS_WIRE_REFUSE:
	case BS_WIRE_ACK:
	case BS_WIRE_OUTCOME:
	case BS_WIRE_ANSWER:
	case BS_WIRE_IMAGE:
	case BS_WIRE_NEXT:
	case BS_WIRE_STORED:
	case BS_WIRE_NONE:
		break;
	}
	bs_found(k->f, BS_PROMISE_MESSAGE, k->where, "a message of kind %u", (unsigned)w->kind);
}

static void take_answer(struct bs_audit_kspace *k, const struct bs_wire *w,
			const unsigned char *payload)
{
	struct bs_answer a;
	struct bs_fail why;

	if (bs_wire_get_answer(&a, payload, (size_t)w->payload_len, &why) != 0)
		bs_found(k->f, BS_PROMISE_MESSAGE, k->where, "%s", why.text);
}

void bs_audit_kspace_take(void *arg, const struct bs_log_message *m)
{
	struct bs_audit_kspace *k = arg;
	const unsigned char *payload;
	struct bs_fail why;
	struct bs_wire w;

	bs_judged(k->f, BS_PROMISE_MESSAGE);
	bs_judged(k->f, BS_PROMISE_SESSION);
	if (bs_wire_decode(&w, m->bytes, m->len, &payload, &why) != 0) {
		bs_found(k->f, BS_PROMISE_MESSAGE, k->where, "%s", why.text);
		return;
	}
	if (m->number == 0)
		k->session = w.session;
	if (w.session != k->session || w.session == 0)
		bs_found(k->f, BS_PROMISE_SESSION, k->where, "session %016" PRIx64, w.session);
	if (m->number == 0 && w.kind != BS_WIRE_OPEN)
		bs_found(k->f, BS_PROMISE_OPEN, k->where, "the first message is of kind %u",
			 (unsigned)w.kind);
	if (w.kind == BS_WIRE_OPEN) {
		take_open(k, &w, payload, m->number);
		return;
	}
	if (w.kind == BS_WIRE_ANSWER) /* the service's own, without a number */
		take_answer(k, &w, payload);
	else if (w.seq == 0)
		bs_found(k->f, BS_PROMISE_ORDER, k->where, "number 0 is OPEN's");
	else if (take_number(k, &w))
		take_kind(k, &w, payload);
}

/* ---- the messages of a whole log ---- */

static void judge_count(struct bs_audit_kspace *k, const char *path)
{
	const struct bs_audit_log *log = k->log;

	if (log->highest > k->close)
		bs_found(k->f, BS_PROMISE_CLOSE, path, "number %" PRIu64 ", CLOSE is %" PRIu64,
			 log->highest, k->close);
	bs_judged(k->f, BS_PROMISE_COUNT);
	if (log->close_count < log->acqs || log->close_count > log->acqs + log->missing)
		bs_found(k->f, BS_PROMISE_COUNT, path,
			 "CLOSE says %" PRIu64 " acquisitions, %" PRIu64 " are here, %" PRIu64
			 " numbers are missing",
			 log->close_count, log->acqs, log->missing);
}

void bs_audit_kspace_end(struct bs_audit_kspace *k, const char *path, bool all)
{
	settle_to(k, k->log->highest + 1);
	if (all && k->log->closed)
		judge_count(k, path);
}
