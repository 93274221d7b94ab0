/* board/web/page.h - the page's files as they are sent, part of the program */
#ifndef BS_BOARD_WEB_PAGE_H
#define BS_BOARD_WEB_PAGE_H

struct bs_page {
	const char *url, *type;
	const unsigned char *begin, *end;
};

extern const struct bs_page bs_pages[]; /* ended by one without a URL */

#endif
