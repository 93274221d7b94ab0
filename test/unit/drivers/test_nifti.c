/*
 * test/unit/drivers/test_nifti.c - images as .nii and .nii.gz, read back by the library: pixels,
 * words, and where each corner of the volume lies, by sform and by qform
 */
/* Holds: I3 */
#define _GNU_SOURCE
#include "test/support/check.h"
#include "test/support/folder.h"

#include <nifti1_io.h>
#include <string.h>
#include <unistd.h>

#include "core/frame/recon.h"
#include "drivers/sink/sink.h"

#define NX 8u
#define NY 5u
#define NZ 6u
#define CH 2u
#define N  (NX * NY * NZ * CH)

static const char attributes[] = "<ismrmrdMeta><meta><name>a</name><value>\xc3\xa4</value></meta>"
				 "</ismrmrdMeta>";
static float pixels[2 * N];

/* Oblique twice; hand +1 or -1: slice_dir along read x phase, or against it. */
static struct bs_mrd_image head(bool cx, uint16_t nz, uint16_t channels, float hand)
{
	static const float read[3] = { 0.36f, -0.48f, 0.8f };
	static const float phase[3] = { -0.48f, 0.64f, 0.6f };
	static const float slice[3] = { -0.8f, -0.6f, 0.0f };
	struct bs_mrd_image h;

	memset(&h, 0, sizeof(h));
	h.version = 1;
	h.data_type = cx ? BS_MRD_CXFLOAT : BS_MRD_FLOAT;
	h.measurement_uid = 0xabcd;
	h.matrix_size[0] = NX;
	h.matrix_size[1] = NY;
	h.matrix_size[2] = nz;
	h.field_of_view[0] = 20.0f;
	h.field_of_view[1] = 15.0f;
	h.field_of_view[2] = 4.5f * (float)nz;
	h.channels = channels;
	h.position[0] = 12.5f;
	h.position[1] = -30.0f;
	h.position[2] = 107.25f;
	for (int d = 0; d < 3; d++) {
		h.read_dir[d] = read[d];
		h.phase_dir[d] = phase[d];
		h.slice_dir[d] = hand * slice[d];
	}
	h.image_index = 3;
	h.image_series_index = 1;
	return h;
}

static nifti_image *written(const char *name, const struct bs_mrd_image *h)
{
	const struct bs_sink *s = bs_sink_find(name);
	struct bs_fail why = { 0 };
	void *self;
	int rc = bs_sink_open(s, &self, in_dir(name), &why);

	if (rc == 0) {
		rc = bs_sink_put(s, self, h, attributes, pixels, &why);
		(void)bs_sink_close(s, self, NULL);
	}
	CHECK(rc == 0, "%s: %s", name, why.text);
	return rc == 0 ? nifti_image_read(in_dir(name), 1) : NULL;
}

/* Largest distance in mm of a corner by this matrix from where the head says it is (LPS). */
static double astray(const mat44 *m, const struct bs_mrd_image *h)
{
	double most = 0.0;

	for (unsigned corner = 0; corner < 8; corner++) {
		double off = 0.0;
		double n[3];
		double at[3];

		for (int a = 0; a < 3; a++)
			n[a] = corner >> a & 1 ? h->matrix_size[a] - 1 : 0;
		for (int d = 0; d < 3; d++) {
			double lps = (double)h->position[d];

			lps += (n[0] - 4.0) * 2.5 * (double)h->read_dir[d]; /* 20 mm by 8 */
			lps += (n[1] - 2.0) * 3.0 * (double)h->phase_dir[d];
			lps += (n[2] - h->matrix_size[2] / 2) * 4.5 * (double)h->slice_dir[d];
			at[d] = (double)m->m[d][3];
			for (int a = 0; a < 3; a++)
				at[d] += n[a] * (double)m->m[d][a];
			off = hypot(off, at[d] - (d < 2 ? -lps : lps));
		}
		most = fmax(most, off);
	}
	return most;
}

