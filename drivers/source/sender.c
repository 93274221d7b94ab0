/* drivers/source/sender.c - see sender.h */
#include "drivers/source/sender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 8u

int bs_sender_open(struct bs_sender *s, size_t ring_bytes, struct bs_fail *why)
{
	memset(s, 0, sizeof(*s));
	if (ring_bytes > BS_SENDER_RING_MAX)
		return bs_fail(why, BS_ERR_NOMEM, "sender: a ring of %zu bytes, at most %llu",
			       ring_bytes, (unsigned long long)BS_SENDER_RING_MAX);
	s->ring_bytes = ring_bytes & ~(size_t)(ALIGN - 1);
	s->ring = malloc(s->ring_bytes > 0 ? s->ring_bytes : 1);
	s->item = calloc(BS_SENDER_WINDOW, sizeof(*s->item));
	if (s->ring == NULL || s->item == NULL) {
		bs_sender_close(s);
		return bs_fail(why, BS_ERR_NOMEM, "sender: a ring of %zu bytes", ring_bytes);
	}
	return 0;
}

void bs_sender_close(struct bs_sender *s)
{
	free(s->ring);
	free(s->item);
	memset(s, 0, sizeof(*s));
}

static struct bs_sender_item *kept(struct bs_sender *s, uint32_t i)
{
	return &s->item[(s->first + i) % BS_SENDER_WINDOW];
}

/*
 * Space for one message, in one piece. Kept messages lie from the oldest one's start to free_at,
 * perhaps around the end; free_at catching up with the oldest one means full.
 */
static unsigned char *take_space(struct bs_sender *s, size_t len)
{
	size_t need = (len + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	size_t oldest;

	if (s->count == 0) {
		s->free_at = 0;
		return need <= s->ring_bytes ? s->ring : NULL;
	}
	oldest = kept(s, 0)->at;
	if (s->free_at > oldest) {
		if (need <= s->ring_bytes - s->free_at)
			return s->ring + s->free_at;
		if (need > oldest)
			return NULL;
		s->free_at = 0;
		return s->ring;
	}
	return need <= oldest - s->free_at ? s->ring + s->free_at : NULL;
}

/* Makes room in the ring for a message; the caller writes the payload behind the envelope. */
static int reserve(struct bs_sender *s, size_t payload_len, unsigned char **msg,
		   struct bs_fail *why)
{
	if (payload_len > s->ring_bytes || s->ring_bytes - payload_len < BS_WIRE_BYTES)
		return bs_fail(why, BS_ERR_SIZE, "sender: a payload of %zu bytes, the ring has %zu",
			       payload_len, s->ring_bytes);
	if (s->count >= s->window)
		return BS_SENDER_FULL;
	*msg = take_space(s, BS_WIRE_BYTES + payload_len);
	return *msg != NULL ? 0 : BS_SENDER_FULL;
}

/* Writes the envelope of a message whose payload is complete, and keeps the message. */
static void seal(struct bs_sender *s, unsigned kind, unsigned char *msg, size_t payload_len,
		 int64_t time_ns)
{
	struct bs_wire w = { .kind = (uint16_t)kind,
			     .session = s->session,
			     .seq = s->next_seq++,
			     .time_ns = time_ns };
	struct bs_sender_item *item = kept(s, s->count);

	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, payload_len);
	item->seq = w.seq;
	item->at = (size_t)(msg - s->ring);
	item->len = BS_WIRE_BYTES + payload_len;
	s->free_at = item->at + ((item->len + ALIGN - 1) & ~(size_t)(ALIGN - 1));
	s->count++;
	s->acquisitions += kind == BS_WIRE_ACQ;
}

int bs_sender_begin(struct bs_sender *s, uint64_t session, const char *protocol, const char *xml,
		    size_t xml_len, int64_t now_ns, struct bs_fail *why)
{
	unsigned char *msg;
	int rc;

	if (s->state != BS_SENDER_IDLE && s->state != BS_SENDER_ENDED)
		return bs_fail(why, BS_ERR_STATE, "sender: the last scan has not ended");
	if (session == 0)
		return bs_fail(why, BS_ERR_USAGE, "sender: session 0 is not a session");
	if (xml_len > BS_WIRE_XML_MAX)
		return bs_fail(why, BS_ERR_XML, "sender: MRD header of %zu bytes, %u are possible",
			       xml_len, BS_WIRE_XML_MAX);
	*s = (struct bs_sender){ .ring = s->ring, .ring_bytes = s->ring_bytes, .item = s->item };
	s->session = session;
	s->window = 1;
	rc = reserve(s, BS_WIRE_OPEN_NAME + xml_len, &msg, why);
	if (rc == 0)
		rc = bs_wire_put_open(msg + BS_WIRE_BYTES, protocol, why);
	if (rc != 0)
		return rc;
	memcpy(msg + BS_WIRE_BYTES + BS_WIRE_OPEN_NAME, xml, xml_len);
	seal(s, BS_WIRE_OPEN, msg, BS_WIRE_OPEN_NAME + xml_len, now_ns);
	s->state = BS_SENDER_OPENING;
	s->sent_ns = s->heard_ns = s->progress_ns = now_ns;
	s->resend_ns = BS_SENDER_RESEND_NS;
	return 0;
}

