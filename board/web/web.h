/*
 * board/web/web.h - the process beside the service that serves the page and /metrics to browsers
 *
 * It answers browsers on loopback (HTTP/1.1, GET and HEAD; libmicrohttpd) and asks the service as
 * any client does: for status and metrics on the status socket, for images as a viewer. It maps no
 * shared memory, so whatever a browser sends ends at most this process.
 *   web.c        the process: its socket, its loop, its end
 *   answer.c     one request: checks who asks, finds the answer, sends it
 *   documents.c  a thread that gets status and metrics of the service, and adds the page's own
 *   taker.c      a thread that makes pictures of images
 *   shelf.c      keeps documents and pictures until newer ones have come
 *   page.*       the page's files
 * Each calls only those below it. A request holds at most one of 256 connections, 48 KiB, and 128
 * KiB in the kernel's buffers; it is ended after 5 s without progress.
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
#define BS_WEB_URL         "web.url" /* file in node.run_dir that holds the page's address */

struct bs_web {
	const struct bs_site *site;
	struct bs_documents documents;
	struct bs_web_taker taker;
	char token[BS_WEB_TOKEN_MAX + 1]; /* token that a browser needs; "": none */
	/* connections that wait for a newer document */
	void *waits[BS_WEB_CONNECTIONS];
	uint32_t waiting;
};

/*
 * Runs until *stop; returns the exit status. supervised: the service started this process; it ends
 * itself when it hangs for a minute, and the service replaces it.
 */
int bs_web_run(const struct bs_site *site, bool supervised, const volatile sig_atomic_t *stop);
/* True if listen is an address on loopback, 127.a.b.c:PORT. */
bool bs_web_loopback(const char *listen);

#endif
