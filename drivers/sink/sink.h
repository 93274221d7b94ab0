/*
 * drivers/sink/sink.h - where images go
 *
 * open -> put* -> close, in the emit worker or in `boreside recon`; put through bs_sink_put, which
 * checks the head. put may block and allocate (emit is not on the reconstruction's path); it leaves
 * a whole file behind, or none.
 * attributes: the MRD meta XML, NUL-terminated. pixels [channel][z][y][x], float or complex float
 * (the head's data_type), 4-byte aligned. The reason names the file. How files are named:
 * drivers/sink/name.h. put may be called again after a failure. close frees self, whatever it
 * returns.
 *   png  one picture per image (drivers/file/montage.h)
 *   cfl  one .cfl/.hdr pair per image: x, y, z, channel; a magnitude gets the imaginary part 0
 *   mrd  .h5: in a folder one file per image; as a file name all images in that one file, which
 *        has its name only after close; group /dataset/image_SERIES, readable by ISMRMRD's tools
 *   nifti, nifti_gz
 *        .nii or .nii.gz (NIfTI-1): x, y, z, 1, channel; sform and qform from the image's place
 *        (drivers/sink/place.h), both of code 0 where its head does not say it; the attributes as
 *        a comment extension
 *   dicom .dcm, magnitude in 16 bits, by DCMTK's dump2dcm: one slice MR Image Storage, a volume
 *        Enhanced MR Image Storage; one channel, and a head that says where it lies
 *        (drivers/sink/dicomhead.h); sent on by C-STORE (drivers/sink/dicomstore.h)
 * Test: test/unit/drivers/test_sink.c, test_nifti.c, test_dicom.c
 */
#ifndef BS_DRIVERS_SINK_SINK_H
#define BS_DRIVERS_SINK_SINK_H

#include <stdbool.h>

#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"

struct bs_sink {
	const char *type; /* "png", "cfl", "mrd", ... */
	const char *ext;  /* of its files: ".png", ".cfl", ".h5", ... */
	/* target: a folder (the service; files are named after scan and image) or a file (recon) */
	int (*open)(void **self, const char *target, struct bs_fail *why);
	int (*put)(void *self, const struct bs_mrd_image *head, const char *attributes,
		   const void *pixels, struct bs_fail *why);
	/*
	 * Of a target that is a file: put and has are of the image of that number (from 1) from now
	 * on. NULL: all images are in that one file.
	 */
	void (*at)(void *self, uint32_t number);
	/* This image's file is there, whole, no older than that (ns since 1970). */
	bool (*has)(void *self, const struct bs_mrd_image *head, int64_t since_ns);
	int (*close)(void *self, struct bs_fail *why);
	/* May be NULL. BS_ERR_UNSUPPORTED: this machine lacks what the sink needs. */
	int (*usable)(struct bs_fail *why);
	/* May be NULL: nowhere. After open: put sends each image there (sinks[].store), too. */
	int (*send_to)(void *self, const char *address, struct bs_fail *why);
};

extern const struct bs_sink bs_sink_png, bs_sink_cfl, bs_sink_mrd;
extern const struct bs_sink bs_sink_nifti, bs_sink_nifti_gz, bs_sink_dicom;
/* All of them. */
#define BS_SINKS                                                                                   \
	&bs_sink_mrd, &bs_sink_cfl, &bs_sink_png, &bs_sink_nifti, &bs_sink_nifti_gz, &bs_sink_dicom

/* By type, or by the ending of a file name (".png", ".cfl", ".h5", ".nii", ...). NULL: none. */
const struct bs_sink *bs_sink_find(const char *type_or_name);

/* BS_ERR_UNSUPPORTED, BS_ERR_SIZE: the head is of no image; else what the sink's put returns. */
int bs_sink_put(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		const char *attributes, const void *pixels, struct bs_fail *why);

#endif
