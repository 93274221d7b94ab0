/*
 * test/replay/console/twin.c - a console's twin: sessions as scanners, converters and clients were
 * seen to hold them, headers as each of them writes one; what comes back is looked at as a console
 * would: orientation, order, scale, series, indices, missing images. A client that takes a byte a
 * second is there all the while. SESSIONS: how many (200); SEED.
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include <complex.h>
#include <math.h>

#include "test/peers/console.h"
#include "test/peers/origin.h"
#include "test/peers/wants.h"
#include "test/support/mrd_client.h"

#define SLICES  3u
#define LINES   32u
#define SAMPLES 64u
#define STEP_MM 6.0f

#define SITE                                                                                       \
	"endpoints: { archive = \"\"; images = \"ipc://run/images.ipc\"; };\n"                     \
	"overload: { spill_dir = \"spill\"; spill_mib = 256; };\n"                                 \
	"bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; wait_s = 3600.0; idle_s = 3600.0;\n"    \
	"  configs = ( { name = \"openrecon\"; protocol = \"scan\"; },\n"                          \
	"    { name = \"*\"; protocol = \"scan\"; } ); }; };\n"                                    \
	"protocols = ( { name = \"scan\"; method = \"cartesian\"; matrix = [32, 32];\n"            \
	"  encoded = [64, 32, 1]; coils = 2; samples = 64; slices = 3; readouts = \"header\";\n"   \
	"  silence_ms = 60000.0; },\n"                                                             \
	"{ name = \"i2i\"; method = \"pass\"; matrix = [32, 32]; coils = 2; samples = 64;\n"       \
	"  readouts = 32; trajectory: { type = \"radial2d\"; }; },\n"                              \
	"{ name = \"large\"; " SERVICE_LINES "silence_ms = 60000.0;\n"                             \
	"  image: { matrix = [512, 512]; output = \"complex\"; }; } );\n"

static struct service service;
static int port;
static uint64_t seed;

/* ---- what is in the scanner: three points, of a brightness by slice ---- */

static const struct {
	unsigned x, y;
	double bright;
} points[] = { { 8, 10, 1.0 }, { 20, 6, 0.5 }, { 13, 25, 0.25 } };
static const double brightness[SLICES] = { 1.0, 0.5, 2.0 };

static void fill(float *data, unsigned line, unsigned slice)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		double complex v = 0.0;

		for (unsigned p = 0; p < 3; p++)
			v += points[p].bright *
			     cexp(-2.0 * I * acos(-1.0) *
				  (((double)i - 32.0) * ((double)points[p].x - 16.0) / SAMPLES +
				   ((double)line - 16.0) * ((double)points[p].y - 16.0) / LINES));
		v *= brightness[slice];
		data[2 * i] = (float)creal(v);
		data[2 * i + 1] = (float)cimag(v);
		data[2 * (SAMPLES + i)] = (float)(-0.5 * cimag(v)); /* the second coil: i/2 */
		data[2 * (SAMPLES + i) + 1] = (float)(0.5 * creal(v));
	}
}

