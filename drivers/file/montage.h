/*
 * drivers/file/montage.h - planes of an image as one 8-bit grey picture
 *
 * Magnitude, 0 black, white at the 99.7 percentile of all values (linear between ranks; the
 * maximum where that is 0); of values with a sign, where the caller sets reach, -reach is black, 0
 * grey and reach white. x right, y down; planes (z, then channels) left to right then down, in
 * ceil(sqrt(planes)) columns. A value that is not finite is black and does not move the window.
 * The caller's pixels are only read, and must stay. make allocates a working copy and frees it.
 * Test: test/unit/drivers/test_sink.c
 */
#ifndef BS_DRIVERS_FILE_MONTAGE_H
#define BS_DRIVERS_FILE_MONTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define BS_MONTAGE_PIXELS_MAX (UINT64_C(1) << 28)

struct bs_montage {
	const float *pixels; /* [plane][ny][nx] float or complex float */
	bool is_complex;
	uint32_t nx, ny, planes;
	uint32_t columns, rows; /* columns and rows of planes */
	double window;          /* value that is white, in the image's units; > 0 */
	/* value that is white where values have a sign; 0: they have none */
	double reach;
};

/* Prepares a picture. BS_ERR_SIZE: it would have more than BS_MONTAGE_PIXELS_MAX pixels. */
int bs_montage_make(struct bs_montage *m, const float *pixels, bool is_complex, uint32_t nx,
		    uint32_t ny, uint32_t planes, struct bs_fail *why);
/* Changes the number of columns; BS_ERR_SIZE as in make. */
int bs_montage_arrange(struct bs_montage *m, uint32_t columns, struct bs_fail *why);
/* Writes row y of the picture: columns * nx bytes. */
void bs_montage_row(const struct bs_montage *m, uint32_t y, unsigned char *row);

#endif
