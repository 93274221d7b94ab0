/*
 * drivers/file/png.h - a montage as PNG bytes in a draft, with a few words inside
 *
 * 8-bit grey. Texts (UTF-8) go into the file's text chunks: Software, Title, Window (the value
 * that is white) and Description (the image's MRD attributes) ; "" or NULL leaves one out.
 * BS_ERR_IO when the draft cannot be written. Source: PNG 1.2, through libpng.
 */
#ifndef BS_DRIVERS_FILE_PNG_H
#define BS_DRIVERS_FILE_PNG_H

#include "drivers/file/draft.h"
#include "drivers/file/montage.h"

int bs_pngfile_write(struct bs_draft *d, const struct bs_montage *m, const char *title,
		     const char *description, struct bs_fail *why);

#endif
