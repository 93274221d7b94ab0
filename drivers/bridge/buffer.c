/* drivers/bridge/buffer.c - see buffer.h */
#include "drivers/bridge/buffer.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 4096u

unsigned char *bs_buffer_room(struct bs_buffer *b, size_t bytes, size_t most)
{
	size_t cap = b->cap < LEAST ? LEAST : b->cap;
	unsigned char *more;

	if (bytes > most || b->len > most - bytes)
		return NULL;
	if (b->bytes != NULL && b->cap - b->from - b->len >= bytes)
		return b->bytes + b->from + b->len;
	if (b->bytes != NULL && b->from > 0) {
		memmove(b->bytes, b->bytes + b->from, b->len);
		b->from = 0;
	}
	if (b->bytes != NULL && b->cap - b->len >= bytes)
		return b->bytes + b->len;
	while (cap - b->len < bytes)
		cap = cap > most / 2 ? b->len + bytes : cap * 2;
	more = realloc(b->bytes, cap);
	if (more == NULL)
		return NULL;
	b->bytes = more;
	b->cap = cap;
	return b->bytes + b->len;
}

int bs_buffer_add(struct bs_buffer *b, const void *from, size_t bytes, size_t most)
{
	unsigned char *to = bs_buffer_room(b, bytes, most);

	if (to == NULL)
		return BS_ERR_NOMEM;
	if (bytes > 0)
		memcpy(to, from, bytes);
	bs_buffer_added(b, bytes);
	return 0;
}

void bs_buffer_taken(struct bs_buffer *b, size_t bytes)
{
	b->from += bytes;
	b->len -= bytes;
	if (b->len > 0)
		return;
	b->from = 0;
	if (b->cap > (1u << 20)) /* a small message does not keep a large buffer */
		bs_buffer_free(b);
}

void bs_buffer_free(struct bs_buffer *b)
{
	free(b->bytes);
	memset(b, 0, sizeof(*b));
}
