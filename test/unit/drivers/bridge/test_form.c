/*
 * test/unit/drivers/bridge/test_form.c - an image as consoles want it: scale, window, attributes
 */
#include "drivers/bridge/form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/recon.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/mrd.h"
#include "test/support/check.h"

#define MOST ((size_t)1 << 20)
#define OWN  "<ismrmrdMeta><meta><name>a</name><value>b</value></meta></ismrmrdMeta>"

static struct bs_buffer out;
static struct bs_mrd_image head;
static char attributes[4096];
static const unsigned char *pixels;
static double scale;
static struct bs_form form;
static size_t most;
static unsigned messages = 1; /* that an image becomes, all of one length */
static uint16_t image_type = BS_MRD_MAGNITUDE, series = 1, partitions = 1, index_of = 3;

/* n values (complex: pairs) through the door, and what stands in the message. */
static bool add(enum bs_pixels as, const float *values, uint16_t n, bool is_complex,
		const char *own)
{
	/* one byte off: what comes from the wire need not be aligned */
	unsigned char *copy = malloc((size_t)n * 8 + 1);
	struct bs_asked image = { .head = { .version = 1,
					    .data_type = is_complex ? 7 : 5,
					    .matrix_size = { (uint16_t)(n / partitions), 1,
							     partitions },
					    .field_of_view = { 10, 10, 6 },
					    .position = { 1, 2, 3 },
					    .slice_dir = { 0, 0, 1 },
					    .slice = 2,
					    .image_index = index_of,
					    .channels = 1,
					    .read_dir = { 1.0f, 0.0f, 0.0f },
					    .phase_dir = { 0.0f, -0.6f, 0.8f },
					    .image_type = is_complex ? 5 : image_type,
					    .image_series_index = series },
				  .attributes = own,
				  .attributes_len = strlen(own),
				  .pixels = copy + 1,
				  .pixels_len = (size_t)n * (is_complex ? 8 : 4) };
	const unsigned char *at;
	size_t parsed_at;
	size_t attr_at;
	struct bs_fail why;
	bool good;

	bs_buffer_free(&out);
	memcpy(copy + 1, values, image.pixels_len);
	form.as = as;
	most = bs_form_most(&form, &image);
	good = bs_form_add(&out, MOST, &form, &scale, &image, &why) == 0 && out.len <= most;
	free(copy);
	if (!good)
		return false;
	at = bs_buffer_front(&out);
	good = bs_get_le(at, 2) == 1022 && bs_mrd_parse_image(&head, &attr_at, &parsed_at, at + 2,
							      out.len / messages - 2, &why) == 0;
	if (!good || parsed_at - attr_at >= sizeof(attributes))
		return false;
	memcpy(attributes, at + 2 + attr_at, parsed_at - attr_at);
	attributes[parsed_at - attr_at] = '\0';
	pixels = at + 2 + parsed_at;
	return strstr(attributes, "<ismrmrdMeta>") == attributes &&
	       strcmp(attributes + strlen(attributes) - 14, "</ismrmrdMeta>") == 0;
}

static unsigned value(size_t i)
{
	return (unsigned)bs_get_le(pixels + 2 * i, 2);
}

static double says(const char *name)
{
	char want[80];
	const char *at;

	(void)snprintf(want, sizeof(want), "<name>%s</name><value>", name);
	at = strstr(attributes, want);
	return at != NULL ? strtod(at + strlen(want), NULL) : NAN;
}

static void integers(void)
{
	const float first[4] = { 0.0f, 1.0f, 2.0f, 0.5f };
	const float loud[4] = { 4.0f, 0.0f, 0.0f, 0.0f };
	const float louder[4] = { 32.0f, -16.0f, NAN, INFINITY };
	const float none[4] = { 0 };
	const float pair[4] = { 3.0f, -4.0f, 0.0f, 10.0f };

	scale = 0.0;
	CHECK(add(BS_PIXELS_INT16, none, 4, false, OWN) && value(0) == 0 && scale == 0.0,
	      "an empty image decides no scale");
	CHECK(add(BS_PIXELS_INT16, first, 4, false, OWN) && head.data_type == 2 &&
		      head.image_type == 1 && value(0) == 0 && value(1) == 2048 &&
		      value(2) == 4095 && value(3) == 1024,
	      "the first one fills 12 bits");
	CHECK(says("boreside_scale") == 2047.5 && says("WindowWidth") == 4095.0 &&
		      says("WindowCenter") == 2048.0,
	      "its scale and window");
	CHECK(add(BS_PIXELS_INT16, loud, 4, false, OWN) && value(0) == 8190 && scale == 2047.5,
	      "the next one keeps the scale");
	CHECK(add(BS_PIXELS_INT16, louder, 4, false, OWN) && value(0) == 4095 && value(1) == 2048 &&
		      value(2) == 0 && value(3) == 0 && says("boreside_scale") == 4095.0 / 32.0,
	      "one that does not fit lowers it; what is not finite is 0");
	scale = 0.0;
	CHECK(add(BS_PIXELS_INT16, pair, 2, true, OWN) && head.data_type == 2 &&
		      head.image_type == 1 && value(0) == 2048 && value(1) == 4095,
	      "complex pixels leave as magnitude");
}

