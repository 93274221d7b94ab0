/*
 * test/fault/fault_input.c - bad input through the real socket: each gets its coded error in words
 * on the wire and in the log, the service stays up, and a good scan right after succeeds
 */
#define _GNU_SOURCE
#include "test/service.h"

static struct service service;
static struct peer p;

/* The code's name and the words of the reply stand in the log. */
static bool logged(int code, const char *words)
{
	char part[200];

	(void)snprintf(part, sizeof(part), "%s: %.150s", bs_err_name(code), words);
	for (int i = 0; i < 100; i++) { /* the supervisor writes it a moment later */
		if (service_logged(&service, part))
			return true;
		service_pause_ms(10);
	}
	return false;
}

static void good_after(const char *what)
{
	CHECK(peer_good_scan(&p, "cart", 1), "%s: a good scan right after succeeds", what);
}

/* A REFUSE with this code comes, in words, and stands in the log. */
static void expect_refuse(const char *what, int code)
{
	bool came = peer_await(&p, BS_WIRE_REFUSE, 5000);

	CHECK(came && p.verdict.code == code, "%s: %s \"%s\"", what, bs_err_name(p.verdict.code),
	      came ? p.verdict.text : "(nothing came)");
	CHECK(came && p.verdict.text[0] != '\0' && logged(code, p.verdict.text), "%s: logged",
	      what);
}

static void expect_outcome(const char *what, int code)
{
	bool came = p.w.kind == BS_WIRE_OUTCOME || peer_await(&p, BS_WIRE_OUTCOME, 8000);

	CHECK(came && p.outcome.code == code && p.w.session == p.session, "%s: outcome %s \"%s\"",
	      what, bs_err_name(p.outcome.code), came ? p.outcome.text : "(nothing came)");
	if (code != 0)
		CHECK(came && p.outcome.text[0] != '\0', "%s: the outcome has words", what);
}

/* ---- envelopes ---- */

static size_t make_message(unsigned char *msg, enum bs_wire_kind kind, uint64_t seq,
			   const void *payload, size_t len)
{
	struct bs_wire w = { .kind = (uint16_t)kind, .session = p.session, .seq = seq };

	memcpy(msg + BS_WIRE_BYTES, payload, len);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, len);
	return BS_WIRE_BYTES + len;
}

/* The checksum anew, so that the field alone is wrong. */
static void seal(unsigned char *msg, size_t len)
{
	uint32_t crc;

	memset(msg + 40, 0, 4);
	crc = bs_crc32c(0, msg, len);
	for (int i = 0; i < 4; i++)
		msg[40 + i] = (unsigned char)(crc >> 8 * i);
}

static const struct {
	const char *what;
	int at, code;
	bool sealed;
} spoils[] = {
	{ "wrong magic", 0, BS_ERR_MAGIC, true },
	{ "wrong version", 4, BS_ERR_VERSION, true },
	{ "wrong kind", 6, BS_ERR_KIND, true },
	{ "wrong payload length", 8, BS_ERR_LENGTH, true },
	{ "a payload length of 2^63", 15, BS_ERR_LENGTH, true },
	{ "wrong reserved byte", 63, BS_ERR_VERSION, true },
	{ "wrong CRC", 41, BS_ERR_CRC, false },
	{ "a flipped bit in the payload", 64 + 400, BS_ERR_CRC, false },
};

static void send_spoiled(size_t i, uint64_t seq)
{
	static unsigned char msg[8192];
	static unsigned char payload[4096];
	size_t n =
		make_message(msg, BS_WIRE_ACQ, seq, payload, peer_readout(payload, "cart", 0, 0));

	msg[spoils[i].at] ^= 0x80;
	if (spoils[i].sealed)
		seal(msg, n);
	(void)peer_raw(&p, msg, n);
}

static void test_envelopes(void)
{
	char what[96];

	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		(void)peer_new_session(&p);
		send_spoiled(i, 1);
		expect_refuse(spoils[i].what, spoils[i].code);
	}
	good_after("envelopes without a scan");
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		(void)snprintf(what, sizeof(what), "%s mid-scan", spoils[i].what);
		send_spoiled(i, p.seq);
		expect_refuse(what, spoils[i].code);
	}
	for (unsigned i = 0; i < 32; i++) /* the spoiled ones used no number: all can come yet */
		(void)peer_acq(&p, "cart", i, 0);
	(void)peer_end(&p, 32);
	expect_outcome("spoiled envelopes within a scan that is whole nevertheless", 0);
	CHECK(p.outcome.rejected == sizeof(spoils) / sizeof(spoils[0]), "%llu messages rejected",
	      (unsigned long long)p.outcome.rejected);
}

