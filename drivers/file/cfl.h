/*
 * drivers/file/cfl.h - BART .cfl/.hdr files: complex float arrays with up to 16 dimensions
 *
 * Dimensions: 0 x, 1 y, 2 z, 3 coil, 10 time, 13 slice; x fastest. The header's product is checked
 * against the file's length before anything is allocated. Names with or without ".cfl" or ".hdr".
 * A written pair appears whole: the data first, then the header. BS_ERR_IO: errno's words;
 * BS_ERR_FORMAT: the header is none, or does not fit the data. Values are not looked at.
 * Source: mrirecon.github.io/bart, file format.
 * Tests: test/unit/drivers/test_cfl.c, test/fuzz/fuzz_cfl.c
 */
#ifndef BS_DRIVERS_FILE_CFL_H
#define BS_DRIVERS_FILE_CFL_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define BS_CFL_DIMS 16u

struct bs_cfl {
	uint64_t dims[BS_CFL_DIMS];
	float *data;   /* complex values, from malloc */
	uint64_t size; /* number of complex values */
};

int bs_cfl_read(struct bs_cfl *c, const char *name, struct bs_fail *why);
/* Writes a pair .cfl and .hdr; replaces one of that name. */
int bs_cfl_write(const char *name, const uint64_t dims[BS_CFL_DIMS], const float *data,
		 struct bs_fail *why);
/* Writes as bs_cfl_write, but BS_DRAFT_EXISTS (drivers/file/draft.h) if that
 * .cfl or .hdr exists. */
int bs_cfl_write_new(const char *name, const uint64_t dims[BS_CFL_DIMS], const float *data,
		     struct bs_fail *why);
void bs_cfl_free(struct bs_cfl *c);
/* Sets the dimensions of images [x, y, z, coil]; all others are 1. */
void bs_cfl_sizes(uint64_t dims[BS_CFL_DIMS], uint64_t x, uint64_t y, uint64_t z, uint64_t coils);

/*
 * Reads a .hdr's text of len bytes, which needs no NUL. dims: those not given are 1; size: their
 * product. Refuses: no "# Dimensions" line, a number that is none or 0, more than 16 numbers, a
 * product whose bytes do not fit 63 bits. name appears in the reason only.
 */
int bs_cfl_parse(uint64_t dims[BS_CFL_DIMS], uint64_t *size, const char *text, size_t len,
		 const char *name, struct bs_fail *why);

#endif
