/*
 * drivers/bridge/buffer.h - a queue of bytes: taken from the front, added behind
 *
 * A buffer starts as zeros. room makes place for more bytes behind the last one; it moves the bytes
 * to the front or grows the buffer, up to `most`. One thread.
 */
#ifndef BS_DRIVERS_BRIDGE_BUFFER_H
#define BS_DRIVERS_BRIDGE_BUFFER_H

#include <stddef.h>

#include "core/err.h"

struct bs_buffer {
	unsigned char *bytes;
	size_t cap, from, len; /* the bytes are bytes[from .. from + len) */
};

static inline unsigned char *bs_buffer_front(const struct bs_buffer *b)
{
	return b->bytes + b->from;
}
/* Returns where to write the next bytes; NULL: more than `most` bytes, or no memory. */
unsigned char *bs_buffer_room(struct bs_buffer *b, size_t bytes, size_t most);
/* Adds the bytes that were written to the place that room returned. */
static inline void bs_buffer_added(struct bs_buffer *b, size_t bytes)
{
	b->len += bytes;
}
/* Adds a copy of bytes behind the last one. BS_ERR_NOMEM. */
int bs_buffer_add(struct bs_buffer *b, const void *from, size_t bytes, size_t most);
/* Removes bytes from the front. */
void bs_buffer_taken(struct bs_buffer *b, size_t bytes);
void bs_buffer_free(struct bs_buffer *b);

#endif
