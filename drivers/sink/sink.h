/*
 * drivers/sink/sink.h - sinks: folders or files that images are written to
 *
 * open -> put* -> close, in the emit worker or in `boreside recon`. All by the functions below,
 * which check the head and do what is the same for all sinks. put may block and allocate (emit is
 * not on the reconstruction's path); it leaves a whole file behind, or none.
 * attributes: the MRD meta XML, NUL-terminated. pixels [channel][z][y][x], float or complex float
 * (the head's data_type), 4-byte aligned. The reason of an error names the file.
 * put may be called again after a failure.
 *   png  one picture per image (drivers/file/montage.h)
 *   cfl  one .cfl/.hdr pair per image: x, y, z, channel; a magnitude gets the imaginary part 0
 *   mrd  .h5: in a folder one file per image; as a file name all images in that one file, which
 *        has its name only after close; group /dataset/image_SERIES, readable by ISMRMRD's tools
 *   nifti, nifti_gz
 *        .nii or .nii.gz (NIfTI-1): x, y, z, 1, channel; sform and qform from the image's place
 *        (bs_place_of), both of code 0 if its head does not say it; the attributes as
 *        a comment extension
 *   nifti_4d
 *        .4d.nii: the repetitions of an average, contrast, phase, set and slice in one file, volume
 *        by volume (drivers/sink/nifti4d.c)
 *   dicom .dcm, magnitude in 16 bits, by DCMTK's dump2dcm: one slice MR Image Storage, a volume
 *        Enhanced MR Image Storage; one channel, and a head that says where it lies
 *        (drivers/sink/dicomhead.h); sent on by C-STORE (drivers/sink/dicomstore.h)
 * Test: test/unit/drivers/test_sink.c, test_nifti.c, test_nifti4d.c, test_dicom.c, test_place.c
 */
#ifndef BS_DRIVERS_SINK_SINK_H
#define BS_DRIVERS_SINK_SINK_H

#include <stdbool.h>

#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"
#include "drivers/file/draft.h"

