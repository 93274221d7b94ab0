/*
 * test/replay/console/scankeys.c - what a console's user sets with a scan, and what the console is
 * given back: label parameters that set keys of a protocol, in a header that the service, its log
 * and `boreside recon` read alike; those that are refused, by name; configs that nothing has the
 * name of; a volume's partitions, in their order and places; 16 bits.
 */
/* Holds: C5 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include <complex.h>
#include <math.h>
#include <stdarg.h>

#include "test/peers/console.h"
#include "test/support/mrd_client.h"

#define LINES      32u
#define SAMPLES    64u
#define PARTITIONS 4u
#define STEP_MM    5.0f
#define FLAG(n)    (UINT64_C(1) << ((n)-1))

#define GRID                                                                                       \
	"method = \"cartesian\"; matrix = [32, 32]; encoded = [64, 32, 1]; coils = 2;\n"           \
	"  samples = 64; readouts = \"header\"; silence_ms = 60000.0; "
#define SITE                                                                                       \
	"endpoints: { archive = \"\"; images = \"ipc://run/images.ipc\"; };\n"                     \
	"overload: { spill_dir = \"spill\"; spill_mib = 64; };\n"                                  \
	"log: { dir = \"scans\"; mode = \"relaxed\"; };\n" SERVICE_SINKS                           \
	"bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; wait_s = 3600.0; idle_s = 3600.0;\n"    \
	"  configs = ( { name = \"openrecon\"; protocol = \"solve\"; } ); }; };\n"                 \
	"protocols = ( { name = \"solve\"; " GRID "parallel = \"sense\";\n"                        \
	"  image: { maps = \"walsh\"; }; ls: { lambda = 1e-3; iterations = 20; };\n"               \
	"  scan_keys = [\"ls.iterations\"]; },\n"                                                  \
	"{ name = \"plain\"; " GRID "},\n"                                                         \
	"{ name = \"flow\"; " GRID "sets = 2; image: { combine = \"sense\"; maps = \"walsh\";\n"   \
	"  output = \"velocity\"; }; scan_keys = [\"image.venc\"]; },\n"                           \
	"{ name = \"volume\"; method = \"cartesian\"; matrix = [32, 32, 4];\n"                     \
	"  encoded = [64, 32, 4]; coils = 2; samples = 64; readouts = \"header\";\n"               \
	"  silence_ms = 60000.0; } );\n"

static struct service service;
static int port;

/* ---- what is sent ---- */

struct scan {
	const char *config; /* NULL: "solve" */
	const char *json;
	bool before;               /* it comes before the header */
	const char *vendor;        /* NULL: Siemens */
	const char *user;          /* elements of userParameters; NULL: there is none */
	const char *prefix;        /* the namespace's, with its colon; NULL: none */
	unsigned partitions, sets; /* 0: 1 */
	bool comment;              /* behind the header's end */
	bool half;                 /* every second line beside the central ones is left out */
};

#define HALF                                                                                       \
	"<parallelImaging><accelerationFactor><kspace_encoding_step_1>2</kspace_encoding_step_1>"  \
	"<kspace_encoding_step_2>1</kspace_encoding_step_2></accelerationFactor>"                  \
	"<calibrationMode>embedded</calibrationMode></parallelImaging>"

