/*
 * board/web/taker.h - images from the service to a shelf of pictures, the newest first
 *
 * A thread of its own takes images as a viewer (endpoints.viewers), or, where the site has none, as
 * an archive that asks (endpoints.images) and passes over what it is too late for. Images that come
 * faster than it may make pictures wait, a few, then the oldest are left out and counted: at most
 * one part in twenty of a processor goes into pictures. Nothing in the service waits for it.
 * Test: test/replay/web.sh
 */
#ifndef BS_BOARD_WEB_TAKER_H
#define BS_BOARD_WEB_TAKER_H

#include "board/web/documents.h"
#include "ipc/collector.h"

/* Images that wait to be made pictures; of them all, but the newest */
#define BS_WEB_PENDING       24u
#define BS_WEB_PENDING_BYTES ((size_t)64 << 20)

struct bs_web_taker {
	struct bs_documents *page;  /* its counts */
	struct bs_shelf shelf;      /* pictures (picture.h) */
	struct bs_collector images; /* its socket a viewer's where it does not ask; or closed */
	bool asks;
	const unsigned char *pending[BS_WEB_PENDING];
	size_t pending_len[BS_WEB_PENDING], pending_bytes;
	uint32_t first, count;
	_Atomic bool quit, connected;
	bool has_thread;
	pthread_t thread;
};

int bs_web_taker_open(struct bs_web_taker *t, struct bs_documents *page, struct bs_fail *why);
void bs_web_taker_close(struct bs_web_taker *t);

#endif