struct bs_sink {
	const char *type; /* name of the type: "png", "cfl", "mrd", ... */
	const char *ext;  /* extension of the files: ".png", ".cfl", ".h5", ... */
	/* extension of the file of an image that is written last; NULL: it has one */
	const char *last;
	size_t bytes; /* bytes of its state, whose first member is a struct bs_imagename */
	/* May be NULL: the state, zeros and a name, needs no more. */
	void (*begin)(void *self);
	int (*put)(void *self, const struct bs_mrd_image *head, const char *attributes,
		   const void *pixels, struct bs_fail *why);
	/*
	 * Does what put does, by the image's attributes as pairs (core/text.h), without the XML.
	 * NULL: put writes the XML itself.
	 */
	int (*put_pairs)(void *self, const struct bs_mrd_image *head, const char *attributes,
			 const void *pixels, struct bs_fail *why);
	/*
	 * Sets the number (from 1) of the image that put and has are called for next, where the
	 * target is a file. NULL: all images are in that one file.
	 */
	void (*at)(void *self, uint32_t number);
	/* NULL: it has an image if the image's file is there (bs_imagename_has). */
	bool (*has)(void *self, const struct bs_mrd_image *head, int64_t since_ns);
	/* Ends what put has begun; self is freed behind it, whatever it returns. May be NULL. */
	int (*end)(void *self, struct bs_fail *why);
	/* Gives the session number of the image's scan; called before put and has. May be NULL. */
	void (*scan)(void *self, uint64_t session);
	/*
	 * Returns BS_ERR_UNSUPPORTED if this machine lacks a program that the sink needs. May be
	 * NULL.
	 */
	int (*usable)(struct bs_fail *why);
	/*
	 * Gives an address to which put also sends each image (sinks[].store). Called after open.
	 * NULL: the sink cannot send.
	 */
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

/* target: a folder (in the service; scan and image name the files) or a file (in recon). */
int bs_sink_open(const struct bs_sink *sink, void **self, const char *target, struct bs_fail *why);
int bs_sink_close(const struct bs_sink *sink, void *self, struct bs_fail *why);
/* True if this image's file exists, whole, written at since_ns (since 1970) or later. */
bool bs_sink_has(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		 int64_t since_ns);
/*
 * Checks the head, then calls put or put_pairs. BS_ERR_UNSUPPORTED, BS_ERR_SIZE: the head is of no
 * image.
 */
int bs_sink_put(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		const char *attributes, const void *pixels, struct bs_fail *why);
int bs_sink_put_pairs(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		      const char *attributes, const void *pixels, struct bs_fail *why);

/*
 * ---- names of a sink's image files ----
 *
 * If the target is a folder, names are FOLDER/uidUUUUUUUU-sSSS-iIIIII.ext, from the measurement's
 * uid (hex), the image's series and its index; a name that is taken gets -2, -3, ... before the
 * extension, so that nothing is overwritten. If the target ends in the sink's extension, the first
 * image gets that name, the others NAME-0002.ext, NAME-0003.ext, ...; files of an earlier run are
 * replaced.
 */
#define BS_IMAGENAME_TRIES 100000u

struct bs_imagename {
	char target[BS_DRAFT_PATH]; /* folder, or a file's name without its extension */
	const char *ext;            /* extension, such as ".png" */
	bool folder;
	uint32_t images; /* images that have a name so far */
	enum bs_draft_mode mode;
};

int bs_imagename_open(struct bs_imagename *n, const char *target, const char *ext,
		      struct bs_fail *why);
/* Makes the name of an image for a try (0, 1, ...; only a folder needs more than one). */
int bs_imagename_make(const struct bs_imagename *n, char out[BS_DRAFT_PATH],
		      const struct bs_mrd_image *head, uint32_t try_number, struct bs_fail *why);
/*
 * Finds a name for a finished draft and commits it; drops it on failure, and where rc says that it
 * could not be written. Counts the image.
 */
int bs_imagename_commit(struct bs_imagename *n, struct bs_draft *d, int rc,
			const struct bs_mrd_image *head, struct bs_fail *why);
/*
 * Sets the number, from 1, of the next image if the target is a file. self: a sink whose first
 * member is a struct bs_imagename.
 */
void bs_imagename_at(void *self, uint32_t number);
/* Finds an image's last file in a folder; returns when it was written, ns; -1: there is none. */
int64_t bs_imagename_newest(const struct bs_imagename *n, char path[BS_DRAFT_PATH],
			    const struct bs_mrd_image *head);
/*
 * True if this image has a file that was written at since_ns (since 1970, UTC) or later. In a
 * folder the last of the image's names is looked at; with a file name, the next image's name. last:
 * if an image has two files, the ending of the one that is written last. A pair without that file
 * was left by a process that died, and is removed from a folder.
 */
bool bs_imagename_has(const struct bs_imagename *n, const struct bs_mrd_image *head,
		      const char *last, int64_t since_ns);

/*
 * ---- where an image's voxels lie in the patient, by its MRD head ----
 *
 * Coordinates are the patient's as in MRD and DICOM, mm: x to the left, y to the back, z to the
 * head (LPS). The MRD head's position is the center of voxel matrix/2 along each axis (a matrix of
 * 1: voxel 0), whose phase no gradient changes (core/frame/geometry.h has the sizes). x runs along
 * read_dir, y along phase_dir, z along slice_dir; z of a 2D image is its slice's thickness.
 * Voxel (i, j, k) has its center at first + i step[0] + j step[1] + k step[2].
 */
struct bs_place {
	double spacing[3]; /* mm between two voxels along x, y, z */
	double dir[3][3];  /* directions of x, y, z: length 1, at right angles */
	double step[3][3]; /* spacing times dir */
	double first[3];   /* place of the center of voxel (0, 0, 0) */
};

/*
 * BS_ERR_SIZE: the head does not say the place: a field of view is 0, a value is not finite, or the
 * directions are not of length 1 at right angles (to 1e-3). The reason names the value.
 */
int bs_place_of(struct bs_place *p, const struct bs_mrd_image *head, struct bs_fail *why);

#endif
