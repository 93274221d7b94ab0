/*
 * board/web/kept.h - the scans of log.dir for the page: when each began, its protocol, how its log
 * ends
 *
 * The newest first, BS_KEPT_MOST at most. Of a log its files' heads and seals are read and the
 * protocol that its scan was opened for, where the site has one of that name: nothing of the scan's
 * header, so no patient's name. Allocates, blocks on the disk; one thread.
 * Source of the layout: board/doc/LOG.md. Test: test/replay/kept.c
 */
#ifndef BS_BOARD_WEB_KEPT_H
#define BS_BOARD_WEB_KEPT_H

#include <stddef.h>

#include "core/protocol.h"

#define BS_KEPT_MOST 50u

/*
 * The document: dir, logs (all that there are), why (they cannot be listed, or none are kept; else
 * empty), kept[]: started (UTC), session, protocol, bytes, segments, end: "whole", "images" (all of
 * the scan is in it; its images were still to be made), "open" (it is being taken, or was left
 * open), "unreadable". Its length, or BS_ERR_NOMEM.
 */
int bs_kept_put(char *out, size_t cap, const struct bs_site *site);

#endif