static const char *header(const struct scan *s)
{
	static char xml[6000];
	char user[1000] = "";
	const char *p = s->prefix != NULL ? s->prefix : "";

	if (s->user != NULL)
		(void)snprintf(user, sizeof(user), "<%suserParameters>%s</%suserParameters>", p,
			       s->user, p);
	(void)snprintf(
		xml, sizeof(xml),
		"<?xml version=\"1.0\"?><%sismrmrdHeader "
		"xmlns%s%.*s=\"http://www.ismrm.org/ISMRMRD\">"
		"<acquisitionSystemInformation><systemVendor>%s</systemVendor><receiverChannels>2"
		"</receiverChannels></acquisitionSystemInformation><encoding><encodedSpace>"
		"<matrixSize><x>64</x><y>32</y><z>%u</z></matrixSize><fieldOfView_mm><x>384</x>"
		"<y>192</y><z>%g</z></fieldOfView_mm></encodedSpace><reconSpace><matrixSize><x>32"
		"</x><y>32</y><z>%u</z></matrixSize><fieldOfView_mm><x>192</x><y>192</y><z>%g</z>"
		"</fieldOfView_mm></reconSpace><encodingLimits><kspace_encoding_step_1><minimum>0"
		"</minimum><maximum>31</maximum><center>16</center></kspace_encoding_step_1>"
		"<kspace_encoding_step_2><minimum>0</minimum><maximum>%u</maximum><center>%u"
		"</center></kspace_encoding_step_2><set><minimum>0</minimum><maximum>%u</maximum>"
		"<center>0</center></set></encodingLimits><trajectory>cartesian</trajectory>%s"
		"</encoding>%s</%sismrmrdHeader>%s",
		p, p[0] != '\0' ? ":" : "", (int)strlen(p) - (p[0] != '\0'), p, s->vendor,
		s->partitions, (double)(STEP_MM * (float)s->partitions), s->partitions,
		(double)(STEP_MM * (float)s->partitions), s->partitions - 1, s->partitions / 2,
		s->sets - 1, s->half ? HALF : "", user, p,
		s->comment ? "<!-- </userParameters></ismrmrdHeader> -->" : "");
	return xml;
}

/* A point in each partition, brighter from one to the next. */
static const struct {
	unsigned x, y;
	double bright;
} points[PARTITIONS] = { { 8, 10, 1.0 }, { 20, 6, 0.8 }, { 13, 25, 0.6 }, { 4, 4, 0.4 } };

static void fill(float *data, unsigned line, unsigned partition, unsigned of, unsigned set)
{
	const double pi = acos(-1.0);

	for (unsigned i = 0; i < SAMPLES; i++) {
		double complex v[2] = { 0.0 };

		for (unsigned p = 0; p < PARTITIONS; p++) {
			const double z =
				of > 1 ? ((double)partition - of / 2) * ((double)p - of / 2) : 0;
			const double complex w =
				points[p].bright * cexp(0.5 * I * set) /* what moves */
				*
				cexp(-2.0 * I * pi *
				     (((double)i - 32.0) * ((double)points[p].x - 16.0) / SAMPLES +
				      ((double)line - 16.0) * ((double)points[p].y - 16.0) / LINES +
				      z / of));

			v[0] += w;
			v[1] += w * (of > 1 ? 0.5 * I : 0.5 * I * (1.0 + p));
		}
		for (unsigned c = 0; c < 2; c++) {
			data[2 * (c * SAMPLES + i)] = (float)creal(v[c]);
			data[2 * (c * SAMPLES + i) + 1] = (float)cimag(v[c]);
		}
	}
}

static bool send_lines(struct console *c, const struct scan *s)
{
	const unsigned all = LINES * s->partitions * s->sets;
	float data[2 * 2 * SAMPLES];
	bool good = true;

	for (unsigned i = 0; good && i < all; i++) {
		struct console_readout r = { .counter = i + 1,
					     .samples = SAMPLES,
					     .channels = 2,
					     .center = 32,
					     .line = (uint16_t)(i % LINES),
					     .partition = (uint16_t)(i / LINES % s->partitions),
					     .set = (uint16_t)(i / LINES / s->partitions),
					     .dwell_us = 5.0f,
					     .position = { 3.0f, -7.0f, 20.0f },
					     .read = { -1.0f, 0.0f, 0.0f },
					     .phase = { 0.0f, 1.0f, 0.0f },
					     .slice_dir = { 0.0f, 0.0f, 1.0f },
					     .data = data };

		if (s->half && r.line % 2 == 1 && (r.line < 8 || r.line >= 24))
			continue;
		if (s->half && r.line >= 8 && r.line < 24)
			r.flags = r.line % 2 == 1 ? FLAG(20) : FLAG(21);
		fill(data, r.line, r.partition, s->partitions, r.set);
		good = console_readout(c, &r);
	}
	return good;
}

