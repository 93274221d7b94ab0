/*
 * ipc/wire/bytes.h - little-endian integers and floats in byte buffers, whatever the machine
 *
 * For ipc/, drivers/log/ and board/emit/message.c. p need not be aligned; the caller has checked
 * that the bytes are there.
 */
#ifndef BS_IPC_WIRE_BYTES_H
#define BS_IPC_WIRE_BYTES_H

#include <stdint.h>

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

#endif
