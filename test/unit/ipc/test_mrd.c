/*
 * test/unit/ipc/test_mrd.c - MRD headers against libismrmrd's own structs, and every wrong size
 *
 * The library's structs are packed as the standard lays them out: their memory is the reference.
 */
/* Holds: W31, W32 */
#include "ipc/wire/mrd.h"
#include "ipc/wire/bytes.h"
#include "test/support/check.h"

#include <ismrmrd/ismrmrd.h>
#include <string.h>

_Static_assert(sizeof(ISMRMRD_AcquisitionHeader) == BS_MRD_ACQ_BYTES, "the library's header");
_Static_assert(sizeof(ISMRMRD_ImageHeader) == BS_MRD_IMAGE_BYTES, "the library's header");

static void fill(unsigned char *p, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(256 * check_uniform(seed));
}

#define SAME(a, b) (memcmp(&(a), &(b), sizeof(b)) == 0)

/* Field by field, as bits: random floats may be NaN. */
static int acq_equal(const struct bs_mrd_acq *m, const ISMRMRD_AcquisitionHeader *l)
{
	return SAME(m->version, l->version) && SAME(m->flags, l->flags) &&
	       SAME(m->measurement_uid, l->measurement_uid) &&
	       SAME(m->scan_counter, l->scan_counter) &&
	       SAME(m->acquisition_time_stamp, l->acquisition_time_stamp) &&
	       SAME(m->physiology_time_stamp, l->physiology_time_stamp) &&
	       SAME(m->number_of_samples, l->number_of_samples) &&
	       SAME(m->available_channels, l->available_channels) &&
	       SAME(m->active_channels, l->active_channels) &&
	       SAME(m->channel_mask, l->channel_mask) && SAME(m->discard_pre, l->discard_pre) &&
	       SAME(m->discard_post, l->discard_post) && SAME(m->center_sample, l->center_sample) &&
	       SAME(m->encoding_space_ref, l->encoding_space_ref) &&
	       SAME(m->trajectory_dimensions, l->trajectory_dimensions) &&
	       SAME(m->sample_time_us, l->sample_time_us) && SAME(m->position, l->position) &&
	       SAME(m->read_dir, l->read_dir) && SAME(m->phase_dir, l->phase_dir) &&
	       SAME(m->slice_dir, l->slice_dir) &&
	       SAME(m->patient_table_position, l->patient_table_position) &&
	       SAME(m->idx.kspace_encode_step_1, l->idx.kspace_encode_step_1) &&
	       SAME(m->idx.kspace_encode_step_2, l->idx.kspace_encode_step_2) &&
	       SAME(m->idx.average, l->idx.average) && SAME(m->idx.slice, l->idx.slice) &&
	       SAME(m->idx.contrast, l->idx.contrast) && SAME(m->idx.phase, l->idx.phase) &&
	       SAME(m->idx.repetition, l->idx.repetition) && SAME(m->idx.set, l->idx.set) &&
	       SAME(m->idx.segment, l->idx.segment) && SAME(m->idx.user, l->idx.user) &&
	       SAME(m->user_int, l->user_int) && SAME(m->user_float, l->user_float);
}

static int image_equal(const struct bs_mrd_image *m, const ISMRMRD_ImageHeader *l)
{
	return SAME(m->version, l->version) && SAME(m->data_type, l->data_type) &&
	       SAME(m->flags, l->flags) && SAME(m->measurement_uid, l->measurement_uid) &&
	       SAME(m->matrix_size, l->matrix_size) && SAME(m->field_of_view, l->field_of_view) &&
	       SAME(m->channels, l->channels) && SAME(m->position, l->position) &&
	       SAME(m->read_dir, l->read_dir) && SAME(m->phase_dir, l->phase_dir) &&
	       SAME(m->slice_dir, l->slice_dir) &&
	       SAME(m->patient_table_position, l->patient_table_position) &&
	       SAME(m->average, l->average) && SAME(m->slice, l->slice) &&
	       SAME(m->contrast, l->contrast) && SAME(m->phase, l->phase) &&
	       SAME(m->repetition, l->repetition) && SAME(m->set, l->set) &&
	       SAME(m->acquisition_time_stamp, l->acquisition_time_stamp) &&
	       SAME(m->physiology_time_stamp, l->physiology_time_stamp) &&
	       SAME(m->image_type, l->image_type) && SAME(m->image_index, l->image_index) &&
	       SAME(m->image_series_index, l->image_series_index) &&
	       SAME(m->user_int, l->user_int) && SAME(m->user_float, l->user_float) &&
	       SAME(m->attribute_string_len, l->attribute_string_len);
}

