/* ipc/wire/wire.c - see wire.h */
#define _POSIX_C_SOURCE 200809L /* strnlen */
#include "ipc/wire/wire.h"

#include <string.h>

#include "ipc/wire/bytes.h"

/* The envelope, byte by byte. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_KIND = 6,
	AT_LENGTH = 8,
	AT_SESSION = 16,
	AT_SEQ = 24,
	AT_TIME = 32,
	AT_CRC = 40,
	AT_RESERVED = 44,
};

/* Of the envelope alone. */
static uint32_t checksum(const unsigned char envelope[BS_WIRE_BYTES])
{
	static const unsigned char zero[4];
	uint32_t crc = bs_crc32c(0, envelope, AT_CRC);

	crc = bs_crc32c(crc, zero, sizeof(zero));
	return bs_crc32c(crc, envelope + AT_RESERVED, BS_WIRE_BYTES - AT_RESERVED);
}

static uint32_t continued(uint32_t crc, const void *payload, size_t payload_len)
{
	return payload_len > 0 ? bs_crc32c(crc, payload, payload_len) : crc;
}

/* All but the checksum. */
static void write_fields(unsigned char out[BS_WIRE_BYTES], const struct bs_wire *w)
{
	memset(out, 0, BS_WIRE_BYTES);
	bs_put_le(out + AT_MAGIC, BS_WIRE_MAGIC, 4);
	bs_put_le(out + AT_VERSION, BS_WIRE_VERSION, 2);
	bs_put_le(out + AT_KIND, w->kind, 2);
	bs_put_le(out + AT_LENGTH, w->payload_len, 8);
	bs_put_le(out + AT_SESSION, w->session, 8);
	bs_put_le(out + AT_SEQ, w->seq, 8);
	bs_put_le(out + AT_TIME, (uint64_t)w->time_ns, 8);
}

void bs_wire_encode(unsigned char out[BS_WIRE_BYTES], struct bs_wire *w, const void *payload,
		    size_t payload_len)
{
	w->payload_len = payload_len;
	write_fields(out, w);
	w->crc = continued(checksum(out), payload, payload_len);
	bs_put_le(out + AT_CRC, w->crc, 4);
}

void bs_wire_sum(struct bs_wire_sum *s, const void *payload, size_t payload_len)
{
	s->payload_len = payload_len;
	s->crc = continued(0, payload, payload_len);
	s->shift = bs_crc32c_shift(payload_len);
}

void bs_wire_seal(unsigned char out[BS_WIRE_BYTES], struct bs_wire *w, const struct bs_wire_sum *s)
{
	w->payload_len = s->payload_len;
	write_fields(out, w);
	w->crc = bs_crc32c_join(checksum(out), s->crc, s->shift);
	bs_put_le(out + AT_CRC, w->crc, 4);
}

bool bs_wire_kind_known(unsigned kind)
{
	return (kind >= BS_WIRE_OPEN && kind <= BS_WIRE_HEARTBEAT) ||
	       (kind >= BS_WIRE_ACCEPT && kind <= BS_WIRE_OUTCOME) || kind == BS_WIRE_IMAGE;
}

static void read_fields(struct bs_wire *w, const unsigned char *msg)
{
	w->kind = (uint16_t)bs_get_le(msg + AT_KIND, 2);
	w->payload_len = bs_get_le(msg + AT_LENGTH, 8);
	w->session = bs_get_le(msg + AT_SESSION, 8);
	w->seq = bs_get_le(msg + AT_SEQ, 8);
	w->time_ns = (int64_t)bs_get_le(msg + AT_TIME, 8);
	w->crc = (uint32_t)bs_get_le(msg + AT_CRC, 4);
}

