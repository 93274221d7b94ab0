/*
 * test/fault/fault_stream.c - good messages in bad order, and senders that misbehave, through the
 * real socket: gaps, duplicates, what comes out of turn, scans that stop, senders that vanish
 */
/* Holds: W1, W7, W8, W9, W10, W11, W14, W65, W68 */
#define _GNU_SOURCE
#include "test/support/expect.h"

/* ---- order ---- */

static void test_gap(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++)
		if (i >= 10 && i < 13)
			p.seq++; /* never sent */
		else
			(void)peer_acq(&p, "cart", i, 0);
	(void)peer_end(&p, 32);
	expect_outcome("a gap of 3", BS_ERR_SEQUENCE);
	CHECK(p.outcome.gaps == 3 && p.outcome.acquisitions == 29 && p.outcome.images == 1,
	      "a gap of 3: counted, the other 29 make the image (%llu, %llu, %llu)",
	      (unsigned long long)p.outcome.gaps, (unsigned long long)p.outcome.acquisitions,
	      (unsigned long long)p.outcome.images);
	CHECK(logged(BS_ERR_SEQUENCE, "gap of 3 from sequence 11"), "a gap of 3: logged");
	good_after("a gap");
}

static void test_far_number(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	p.seq = UINT64_MAX - 1;
	(void)peer_acq(&p, "cart", 0, 0);
	expect_refuse("a number near 2^64", BS_ERR_SEQUENCE);
	p.seq = 1;
	for (unsigned i = 0; i < 31; i++)
		(void)peer_acq(&p, "cart", i, 0);
	p.seq += 1000; /* further than anything that can be held */
	(void)peer_acq(&p, "cart", 31, 0);
	(void)peer_end(&p, 1032);
	expect_outcome("a gap of 1000", BS_ERR_SEQUENCE);
	CHECK(p.outcome.gaps == 1000 && p.outcome.acquisitions == 32, "a gap of 1000: %llu counted",
	      (unsigned long long)p.outcome.gaps);
	good_after("a number far ahead");
}

static void test_duplicates(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++) {
		(void)peer_acq(&p, "cart", i, 0);
		if (i % 8 == 7) { /* the last two again */
			p.seq -= 2;
			(void)peer_acq(&p, "cart", i - 1, 0);
			(void)peer_acq(&p, "cart", i, 0);
		}
	}
	(void)peer_end(&p, 32);
	expect_outcome("duplicates", 0);
	CHECK(p.outcome.duplicates == 8 && p.outcome.acquisitions == 32 && p.outcome.images == 1,
	      "8 duplicates dropped (%llu), 32 used", (unsigned long long)p.outcome.duplicates);
}

/* A line that is in the image already comes with a number of its own: the last one counts. */
static void test_line_again(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 31; i++) {
		(void)peer_acq(&p, "cart", i, 0);
		if (i == 9)
			(void)peer_acq(&p, "cart", 5, 0);
	}
	(void)peer_acq(&p, "cart", 31, 0);
	(void)peer_end(&p, 33);
	expect_outcome("a line that comes twice", 0);
	CHECK(p.outcome.rejected == 0 && p.outcome.acquisitions == 33 && p.outcome.images == 1,
	      "it is taken: %llu readouts, %llu images", (unsigned long long)p.outcome.acquisitions,
	      (unsigned long long)p.outcome.images);
	good_after("a line that comes twice");
}

static void test_reorder(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i += 4) /* 3 2 1 0, 7 6 5 4, ... */
		for (unsigned j = 4; j-- > 0;) {
			p.seq = 1 + i + j;
			(void)peer_acq(&p, "cart", i + j, 0);
		}
	p.seq = 33;
	(void)peer_end(&p, 32);
	expect_outcome("reordered messages are put in order", 0);
	CHECK(p.outcome.gaps == 0 && p.outcome.acquisitions == 32 && p.outcome.images == 1,
	      "reordered: all 32 used, no gap");
}