static void floats(void)
{
	const float values[4] = { 0.0f, 1.0f, 2.0f, -0.5f };

	CHECK(add(BS_PIXELS_FLOAT, values, 4, false, OWN) && head.data_type == 5 &&
		      memcmp(pixels, values, sizeof(values)) == 0 &&
		      isnan(says("boreside_scale")) && says("WindowWidth") == 2.0,
	      "floats leave as they are");
	CHECK(add(BS_PIXELS_FLOAT, values, 2, true, OWN) && head.data_type == 7 &&
		      head.image_type == 5 && memcmp(pixels, values, sizeof(values)) == 0,
	      "complex floats, too");
	CHECK(strstr(attributes, "<name>a</name><value>b</value>") != NULL &&
		      strstr(attributes, "<name>ImageRowDir</name><value>1.000000000000000000"
					 "</value><value>0.000000000000000000</value>") != NULL &&
		      strstr(attributes, "<name>ImageColumnDir</name><value>0.000000000000000000"
					 "</value><value>-0.600000023841857910</value>"
					 "<value>0.800000011920928955</value>") != NULL,
	      "its own attributes and the directions");
	CHECK(add(BS_PIXELS_FLOAT, values, 4, false, "") && !isnan(says("Keep_image_geometry")),
	      "an image without attributes gets some");
	CHECK(head.attribute_string_len == strlen(attributes), "their length");
}

/* Phases and velocities have one scale, whatever is in them, their type and their sign. */
static void phases(void)
{
	const float pi = 3.14159265f;
	const float phase[4] = { -pi, 0.0f, pi, NAN };
	const float flow[4] = { -150.0f, 75.0f, 0.5f, 15.0f };
	static const char venc[] = "<ismrmrdMeta><meta><name>boreside_venc</name><value>150"
				   "</value></meta></ismrmrdMeta>";

	image_type = BS_MRD_PHASE;
	scale = 3.0;
	CHECK(add(BS_PIXELS_INT16, phase, 4, false, OWN) && head.data_type == 2 &&
		      head.image_type == BS_MRD_PHASE && value(0) == 0 && value(1) == 2048 &&
		      value(2) == 4095 && value(3) == 2048 && scale == 3.0,
	      "a phase: %u %u %u %u", value(0), value(1), value(2), value(3));
	CHECK(says("WindowCenter") == 2048.0 && says("WindowWidth") == 4096.0 &&
		      says("boreside_offset") == 2047.5 &&
		      fabs(says("boreside_scale") - 4095.0 / (2.0 * acos(-1.0))) < 1e-6 &&
		      strstr(attributes, "<value>BORESIDE_PHASE</value>") != NULL,
	      "its window, scale and name");
	series = 1 | BS_VELOCITY_SERIES;
	CHECK(add(BS_PIXELS_INT16, flow, 4, false, venc) && head.image_type == BS_MRD_PHASE &&
		      value(0) == 0 && value(1) == 3071 && value(2) == 2054 && value(3) == 2252,
	      "a velocity: %u %u %u %u", value(0), value(1), value(2), value(3));
	CHECK(says("boreside_scale") == 13.65 &&
		      strstr(attributes, "<value>Quantitative</value>") != NULL &&
		      strstr(attributes, "<value>BORESIDE_VELOCITY</value>") != NULL,
	      "its scale and name");
	CHECK(add(BS_PIXELS_FLOAT, flow, 4, false, venc) && head.data_type == 5 &&
		      memcmp(pixels, flow, sizeof(flow)) == 0 && says("WindowCenter") == 0.0 &&
		      says("WindowWidth") == 300.0,
	      "floats leave in cm/s");
	image_type = BS_MRD_MAGNITUDE;
	series = 1;
}

