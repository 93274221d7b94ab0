/*
 * drivers/bridge/buffer.h - bytes that came, or that are to go: taken from the front, added behind
 *
 * Starts as zeros. room makes place for more bytes behind the last one, moving what is there to the
 * front; it grows no further than most. One thread.
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
/* Where the next bytes go; NULL: there would be more than most, or no memory. */
unsigned char *bs_buffer_room(struct bs_buffer *b, size_t bytes, size_t most);
/* What was written there. */
static inline void bs_buffer_added(struct bs_buffer *b, size_t bytes)
{
	b->len += bytes;
}
/* A copy behind the rest. BS_ERR_NOMEM. */
int bs_buffer_add(struct bs_buffer *b, const void *from, size_t bytes, size_t most);
/* So many were taken from the front. */
void bs_buffer_taken(struct bs_buffer *b, size_t bytes);
void bs_buffer_free(struct bs_buffer *b);

#endif