/* A session, of which c holds what came. */
static void hold(struct console *c, const struct scan *given)
{
	struct scan s = *given;
	bool good;

	s.config = s.config != NULL ? s.config : "solve";
	s.vendor = s.vendor != NULL ? s.vendor : "SIEMENS";
	s.partitions += s.partitions == 0;
	s.sets += s.sets == 0;
	good = console_connect(c, port, 0) && console_name(c, s.config);
	if (good && s.before)
		good = console_say(c, 5, s.json, true);
	good = good && console_say(c, 3, header(&s), true);
	if (good && !s.before)
		good = console_say(c, 5, s.json, false);
	/* a refusal may come before all is sent */
	(void)(good && send_lines(c, &s) && console_close(c));
	console_listen(c);
	CHECK(good && c->wrong[0] == '\0' && c->closed, "'%s' is answered by CLOSE: %s", s.config,
	      c->wrong);
}

/* ---- what is made of the answer ---- */

__attribute__((format(printf, 2, 3))) static bool means(const struct console_image *m,
							const char *fmt, ...)
{
	char words[200];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	return strstr(m->meta, words) != NULL;
}
#define SAYS(m, name, value) means(m, "<name>%s</name><value>%s</value>", name, value)

static double pixel(const struct console_image *m, unsigned x, unsigned y, unsigned z)
{
	const unsigned char *p = m->pixels + 2 * ((z * (size_t)m->size[1] + y) * m->size[0] + x);

	return m->type == 1 ? (double)(p[0] | p[1] << 8) : (double)(int16_t)(p[0] | p[1] << 8);
}

/* So many images, each whole, that say these keys; words: in what was said. */
static void takes(const char *what, const struct scan *s, unsigned images, const char *keys,
		  const char *words)
{
	struct console c;

	hold(&c, s);
	CHECK(c.images == images && strstr(c.said, "ERROR") == NULL, "%s: %u images; %s", what,
	      c.images, c.said);
	CHECK(strstr(c.said, words) != NULL, "%s: it says '%s': %s", what, words, c.said);
	for (unsigned i = 0; i < c.images; i++)
		CHECK(SAYS(&c.image[i], "boreside_quality", "complete") &&
			      (keys[0] != '\0' ? SAYS(&c.image[i], "boreside_scan_keys", keys)
					       : !means(&c.image[i], "boreside_scan_keys")),
		      "%s: image %u says '%s'", what, i, keys);
	console_end(&c);
}

static void refuses(const char *what, const struct scan *s, const char *words)
{
	struct console c;

	hold(&c, s);
	CHECK(c.images == 0 && strstr(c.said, "ERROR    ") != NULL && strstr(c.said, words) != NULL,
	      "%s: refused with '%s': %s", what, words, c.said);
	console_end(&c);
}

#define PARAMETERS(p) "{\"version\": \"1.1\", \"parameters\": {" p "}}"
#define DOUBLE(n, v)                                                                               \
	"<userParameterDouble><name>" n "</name><value>" v "</value></userParameterDouble>"
#define SET(json_, ...) (&(struct scan){ .json = PARAMETERS(json_), __VA_ARGS__ })

