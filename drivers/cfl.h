/*
 * drivers/cfl.h - BART .cfl/.hdr files: complex float arrays with up to 16 dimensions
 *
 * Dimensions: 0 x, 1 y, 2 z, 3 coil, 10 time; x fastest. The header's product is checked against
 * the file's length before anything is allocated. Names with or without ".cfl".
 * Source: mrirecon.github.io/bart, file format.
 */
#ifndef BS_DRIVERS_CFL_H
#define BS_DRIVERS_CFL_H

#include <stdint.h>

#include "core/err.h"

#define BS_CFL_DIMS 16u

struct bs_cfl {
	uint64_t dims[BS_CFL_DIMS];
	float *data;   /* complex, malloc'd */
	uint64_t size; /* complex values */
};

int bs_cfl_read(struct bs_cfl *c, const char *name, struct bs_fail *why);
int bs_cfl_write(const char *name, const uint64_t dims[BS_CFL_DIMS], const float *data,
		 struct bs_fail *why);
void bs_cfl_free(struct bs_cfl *c);

#endif
