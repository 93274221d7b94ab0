/*
 * drivers/sink/nifti.c - images as NIfTI-1, .nii and .nii.gz, through libniftiio; see sink.h
 *
 * The library makes the header (quaternion, units, offsets) and compresses. Its own writing of
 * files neither reports a full disk nor drops an unfinished file, so this file writes the bytes.
 * NIfTI's patient coordinates are to the right, front and head (RAS), MRD's to the left, back and
 * head: the first two change their sign.
 */
#include "drivers/sink/nifti.h"

#include <errno.h>
#include <nifti1_io.h>
#include <stdio.h>
#include <string.h>

#include "core/frame/recon.h"
#include "drivers/sink/sink.h"
#include "ipc/wire/meta.h"

#define EXT_HEAD   8u   /* an extension's size and code */
#define EXT_UNIT   16u  /* bytes; an extension's size is a multiple of this */
#define EXT_AT     352u /* offset of the extension, behind the header and its four-byte flag */
#define ECODE_TEXT 6    /* NIFTI_ECODE_COMMENT */

/* Sets both transforms and the unit mm; none if the head does not say the place. */
static void set_place(nifti_image *im, const struct bs_mrd_image *head)
{
	struct bs_place p;

	im->dx = im->dy = im->dz = 1.0f;
	if (bs_place_of(&p, head, NULL) != 0)
		return;
	for (int d = 0; d < 3; d++) {
		const double sign = d < 2 ? -1.0 : 1.0;

		for (int a = 0; a < 3; a++)
			im->sto_xyz.m[d][a] = (float)(sign * p.step[a][d]);
		im->sto_xyz.m[d][3] = (float)(sign * p.first[d]);
	}
	im->sto_xyz.m[3][3] = 1.0f;
	im->qto_xyz = im->sto_xyz;
	nifti_mat44_to_quatern(im->qto_xyz, &im->quatern_b, &im->quatern_c, &im->quatern_d,
			       &im->qoffset_x, &im->qoffset_y, &im->qoffset_z, NULL, NULL, NULL,
			       &im->qfac);
	im->dx = (float)p.spacing[0];
	im->dy = (float)p.spacing[1];
	im->dz = (float)p.spacing[2];
	im->qform_code = im->sform_code = NIFTI_XFORM_SCANNER_ANAT;
	im->xyz_units = NIFTI_UNITS_MM;
}

/* Sets the unit and the display window of phases and velocities: their whole range. */
static void set_values(nifti_image *im, const struct bs_mrd_image *head, const char *attributes)
{
	const double reach = bs_meta_reach(head, attributes, strlen(attributes));

	im->cal_min = (float)-reach;
	im->cal_max = (float)reach;
	if (reach > 0.0)
		(void)snprintf(im->intent_name, sizeof(im->intent_name), "%s",
			       head->image_series_index & BS_VELOCITY_SERIES ? "cm/s" : "rad");
}

/* The bytes of the extension: its text is padded with zeros to EXT_UNIT. */
static size_t extension_of(const char *attributes)
{
	return (EXT_HEAD + strlen(attributes) + EXT_UNIT - 1) / EXT_UNIT * EXT_UNIT;
}

int bs_nifti_header(struct nifti_1_header *h, const struct bs_mrd_image *head,
		    const char *attributes, struct bs_fail *why)
{
	const int dims[8] = { head->channels > 1         ? 5
			      : head->matrix_size[2] > 1 ? 3
							 : 2,
			      head->matrix_size[0],
			      head->matrix_size[1],
			      head->matrix_size[2],
			      1,
			      head->channels,
			      1,
			      1 };
	nifti_image *im;

	for (int a = 1; a <= 5; a++)
		if (dims[a] > (int)BS_NIFTI_AXIS_MAX)
			return bs_fail(why, BS_ERR_SIZE,
				       "image %u: %d along one axis, NIfTI-1 has at most %u",
				       head->image_index, dims[a], BS_NIFTI_AXIS_MAX);
	im = nifti_make_new_nim(dims, head->data_type == BS_MRD_CXFLOAT ? DT_COMPLEX64 : DT_FLOAT32,
				0);
	if (im == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "image %u: no memory for a header",
			       head->image_index);
	im->nifti_type = NIFTI_FTYPE_NIFTI1_1;
	im->iname_offset = (int)(EXT_AT + extension_of(attributes));
	set_place(im, head);
	set_values(im, head, attributes);
	(void)snprintf(im->descrip, sizeof(im->descrip), "boreside scan %08x series %u image %u",
		       head->measurement_uid, head->image_series_index, head->image_index);
	*h = nifti_convert_nim2nhdr(im);
	nifti_image_free(im);
	for (int a = h->dim[0] + 1; a < 8; a++)
		h->dim[a] = 1; /* unused dimensions: most readers expect 1 */
	return 0;
}

static bool write_all(znzFile f, const void *bytes, size_t len)
{
	return len == 0 || znzwrite(bytes, 1, len, f) == len;
}

int bs_nifti_write(const char *path, const struct nifti_1_header *h,
		   const struct bs_mrd_image *head, const char *attributes, const void *pixels,
		   bool packed, struct bs_fail *why)
{
	static const char zeros[EXT_UNIT];
	const size_t text = strlen(attributes);
	const size_t extension = extension_of(attributes);
	const int ext_head[2] = { (int)extension, ECODE_TEXT };
	const char extended[4] = { 1, 0, 0, 0 };
	znzFile f;
	bool good;
	int cause;

	f = znzopen(path, packed ? "wb1" : "wb", packed);
	if (znz_isnull(f))
		return bs_fail(why, BS_ERR_IO, "%s: cannot be opened to write", path);
	errno = 0;
	good = write_all(f, h, sizeof(*h)) && write_all(f, extended, sizeof(extended)) &&
	       write_all(f, ext_head, sizeof(ext_head)) && write_all(f, attributes, text) &&
	       write_all(f, zeros, extension - EXT_HEAD - text) &&
	       write_all(f, pixels, bs_nifti_pixel_bytes(head));
	cause = errno; /* errno of the first call that failed */
	good = znzclose(f) == 0 && good;
	return good ? 0
		    : bs_fail(why, BS_ERR_IO, "%s: cannot be written: %s", path,
			      strerror(cause != 0 ? cause : errno));
}
_Static_assert(sizeof(struct nifti_1_header) + 4 == EXT_AT, "the format's own");

static int nifti_put(void *self, const struct bs_mrd_image *head, const char *attributes,
		     const void *pixels, struct bs_fail *why)
{
	struct bs_imagename *n = self;
	struct bs_draft d;
	char path[BS_DRAFT_PATH];
	struct nifti_1_header h;
	int rc = bs_nifti_header(&h, head, attributes, why);

	if (rc == 0)
		rc = bs_imagename_make(n, path, head, 0, why);
	if (rc == 0)
		rc = bs_draft_open(&d, path, why);
	if (rc != 0)
		return rc;
	rc = bs_nifti_write(d.temp, &h, head, attributes, pixels, strcmp(n->ext, ".nii.gz") == 0,
			    why);
	return bs_imagename_commit(n, &d, rc, head, why);
}

const struct bs_sink bs_sink_nifti = { .type = "nifti",
				       .ext = ".nii",
				       .bytes = sizeof(struct bs_imagename),
				       .put = nifti_put,
				       .at = bs_imagename_at };
const struct bs_sink bs_sink_nifti_gz = { .type = "nifti_gz",
					  .ext = ".nii.gz",
					  .bytes = sizeof(struct bs_imagename),
					  .put = nifti_put,
					  .at = bs_imagename_at };
