/* ipc/wire/mrd.c - see mrd.h */
#include "ipc/wire/mrd.h"

#include "ipc/wire/bytes.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers on the wire are little-endian");
_Static_assert(sizeof(float) == 4, "MRD's floats are IEEE single precision");
_Static_assert(sizeof(struct bs_mrd_acq) == BS_MRD_ACQ_BYTES, "no gaps");
_Static_assert(sizeof(struct bs_mrd_image) == BS_MRD_IMAGE_BYTES, "no gaps");

void bs_mrd_put_acq(unsigned char out[BS_MRD_ACQ_BYTES], const struct bs_mrd_acq *a)
{
	memcpy(out, a, sizeof(*a));
}

void bs_mrd_put_image(unsigned char out[BS_MRD_IMAGE_BYTES], const struct bs_mrd_image *h)
{
	memcpy(out, h, sizeof(*h));
}

void bs_mrd_get_image(struct bs_mrd_image *h, const unsigned char in[BS_MRD_IMAGE_BYTES])
{
	memcpy(h, in, sizeof(*h));
}

unsigned bs_mrd_pixel_bytes(uint16_t data_type)
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
	if (h->version != BS_MRD_VERSION)
		return bs_fail(why, BS_ERR_VERSION, "image %u: MRD version %u, not %u",
			       h->image_index, h->version, BS_MRD_VERSION);
	if (bs_mrd_pixel_bytes(h->data_type) == 0)
		return bs_fail(why, BS_ERR_SIZE, "image %u: no data type %u", h->image_index,
			       h->data_type);
	if (attr != h->attribute_string_len || attr > len - fixed)
		return bs_fail(why, BS_ERR_LENGTH,
			       "image %u: attributes of %llu bytes, header says %u, %zu came",
			       h->image_index, (unsigned long long)attr, h->attribute_string_len,
			       len - fixed);
	left = len - fixed - attr;
	/* The product of four u16 fits 64 bits; multiplied by the pixel's bytes it may not. */
	pixels = (uint64_t)h->matrix_size[0] * h->matrix_size[1] * h->matrix_size[2] * h->channels;
	if (left % bs_mrd_pixel_bytes(h->data_type) != 0 ||
	    pixels != left / bs_mrd_pixel_bytes(h->data_type))
		return bs_fail(
			why, BS_ERR_LENGTH,
			"image %u: %u x %u x %u pixels of %u bytes, %u channels; %llu bytes came",
			h->image_index, h->matrix_size[0], h->matrix_size[1], h->matrix_size[2],
			bs_mrd_pixel_bytes(h->data_type), h->channels, (unsigned long long)left);
	*attr_at = fixed;
	*pixels_at = fixed + attr;
	return 0;
}
