/*
 * test/unit/drivers/test_sender.c - the sender's half of the conversation, with a scripted clock
 * and a line that loses what is under way
 */
/* Holds: W2, W3, W4, W6, W13 */
#include "drivers/source/sender.h"
#include "ipc/wire/mrd.h"
#include "test/support/check.h"

#include <string.h>

#define MS INT64_C(1000000)

static struct bs_sender s;
static struct bs_fail why;
static int64_t now;

/* What the service would say. */
static int say(unsigned kind, uint64_t session, const void *payload, size_t len)
{
	unsigned char msg[1024];
	struct bs_wire w = { .kind = (uint16_t)kind, .session = session };

	if (len > 0)
		memcpy(msg + BS_WIRE_BYTES, payload, len);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, len);
	return bs_sender_heard(&s, msg, BS_WIRE_BYTES + len, now, &why);
}

static int say_answer(unsigned kind, uint64_t session, int code, uint32_t window)
{
	unsigned char p[BS_WIRE_REPLY_BYTES];
	struct bs_wire_reply v = { .code = code, .window = window, .text = "words" };

	bs_wire_put_reply(p, &v);
	return say(kind, session, p, sizeof(p));
}

static int say_two(uint64_t session, uint64_t held, uint64_t durable)
{
	unsigned char p[BS_WIRE_ACK_BYTES];

	bs_wire_put_ack(p, &(struct bs_wire_ack){
				   .held = held, .durable = durable, .log = BS_WIRE_LOG_DURABLE });
	return say(BS_WIRE_ACK, session, p, sizeof(p));
}

static int say_ack(uint64_t session, uint64_t seq)
{
	return say_two(session, seq, seq);
}

static int say_outcome(uint64_t session, int code)
{
	unsigned char p[BS_WIRE_OUTCOME_BYTES];
	struct bs_wire_outcome o = { .code = code, .acquisitions = 5, .text = "words" };

	bs_wire_put_outcome(p, &o);
	return say(BS_WIRE_OUTCOME, session, p, sizeof(p));
}

/* The next message to go out, as decoded; kind 0 when there is none. Marks it as sent. */
static struct bs_wire out(void)
{
	const unsigned char *msg;
	const unsigned char *payload;
	struct bs_wire w = { 0 };
	size_t len;

	if (!bs_sender_next(&s, now, &msg, &len))
		return w;
	if (bs_wire_decode(&w, msg, len, &payload, &why) != 0)
		w.kind = 0xffff;
	bs_sender_sent(&s, now);
	return w;
}

static bool out_is(unsigned kind, uint64_t seq)
{
	struct bs_wire w = out();

	return w.kind == kind && w.seq == seq && w.session == s.session;
}

static int put(unsigned kind)
{
	return bs_sender_put(&s, kind, "payload", 7, now, &why);
}

static void begin(uint32_t window)
{
	now = 1000 * MS;
	CHECK(bs_sender_begin(&s, 99, "radial", "<x/>", 4, now, &why) == 0 &&
		      out_is(BS_WIRE_OPEN, 0) && out().kind == 0,
	      "OPEN goes out, once");
	CHECK(put(BS_WIRE_ACQ) == BS_ERR_STATE, "nothing is queued before the answer");
	CHECK(say_answer(BS_WIRE_ACCEPT, 99, 0, window) == 0 && s.state == BS_SENDER_STREAMING,
	      "accepted");
}