static void against_library(void)
{
	uint64_t seed = 11;
	int bad[4] = { 0 };

	for (int n = 0; n < 2000; n++) {
		ISMRMRD_AcquisitionHeader la;
		ISMRMRD_ImageHeader li;
		unsigned char bytes[BS_MRD_ACQ_BYTES];
		struct bs_mrd_acq a;
		struct bs_mrd_image i;

		fill((unsigned char *)&la, sizeof(la), &seed);
		memcpy(bytes, &la, sizeof(la));
		bs_mrd_get_acq(&a, bytes);
		bad[0] += !acq_equal(&a, &la);
		memset(bytes, 0xaa, sizeof(bytes));
		bs_mrd_put_acq(bytes, &a);
		bad[1] += memcmp(bytes, &la, sizeof(la)) != 0;

		fill((unsigned char *)&li, sizeof(li), &seed);
		memcpy(bytes, &li, sizeof(li));
		bs_mrd_get_image(&i, bytes);
		bad[2] += !image_equal(&i, &li);
		memset(bytes, 0xaa, sizeof(bytes));
		bs_mrd_put_image(bytes, &i);
		bad[3] += memcmp(bytes, &li, sizeof(li)) != 0;
	}
	CHECK(bad[0] == 0, "2000 random acquisition headers: fields as libismrmrd's (%d differ)",
	      bad[0]);
	CHECK(bad[1] == 0, "and their bytes (%d differ)", bad[1]);
	CHECK(bad[2] == 0, "2000 random image headers: fields as libismrmrd's (%d differ)", bad[2]);
	CHECK(bad[3] == 0, "and their bytes (%d differ)", bad[3]);
	CHECK(BS_MRD_LAST_IN_MEASUREMENT == UINT64_C(1) << (ISMRMRD_ACQ_LAST_IN_MEASUREMENT - 1) &&
		      BS_MRD_IS_NOISE == UINT64_C(1) << (ISMRMRD_ACQ_IS_NOISE_MEASUREMENT - 1) &&
		      BS_MRD_LAST_IN_SLICE == UINT64_C(1) << (ISMRMRD_ACQ_LAST_IN_SLICE - 1) &&
		      BS_MRD_LAST_IN_REPETITION ==
			      UINT64_C(1) << (ISMRMRD_ACQ_LAST_IN_REPETITION - 1) &&
		      BS_MRD_LAST_IN_ENCODE_STEP1 ==
			      UINT64_C(1) << (ISMRMRD_ACQ_LAST_IN_ENCODE_STEP1 - 1),
	      "flags as libismrmrd numbers them");
	CHECK((int)BS_MRD_FLOAT == (int)ISMRMRD_FLOAT &&
		      (int)BS_MRD_CXFLOAT == (int)ISMRMRD_CXFLOAT &&
		      (int)BS_MRD_MAGNITUDE == (int)ISMRMRD_IMTYPE_MAGNITUDE &&
		      (int)BS_MRD_COMPLEX == (int)ISMRMRD_IMTYPE_COMPLEX,
	      "types as libismrmrd's");
}

static struct bs_mrd_acq sane(void)
{
	struct bs_mrd_acq a = { .version = 1,
				.scan_counter = 9,
				.number_of_samples = 6,
				.available_channels = 4,
				.active_channels = 3,
				.trajectory_dimensions = 2,
				.discard_pre = 2,
				.discard_post = 4 };

	return a;
}

/* Parses a header with a body of `body` bytes. */
static int parse(const struct bs_mrd_acq *a, size_t body, struct bs_fail *why)
{
	unsigned char *buf = calloc(1, BS_MRD_ACQ_BYTES + body);
	struct bs_mrd_acq out;
	size_t traj_at = 0;
	size_t data_at = 0;
	int rc;

	bs_mrd_put_acq(buf, a);
	rc = bs_mrd_parse_acq(&out, &traj_at, &data_at, buf, BS_MRD_ACQ_BYTES + body, why);
	if (rc == 0 && (traj_at != 340 ||
			data_at != 340 + 4u * a->number_of_samples * a->trajectory_dimensions))
		rc = 1;
	free(buf);
	return rc;
}

