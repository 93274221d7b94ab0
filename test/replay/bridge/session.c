/*
 * test/replay/bridge/session.c - MRD clients over TCP and a running service: whole sessions, whose
 * images are those of `boreside recon`; what is refused, and in which words
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include "drivers/tool/load/cfl.h"
#include "drivers/tool/load/recording.h"
#include "test/support/mrd_client.h"

#define FRAMES 3u
#define SITE                                                                                       \
	"endpoints: { archive = \"\"; images = \"ipc://run/images.ipc\"; };\n"                     \
	"overload: { spill_dir = \"spill\"; spill_mib = 16; };\n"                                  \
	"log: { dir = \"scans\"; mode = \"relaxed\"; };\n"                                         \
	"bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; pixels = \"%s\"; sessions = %u;\n"      \
	"  wait_s = %s; configs = ( { name = \"simplefft\"; protocol = \"cart\"; },\n"             \
	"  { name = \"by_header\"; } ); }; };\n" SERVICE_PROTOCOLS

static struct service service;
static int port;

static bool start(const char *pixels, unsigned sessions, const char *wait_s)
{
	char body[4096];

	(void)snprintf(body, sizeof(body), SITE, pixels, sessions, wait_s);
	CHECK(service_start_with(&service, SERVICE_PATIENT, body, NULL),
	      "a service with a bridge, %s", pixels);
	port = mrd_port(&service, 1);
	CHECK(port > 0, "it says where clients may connect");
	return port > 0;
}

static void stop(void)
{
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	CHECK(service_logged(&service, "scans of MRD clients"), "and its bridge in order");
	service_remove(&service);
}

static bool run(const char *words)
{
	char command[1024];

	(void)snprintf(command, sizeof(command), "cd %s && $BORESIDE %s >>tools 2>&1", service.dir,
		       words);
	return system(command) == 0;
}

/* ---- a recording's readouts, and the images of boreside recon ---- */

static struct bs_recording *recording;
static struct bs_cfl truth[FRAMES];

static bool prepare(void)
{
	char path[256];
	bool good = run("phantom -c site.cfg -p cart --repetitions 3 --snr 30 -o rec.h5") &&
		    run("recon -c site.cfg -p cart rec.h5 -o ref.cfl");

	(void)snprintf(path, sizeof(path), "%s/rec.h5", service.dir);
	good = good && bs_recording_open(&recording, path, NULL) == 0;
	for (unsigned i = 0; good && i < FRAMES; i++) {
		(void)snprintf(path, sizeof(path), i == 0 ? "%s/ref.cfl" : "%s/ref-%04u.cfl",
			       service.dir, i + 1);
		good = bs_cfl_read(&truth[i], path, NULL) == 0 && truth[i].size == 32 * 32;
	}
	CHECK(good, "a recording of %u frames, and its images by boreside recon", FRAMES);
	return good;
}

static void forget(void)
{
	for (unsigned i = 0; i < FRAMES; i++)
		bs_cfl_free(&truth[i]);
	(void)bs_recording_close(recording, NULL);
}

/* bytes: of one write; 0: whole parts, as clients write them. */
static bool send_readout(struct mrd_client *c, uint32_t i)
{
	struct bs_recorded a;
	unsigned char head[BS_MRD_ACQ_BYTES];
	bool good = bs_recording_read(recording, i, &a, NULL) == 0;

	if (good)
		bs_mrd_put_acq(head, &a.head);
	return good && mrd_id(c, MRD_ACQ) && mrd_send(c, head, sizeof(head)) &&
	       mrd_send(c, a.traj,
			(size_t)a.head.number_of_samples * a.head.trajectory_dimensions * 4) &&
	       mrd_send(c, a.data, (size_t)a.head.number_of_samples * a.head.active_channels * 8);
}

static bool send_waveform(struct mrd_client *c)
{
	unsigned char wave[40 + 2 * 3 * 4] = { 1 };

	wave[28] = 3;
	wave[30] = 2;
	return mrd_id(c, MRD_WAVE) && mrd_send(c, wave, sizeof(wave));
}

static bool has(const struct mrd_client *c, const char *words)
{
	return memmem(c->attributes, c->attributes_len, words, strlen(words)) != NULL;
}

