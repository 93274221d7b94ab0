/*
 * drivers/tool/load/mtx.h - sparse matrices as Matrix Market files (.mtx)
 *
 * Read: "%%MatrixMarket matrix coordinate real|integer|complex general", comments, the sizes
 * "rows columns entries", then one entry a line, "row column value" or "row column re im", counted
 * from 1, by row and within a row by column, each place at most once. Anything else is refused
 * with BS_ERR_FORMAT, "FILE:LINE: why": an index out of range, a value that is not a finite
 * float, order, duplicates, too few or too many entries, a count that the file cannot hold.
 * The matrix comes sealed (core/solve/csr.h). Allocates; at start only.
 * Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats, NISTIR 5935, 1996.
 * Test: test/unit/drivers/test_mtx.c
 */
#ifndef BS_DRIVERS_TOOL_LOAD_MTX_H
#define BS_DRIVERS_TOOL_LOAD_MTX_H

#include "core/solve/csr.h"

int bs_mtx_read(struct bs_csr *m, const char *path, struct bs_fail *why);

#endif