static void acquisitions(void)
{
	const size_t body = 6 * 2 * 4 + 6 * 3 * 8;
	struct bs_mrd_acq a = sane();
	struct bs_fail why;
	unsigned char shorter[BS_MRD_ACQ_BYTES] = { 1 };
	size_t at;
	int bad = 0;

	CHECK(parse(&a, body, &why) == 0, "a whole acquisition");
	for (size_t n = 0; n < body + 64; n++)
		bad += n != body && parse(&a, n, &why) != BS_ERR_LENGTH;
	CHECK(bad == 0, "any other length is refused (%d were not): %s", bad, why.text);
	for (size_t n = 0; n < BS_MRD_ACQ_BYTES; n++)
		bad += bs_mrd_parse_acq(&a, &at, &at, shorter, n, &why) != BS_ERR_LENGTH;
	CHECK(bad == 0, "a cut header is refused: %s", why.text);
	a = sane();
	a.version = 2;
	CHECK(parse(&a, body, &why) == BS_ERR_VERSION, "%s", why.text);
	a = sane();
	a.available_channels = 2;
	CHECK(parse(&a, body, &why) == BS_ERR_SIZE, "%s", why.text);
	a = sane();
	a.discard_post = 5;
	CHECK(parse(&a, body, &why) == BS_ERR_SIZE, "%s", why.text);
	a = sane();
	a.discard_pre = a.discard_post = 0x8000; /* their sum is 0 in 16 bits */
	CHECK(parse(&a, body, &why) == BS_ERR_SIZE, "%s", why.text);
	a = sane();
	a.number_of_samples = 0;
	a.discard_pre = a.discard_post = 0;
	CHECK(parse(&a, 0, &why) == 0, "no samples are legal here");
	a.number_of_samples = a.active_channels = a.available_channels = a.trajectory_dimensions =
		0xffff;
	CHECK(bs_mrd_acq_bytes(&a) == 340 + UINT64_C(0xffff) * 0xffff * 12,
	      "the largest sizes do not overflow: %llu bytes",
	      (unsigned long long)bs_mrd_acq_bytes(&a));
	CHECK(parse(&a, body, &why) == BS_ERR_LENGTH, "%s", why.text);
	/* 65536 x 65536 x 4 = 2^34: a product in 32 bits would be small */
	a.trajectory_dimensions = 0;
	a.active_channels = 0x8000;
	a.number_of_samples = 0x4000; /* x 8 bytes = 2^32 */
	CHECK(parse(&a, 0, &why) == BS_ERR_LENGTH, "a size of 2^32 is not 0: %s", why.text);
}

static int parse_image(const struct bs_mrd_image *h, uint64_t attr, size_t body,
		       struct bs_fail *why)
{
	unsigned char *buf = calloc(1, BS_MRD_IMAGE_BYTES + 8 + body);
	struct bs_mrd_image out;
	size_t attr_at;
	size_t pixels_at;
	int rc;

	bs_mrd_put_image(buf, h);
	bs_put_le(buf + BS_MRD_IMAGE_BYTES, attr, 8);
	rc = bs_mrd_parse_image(&out, &attr_at, &pixels_at, buf, BS_MRD_IMAGE_BYTES + 8 + body,
				why);
	if (rc == 0 && (attr_at != 206 || pixels_at != 206 + attr))
		rc = 1;
	free(buf);
	return rc;
}

static void images(void)
{
	static const unsigned bytes[] = { 0, 2, 2, 4, 4, 4, 8, 8, 16 };
	struct bs_mrd_image h = { .version = 1,
				  .matrix_size = { 3, 2, 5 },
				  .channels = 2,
				  .image_index = 4,
				  .attribute_string_len = 10 };
	struct bs_fail why;
	unsigned char shorter[BS_MRD_IMAGE_BYTES + 8] = { 1 };
	size_t at;
	int bad = 0;

	for (uint16_t type = 1; type <= 8; type++) {
		size_t body = 10 + 60u * bytes[type];

		h.data_type = type;
		bad += parse_image(&h, 10, body, &why) != 0;
		for (size_t n = 0; n < body + 32; n++)
			bad += n != body && parse_image(&h, 10, n, &why) != BS_ERR_LENGTH;
	}
	CHECK(bad == 0, "eight types of pixels, every other length refused (%d wrong): %s", bad,
	      why.text);
	h.data_type = 0;
	CHECK(parse_image(&h, 10, 70, &why) == BS_ERR_SIZE, "%s", why.text);
	h.data_type = 9;
	CHECK(parse_image(&h, 10, 70, &why) == BS_ERR_SIZE, "%s", why.text);
	h.data_type = BS_MRD_FLOAT;
	CHECK(parse_image(&h, 11, 10 + 240, &why) == BS_ERR_LENGTH, "%s", why.text);
	CHECK(parse_image(&h, UINT64_MAX, 10 + 240, &why) == BS_ERR_LENGTH, "%s", why.text);
	CHECK(parse_image(&h, 10 + (UINT64_C(1) << 32), 10 + 240, &why) == BS_ERR_LENGTH,
	      "2^32 more than the header says: %s", why.text);
	h.version = 0;
	CHECK(parse_image(&h, 10, 10 + 240, &why) == BS_ERR_VERSION, "%s", why.text);
	h.version = 1;
	h.attribute_string_len = 0;
	h.data_type = 8;
	h.matrix_size[0] = h.matrix_size[1] = h.matrix_size[2] = h.channels = 0x8000;
	/* 2^60 pixels of 16 bytes: the bytes would be 0 in 64 bits */
	CHECK(parse_image(&h, 0, 0, &why) == BS_ERR_LENGTH, "2^64 bytes are not none: %s",
	      why.text);
	bad = 0;
	for (size_t n = 0; n < sizeof(shorter); n++)
		bad += bs_mrd_parse_image(&h, &at, &at, shorter, n, &why) != BS_ERR_LENGTH;
	CHECK(bad == 0, "a cut image header is refused: %s", why.text);
}

int main(void)
{
	against_library();
	acquisitions();
	images();
	return check_done();
}