static double pixel(const struct mrd_client *c, size_t i)
{
	float f;

	if (c->head.data_type != 5)
		return (double)mrd_number(c->pixels + 2 * i, 2);
	memcpy(&f, c->pixels + 4 * i, 4);
	return (double)f;
}

/* Float images are the same to the bit; int16 to half a unit of their scale. */
static bool same(const struct mrd_client *c, const struct bs_cfl *t)
{
	const char *at =
		memmem(c->attributes, c->attributes_len, "boreside_scale</name><value>", 28);
	const double scale = at != NULL ? strtod(at + 28, NULL) : 1.0;
	const double slack = c->head.data_type == 5 ? 0.0 : 0.51;
	bool good = c->head.matrix_size[0] == 32 && c->head.matrix_size[1] == 32 &&
		    c->head.matrix_size[2] == 1 && c->head.channels == 1 && scale > 0.0;

	for (size_t i = 0; good && i < 32 * 32; i++)
		good = fabs(pixel(c, i) - scale * (double)t->data[2 * i]) <= slack;
	return good;
}

static void check_words(const struct mrd_client *c)
{
	CHECK(c->attributes_len > 26 && memcmp(c->attributes, "<ismrmrdMeta>", 13) == 0 &&
		      memcmp(c->attributes + c->attributes_len - 14, "</ismrmrdMeta>", 14) == 0,
	      "attributes are one document");
	CHECK(has(c, "<name>DataRole</name><value>Image<") && has(c, "<name>WindowCenter</name>") &&
		      has(c, "<name>WindowWidth</name>") && has(c, "Keep_image_geometry") &&
		      has(c, "<name>boreside_protocol</name><value>cart<"),
	      "what consoles want stands in them");
	CHECK(has(c, "<name>ImageRowDir</name><value>1.000000000000000000</value>"
		     "<value>0.000000000000000000</value>") &&
		      has(c, "<name>ImageColumnDir</name><value>0.000000000000000000</value>"
			     "<value>1.000000000000000000</value>"),
	      "and where rows and columns point");
}

/* The recording again and again, a connection each; MRD_SCANS: how often. */
static void many(void)
{
	const char *wanted = getenv("MRD_SCANS");
	const unsigned scans = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : 20;
	const char *xml = bs_recording_xml(recording);
	unsigned right = 0;
	unsigned ended = 0;

	for (unsigned s = 0; s < scans; s++) {
		struct mrd_client c;
		unsigned images = 0;
		bool good = mrd_open(&c, port) && mrd_config(&c, "cart") &&
			    mrd_say(&c, MRD_HEADER, xml, strlen(xml), true);

		for (uint32_t i = 0; good && i < bs_recording_count(recording); i++)
			good = send_readout(&c, i);
		good = good && mrd_id(&c, MRD_CLOSE);
		while (good && (mrd_hear(&c) == MRD_IMAGE || c.id == MRD_TEXT))
			if (c.id == MRD_IMAGE && images < FRAMES)
				right += same(&c, &truth[images++]);
		ended += good && c.id == MRD_CLOSE && mrd_hear(&c) == 0;
		mrd_shut(&c);
	}
	CHECK(ended == scans && right == scans * FRAMES,
	      "%u scans one after the other: %u ended by CLOSE, %u of %u images right", scans,
	      ended, right, scans * FRAMES);
}

/* The whole recording; config as kspaceKelvin's client or as gadgetron's would name it. */
static void whole(const char *how, bool script, bool nul, const char *config, const char *json,
		  uint16_t type)
{
	struct mrd_client c;
	const char *xml = bs_recording_xml(recording);
	unsigned images = 0;
	unsigned right = 0;
	bool good = mrd_open(&c, port);

	good = good && (script ? mrd_say(&c, MRD_SCRIPT, config, strlen(config), nul)
			       : mrd_config(&c, config));
	good = good && mrd_say(&c, MRD_HEADER, xml, strlen(xml), nul);
	if (json != NULL)
		good = good && mrd_say(&c, MRD_TEXT, json, strlen(json), nul);
	good = good && send_waveform(&c);
	for (uint32_t i = 0; good && i < bs_recording_count(recording); i++)
		good = send_readout(&c, i);
	good = good && mrd_id(&c, MRD_CLOSE);
	CHECK(good, "%s: all is sent", how);
	while (mrd_hear(&c) == MRD_IMAGE || c.id == MRD_TEXT) {
		if (c.id != MRD_IMAGE)
			continue;
		right += images < FRAMES && c.head.data_type == type && same(&c, &truth[images]);
		if (images++ == 0)
			check_words(&c);
	}
	CHECK(images == FRAMES && right == FRAMES, "%s: %u images, %u as boreside recon makes them",
	      how, images, right);
	CHECK(c.id == MRD_CLOSE && mrd_hear(&c) == 0, "%s: CLOSE, then the connection ends", how);
	mrd_shut(&c);
}

