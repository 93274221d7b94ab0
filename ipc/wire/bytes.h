/*
 * ipc/wire/bytes.h - little-endian integers in byte buffers; the numbers of a structure there
 *
 * For ipc/, drivers/log/ and board/emit/message.c. p need not be aligned; the caller has checked
 * that the bytes are there.
 */
#ifndef BS_IPC_WIRE_BYTES_H
#define BS_IPC_WIRE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void bs_put_le(unsigned char *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

static inline uint64_t bs_get_le(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

/* Place of a structure's number in a message, where it has the same bytes (ipc/wire/mrd.c). */
struct bs_field {
	size_t at, offset, bytes; /* offset in the message, in the structure; bytes 0: no more */
};
#define BS_FIELD(at, type, member)                                                                 \
	{                                                                                          \
		at, offsetof(struct type, member), sizeof(((struct type *)0)->member)              \
	}

static inline void bs_put_fields(unsigned char *out, const void *from, const struct bs_field *f)
{
	for (; f->bytes > 0; f++)
		memcpy(out + f->at, (const char *)from + f->offset, f->bytes);
}

static inline void bs_get_fields(void *to, const unsigned char *in, const struct bs_field *f)
{
	for (; f->bytes > 0; f++)
		memcpy((char *)to + f->offset, in + f->at, f->bytes);
}

#endif