static void test_truncated_envelopes(void)
{
	static const size_t cut[] = { 0, 1, 3, 4, 6, 8, 16, 24, 32, 40, 44, 63 };
	static unsigned char msg[8192];
	static unsigned char payload[4096];
	size_t n;

	(void)peer_new_session(&p);
	n = make_message(msg, BS_WIRE_ACQ, 1, payload, peer_readout(payload, "cart", 0, 0));
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		(void)peer_raw(&p, msg, cut[i]);
		CHECK(peer_await(&p, BS_WIRE_REFUSE, 5000) && p.verdict.code == BS_ERR_LENGTH,
		      "cut to %zu bytes: \"%s\"", cut[i], p.verdict.text);
	}
	(void)peer_raw(&p, msg, 64);
	CHECK(peer_await(&p, BS_WIRE_REFUSE, 5000) && p.verdict.code == BS_ERR_LENGTH,
	      "the envelope alone: \"%s\"", p.verdict.text);
	(void)peer_raw(&p, msg, n - 1);
	expect_refuse("one byte short", BS_ERR_LENGTH);
	good_after("truncated envelopes");
}

/* ---- acquisitions ---- */

/* One bad payload in the place of line 5 of an otherwise good frame. */
static void bad_acq(const char *what, const char *protocol, const unsigned char *payload, size_t n,
		    int code)
{
	if (!peer_begin(&p, protocol)) {
		CHECK(false, "%s: the scan begins", what);
		return;
	}
	for (unsigned i = 0; i < 32; i++)
		if (i != 5)
			(void)peer_acq(&p, protocol, i, 0);
		else
			(void)peer_say(&p, BS_WIRE_ACQ, p.seq++, payload, n);
	expect_refuse(what, code);
	(void)peer_end(&p, 32);
	expect_outcome(what, code);
	CHECK(p.outcome.rejected == 1 && p.outcome.acquisitions == 31 && p.outcome.images == 1,
	      "%s: 1 rejected, 31 used, the image is made of these (%llu, %llu, %llu)", what,
	      (unsigned long long)p.outcome.rejected, (unsigned long long)p.outcome.acquisitions,
	      (unsigned long long)p.outcome.images);
}

static void test_truncated_acqs(void)
{
	/* every field of the 340-byte header (MRD.md), then within the samples */
	static const size_t cut[] = { 0,   2,   10,  14,  18,  22,  34,  36,   38,  40,
				      168, 170, 172, 174, 176, 178, 182, 194,  206, 218,
				      230, 242, 276, 308, 339, 340, 341, 1000, 1363 };
	static unsigned char payload[4096];
	size_t n = peer_readout(payload, "cart", 0, 0);
	int wrong = 0;

	CHECK(n == 1364, "a readout has %zu bytes", n);
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		(void)peer_say(&p, BS_WIRE_ACQ, p.seq++, payload, cut[i]);
		if (!peer_await(&p, BS_WIRE_REFUSE, 5000) || p.verdict.code != BS_ERR_LENGTH) {
			wrong++;
			printf("# cut to %zu: %d %s\n", cut[i], p.verdict.code, p.verdict.text);
		}
	}
	CHECK(wrong == 0, "acquisitions cut at each of %zu boundaries: BS_ERR_LENGTH",
	      sizeof(cut) / sizeof(cut[0]));
	(void)peer_end(&p, sizeof(cut) / sizeof(cut[0]));
	expect_outcome("nothing but truncated acquisitions", BS_ERR_LENGTH);
	good_after("truncated acquisitions");
	memset(payload + n, 0, 100);
	bad_acq("payload longer than the header says", "cart", payload, n + 4, BS_ERR_LENGTH);
	bad_acq("payload shorter than the header says", "cart", payload, n - 8, BS_ERR_LENGTH);
}

static void put16(unsigned char *at, unsigned v)
{
	at[0] = (unsigned char)v;
	at[1] = (unsigned char)(v >> 8);
}

