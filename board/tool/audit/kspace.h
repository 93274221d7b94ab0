/*
 * board/tool/audit/kspace.h - the messages of a scan's log, each by the rules of the wire
 *
 * begin -> take* -> end. Numbers are kept for the last BS_AUDIT_WINDOW only, so that a log of any
 * length takes the same memory: what comes again or late beyond that is out of order all the same.
 */
#ifndef BS_BOARD_TOOL_AUDIT_KSPACE_H
#define BS_BOARD_TOOL_AUDIT_KSPACE_H

#include "board/tool/audit/promise.h"
#include "board/tool/audit/scans.h"
#include "drivers/log/reader.h"

/* numbers kept: twice the largest window (WIRE.md, 4); a power of two */
#define BS_AUDIT_WINDOW 16384u

struct bs_audit_kspace {
	struct bs_findings *f;
	const char *where; /* name of the current record */
	uint64_t session;  /* session of the log */
	struct bs_audit_log *log;
	bool there[BS_AUDIT_WINDOW]; /* message n came: at n % BS_AUDIT_WINDOW */
	uint32_t crc[BS_AUDIT_WINDOW];
	uint64_t settled; /* first number that is not yet counted as there or missing */
	uint64_t close;   /* number of CLOSE; 0: CLOSE has not come */
	bool opened;
};

void bs_audit_kspace_begin(struct bs_audit_kspace *k, struct bs_findings *f, const char *where,
			   struct bs_audit_log *log);
/* Takes one message of the log. arg: struct bs_audit_kspace. */
void bs_audit_kspace_take(void *arg, const struct bs_log_message *m);
/* Ends the log at path. all: the log was read to its end, so its count is judged. */
void bs_audit_kspace_end(struct bs_audit_kspace *k, const char *path, bool all);

#endif