static void a_good_scan(void)
{
	begin(3);
	CHECK(put(BS_WIRE_ACQ) == 0 && put(BS_WIRE_WAVEFORM) == 0 && put(BS_WIRE_ACQ) == 0 &&
		      put(BS_WIRE_ACQ) == BS_SENDER_FULL,
	      "a window of three takes three");
	CHECK(out_is(BS_WIRE_ACQ, 1) && out_is(BS_WIRE_WAVEFORM, 2) && out_is(BS_WIRE_ACQ, 3) &&
		      out().kind == 0,
	      "they go out in order, once");
	CHECK(say_ack(99, 2) == 0 && put(BS_WIRE_ACQ) == 0 && put(BS_WIRE_ACQ) == 0 &&
		      put(BS_WIRE_ACQ) == BS_SENDER_FULL,
	      "two held make room for two");
	CHECK(out_is(BS_WIRE_ACQ, 4) && out_is(BS_WIRE_ACQ, 5), "which go out");
	CHECK(bs_sender_finish(&s, now, &why) == BS_SENDER_FULL && say_ack(99, 5) == 0 &&
		      bs_sender_finish(&s, now, &why) == 0,
	      "CLOSE waits for room like any other");
	CHECK(put(BS_WIRE_ACQ) == BS_ERR_STATE, "nothing comes after CLOSE");
	CHECK(out_is(BS_WIRE_CLOSE, 6) && out().kind == 0, "CLOSE goes out");
	CHECK(say_ack(99, 6) == 0 && s.state == BS_SENDER_CLOSING && s.count == 1,
	      "CLOSE is kept although it is held: its outcome is owed");
	now += 60000 * MS;
	CHECK(out_is(BS_WIRE_HEARTBEAT, 0) && s.resent == 0, "and waits without being sent again");
	bs_sender_reconnected(&s, now);
	CHECK(out_is(BS_WIRE_CLOSE, 6) && s.resent == 1, "but for a new connection");
	CHECK(say_ack(99, 3) == 0 && out().kind == 0, "a service that lost its power lacks it");
	now += BS_SENDER_RESEND_NS;
	CHECK(out_is(BS_WIRE_CLOSE, 6) && s.resent == 2, "it is sent again");
	CHECK(say_outcome(99, 0) == 0 && s.state == BS_SENDER_ENDED && s.code == 0 && !s.refused &&
		      s.outcome.acquisitions == 5,
	      "outcome");
	CHECK(out().kind == 0 && bs_sender_due(&s) == INT64_MAX, "then there is silence");
	CHECK(say_outcome(99, -1) == 0 && s.code == 0, "an echo changes nothing");
}

/* What is held but not durable is kept, and nobody asks for it again. */
static void held_and_durable(void)
{
	begin(4);
	for (int i = 0; i < 4; i++)
		CHECK(put(BS_WIRE_ACQ) == 0 && out().kind == BS_WIRE_ACQ, "message %d", i + 1);
	CHECK(say_two(99, 4, 0) == 0 && s.count == 4 && put(BS_WIRE_ACQ) == BS_SENDER_FULL,
	      "four that are held and not durable fill the window");
	CHECK(say_two(99, 4, 3) == 0 && s.count == 1 && put(BS_WIRE_ACQ) == 0,
	      "three that are durable make room");
	CHECK(say_two(99, 3, 4) == BS_ERR_VALUE && s.count == 2 && s.ack.durable == 3, "%s",
	      why.text);
	CHECK(out_is(BS_WIRE_ACQ, 5), "the fifth goes out");
	int64_t sent = now;

	now += BS_SENDER_RESEND_NS - 1;
	CHECK(say_two(99, 5, 3) == 0 && s.count == 2, "it is held");
	now = sent + BS_SENDER_RESEND_NS;
	CHECK(out().kind == BS_WIRE_HEARTBEAT, "which is progress: nothing is sent again");
	bs_sender_reconnected(&s, now);
	CHECK(out_is(BS_WIRE_ACQ, 4) && out_is(BS_WIRE_ACQ, 5) && s.resent == 2,
	      "on a new connection all goes again that is not durable");
	CHECK(say_two(99, 5, 5) == 0 && s.count == 0 && s.ack.log == BS_WIRE_LOG_DURABLE,
	      "and is done with when it is");
	CHECK(say_outcome(99, 0) == 0, "the end");
}

