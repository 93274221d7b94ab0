/*
 * board/web/taker.h - makes pictures of the service's images and puts them on a shelf
 *
 * A thread takes images as a viewer (endpoints.viewers), or, if the site has no such endpoint, as
 * an archive that asks (endpoints.images) and skips images that it is too late for. At most one
 * part in twenty of a processor goes into pictures: if images come faster, a few wait, and the
 * oldest are left out and counted. Nothing in the service waits for this thread.
 * Test: test/replay/web.sh
 */
#ifndef BS_BOARD_WEB_TAKER_H
#define BS_BOARD_WEB_TAKER_H

#include "board/web/documents.h"
#include "ipc/collector.h"

/* Most images that wait to be made pictures, and their most bytes without the newest */
#define BS_WEB_PENDING       24u
#define BS_WEB_PENDING_BYTES ((size_t)64 << 20)

struct bs_web_taker {
	struct bs_documents *page; /* the page's documents, which count pictures */
	struct bs_shelf shelf;     /* pictures (picture.h) */
	/* a viewer's socket, which may be closed; unused if `asks` is set */
	struct bs_collector images;
	bool asks; /* images come as answers to questions */
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
