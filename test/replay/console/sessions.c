/*
 * test/replay/console/sessions.c - sessions of a console that take their time, and such that give
 * back more than one series
 *
 * A console may pause for 30 s in mid-scan, longer before the first readout. Here all times of the
 * site are shorter by the same factor, silence_ms and idle_s against their defaults, and so is the
 * pause: it is still six times as long as a silence that ends a scan.
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include <complex.h>
#include <math.h>

#include "test/peers/console.h"
#include "test/peers/wants.h"
#include "test/support/mrd_client.h"

#define SLICES     3u
#define SETS       2u
#define LINES      32u
#define SAMPLES    64u
#define SILENCE_MS 2000  /* of 5,000 */
#define PAUSE_MS   12000 /* of 30,000 */

#define GRID                                                                                       \
	"method = \"cartesian\"; matrix = [32, 32]; encoded = [64, 32, 1]; coils = 2;\n"           \
	"  samples = 64; slices = 3; sets = 2; readouts = \"header\"; silence_ms = 2000.0; "
#define SITE                                                                                       \
	"endpoints: { archive = \"\"; images = \"ipc://run/images.ipc\"; };\n"                     \
	"overload: { spill_dir = \"spill\"; spill_mib = 64; };\n"                                  \
	"bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; idle_s = 120.0; }; };\n"                \
	"protocols = ( { name = \"scan\"; " GRID "},\n"                                            \
	"{ name = \"flow\"; " GRID "image: { combine = \"sense\"; maps = \"walsh\";\n"             \
	"  output = \"velocity\"; venc = 60.0; }; },\n"                                            \
	"{ name = \"i2i\"; method = \"pass\"; matrix = [32, 32]; coils = 2; samples = 64;\n"       \
	"  readouts = 32; trajectory: { type = \"radial2d\"; }; } );\n"

static const char header[] =
	"<?xml version=\"1.0\"?><ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><encoding>"
	"<encodedSpace><matrixSize><x>64</x><y>32</y><z>1</z></matrixSize><fieldOfView_mm><x>384"
	"</x><y>192</y><z>5</z></fieldOfView_mm></encodedSpace><reconSpace><matrixSize><x>32</x>"
	"<y>32</y><z>1</z></matrixSize><fieldOfView_mm><x>192</x><y>192</y><z>5</z>"
	"</fieldOfView_mm></reconSpace><encodingLimits><kspace_encoding_step_1><minimum>0</minimum>"
	"<maximum>31</maximum><center>16</center></kspace_encoding_step_1><slice><minimum>0"
	"</minimum><maximum>2</maximum><center>0</center></slice><set><minimum>0</minimum>"
	"<maximum>1</maximum><center>0</center></set></encodingLimits><trajectory>cartesian"
	"</trajectory></encoding></ismrmrdHeader>";

static struct service service;
static int port;

/* One point, of a brightness by slice, which turns by half a radian in set 1. */
static const double bright[SLICES] = { 1.0, 0.5, 2.0 };

static void fill(float *data, unsigned line, unsigned slice, unsigned set)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		const double turns = ((double)i - 32.0) * (8.0 - 16.0) / SAMPLES +
				     ((double)line - 16.0) * (10.0 - 16.0) / LINES;
		const double complex v =
			bright[slice] * cexp(I * (0.5 * set - 2.0 * acos(-1.0) * turns));

		for (unsigned c = 0; c < 2; c++) {
			data[2 * (c * SAMPLES + i)] = (float)creal(c == 0 ? v : 0.5 * I * v);
			data[2 * (c * SAMPLES + i) + 1] = (float)cimag(c == 0 ? v : 0.5 * I * v);
		}
	}
}

/* Sets inside slices inside lines. */
static bool send_lines(struct console *c, unsigned from, unsigned to)
{
	float data[2 * 2 * SAMPLES];
	bool good = true;

	for (unsigned i = from * SLICES * SETS; good && i < to * SLICES * SETS; i++) {
		struct console_readout r = { .counter = i + 1,
					     .samples = SAMPLES,
					     .channels = 2,
					     .center = 32,
					     .line = (uint16_t)(i / SLICES / SETS),
					     .slice = (uint16_t)(i / SETS % SLICES),
					     .set = (uint16_t)(i % SETS),
					     .dwell_us = 5.0f,
					     .read = { -1.0f, 0.0f, 0.0f },
					     .phase = { 0.0f, 1.0f, 0.0f },
					     .slice_dir = { 0.0f, 0.0f, 1.0f },
					     .data = data };

		r.position[2] = 6.0f * (float)r.slice;
		fill(data, r.line, r.slice, r.set);
		good = console_readout(c, &r);
	}
	return good;
}

