/* board/tool/page/fields.c - the table of board/doc/STATUS.md; see page.h, board/status/table.h */
#include <stdio.h>

#include "board/status/table.h"
#include "board/tool/page/page.h"
#include "core/text.h"

static const char *type_of(const struct bs_row *r)
{
	if (r->rows != NULL)
		return r->most > 0 ? "list" : "object";
	if (r->type == BS_TYPE_BOOL || r->unit == BS_YES)
		return "yes or no";
	if (r->type == BS_TYPE_CHARS || r->type == BS_TYPE_STRING || r->word != NULL ||
	    r->words != NULL || r->unit == BS_SESSION || r->unit == BS_UTC || r->unit == BS_UTC_NS)
		return "text";
	return r->unit == BS_S || r->unit == BS_MS || r->unit == BS_US || r->unit == BS_MS_GIVEN
		       ? "number"
		       : "integer";
}

static void put_rows(struct bs_text *t, const struct bs_row *up, const char *before)
{
	char path[128];

	for (const struct bs_row *r = up->rows; !bs_row_ends(r); r++) {
		if (bs_row_joins(r))
			put_rows(t, r, before);
		if (r->name == NULL || r->help == NULL || r->name[0] == '\0')
			continue;
		(void)snprintf(path, sizeof(path), "%s%s%s%s", before, before[0] != '\0' ? "." : "",
			       r->name, bs_row_lists(r) ? "[]" : "");
		bs_text_put(t, "| `%s` | %s | %s | %s |\n", path, type_of(r), bs_unit_name(r),
			    r->help);
		if (r->rows != NULL)
			put_rows(t, r, path);
	}
}

int bs_status_fields(char *out, size_t cap)
{
	struct bs_text t = { out, cap, 0, cap == 0 };

	bs_text_put(&t, "| member | type | unit | meaning |\n|---|---|---|---|\n");
	put_rows(&t, &bs_status_top, "");
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}
