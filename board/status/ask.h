/* board/status/ask.h - asks a running service for its status */
#ifndef BS_BOARD_STATUS_ASK_H
#define BS_BOARD_STATUS_ASK_H

#include <stddef.h>

#include "core/err.h"

/*
 * Asks once (board/doc/STATUS.md); reply: the answer, NUL-terminated. It is "" when none came; then
 * the result is BS_ERR_TIMEOUT after wait_ms, or why the socket cannot be used.
 */
struct bs_seal_keys;
/* keys: NULL, or the keys that seal the question (bs_endpoint_connect_sealed). */
int bs_status_ask_sealed(const char *url, const struct bs_seal_keys *keys, const char *request,
			 char *reply, size_t cap, int wait_ms, struct bs_fail *why);
/* Asks the service on this node: by its site, and sealed with who's key where the site seals. */
struct bs_site;
struct bs_keyed;
int bs_status_ask_own(const struct bs_site *site, const struct bs_keyed *who, const char *request,
		      char *reply, size_t cap, int wait_ms, struct bs_fail *why);

#endif
