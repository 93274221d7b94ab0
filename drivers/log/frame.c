/* drivers/log/frame.c - see frame.h */
#include "drivers/log/frame.h"

#include <string.h>

#include "ipc/wire/bytes.h"
#include "ipc/wire/envelope.h"

#define FRAME_MAGIC 0x524c5342u /* the letters "BSLR" */

static const unsigned char head_magic[8] = "BSLOGSEG";
static const unsigned char seal_magic[8] = "BSLOGEND";
static const struct bs_field head_fields[] = { BS_FIELD(16, bs_log_head, id),
					       BS_FIELD(24, bs_log_head, session),
					       BS_FIELD(32, bs_log_head, first),
					       BS_FIELD(40, bs_log_head, started_ns),
					       BS_FIELD(48, bs_log_head, index),
					       BS_FIELD(56, bs_log_head, end),
					       BS_FIELD(64, bs_log_head, next),
					       BS_FIELD(72, bs_log_head, scan),
					       { 0 } };
static const struct bs_field frame_fields[] = { BS_FIELD(8, bs_log_frame, id),
						BS_FIELD(16, bs_log_frame, number),
						BS_FIELD(24, bs_log_frame, durable),
						BS_FIELD(32, bs_log_frame, length),
						BS_FIELD(36, bs_log_frame, crc),
						BS_FIELD(40, bs_log_frame, kind),
						{ 0 } };

/* Computes a CRC over bytes, taking the four bytes at crc_at as zeros. */
static uint32_t sum_without(const unsigned char *p, size_t len, size_t crc_at)
{
	static const unsigned char zeros[4];
	uint32_t crc = bs_crc32c(0, p, crc_at);

	crc = bs_crc32c(crc, zeros, 4);
	return bs_crc32c(crc, p + crc_at + 4, len - crc_at - 4);
}

static void put_block(unsigned char *b, const unsigned char magic[8], const struct bs_log_head *h)
{
	memset(b, 0, BS_LOG_BLOCK);
	memcpy(b, magic, 8);
	bs_put_le(b + 8, BS_LOG_VERSION, 4);
	bs_put_fields(b, h, head_fields);
	b[52] = (unsigned char)((h->last ? 1 : 0) + (h->after_fault ? 2 : 0) + (h->early ? 4 : 0) +
				(h->recovered ? 8 : 0));
	bs_put_le(b + 12, sum_without(b, BS_LOG_BLOCK, 12), 4);
}

void bs_log_put_head(unsigned char *block, const struct bs_log_head *h)
{
	struct bs_log_head open = *h;

	open.last = open.early = open.recovered = false;
	open.end = open.next = 0;
	put_block(block, head_magic, &open);
}

void bs_log_put_seal(unsigned char *block, const struct bs_log_head *h)
{
	put_block(block, seal_magic, h);
}

static int get_block(struct bs_log_head *h, const unsigned char *b, const unsigned char magic[8],
		     const char *what, struct bs_fail *why)
{
	if (memcmp(b, magic, 8) != 0)
		return bs_fail(why, BS_ERR_MAGIC, "no %s of a log", what);
	if (bs_get_le(b + 12, 4) != sum_without(b, BS_LOG_BLOCK, 12))
		return bs_fail(why, BS_ERR_CRC, "the %s's checksum does not match", what);
	if (bs_get_le(b + 8, 4) - 1 >= BS_LOG_VERSION)
		return bs_fail(why, BS_ERR_VERSION, "a log of version %u, this is version %u",
			       (unsigned)bs_get_le(b + 8, 4), BS_LOG_VERSION);
	bs_get_fields(h, b, head_fields);
	h->last = (b[52] & 1) != 0;
	h->after_fault = (b[52] & 2) != 0;
	h->early = (b[52] & 4) != 0;
	h->recovered = (b[52] & 8) != 0;
	return h->id != 0 ? 0 : bs_fail(why, BS_ERR_VALUE, "the %s has no id", what);
}

int bs_log_get_head(struct bs_log_head *h, const unsigned char *block, struct bs_fail *why)
{
	return get_block(h, block, head_magic, "head", why);
}

int bs_log_get_seal(struct bs_log_head *h, const unsigned char *block, struct bs_fail *why)
{
	int rc = get_block(h, block, seal_magic, "seal", why);

	if (rc == 0 && (h->end < BS_LOG_RECORDS || h->end % 8 != 0 || h->next < h->first))
		rc = bs_fail(why, BS_ERR_VALUE,
			     "the seal's end %llu or its numbers %llu to %llu cannot be",
			     (unsigned long long)h->end, (unsigned long long)h->first,
			     (unsigned long long)h->next);
	return rc;
}

void bs_log_unsigned(unsigned char out[BS_LOG_BLOCK], const unsigned char *block)
{
	memcpy(out, block, BS_LOG_BLOCK);
	memset(out + 12, 0, 4);
	memset(out + BS_LOG_SIGNATURE_AT, 0, BS_SIGN_BYTES);
}

void bs_log_sign_seal(unsigned char *block, const uint8_t chain[BS_CHAIN],
		      const struct bs_signer *s)
{
	unsigned char text[BS_LOG_BLOCK];

	memcpy(block + BS_LOG_CHAIN_AT, chain, BS_CHAIN);
	memcpy(block + BS_LOG_KEY_AT, s->pub, BS_SIGN_KEY);
	bs_log_unsigned(text, block);
	bs_sign(block + BS_LOG_SIGNATURE_AT, s, text, sizeof(text));
	bs_put_le(block + 12, sum_without(block, BS_LOG_BLOCK, 12), 4);
}

void bs_log_put_frame(unsigned char out[BS_LOG_FRAME], const struct bs_log_frame *f)
{
	memset(out, 0, BS_LOG_FRAME);
	bs_put_le(out, FRAME_MAGIC, 4);
	bs_put_fields(out, f, frame_fields);
	bs_put_le(out + 4, sum_without(out, BS_LOG_FRAME, 4), 4);
}

int bs_log_get_frame(struct bs_log_frame *f, const unsigned char in[BS_LOG_FRAME],
		     struct bs_fail *why)
{
	if (bs_get_le(in, 4) != FRAME_MAGIC)
		return bs_fail(why, BS_ERR_MAGIC, "no record begins here");
	if (bs_get_le(in + 4, 4) != sum_without(in, BS_LOG_FRAME, 4))
		return bs_fail(why, BS_ERR_CRC,
			       "the checksum of the record's frame does not match");
	bs_get_fields(f, in, frame_fields);
	if (f->kind != BS_LOG_MESSAGE && f->kind != BS_LOG_PADDING)
		return bs_fail(why, BS_ERR_KIND, "a record of kind %u", f->kind);
	if (f->length > BS_LOG_BODY_MAX)
		return bs_fail(why, BS_ERR_LENGTH, "a record of %u bytes", f->length);
	return 0;
}
