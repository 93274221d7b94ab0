/*
 * drivers/sink/dicomhead.h - an image's DICOM data set as dump2dcm reads it, without the pixels
 *
 * One slice (a matrix of 1 along z) becomes MR Image Storage, a volume Enhanced MR Image Storage
 * with a frame for each z. The image type is DERIVED: ORIGINAL demands groups (echo train, gradient
 * output, safety) that an MRD header does not have. Facts without a standard element are in the
 * private group 0029, creator BORESIDE (board/doc/IMAGES.md has the list).
 * The time of creation is now, or SOURCE_DATE_EPOCH, for files that are to be the same bytes.
 * No state; any thread. Source: DICOM PS3.3, A.4, A.36, C.7.6, C.8.3, C.8.13.
 * Test: test/unit/drivers/test_dicom.c
 */
#ifndef BS_DRIVERS_SINK_DICOMHEAD_H
#define BS_DRIVERS_SINK_DICOMHEAD_H

#include <stdbool.h>
#include <stdio.h>

#include "core/mrd.h"
#include "drivers/sink/dicomwords.h"
#include "drivers/sink/sink.h"

#define BS_DICOM_DECIMAL 17u /* bytes of a decimal string with its NUL */

struct bs_dicomhead {
	const struct bs_mrd_image *image;
	const struct bs_place *place;
	const struct bs_dicomwords *words;
	char instance[BS_UID_MAX], series[BS_UID_MAX], study[BS_UID_MAX], frame[BS_UID_MAX];
	/* factors of value = intercept + slope * stored */
	char intercept[BS_DICOM_DECIMAL], slope[BS_DICOM_DECIMAL];
	double window_center, window_width; /* window in the image's values, not as stored */
	double reach;           /* largest phase or velocity (ipc/wire/meta.h); else 0 */
	int smallest, largest;  /* stored pixel values; they have a sign if reach is not 0 */
	bool rescaled;          /* the series had another scale before this image */
	uint64_t not_numbers;   /* pixels that were not finite, stored as 0 */
	const char *pixel_file; /* file of 16-bit little-endian pixels, beside the dump */
};

/* Makes the identifiers. digest: any text that depends on the pixels. */
void bs_dicomhead_identify(struct bs_dicomhead *d, const char *digest);
/* Writes v in at most 16 characters, as exactly as they allow. */
void bs_dicom_decimal(char out[BS_DICOM_DECIMAL], double v);
void bs_dicomhead_put(const struct bs_dicomhead *d, FILE *to);

#endif
