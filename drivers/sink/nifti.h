/*
 * drivers/sink/nifti.h - an image's NIfTI-1 header and file, for nifti.c and nifti4d.c
 *
 * Behind the header lie a flag of four bytes and the attributes as a comment extension; vox_offset
 * of the header says where the pixels begin. No state; any thread.
 */
#ifndef BS_DRIVERS_SINK_NIFTI_H
#define BS_DRIVERS_SINK_NIFTI_H

#include <nifti1.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"
#include "core/mrd.h"

#define BS_NIFTI_AXIS_MAX 32767u /* the header counts in 16 bits with a sign */

/* Makes the header of an image with these attributes. BS_ERR_SIZE: an axis is too long. */
int bs_nifti_header(struct nifti_1_header *h, const struct bs_mrd_image *head,
		    const char *attributes, struct bs_fail *why);
/* Writes a whole file; h: bs_nifti_header's, of which the caller may have changed fields. */
int bs_nifti_write(const char *path, const struct nifti_1_header *h,
		   const struct bs_mrd_image *head, const char *attributes, const void *pixels,
		   bool packed, struct bs_fail *why);

static inline size_t bs_nifti_pixel_bytes(const struct bs_mrd_image *head)
{
	return (size_t)head->matrix_size[0] * head->matrix_size[1] * head->matrix_size[2] *
	       head->channels * (head->data_type == BS_MRD_CXFLOAT ? 8 : 4);
}

#endif
