/*
 * drivers/file/cfl.h - BART .cfl/.hdr files: complex float arrays with up to 16 dimensions
 *
 * Dimensions: 0 x, 1 y, 2 z, 3 coil, 10 time, 13 slice; x fastest. Names with or without ".cfl" or
 * ".hdr". A written pair appears whole: the data first, then the header. BS_ERR_IO: errno's words.
 * They are read by drivers/tool/load/cfl.h. Source: mrirecon.github.io/bart, file format.
 * Test: test/unit/drivers/test_cfl.c
 */
#ifndef BS_DRIVERS_FILE_CFL_H
#define BS_DRIVERS_FILE_CFL_H

#include <stdint.h>

#include "drivers/file/draft.h"

#define BS_CFL_DIMS 16u

/* Writes a pair .cfl and .hdr; replaces one of that name. */
int bs_cfl_write(const char *name, const uint64_t dims[BS_CFL_DIMS], const float *data,
		 struct bs_fail *why);
/* Writes as bs_cfl_write, but BS_DRAFT_EXISTS (drivers/file/draft.h) if that
 * .cfl or .hdr exists. */
int bs_cfl_write_new(const char *name, const uint64_t dims[BS_CFL_DIMS], const float *data,
		     struct bs_fail *why);
/* Sets the dimensions of images [x, y, z, coil]; all others are 1. */
void bs_cfl_sizes(uint64_t dims[BS_CFL_DIMS], uint64_t x, uint64_t y, uint64_t z, uint64_t coils);
/* Makes the path of the pair's file with this ending, ".cfl" or ".hdr". */
int bs_cfl_path(char out[BS_DRAFT_PATH], const char *name, const char *ext, struct bs_fail *why);

#endif