static void refusals(void)
{
	now = 0;
	CHECK(bs_sender_begin(&s, 0, "", "<x/>", 4, now, &why) == BS_ERR_USAGE, "%s", why.text);
	CHECK(bs_sender_begin(&s, 7, "", "<x/>", 4, now, &why) == 0 &&
		      bs_sender_begin(&s, 8, "", "<x/>", 4, now, &why) == BS_ERR_STATE,
	      "%s", why.text);
	CHECK(say_answer(BS_WIRE_REFUSE, 8, BS_ERR_XML, 0) == BS_ERR_STATE &&
		      s.state == BS_SENDER_OPENING,
	      "another session's: %s", why.text);
	CHECK(say_answer(BS_WIRE_REFUSE, 0, BS_ERR_CRC, 0) == 0 && s.state == BS_SENDER_OPENING &&
		      s.complaints == 1 && s.complaint.code == BS_ERR_CRC,
	      "a complaint of no session ends nothing");
	CHECK(say_answer(BS_WIRE_REFUSE, 7, BS_ERR_PROTOCOL, 0) == 0 &&
		      s.state == BS_SENDER_ENDED && s.refused && s.code == BS_ERR_PROTOCOL &&
		      strcmp(s.outcome.text, "words") == 0,
	      "a refusal ends the scan");
	begin(4);
	CHECK(put(BS_WIRE_ACQ) == 0 && out_is(BS_WIRE_ACQ, 1) &&
		      say_answer(BS_WIRE_REFUSE, 99, BS_ERR_VALUE, 0) == 0 &&
		      s.state == BS_SENDER_STREAMING && s.complaints == 1,
	      "once accepted, a refusal is of one message");
	CHECK(say_answer(BS_WIRE_REFUSE, 99, BS_ERR_STATE, 0) == 0 && s.state == BS_SENDER_ENDED &&
		      s.code == BS_ERR_STATE,
	      "unless the service does not know the session any more");
	begin(4);
	CHECK(say_answer(BS_WIRE_REFUSE, 99, 0, 0) == 0 &&
		      say_answer(BS_WIRE_REFUSE, 99, BS_ERR_STATE, 0) == 0 && s.code < 0,
	      "a refusal is never a success");
	begin(0);
	CHECK(put(BS_WIRE_ACQ) == 0 && put(BS_WIRE_ACQ) == BS_SENDER_FULL,
	      "a window of 0 is one of 1");
	CHECK(say_outcome(99, BS_ERR_ABORTED) == 0 && s.code == BS_ERR_ABORTED,
	      "an outcome may come at any time");
}

static void nonsense(void)
{
	unsigned char msg[BS_WIRE_BYTES] = { 0 };

	begin(4);
	CHECK(bs_sender_heard(&s, msg, sizeof(msg), now, &why) == BS_ERR_MAGIC && s.strays == 1,
	      "no envelope: %s", why.text);
	CHECK(say_ack(99, 77) == BS_ERR_SEQUENCE, "%s", why.text);
	CHECK(say(BS_WIRE_ACK, 99, "x", 1) == BS_ERR_LENGTH, "%s", why.text);
	CHECK(say(BS_WIRE_OUTCOME, 99, "x", 1) == BS_ERR_LENGTH, "%s", why.text);
	CHECK(say(BS_WIRE_ACCEPT, 99, "x", 1) == BS_ERR_LENGTH, "%s", why.text);
	CHECK(say(BS_WIRE_OPEN, 99, "x", 1) == BS_ERR_KIND, "%s", why.text);
	CHECK(say_ack(1, 0) == BS_ERR_STATE, "%s", why.text);
	CHECK(s.state == BS_SENDER_STREAMING && s.strays == 7, "the scan goes on");
	CHECK(put(BS_WIRE_ACQ) == 0 && out_is(BS_WIRE_ACQ, 1) && say_ack(99, 1) == 0 &&
		      say_ack(99, 0) == 0 && s.count == 0,
	      "an old acknowledgement changes nothing");
	CHECK(say_answer(BS_WIRE_ACCEPT, 99, 0, 1) == 0 && s.window == 4,
	      "nor does a second acceptance");
	CHECK(say_outcome(99, 0) == 0, "the end");
}