/* A byte a write, up to the first readout: nothing depends on how the bytes come. */
static void in_bytes(void)
{
	char xml[SERVICE_XML_MAX];
	unsigned char all[1024 + 2 + 6 + SERVICE_XML_MAX] = { MRD_CONFIG, 0, 'c', 'a', 'r', 't' };
	const size_t n = peer_xml(xml, "cart", true);
	size_t len = 1026;
	struct mrd_client c;
	bool good = mrd_open(&c, port);

	memcpy(all + len, (unsigned char[]){ MRD_HEADER, 0, n & 0xff, (n >> 8) & 0xff, 0, 0 }, 6);
	memcpy(all + len + 6, xml, n);
	len += 6 + n;
	for (size_t i = 0; good && i < len; i++)
		good = mrd_send(&c, all + i, 1);
	for (unsigned i = 0; good && i < 32; i++)
		good = mrd_line(&c, i, 0);
	CHECK(good && mrd_id(&c, MRD_CLOSE) && mrd_images(&c) == 1,
	      "a config and a header that come byte by byte");
	mrd_shut(&c);
}

/* ---- refusals ---- */

static void refusals(void)
{
	struct mrd_client c;
	char xml[SERVICE_XML_MAX];
	const size_t n = peer_xml(xml, "cart", true);
	_Alignas(8) unsigned char acq[4096];

	CHECK(mrd_open(&c, port) && mrd_begin(&c, "nothing_like_it") && mrd_line(&c, 0, 0) &&
		      mrd_refused(&c, "no config 'nothing_like_it' here; there is 'simplefft'"),
	      "a config that nothing has the name of: %s", c.said);
	mrd_shut(&c);
	CHECK(mrd_open(&c, port) && mrd_config(&c, "cart") &&
		      mrd_say(&c, MRD_HEADER, "Dummy XML header", 16, true) && mrd_line(&c, 0, 0) &&
		      mrd_refused(&c, "BS_ERR_XML"),
	      "a header that is none: %s", c.said);
	mrd_shut(&c);
	CHECK(mrd_open(&c, port) && mrd_say(&c, MRD_HEADER, xml, n, false) &&
		      mrd_refused(&c, "a message of id 3 came before a config"),
	      "a header before the config: %s", c.said);
	mrd_shut(&c);
	CHECK(mrd_open(&c, port) && mrd_config(&c, "cart") && mrd_config(&c, "cart") &&
		      mrd_refused(&c, "id 1 came before a header"),
	      "a second config: %s", c.said);
	mrd_shut(&c);
	CHECK(mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_line(&c, 0, 0) &&
		      mrd_say(&c, MRD_HEADER, xml, n, false) &&
		      mrd_refused(&c, "id 3 came within a scan"),
	      "a second header: %s", c.said);
	mrd_shut(&c);
	CHECK(mrd_open(&c, port) && mrd_id(&c, 4711) && mrd_refused(&c, "id 4711"),
	      "an unknown id: %s", c.said);
	mrd_shut(&c);
	(void)peer_readout(acq, "cart", 1, 0);
	acq[2 + 6] |= 1u << 5; /* flag 54 */
	CHECK(mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_line(&c, 0, 0) &&
		      mrd_id(&c, MRD_ACQ) && mrd_send(&c, acq, BS_MRD_ACQ_BYTES) &&
		      mrd_refused(&c, "compressed (flag 54)"),
	      "a compressed readout within a scan: %s", c.said);
	mrd_shut(&c);
	CHECK(mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_id(&c, MRD_CLOSE) &&
		      mrd_hear(&c) == MRD_TEXT &&
		      strstr(c.said, "BS_ERR_LENGTH: the scan has a header and no readout") !=
			      NULL &&
		      mrd_hear(&c) == MRD_CLOSE && mrd_hear(&c) == 0,
	      "a scan without a readout: one text, then CLOSE: %u '%s'", c.id, c.said);
	mrd_shut(&c);
	CHECK(mrd_scan(port, "cart", 1) == 1, "after them a scan has its image");
}

