/*
 * board/web/shelf.h - the newest of what the page shows: documents, pictures, each with a number
 *
 * One thread puts, any thread reads. Whoever reads copies a piece of an item by its number and
 * holds nothing between two pieces, so a browser that stops reading holds no memory; an item that
 * has gone meanwhile says so, and its reader begins anew with the newest. Bounded by items and by
 * bytes: the oldest go. Only put allocates. Test: test/unit/board/web/test_shelf.c
 */
#ifndef BS_BOARD_WEB_SHELF_H
#define BS_BOARD_WEB_SHELF_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define BS_SHELF_MAX 64u /* items */

struct bs_shelf_item {
	uint64_t number; /* from 1; 0: none */
	unsigned char *data;
	size_t len;
	int64_t at_ns; /* it was put */
};

struct bs_shelf {
	pthread_mutex_t lock;
	uint32_t most;
	size_t most_bytes, bytes;
	uint64_t last;                           /* number of the newest; 0: there is none yet */
	struct bs_shelf_item item[BS_SHELF_MAX]; /* number n in place n % most */
};

void bs_shelf_open(struct bs_shelf *s, uint32_t most, size_t most_bytes);
void bs_shelf_close(struct bs_shelf *s);
/* data: malloc's, the shelf's from now on. BS_ERR_SIZE: it alone is too large; then it is freed. */
int bs_shelf_put(struct bs_shelf *s, unsigned char *data, size_t len);
/* The newest one's number and length; false: there is none. */
bool bs_shelf_newest(struct bs_shelf *s, uint64_t *number, size_t *len, int64_t *at_ns);
/* False: it is not there (any more). */
bool bs_shelf_find(struct bs_shelf *s, uint64_t number, size_t *len);
/* Bytes copied, at most n; -1: it is not there (any more), or ends before from. */
long bs_shelf_read(struct bs_shelf *s, uint64_t number, size_t from, void *to, size_t n);

#endif
