/*
 * board/tool/audit/outcomes.h - how scans ended, by the lines that the service's log keeps of them
 *
 * Reads the lines `audit` of a service's log (board/doc/WEB.md), as words or as JSON, whatever
 * stands before them; what is none is passed over. Of two lines of one session the later one holds.
 */
#ifndef BS_BOARD_TOOL_AUDIT_OUTCOMES_H
#define BS_BOARD_TOOL_AUDIT_OUTCOMES_H

#include "board/tool/audit/part.h"

/*
 * Reads the request's file ("-": standard input), and with its key judges the lines' signatures.
 * *lines: number of lines that say how a scan ended. BS_ERR_IO, BS_ERR_NOMEM.
 */
int bs_audit_outcomes(struct bs_audit *a, uint64_t *lines, struct bs_fail *why);

#endif