int bs_sender_put(struct bs_sender *s, unsigned kind, const void *payload, size_t len,
		  int64_t time_ns, struct bs_fail *why)
{
	unsigned char *msg;
	int rc;

	if (s->state != BS_SENDER_STREAMING)
		return bs_fail(why, BS_ERR_STATE, "sender: no scan is streaming");
	rc = reserve(s, len, &msg, why);
	if (rc != 0)
		return rc;
	if (len > 0)
		memcpy(msg + BS_WIRE_BYTES, payload, len);
	seal(s, kind, msg, len, time_ns);
	return 0;
}

int bs_sender_finish(struct bs_sender *s, int64_t time_ns, struct bs_fail *why)
{
	unsigned char count[8];
	int rc;

	bs_wire_put_u64(count, s->acquisitions);
	rc = bs_sender_put(s, BS_WIRE_CLOSE, count, sizeof(count), time_ns, why);
	if (rc == 0)
		s->state = BS_SENDER_CLOSING;
	return rc;
}

static bool in_scan(const struct bs_sender *s)
{
	return s->state != BS_SENDER_IDLE && s->state != BS_SENDER_ENDED;
}

/* True if the service has not acknowledged a message that was sent. */
static bool owed(const struct bs_sender *s)
{
	return in_scan(s) && s->cursor > 0 && !s->close_held;
}

static void start_over(struct bs_sender *s, int64_t now_ns)
{
	s->cursor = 0;
	s->progress_ns = now_ns;
}

bool bs_sender_next(struct bs_sender *s, int64_t now_ns, const unsigned char **msg, size_t *len)
{
	struct bs_wire beat = { .kind = BS_WIRE_HEARTBEAT,
				.session = s->session,
				.time_ns = now_ns };

	if (!in_scan(s))
		return false;
	if (owed(s) && now_ns - s->progress_ns >= s->resend_ns) {
		start_over(s, now_ns);
		if (s->resend_ns < BS_SENDER_RESEND_MAX_NS)
			s->resend_ns *= 2;
	}
	s->beating = s->cursor == s->count;
	if (!s->beating) {
		*msg = s->ring + kept(s, s->cursor)->at;
		*len = kept(s, s->cursor)->len;
		return true;
	}
	if (now_ns - s->sent_ns < BS_SENDER_BEAT_NS)
		return false;
	bs_wire_encode(s->beat, &beat, NULL, 0);
	*msg = s->beat;
	*len = sizeof(s->beat);
	return true;
}

void bs_sender_sent(struct bs_sender *s, int64_t now_ns)
{
	s->sent_ns = now_ns;
	if (s->beating || s->cursor == s->count)
		return;
	if (s->cursor == 0)
		s->progress_ns = now_ns; /* time from which an acknowledgement is awaited */
	if (kept(s, s->cursor)->seq < s->high_seq)
		s->resent++;
	else
		s->high_seq = kept(s, s->cursor)->seq + 1;
	s->cursor++;
}

int64_t bs_sender_due(const struct bs_sender *s)
{
	int64_t beat = s->sent_ns + BS_SENDER_BEAT_NS;
	int64_t again = s->progress_ns + s->resend_ns;

	if (!in_scan(s))
		return INT64_MAX;
	return owed(s) && again < beat ? again : beat;
}

void bs_sender_reconnected(struct bs_sender *s, int64_t now_ns)
{
	if (!in_scan(s))
		return;
	start_over(s, now_ns);
	s->resend_ns = BS_SENDER_RESEND_NS;
}

/* Drops kept messages up to seq, which are durable; CLOSE is kept until its outcome comes. */
static void release(struct bs_sender *s, uint64_t seq, bool any, int64_t now_ns)
{

	while (s->count > 0 && kept(s, 0)->seq <= seq) {
		if (s->state == BS_SENDER_CLOSING && s->count == 1) {
			any = any || !s->close_held;
			s->close_held = true;
			break;
		}
		s->first = (s->first + 1) % BS_SENDER_WINDOW;
		s->count--;
		s->cursor -= s->cursor > 0;
		any = true;
	}
	if (any) {
		s->progress_ns = now_ns;
		s->resend_ns = BS_SENDER_RESEND_NS;
	}
}

static void end_scan(struct bs_sender *s, int code, bool refused)
{
	s->state = BS_SENDER_ENDED;
	s->code = code;
	s->refused = refused;
	s->count = s->cursor = 0;
}

