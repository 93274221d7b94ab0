/* board/web/page.h - the page's files, which are built into the program */
#ifndef BS_BOARD_WEB_PAGE_H
#define BS_BOARD_WEB_PAGE_H

struct bs_page {
	const char *url, *type;
	const unsigned char *begin, *end;
};

extern const struct bs_page bs_pages[]; /* ends with an entry without a URL */

#endif
