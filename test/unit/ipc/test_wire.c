/*
 * test/unit/ipc/test_wire.c - envelope and small payloads: there and back, every truncation, every
 * bit
 */
/* Holds: W16 */
#include "ipc/wire/answer.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/wire.h"
#include "test/support/check.h"

#include <string.h>

static const unsigned kinds[] = { BS_WIRE_OPEN,   BS_WIRE_ACQ,       BS_WIRE_WAVEFORM,
				  BS_WIRE_CLOSE,  BS_WIRE_HEARTBEAT, BS_WIRE_ACCEPT,
				  BS_WIRE_REFUSE, BS_WIRE_ACK,       BS_WIRE_OUTCOME,
				  BS_WIRE_IMAGE,  BS_WIRE_NEXT,      BS_WIRE_STORED,
				  BS_WIRE_NONE,   BS_WIRE_ANSWER };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t sample(unsigned char *msg, unsigned kind, size_t payload_len)
{
	struct bs_wire w = { .kind = (uint16_t)kind,
			     .session = UINT64_C(0xfedcba9876543210),
			     .seq = UINT64_C(0x1122334455667788),
			     .time_ns = -5 };

	for (size_t i = 0; i < payload_len; i++)
		msg[BS_WIRE_BYTES + i] = (unsigned char)(i * 7 + 1);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, payload_len);
	return BS_WIRE_BYTES + payload_len;
}

static void round_trip(void)
{
	unsigned char msg[BS_WIRE_BYTES + 256];
	const unsigned char *payload;
	struct bs_wire w;
	struct bs_fail why;
	int bad = 0;

	for (size_t k = 0; k < KINDS; k++)
		for (size_t n = 0; n <= 256; n++) {
			size_t len = sample(msg, kinds[k], n);

			bad += bs_wire_decode(&w, msg, len, &payload, &why) != 0 ||
			       w.kind != kinds[k] || w.payload_len != n ||
			       payload != msg + BS_WIRE_BYTES || w.time_ns != -5 ||
			       w.session != UINT64_C(0xfedcba9876543210) ||
			       w.seq != UINT64_C(0x1122334455667788);
		}
	CHECK(bad == 0, "every kind, payloads of 0 to 256 bytes: %d of %zu differ", bad,
	      KINDS * 257);
	CHECK(bs_crc32c(0, "123456789", 9) == 0xe3069283u, "the checksum is CRC-32C");
	(void)sample(msg, BS_WIRE_ACQ, 4);
	CHECK(memcmp(msg, "BSD1\2\0\2\0\4\0\0\0\0\0\0\0\x10\x32\x54\x76\x98\xba\xdc\xfe\x88\x77",
		     26) == 0,
	      "bytes on the wire are little-endian, in the page's order");
}

static void every_truncation(void)
{
	unsigned char msg[BS_WIRE_BYTES + 301];
	const unsigned char *payload = NULL;
	struct bs_wire w;
	struct bs_fail why;
	size_t len = sample(msg, BS_WIRE_ACQ, 300);
	int bad = 0;

	for (size_t n = 0; n < len; n++) {
		unsigned char *cut =
			malloc(n > 0 ? n : 1); /* of this very size, for the sanitizer */

		if (n > 0)
			memcpy(cut, msg, n);
		bad += bs_wire_decode(&w, cut, n, &payload, &why) != BS_ERR_LENGTH;
		free(cut);
	}
	CHECK(bad == 0 && payload == NULL, "cut at every byte: BS_ERR_LENGTH (%d not): %s", bad,
	      why.text);
	msg[len] = 0;
	CHECK(bs_wire_decode(&w, msg, len + 1, &payload, &why) == BS_ERR_LENGTH,
	      "one byte more: %s", why.text);
}

/* A CRC finds every single-bit error; magic, version, kind and length are looked at before it. */
static void every_bit(void)
{
	unsigned char msg[BS_WIRE_BYTES + 72];
	const unsigned char *payload;
	struct bs_wire w;
	struct bs_fail why;
	size_t len = sample(msg, BS_WIRE_ACQ, 72);
	int passed = 0;
	int wrong_code = 0;

	for (size_t bit = 0; bit < len * 8; bit++) {
		size_t at = bit / 8;
		int rc;
		int want = at < 4                           ? BS_ERR_MAGIC
			   : at < 6                         ? BS_ERR_VERSION
			   : at < 8                         ? BS_ERR_KIND
			   : at < 16                        ? BS_ERR_LENGTH
			   : at >= 44 && at < BS_WIRE_BYTES ? BS_ERR_VERSION
							    : BS_ERR_CRC;

		msg[at] ^= (unsigned char)(1u << bit % 8);
		rc = bs_wire_decode(&w, msg, len, &payload, &why);
		msg[at] ^= (unsigned char)(1u << bit % 8);
		passed += rc == 0;
		/* one bit of the kind may make another known kind: then the checksum refuses it */
		wrong_code += rc != want && !(want == BS_ERR_KIND && rc == BS_ERR_CRC);
	}
	CHECK(passed == 0, "no message with one wrong bit is taken (%d of %zu were)", passed,
	      len * 8);
	CHECK(wrong_code == 0, "and the code names the field (%d did not)", wrong_code);
	CHECK(bs_wire_decode(&w, msg, len, &payload, &why) == 0, "the message itself is good");
}

