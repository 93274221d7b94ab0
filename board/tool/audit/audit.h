/*
 * board/tool/audit/audit.h - a site's logs and its store of images against what they promise
 *
 * Reads only, takes no lock, and streams: the memory is that of the longest record and some 500
 * bytes a scan, whatever the folders hold. They may be those of a service that runs: what is
 * written while it is read is read again before anything is said of it, what is removed meanwhile
 * is passed over, and what may still be on its way is not missed.
 * Promises: promise.h. Tests: test/fault/audit/fault_audit.c, test/unit/board/tool/test_audit.c
 */
#ifndef BS_BOARD_TOOL_AUDIT_AUDIT_H
#define BS_BOARD_TOOL_AUDIT_AUDIT_H

#include "board/tool/audit/promise.h"
#include "core/err.h"

struct bs_audit_request {
	const char *const *dirs; /* folders of logs or of stores; the last is NULL */
	const char *events;      /* file of the service's log, "-": standard input; NULL: none */
	const uint8_t *key;      /* public key that logs and lines are signed with; NULL: none */
	uint64_t store_bytes;    /* most bytes that the store may have; 0: not known */
};

/* Judges, and prints findings as it goes. BS_ERR_IO, BS_ERR_NOMEM: it could not judge. */
struct bs_audit_sum {
	uint64_t logs, records, images, takers, bytes, outcomes, judged, found;
};
int bs_audit_run(const struct bs_audit_request *q, struct bs_findings *f, struct bs_audit_sum *sum,
		 struct bs_fail *why);

#endif
