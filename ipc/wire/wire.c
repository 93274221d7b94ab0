/* ipc/wire/wire.c - see wire.h */
#include "ipc/wire/wire.h"

#include <string.h>

#include "ipc/wire/bytes.h"

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

void bs_wire_put_reply(unsigned char out[BS_WIRE_REPLY_BYTES], const struct bs_wire_reply *v)
{
	bs_put_le(out, (uint32_t)v->code, 4);
	bs_put_le(out + 4, v->window, 4);
	put_text(out + 8, v->text, sizeof(v->text));
}

int bs_wire_get_reply(struct bs_wire_reply *v, const unsigned char *p, size_t len,
		      struct bs_fail *why)
{
	int rc = exact(len, BS_WIRE_REPLY_BYTES, "reply", why);

	if (rc != 0)
		return rc;
	v->code = (int32_t)bs_get_le(p, 4);
	v->window = (uint32_t)bs_get_le(p + 4, 4);
	get_text(v->text, p + 8, sizeof(v->text));
	return 0;
}

static const struct bs_field outcome_fields[] = { BS_FIELD(0, bs_wire_outcome, code),
						  BS_FIELD(4, bs_wire_outcome, undelivered),
						  BS_FIELD(8, bs_wire_outcome, acquisitions),
						  BS_FIELD(16, bs_wire_outcome, images),
						  BS_FIELD(24, bs_wire_outcome, gaps),
						  BS_FIELD(32, bs_wire_outcome, duplicates),
						  BS_FIELD(40, bs_wire_outcome, rejected),
						  BS_FIELD(48, bs_wire_outcome, late),
						  { 0 } };

void bs_wire_put_outcome(unsigned char out[BS_WIRE_OUTCOME_BYTES], const struct bs_wire_outcome *o)
{
	bs_put_fields(out, o, outcome_fields);
	put_text(out + 56, o->text, sizeof(o->text));
	for (int i = 0; i < BS_KINDS; i++) {
		unsigned char *at = out + 440 + 16 * (size_t)i;

		bs_put_le(at, o->kinds.used[i], 8);
		bs_put_le(at + 8, o->kinds.unused[i], 8);
	}
}

int bs_wire_get_outcome(struct bs_wire_outcome *o, const unsigned char *p, size_t len,
			struct bs_fail *why)
{
	int rc = exact(len, BS_WIRE_OUTCOME_BYTES, "outcome", why);

	if (rc != 0)
		return rc;
	bs_get_fields(o, p, outcome_fields);
	get_text(o->text, p + 56, sizeof(o->text));
	for (int i = 0; i < BS_KINDS; i++) {
		const unsigned char *at = p + 440 + 16 * (size_t)i;

		o->kinds.used[i] = bs_get_le(at, 8);
		o->kinds.unused[i] = bs_get_le(at + 8, 8);
	}
	return 0;
}

static const struct bs_field ack_fields[] = { BS_FIELD(0, bs_wire_ack, held),
					      BS_FIELD(8, bs_wire_ack, durable),
					      BS_FIELD(16, bs_wire_ack, unprotected),
					      BS_FIELD(24, bs_wire_ack, log),
					      { 0 } };

void bs_wire_put_ack(unsigned char out[BS_WIRE_ACK_BYTES], const struct bs_wire_ack *a)
{
	bs_put_fields(out, a, ack_fields);
	bs_put_le(out + 28, 0, 4);
}

int bs_wire_get_ack(struct bs_wire_ack *a, const unsigned char *p, size_t len, struct bs_fail *why)
{
	int rc = exact(len, BS_WIRE_ACK_BYTES, "acknowledgement", why);

	if (rc != 0)
		return rc;
	bs_get_fields(a, p, ack_fields);
	/* message numbers begin with 0, so the messages up to durable are one more than durable */
	if (a->durable > a->held ||
	    (a->unprotected > a->durable && a->unprotected - a->durable > 1))
		return bs_fail(why, BS_ERR_VALUE,
			       "acknowledgement of %llu held, %llu durable, %llu unprotected",
			       (unsigned long long)a->held, (unsigned long long)a->durable,
			       (unsigned long long)a->unprotected);
	if (a->log > BS_WIRE_LOG_DURABLE || bs_get_le(p + 28, 4) != 0)
		return bs_fail(why, BS_ERR_VALUE, "acknowledgement by a log of mode %u", a->log);
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

bool bs_wire_taker_good(const char *name)
{
	const size_t len = strnlen(name, BS_WIRE_TAKER);

	return len > 0 && len < BS_WIRE_TAKER && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       len;
}

void bs_wire_put_next(unsigned char out[BS_WIRE_TAKER], const char *taker)
{
	put_text(out, taker, BS_WIRE_TAKER);
}

int bs_wire_get_next(char taker[BS_WIRE_TAKER], const unsigned char *p, size_t len,
		     struct bs_fail *why)
{
	const bool apart = len == BS_WIRE_NEXT_APART;
	int rc = exact(apart ? BS_WIRE_TAKER : len, BS_WIRE_TAKER, "taker's name", why);
	size_t name;

	if (rc != 0)
		return rc;
	name = strnlen((const char *)p, BS_WIRE_TAKER);
	for (size_t i = name; i < BS_WIRE_TAKER; i++)
		if (p[i] != 0)
			rc = BS_ERR_VALUE;
	if (name == BS_WIRE_TAKER || !bs_wire_taker_good((const char *)p))
		rc = BS_ERR_VALUE;
	if (rc != 0)
		return bs_fail(why, rc,
			       "a taker's name is 1 to %u letters, digits, '.', '_' and '-', the "
			       "first no '.', then zeros",
			       BS_WIRE_TAKER - 1);
	memcpy(taker, p, BS_WIRE_TAKER);
	return 0;
}

int bs_wire_get_stored(uint64_t *previous, const unsigned char **image, size_t *image_len,
		       const unsigned char *p, size_t len, struct bs_fail *why)
{
	if (len < 8 + BS_WIRE_BYTES)
		return bs_fail(why, BS_ERR_LENGTH, "a stored image of %zu bytes", len);
	*previous = bs_get_le(p, 8);
	*image = p + 8;
	*image_len = len - 8;
	return 0;
}
