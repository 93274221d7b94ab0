/*
 * test/replay/bridge/told.c - an MRD client that asks for answers gets each as a TEXT in JSON,
 * while it measures; one that does not ask gets none
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include "test/support/mrd_client.h"

#define NAVIGATORS 5u
#define TURN       0.3 /* radians from one navigator to the next */
#define SITE                                                                                       \
	"endpoints: { archive = \"\"; images = \"ipc://run/images.ipc\"; };\n"                     \
	"bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; }; };\n"                                \
	"answers = ( { on = \"cart\"; what = \"phase\"; deadline_ms = 60000.0; "                   \
	"} );\n" SERVICE_PROTOCOLS

static struct service service;

static bool begin(struct mrd_client *c, bool asks)
{
	static const char tail[] = "<userParameters><userParameterLong><name>boreside_answers"
				   "</name><value>1</value></userParameterLong></userParameters>"
				   "</ismrmrdHeader>";
	char xml[SERVICE_XML_MAX];
	size_t n = peer_xml(xml, "cart", true);

	if (asks) {
		n -= strlen("</ismrmrdHeader>");
		memcpy(xml + n, tail, sizeof(tail));
		n += sizeof(tail) - 1;
	}
	return mrd_config(c, "cart") && mrd_say(c, MRD_HEADER, xml, n, true);
}

/* Navigator n, from 1, has the phase of n turns. */
static bool navigator(struct mrd_client *c, unsigned n)
{
	_Alignas(8) unsigned char message[8 + 4096];
	unsigned char *payload = message + 8;
	const size_t len = peer_readout(payload, "cart", 0, 0);
	float *values = (float *)(void *)(payload + BS_MRD_ACQ_BYTES);
	struct bs_mrd_acq head;

	bs_mrd_get_acq(&head, payload);
	head.flags = BS_MRD_IS_NAVIGATION;
	head.scan_counter = 100 + n;
	bs_mrd_put_acq(payload, &head);
	for (unsigned i = 0; i < 2 * 64; i++) {
		values[2 * i] = (float)cos(TURN * n);
		values[2 * i + 1] = (float)sin(TURN * n);
	}
	message[6] = MRD_ACQ & 0xff;
	message[7] = MRD_ACQ >> 8;
	return mrd_send(c, message + 6, len + 2);
}

static void scan(int port, bool asks)
{
	const char *words = "\"numbers\": [";
	struct mrd_client c;
	unsigned answers = 0;
	double furthest = 0.0;
	bool good = mrd_open(&c, port) && begin(&c, asks);

	CHECK(good, "a client that %s begins a scan", asks ? "asks" : "does not ask");
	for (unsigned n = 1; good && n <= NAVIGATORS; n++) {
		char counter[32];
		const char *at = NULL;

		(void)snprintf(counter, sizeof(counter), "\"scan_counter\": %u,", 100 + n);
		good = navigator(&c, n);
		while (good && asks && at == NULL && mrd_hear(&c) == MRD_TEXT)
			at = strstr(c.said, counter) != NULL ? strstr(c.said, words) : NULL;
		answers += at != NULL && strncmp(c.said, "{\"boreside_answer\": {", 21) == 0 &&
			   strstr(c.said, "\"what\": \"phase\"") != NULL;
		if (at != NULL)
			furthest = fmax(furthest,
					fabs(strtod(at + strlen(words), NULL) - TURN * (n - 1)));
	}
	for (unsigned i = 0; good && i < 32; i++)
		good = mrd_line(&c, i, 0);
	good = good && mrd_id(&c, MRD_CLOSE);
	while (good && mrd_hear(&c) != MRD_CLOSE && c.id != 0)
		answers += c.id == MRD_TEXT && strstr(c.said, "boreside_answer") != NULL;
	CHECK(c.id == MRD_CLOSE, "its scan ends");
	CHECK(answers == (asks ? NAVIGATORS : 0) && furthest < 1e-6, "%u answers (%g off)", answers,
	      furthest);
	mrd_shut(&c);
}

int main(void)
{
	int port;

	if (!service_start_with(&service, SERVICE_PATIENT, SITE, NULL))
		return check_done();
	port = mrd_port(&service, 1);
	CHECK(port > 0, "a service with a bridge");
	scan(port, true);
	scan(port, false);
	CHECK(service_stop(&service) == 0, "the service ends");
	return check_done();
}
