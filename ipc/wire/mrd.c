/*
 * ipc/wire/mrd.c - see mrd.h
 *
 * One table of fields per header serves both directions, so an encoder and its decoder cannot
 * differ. Trajectory and samples are floats used where they lie, hence:
 */
#include "ipc/wire/mrd.h"

#include <string.h>

#include "ipc/wire/bytes.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "samples are little-endian floats");
_Static_assert(sizeof(float) == 4, "MRD's floats are IEEE single precision");

#define MRD_VERSION 1u

struct field {
	uint16_t at;    /* byte in the message */
	uint16_t mem;   /* byte in the struct */
	uint16_t width; /* bytes of one element, the same in both */
	uint16_t count;
};

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define FIELD(type, name, at, count)                                                               \
	{                                                                                          \
		at, offsetof(struct type, name), sizeof(((struct type *)0)->name) / (count), count \
	}
#define ACQ(name, at, count)   FIELD(bs_mrd_acq, name, at, count)
#define IMAGE(name, at, count) FIELD(bs_mrd_image, name, at, count)

static const struct field acq_fields[] = {
	ACQ(version, 0, 1),
	ACQ(flags, 2, 1),
	ACQ(measurement_uid, 10, 1),
	ACQ(scan_counter, 14, 1),
	ACQ(acquisition_time_stamp, 18, 1),
	ACQ(physiology_time_stamp, 22, 3),
	ACQ(number_of_samples, 34, 1),
	ACQ(available_channels, 36, 1),
	ACQ(active_channels, 38, 1),
	ACQ(channel_mask, 40, 16),
	ACQ(discard_pre, 168, 1),
	ACQ(discard_post, 170, 1),
	ACQ(center_sample, 172, 1),
	ACQ(encoding_space_ref, 174, 1),
	ACQ(trajectory_dimensions, 176, 1),
	ACQ(sample_time_us, 178, 1),
	ACQ(position, 182, 3),
	ACQ(read_dir, 194, 3),
	ACQ(phase_dir, 206, 3),
	ACQ(slice_dir, 218, 3),
	ACQ(patient_table_position, 230, 3),
	ACQ(idx, 242, 17), /* 17 counters of 16 bits, in the struct's own order */
	ACQ(user_int, 276, 8),
	ACQ(user_float, 308, 8),
};
_Static_assert(sizeof(struct bs_mrd_idx) == 34, "idx is 17 u16 without gaps");

static const struct field image_fields[] = {
	IMAGE(version, 0, 1),
	IMAGE(data_type, 2, 1),
	IMAGE(flags, 4, 1),
	IMAGE(measurement_uid, 12, 1),
	IMAGE(matrix_size, 16, 3),
	IMAGE(field_of_view, 22, 3),
	IMAGE(channels, 34, 1),
	IMAGE(position, 36, 3),
	IMAGE(read_dir, 48, 3),
	IMAGE(phase_dir, 60, 3),
	IMAGE(slice_dir, 72, 3),
	IMAGE(patient_table_position, 84, 3),
	IMAGE(average, 96, 1),
	IMAGE(slice, 98, 1),
	IMAGE(contrast, 100, 1),
	IMAGE(phase, 102, 1),
	IMAGE(repetition, 104, 1),
	IMAGE(set, 106, 1),
	IMAGE(acquisition_time_stamp, 108, 1),
	IMAGE(physiology_time_stamp, 112, 3),
	IMAGE(image_type, 124, 1),
	IMAGE(image_index, 126, 1),
	IMAGE(image_series_index, 128, 1),
	IMAGE(user_int, 130, 8),
	IMAGE(user_float, 162, 8),
	IMAGE(attribute_string_len, 194, 1),
};

/* One element between its little-endian bytes and the machine's own representation. */
static void put_element(unsigned char *out, const void *mem, unsigned width)
{
	uint16_t v2;
	uint32_t v4;
	uint64_t v8;

	switch (width) {
	case 2:
		memcpy(&v2, mem, 2);
		bs_put_le(out, v2, 2);
		break;
	case 4:
		memcpy(&v4, mem, 4);
		bs_put_le(out, v4, 4);
		break;
	default:
		memcpy(&v8, mem, 8);
		bs_put_le(out, v8, 8);
	}
}

static void get_element(void *mem, const unsigned char *in, unsigned width)
{
	uint64_t v8 = bs_get_le(in, width);
	uint32_t v4 = (uint32_t)v8;
	uint16_t v2 = (uint16_t)v8;

	switch (width) {
	case 2:
		memcpy(mem, &v2, 2);
		break;
	case 4:
		memcpy(mem, &v4, 4);
		break;
	default:
		memcpy(mem, &v8, 8);
	}
}

static void put_fields(unsigned char *out, const void *mem, const struct field *f, size_t n)
{
	for (; n > 0; n--, f++)
		for (unsigned i = 0; i < f->count; i++)
			put_element(out + f->at + (size_t)i * f->width,
				    (const char *)mem + f->mem + (size_t)i * f->width, f->width);
}

static void get_fields(void *mem, const unsigned char *in, const struct field *f, size_t n)
{
	for (; n > 0; n--, f++)
		for (unsigned i = 0; i < f->count; i++)
			get_element((char *)mem + f->mem + (size_t)i * f->width,
				    in + f->at + (size_t)i * f->width, f->width);
}