/* The header's words about the console. */
static void consoles(void)
{
	struct bs_scan_info info = { .vendor = "SIEMENS", .bits_stored = 16 };
	const float three[6] = { 1.0f, 0.0f, 0.0f, 2.0f, 0.5f, 4.0f };
	const float louder[2] = { 9.0f, 0.0f };
	const unsigned char *at;
	size_t first;

	form.as = BS_PIXELS_FLOAT;
	bs_form_by(&form, &info);
	CHECK(!form.sixteen && !form.slices, "floats are for nobody's console");
	form.as = BS_PIXELS_INT16;
	bs_form_by(&form, &info);
	CHECK(form.sixteen && form.slices, "Siemens', of 16 bits");
	partitions = 3;
	messages = 3;
	scale = 0.0;
	CHECK(add(BS_PIXELS_INT16, three, 6, false, OWN) && head.data_type == 1 &&
		      head.matrix_size[2] == 1 && head.slice == 6 && head.image_index == 7 &&
		      head.position[2] == 1.0f && head.field_of_view[2] == 2.0f &&
		      value(0) == 8192 && value(1) == 0,
	      "the first partition: index %u, slice %u at %g: %u", head.image_index, head.slice,
	      (double)head.position[2], value(0));
	first = (size_t)(pixels + 4 - bs_buffer_front(&out));
	at = bs_buffer_front(&out) + 2 * first;
	CHECK(out.len == 3 * first && bs_get_le(at, 2) == 1022 && bs_get_le(at + 2 + 98, 2) == 8 &&
		      bs_get_le(at + 2 + 126, 2) == 9 && bs_get_le(at + first - 2, 2) == 32767,
	      "three messages, the last of partition 2");
	partitions = 1;
	messages = 1;
	CHECK(add(BS_PIXELS_INT16, louder, 2, false, OWN) && value(0) == 32767 &&
		      head.data_type == 1 && scale < 4000.0,
	      "beyond 16 bits the scale is lowered: %g, %u", scale, value(0));
	partitions = 3;
	index_of = 40000;
	CHECK(add(BS_PIXELS_INT16, three, 6, false, OWN) && head.matrix_size[2] == 3 &&
		      head.image_index == 40000,
	      "one volume where the indices do not fit");
	partitions = 1;
	form = (struct bs_form){ .as = BS_PIXELS_INT16 };
	info = (struct bs_scan_info){ .vendor = "GE", .bits_stored = 12 };
	bs_form_by(&form, &info);
	CHECK(!form.sixteen && !form.slices, "others are as they were");
}

/* Whole numbers, or no window. */
static void windows(void)
{
	const float small[4] = { 0.0f, 0.01f, 0.02f, 0.03f };
	const float large[4] = { 0.0f, 100.4f, 777.7f, 1000.3f };

	CHECK(add(BS_PIXELS_FLOAT, small, 4, false, OWN) && isnan(says("WindowWidth")) &&
		      isnan(says("WindowCenter")),
	      "no window of a fraction");
	CHECK(add(BS_PIXELS_FLOAT, large, 4, false, OWN) && says("WindowWidth") == 1000.0 &&
		      says("WindowCenter") == 500.0,
	      "a whole one");
	scale = 0.0;
	CHECK(add(BS_PIXELS_INT16, small, 4, false, OWN) && says("WindowWidth") == 4095.0 &&
		      says("WindowCenter") == 2048.0,
	      "of whole pixels always");
}

static void bounds(void)
{
	static float many[65535];
	struct bs_buffer b = { 0 };

	CHECK(add(BS_PIXELS_FLOAT, many, 65535 / 2, true, OWN), "a large one");
	bs_buffer_free(&out);
	CHECK(bs_buffer_room(&b, 100, 99) == NULL && b.bytes == NULL,
	      "a buffer grows no further than it may");
	CHECK(bs_buffer_add(&b, "0123456789", 10, 5000) == 0 &&
		      bs_buffer_room(&b, 4991, 5000) == NULL &&
		      bs_buffer_room(&b, 4990, 5000) != NULL,
	      "what is in it counts");
	bs_buffer_taken(&b, 4);
	CHECK(b.len == 6 && memcmp(bs_buffer_front(&b), "456789", 6) == 0 &&
		      bs_buffer_room(&b, 4994, 5000) != NULL &&
		      memcmp(bs_buffer_front(&b), "456789", 6) == 0,
	      "what was taken makes room; the rest stays");
	bs_buffer_free(&b);
}

int main(void)
{
	integers();
	floats();
	phases();
	windows();
	consoles();
	bounds();
	bs_buffer_free(&out);
	return check_done();
}