static void test_sizes(void)
{
	static unsigned char payload[8192];
	size_t n = peer_readout(payload, "cart", 5, 0);

	put16(payload + 34, 65535); /* 65535 x 65535 x 8 bytes: 34 GB, beyond 32 bits */
	put16(payload + 36, 65535);
	put16(payload + 38, 65535);
	bad_acq("samples x channels beyond 32 bits", "cart", payload, n, BS_ERR_LENGTH);
	n = peer_readout(payload, "cart", 5, 0);
	put16(payload + 176, 65535);
	bad_acq("65535 trajectory dimensions", "cart", payload, n, BS_ERR_LENGTH);
	n = peer_readout(payload, "cart", 5, 0);
	put16(payload + 34, 63);
	bad_acq("63 samples instead of 64", "cart", payload, n - 16, BS_ERR_SIZE);
	n = peer_readout(payload, "cart", 5, 0);
	put16(payload + 38, 1);
	bad_acq("1 channel instead of 2", "cart", payload, n - 512, BS_ERR_SIZE);
	n = peer_readout(payload, "cart", 5, 0);
	put16(payload + 36, 1);
	bad_acq("more active than available channels", "cart", payload, n, BS_ERR_SIZE);
	n = peer_readout(payload, "cart", 5, 0);
	put16(payload + 168, 60);
	put16(payload + 170, 60);
	bad_acq("more samples discarded than there are", "cart", payload, n, BS_ERR_SIZE);
	/* 64 that count and 100 discarded: more than the protocol allows for, and than a slot holds
	 */
	n = peer_readout(payload, "cart", 5, 0);
	put16(payload + 34, 400);
	put16(payload + 170, 336);
	memset(payload + BS_MRD_ACQ_BYTES, 0, 6400);
	bad_acq("far more samples discarded than the protocol allows for", "cart", payload,
		BS_MRD_ACQ_BYTES + 400 * 16, BS_ERR_SIZE);
	n = peer_readout(payload, "cart", 5, 0);
	put16(payload, 9);
	bad_acq("another version of MRD", "cart", payload, n, BS_ERR_VERSION);
	n = peer_readout(payload, "cart", 32, 0);
	bad_acq("a line outside k-space", "cart", payload, n, BS_ERR_INDEX);
	n = peer_readout(payload, "cart", 5, 0);
	put16(payload + 242 + 6, 1);
	bad_acq("a slice that the protocol does not have", "cart", payload, n, BS_ERR_INDEX);
	good_after("sizes");
}

static void test_values(void)
{
	static unsigned char payload[4096];
	const float bad[] = { NAN, INFINITY, -INFINITY, 3e38f };
	size_t n;

	for (int i = 0; i < 4; i++) {
		n = peer_readout(payload, "cart", 5, 0);
		memcpy(payload + n - 4, &bad[i], 4); /* the very last value */
		bad_acq(i == 0  ? "a NaN sample"
			: i < 3 ? "an infinite sample"
				: "an absurd sample",
			"cart", payload, n, BS_ERR_VALUE);
	}
	for (int i = 0; i < 3; i++) {
		n = peer_readout(payload, "radial", 5, 0);
		memcpy(payload + BS_MRD_ACQ_BYTES + 4 * (i * 60), &bad[i], 4);
		bad_acq(i == 0 ? "a NaN trajectory" : "an infinite trajectory", "radial", payload,
			n, BS_ERR_TRAJECTORY);
	}
	const float far = 0.75f;

	n = peer_readout(payload, "radial", 5, 0);
	memcpy(payload + BS_MRD_ACQ_BYTES + 80, &far, 4);
	bad_acq("a trajectory out of range", "radial", payload, n, BS_ERR_TRAJECTORY);
	const float shifted = 0.123f;

	n = peer_readout(payload, "radial", 5, 0);
	memcpy(payload + BS_MRD_ACQ_BYTES + 80, &shifted, 4);
	bad_acq("a trajectory that is not the armed one", "radial", payload, n, BS_ERR_TRAJECTORY);
	good_after("values");
}

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
	CHECK(service_until(&service, "\"gaps\":1,", 5000), "the gap is declared after a while");
	p.seq = 1;
	(void)peer_acq(&p, "cart", 0, 0);
	p.seq = 33;
	(void)peer_end(&p, 32);
	expect_outcome("a message after its gap was declared", BS_ERR_SEQUENCE);
	CHECK(p.outcome.gaps == 1 && p.outcome.rejected == 1 && p.outcome.acquisitions == 31,
	      "too late: counted");
	good_after("too late");
}

static void test_counts(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	(void)peer_end(&p, 33);
	expect_outcome("CLOSE says one more than came", BS_ERR_SEQUENCE);
	for (size_t n = 0; n < 12; n += n == 0 ? 7 : 2) {
		unsigned char payload[16] = { 32 };

		CHECK(peer_begin(&p, "cart"), "a scan begins");
		for (unsigned i = 0; i < 32; i++)
			(void)peer_acq(&p, "cart", i, 0);
		(void)peer_say(&p, BS_WIRE_CLOSE, p.seq++, payload, n);
		expect_refuse("CLOSE of the wrong length", BS_ERR_LENGTH);
		expect_outcome("CLOSE of the wrong length", BS_ERR_LENGTH);
	}
	good_after("counts");
}

