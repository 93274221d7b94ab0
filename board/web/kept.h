/*
 * board/web/kept.h - the scans of log.dir for the page: when each began, its protocol, how its log
 * ends
 *
 * The newest comes first; at most BS_KEPT_MOST. From a log only the files' heads and seals are read
 * and the name of the scan's protocol, if the site has this protocol. Nothing of the scan's header
 * is read, so no patient's name. Allocates, blocks on the disk; one thread.
 * Source of the layout: board/doc/LOG.md. Test: test/replay/kept.c
 */
#ifndef BS_BOARD_WEB_KEPT_H
#define BS_BOARD_WEB_KEPT_H

#include <stddef.h>

#include "core/protocol.h"

#define BS_KEPT_MOST 50u

/*
 * Writes the document: dir, logs (number of all logs), why (the reason if they cannot be listed or
 * none are kept; else empty), kept[]: started (UTC), session, protocol, bytes, segments, end:
 * "whole", "images" (the log has all of the scan, but its images were still to be made), "open"
 * (the scan is running or was left open), "unreadable". Returns its length, or BS_ERR_NOMEM.
 */
int bs_kept_put(char *out, size_t cap, const struct bs_site *site);

#endif
