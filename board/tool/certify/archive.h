/*
 * board/tool/certify/archive.h - takes every image of a service from its archive socket, with its
 * latencies
 *
 * open -> { begin -> { scan -> (images come) }* -> end }* -> close.
 * A thread of its own receives. A canary (core/thread/canaries.h) on each processor of `where`,
 * those that the service's threads may run on, records the stalls meanwhile, at the highest
 * real-time priority where that is allowed.
 * begin: images count in r from now on, until end, which also fills in its latencies; r->latency is
 * allocated, and the caller's. scan: the session whose images are to come; others count as torn.
 * count: images of this run so far, each once, previews not counted. take: what the thread does
 * with a message, for tests. BS_ARCHIVE_MAX images of a run are kept; more count as torn.
 * An image is handed on at its envelope's time (ipc/WIRE.md). It is a miss when that is later than
 * the budget after its last readout's due time. Whose miss it is says late.h, from the canaries and
 * from `left`, what the sender recorded (NULL: then the sender explains nothing).
 * Test: test/unit/board/test_message.c, test/replay/certify.sh
 */
#ifndef BS_BOARD_TOOL_CERTIFY_ARCHIVE_H
#define BS_BOARD_TOOL_CERTIFY_ARCHIVE_H

#include "board/tool/certify/certificate.h"
#include "core/thread/cpus.h"

#define BS_ARCHIVE_MAX (1u << 20)

struct bs_archive;

int bs_archive_open(struct bs_archive **g, const struct bs_protocol *p, const char *url,
		    const struct bs_cpus *where, const struct bs_departures *left,
		    struct bs_fail *why);
void bs_archive_begin(struct bs_archive *g, struct bs_certify_run *r);
void bs_archive_scan(struct bs_archive *g, uint64_t session);
void bs_archive_take(struct bs_archive *g, const unsigned char *msg, size_t len, int64_t now_ns);
uint64_t bs_archive_count(const struct bs_archive *g);
void bs_archive_end(struct bs_archive *g);
void bs_archive_canaries(const struct bs_archive *g, struct bs_certificate *c);
void bs_archive_close(struct bs_archive *g);

#endif
