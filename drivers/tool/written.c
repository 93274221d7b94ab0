/* drivers/tool/written.c - see written.h */
#include "drivers/tool/written.h"

#include <stdio.h>

#include "drivers/file/draft.h"
#include "drivers/file/png.h"
#include "drivers/sink/sink.h"

int bs_mtx_write(const char *path, const struct bs_csr *m, struct bs_fail *why)
{
	struct bs_draft d;
	char text[65536];
	size_t used;
	int rc = bs_draft_open(&d, path, why);

	if (rc != 0)
		return rc;
	used = (size_t)snprintf(text, sizeof(text),
				"%%%%MatrixMarket matrix coordinate %s general\n%llu %llu %llu\n",
				m->is_complex ? "complex" : "real", (unsigned long long)m->rows,
				(unsigned long long)m->cols, (unsigned long long)m->entries);
	for (uint64_t i = 0; i < m->rows && rc == 0; i++)
		for (uint64_t e = m->start[i]; e < m->start[i + 1] && rc == 0; e++) {
			char *to = text + used;
			size_t room = sizeof(text) - used;
			unsigned long long row = i + 1;
			unsigned long long col = m->col[e] + 1ull;

			/* 9 digits give back exactly the same float */
			used += (size_t)(m->is_complex ? snprintf(to, room, "%llu %llu %.9g %.9g\n",
								  row, col, (double)m->value[2 * e],
								  (double)m->value[2 * e + 1])
						       : snprintf(to, room, "%llu %llu %.9g\n", row,
								  col, (double)m->value[e]));
			if (used > sizeof(text) - 128) {
				rc = bs_draft_write(&d, text, used, why);
				used = 0;
			}
		}
	if (rc == 0)
		rc = bs_draft_write(&d, text, used, why);
	return bs_draft_end(&d, rc, path, BS_DRAFT_REPLACE, why);
}

int bs_text_save(const char *path, const struct bs_text *t, struct bs_fail *why)
{
	struct bs_draft d;
	int rc;

	if (t->full)
		return bs_fail(why, BS_ERR_NOMEM, "%s: more than %zu bytes", path, t->cap);
	rc = bs_draft_open(&d, path, why);
	if (rc != 0)
		return rc;
	rc = bs_draft_write(&d, t->out, t->len, why);
	return bs_draft_end(&d, rc, path, BS_DRAFT_REPLACE, why);
}

int bs_pngfile_save(const char *path, const struct bs_montage *m, const char *title,
		    struct bs_fail *why)
{
	struct bs_draft d;
	int rc = bs_draft_open(&d, path, why);

	if (rc != 0)
		return rc;
	return bs_draft_end(&d, bs_pngfile_write(&d, m, title, NULL, why), path, BS_DRAFT_REPLACE,
			    why);
}

const char *bs_sink_words(char *to, size_t size, bool endings)
{
	static const struct bs_sink *const known[] = { BS_SINKS };
	const size_t n = sizeof(known) / sizeof(known[0]);
	size_t at = 0;

	for (size_t i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(to + at, size - at, "%s%s",
				       i == 0      ? ""
				       : i + 1 < n ? ", "
						   : " or ",
				       endings ? known[i]->ext : known[i]->type);
	return to;
}
