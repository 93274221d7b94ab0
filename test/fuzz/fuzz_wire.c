/*
 * test/fuzz/fuzz_wire.c - the envelope and every payload behind it, on any bytes (libFuzzer)
 *
 * Each input is decoded twice: as it is, and with an envelope that is made to fit (else the
 * checksum keeps the fuzzer out). What decodes must encode to the same bytes.
 */
#include "ipc/wire/answer.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/xml.h"
#include "ipc/wire/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int what)
{
	if (!what)
		abort();
}

static void answers(unsigned kind, const unsigned char *p, size_t len)
{
	unsigned char again[BS_WIRE_ANSWER_MAX];
	struct bs_answer answer;
	struct bs_wire_reply v;
	struct bs_wire_outcome o;
	struct bs_wire_ack a;
	struct bs_fail why;
	char taker[BS_WIRE_TAKER];
	const unsigned char *image;
	size_t image_len;
	uint64_t n;

	if (kind == BS_WIRE_OUTCOME && bs_wire_get_outcome(&o, p, len, &why) == 0) {
		must(strlen(o.text) < sizeof(o.text));
		bs_wire_put_outcome(again, &o);
		must(memcmp(again + 8, p + 8, 48) == 0 && memcmp(again, p, 8) == 0);
		must(memcmp(again + 440, p + 440, BS_WIRE_OUTCOME_BYTES - 440) == 0);
	} else if ((kind == BS_WIRE_ACCEPT || kind == BS_WIRE_REFUSE) &&
		   bs_wire_get_reply(&v, p, len, &why) == 0) {
		must(strlen(v.text) < sizeof(v.text));
		bs_wire_put_reply(again, &v);
		must(memcmp(again, p, 8) == 0);
	} else if (kind == BS_WIRE_ACK && bs_wire_get_ack(&a, p, len, &why) == 0) {
		must(a.durable <= a.held && a.log <= BS_WIRE_LOG_DURABLE);
		bs_wire_put_ack(again, &a);
		must(memcmp(again, p, BS_WIRE_ACK_BYTES) == 0);
	} else if (kind == BS_WIRE_ANSWER && bs_wire_get_answer(&answer, p, len, &why) == 0) {
		must(bs_wire_put_answer(again, &answer) == len && memcmp(again, p, len) == 0);
	} else if (kind == BS_WIRE_NEXT && bs_wire_get_next(taker, p, len, &why) == 0) {
		bs_wire_put_next(again, taker);
		must(memcmp(again, p, BS_WIRE_TAKER) == 0);
	} else if (kind == BS_WIRE_STORED &&
		   bs_wire_get_stored(&n, &image, &image_len, p, len, &why) == 0) {
		must(image + image_len == p + len && image_len >= BS_WIRE_BYTES);
	} else if (kind == BS_WIRE_CLOSE && bs_wire_get_u64(&n, p, len, &why) == 0) {
		bs_wire_put_u64(again, n);
		must(memcmp(again, p, 8) == 0);
	}
}

static void payload_of(unsigned kind, const unsigned char *p, size_t len)
{
	char protocol[BS_WIRE_OPEN_NAME];
	unsigned char again[BS_WIRE_OPEN_NAME];
	struct bs_scan_info info;
	struct bs_mrd_image image;
	struct bs_mrd_acq acq;
	struct bs_fail why;
	const char *xml;
	size_t xml_len;
	size_t a;
	size_t b;

	if (kind == BS_WIRE_ACQ) {
		(void)bs_mrd_parse_acq(&acq, &a, &b, p, len, &why);
	} else if (kind == BS_WIRE_IMAGE) {
		(void)bs_mrd_parse_image(&image, &a, &b, p, len, &why);
	} else if (kind == BS_WIRE_OPEN &&
		   bs_wire_get_open(protocol, &xml, &xml_len, p, len, &why) == 0) {
		must(bs_wire_put_open(again, protocol, &why) == 0 &&
		     memcmp(again, p, sizeof(again)) == 0);
		must(xml_len == len - BS_WIRE_OPEN_NAME);
		(void)bs_mrdxml_read(&info, xml, xml_len, &why);
	} else {
		answers(kind, p, len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *msg = malloc(size > 0 ? size : 1);
	unsigned char again[BS_WIRE_BYTES];
	const unsigned char *payload;
	struct bs_wire w;
	struct bs_fail why;

	must(msg != NULL);
	if (size > 0)
		memcpy(msg, data, size);
	for (int fitted = 0; fitted < 2; fitted++) {
		if (fitted && size >= BS_WIRE_BYTES) {
			w.kind = (uint16_t)bs_get_le(msg + 6, 2);
			w.session = bs_get_le(msg + 16, 8);
			w.seq = bs_get_le(msg + 24, 8);
			w.time_ns = (int64_t)bs_get_le(msg + 32, 8);
			bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, size - BS_WIRE_BYTES);
			must((bs_wire_decode(&w, msg, size, &payload, &why) == 0) ==
			     bs_wire_kind_known(w.kind));
		}
		if (bs_wire_decode(&w, msg, size, &payload, &why) != 0) {
			must(why.code < 0);
			continue;
		}
		must(payload == msg + BS_WIRE_BYTES && w.payload_len == size - BS_WIRE_BYTES);
		bs_wire_encode(again, &w, payload, size - BS_WIRE_BYTES);
		must(memcmp(again, msg, BS_WIRE_BYTES) == 0);
		payload_of(w.kind, payload, size - BS_WIRE_BYTES);
	}
	free(msg);
	return 0;
}
