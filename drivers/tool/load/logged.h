/*
 * drivers/tool/load/logged.h - a scan's log (drivers/log) as a recording: header and acquisitions
 *
 * open reads the whole log once. The acquisitions are those of its ACQ messages, in the order of
 * their numbers on the wire, whatever order they came in. The log of a scan that was never closed
 * has the messages that came. *damage: 0, or why the log ends early; the caller may still use the
 * messages before the damage. Allocates; not for real-time threads; one thread.
 * Test: test/unit/drivers/log/test_logged.c, test/replay/record.sh
 */
#ifndef BS_DRIVERS_TOOL_LOAD_LOGGED_H
#define BS_DRIVERS_TOOL_LOAD_LOGGED_H

#include "core/mrd.h"
#include "drivers/log/reader.h"

struct bs_logged;

/* Counts and facts of a log. */
struct bs_logged_sum {
	uint64_t messages, acquisitions, waveforms, answers;
	bool closed; /* CLOSE came, and all acquisitions that it counts are there */
	uint64_t bytes;
	uint32_t segments;
	uint64_t session;
	int64_t started_ns; /* start of the scan, ns since 1970, UTC */
	char protocol[64];  /* name that OPEN asked for; "": none */
	enum bs_log_end end;
	char where[1200]; /* file and offset of the log's end */
};

/* True if path is a log's file, by its name or its first bytes. */
bool bs_logged_is(const char *path);
/* Opens a log. BS_ERR_IO; BS_ERR_FORMAT: no log, or no header in it; BS_ERR_STATE: empty. */
int bs_logged_open(struct bs_logged **l, const char *path, struct bs_fail *damage,
		   struct bs_fail *why);
const char *bs_logged_xml(const struct bs_logged *l);
uint32_t bs_logged_count(const struct bs_logged *l);
/* traj and data lie in the reader's memory until the next call. */
int bs_logged_read(struct bs_logged *l, uint32_t index, struct bs_mrd_acq *head, float **traj,
		   float **data, struct bs_fail *why);
const struct bs_logged_sum *bs_logged_sum(const struct bs_logged *l);
/* Returns "" for a complete scan, or that it was not closed, or that its log has no end. */
const char *bs_logged_note(const struct bs_logged *l);
void bs_logged_close(struct bs_logged *l);

#endif
