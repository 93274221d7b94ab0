/*
 * board/tool/audit/scans.h - what is known of each scan: by its log, its images, its outcome
 *
 * One entry a session, some 400 bytes, however many records it has. Log: filled from its log;
 * store: as its images are read, in their order; outcome: as the service's own log says it. Not
 * thread-safe; allocates.
 */
#ifndef BS_BOARD_TOOL_AUDIT_SCANS_H
#define BS_BOARD_TOOL_AUDIT_SCANS_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/log/name.h"

/* Facts that a scan's log holds. */
struct bs_audit_log {
	char name[BS_LOG_NAME]; /* name of the log's first file; "": there is no log */
	uint32_t logs;          /* number of logs of this session */
	uint32_t scan;          /* the scan's number in the service; 0: not known */
	bool sealed, closed, damaged;
	uint64_t acqs, waves;
	uint64_t highest; /* highest message number */
	uint64_t missing; /* message numbers below highest that the log lacks */
	uint64_t first_missing;
	uint64_t close_count;
	int64_t from_ns, to_ns; /* least and largest time_ns of the ACQ messages */
	uint32_t uid;           /* measurement_uid of the ACQ messages */
	bool uids;              /* the ACQ messages have several measurement_uids */
	char protocol[64];      /* protocol that OPEN asks for; "": none */
	char measurement[64];   /* measurementID in the scan's header */
};

/* Facts that a scan's images hold, read in the order of the store. */
struct bs_audit_shots {
	uint64_t images, previews, late;
	uint64_t first, last, last_preview; /* numbers within the scan; 0: no image yet */
	uint64_t recent, recent_preview;    /* bit n is set if image number last - n is there */
	/* highest sum of gaps and rejected that one image names */
	uint64_t named;
	bool over; /* another scan's image followed */
	bool cut;  /* the store's oldest image is of this scan, but not its first */
};

struct bs_audit_outcome {
	bool known, log_known, has_log;
	int code;
	uint64_t scan, acquisitions, images, gaps, rejected, late, undelivered;
	uint64_t lacks; /* number of messages that the log lacks */
	char log[BS_LOG_NAME];
};

struct bs_audit_scan {
	uint64_t session;
	struct bs_audit_log log;
	struct bs_audit_shots shots;
	struct bs_audit_outcome outcome;
};

struct bs_audit_scans {
	void *tree;
	uint64_t count;
};

/* Returns the session's entry, a new one if needed. NULL: no memory. */
struct bs_audit_scan *bs_audit_scan(struct bs_audit_scans *s, uint64_t session);
void bs_audit_scans_each(const struct bs_audit_scans *s,
			 void (*each)(void *arg, struct bs_audit_scan *scan), void *arg);
void bs_audit_scans_free(struct bs_audit_scans *s);

#endif