void bs_mrd_put_acq(unsigned char out[BS_MRD_ACQ_BYTES], const struct bs_mrd_acq *a)
{
	put_fields(out, a, acq_fields, LEN(acq_fields));
}

void bs_mrd_get_acq(struct bs_mrd_acq *a, const unsigned char in[BS_MRD_ACQ_BYTES])
{
	memset(a, 0, sizeof(*a));
	get_fields(a, in, acq_fields, LEN(acq_fields));
}

void bs_mrd_put_image(unsigned char out[BS_MRD_IMAGE_BYTES], const struct bs_mrd_image *h)
{
	put_fields(out, h, image_fields, LEN(image_fields));
}

void bs_mrd_get_image(struct bs_mrd_image *h, const unsigned char in[BS_MRD_IMAGE_BYTES])
{
	memset(h, 0, sizeof(*h));
	get_fields(h, in, image_fields, LEN(image_fields));
}

/* Three u16 and two constants: at most 2^34 + 2^35 and a little. */
uint64_t bs_mrd_acq_bytes(const struct bs_mrd_acq *a)
{
	uint64_t samples = a->number_of_samples;

	return BS_MRD_ACQ_BYTES + samples * a->trajectory_dimensions * 4 +
	       samples * a->active_channels * 8;
}

int bs_mrd_parse_acq(struct bs_mrd_acq *a, size_t *traj_at, size_t *data_at,
		     const unsigned char *buf, size_t len, struct bs_fail *why)
{
	if (len < BS_MRD_ACQ_BYTES)
		return bs_fail(why, BS_ERR_LENGTH, "acquisition of %zu bytes, its header has %u",
			       len, BS_MRD_ACQ_BYTES);
	bs_mrd_get_acq(a, buf);
	if (a->version != MRD_VERSION)
		return bs_fail(why, BS_ERR_VERSION, "acquisition %u: MRD version %u, not %u",
			       a->scan_counter, a->version, MRD_VERSION);
	if (len != bs_mrd_acq_bytes(a))
		return bs_fail(
			why, BS_ERR_LENGTH,
			"acquisition %u: %u samples, %u channels, %u trajectory dimensions make "
			"%llu bytes, %zu came",
			a->scan_counter, a->number_of_samples, a->active_channels,
			a->trajectory_dimensions, (unsigned long long)bs_mrd_acq_bytes(a), len);
	if (a->active_channels > a->available_channels)
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u: %u active of %u available channels",
			       a->scan_counter, a->active_channels, a->available_channels);
	if ((uint32_t)a->discard_pre + a->discard_post > a->number_of_samples)
		return bs_fail(why, BS_ERR_SIZE, "acquisition %u: discards %u + %u of %u samples",
			       a->scan_counter, a->discard_pre, a->discard_post,
			       a->number_of_samples);
	*traj_at = BS_MRD_ACQ_BYTES;
	*data_at = BS_MRD_ACQ_BYTES + (size_t)a->number_of_samples * a->trajectory_dimensions * 4;
	return 0;
}

/* Bytes of one pixel by data_type; 0: no such type. */
static unsigned pixel_bytes(uint16_t data_type)
{
	static const unsigned char bytes[] = { 0, 2, 2, 4, 4, 4, 8, 8, 16 };

	return data_type < sizeof(bytes) ? bytes[data_type] : 0;
}

int bs_mrd_parse_image(struct bs_mrd_image *h, size_t *attr_at, size_t *pixels_at,
		       const unsigned char *buf, size_t len, struct bs_fail *why)
{
	const size_t fixed = BS_MRD_IMAGE_BYTES + 8;
	uint64_t attr;
	uint64_t pixels;
	uint64_t left;

	if (len < fixed)
		return bs_fail(why, BS_ERR_LENGTH, "image of %zu bytes, its header has %zu", len,
			       fixed);
	bs_mrd_get_image(h, buf);
	attr = bs_get_le(buf + BS_MRD_IMAGE_BYTES, 8);
	if (h->version != MRD_VERSION)
		return bs_fail(why, BS_ERR_VERSION, "image %u: MRD version %u, not %u",
			       h->image_index, h->version, MRD_VERSION);
	if (pixel_bytes(h->data_type) == 0)
		return bs_fail(why, BS_ERR_SIZE, "image %u: no data type %u", h->image_index,
			       h->data_type);
	if (attr != h->attribute_string_len || attr > len - fixed)
		return bs_fail(why, BS_ERR_LENGTH,
			       "image %u: attributes of %llu bytes, header says %u, %zu came",
			       h->image_index, (unsigned long long)attr, h->attribute_string_len,
			       len - fixed);
	left = len - fixed - attr;
	/* The product of four u16 fits 64 bits; times the pixel's bytes it need not. */
	pixels = (uint64_t)h->matrix_size[0] * h->matrix_size[1] * h->matrix_size[2] * h->channels;
	if (left % pixel_bytes(h->data_type) != 0 || pixels != left / pixel_bytes(h->data_type))
		return bs_fail(
			why, BS_ERR_LENGTH,
			"image %u: %u x %u x %u pixels of %u bytes, %u channels; %llu bytes came",
			h->image_index, h->matrix_size[0], h->matrix_size[1], h->matrix_size[2],
			pixel_bytes(h->data_type), h->channels, (unsigned long long)left);
	*attr_at = fixed;
	*pixels_at = fixed + attr;
	return 0;
}