static void iterations(void)
{
	static const char out[] = "ls.iterations of this scan is no number";
	static const char beyond[] = "protocol 'solve' takes 1 to 20, whole";
	struct console few;
	struct console all;

	takes("a number", SET("\"iterations\": 3"), 1, "ls.iterations 3", "");
	takes("a text", SET("\"iterations\": \"3.0\"", .before = true), 1, "ls.iterations 3", "");
	takes("as many as are armed", SET("\"iterations\": 20"), 1, "ls.iterations 20", "");
	takes("none", SET("\"iterations\": null, \"config\": \"solve\""), 1, "", "");
	takes("by Open Recon's name", SET("\"iterations\": 4", .config = "openrecon"), 1,
	      "ls.iterations 4", "");
	takes("behind the user's own",
	      SET("\"iterations\": 2", .user = DOUBLE("a", "1"), .prefix = "m:", .comment = true),
	      1, "ls.iterations 2", "");
	takes("in the header", SET("", .user = DOUBLE("boreside_iterations", "5")), 1,
	      "ls.iterations 5", "");
	refuses("too many", SET("\"iterations\": 21"), beyond);
	refuses("none at all", SET("\"iterations\": 0"), beyond);
	refuses("a fraction", SET("\"iterations\": 2.5"), beyond);
	refuses("below", SET("\"iterations\": \"-3\""), beyond);
	refuses("words", SET("\"iterations\": \"many\""), out);
	refuses("a boolean", SET("\"iterations\": true"), out);
	refuses("a list", SET("\"iterations\": [3]"), out);
	takes("an id on no list", SET("\"lambda\": 3"), 1, "", "WARNING  parameters 'lambda': not");
	takes("a protocol without a list", SET("\"iterations\": 3", .config = "plain"), 1, "",
	      "WARNING  parameters 'iterations': not used, scan_keys of protocol 'plain'");
	refuses("it in the header",
		SET("", .config = "plain", .user = DOUBLE("boreside_iterations", "5")),
		"ls.iterations of this scan: scan_keys of protocol 'plain' does not list it");
	hold(&few, SET("\"iterations\": 1", .half = true));
	hold(&all, SET("\"iterations\": 20", .half = true));
	CHECK(few.images == 1 && all.images == 1 &&
		      SAYS(&few.image[0], "boreside_iterations", "1") &&
		      few.image[0].bytes == all.image[0].bytes &&
		      memcmp(few.image[0].pixels, all.image[0].pixels, few.image[0].bytes) != 0,
	      "fewer iterations are another image");
	console_end(&few);
	console_end(&all);
}

static void velocities(void)
{
	const char *header_says = DOUBLE("VENC_0", "100");
	struct console c;

	takes("a VENC", SET("\"venc\": \"60.0\"", .config = "flow", .sets = 2), 2, "image.venc 60",
	      "");
	takes("the header's own VENC",
	      SET("\"venc\": 100", .config = "flow", .sets = 2, .user = header_says), 2,
	      "image.venc 100", "");
	hold(&c, SET("\"venc\": 60", .config = "flow", .sets = 2));
	CHECK(c.images == 2 && c.image[0].series != c.image[1].series &&
		      SAYS(&c.image[0], "DataRole", "Image") &&
		      SAYS(&c.image[1], "DataRole", "Quantitative") &&
		      SAYS(&c.image[1], "boreside_venc", "60") && c.image[1].kind == 2 &&
		      fabs(pixel(&c.image[1], 8, 10, 0) - (2047.5 + 0.5 / acos(-1.0) * 2047.5)) <=
			      2.0,
	      "a velocity of half a radian, in a series of its own");
	console_end(&c);
	refuses("another than the header's",
		SET("\"venc\": 60", .config = "flow", .sets = 2, .user = header_says),
		"image.venc of this scan is 60 cm/s, VENC_0 of its header 100");
	refuses("a VENC of nothing", SET("\"venc\": 0", .config = "flow", .sets = 2),
		"protocol 'flow' takes 0.001 to 100000");
}

/* ---- volumes ---- */

/* Partition z of the object, and nothing else, at this scale. */
static bool shows(const struct console_image *m, unsigned at, unsigned z, double scale)
{
	for (unsigned y = 0; y < 32; y++)
		for (unsigned x = 0; x < 32; x++) {
			const bool is = points[z].x == x && points[z].y == y;

			if (fabs(pixel(m, x, y, at) - (is ? points[z].bright * scale : 0.0)) > 8.0)
				return false;
		}
	return true;
}

static void apart(const char *what, const struct scan *s, unsigned type, double top)
{
	struct console c;

	hold(&c, s);
	CHECK(c.images == PARTITIONS, "%s: %u images; %s", what, c.images, c.said);
	for (unsigned i = 0; i < c.images; i++) {
		const struct console_image *m = &c.image[i];

		CHECK(m->type == type && m->size[2] == 1 && m->index == i + 1 && m->slice == i &&
			      m->series == c.image[0].series && shows(m, 0, i, top),
		      "%s: partition %u, type %u, index %u, slice %u", what, i, m->type, m->index,
		      m->slice);
		CHECK(fabsf(m->position[2] - (20.0f + ((float)i - 1.5f) * STEP_MM)) < 1e-3f &&
			      fabsf(m->position[0] - 3.0f) < 1e-3f &&
			      fabsf(m->fov[2] - STEP_MM) < 1e-3f,
		      "%s: partition %u lies at %g mm", what, i, (double)m->position[2]);
	}
	console_end(&c);
}

