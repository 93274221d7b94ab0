/* test/unit/board/test_doc.c - the JSON writer: commas, nesting, escapes, lines, too little room */
#include "board/status/doc.h"

#include <string.h>

#include "core/err.h"
#include "test/support/check.h"

static char out[512];

static int write_all(bool wide, size_t cap)
{
	struct bs_doc d;

	bs_doc_begin(&d, out, cap);
	d.wide = wide;
	bs_doc_number(&d, "n", UINT64_MAX);
	bs_doc_real(&d, "x", 0.0625);
	bs_doc_flag(&d, "yes", true);
	bs_doc_open(&d, "list", '[');
	bs_doc_text(&d, NULL, "\"\\\n\xc3");
	bs_doc_chars(&d, NULL, "abc", 2);
	bs_doc_line(&d, NULL);
	bs_doc_value(&d, "a", "%d", -1);
	bs_doc_value(&d, "b", "%.1e", 2.0);
	bs_doc_close(&d);
	bs_doc_close(&d);
	bs_doc_open(&d, "none", '[');
	bs_doc_close(&d);
	bs_doc_open(&d, "empty", '{');
	bs_doc_close(&d);
	return bs_doc_end(&d);
}

int main(void)
{
	static const char narrow[] =
		"{\"n\":18446744073709551615,\"x\":0.062,\"yes\":true,"
		"\"list\":[\"\\\"\\\\\\u000a\\u00c3\",\"ab\",{\"a\":-1,\"b\":2.0e+00}],"
		"\"none\":[],\"empty\":{}}\n";
	static const char wide[] =
		"{\"n\":18446744073709551615,\n\"x\":0.062,\n\"yes\":true,\n"
		"\"list\":[\"\\\"\\\\\\u000a\\u00c3\",\n\"ab\",\n{\"a\":-1,\"b\":2.0e+00}],\n"
		"\"none\":[],\n\"empty\":{}\n}\n";
	int bad = 0;

	CHECK(write_all(false, sizeof(out)) == (int)strlen(narrow) && strcmp(out, narrow) == 0,
	      "a document: %s", out);
	CHECK(write_all(true, sizeof(out)) == (int)strlen(wide) && strcmp(out, wide) == 0,
	      "the same, one member a line but for what is opened as a line");
	for (size_t cap = 0; cap <= strlen(narrow); cap++) {
		memset(out, 'Z', sizeof(out));
		bad += write_all(false, cap) != BS_ERR_NOMEM || out[cap] != 'Z';
	}
	CHECK(bad == 0, "too little room is said, and not overrun");
	CHECK(write_all(false, strlen(narrow) + 1) == (int)strlen(narrow), "just enough room");
	return check_done();
}
