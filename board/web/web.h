/*
 * board/web/web.h - the page in a browser, and /metrics: a process beside the service
 *
 * It is asked by browsers on loopback (HTTP/1.1, GET and HEAD; libmicrohttpd) and asks the service
 * as any client does: for its status and metrics on the status socket, for images as a viewer. It
 * maps no shared memory, so whatever a browser sends ends at most this process.
 *   web.c        the process: its socket, its loop, its end
 *   answer.c     one request: who may ask, what there is, how it is sent
 *   documents.c  a thread: status and metrics of the service, and the page's own
 *   taker.c      a thread: images to pictures
 *   shelf.c      where those lie until newer ones have come; who reads slowly holds nothing
 *   page.*       the page itself, as it is sent
 * Each calls only those below it. What a request may hold: one connection of 256, which is ended
 * after 5 s without progress, 48 KiB, and what the kernel buffers for it, 128 KiB.
 * Test: test/replay/web.sh
 */
#ifndef BS_BOARD_WEB_WEB_H
#define BS_BOARD_WEB_WEB_H

#include <signal.h>

#include "board/web/taker.h"

#define BS_WEB_CONNECTIONS 256u
#define BS_WEB_IDLE_S      5u
#define BS_WEB_TOKEN_MIN   16u
#define BS_WEB_TOKEN_MAX   256u
#define BS_WEB_URL         "web.url" /* of node.run_dir: where the page is */

struct bs_web {
	const struct bs_site *site;
	struct bs_documents documents;
	struct bs_web_taker taker;
	char token[BS_WEB_TOKEN_MAX + 1]; /* "": none is needed */
	/* connections that wait for a newer document */
	void *waits[BS_WEB_CONNECTIONS];
	uint32_t waiting;
};

/*
 * Until *stop; the exit status. supervised: the service's own, which ends itself when it hangs for
 * a minute, and is replaced.
 */
int bs_web_run(const struct bs_site *site, bool supervised, const volatile sig_atomic_t *stop);
/* 127.a.b.c:PORT */
bool bs_web_loopback(const char *listen);

#endif