static void place(struct console_readout *r, const struct origin *o)
{
	const float dirs[3][3] = { { -1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };

	r->position[0] = 3.0f;
	r->position[1] = -7.0f;
	r->position[2] = 20.0f + STEP_MM * (float)r->slice;
	if (o->lost_directions)
		return;
	memcpy(r->read, dirs[0], sizeof(r->read));
	memcpy(r->phase, dirs[1], sizeof(r->phase));
	memcpy(r->slice_dir, dirs[2], sizeof(r->slice_dir));
}

#define FLAG(n) (UINT64_C(1) << ((n)-1))

static uint64_t flags_of(const struct origin *o, unsigned line, bool last)
{
	uint64_t f = 0;

	if (o->flags && line == 0)
		f |= FLAG(7);
	if (o->flags && line == LINES - 1)
		f |= FLAG(8);
	if (o->flags && last)
		f |= FLAG(14) | FLAG(25);
	if (o->each && line == 0)
		f |= FLAG(1) | FLAG(7) | FLAG(13);
	if (o->each && line == LINES - 1)
		f |= FLAG(2) | FLAG(8) | FLAG(14);
	return f;
}

/* Lines outside, slices inside: 0, 2, 1. mixed: waveforms 0 to 9 and images between them. */
static bool send_lines(struct console *c, const struct origin *o, unsigned from, unsigned to,
		       bool mixed)
{
	static const unsigned order[SLICES] = { 0, 2, 1 };
	static const float zeros[SAMPLES * 3];
	float data[2 * 2 * SAMPLES];
	const int16_t picture[16] = { 1, 2, 3 };
	bool good = true;

	for (unsigned i = from * SLICES; good && i < to * SLICES; i++) {
		struct console_readout r = { .counter = i + 1,
					     .samples = SAMPLES,
					     .channels = 2,
					     .center = (uint16_t)o->center,
					     .dimensions = (uint16_t)o->dimensions,
					     .line = (uint16_t)(i / SLICES),
					     .slice = (uint16_t)order[i % SLICES],
					     .dwell_us = 5.0f,
					     .trajectory = zeros,
					     .data = data };

		r.flags = flags_of(o, r.line, i == LINES * SLICES - 1);
		place(&r, o);
		fill(data, r.line, r.slice);
		good = console_readout(c, &r);
		if (good && mixed && i % 10 == 3)
			good = console_waveform(c, i / 10);
		if (good && mixed && i == 40)
			good = console_send_image(c, picture, 4, 0, 1,
						  "<ismrmrdMeta></ismrmrdMeta>");
	}
	return good;
}

/* Readouts of noise, longer than a line; channels of another count are a body coil's. */
static bool send_noise(struct console *c, unsigned readouts, unsigned channels)
{
	static float data[2 * 2 * 1024];
	bool good = true;

	for (unsigned i = 0; i < 2 * channels * 1024; i++)
		data[i] = (float)(check_uniform(&seed) - 0.5);
	for (unsigned i = 0; good && i < readouts; i++) {
		struct console_readout r = { .flags = FLAG(19),
					     .counter = i + 1,
					     .samples = 1024,
					     .channels = (uint16_t)channels,
					     .dwell_us = 5.0f,
					     .data = data };
		good = console_readout(c, &r);
	}
	return good;
}

/* ---- what the console makes of the answer ---- */

static double pixel(const struct console_image *m, unsigned x, unsigned y)
{
	const unsigned char *p = m->pixels + 2 * (size_t)(y * m->size[0] + x);

	return (double)(int16_t)(p[0] | p[1] << 8);
}

/* The three points where they are, as bright as they are, and nothing elsewhere; "": it is so. */
static const char *look_at(const struct console_image *m, double scale)
{
	for (unsigned y = 0; y < 32; y++)
		for (unsigned x = 0; x < 32; x++) {
			double is = 0.0;

			for (unsigned p = 0; p < 3; p++)
				if (points[p].x == x && points[p].y == y)
					is = points[p].bright * brightness[m->slice] * scale;
			if (fabs(pixel(m, x, y) - is) > 1.5)
				return is > 0.0 ? "a point is missing, or elsewhere" : "a ghost";
		}
	return "";
}

static bool near(const float *is, float x, float y, float z)
{
	return fabsf(is[0] - x) < 1e-3f && fabsf(is[1] - y) < 1e-3f && fabsf(is[2] - z) < 1e-3f;
}

static const char *check_place(const struct console_image *m, const struct origin *o)
{
	if (!near(m->position, 3.0f, -7.0f, 20.0f + STEP_MM * (float)m->slice))
		return "its position";
	if (!near(m->fov, 192.0f, 192.0f, 5.0f))
		return "its field of view";
	if (!o->lost_directions &&
	    (!near(m->read, -1, 0, 0) || !near(m->phase, 0, 1, 0) || !near(m->slice_dir, 0, 0, 1)))
		return "its directions";
	return "";
}

/* All images of a scan, each once; "": as it should be. */
static const char *check_images(const struct console *c, const struct origin *o)
{
	unsigned had = 0;
	double scale = 0.0;

	if (c->images != SLICES)
		return c->images < SLICES ? "images are missing" : "there are too many images";
	for (unsigned i = 0; i < SLICES; i++) {
		const struct console_image *m = &c->image[i];
		const char *wrong;

		if (m->type != 2 || m->channels != 1 || m->kind != 1 || m->size[0] != 32 ||
		    m->size[1] != 32 || m->size[2] != 1 || m->slice >= SLICES)
			return "an image of another kind or size";
		if (had & 1u << m->slice)
			return "a slice twice";
		had |= 1u << m->slice;
		if (i == 0)
			scale = pixel(m, points[0].x, points[0].y) / brightness[m->slice];
		if (i == 0 && fabs(pixel(m, points[0].x, points[0].y) - 4095.0) > 1.0)
			return "the first image does not fill 12 bits";
		wrong = look_at(m, scale);
		if (wrong[0] == '\0')
			wrong = check_place(m, o);
		if (wrong[0] == '\0')
			wrong = wants_meta(m, !o->lost_directions);
		if (wrong[0] != '\0')
			return wrong;
		if (m->index == 0)
			return "an index of 0";
		for (unsigned k = 0; k < i; k++)
			if (c->image[k].index == m->index && c->image[k].series == m->series)
				return "an index twice in a series";
		if (m->series != c->image[0].series)
			return "more than one series";
	}
	return "";
}

/* ---- sessions ---- */

enum texts { NONE, BEFORE, AFTER, THREE };
enum body {
	LINES_ALL,
	MIXED,
	NOISE_FIRST,
	NOISE_ONLY,
	BODY_COIL,
	NOTHING,
	CUT,
	COMPRESSED,
	COMPRESSED_ZFP,
	STOPPED,
	EMPTY,
	NAN_SAMPLE,
	ASK_NOISE,
	IMAGES,
	IMAGES_AND_LINES
};

static const struct form {
	const char *name;
	const char *config; /* NULL: a script instead */
	enum texts texts;
	const char *json;
	enum body body;
	bool no_xml, second;
	const char *said; /* this is in what is said; NULL: anything */
} forms[] = {
	{ "openrecon", "openrecon", NONE, "", LINES_ALL, false, false, NULL },
	{ "a config without a name", "", NONE, "", LINES_ALL, false, false, NULL },
	{ "an unknown config", "i2iGrappa", NONE, "", LINES_ALL, false, false, "'i2iGrappa'" },
	{ "a script", NULL, NONE, "", LINES_ALL, false, false, NULL },
	{ "JSON before the header", "openrecon", BEFORE,
	  "{\"version\": \"1.1\", \"parameters\": {\"config\": \"scan\"}}", LINES_ALL, false, false,
	  NULL },
	{ "JSON behind it", "gone", AFTER, "{\"parameters\": {\"config\": \"scan\"}}", LINES_ALL,
	  false, false, NULL },
	{ "three TEXTs", "openrecon", THREE, "{\"parameters\": {\"config\": \"openrecon\"}}",
	  LINES_ALL, false, false, NULL },
	{ "parameters null", "openrecon", AFTER, "{\"parameters\": null}", LINES_ALL, false, false,
	  NULL },
	{ "parameters {}", "openrecon", BEFORE, "{\"version\": 1, \"parameters\": {}}", LINES_ALL,
	  false, false, NULL },
	{ "unknown ids", "openrecon", AFTER,
	  "{\"parameters\": {\"config\": \"openrecon\", \"oldgain\": \"22.0\", \"denoise\": true}}",
	  LINES_ALL, false, false, "'oldgain', 'denoise'" },
	{ "an old config", "openrecon", AFTER, "{\"parameters\": {\"config\": \"last_year\"}}",
	  LINES_ALL, false, false, "'last_year'" },
	{ "TEXT that is no JSON", "openrecon", AFTER, "DEBUG    hello", LINES_ALL, false, false,
	  "no JSON" },
	{ "waveforms and an image between readouts", "openrecon", NONE, "", MIXED, false, false,
	  NULL },
	{ "noise of 1,024 samples first", "openrecon", NONE, "", NOISE_FIRST, false, false, NULL },
	{ "an adjustment of noise alone", "", AFTER, "{\"parameters\": null}", NOISE_ONLY, false,
	  false, NULL },
	{ "an adjustment of a body coil", "", AFTER, "{\"parameters\": null}", BODY_COIL, false,
	  false, NULL },
	{ "not one readout", "openrecon", NONE, "", NOTHING, false, false, "no readout" },
	{ "a header that is no XML", "openrecon", NONE, "", LINES_ALL, true, false, "BS_ERR_XML" },
	{ "compressed readouts", "openrecon", NONE, "", COMPRESSED, false, false, "compressed" },
	{ "readouts compressed by zfp", "openrecon", NONE, "", COMPRESSED_ZFP, false, false,
	  "flag 53" },
	{ "no config but in JSON", "", AFTER, "{\"parameters\": {\"config\": \"scan\"}}", LINES_ALL,
	  false, false, NULL },
	{ "an operator's stop", "openrecon", NONE, "", STOPPED, false, false, "partial" },
	{ "a readout without samples", "openrecon", NONE, "", EMPTY, false, false,
	  "1 readout is left out, the last of 2 channels and 0 samples" },
	{ "a sample that is no number", "openrecon", NONE, "", NAN_SAMPLE, false, false,
	  "acquisition 97: channel 0 sample 5 is nan" },
	{ "a question about noise", NULL, NONE, "", ASK_NOISE, false, false, NULL },
	{ "an end within a readout", "openrecon", NONE, "", CUT, false, false, NULL },
	{ "images to be passed through", "i2i", NONE, "", IMAGES, false, false, NULL },
	{ "images, and readouts among them", "i2i", NONE, "", IMAGES_AND_LINES, false, false,
	  "readouts came" },
	{ "an adjustment within a scan", "openrecon", NONE, "", LINES_ALL, false, true, NULL },
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

static bool say_json(struct console *c, const struct form *f, bool before)
{
	if (f->texts == BEFORE && before)
		return console_say(c, 5, f->json, true);
	if (f->texts == AFTER && !before)
		return console_say(c, 5, f->json, false);
	if (f->texts == THREE && !before)
		return console_say(c, 5, "INFO     the host", false) &&
		       console_say(c, 5, f->json, true) && console_say(c, 5, f->json, false);
	return true;
}

#define PASSED 4u
#define META   "<ismrmrdMeta><meta><name>ImageType</name><value>ND</value></meta></ismrmrdMeta>"

static bool send_images(struct console *c)
{
	int16_t picture[32 * 32];
	bool good = true;

	for (unsigned i = 0; good && i < PASSED; i++) {
		for (unsigned p = 0; p < 32 * 32; p++)
			picture[p] = (int16_t)(p * 7 + i);
		good = console_send_image(c, picture, 32, 0, 1, META) && console_waveform(c, i);
	}
	return good;
}

/* As they were sent. */
static const char *check_passed(const struct console *c)
{
	if (c->images != PASSED || c->waveforms != PASSED)
		return "not what was sent";
	for (unsigned i = 0; i < PASSED; i++) {
		const struct console_image *m = &c->image[i];

		if (m->type != 2 || m->size[0] != 32 || m->size[1] != 32 || m->index != 1 ||
		    strcmp(m->meta, META) != 0)
			return "another header or other meta";
		for (unsigned p = 0; p < 32 * 32; p++)
			if (pixel(m, p % 32, p / 32) != (double)(int16_t)(p * 7 + i))
				return "another pixel";
	}
	return "";
}

static bool say_body(struct console *c, const struct form *f, const struct origin *o)
{
	static const float zeros[2 * 2 * SAMPLES];
	static float data[2 * 2 * SAMPLES];
	struct console_readout r = { .samples = SAMPLES, .channels = 2, .data = zeros };

	switch (f->body) {
	case LINES_ALL:
		return send_lines(c, o, f->second ? LINES / 8 : 0, LINES, false);
	case MIXED:
		return send_lines(c, o, 0, LINES, true);
	case NOISE_FIRST:
		return send_noise(c, 8, 2) && send_lines(c, o, 0, LINES, false);
	case NOISE_ONLY:
		return send_noise(c, 8, 2);
	case BODY_COIL:
		return send_noise(c, 4, 1);
	case NOTHING:
		return true;
	case CUT:
		return send_lines(c, o, 0, LINES / 2, false) && console_cut_readout(c, &r, 500);
	case IMAGES:
		return send_images(c);
	case IMAGES_AND_LINES:
		return send_lines(c, o, 0, 2, false) && send_images(c);
	case COMPRESSED:
	case COMPRESSED_ZFP:
		r.flags = FLAG(f->body == COMPRESSED ? 54 : 53);
		return console_cut_readout(c, &r, 342);
	case STOPPED:
		return send_lines(c, o, 0, LINES / 2, false);
	case EMPTY:
		r.samples = 0;
		r.counter = LINES * SLICES + 1;
		return send_lines(c, o, 0, LINES / 2, false) && console_readout(c, &r) &&
		       send_lines(c, o, LINES / 2, LINES, false);
	case NAN_SAMPLE:
		memcpy(data, zeros, sizeof(data));
		data[2 * 5] = NAN;
		r.counter = LINES * SLICES + 1;
		r.data = data;
		return send_lines(c, o, 0, LINES / 2, false) && console_readout(c, &r) &&
		       send_lines(c, o, LINES / 2, LINES, false);
	case ASK_NOISE:
		return true;
	}
	return false;
}

static bool begin_session(struct console *c, const struct form *f, const struct origin *o)
{
	char xml[8000];

	if (f->body == ASK_NOISE) /* before a scan that depends on a measurement; no header */
		return console_connect(c, port, 0) &&
		       console_say(c, 2, "<x>GadgetronNoiseCovarianceMatrix_1_2_3</x>", true);
	origin_header(xml, sizeof(xml), o);
	return console_connect(c, port, 0) &&
	       (f->config != NULL ? console_name(c, f->config)
				  : console_say(c, 2, "<gadgetronStreamConfiguration/>", true)) &&
	       say_json(c, f, true) &&
	       console_say(c, 3, f->no_xml ? "Dummy XML header" : xml, true) &&
	       say_json(c, f, false);
}

/* A second connection within the scan: the scanner's adjustment. It is served in its turn. */
static bool adjust(struct console *beside)
{
	static const struct form form = { "",         "",    AFTER, "{\"parameters\": null}",
					  NOISE_ONLY, false, false, NULL };

	return begin_session(beside, &form, &origin[0]) && send_noise(beside, 8, 2) &&
	       console_close(beside);
}

static bool is_compressed(const struct form *f)
{
	return f->body == COMPRESSED || f->body == COMPRESSED_ZFP;
}

/* Half of the lines, and CLOSE: what came, and what did not. */
static const char *check_stopped(const struct console *c)
{
	for (unsigned i = 0; i < c->images; i++)
		if (strstr(c->image[i].meta, "<name>boreside_quality</name><value>partial<") ==
			    NULL ||
		    strstr(c->image[i].meta, "<name>boreside_missing</name><value>16<") == NULL)
			return "an image of half its lines that does not say so";
	return c->images == SLICES ? "" : "not an image of each slice that was begun";
}

/* What came, where the session was not refused; "": as it should be. */
static const char *check_answer(const struct console *c, const struct form *f,
				const struct origin *o)
{
	switch (f->body) {
	case IMAGES:
	case IMAGES_AND_LINES:
		return check_passed(c);
	case NOTHING:
		return c->images != 0 || c->texts != 1 ? "not one TEXT" : "";
	case ASK_NOISE:
		return strstr(c->noise, "<name>status</name><value>failed<") == NULL ? "no answer"
										     : "";
	case NOISE_ONLY:
	case BODY_COIL:
		return c->images != 0 ? "images of an adjustment" : "";
	case STOPPED:
		return check_stopped(c);
	case LINES_ALL:
	case MIXED:
	case NOISE_FIRST:
	case CUT:
	case COMPRESSED:
	case COMPRESSED_ZFP:
	case EMPTY:
	case NAN_SAMPLE:
		break;
	}
	return check_images(c, o);
}

/* What is wrong with how a session went; "": nothing. */
static const char *judge(const struct console *c, const struct form *f, const struct origin *o)
{
	const bool scans = f->body != IMAGES && f->body != IMAGES_AND_LINES && f->body != ASK_NOISE;
	const bool refused = f->no_xml || is_compressed(f) || (o->words != NULL && scans);

	if (c->wrong[0] != '\0')
		return c->wrong;
	if (!c->closed || !c->ended)
		return "no CLOSE, or no end behind it";
	if (!wants_levels(c))
		return "words without a level";
	if (f->said != NULL && o->words == NULL && strstr(c->said, f->said) == NULL)
		return "it is not said";
	if (!refused && f->body != NOTHING && strstr(c->said, "ERROR") != NULL &&
	    f->body != BODY_COIL)
		return "an error";
	if (refused)
		return c->images != 0 || strstr(c->said, "ERROR    ") == NULL ||
				       (o->words != NULL && !f->no_xml && !is_compressed(f) &&
					strstr(c->said, o->words) == NULL)
			       ? "no refusal in words"
			       : "";
	return check_answer(c, f, o);
}

/* "": as expected. */
static const char *hold(struct console *c, const struct form *f, const struct origin *o)
{
	struct console beside = { .fd = -1 };
	static char why[200];
	bool good = begin_session(c, f, o);
	const char *wrong = "";

	if (f->second)
		good = good && send_lines(c, o, 0, LINES / 8, false) && adjust(&beside);
	/* a refusal may come before all is sent: what then cannot be sent is no matter */
	(void)(good && say_body(c, f, o) && (f->body == CUT || console_close(c)));
	if (f->body == CUT) {
		console_end(c);
		return good ? "" : "it could not be begun";
	}
	console_listen(c);
	wrong = judge(c, f, o);
	if (wrong[0] == '\0' && beside.fd >= 0) {
		console_listen(&beside);
		if (!beside.closed || beside.images != 0)
			wrong = "the adjustment beside it";
	}
	(void)snprintf(why, sizeof(why), "%s", wrong);
	console_end(&beside);
	return why;
}

/* A client that takes a byte a second of what it is to have. */
static bool begin_slow(struct mrd_client *slow)
{
	bool good = mrd_open_with(slow, port, 4096) && mrd_begin(slow, "large");

	for (unsigned i = 0; good && i < 32 * 4; i++)
		good = mrd_line(slow, i % 32, i / 32);
	return good && mrd_id(slow, MRD_CLOSE);
}

int main(void)
{
	const char *wanted = getenv("SESSIONS");
	const unsigned sessions = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : 200;
	static struct mrd_client slow;
	struct console c;
	unsigned as_expected = 0;
	int64_t sip_ns;
	unsigned sips = 0;

	seed = getenv("SEED") != NULL ? strtoull(getenv("SEED"), NULL, 10) : 29;
	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE, NULL), "a service with a bridge");
	port = mrd_port(&service, 1);
	CHECK(port > 0 && begin_slow(&slow), "a client that reads a byte a second");
	CHECK(service_until(&service, "\"active\":0"), "whose scan has ended");
	sip_ns = bs_now_ns();
	for (unsigned i = 0; i < sessions; i++) {
		const struct form *f = &forms[i % FORMS];
		const struct origin *o = &origin[(i + i / FORMS) % ORIGINS];
		const char *wrong = hold(&c, f, o);

		if (wrong[0] != '\0')
			printf("# %s, %s: %s; %u images, said: %s\n", o->name, f->name, wrong,
			       c.images, c.said);
		as_expected += wrong[0] == '\0';
		console_end(&c);
		if (bs_now_ns() - sip_ns > INT64_C(1000000000) && mrd_sip(&slow)) {
			sip_ns = bs_now_ns();
			sips++;
		}
	}
	CHECK(as_expected == sessions, "%u sessions, %u as expected", sessions, as_expected);
	printf("# the slow client took %u bytes meanwhile\n", sips);
	mrd_shut(&slow);
	return service_end(&service);
}
