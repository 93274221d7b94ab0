/*
 * drivers/bridge/picture.h - an image of the service's as MRD clients and consoles want it
 *
 * int16: magnitude times a scale that takes the scan's first image to 12 bits (0 to 4095) and stays
 * for those that follow, so that they can be compared; one that would not fit 16 bits lowers it
 * from then on. The attribute boreside_scale says it. Where the header's BitsStored is 16 the first
 * image fills half of 16 bits, unsigned. A console of Siemens stacks the partitions of one image
 * against slice_dir: it gets them one by one, each with its own place, slice and index (as one
 * where the indices would not fit 16 bits). Phases, -pi to pi, and velocities, -VENC to VENC, are 0
 * to 4095 in all images: boreside_scale times the value and boreside_offset. float: the pixels as
 * they are.
 * Attributes are those of the image and DataRole (Quantitative: a velocity),
 * ImageProcessingHistory, WindowCenter, WindowWidth (the pixels' own unit, white at the 99.7
 * percentile; whole numbers, or none where floats are too small for these),
 * SequenceDescriptionAdditional, Keep_image_geometry, ImageRowDir, ImageColumnDir. A value that is
 * not finite is 0 in int16.
 * One thread. Test: test/unit/drivers/bridge/test_picture.c
 */
#ifndef BS_DRIVERS_BRIDGE_PICTURE_H
#define BS_DRIVERS_BRIDGE_PICTURE_H

#include "core/protocol.h"
#include "ipc/collector.h"
#include "drivers/bridge/buffer.h"

struct bs_picture_form {
	enum bs_pixels as;
	bool sixteen, slices; /* of int16: all bits; one message a partition */
};
/* as is set: what the scan's header says of the console. */
void bs_picture_form_by(struct bs_picture_form *f, const struct bs_scan_info *info);
/* Bytes that always suffice for an image's messages. */
size_t bs_picture_most(const struct bs_picture_form *f, const struct bs_asked *image);
/* Whole messages, id and all, behind what is in out; *scale: the scan's, 0 at its start. */
int bs_picture_add(struct bs_buffer *out, size_t most, const struct bs_picture_form *form,
		   double *scale, const struct bs_asked *image, struct bs_fail *why);

#endif
