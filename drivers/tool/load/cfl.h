/*
 * drivers/tool/load/cfl.h - reading BART's .cfl/.hdr files (drivers/file/cfl.h)
 *
 * The header's product is checked against the file's length before anything is allocated.
 * BS_ERR_IO: errno's words; BS_ERR_FORMAT: the header is none, or does not fit the data. Values are
 * not looked at. Tests: test/unit/drivers/test_cfl.c, test/fuzz/fuzz_cfl.c
 */
#ifndef BS_DRIVERS_TOOL_LOAD_CFL_H
#define BS_DRIVERS_TOOL_LOAD_CFL_H

#include <stddef.h>

#include "drivers/file/cfl.h"

struct bs_cfl {
	uint64_t dims[BS_CFL_DIMS];
	float *data;   /* complex values, from malloc */
	uint64_t size; /* number of complex values */
};

int bs_cfl_read(struct bs_cfl *c, const char *name, struct bs_fail *why);
void bs_cfl_free(struct bs_cfl *c);

/*
 * Reads a .hdr's text of len bytes, which needs no NUL. dims: those not given are 1; size: their
 * product. Refuses: no "# Dimensions" line, a number that is none or 0, more than 16 numbers, a
 * product whose bytes do not fit 63 bits. name appears in the reason only.
 */
int bs_cfl_parse(uint64_t dims[BS_CFL_DIMS], uint64_t *size, const char *text, size_t len,
		 const char *name, struct bs_fail *why);

#endif
