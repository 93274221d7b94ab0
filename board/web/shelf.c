/* board/web/shelf.c - see shelf.h */
#include "board/web/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"

void bs_shelf_open(struct bs_shelf *s, uint32_t most, size_t most_bytes)
{
	memset(s, 0, sizeof(*s));
	(void)pthread_mutex_init(&s->lock, NULL);
	s->most = most < BS_SHELF_MAX ? most : BS_SHELF_MAX;
	s->most_bytes = most_bytes;
}

static void drop(struct bs_shelf *s, struct bs_shelf_item *i)
{
	s->bytes -= i->len;
	free(i->data);
	memset(i, 0, sizeof(*i));
}

void bs_shelf_close(struct bs_shelf *s)
{
	for (uint32_t i = 0; i < s->most; i++)
		drop(s, &s->item[i]);
	(void)pthread_mutex_destroy(&s->lock);
}

int bs_shelf_put(struct bs_shelf *s, unsigned char *data, size_t len)
{
	if (len > s->most_bytes) {
		free(data);
		return BS_ERR_SIZE;
	}
	(void)pthread_mutex_lock(&s->lock);
	const uint64_t number = s->last + 1;

	drop(s, &s->item[number % s->most]);
	for (uint64_t old = number; s->bytes + len > s->most_bytes; old++)
		drop(s, &s->item[old % s->most]); /* the oldest item goes first */
	s->item[number % s->most] = (struct bs_shelf_item){ number, data, len, bs_now_ns() };
	s->bytes += len;
	s->last = number;
	(void)pthread_mutex_unlock(&s->lock);
	return 0;
}

static const struct bs_shelf_item *find_item(const struct bs_shelf *s, uint64_t number)
{
	const struct bs_shelf_item *i = &s->item[number % s->most];

	return number != 0 && i->number == number ? i : NULL;
}

bool bs_shelf_newest(struct bs_shelf *s, uint64_t *number, size_t *len, int64_t *at_ns)
{
	(void)pthread_mutex_lock(&s->lock);
	const struct bs_shelf_item *i = find_item(s, s->last);

	if (i != NULL) {
		*number = i->number;
		*len = i->len;
		*at_ns = i->at_ns;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return i != NULL;
}

bool bs_shelf_find(struct bs_shelf *s, uint64_t number, size_t *len)
{
	(void)pthread_mutex_lock(&s->lock);
	const struct bs_shelf_item *i = find_item(s, number);

	if (i != NULL)
		*len = i->len;
	(void)pthread_mutex_unlock(&s->lock);
	return i != NULL;
}

long bs_shelf_read(struct bs_shelf *s, uint64_t number, size_t from, void *to, size_t n)
{
	long copied = -1;

	(void)pthread_mutex_lock(&s->lock);
	const struct bs_shelf_item *i = find_item(s, number);

	if (i != NULL && from <= i->len) {
		n = n < i->len - from ? n : i->len - from;
		memcpy(to, i->data + from, n);
		copied = (long)n;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return copied;
}
