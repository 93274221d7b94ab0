/* drivers/bridge/form.c - see form.h */
#include "drivers/bridge/form.h"

#include <math.h>
#include <string.h>

#include "core/frame/readout.h"
#include "core/frame/recon.h"
#include "core/text.h"
#include "drivers/bridge/message.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/meta.h"
#include "ipc/wire/mrd.h"

#define UINT16     1u /* MRD's data types */
#define INT16      2u
#define TWELVE     4095.0 /* largest magnitude that consoles expect */
#define INDEX_MAX  65535u /* image_index has 16 bits */
#define BINS       4096u
#define WHITE      0.997
#define ATTRIBUTES 2048u /* most bytes of the added attributes */
#define END        "</ismrmrdMeta>"

/* Pixels of an image, [channel][z][y][x]. */
struct pixels {
	const unsigned char *at;
	size_t count;
	bool is_complex;
	bool has_sign; /* values have a sign, as phases and velocities have */
};

static double signed_value(const struct pixels *p, size_t i)
{
	float v;

	memcpy(&v, p->at + 4 * i, 4);
	return isfinite(v) ? (double)v : 0.0;
}

/* Returns the magnitude of pixel i. */

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

/* Finds the magnitude that is shown white (quantile WHITE), to 1/BINS of the largest. */
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

static void put_number(struct bs_text *t, const char *name, double v)
{
	bs_text_put(t, "<meta><name>%s</name><value>%.9g</value></meta>", name, v);
}

static void put_direction(struct bs_text *t, const char *name, const float d[3])
{
	bs_text_put(t,
		    "<meta><name>%s</name><value>%.18f</value><value>%.18f</value>"
		    "<value>%.18f</value></meta>",
		    name, (double)d[0], (double)d[1], (double)d[2]);
}

/* How the pixels are sent. */
struct shown {
	double most;          /* largest whole number that is sent; 0: pixels are sent unchanged */
	double scale, offset; /* sent = scale * value + offset; scale 0: unchanged */
	double center, width; /* window of the pixels; width 0: none in whole numbers */
	const char *role, *described; /* values of DataRole and SequenceDescriptionAdditional */
};

static size_t write_attributes(char out[ATTRIBUTES], const struct bs_mrd_image *head,
			       const struct shown *shown)
{
	struct bs_text t = { out, ATTRIBUTES, 0, false };
	float row[3];
	float column[3];

	memcpy(row, head->read_dir, sizeof(row));
	memcpy(column, head->phase_dir, sizeof(column));
	put(&t, "DataRole", shown->role);
	bs_text_put(&t, "<meta><name>ImageProcessingHistory</name><value>FIRE</value>"
			"<value>BORESIDE</value></meta>");
	if (shown->width > 0.0) {
		put_number(&t, "WindowCenter", shown->center);
		put_number(&t, "WindowWidth", shown->width);
	}
	put(&t, "SequenceDescriptionAdditional", shown->described);
	put(&t, "Keep_image_geometry", "1");
	put_direction(&t, "ImageRowDir", row);
	put_direction(&t, "ImageColumnDir", column);
	if (shown->scale > 0.0)
		put_number(&t, "boreside_scale", shown->scale);
	if (shown->offset != 0.0)
		put_number(&t, "boreside_offset", shown->offset);
	bs_text_put(&t, END);
	return t.len;
}

/* The image's own attributes without their end tag; *len: their length without it. */
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

/* Writes count pixels from number `from` on as whole numbers. */
static void put_whole(unsigned char *to, const struct pixels *p, size_t from, size_t count,
		      const struct shown *shown)
{
	for (size_t i = from; i < from + count; i++) {
		double v = (p->has_sign ? signed_value(p, i) : value(p, i)) * shown->scale +
			   shown->offset;

		v = v < 0.0 ? 0.0 : v < shown->most ? v : shown->most;
		bs_put_le(to + 2 * (i - from), (uint64_t)lrint(v), 2);
	}
}

/* Sets scale and window of phases and velocities: -reach to reach in 12 bits. */
static void show_phase(struct shown *to, bool scaled, double reach, bool velocity)
{
	to->scale = scaled ? TWELVE / (2.0 * reach) : 0.0;
	to->offset = scaled ? TWELVE / 2.0 : 0.0;
	to->center = scaled ? 2048.0 : 0.0;
	to->width = scaled ? 4096.0 : 2.0 * ceil(reach);
	to->role = velocity ? "Quantitative" : "Image";
	to->described = velocity ? "BORESIDE_VELOCITY" : "BORESIDE_PHASE";
}

/* Sets scale and window of magnitudes: a window in whole numbers, or none if that is too coarse. */
static void show_signal(struct shown *to, const struct pixels *p, bool scaled, double *scale)
{
	const double top = largest(p);
	double window = white(p, top);

	if (scaled) {
		if (top > 0.0 && (*scale <= 0.0 || top * *scale > to->most))
			*scale = (to->most > 32767.0 ? 32767.0 : TWELVE) / top;
		to->scale = *scale;
		window *= *scale > 0.0 ? *scale : 1.0;
	}
	to->width = scaled && window < 1.0 ? 1.0 : round(window);
	if (fabs(to->width - window) > 0.02 * window && !scaled)
		to->width = 0.0;
	to->center = floor(to->width / 2.0 + 0.5);
}

