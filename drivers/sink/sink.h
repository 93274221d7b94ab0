/*
 * drivers/sink/sink.h - sinks: folders or files that images are written to
 *
 * open -> put* -> close, in the emit worker or in `boreside recon`. Call put through bs_sink_put,
 * which checks the head. put may block and allocate (emit is not on the reconstruction's path); it
 * leaves a whole file behind, or none.
 * attributes: the MRD meta XML, NUL-terminated. pixels [channel][z][y][x], float or complex float
 * (the head's data_type), 4-byte aligned. The reason of an error names the file.
 * drivers/sink/name.h names the files. put may be called again after a failure. close frees self,
 * whatever it returns.
 *   png  one picture per image (drivers/file/montage.h)
 *   cfl  one .cfl/.hdr pair per image: x, y, z, channel; a magnitude gets the imaginary part 0
 *   mrd  .h5: in a folder one file per image; as a file name all images in that one file, which
 *        has its name only after close; group /dataset/image_SERIES, readable by ISMRMRD's tools
 *   nifti, nifti_gz
 *        .nii or .nii.gz (NIfTI-1): x, y, z, 1, channel; sform and qform from the image's place
 *        (drivers/sink/place.h), both of code 0 if its head does not say it; the attributes as
 *        a comment extension
 *   nifti_4d
 *        .4d.nii: the repetitions of a contrast, phase, set and slice in one file, volume by
 *        volume (drivers/sink/nifti4d.c)
 *   dicom .dcm, magnitude in 16 bits, by DCMTK's dump2dcm: one slice MR Image Storage, a volume
 *        Enhanced MR Image Storage; one channel, and a head that says where it lies
 *        (drivers/sink/dicomhead.h); sent on by C-STORE (drivers/sink/dicomstore.h)
 * Test: test/unit/drivers/test_sink.c, test_nifti.c, test_nifti4d.c, test_dicom.c
 */
#ifndef BS_DRIVERS_SINK_SINK_H
#define BS_DRIVERS_SINK_SINK_H

#include <stdbool.h>

#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"

struct bs_sink {
	const char *type; /* "png", "cfl", "mrd", ... */
	const char *ext;  /* extension of the files: ".png", ".cfl", ".h5", ... */
	/* target: a folder (in the service; scan and image name the files) or a file (in recon) */
	int (*open)(void **self, const char *target, struct bs_fail *why);
	int (*put)(void *self, const struct bs_mrd_image *head, const char *attributes,
		   const void *pixels, struct bs_fail *why);
	/*
	 * For a target that is a file: sets the number (from 1) of the image that put and has are
	 * called for next. NULL: all images are in that one file.
	 */
	void (*at)(void *self, uint32_t number);
	/* True if this image's file exists, whole, written at since_ns (since 1970) or later. */
	bool (*has)(void *self, const struct bs_mrd_image *head, int64_t since_ns);
	int (*close)(void *self, struct bs_fail *why);
	/* May be NULL. Before put and has: the session number of the image's scan. */
	void (*scan)(void *self, uint64_t session);
	/* May be NULL. BS_ERR_UNSUPPORTED: this machine lacks a program that the sink needs. */
	int (*usable)(struct bs_fail *why);
	/* After open: put also sends each image there (sinks[].store). NULL: it cannot. */
	int (*send_to)(void *self, const char *address, struct bs_fail *why);
};

extern const struct bs_sink bs_sink_png, bs_sink_cfl, bs_sink_mrd;
extern const struct bs_sink bs_sink_nifti, bs_sink_nifti_gz, bs_sink_nifti_4d, bs_sink_dicom;
/* All sinks, as a list for an initializer. */
#define BS_SINKS                                                                                   \
	&bs_sink_mrd, &bs_sink_cfl, &bs_sink_png, &bs_sink_nifti_4d, &bs_sink_nifti,               \
		&bs_sink_nifti_gz, &bs_sink_dicom

/* Finds a sink by type or by a file name's ending (".png", ".cfl", ".h5", ".nii", ...), or NULL. */
const struct bs_sink *bs_sink_find(const char *type_or_name);

/* Checks the head, then calls put. BS_ERR_UNSUPPORTED, BS_ERR_SIZE: the head is of no image. */
int bs_sink_put(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		const char *attributes, const void *pixels, struct bs_fail *why);

#endif
