/* drivers/bridge/picture.c - see picture.h */
#include "drivers/bridge/picture.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "drivers/bridge/message.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/mrd.h"

#define INT16      2u     /* MRD's data type */
#define TWELVE     4095.0 /* what consoles expect a magnitude to fill */
#define BINS       4096u
#define WHITE      0.997
#define ATTRIBUTES 2048u /* bytes of those that are added */
#define END        "</ismrmrdMeta>"

/* Magnitudes, [channel][z][y][x]. */
struct pixels {
	const unsigned char *at;
	size_t count;
	bool is_complex;
};

static double value(const struct pixels *p, size_t i)
{
	float v[2] = { 0.0f, 0.0f };
	double m;

	memcpy(v, p->at + i * (p->is_complex ? 8 : 4), p->is_complex ? 8 : 4);
	m = p->is_complex ? hypot((double)v[0], (double)v[1]) : fabs((double)v[0]);
	return isfinite(m) ? m : 0.0;
}

static double largest(const struct pixels *p)
{
	double most = 0.0;

	for (size_t i = 0; i < p->count; i++) {
		const double v = value(p, i);

		most = v > most ? v : most;
	}
	return most;
}

/* The magnitude that is white, to 1/BINS of the largest. */
static double white(const struct pixels *p, double most)
{
	size_t bin[BINS] = { 0 };
	size_t below = 0;
	unsigned i = 0;

	if (most <= 0.0)
		return 1.0;
	for (size_t k = 0; k < p->count; k++) {
		const unsigned b = (unsigned)(value(p, k) / most * BINS);

		bin[b < BINS ? b : BINS - 1]++;
	}
	for (i = 0; i < BINS - 1; i++) {
		below += bin[i];
		if ((double)below >= WHITE * (double)p->count)
			break;
	}
	return most * (i + 1) / BINS;
}

static void put(struct bs_text *t, const char *name, const char *a)
{
	bs_text_put(t, "<meta><name>%s</name><value>%s</value></meta>", name, a);
}

static void put_direction(struct bs_text *t, const char *name, const float d[3])
{
	bs_text_put(t,
		    "<meta><name>%s</name><value>%.18f</value><value>%.18f</value>"
		    "<value>%.18f</value></meta>",
		    name, (double)d[0], (double)d[1], (double)d[2]);
}

/* window: of the pixels as they are sent; scale 0: they are as they were made. */
static size_t write_attributes(char out[ATTRIBUTES], const struct bs_mrd_image *head, double window,
			       double scale)
{
	struct bs_text t = { out, ATTRIBUTES, 0, false };
	float row[3];
	float column[3];

	memcpy(row, head->read_dir, sizeof(row));
	memcpy(column, head->phase_dir, sizeof(column));
	put(&t, "DataRole", "Image");
	bs_text_put(&t, "<meta><name>ImageProcessingHistory</name><value>FIRE</value>"
			"<value>BORESIDE</value></meta>");
	bs_text_put(&t, "<meta><name>WindowCenter</name><value>%.9g</value></meta>", window / 2.0);
	bs_text_put(&t, "<meta><name>WindowWidth</name><value>%.9g</value></meta>", window);
	put(&t, "SequenceDescriptionAdditional", "BORESIDE");
	put(&t, "Keep_image_geometry", "1");
	put_direction(&t, "ImageRowDir", row);
	put_direction(&t, "ImageColumnDir", column);
	if (scale > 0.0)
		bs_text_put(&t, "<meta><name>boreside_scale</name><value>%.9g</value></meta>",
			    scale);
	bs_text_put(&t, END);
	return t.len;
}

/* The image's own attributes without their end; *len: what is left of them. */
static const char *own_attributes(const struct bs_asked *image, size_t *len)
{
	const size_t n = strlen(END);

	if (image->attributes_len < n ||
	    memcmp(image->attributes + image->attributes_len - n, END, n) != 0) {
		*len = strlen("<ismrmrdMeta>");
		return "<ismrmrdMeta>";
	}
	*len = image->attributes_len - n;
	return image->attributes;
}

static void put_int16(unsigned char *to, const struct pixels *p, double scale)
{
	for (size_t i = 0; i < p->count; i++) {
		const double v = value(p, i) * scale;

		bs_put_le(to + 2 * i, (uint64_t)(v < 32767.0 ? lrint(v) : 32767), 2);
	}
}

int bs_picture_add(struct bs_buffer *out, size_t most, enum bs_pixels as, double *scale,
		   const struct bs_asked *image, struct bs_fail *why)
{
	struct bs_mrd_image head = image->head;
	const bool is_complex = head.data_type == BS_MRD_CXFLOAT;
	const bool known = is_complex || head.data_type == BS_MRD_FLOAT;
	const struct pixels p = { image->pixels, image->pixels_len / (is_complex ? 8 : 4),
				  is_complex };
	const bool scaled = as == BS_PIXELS_INT16 && known;
	const size_t bytes = scaled ? 2 * p.count : image->pixels_len;
	const double top = known ? largest(&p) : 0.0;
	double window = known ? white(&p, top) : 1.0;
	char added[ATTRIBUTES];
	size_t own_len;
	const char *own = own_attributes(image, &own_len);
	size_t n;
	unsigned char *to;

	if (scaled) {
		if (top > 0.0 && (*scale <= 0.0 || top * *scale > 32767.0))
			*scale = TWELVE / top;
		window *= *scale > 0.0 ? *scale : 1.0;
		head.data_type = INT16;
		head.image_type = BS_MRD_MAGNITUDE;
	}
	n = write_attributes(added, &head, window, scaled ? *scale : 0.0);
	head.attribute_string_len = (uint32_t)(own_len + n);
	to = bs_buffer_room(out, 2 + BS_MRD_IMAGE_BYTES + 8 + own_len + n + bytes, most);
	if (to == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no room for an image of %zu bytes", bytes);
	to += bs_bridge_put_image(to);
	bs_mrd_put_image(to, &head);
	to += BS_MRD_IMAGE_BYTES;
	bs_put_le(to, own_len + n, 8);
	memcpy(to + 8, own, own_len);
	memcpy(to + 8 + own_len, added, n);
	to += 8 + own_len + n;
	if (scaled)
		put_int16(to, &p, *scale);
	else if (bytes > 0)
		memcpy(to, image->pixels, bytes);
	bs_buffer_added(out, 2 + BS_MRD_IMAGE_BYTES + 8 + own_len + n + bytes);
	return 0;
}
