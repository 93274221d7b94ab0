/*
 * drivers/tool/image.h - reads an image file, whatever its format, as one complex array
 *
 * .h5: MRD images, group GROUP/SERIES with header and data; dimensions x, y, z, channel as 0 .. 3
 * and the images of the series as 10. Where a file holds several series the name says which:
 * FILE.h5#SERIES or FILE.h5#GROUP/SERIES; without it BS_ERR_FORMAT lists them. Any number type is
 * converted to single precision. Else a BART .cfl. Sizes are checked against what is stored before
 * memory is asked for; an .h5 is tried in a child process first (drivers/tool/load/probe.h).
 * Allocates; bs_cfl_free. Test: test/unit/core/tool/test_compare.c
 */
#ifndef BS_DRIVERS_TOOL_IMAGE_H
#define BS_DRIVERS_TOOL_IMAGE_H

#include "core/mrd.h"
#include "drivers/tool/load/cfl.h"

int bs_imagefile_read(struct bs_cfl *image, const char *name, struct bs_fail *why);
/* head: of the series' first image, what it says of sizes and place; BS_ERR_FORMAT: a .cfl. */
int bs_imagefile_placed(struct bs_cfl *image, struct bs_mrd_image *head, const char *name,
			struct bs_fail *why);

#endif
