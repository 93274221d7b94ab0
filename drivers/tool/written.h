/*
 * drivers/tool/written.h - files that tools alone write, and what the files of sinks may be
 *
 * Each whole or not at all; it replaces one of that name.
 * Test: test/unit/drivers/test_mtx.c, test/unit/board/usage.sh, test/replay/certify.sh
 */
#ifndef BS_DRIVERS_TOOL_WRITTEN_H
#define BS_DRIVERS_TOOL_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/solve/csr.h"
#include "core/text.h"
#include "drivers/file/montage.h"

/* Writes a matrix; drivers/tool/load/mtx.h reads the same bits back. */
int bs_mtx_write(const char *path, const struct bs_csr *m, struct bs_fail *why);
/* Writes a text to a file. BS_ERR_NOMEM: the text did not fit its buffer. */
int bs_text_save(const char *path, const struct bs_text *t, struct bs_fail *why);
int bs_pngfile_save(const char *path, const struct bs_montage *m, const char *title,
		    struct bs_fail *why);

/* Lists the sinks' types, or their files' endings: "mrd, cfl or png", cut to size. Returns to. */
#define BS_SINK_WORDS 64u /* bytes that suffice for bs_sink_words */
const char *bs_sink_words(char *to, size_t size, bool endings);

#endif
