/*
 * board/web/picture.h - an image as the page shows it: magnitude in 16 bits, and facts about it
 *
 * image in    its pixels [channel][z][y][x] float or complex float
 * out         a struct bs_picture, behind it [plane][y][x] uint16_t, little-endian: 0 is `least`,
 *             65535 `most`
 * A plane is a slice. Several channels are combined by the root of the sum of squares; a phase or a
 * velocity keeps its sign and is taken from the first channel. A volume of more than
 * BS_PICTURE_PIXELS pixels is averaged over blocks of step by step pixels, so that the planes
 * together have no more. A value that is not finite is 0. The picture has no attributes that may
 * name a patient.
 * Allocates the picture; any thread. Test: test/unit/board/web/test_picture.c
 */
#ifndef BS_BOARD_WEB_PICTURE_H
#define BS_BOARD_WEB_PICTURE_H

#include <stddef.h>

#include "core/err.h"
#include "ipc/collector.h"

#define BS_PICTURE_PIXELS (UINT64_C(1) << 20)

struct bs_picture {
	uint64_t session, image; /* session and number in the image's envelope */
	uint32_t matrix[3];      /* voxels of the image */
	uint32_t nx, ny, planes; /* size of the picture, and its number of planes */
	uint32_t step;
	/* values at black and white in the image's units: 0 and the
	 * largest, or plus and minus it */
	float least, most;
	float fov_mm[3];
	uint32_t slice, contrast, repetition, series;
	int32_t budget_us, latency_us, missed, iterations, missing, gaps, rung, quality;
};

/* Makes a picture. BS_ERR_SIZE; BS_ERR_UNSUPPORTED: pixels not (complex) float; BS_ERR_NOMEM. */
int bs_picture_make(unsigned char **out, size_t *len, const struct bs_asked *image,
		    struct bs_fail *why);

#endif