/* ---- questions without a scan ---- */

static bool say_query(struct mrd_client *c, const char *words)
{
	unsigned char head[24] = { 0 };

	head[8] = 77;
	head[16] = (unsigned char)strlen(words);
	return mrd_id(c, MRD_QUERY) && mrd_send(c, head, 24) && mrd_send(c, words, strlen(words));
}

static void questions(void)
{
	static const char chain[] = "<gadgetronStreamConfiguration><property><name>noise"
				    "</name><value>GadgetronNoiseCovarianceMatrix_%s</value>"
				    "</property></gadgetronStreamConfiguration>";
	char text[400];
	struct mrd_client c;

	CHECK(mrd_open(&c, port) && mrd_id(&c, MRD_CLOSE) && mrd_hear(&c) == MRD_CLOSE &&
		      mrd_hear(&c) == 0,
	      "CLOSE alone is answered by CLOSE");
	mrd_shut(&c);
	CHECK(mrd_open(&c, port) && say_query(&c, "gadgetron::info") && say_query(&c, "x") &&
		      mrd_id(&c, MRD_CLOSE) && mrd_hear(&c) == MRD_RESPONSE &&
		      strstr((char *)c.body, "Boreside") != NULL && mrd_hear(&c) == MRD_RESPONSE &&
		      strcmp((char *)c.body, "Unknown query") == 0 && mrd_hear(&c) == MRD_CLOSE,
	      "queries are answered");
	mrd_shut(&c);
	(void)snprintf(text, sizeof(text), chain, "nobody_1");
	CHECK(mrd_open(&c, port) && mrd_say(&c, MRD_SCRIPT, text, strlen(text), false) &&
		      mrd_id(&c, MRD_CLOSE) && mrd_hear(&c) == MRD_NOISE &&
		      strstr((char *)c.body, "<name>status</name><value>failed<") != NULL &&
		      mrd_hear(&c) == MRD_CLOSE && mrd_hear(&c) == 0,
	      "the noise of an unknown measurement: failed, then CLOSE");
	mrd_shut(&c);
}

/* A scan that brings noise: its deviation is known to who asks afterwards. */
static void noise_known(const char *id, unsigned samples)
{
	struct bs_recording *scan = recording;
	struct mrd_client c;
	char path[256];
	char chain[100];
	char words[200];
	const char *at;
	double least = 0.0;
	bool good;

	(void)snprintf(chain, sizeof(chain), "GadgetronNoiseCovarianceMatrix_%s", id);
	(void)snprintf(words, sizeof(words),
		       "phantom -c site.cfg -p cart --snr 20 --noise-scan 16,%u --measurement %s "
		       "-o noise.h5",
		       samples, id);
	good = run(words);

	(void)snprintf(path, sizeof(path), "%s/noise.h5", service.dir);
	good = good && bs_recording_open(&recording, path, NULL) == 0;
	CHECK(good, "a scan with 16 readouts of noise, %u samples each", samples);
	if (!good)
		return;
	good = mrd_open(&c, port) && mrd_config(&c, "cart") &&
	       mrd_say(&c, MRD_HEADER, bs_recording_xml(recording),
		       strlen(bs_recording_xml(recording)), false);
	for (uint32_t i = 0; good && i < bs_recording_count(recording); i++)
		good = send_readout(&c, i);
	CHECK(good && mrd_id(&c, MRD_CLOSE) && mrd_images(&c) == 1, "has its image");
	mrd_shut(&c);
	(void)bs_recording_close(recording, NULL);
	recording = scan;
	good = mrd_open(&c, port) && mrd_say(&c, MRD_SCRIPT, chain, strlen(chain), false) &&
	       mrd_id(&c, MRD_CLOSE) && mrd_hear(&c) == MRD_NOISE;
	at = good ? strstr((char *)c.body, "min_sigma</name><value>") : NULL;
	least = at != NULL ? strtod(at + 23, NULL) : 0.0;
	CHECK(good && strstr((char *)c.body, "<value>success<") != NULL && least > 0.0 &&
		      mrd_hear(&c) == MRD_CLOSE,
	      "whoever asks for its noise is told: %s", good ? (char *)c.body : "nothing");
	mrd_shut(&c);
}