/* All but payload length and checksum: what it gives is not verified. */
static int read_envelope(struct bs_wire *w, const unsigned char *msg, size_t len,
			 struct bs_fail *why)
{
	if (len < BS_WIRE_BYTES)
		return bs_fail(why, BS_ERR_LENGTH, "message of %zu bytes, an envelope has %u", len,
			       BS_WIRE_BYTES);
	if (bs_get_le(msg + AT_MAGIC, 4) != BS_WIRE_MAGIC)
		return bs_fail(why, BS_ERR_MAGIC,
			       "envelope starts with %02x %02x %02x %02x, not BSD1", msg[0], msg[1],
			       msg[2], msg[3]);
	if (bs_get_le(msg + AT_VERSION, 2) != BS_WIRE_VERSION)
		return bs_fail(why, BS_ERR_VERSION, "envelope version %u, this side speaks %u",
			       (unsigned)bs_get_le(msg + AT_VERSION, 2), BS_WIRE_VERSION);
	for (size_t i = AT_RESERVED; i < BS_WIRE_BYTES; i++)
		if (msg[i] != 0)
			return bs_fail(
				why, BS_ERR_VERSION,
				"envelope byte %zu is %02x, reserved bytes are 0 in version %u", i,
				msg[i], BS_WIRE_VERSION);
	read_fields(w, msg);
	if (!bs_wire_kind_known(w->kind))
		return bs_fail(why, BS_ERR_KIND, "unknown kind of message %u", w->kind);
	return 0;
}

uint64_t bs_wire_session(const unsigned char msg[BS_WIRE_BYTES])
{
	return bs_get_le(msg + AT_SESSION, 8);
}

int bs_wire_decode(struct bs_wire *w, const unsigned char *msg, size_t len,
		   const unsigned char **payload, struct bs_fail *why)
{
	uint32_t crc;
	int rc = read_envelope(w, msg, len, why);

	if (rc != 0)
		return rc;
	if (w->payload_len != len - BS_WIRE_BYTES)
		return bs_fail(
			why, BS_ERR_LENGTH,
			"envelope states a payload of %llu bytes, %zu came (kind %u, seq %llu)",
			(unsigned long long)w->payload_len, len - BS_WIRE_BYTES, w->kind,
			(unsigned long long)w->seq);
	crc = continued(checksum(msg), msg + BS_WIRE_BYTES, len - BS_WIRE_BYTES);
	if (crc != w->crc)
		return bs_fail(why, BS_ERR_CRC,
			       "checksum is %08x, the envelope states %08x (kind %u, seq %llu)",
			       crc, w->crc, w->kind, (unsigned long long)w->seq);
	*payload = msg + BS_WIRE_BYTES;
	return 0;
}

static int exact(size_t len, size_t want, const char *what, struct bs_fail *why)
{
	if (len == want)
		return 0;
	return bs_fail(why, BS_ERR_LENGTH, "%s of %zu bytes, it has %zu", what, len, want);
}

static void put_text(unsigned char *out, const char *text, size_t bytes)
{
	size_t n = strnlen(text, bytes - 1);

	memcpy(out, text, n);
	memset(out + n, 0, bytes - n);
}

static void get_text(char *text, const unsigned char *in, size_t bytes)
{
	size_t n = strnlen((const char *)in, bytes - 1);

	memcpy(text, in, n);
	memset(text + n, 0, bytes - n);
}

void bs_wire_put_answer(unsigned char out[BS_WIRE_ANSWER_BYTES], const struct bs_wire_answer *v)
{
	bs_put_le(out, (uint32_t)v->code, 4);
	bs_put_le(out + 4, v->window, 4);
	put_text(out + 8, v->text, sizeof(v->text));
}

int bs_wire_get_answer(struct bs_wire_answer *v, const unsigned char *p, size_t len,
		       struct bs_fail *why)
{
	int rc = exact(len, BS_WIRE_ANSWER_BYTES, "answer", why);

	if (rc != 0)
		return rc;
	v->code = (int32_t)bs_get_le(p, 4);
	v->window = (uint32_t)bs_get_le(p + 4, 4);
	get_text(v->text, p + 8, sizeof(v->text));
	return 0;
}