/* pause_ms: in the middle; 0: none, else a shorter one before the first readout, too, and CLOSE. */
static void hold(struct console *c, const char *config, unsigned pause_ms)
{
	const unsigned brief_ms = pause_ms > 0 ? SILENCE_MS + 500 : 0;
	bool good = console_connect(c, port, 0) && console_name(c, config) &&
		    console_say(c, 3, header, true);

	await_pause_ms(brief_ms);
	good = good && send_lines(c, 0, LINES / 2);
	await_pause_ms(pause_ms);
	good = good && send_lines(c, LINES / 2, LINES);
	await_pause_ms(brief_ms);
	CHECK(good && console_close(c), "%s: all is sent", config);
	console_listen(c);
	CHECK(c->wrong[0] == '\0' && c->closed && wants_levels(c) &&
		      strstr(c->said, "ERROR") == NULL && strstr(c->said, "WARNING") == NULL,
	      "%s: it ends well: %s %s", config, c->wrong, c->said);
	for (unsigned i = 0; i < c->images; i++)
		CHECK(strstr(c->image[i].meta, "<name>boreside_quality</name><value>complete<") !=
				      NULL &&
			      wants_meta(&c->image[i], true)[0] == '\0',
		      "%s: image %u is complete, and has what a console wants: %s", config, i,
		      wants_meta(&c->image[i], true));
}

static double pixel(const struct console_image *m, unsigned x, unsigned y)
{
	const unsigned char *p = m->pixels + 2 * (size_t)(y * m->size[0] + x);

	return (double)(int16_t)(p[0] | p[1] << 8);
}

/* Slices of a series, each once, with indices that grow; their point, against the first one's. */
static void look_at_series(const struct console *c, unsigned first, unsigned kind, bool scaled)
{
	const struct console_image *a = &c->image[first];
	unsigned had = 0;
	unsigned index = 0;

	for (unsigned i = first; i < c->images; i++) {
		const struct console_image *m = &c->image[i];
		const double want = pixel(a, 8, 10) *
				    (scaled ? bright[m->slice % SLICES] / bright[a->slice] : 1.0);

		if (m->series != a->series)
			continue;
		CHECK(m->kind == kind && m->slice < SLICES && !(had & 1u << m->slice) &&
			      m->index > index,
		      "series %u: slice %u, index %u, kind %u", m->series, m->slice, m->index,
		      m->kind);
		CHECK(fabs(pixel(m, 8, 10) - want) <= 2.0, "series %u, slice %u: %g of %g",
		      m->series, m->slice, pixel(m, 8, 10), want);
		had |= 1u << m->slice;
		index = m->index;
	}
	CHECK(had == (1u << SLICES) - 1, "series %u has all slices", a->series);
}

static void pauses(void)
{
	struct console c;

	hold(&c, "scan", PAUSE_MS);
	CHECK(c.images == SLICES * SETS, "30 s of pause, scaled: %u images", c.images);
	for (unsigned i = 0; i < c.images; i++)
		CHECK(c.image[i].series == c.image[0].series && pixel(&c.image[i], 8, 10) > 500.0,
		      "image %u: %g", i, pixel(&c.image[i], 8, 10));
	console_end(&c);
}

static void velocities(void)
{
	struct console c;
	unsigned other = 0;

	hold(&c, "flow", 0);
	CHECK(c.images == SLICES * SETS, "magnitudes and velocities: %u images", c.images);
	while (other < c.images && c.image[other].series == c.image[0].series)
		other++;
	CHECK(other > 0 && other < c.images, "in two series");
	if (other < c.images) {
		look_at_series(&c, 0, 1, true);
		look_at_series(&c, other, 2, false);
	}
	console_end(&c);
}

/* Originals and derived images of an app, series by series and in turns. */
static const unsigned passed[][2] = { { 1, 1 }, { 1, 2 },  { 1, 3 }, { 99, 1 },
				      { 7, 1 }, { 99, 2 }, { 7, 2 }, { 1, 4 } };
#define PASSED (sizeof(passed) / sizeof(passed[0]))

static void passes(void)
{
	static const char *const meta[2] = {
		"<ismrmrdMeta></ismrmrdMeta>",
		"<ismrmrdMeta><meta><name>DataRole</name><value>Segmentation"
		"</value></meta></ismrmrdMeta>"
	};
	int16_t picture[32 * 32];
	struct console c;
	bool good = console_connect(&c, port, 0) && console_name(&c, "i2i") &&
		    console_say(&c, 3, header, true);

	for (unsigned i = 0; good && i < PASSED; i++) {
		for (unsigned p = 0; p < 32 * 32; p++)
			picture[p] = (int16_t)(p * 5 + i);
		good = console_send_image(&c, picture, 32, passed[i][0], passed[i][1],
					  meta[passed[i][0] != 1]);
	}
	CHECK(good && console_close(&c), "%zu images of three series are sent", PASSED);
	console_listen(&c);
	CHECK(c.wrong[0] == '\0' && c.closed && c.images == PASSED, "%u come back: %s", c.images,
	      c.said);
	for (unsigned i = 0; i < c.images && i < PASSED; i++) {
		const struct console_image *m = &c.image[i];
		bool same = strcmp(m->meta, meta[passed[i][0] != 1]) == 0;

		for (unsigned p = 0; p < 32 * 32; p++)
			same = same && pixel(m, p % 32, p / 32) == (double)(int16_t)(p * 5 + i);
		CHECK(same && m->series == passed[i][0] && m->index == passed[i][1],
		      "image %u: series %u, index %u, as it was sent", i, m->series, m->index);
	}
	console_end(&c);
}

int main(void)
{
	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE, NULL), "a service with a bridge");
	port = mrd_port(&service, 1);
	CHECK(port > 0, "it says where clients may connect");
	if (port > 0) {
		velocities();
		passes();
		pauses();
	}
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	service_remove(&service);
	return check_done();
}