static void named_faults(void)
{
	unsigned char msg[BS_WIRE_BYTES + 16];
	const unsigned char *payload;
	struct bs_wire w;
	struct bs_fail why;
	size_t len = sample(msg, BS_WIRE_CLOSE, 8);

	CHECK(bs_wire_decode(&w, msg, 63, &payload, NULL) == BS_ERR_LENGTH,
	      "no reason wanted is fine");
	bs_put_le(msg + 8, UINT64_MAX, 8);
	CHECK(bs_wire_decode(&w, msg, len, &payload, &why) == BS_ERR_LENGTH, "huge length: %s",
	      why.text);
	(void)sample(msg, 77, 8);
	CHECK(bs_wire_decode(&w, msg, len, &payload, &why) == BS_ERR_KIND, "kind: %s", why.text);
	(void)sample(msg, BS_WIRE_ACK, 8);
	bs_put_le(msg + 4, 3, 2);
	CHECK(bs_wire_decode(&w, msg, len, &payload, &why) == BS_ERR_VERSION &&
		      strstr(why.text, "version 3, this side speaks version 2") != NULL &&
		      !bs_wire_is_previous(&w, msg, len),
	      "version: %s", why.text);
	msg[0] = 'G';
	CHECK(bs_wire_decode(&w, msg, len, &payload, &why) == BS_ERR_MAGIC, "magic: %s", why.text);
}

