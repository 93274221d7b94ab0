/*
 * board/web/shelf.h - keeps the newest documents or pictures of the page, each with a number
 *
 * One thread puts items, any thread reads them. A reader copies an item piece by piece, by its
 * number, and holds nothing between two pieces: a browser that stops reading holds no memory. If
 * the item has gone meanwhile, read fails, and the reader begins anew with the newest. Items and
 * their bytes are bounded: the oldest go. Only put allocates.
 * Test: test/unit/board/web/test_shelf.c
 */
#ifndef BS_BOARD_WEB_SHELF_H
#define BS_BOARD_WEB_SHELF_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define BS_SHELF_MAX 64u /* most items */

struct bs_shelf_item {
	uint64_t number; /* number of the item, from 1; 0: no item */
	unsigned char *data;
	size_t len;
	int64_t at_ns; /* when the item was put */
};

struct bs_shelf {
	pthread_mutex_t lock;
	uint32_t most;
	size_t most_bytes, bytes;
	uint64_t last;                           /* number of the newest item; 0: none yet */
	struct bs_shelf_item item[BS_SHELF_MAX]; /* item number n is in place n % most */
};

void bs_shelf_open(struct bs_shelf *s, uint32_t most, size_t most_bytes);
void bs_shelf_close(struct bs_shelf *s);
/* Puts an item; the shelf owns data (malloc's). BS_ERR_SIZE: it is too large and was freed. */
int bs_shelf_put(struct bs_shelf *s, unsigned char *data, size_t len);
/* Finds the newest item. False: there is none. */
bool bs_shelf_newest(struct bs_shelf *s, uint64_t *number, size_t *len, int64_t *at_ns);
/* Finds an item by its number. False: the shelf does not have it (any more). */
bool bs_shelf_find(struct bs_shelf *s, uint64_t number, size_t *len);
/* Copies at most n bytes; returns how many; -1: the item is not there, or ends before `from`. */
long bs_shelf_read(struct bs_shelf *s, uint64_t number, size_t from, void *to, size_t n);

#endif