/* ---- more than one, and none ---- */

static void second_waits(void)
{
	struct mrd_client a;
	struct mrd_client b;
	bool good = mrd_open(&a, port) && mrd_begin(&a, "cart") && mrd_line(&a, 0, 0);

	CHECK(good && service_until(&service, "\"state\":\"scanning\""), "a scan is under way");
	good = mrd_open(&b, port) && mrd_begin(&b, "cart");
	for (unsigned i = 0; good && i < 32; i++)
		good = mrd_line(&b, i, 0);
	CHECK(good && mrd_id(&b, MRD_CLOSE), "another client sends all of its own");
	for (unsigned i = 1; good && i < 32; i++)
		good = mrd_line(&a, i, 0);
	CHECK(good && mrd_id(&a, MRD_CLOSE) && mrd_images(&a) == 1,
	      "the first one ends with its image");
	CHECK(mrd_images(&b) == 1, "then the second one has its own");
	mrd_shut(&a);
	mrd_shut(&b);
}

/* A client that goes away within a scan: the next one's begins, and the service goes on. */
static void vanishes(void)
{
	struct mrd_client c;

	CHECK(mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_line(&c, 0, 0) &&
		      mrd_line(&c, 1, 0) && service_until(&service, "\"state\":\"scanning\""),
	      "a client within a scan");
	CHECK(shutdown(c.fd, SHUT_WR) == 0 && mrd_refused(&c, "ended before its CLOSE"),
	      "that sends no more, and reads: %s", c.said);
	mrd_shut(&c);
	CHECK(service_until(&service, "\"state\":\"idle\""), "its scan ends");
	CHECK(mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_line(&c, 0, 0) &&
		      service_until(&service, "\"state\":\"scanning\""),
	      "another one");
	mrd_shut(&c);
	CHECK(service_until(&service, "\"state\":\"idle\""), "is gone: its scan ends");
	CHECK(mrd_scan(port, "simplefft", 2) == 2, "and the next one has its images");
}

/* The bridge dies: the service starts it again, and no scan of another sender's notices. */
static pid_t newest(void)
{
	static char log[1 << 20];
	const char *words = "bridge mrd: process ";
	const int fd = open(service.log, O_RDONLY);
	const ssize_t n = fd >= 0 ? read(fd, log, sizeof(log) - 1) : 0;
	long pid = 0;

	if (fd >= 0)
		(void)close(fd);
	log[n > 0 ? n : 0] = '\0';
	for (const char *at = strstr(log, words); at != NULL; at = strstr(at + 1, words))
		pid = strtol(at + strlen(words), NULL, 10);
	return (pid_t)pid;
}

static void killed(void)
{
	static struct peer p;
	const pid_t pid = newest();
	struct mrd_client c;
	bool good;

	CHECK(pid > 0 && peer_open(&p, &service) && peer_begin(&p, "cart"),
	      "a scan over the service's own endpoint");
	good = peer_acq(&p, "cart", 0, 0);
	CHECK(kill(pid, SIGKILL) == 0, "the bridge is killed");
	for (unsigned i = 1; good && i < 32; i++)
		good = peer_acq(&p, "cart", i, 0);
	CHECK(good && peer_end(&p, 32) && p.outcome.code == 0 && p.outcome.images == 1,
	      "that scan ends well");
	peer_close(&p);
	CHECK(service_logs(&service, "bridge mrd ended: signal 9"), "the service tells");
	port = mrd_port(&service, 2);
	CHECK(port > 0 && mrd_scan(port, "cart", 2) == 2, "and starts another, which serves");
	CHECK(mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_line(&c, 0, 0) &&
		      service_until(&service, "\"state\":\"scanning\""),
	      "a scan through the bridge");
	CHECK(kill(newest(), SIGKILL) == 0 && mrd_hear(&c) == 0,
	      "which is killed: the connection breaks");
	mrd_shut(&c);
	port = mrd_port(&service, 3);
	CHECK(port > 0 && mrd_scan(port, "cart", 1) == 1, "through the next one a scan goes well");
}