/* What comes after it was given up is said, not used. */
static void test_too_late(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	p.seq = 2;
	for (unsigned i = 1; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(service_reaches(&service, "\"scan\":{", "gaps", 1) == 1,
	      "the gap is declared after a while");
	p.seq = 1;
	(void)peer_acq(&p, "cart", 0, 0);
	p.seq = 33;
	(void)peer_end(&p, 32);
	expect_outcome("a message after its gap was declared", BS_ERR_SEQUENCE);
	CHECK(p.outcome.gaps == 1 && p.outcome.rejected == 1 && p.outcome.acquisitions == 31,
	      "too late: counted");
	good_after("too late");
}

/* An outcome of the scan before and ACCEPT of this one, whichever is said first. */
static bool both(uint64_t old)
{
	const int64_t limit = await_limit();
	bool ended = false;
	bool accepted = false;

	while (!(ended && accepted) && await_now_ns() < limit) {
		if (!peer_hear(&p, 100))
			continue;
		ended = ended || (p.w.kind == BS_WIRE_OUTCOME && p.w.session == old);
		accepted = accepted || (p.w.kind == BS_WIRE_ACCEPT && p.w.session == p.session);
	}
	return ended && accepted;
}

/* Two gaps, and the scan ends: what came beyond both is still used. */
static void test_two_gaps(void)
{
	char xml[SERVICE_XML_MAX];
	size_t n = peer_xml(xml, "cart", true);
	uint64_t old;

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	old = p.session;
	for (unsigned i = 0; i < 32; i++) {
		p.seq = 1 + i;
		if (i != 8 && i != 16)
			(void)peer_acq(&p, "cart", i, 0);
	}
	(void)peer_new_session(&p);
	(void)peer_header(&p, "cart", xml, n);
	CHECK(both(old), "it is ended, the next one begins");
	CHECK(p.outcome.acquisitions == 30 && p.outcome.gaps == 2 && p.outcome.rejected == 0,
	      "all 30 that came are used (%llu), two gaps",
	      (unsigned long long)p.outcome.acquisitions);
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0, "and is good");
}

/* Numbers beyond the close's own: not of the scan, but they came. */
static void test_beyond_close(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	p.seq = 34;
	for (unsigned i = 0; i < 3; i++)
		(void)peer_acq(&p, "cart", i, 1);
	p.seq = 33;
	(void)peer_end(&p, 32);
	CHECK(p.outcome.acquisitions == 32 && p.outcome.rejected == 3 &&
		      service_logs(&service, "3 messages that were held"),
	      "three messages beyond the close are counted (%llu) and named",
	      (unsigned long long)p.outcome.rejected);
}

static void test_counts(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	(void)peer_end(&p, 33);
	expect_outcome("CLOSE says one more than came", BS_ERR_SEQUENCE);
	for (size_t n = 0; n < 12; n += n == 0 ? 7 : 2) {
		unsigned char payload[16] = { 31 };

		CHECK(peer_begin(&p, "cart"), "a scan begins");
		for (unsigned i = 0; i < 31; i++)
			(void)peer_acq(&p, "cart", i, 0);
		(void)peer_say(&p, BS_WIRE_CLOSE, p.seq++, payload, n);
		expect_refuse("CLOSE of the wrong length", BS_ERR_LENGTH);
		CHECK(p.w.seq == 32, "REFUSE says which message: %llu",
		      (unsigned long long)p.w.seq);
		(void)peer_acq(&p, "cart", 31, 0);
		(void)peer_end(&p, 32);
		expect_outcome("CLOSE of the wrong length", BS_ERR_LENGTH);
		CHECK(p.outcome.acquisitions == 32 && p.outcome.images == 1 &&
			      p.outcome.rejected == 1,
		      "the scan went on: %llu readouts",
		      (unsigned long long)p.outcome.acquisitions);
	}
	good_after("counts");
}

/*
 * The pool is full while a number is missing, and the number comes again within its time: nothing
 * is given up, however long no slot comes back. 8 slots, a window of 4: 6 lie with a
 * reconstruction that is stopped, 2 are held, and the next one waits.
 */
static void test_full_pool(void)
{
	static struct service small;
	const struct service first = service;
	pid_t recon;

	CHECK(service_start_with(&small, SERVICE_PATIENT " acq_slots = 8;",
				 SERVICE_SINKS SERVICE_PROTOCOLS, NULL),
	      "a service of 8 slots starts");
	peer_close(&p);
	service = small;
	CHECK(peer_open(&p, &small) && peer_begin(&p, "cart"), "a scan begins");
	recon = (pid_t)service_number(&small, "\"name\":\"recon\"", "pid");
	CHECK(recon > 0 && kill(recon, SIGSTOP) == 0, "recon is stopped");
	for (unsigned i = 0; i < 10; i++) {
		p.seq = 1 + i;
		while (i == 7 && p.acked < 6 && peer_await(&p, BS_WIRE_ACK))
			continue;
		if (i != 6)
			(void)peer_acq(&p, "cart", i, 0);
	}
	CHECK(service_reaches(&small, "\"name\":\"ingest\"", "waits", 1) == 1,
	      "a message waits for a slot beyond the missing one");
	p.seq = 7;
	(void)peer_acq(&p, "cart", 6, 0);
	await_pause_ms(2000); /* longer than a missing number is waited for */
	CHECK(kill(recon, SIGCONT) == 0, "recon goes on");
	for (unsigned i = 10; i < 32; i++) {
		p.seq = 1 + i;
		while (p.acked + 4 < p.seq && peer_await(&p, BS_WIRE_ACK))
			continue;
		(void)peer_acq(&p, "cart", i, 0);
	}
	p.seq = 33;
	(void)peer_end(&p, 32);
	expect_outcome("a number resent while the pool was full", 0);
	CHECK(p.outcome.gaps == 0 && p.outcome.acquisitions == 32, "no gap (%llu), %llu readouts",
	      (unsigned long long)p.outcome.gaps, (unsigned long long)p.outcome.acquisitions);
	peer_close(&p);
	CHECK(service_stop(&small) == 0, "it ends with 0");
	service_remove(&small);
	service = first;
	CHECK(peer_open(&p, &service), "back to the first service");
	good_after("a full pool");
}

