/* board/web/page.c - see page.h */
#include "board/web/page.h"

#include <stddef.h>

/* The file becomes read-only data of the program, between two symbols. */
#define FILE_DATA(symbol, path)                                                                    \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " #symbol "_begin\n.global " #symbol "_end\n" #symbol "_begin:\n"         \
		".incbin \"" path "\"\n" #symbol "_end:\n.byte 0\n.popsection\n");                 \
	extern const unsigned char symbol##_begin[], symbol##_end[]

FILE_DATA(bs_page_html, "board/web/page.html");
FILE_DATA(bs_page_css, "board/web/page.css");
FILE_DATA(bs_page_js, "board/web/page.js");
FILE_DATA(bs_view_js, "board/web/view.js");

const struct bs_page bs_pages[] = {
	{ "/", "text/html; charset=utf-8", bs_page_html_begin, bs_page_html_end },
	{ "/page.css", "text/css; charset=utf-8", bs_page_css_begin, bs_page_css_end },
	{ "/page.js", "text/javascript; charset=utf-8", bs_page_js_begin, bs_page_js_end },
	{ "/view.js", "text/javascript; charset=utf-8", bs_view_js_begin, bs_view_js_end },
	{ NULL, NULL, NULL, NULL },
};