/* A peer of version 1 is told so by an answer that it can read. */
static void previous_version(void)
{
	unsigned char msg[BS_WIRE_BYTES + 8];
	unsigned char again[BS_WIRE_BYTES];
	const unsigned char *payload;
	struct bs_wire w = { .kind = BS_WIRE_CLOSE, .session = 7, .seq = 9, .version = 1 };
	struct bs_wire seen;
	struct bs_fail why;
	int bad = 0;

	memset(msg + BS_WIRE_BYTES, 5, 8);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, 8);
	CHECK(msg[4] == 1 &&
		      bs_wire_decode(&seen, msg, sizeof(msg), &payload, &why) == BS_ERR_VERSION,
	      "a message of version 1: %s", why.text);
	CHECK(bs_wire_is_previous(&seen, msg, sizeof(msg)) && seen.session == 7 && seen.seq == 9 &&
		      seen.version == 1,
	      "is known as what it is");
	bs_wire_encode(again, &seen, msg + BS_WIRE_BYTES, 8);
	CHECK(memcmp(again, msg, sizeof(again)) == 0, "an answer in its version is one");
	for (size_t bit = 0; bit < sizeof(msg) * 8; bit++) {
		msg[bit / 8] ^= (unsigned char)(1u << bit % 8);
		bad += bs_wire_is_previous(&seen, msg, sizeof(msg));
		msg[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	for (size_t len = 0; len < sizeof(msg); len++)
		bad += bs_wire_is_previous(&seen, msg, len);
	CHECK(bad == 0, "with one wrong bit, or cut, it is believed in nothing (%d were)", bad);
}

static void acknowledgement(void)
{
	const struct bs_wire_ack a = { .held = UINT64_C(0x0102030405060708),
				       .durable = 0x090a,
				       .unprotected = 0x090b,
				       .log = BS_WIRE_LOG_RELAXED };
	unsigned char buf[BS_WIRE_ACK_BYTES + 1];
	struct bs_wire_ack b;
	struct bs_fail why;
	int bad = 0;

	memset(buf, 0xee, sizeof(buf));
	bs_wire_put_ack(buf, &a);
	CHECK(buf[0] == 8 && buf[8] == 10 && buf[16] == 11 && buf[24] == 1 && buf[32] == 0xee &&
		      bs_wire_get_ack(&b, buf, BS_WIRE_ACK_BYTES, &why) == 0 && b.held == a.held &&
		      b.durable == a.durable && b.unprotected == a.unprotected && b.log == a.log,
	      "acknowledgement there and back");
	for (size_t len = 0; len <= sizeof(buf); len++)
		bad += len != BS_WIRE_ACK_BYTES &&
		       bs_wire_get_ack(&b, buf, len, &why) != BS_ERR_LENGTH;
	CHECK(bad == 0, "any other length is refused (%d were not)", bad);
	bs_put_le(buf + 16, 0x090c, 8);
	CHECK(bs_wire_get_ack(&b, buf, BS_WIRE_ACK_BYTES, &why) == BS_ERR_VALUE, "%s", why.text);
	bs_wire_put_ack(buf, &(struct bs_wire_ack){ .held = 4, .durable = 5 });
	CHECK(bs_wire_get_ack(&b, buf, BS_WIRE_ACK_BYTES, &why) == BS_ERR_VALUE, "%s", why.text);
	bs_wire_put_ack(buf, &(struct bs_wire_ack){ .held = 4, .log = 3 });
	CHECK(bs_wire_get_ack(&b, buf, BS_WIRE_ACK_BYTES, &why) == BS_ERR_VALUE, "%s", why.text);
}

static void reply_and_outcome(void)
{
	unsigned char buf[BS_WIRE_OUTCOME_BYTES + 1];
	struct bs_wire_reply v = { .code = BS_ERR_SIZE, .window = 0xdeadbeef };
	struct bs_wire_reply v2;
	struct bs_wire_outcome o = { .code = BS_ERR_ABORTED,
				     .undelivered = 0xcafef00d,
				     .acquisitions = 1,
				     .images = 2,
				     .gaps = 3,
				     .duplicates = 4,
				     .rejected = 5,
				     .late = UINT64_MAX };
	struct bs_wire_outcome o2 = { 0 };
	struct bs_fail why;
	uint64_t n;
	int bad = 0;

	memset(v.text, 'v', sizeof(v.text)); /* not terminated: the encoder must bound it */
	bs_wire_put_reply(buf, &v);
	CHECK(bs_wire_get_reply(&v2, buf, BS_WIRE_REPLY_BYTES, &why) == 0 &&
		      v2.code == BS_ERR_SIZE && v2.window == 0xdeadbeef && strlen(v2.text) == 383,
	      "reply there and back, a text without end is cut at 383");
	memset(buf + 8, 'x', 384);
	CHECK(bs_wire_get_reply(&v2, buf, BS_WIRE_REPLY_BYTES, &why) == 0 && strlen(v2.text) == 383,
	      "a peer's text without end is cut, too");
	for (size_t len = 0; len <= sizeof(buf); len++)
		bad += len != BS_WIRE_REPLY_BYTES &&
		       bs_wire_get_reply(&v2, buf, len, &why) != BS_ERR_LENGTH;
	memcpy(o.text, "ended", 6);
	for (unsigned i = 0; i < BS_KINDS; i++) {
		o.kinds.used[i] = 100 + i;
		o.kinds.unused[i] = UINT64_C(0x0102030405060700) + i;
	}
	memset(buf, 0xee, sizeof(buf));
	bs_wire_put_outcome(buf, &o);
	CHECK(buf[BS_WIRE_OUTCOME_BYTES] == 0xee, "the encoder stays within its bytes");
	CHECK(bs_wire_get_outcome(&o2, buf, BS_WIRE_OUTCOME_BYTES, &why) == 0 &&
		      o2.code == o.code && o2.undelivered == o.undelivered &&
		      o2.acquisitions == 1 && o2.images == 2 && o2.gaps == 3 &&
		      o2.duplicates == 4 && o2.rejected == 5 && o2.late == UINT64_MAX &&
		      strcmp(o2.text, "ended") == 0 &&
		      memcmp(&o.kinds, &o2.kinds, sizeof(o.kinds)) == 0,
	      "outcome there and back");
	CHECK(buf[440 + 16 * BS_KIND_CALIBRATION] == 102 &&
		      buf[440 + 16 * BS_KIND_CALIBRATION + 8] == 2 &&
		      buf[440 + 16 * BS_KIND_CALIBRATION + 15] == 1,
	      "counts by kind, used and not, begin at byte 440");
	for (size_t len = 0; len <= sizeof(buf); len++)
		bad += len != BS_WIRE_OUTCOME_BYTES &&
		       bs_wire_get_outcome(&o2, buf, len, &why) != BS_ERR_LENGTH;
	bs_wire_put_u64(buf, UINT64_C(0x0102030405060708));
	CHECK(bs_wire_get_u64(&n, buf, 8, &why) == 0 && n == UINT64_C(0x0102030405060708) &&
		      buf[0] == 8,
	      "a number there and back");
	for (size_t len = 0; len < 20; len++)
		bad += len != 8 && bs_wire_get_u64(&n, buf, len, &why) != BS_ERR_LENGTH;
	CHECK(bad == 0, "any other length is refused (%d were not)", bad);
}

/* Every field of an answer is at the page's offset; other lengths and kinds are refused. */
static void answer_payload(void)
{
	unsigned char buf[BS_WIRE_ANSWER_MAX + 8];
	struct bs_answer a = { .what = BS_ANSWER_SHIFT,
			       .row = 3,
			       .count = 70000,
			       .image = 8,
			       .readout = UINT64_C(0x0102030405060708),
			       .scan_counter = 99,
			       .numbers = 2,
			       .received_ns = 5,
			       .computed_ns = -6,
			       .by_ns = INT64_MAX,
			       .deviation = 0.25,
			       .number = { -1.0 / 3.0, 1e300 } };
	struct bs_answer b = { 0 };
	struct bs_fail why;
	int bad = 0;

	memset(buf, 0xee, sizeof(buf));
	CHECK(bs_wire_put_answer(buf, &a) == 80 && buf[80] == 0xee, "64 bytes and two numbers");
	CHECK(bs_wire_get_answer(&b, buf, 80, &why) == 0 && b.what == a.what && b.row == 3 &&
		      b.count == 70000 && b.image == 8 && b.readout == a.readout &&
		      b.scan_counter == 99 && b.numbers == 2 && b.received_ns == 5 &&
		      b.computed_ns == -6 && b.by_ns == INT64_MAX && b.deviation == 0.25 &&
		      b.number[0] == a.number[0] && b.number[1] == 1e300,
	      "an answer there and back, no digit lost");
	CHECK(buf[0] == 3 && buf[4] == 2 && buf[8] == 8 && buf[16] == 99 && buf[20] == 8 &&
		      buf[24] == 5 && buf[32] == 0xfa && buf[47] == 0x7f && buf[55] == 0x3f &&
		      buf[57] == 0x11 && buf[60] == 3 && buf[71] == 0xbf,
	      "its fields at the page's offsets");
	for (size_t len = 0; len <= sizeof(buf); len++)
		bad += len != 80 && bs_wire_get_answer(&b, buf, len, &why) != BS_ERR_LENGTH;
	CHECK(bad == 0, "any other length is refused (%d were not): %s", bad, why.text);
	a.numbers = 1000; /* the encoder must bound it */
	CHECK(bs_wire_put_answer(buf, &a) == BS_WIRE_ANSWER_MAX, "64 numbers at most");
	buf[4] = 65;
	CHECK(bs_wire_get_answer(&b, buf, BS_WIRE_ANSWER_MAX + 8, &why) == BS_ERR_VALUE, "%s",
	      why.text);
	buf[4] = 64;
	buf[0] = 0;
	CHECK(bs_wire_get_answer(&b, buf, BS_WIRE_ANSWER_MAX, &why) == BS_ERR_VALUE, "%s",
	      why.text);
	buf[0] = BS_ANSWER_WHATS + 1;
	CHECK(bs_wire_get_answer(&b, buf, BS_WIRE_ANSWER_MAX, &why) == BS_ERR_VALUE, "%s",
	      why.text);
}

static void open_payload(void)
{
	unsigned char buf[BS_WIRE_OPEN_NAME + 6];
	char name[BS_WIRE_OPEN_NAME];
	char longest[65];
	struct bs_fail why;
	const char *xml;
	size_t xml_len;
	int bad = 0;

	CHECK(bs_wire_put_open(buf, "radial2d", &why) == 0 &&
		      bs_wire_get_open(name, &xml, &xml_len, buf, 70, &why) == 0 &&
		      strcmp(name, "radial2d") == 0 && xml_len == 6 &&
		      xml == (const char *)buf + BS_WIRE_OPEN_NAME,
	      "open there and back");
	for (size_t len = 0; len < BS_WIRE_OPEN_NAME; len++)
		bad += bs_wire_get_open(name, &xml, &xml_len, buf, len, &why) != BS_ERR_LENGTH;
	CHECK(bad == 0, "shorter than its name field: %s", why.text);
	memset(longest, 'n', sizeof(longest));
	longest[63] = '\0';
	CHECK(bs_wire_put_open(buf, longest, &why) == 0 &&
		      bs_wire_get_open(name, &xml, &xml_len, buf, 64, &why) == 0 &&
		      strcmp(name, longest) == 0,
	      "a name of 63 bytes fits");
	longest[63] = 'n';
	longest[64] = '\0';
	CHECK(bs_wire_put_open(buf, longest, &why) == BS_ERR_PROTOCOL, "64 do not: %s", why.text);
	memset(buf, 'n', BS_WIRE_OPEN_NAME);
	CHECK(bs_wire_get_open(name, &xml, &xml_len, buf, 64, &why) == BS_ERR_PROTOCOL,
	      "a name without end: %s", why.text);
	memset(buf, 0, BS_WIRE_OPEN_NAME);
	buf[63] = 'x';
	CHECK(bs_wire_get_open(name, &xml, &xml_len, buf, 64, &why) == BS_ERR_PROTOCOL,
	      "bytes after a name's end: %s", why.text);
	memcpy(buf, "a\tb", 4);
	buf[63] = 0;
	CHECK(bs_wire_get_open(name, &xml, &xml_len, buf, 64, &why) == BS_ERR_PROTOCOL,
	      "a control character in a name: %s", why.text);
}

/* The two steps give the same bytes, with a time that is known only after the first. */
static void in_two_steps(void)
{
	static unsigned char payload[10007];
	unsigned char one[BS_WIRE_BYTES];
	unsigned char two[BS_WIRE_BYTES];
	int bad = 0;

	for (size_t len = 0; len <= sizeof(payload); len += len < 70 ? 1 : 991) {
		struct bs_wire w = { .kind = BS_WIRE_IMAGE, .session = 77, .seq = 3 + len };
		struct bs_wire_sum sum;

		for (size_t i = 0; i < len; i++)
			payload[i] = (unsigned char)(i * i + len);
		bs_wire_sum(&sum, payload, len);
		w.time_ns = INT64_C(123456789012345) * (int64_t)(len + 1);
		bs_wire_seal(two, &w, &sum);
		bs_wire_encode(one, &w, payload, len);
		bad += memcmp(one, two, sizeof(one)) != 0;
	}
	CHECK(bad == 0, "an envelope sealed after its payload is the same: %d differ", bad);
}

/* An archive's question and its answer. */
static void stored(void)
{
	static const char *const bad[] = { "", ".x", "a/b", "a b", "a\n" };
	unsigned char buf[BS_WIRE_TAKER + 80] = { 0 };
	char name[BS_WIRE_TAKER];
	const unsigned char *image;
	struct bs_fail why;
	uint64_t previous;
	size_t len;
	int refused = 0;

	bs_wire_put_next(buf, "Node-2_b.x");
	CHECK(bs_wire_get_next(name, buf, BS_WIRE_TAKER, &why) == 0 &&
		      strcmp(name, "Node-2_b.x") == 0,
	      "a taker's name there and back");
	CHECK(bs_wire_get_next(name, buf, BS_WIRE_TAKER - 1, &why) == BS_ERR_LENGTH,
	      "a shorter one: %s", why.text);
	buf[40] = 1;
	CHECK(bs_wire_get_next(name, buf, BS_WIRE_TAKER, &why) == BS_ERR_VALUE,
	      "bytes after its end: %s", why.text);
	memset(buf, 'a', sizeof(buf));
	CHECK(bs_wire_get_next(name, buf, BS_WIRE_TAKER, &why) == BS_ERR_VALUE, "no end");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bs_wire_put_next(buf, bad[i]);
		refused += bs_wire_get_next(name, buf, BS_WIRE_TAKER, &why) == BS_ERR_VALUE;
	}
	CHECK(refused == 5, "names that a file cannot have: %d of 5", refused);
	bs_put_le(buf, UINT64_C(0x1122334455667788), 8);
	CHECK(bs_wire_get_stored(&previous, &image, &len, buf, 8 + BS_WIRE_BYTES, &why) == 0 &&
		      previous == UINT64_C(0x1122334455667788) && image == buf + 8 &&
		      len == BS_WIRE_BYTES,
	      "the number before, and the image behind it");
	CHECK(bs_wire_get_stored(&previous, &image, &len, buf, 7 + BS_WIRE_BYTES, &why) ==
		      BS_ERR_LENGTH,
	      "a shorter one: %s", why.text);
}

int main(void)
{
	round_trip();
	every_truncation();
	every_bit();
	named_faults();
	previous_version();
	acknowledgement();
	reply_and_outcome();
	answer_payload();
	open_payload();
	in_two_steps();
	stored();
	return check_done();
}