static int heard_answer(struct bs_sender *s, const struct bs_wire *w, const unsigned char *payload,
			int64_t now_ns, struct bs_fail *why)
{
	struct bs_wire_reply v;
	int rc = bs_wire_get_reply(&v, payload, (size_t)w->payload_len, why);
	bool ours = w->session == s->session;

	if (rc != 0)
		return rc;
	if (w->kind == BS_WIRE_ACCEPT) {
		if (s->state != BS_SENDER_OPENING || !ours)
			return 0; /* the answer to an OPEN that was sent again */
		s->window = v.window < 1 ? 1 : v.window;
		if (s->window > BS_SENDER_WINDOW)
			s->window = BS_SENDER_WINDOW;
		s->state = BS_SENDER_STREAMING;
		release(s, 0, true, now_ns);
		return 0;
	}
	if (v.code >= 0)
		v.code = BS_ERR_ABORTED; /* a refusal is never a success */
	(void)bs_fail(&s->complaint, v.code, "%s", v.text);
	if (ours && (s->state == BS_SENDER_OPENING || v.code == BS_ERR_STATE)) {
		end_scan(s, v.code, true);
		s->outcome = (struct bs_wire_outcome){ .code = v.code };
		(void)snprintf(s->outcome.text, sizeof(s->outcome.text), "%s", v.text);
		return 0;
	}
	s->complaints++;
	return 0;
}

static int heard_ack(struct bs_sender *s, const struct bs_wire *w, const unsigned char *payload,
		     int64_t now_ns, struct bs_fail *why)
{
	struct bs_wire_ack ack;
	int rc = bs_wire_get_ack(&ack, payload, (size_t)w->payload_len, why);
	bool progress;

	if (rc != 0)
		return rc;
	if (ack.held >= s->next_seq)
		return bs_fail(why, BS_ERR_SEQUENCE,
			       "acknowledgement of %llu, %llu messages were made",
			       (unsigned long long)ack.held, (unsigned long long)s->next_seq);
	if (s->state == BS_SENDER_OPENING)
		return 0;
	/* the service's new start lacks CLOSE */
	if (s->close_held && ack.durable < kept(s, 0)->seq) {
		s->close_held = false;
		s->progress_ns = now_ns;
	}
	progress = ack.held > s->ack.held;
	if (ack.held >= s->ack.held && ack.durable >= s->ack.durable)
		s->ack = ack;
	release(s, ack.durable, progress, now_ns);
	return 0;
}

static int dispatch(struct bs_sender *s, const struct bs_wire *w, const unsigned char *payload,
		    int64_t now_ns, struct bs_fail *why)
{
	struct bs_wire_outcome outcome;
	int rc;

	if (w->kind == BS_WIRE_HEARTBEAT)
		return 0;
	if (w->session != s->session && !(w->kind == BS_WIRE_REFUSE && w->session == 0))
		return bs_fail(why, BS_ERR_STATE,
			       "kind %u of session %016llx, which is not this one", w->kind,
			       (unsigned long long)w->session);
	switch (w->kind) {
	case BS_WIRE_ACCEPT:
	case BS_WIRE_REFUSE:
		return heard_answer(s, w, payload, now_ns, why);
	case BS_WIRE_ACK:
		return heard_ack(s, w, payload, now_ns, why);
	case BS_WIRE_ANSWER:
		rc = bs_wire_get_answer(&s->answer, payload, (size_t)w->payload_len, why);
		s->answers += rc == 0;
		return rc;
	case BS_WIRE_OUTCOME:
		rc = bs_wire_get_outcome(&outcome, payload, (size_t)w->payload_len, why);
		if (rc != 0)
			return rc;
		s->outcome = outcome;
		end_scan(s, outcome.code, false);
		return 0;
	case BS_WIRE_OPEN:
	case BS_WIRE_ACQ:
	case BS_WIRE_WAVEFORM:
	case BS_WIRE_CLOSE:
	case BS_WIRE_HEARTBEAT:
	case BS_WIRE_IMAGE:
	case BS_WIRE_NEXT:
	case BS_WIRE_STORED:
	case BS_WIRE_NONE:
		break;
	}
	return bs_fail(why, BS_ERR_KIND, "kind %u is not the service's to send", w->kind);
}

int bs_sender_heard(struct bs_sender *s, const unsigned char *msg, size_t len, int64_t now_ns,
		    struct bs_fail *why)
{
	const unsigned char *payload;
	struct bs_wire w;
	int rc;

	if (!in_scan(s))
		return 0; /* the message is late: it is about the last scan */
	rc = bs_wire_decode(&w, msg, len, &payload, why);
	if (rc == 0) {
		s->heard_ns = now_ns;
		rc = dispatch(s, &w, payload, now_ns, why);
	}
	s->strays += rc != 0;
	return rc;
}