/* ---- the conversation ---- */

static void test_out_of_turn(void)
{
	unsigned char payload[8] = { 0 };
	uint64_t old;

	(void)peer_new_session(&p);
	p.seq = 1;
	(void)peer_acq(&p, "cart", 0, 0);
	expect_refuse("an acquisition before its header", BS_ERR_STATE);
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
	CHECK(peer_await(&p, BS_WIRE_OUTCOME, 5000) && p.outcome.code == BS_ERR_STATE &&
		      p.w.session == old && p.outcome.images == 1,
	      "another session's header ends the scan: \"%s\"", p.outcome.text);
	CHECK(peer_await(&p, BS_WIRE_ACCEPT, 5000) && p.w.session == p.session,
	      "and is accepted itself");
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
	CHECK(peer_await(&p, BS_WIRE_ACCEPT, 5000),
	      "a header that is sent again is accepted again");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0, "its scan is good");
	bs_wire_put_u64(payload, 32);
	(void)peer_say(&p, BS_WIRE_CLOSE, 33, payload, 8);
	CHECK(peer_await(&p, BS_WIRE_OUTCOME, 5000) && p.outcome.code == 0 && p.outcome.images == 1,
	      "a close that is sent again gets its outcome again");
}

/* ---- headers ---- */

static void bad_header(const char *what, const char *protocol, const char *xml, size_t n, int code)
{
	(void)peer_new_session(&p);
	(void)peer_header(&p, protocol, xml, n);
	expect_refuse(what, code);
	CHECK(p.w.session == p.session, "%s: the answer is to this session", what);
}

static void test_headers(void)
{
	static char big[10 << 20];
	static char xml[SERVICE_XML_MAX];
	static char other[SERVICE_XML_MAX + 600];
	size_t n = peer_xml(xml, "cart", true);
	size_t at;
	char *edit;

	bad_header("no XML at all", "cart", xml, 0, BS_ERR_XML);
	bad_header("XML cut in the middle", "cart", xml, n / 2, BS_ERR_XML);
	bad_header("no XML but words", "cart", "hello, scanner", 14, BS_ERR_XML);
	memset(big, ' ', sizeof(big));
	memcpy(big, xml, n);
	bad_header("XML of 10 MB", "cart", big, sizeof(big), BS_ERR_XML);
	at = 0;
	for (int i = 0; i < 5000; i++)
		at += (size_t)snprintf(big + at, sizeof(big) - at, "<a>");
	bad_header("XML of 5000 levels", "cart", big, at, BS_ERR_XML);
	n = (size_t)snprintf(other, sizeof(other),
			     "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY e SYSTEM "
			     "\"file:///etc/passwd\">]><ismrmrdHeader><encoding>&e;</encoding>"
			     "</ismrmrdHeader>");
	bad_header("XML with an external entity", "cart", other, n, BS_ERR_XML);
	n = (size_t)snprintf(
		other, sizeof(other),
		"<!DOCTYPE l [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\"><!ENTITY c "
		"\"&b;&b;&b;&b;\">]><ismrmrdHeader>&c;</ismrmrdHeader>");
	bad_header("XML with entities in entities", "cart", other, n, BS_ERR_XML);
	n = peer_xml(xml, "cart", true);
	bad_header("an unknown protocol", "nonesuch", xml, n, BS_ERR_PROTOCOL);
	n = peer_xml(xml, "nonesuch", true);
	bad_header("an unknown protocol in the XML", "", xml, n, BS_ERR_PROTOCOL);
	n = peer_xml(xml, "cart", true);
	edit = strstr(xml, "<x>64</x>");
	memcpy(edit, "<x>96</x>", 9);
	bad_header("another encoded matrix", "cart", xml, n, BS_ERR_SIZE);
	n = peer_xml(xml, "cart", true);
	edit = strstr(xml, "<receiverChannels>2");
	edit[18] = '4';
	bad_header("another number of channels", "cart", xml, n, BS_ERR_SIZE);
	n = peer_xml(xml, "radial", false);
	bad_header("a radial header for the Cartesian protocol", "cart", xml, n, BS_ERR_SIZE);
	good_after("headers");
}

