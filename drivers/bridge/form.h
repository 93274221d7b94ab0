/*
 * drivers/bridge/form.h - an image of the service in the form that MRD clients and consoles want
 *
 * int16: magnitude times a scale. The scale maps the scan's first image to 12 bits (0 to 4095) and
 * stays for later images, so that they can be compared. An image that would not fit 16 bits lowers
 * the scale from then on. The attribute boreside_scale holds it. If the header's BitsStored is 16,
 * the first image fills half of 16 bits, unsigned. A Siemens console stacks the partitions of one
 * image against slice_dir: it gets each partition as a message with its own place, slice and index
 * (all in one message if the indices would not fit 16 bits). Phases, -pi to pi, and velocities,
 * -VENC to VENC, are mapped to 0 to 4095 in all images: boreside_scale times the value plus
 * boreside_offset. float: the pixels unchanged.
 * The attributes are those of the image and DataRole (Quantitative: a velocity),
 * ImageProcessingHistory, WindowCenter, WindowWidth (in units of the sent pixels, white at the 99.7
 * percentile; whole numbers, or left out if the floats are too small for whole numbers),
 * SequenceDescriptionAdditional, Keep_image_geometry, ImageRowDir, ImageColumnDir. A value that is
 * not finite is 0 in int16.
 * One thread. Test: test/unit/drivers/bridge/test_form.c
 */
#ifndef BS_DRIVERS_BRIDGE_FORM_H
#define BS_DRIVERS_BRIDGE_FORM_H

#include "core/protocol.h"
#include "ipc/collector.h"
#include "drivers/bridge/buffer.h"

struct bs_form {
	enum bs_pixels as;
	bool sixteen, slices; /* for int16: use 16 bits; send one message a partition */
};
/* Sets sixteen and slices by what the scan's header says of the console. `as` must be set. */
void bs_form_by(struct bs_form *f, const struct bs_scan_info *info);
/* Returns the bytes that always suffice for an image's messages. */
size_t bs_form_most(const struct bs_form *f, const struct bs_asked *image);
/* Adds an image's messages, with their ids, to out. *scale: of the scan, 0 at its start. */
int bs_form_add(struct bs_buffer *out, size_t most, const struct bs_form *form, double *scale,
		const struct bs_asked *image, struct bs_fail *why);

#endif