static void times(void)
{
	begin(8);
	CHECK(bs_sender_due(&s) == now + BS_SENDER_BEAT_NS, "nothing owed: the heartbeat is next");
	now += BS_SENDER_BEAT_NS - 1;
	CHECK(out().kind == 0, "not yet");
	now += 1;
	CHECK(out_is(BS_WIRE_HEARTBEAT, 0) && out().kind == 0, "one heartbeat after 200 ms");
	CHECK(put(BS_WIRE_ACQ) == 0 && put(BS_WIRE_ACQ) == 0 && out_is(BS_WIRE_ACQ, 1) &&
		      out_is(BS_WIRE_ACQ, 2),
	      "two go out");
	int64_t sent = now;

	for (int64_t wait = BS_SENDER_RESEND_NS; wait <= 4 * BS_SENDER_RESEND_NS; wait *= 2) {
		now = sent + wait - 1;
		CHECK(out().kind != BS_WIRE_ACQ, "after %lld ms without progress, not yet",
		      (long long)(wait / MS));
		CHECK(bs_sender_due(&s) == sent + wait, "but that is when");
		now = sent + wait;
		CHECK(out_is(BS_WIRE_ACQ, 1) && out_is(BS_WIRE_ACQ, 2), "then both again");
		sent = now;
	}
	CHECK(s.resent == 6, "%llu were sent again", (unsigned long long)s.resent);
	CHECK(say_ack(99, 1) == 0, "progress");
	now = sent + BS_SENDER_RESEND_NS;
	CHECK(out_is(BS_WIRE_ACQ, 2), "starts the patience over, and only what is owed goes again");
	CHECK(say_ack(99, 2) == 0 && say_outcome(99, 0) == 0, "the end");
}

/* A service that takes messages in order, over a line that breaks and loses what is under way. */
struct peer {
	uint64_t next, acqs, duplicates;
	bool closed;
	int bad;
};

static void peer_takes(struct peer *p, const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_wire w;
	struct bs_mrd_acq a;
	uint64_t count;
	size_t at;

	if (bs_wire_decode(&w, msg, len, &payload, &why) != 0 || w.session != 5) {
		p->bad++;
		return;
	}
	if (w.kind == BS_WIRE_HEARTBEAT)
		return;
	if (w.seq != p->next) { /* beyond: the line lost the one before; it is sent again */
		p->duplicates += w.seq < p->next;
		return;
	}
	p->next++;
	if (w.kind == BS_WIRE_ACQ) {
		p->acqs++;
		p->bad +=
			bs_mrd_parse_acq(&a, &at, &at, payload, (size_t)w.payload_len, &why) != 0 ||
			a.scan_counter != p->acqs;
	} else if (w.kind == BS_WIRE_CLOSE) {
		p->closed = true;
		p->bad += bs_wire_get_u64(&count, payload, (size_t)w.payload_len, &why) != 0 ||
			  count != p->acqs;
	}
}

/* Feeds acquisitions of changing sizes; counts are the number of acquisitions queued so far. */
static void feed(uint64_t *fed, uint64_t total, uint64_t *seed)
{
	static unsigned char payload[BS_MRD_ACQ_BYTES + (2 + 2 * 4) * 300 * sizeof(float)];
	struct bs_mrd_acq a = { .version = 1,
				.available_channels = 4,
				.active_channels = 4,
				.trajectory_dimensions = 2 };

	while (*fed < total && s.state == BS_SENDER_STREAMING) {
		a.scan_counter = (uint32_t)*fed + 1;
		a.number_of_samples = (uint16_t)(300 * check_uniform(seed));
		bs_mrd_put_acq(payload, &a);
		if (bs_sender_put(&s, BS_WIRE_ACQ, payload, (size_t)bs_mrd_acq_bytes(&a), now,
				  &why) != 0)
			return;
		++*fed;
	}
	if (*fed == total && s.state == BS_SENDER_STREAMING)
		(void)bs_sender_finish(&s, now, &why);
}