static void check_place(const char *name, const nifti_image *im, const struct bs_mrd_image *h)
{
	CHECK(im->sform_code == NIFTI_XFORM_SCANNER_ANAT &&
		      im->qform_code == NIFTI_XFORM_SCANNER_ANAT,
	      "%s: both transforms are there", name);
	/* singles over 150 mm; the quaternion of singles besides */
	CHECK(astray(&im->sto_xyz, h) < 1e-4, "%s: sform, %.2e mm off", name,
	      astray(&im->sto_xyz, h));
	CHECK(astray(&im->qto_xyz, h) < 1e-4, "%s: qform, %.2e mm off", name,
	      astray(&im->qto_xyz, h));
	CHECK(fabs((double)im->dx - 2.5) < 1e-6 && fabs((double)im->dy - 3.0) < 1e-6 &&
		      fabs((double)im->dz - 4.5) < 1e-6 && im->xyz_units == NIFTI_UNITS_MM,
	      "%s: %g x %g x %g mm", name, (double)im->dx, (double)im->dy, (double)im->dz);
}

static void check_one(const char *name, const struct bs_mrd_image *h)
{
	const bool cx = h->data_type == BS_MRD_CXFLOAT;
	nifti_image *im = written(name, h);
	const size_t values = (size_t)NX * NY * h->matrix_size[2] * h->channels;

	if (im == NULL) {
		CHECK(0, "%s: the library reads it", name);
		return;
	}
	CHECK(im->nx == (int)NX && im->ny == (int)NY && im->nz == h->matrix_size[2] &&
		      im->nt == 1 && im->nu == h->channels && im->nvox == values,
	      "%s: its sizes: %d %d %d %d %d, %zu", name, im->nx, im->ny, im->nz, im->nt, im->nu,
	      im->nvox);
	CHECK(im->datatype == (cx ? DT_COMPLEX64 : DT_FLOAT32) && im->data != NULL &&
		      memcmp(im->data, pixels, values * (cx ? 8 : 4)) == 0,
	      "%s: its pixels, bit for bit", name);
	CHECK(im->num_ext == 1 && im->ext_list[0].ecode == NIFTI_ECODE_COMMENT &&
		      strcmp(im->ext_list[0].edata, attributes) == 0,
	      "%s: its attributes", name);
	check_place(name, im, h);
	nifti_image_free(im);
}

static void unplaced(void)
{
	struct bs_mrd_image h = head(false, 1, 1, 1.0f);
	nifti_image *im;

	h.field_of_view[1] = 0.0f;
	im = written("e.nii", &h);
	CHECK(im != NULL && im->sform_code == 0 && im->qform_code == 0 && im->xyz_units == 0,
	      "a head that does not say where: no transform");
	nifti_image_free(im);
}

/* Of a velocity: unit, and the window from end to end. */
static void velocity(void)
{
	struct bs_mrd_image h = head(false, 1, 1, 1.0f);
	nifti_image *im;

	h.image_type = BS_MRD_PHASE;
	h.image_series_index |= BS_VELOCITY_SERIES;
	im = written("v.nii", &h);
	CHECK(im != NULL && strcmp(im->intent_name, "cm/s") == 0 &&
		      fabs((double)im->cal_max - acos(-1.0)) < 1e-6 && im->cal_min == -im->cal_max,
	      "a velocity says its unit");
	nifti_image_free(im);
	h.image_series_index = 1;
	im = written("w.nii", &h);
	CHECK(im != NULL && strcmp(im->intent_name, "rad") == 0, "a phase, too");
	nifti_image_free(im);
}

static void refused(void)
{
	struct bs_mrd_image h = head(false, 1, 1, 1.0f);
	struct bs_fail why = { 0 };
	void *self = NULL;

	h.matrix_size[0] = 40000;
	h.matrix_size[1] = h.matrix_size[2] = 1;
	CHECK(bs_sink_open(&bs_sink_nifti, &self, in_dir("f.nii"), &why) == 0 &&
		      bs_sink_put(&bs_sink_nifti, self, &h, "", pixels, &why) == BS_ERR_SIZE,
	      "too long an axis: %s", why.text);
	(void)bs_sink_close(&bs_sink_nifti, self, NULL);
	CHECK(access(in_dir("f.nii"), F_OK) != 0, "and no file");
}

int main(void)
{
	uint64_t seed = 5;
	struct bs_mrd_image h;

	for (size_t i = 0; i < 2 * N; i++)
		pixels[i] = (float)(check_uniform(&seed) - 0.5);
	h = head(false, 1, 1, 1.0f);
	check_one("a.nii", &h);
	check_one("a.nii.gz", &h);
	h = head(true, NZ, CH, 1.0f);
	check_one("b.nii", &h);
	check_one("b.nii.gz", &h);
	h = head(false, NZ, 1, -1.0f);
	check_one("c.nii", &h);
	unplaced();
	velocity();
	refused();
	return check_done();
}
