/*
 * board/tool/init/add.h - one more protocol in a site file that is there
 *
 * The protocol becomes the first of the list; all else of the file stays as it was written, with
 * its comments. A name that the site has already gets -2, -3, ... behind it.
 * Reads files; one thread. Test: test/replay/init/command.sh
 */
#ifndef BS_BOARD_TOOL_INIT_ADD_H
#define BS_BOARD_TOOL_INIT_ADD_H

#include <stdio.h>

#include "board/tool/init/outline.h"
#include "core/err.h"
#include "core/protocol.h"

/* Renames the outline if the site has a protocol of that name. */
void bs_add_name(struct bs_outline *o, const struct bs_site *site);
/* Writes the site file with the outline's protocol added. BS_ERR_FORMAT: no list of protocols. */
int bs_add_write(FILE *to, const char *file, const struct bs_outline *o, struct bs_fail *why);

#endif