static void lossy_line(uint64_t seed, uint32_t window, double loss, double breaks)
{
	struct peer p = { 0 };
	uint64_t fed = 0;
	uint64_t breaks_seen = 0;
	const uint64_t total = 500;
	int rounds = 0;

	now = 0;
	CHECK(bs_sender_begin(&s, 5, "", "<x/>", 4, now, &why) == 0, "a scan over a bad line");
	for (; s.state != BS_SENDER_ENDED && rounds < 200000; rounds++) {
		const unsigned char *msg;
		size_t len;

		feed(&fed, total, &seed);
		if (bs_sender_next(&s, now, &msg, &len)) {
			/* lost although the sender was told that it was sent: that is nanomsg */
			if (check_uniform(&seed) >= loss)
				peer_takes(&p, msg, len);
			bs_sender_sent(&s, now);
			now += MS;
		} else {
			now = bs_sender_due(&s);
		}
		if (check_uniform(&seed) < breaks) {
			bs_sender_reconnected(&s, now);
			breaks_seen++;
		}
		if (p.next == 0 || check_uniform(&seed) < 0.7)
			continue;
		if (p.closed)
			(void)say_outcome(5, 0);
		else if (s.state == BS_SENDER_OPENING)
			(void)say_answer(BS_WIRE_ACCEPT, 5, 0, window);
		else
			(void)say_ack(5, p.next - 1);
	}
	CHECK(s.state == BS_SENDER_ENDED && p.acqs == total && p.bad == 0,
	      "window %u, %g lost, %llu reconnects: all %llu came, in order, whole (%d bad, %llu "
	      "sent "
	      "again, %llu duplicates, %d rounds)",
	      window, loss, (unsigned long long)breaks_seen, (unsigned long long)p.acqs, p.bad,
	      (unsigned long long)s.resent, (unsigned long long)p.duplicates, rounds);
}

static void ring(void)
{
	static unsigned char big[64 * 1024];

	begin(100);
	CHECK(bs_sender_put(&s, BS_WIRE_ACQ, big, sizeof(big), now, &why) == BS_ERR_SIZE,
	      "larger than the ring: %s", why.text);
	CHECK(bs_sender_put(&s, BS_WIRE_ACQ, big, 32 * 1024 - 64, now, &why) == 0 &&
		      bs_sender_put(&s, BS_WIRE_ACQ, big, 0, now, &why) == BS_SENDER_FULL,
	      "one message may fill the ring");
	CHECK(out_is(BS_WIRE_ACQ, 1) && say_ack(99, 1) == 0 &&
		      bs_sender_put(&s, BS_WIRE_ACQ, big, 0, now, &why) == 0,
	      "and leaves it empty");
	CHECK(say_outcome(99, 0) == 0, "the end");
}

int main(void)
{
	CHECK(bs_sender_open(&s, SIZE_MAX / 2, &why) == BS_ERR_NOMEM, "%s", why.text);
	CHECK(bs_sender_open(&s, 32 * 1024, &why) == 0, "a ring of 32 KiB");
	a_good_scan();
	held_and_durable();
	refusals();
	nonsense();
	times();
	ring();
	lossy_line(1, 1, 0.0, 0.0);
	lossy_line(2, 64, 0.0, 0.02);
	lossy_line(3, 64, 0.2, 0.02);
	lossy_line(4, 7, 0.5, 0.2);
	lossy_line(5, 4000, 0.05, 0.001);
	bs_sender_close(&s);
	return check_done();
}