/* ---- the conversation ---- */

/* Before the first message of a scan is held, an ACK is of its header. */
static void test_early_ack(void)
{
	int64_t before;

	good_after("early ACK, the scan before");
	before = bs_now_ns();
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	p.seq = 2;
	for (unsigned i = 1; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(peer_await(&p, BS_WIRE_ACK) && p.acked == 0 && p.w.time_ns >= before,
	      "ACK %llu has its header's time", (unsigned long long)p.acked);
	p.seq = 1;
	(void)peer_acq(&p, "cart", 0, 0);
	p.seq = 33;
	(void)peer_end(&p, 32);
	expect_outcome("the first message came last", 0);
}

static void test_out_of_turn(void)
{
	unsigned char payload[8] = { 0 };
	uint64_t old;

	(void)peer_new_session(&p);
	p.seq = 1;
	(void)peer_acq(&p, "cart", 0, 0);
	expect_refuse("an acquisition before its header", BS_ERR_STATE);
	p.session++; /* the log has one line of a lost session */
	(void)peer_say(&p, BS_WIRE_CLOSE, 2, payload, 8);
	expect_refuse("a close before its header", BS_ERR_STATE);
	(void)peer_say(&p, BS_WIRE_ACCEPT, 0, payload, 8);
	expect_refuse("what only the service says", BS_ERR_KIND);
	good_after("out of turn");

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++) {
		(void)peer_acq(&p, "cart", i, 0);
		if (i == 9)
			(void)peer_say(&p, BS_WIRE_OPEN, p.seq++, payload, 8);
	}
	expect_refuse("a second header, numbered, mid-scan", BS_ERR_STATE);
	(void)peer_end(&p, 32);
	expect_outcome("a second header, numbered, mid-scan", BS_ERR_STATE);

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 10; i++)
		(void)peer_acq(&p, "cart", i, 0);
	old = p.session;
	char xml[SERVICE_XML_MAX];
	size_t n = peer_xml(xml, "cart", true);

	(void)peer_new_session(&p);
	(void)peer_header(&p, "cart", xml, n);
	CHECK(both(old) && p.outcome.code == BS_ERR_STATE && p.outcome.images == 1,
	      "another session's header ends the scan, and is accepted itself: \"%s\"",
	      p.outcome.text);
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0, "and its scan is good");
}

static void test_again(void)
{
	char xml[SERVICE_XML_MAX];
	size_t n = peer_xml(xml, "cart", true);
	unsigned char payload[8];

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	(void)peer_header(&p, "cart", xml, n);
	CHECK(peer_await(&p, BS_WIRE_ACCEPT), "a header that is sent again is accepted again");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0, "its scan is good");
	bs_wire_put_u64(payload, 32);
	(void)peer_say(&p, BS_WIRE_CLOSE, 33, payload, 8);
	CHECK(peer_await(&p, BS_WIRE_OUTCOME) && p.outcome.code == 0 && p.outcome.images == 1,
	      "a close that is sent again gets its outcome again");
}

/* Both of the two that ended last are known, whichever of the service's two places has which. */
static void test_both_again(void)
{
	const uint64_t open = p.session;
	uint64_t session[3];
	unsigned char payload[8];
	unsigned known = 0;

	for (unsigned n = 0; n < 3; n++) {
		CHECK(peer_good_scan(&p, "cart", n + 1), "a scan of %u images", n + 1);
		session[n] = p.session;
		for (unsigned i = n > 0 ? n - 1 : 0; i <= n; i++) {
			p.session = session[i];
			bs_wire_put_u64(payload, 32 * (i + 1));
			(void)peer_say(&p, BS_WIRE_CLOSE, 32 * (i + 1) + 1, payload, 8);
			known += peer_await(&p, BS_WIRE_OUTCOME) && p.outcome.code == 0 &&
				 p.outcome.images == i + 1;
		}
	}
	CHECK(known == 5, "%u of 5 closes of the last two scans get their own outcomes again",
	      known);
	p.session = open;
}

