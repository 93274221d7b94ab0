/*
 * board/web/documents.h - the page's documents: the service's status and metrics, and the scans in
 * log.dir
 *
 * A thread asks the service on its status socket and puts each answer on a shelf. It asks only when
 * a browser asks; one question serves all browsers that ask at the same time. If the service does
 * not answer, a document says so. Test: test/replay/web.sh
 */
#ifndef BS_BOARD_WEB_DOCUMENTS_H
#define BS_BOARD_WEB_DOCUMENTS_H

#include <stdatomic.h>

#include "board/web/shelf.h"
#include "core/protocol.h"

enum bs_document { BS_DOCUMENT_STATUS, BS_DOCUMENT_SCANS, BS_DOCUMENT_METRICS, BS_DOCUMENTS };

struct bs_documents {
	struct bs_shelf shelf[BS_DOCUMENTS];
	const struct bs_site *site;
	_Atomic uint64_t requests, denied; /* counts of the page itself, for the metrics */
	_Atomic uint64_t pictures, skipped;
	int done_fd; /* eventfd: a document was put */
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool wanted[BS_DOCUMENTS], quit, has_thread;
	pthread_t thread;
};

int bs_documents_open(struct bs_documents *d, const struct bs_site *site, struct bs_fail *why);
/* Asks for a newer document; done_fd becomes readable when it is put. */
void bs_documents_want(struct bs_documents *d, enum bs_document which);
void bs_documents_close(struct bs_documents *d);

#endif
