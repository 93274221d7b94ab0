/*
 * test/fault/fault_input.c - bad messages through the real socket: each gets its coded error in
 * words on the wire and in the log, the service stays up, and a good scan right after succeeds
 */
/* Holds: W3, W16, W18, W21, W31, W32, W33 */
#define _GNU_SOURCE
#include "test/support/expect.h"

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

/* A sender of version 1 reads in its own version that this service speaks another one. */
static void test_previous(void)
{
	unsigned char msg[1024];
	unsigned char payload[BS_WIRE_OPEN_NAME + 4] = "cart";
	const uint64_t session = peer_new_session(&p);
	struct bs_wire w = { .kind = BS_WIRE_OPEN,
			     .session = session,
			     .version = BS_WIRE_PREVIOUS };
	struct bs_wire_reply v = { 0 };
	const int64_t limit = await_limit();
	bool said = false;
	size_t n;

	bs_wire_encode(msg, &w, payload, sizeof(payload));
	(void)peer_send(&p, msg, BS_WIRE_BYTES, payload, sizeof(payload));
	while (!said && bs_now_ns() < limit)
		said = bs_endpoint_recv(&p.socket, msg, sizeof(msg), &n, 100, NULL) == 0 &&
		       bs_wire_is_previous(&w, msg, n) && w.kind == BS_WIRE_REFUSE;
	CHECK(said && w.session == session && w.seq == 0 &&
		      bs_wire_get_reply(&v, msg + BS_WIRE_BYTES, n - BS_WIRE_BYTES, NULL) == 0 &&
		      v.code == BS_ERR_VERSION &&
		      strcmp(v.text, "a message of version 1, this side speaks version 2") == 0,
	      "an OPEN of version 1 is refused in words: \"%s\"", v.text);
	good_after("an OPEN of version 1");
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
		CHECK(peer_await(&p, BS_WIRE_REFUSE) && p.answer.code == BS_ERR_LENGTH,
		      "cut to %zu bytes: \"%s\"", cut[i], p.answer.text);
	}
	(void)peer_raw(&p, msg, 64);
	CHECK(peer_await(&p, BS_WIRE_REFUSE) && p.answer.code == BS_ERR_LENGTH,
	      "the envelope alone: \"%s\"", p.answer.text);
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
		if (!peer_await(&p, BS_WIRE_REFUSE) || p.answer.code != BS_ERR_LENGTH) {
			wrong++;
			printf("# cut to %zu: %d %s\n", cut[i], p.answer.code, p.answer.text);
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
	bad_header("XML of 10 MB", "cart", big, sizeof(big), BS_ERR_LENGTH);
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
	edit[18] = '1';
	bad_header("fewer channels than the protocol has", "cart", xml, n, BS_ERR_SIZE);
	n = peer_xml(xml, "radial", false);
	bad_header("a radial header for the Cartesian protocol", "cart", xml, n, BS_ERR_SIZE);
	n = peer_xml(xml, "cart", true);
	edit = strstr(xml, "<x>64</x>");
	memcpy(edit, "<x>Qz</x>", 9);
	bad_header("a word for a number", "cart", xml, n, BS_ERR_XML);
	CHECK(strstr(p.answer.text, ": Qz") != NULL, "its sender is told which: %s", p.answer.text);
	CHECK(service_logs(&service, "not an unsigned number") && !service_logged(&service, "Qz") &&
		      service_ask(&service, "json", big, sizeof(big)) &&
		      strstr(big, "not an unsigned number") != NULL && strstr(big, "Qz") == NULL,
	      "log and status have no word of a header, which may name a patient");
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
	expect_refuse("a protocol name without an end", BS_ERR_PROTOCOL);
	memset(payload, 0, BS_WIRE_OPEN_NAME);
	memcpy(payload, "c\033[2Jart", 8);
	(void)peer_say(&p, BS_WIRE_OPEN, 0, payload, BS_WIRE_OPEN_NAME + n);
	expect_refuse("a protocol name with an escape sequence", BS_ERR_PROTOCOL);
	memset(payload, 0, BS_WIRE_OPEN_NAME);
	memcpy(payload, "cart\0more", 9);
	(void)peer_say(&p, BS_WIRE_OPEN, 0, payload, BS_WIRE_OPEN_NAME + n);
	expect_refuse("bytes after a protocol name's end", BS_ERR_PROTOCOL);
	memset(payload, 0, BS_WIRE_OPEN_NAME);
	memcpy(payload, "cart", 4);
	p.session = 0;
	(void)peer_say(&p, BS_WIRE_OPEN, 0, payload, BS_WIRE_OPEN_NAME + n);
	expect_refuse("session 0", BS_ERR_STATE);
	good_after("OPEN's payload");
}

int main(void)
{
	static void (*const tests[])(
		void) = { test_envelopes,      test_previous,    test_truncated_envelopes,
			  test_truncated_acqs, test_sizes,       test_values,
			  test_headers,        test_open_payload };

	return expect_run(tests, sizeof(tests) / sizeof(tests[0]));
}