void bs_wire_put_outcome(unsigned char out[BS_WIRE_OUTCOME_BYTES], const struct bs_wire_outcome *o)
{
	const uint64_t count[6] = { o->acquisitions, o->images,   o->gaps,
				    o->duplicates,   o->rejected, o->late };

	bs_put_le(out, (uint32_t)o->code, 4);
	bs_put_le(out + 4, o->undelivered, 4);
	for (int i = 0; i < 6; i++)
		bs_put_le(out + 8 + 8 * (size_t)i, count[i], 8);
	put_text(out + 56, o->text, sizeof(o->text));
}

int bs_wire_get_outcome(struct bs_wire_outcome *o, const unsigned char *p, size_t len,
			struct bs_fail *why)
{
	uint64_t *const count[6] = { &o->acquisitions, &o->images,   &o->gaps,
				     &o->duplicates,   &o->rejected, &o->late };
	int rc = exact(len, BS_WIRE_OUTCOME_BYTES, "outcome", why);

	if (rc != 0)
		return rc;
	o->code = (int32_t)bs_get_le(p, 4);
	o->undelivered = (uint32_t)bs_get_le(p + 4, 4);
	for (int i = 0; i < 6; i++)
		*count[i] = bs_get_le(p + 8 + 8 * (size_t)i, 8);
	get_text(o->text, p + 56, sizeof(o->text));
	return 0;
}

void bs_wire_put_u64(unsigned char out[8], uint64_t v)
{
	bs_put_le(out, v, 8);
}

int bs_wire_get_u64(uint64_t *v, const unsigned char *p, size_t len, struct bs_fail *why)
{
	int rc = exact(len, 8, "number", why);

	if (rc == 0)
		*v = bs_get_le(p, 8);
	return rc;
}

int bs_wire_put_open(unsigned char out[BS_WIRE_OPEN_NAME], const char *protocol,
		     struct bs_fail *why)
{
	if (strnlen(protocol, BS_WIRE_OPEN_NAME) == BS_WIRE_OPEN_NAME)
		return bs_fail(why, BS_ERR_PROTOCOL, "a protocol's name has at most %u bytes",
			       BS_WIRE_OPEN_NAME - 1);
	put_text(out, protocol, BS_WIRE_OPEN_NAME);
	return 0;
}

int bs_wire_get_open(char protocol[BS_WIRE_OPEN_NAME], const char **xml, size_t *xml_len,
		     const unsigned char *p, size_t len, struct bs_fail *why)
{
	size_t name;

	if (len < BS_WIRE_OPEN_NAME)
		return bs_fail(why, BS_ERR_LENGTH, "OPEN of %zu bytes, the protocol's name has %u",
			       len, BS_WIRE_OPEN_NAME);
	name = strnlen((const char *)p, BS_WIRE_OPEN_NAME);
	if (name == BS_WIRE_OPEN_NAME)
		return bs_fail(why, BS_ERR_PROTOCOL,
			       "OPEN: the protocol's name has no zero at its end");
	for (size_t i = 0; i < name; i++)
		if (p[i] < 0x20 || p[i] == 0x7f)
			return bs_fail(why, BS_ERR_PROTOCOL,
				       "OPEN: byte %zu of the protocol's name is %02x: no text", i,
				       p[i]);
	for (size_t i = name; i < BS_WIRE_OPEN_NAME; i++)
		if (p[i] != 0)
			return bs_fail(why, BS_ERR_PROTOCOL,
				       "OPEN: byte %zu, after the protocol's name, is %02x, not 0",
				       i, p[i]);
	memcpy(protocol, p, BS_WIRE_OPEN_NAME);
	*xml = (const char *)p + BS_WIRE_OPEN_NAME;
	*xml_len = len - BS_WIRE_OPEN_NAME;
	return 0;
}
