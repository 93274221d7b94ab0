/* board/status/ask.h - asks a running service for its status */
#ifndef BS_BOARD_STATUS_ASK_H
#define BS_BOARD_STATUS_ASK_H

#include <stddef.h>

#include "core/err.h"

/*
 * One request (board/doc/STATUS.md), its answer in reply, NUL-terminated, "" when there is none:
 * then BS_ERR_TIMEOUT after wait_ms, or why the socket cannot be used.
 */
int bs_status_ask(const char *url, const char *request, char *reply, size_t cap, int wait_ms,
		  struct bs_fail *why);

#endif