void bs_form_by(struct bs_form *f, const struct bs_scan_info *info)
{
	const bool whole = f->as == BS_PIXELS_INT16;

	f->sixteen = whole && info->bits_stored == 16;
	f->slices = whole && bs_readout_siemens(info);
}

/* Number of messages for an image: one a partition, if the partitions' indices fit. */
static uint32_t parts_of(const struct bs_form *f, const struct bs_mrd_image *h)
{
	const uint32_t z = h->matrix_size[2];
	const bool apart = f->slices && h->channels == 1 && z > 1 && h->image_index > 0;

	return apart && h->image_index <= INDEX_MAX / z ? z : 1;
}

size_t bs_form_most(const struct bs_form *f, const struct bs_asked *image)
{
	const size_t heads = 2 + BS_MRD_IMAGE_BYTES + 8 + ATTRIBUTES;
	const unsigned type = image->head.data_type;
	const size_t smaller = f->as != BS_PIXELS_INT16 ? 1
			       : type == BS_MRD_FLOAT   ? 2
			       : type == BS_MRD_CXFLOAT ? 4
							: 1;

	return image->pixels_len / smaller +
	       parts_of(f, &image->head) * (heads + image->attributes_len + sizeof(END));
}

/* Makes partition i of n an image of its own, placed about the slab's center as consoles do. */
static void set_part(struct bs_mrd_image *h, uint32_t i, uint32_t n)
{
	const float step = h->field_of_view[2] / (float)n;

	for (int a = 0; a < 3; a++)
		h->position[a] += ((float)i - 0.5f * (float)(n - 1)) * step * h->slice_dir[a];
	h->field_of_view[2] = step;
	h->matrix_size[2] = 1;
	h->slice = (uint16_t)(h->slice * n + i);
	h->image_index = (uint16_t)((h->image_index - 1u) * n + i + 1);
}

/* Writes a message; returns its bytes. Unchanged pixels are only of images in one message. */
static size_t put_message(unsigned char *to, const struct bs_mrd_image *head,
			  const struct bs_asked *image, const struct pixels *p, size_t from,
			  size_t count, const struct shown *shown)
{
	const unsigned char *const start = to;
	const bool whole = shown->most > 0.0;
	struct bs_mrd_image h = *head;
	char added[ATTRIBUTES];
	size_t own_len;
	const char *own = own_attributes(image, &own_len);
	const size_t n = write_attributes(added, &h, shown);

	h.attribute_string_len = (uint32_t)(own_len + n);
	to += bs_bridge_put(to, BS_BRIDGE_IMAGE, 0, 0);
	bs_mrd_put_image(to, &h);
	to += BS_MRD_IMAGE_BYTES;
	bs_put_le(to, own_len + n, 8);
	memcpy(to + 8, own, own_len);
	memcpy(to + 8 + own_len, added, n);
	to += 8 + own_len + n;
	if (whole)
		put_whole(to, p, from, count, shown);
	else if (image->pixels_len > 0)
		memcpy(to, image->pixels, image->pixels_len);
	return (size_t)(to - start) + (whole ? 2 * count : image->pixels_len);
}

int bs_form_add(struct bs_buffer *out, size_t most, const struct bs_form *form, double *scale,
		const struct bs_asked *image, struct bs_fail *why)
{
	struct bs_mrd_image head = image->head;
	const bool is_complex = head.data_type == BS_MRD_CXFLOAT;
	const bool known = is_complex || head.data_type == BS_MRD_FLOAT;
	const double reach = bs_meta_reach(&image->head, image->attributes, image->attributes_len);
	const struct pixels p = { image->pixels, image->pixels_len / (is_complex ? 8 : 4),
				  is_complex, reach > 0.0 };
	const bool scaled = form->as == BS_PIXELS_INT16 && known;
	const uint32_t parts = scaled ? parts_of(form, &head) : 1;
	struct shown shown = { .role = "Image", .described = "BORESIDE" };
	unsigned char *to = bs_buffer_room(out, bs_form_most(form, image), most);

	if (to == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no room for an image of %zu bytes",
			       image->pixels_len);
	if (scaled)
		shown.most = form->sixteen && reach <= 0.0 ? 65535.0 : 32767.0;
	if (reach > 0.0)
		show_phase(&shown, scaled, reach,
			   (head.image_series_index & BS_VELOCITY_SERIES) != 0);
	else if (known)
		show_signal(&shown, &p, scaled, scale);
	if (scaled) {
		head.data_type = shown.most > 32767.0 ? UINT16 : INT16;
		head.image_type = reach > 0.0 ? BS_MRD_PHASE : BS_MRD_MAGNITUDE;
	}
	for (uint32_t i = 0; i < parts; i++) {
		struct bs_mrd_image part = head;
		const size_t count = p.count / parts;

		if (parts > 1)
			set_part(&part, i, parts);
		to = bs_buffer_front(out) + out->len;
		bs_buffer_added(out, put_message(to, &part, image, &p, i * count, count, &shown));
	}
	return 0;
}