static void volumes(void)
{
	static const char bits[] = "<userParameterLong><name>BitsStored</name><value>16</value>"
				   "</userParameterLong>";
	struct console c;

	apart("Siemens' console", SET("", .config = "volume", .partitions = PARTITIONS), 2, 4095.0);
	apart("of 16 bits", SET("", .config = "volume", .partitions = PARTITIONS, .user = bits), 1,
	      32767.0);
	hold(&c, SET("", .config = "volume", .partitions = PARTITIONS, .vendor = "GE"));
	CHECK(c.images == 1 && c.image[0].size[2] == PARTITIONS &&
		      fabsf(c.image[0].position[2] - 20.0f) < 1e-3f,
	      "any other gets one volume");
	for (unsigned i = 0; c.images == 1 && i < PARTITIONS; i++)
		CHECK(shows(&c.image[0], i, i, 4095.0), "partition %u of it", i);
	console_end(&c);
}

/* ---- configs without a row ---- */

static void names(void)
{
	takes("the only protocol for such a header",
	      SET("", .config = "t1_mprage", .partitions = PARTITIONS), PARTITIONS, "",
	      "INFO     config 't1_mprage' is none of this site's: protocol volume");
	takes("without a name", SET("", .config = "", .partitions = PARTITIONS), PARTITIONS, "",
	      "");
	refuses("two that would do", SET("", .config = "t2_tse"),
		"no config 't2_tse' here; there is 'openrecon', 'solve', 'plain', 'flow', "
		"'volume'");
	refuses("two, without a name", SET("", .config = ""), "no config is named");
}

/* What the service made is what `boreside recon` makes of the scan's log. */
static void replays(void)
{
	char command[512];

	(void)snprintf(
		command, sizeof(command),
		"cd %s && log=$(ls scans/*.bslog | head -n 1) && $BORESIDE recon -c site.cfg "
		"-p solve \"$log\" -o again.cfl >tools 2>&1 && cmp again.cfl \"$(ls -tr out/*.cfl "
		"| head -n 1)\" >>tools 2>&1",
		service.dir);
	CHECK(system(command) == 0,
	      "a log gives the bytes that the service gave, set keys and all");
}

/* By what init makes of a log, a scan that sets keys is taken as the service took it. */
static void begins(const char *what, const char *says, const char *keys)
{
	char command[900];

	(void)snprintf(
		command, sizeof(command),
		"cd %s && for log in scans/*.bslog; do grep -aq '%s' \"$log\" && break; done;"
		" $BORESIDE init --from \"$log\" --force -o init.cfg >tools 2>&1 &&"
		" grep -q 'scan_keys = \\[%s\\];' init.cfg && "
		"$BORESIDE recon -c init.cfg \"$log\" -o init.h5 >>tools 2>&1 &&"
		" grep -aq '<name>boreside_scan_keys</name>' init*.h5",
		service.dir, says, keys);
	CHECK(system(command) == 0, "%s: init's protocol takes the scan and lists %s", what, keys);
}

int main(void)
{
	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE, NULL), "a service with a bridge");
	port = mrd_port(&service, 1);
	CHECK(port > 0, "it says where clients may connect");
	if (port <= 0)
		return check_done();
	takes("fewer iterations, logged", SET("\"iterations\": 3", .half = true), 1,
	      "ls.iterations 3", "");
	iterations();
	velocities();
	volumes();
	names();
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	replays();
	begins("iterations", "boreside_iterations</name><value>3<", "\"ls.iterations\"");
	begins("all lines, iterations", "boreside_iterations</name><value>5<", "\"ls.iterations\"");
	begins("a VENC", "boreside_venc</name><value>60<", "\"image.venc\"");
	service_remove(&service);
	return check_done();
}