/* ---- ends ---- */

static void test_stops_half_way(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 16; i++)
		(void)peer_acq(&p, "cart", i, 0);
	(void)peer_end(&p, 16);
	expect_outcome("closed half-way through a frame", BS_ERR_LENGTH);
	CHECK(p.outcome.images == 1 && p.outcome.acquisitions == 16,
	      "its image was made of what came");
	CHECK(peer_begin(&p, "brief"), "a scan begins");
	for (unsigned i = 0; i < 48; i++)
		(void)peer_acq(&p, "brief", i % 32, i / 32);
	expect_outcome("silent half-way", BS_ERR_TIMEOUT);
	CHECK(p.outcome.images == 2 && p.outcome.acquisitions == 48,
	      "both images were made of what came");
	CHECK(service_logs(&service, "BS_ERR_TIMEOUT, 48 acquisitions, 2 images"), "logged");
	good_after("a scan that stopped");
}

static void test_heartbeats(void)
{
	int64_t until;

	CHECK(peer_begin(&p, "brief"), "a scan begins");
	until = bs_now_ns() + INT64_C(6000000000); /* longer than silence_ms */
	while (bs_now_ns() < until) {
		(void)peer_say(&p, BS_WIRE_HEARTBEAT, 0, NULL, 0);
		await_pause_ms(10);
	}
	CHECK(peer_await(&p, BS_WIRE_HEARTBEAT), "the service says that it lives");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "brief", i, 0);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0, "heartbeats keep an idle scan open");
}

static void test_vanishes(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 16; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(service_reaches(&service, "\"scan\":{", "acquisitions", 16) == 16,
	      "16 readouts have come");
	peer_close(&p);
	CHECK(peer_open(&p, &service), "the sender vanishes, another one comes");
	good_after("a sender that vanished");
	CHECK(service_logs(&service, "BS_ERR_STATE, 16 acquisitions, 1 image"),
	      "its scan's end is logged");
}

/* Longer than anything that is legal: refused in words, on the same connection. */
static void test_oversize(void)
{
	size_t n = (size_t)14 << 20;
	unsigned char *msg = calloc(1, n);
	uint64_t were = bs_endpoint_connections(&p.socket);

	(void)peer_raw(&p, msg, n);
	free(msg);
	expect_refuse("a message of 14 MiB", BS_ERR_LENGTH);
	CHECK(bs_endpoint_connections(&p.socket) == were, "its connection stays");
	good_after("a message of 14 MiB");
}

/* A readout whose stamp is its sender's own clock's. */
static bool stamped(unsigned line, int64_t stamp_ns)
{
	_Alignas(8) unsigned char payload[4096];
	unsigned char envelope[BS_WIRE_BYTES];
	const size_t n = peer_readout(payload, "radial", line, 0);
	struct bs_wire w = {
		.kind = BS_WIRE_ACQ, .session = p.session, .seq = p.seq++, .time_ns = stamp_ns
	};

	bs_wire_encode(envelope, &w, payload, n);
	return peer_send(&p, envelope, sizeof(envelope), payload, n);
}

/* How long readouts were on their way stands in the status, where their stamps can tell. */
static void test_stamps(void)
{
	static const char *const where = "\"protocol\":\"radial\",\"stage\":\"send\"";

	for (int other = 0; other < 2; other++) {
		CHECK(peer_begin(&p, "radial"), "a scan begins");
		for (unsigned i = 0; i < 32; i++)
			(void)stamped(i, other ? (int64_t)i + 1 : bs_now_ns() - 10000000);
		CHECK(service_until(&service,
				    other ? "\"clock\":\"other\"" : "\"clock\":\"monotonic\""),
		      "which clock it is");
		CHECK(peer_end(&p, 32) && p.outcome.code == 0, "it is good");
		CHECK(service_number(&service, where, "n") == 32 &&
			      service_number(&service, where, "p50_us") >= 10000,
		      "32 readouts stamped 10 ms before they were sent: at least that (%ld us), "
		      "and none of a clock of its own",
		      service_number(&service, where, "p50_us"));
	}
}

int main(void)
{
	static void (*const tests[])(
		void) = { test_gap,      test_far_number,   test_duplicates,     test_line_again,
			  test_reorder,  test_too_late,     test_counts,         test_early_ack,
			  test_two_gaps, test_beyond_close, test_full_pool,      test_out_of_turn,
			  test_again,    test_both_again,   test_stops_half_way, test_heartbeats,
			  test_vanishes, test_oversize,     test_stamps };

	return expect_run(tests, sizeof(tests) / sizeof(tests[0]));
}