static void test_open_payload(void)
{
	static char xml[SERVICE_XML_MAX];
	static unsigned char payload[BS_WIRE_OPEN_NAME + SERVICE_XML_MAX];
	size_t n = peer_xml(xml, "cart", true);

	(void)peer_new_session(&p);
	memcpy(payload + BS_WIRE_OPEN_NAME, xml, n);
	for (size_t len = 0; len < BS_WIRE_OPEN_NAME; len += 21) {
		(void)peer_say(&p, BS_WIRE_OPEN, 0, payload, len);
		expect_refuse("OPEN shorter than its name", BS_ERR_LENGTH);
	}
	memset(payload, 'x', BS_WIRE_OPEN_NAME);
	(void)peer_say(&p, BS_WIRE_OPEN, 0, payload, BS_WIRE_OPEN_NAME + n);
	expect_refuse("a protocol name without an end", BS_ERR_LENGTH);
	memset(payload, 0, BS_WIRE_OPEN_NAME);
	memcpy(payload, "c\033[2Jart", 8);
	(void)peer_say(&p, BS_WIRE_OPEN, 0, payload, BS_WIRE_OPEN_NAME + n);
	expect_refuse("a protocol name with an escape sequence", BS_ERR_PROTOCOL);
	memset(payload, 0, BS_WIRE_OPEN_NAME);
	memcpy(payload, "cart", 4);
	p.session = 0;
	(void)peer_say(&p, BS_WIRE_OPEN, 0, payload, BS_WIRE_OPEN_NAME + n);
	expect_refuse("session 0", BS_ERR_STATE);
	good_after("OPEN's payload");
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
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 48; i++)
		(void)peer_acq(&p, "cart", i % 32, i / 32);
	expect_outcome("silent half-way", BS_ERR_TIMEOUT);
	CHECK(p.outcome.images == 2 && p.outcome.acquisitions == 48,
	      "both images were made of what came");
	CHECK(service_logged(&service, "BS_ERR_TIMEOUT, 48 acquisitions, 2 images"), "logged");
	good_after("a scan that stopped");
}

static void test_heartbeats(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (int i = 0; i < 10; i++) { /* 1 s, longer than silence_ms */
		(void)peer_say(&p, BS_WIRE_HEARTBEAT, 0, NULL, 0);
		service_pause_ms(100);
	}
	CHECK(peer_await(&p, BS_WIRE_HEARTBEAT, 2000), "the service says that it lives");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0, "heartbeats keep an idle scan open");
}

static void test_vanishes(void)
{
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 16; i++)
		(void)peer_acq(&p, "cart", i, 0);
	service_pause_ms(100);
	peer_close(&p);
	CHECK(peer_open(&p, &service), "the sender vanishes, another one comes");
	good_after("a sender that vanished");
	CHECK(service_logged(&service, "BS_ERR_STATE, 16 acquisitions, 1 images") ||
		      service_logged(&service, "BS_ERR_TIMEOUT, 16 acquisitions, 1 images"),
	      "its scan's end is logged");
}

/* Beyond the transport's limit: nothing is answered, the connection is remade, nothing else breaks.
 */
static void test_oversize(void)
{
	size_t n = (size_t)14 << 20;
	unsigned char *msg = calloc(1, n);

	(void)peer_raw(&p, msg, n);
	free(msg);
	service_pause_ms(300);
	good_after("a message beyond the transport's limit");
}

int main(void)
{
	static void (*const tests[])(void) = {
		test_envelopes,      test_truncated_envelopes,
		test_truncated_acqs, test_sizes,
		test_values,         test_gap,
		test_far_number,     test_duplicates,
		test_reorder,        test_too_late,
		test_counts,         test_out_of_turn,
		test_again,          test_headers,
		test_open_payload,   test_stops_half_way,
		test_heartbeats,     test_vanishes,
		test_oversize,
	};
	long pid;

	CHECK(service_start(&service), "the service starts");
	CHECK(peer_open(&p, &service), "a sender connects");
	pid = service_number(&service, "\"name\":\"ingest\"", "pid");
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tests[i]();
	CHECK(pid > 0 && service_number(&service, "\"name\":\"ingest\"", "pid") == pid &&
		      service_number(&service, "\"name\":\"ingest\"", "restarts") == 0 &&
		      service_number(&service, "\"name\":\"recon\"", "restarts") == 0 &&
		      service_number(&service, "\"name\":\"emit\"", "restarts") == 0,
	      "the same three workers live: none was replaced");
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0,
	      "no slot of the pool was lost");
	peer_close(&p);
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	service_remove(&service);
	return check_done();
}