/* Another protocol in the site file: a reload, and the bridge knows it. */
static void reloaded(void)
{
	static char body[8192];
	char command[256];

	(void)snprintf(body, sizeof(body), SITE, "float", 1u, "60.0");
	memcpy(strstr(body, "\"brief\""), "\"carts\"", 7);
	CHECK(service_write_site(&service, SERVICE_PATIENT, body), "a protocol has another name");
	(void)snprintf(command, sizeof(command), "$BORESIDE reload -c %s >>%s/tools 2>&1",
		       service.site, service.dir);
	CHECK(system(command) == 0, "the site is reloaded");
	port = mrd_port(&service, 4);
	CHECK(port > 0 && mrd_scan(port, "carts", 1) == 1, "clients may name it");
}

/* What the status shows of the clients; before any other scan. */
static void shown(void)
{
	static char doc[200000];
	struct mrd_client c;
	bool good;

	CHECK(mrd_open(&c, port) && mrd_begin(&c, "nothing_like_it") && mrd_line(&c, 0, 0) &&
		      mrd_refused(&c, "no config 'nothing_like_it' here"),
	      "a client that does it wrong");
	mrd_shut(&c);
	CHECK(service_until(&service, ": BS_ERR_PROTOCOL: no config 'nothing_like_it' here"),
	      "the status says what the last one was told");
	good = mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_line(&c, 0, 0);
	CHECK(good && service_until(&service, "\"connected\":1,\"scans\":1,\"active\":1,"),
	      "and who is here");
	for (unsigned i = 1; good && i < 32; i++)
		good = mrd_line(&c, i, 0);
	CHECK(good && mrd_id(&c, MRD_CLOSE) && mrd_images(&c) == 1, "a scan");
	mrd_shut(&c);
	CHECK(service_until(&service, "\"connected\":0,\"scans\":1,\"active\":0,\"images\":1,"
				      "\"refused\":1,\"last_error\":\"127.0.0.1:"),
	      "is counted, and its image");
	CHECK(service_ask(&service, "text", doc, sizeof(doc)) &&
		      strstr(doc, "clients: connected 0, scans 1 (now 0), images 1, errors 1; "
				  "the last: 127.0.0.1:") != NULL,
	      "in words, too");
}

static void as_floats(void)
{
	if (!start("float", 1, "60.0"))
		return;
	shown();
	if (prepare()) {
		whole("by a row of the site's", false, true, "simplefft", NULL, 5);
		CHECK(service_until(&service, "\"waveforms\":1"), "its waveform was taken");
		whole("by the protocol's name, as a text", true, false, "cart", NULL, 5);
		whole("by parameters", false, true, "radial",
		      "{\"parameters\": {\"config\": \"cart\", \"customconfig\": \"\"}}", 5);
		whole("by the header", false, false, "by_header.xml", NULL, 5);
		many();
	}
	in_bytes();
	refusals();
	questions();
	noise_known("noise_7", 64);
	noise_known("noise_8", 1024); /* a line has 64 */
	second_waits();
	vanishes();
	killed();
	reloaded();
	forget();
	stop();
}

static void as_integers(void)
{
	struct mrd_client a;
	struct mrd_client b;

	if (!start("int16", 1, "0.0"))
		return;
	if (prepare())
		whole("int16", false, true, "simplefft", NULL, 2);
	forget();
	CHECK(mrd_open(&a, port) && mrd_begin(&a, "cart") && mrd_line(&a, 0, 0) &&
		      service_until(&service, "\"state\":\"scanning\""),
	      "a scan is under way");
	CHECK(mrd_open(&b, port) && mrd_begin(&b, "cart") && mrd_line(&b, 0, 0) &&
		      mrd_refused(&b, "1 scan of other clients did not end within 0 s"),
	      "where nobody may wait another is refused: %s", b.said);
	mrd_shut(&b);
	CHECK(kill(service.pid, SIGTERM) == 0 && mrd_id(&a, MRD_CLOSE), "a stop within a scan");
	while (mrd_hear(&a) != MRD_CLOSE && a.id != 0)
		;
	CHECK(a.id == MRD_CLOSE, "its client is told, and has CLOSE: %s", a.said);
	mrd_shut(&a);
	CHECK(service_wait(&service) == 0, "the service ends with 0");
	service_remove(&service);
}

int main(void)
{
	as_floats();
	as_integers();
	return check_done();
}
