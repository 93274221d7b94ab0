/*
 * board/tool/page/page.h - pages of the documentation that the program has itself
 *
 * `boreside page keys` and `page fields`: what `boreside check --keys` and `status --fields` print,
 * which start it (board/command/command.h). Test: test/unit/config/check.sh,
 * test/unit/board/status.sh
 */
#ifndef BS_BOARD_TOOL_PAGE_PAGE_H
#define BS_BOARD_TOOL_PAGE_PAGE_H

#include <stddef.h>

/* Prints a page. Returns the exit status; -1: the program was not started for one. */
int bs_page_main(int argc, char **argv);
/* Writes the table of board/doc/STATUS.md, which explains the document's members. */
int bs_status_fields(char *out, size_t cap);

#endif
