/*
 * test/replay/kept.c - the page lists the scans of log.dir, those of the service before this one,
 * too: the newest first, so many at most, how each ended, and no patient's name
 */
/* Holds: W41 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include "board/web/kept.h"
#include "test/support/page.h"

#define NAME "Doe-Jane-Q"
#define SITE                                                                                       \
	"web: { listen = \"127.0.0.1:0\"; };\n"                                                    \
	"log: { dir = \"scans\"; mode = \"relaxed\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS

static struct service s;
static struct peer p;
static unsigned port;

/* A scan of 32 lines; of a patient with a name. */
static bool scan(void)
{
	char xml[SERVICE_XML_MAX];
	size_t n = peer_xml(xml, "cart", true);
	const char subject[] = "<subjectInformation><patientName>" NAME "</patientName>"
			       "</subjectInformation>";
	char *at = strstr(xml, "<measurementInformation>");
	bool good;

	memmove(at + sizeof(subject) - 1, at, n - (size_t)(at - xml) + 1);
	memcpy(at, subject, sizeof(subject) - 1);
	good = peer_open(&p, &s) && peer_begin_with(&p, "cart", xml, n + sizeof(subject) - 1);
	for (unsigned i = 0; good && i < 32; i++)
		good = peer_acq(&p, "cart", i, 0);
	good = good && peer_end(&p, 32) && p.outcome.code == 0;
	peer_close(&p);
	return good;
}

/* A row of the document: the newest is number 0. */
static const char *row(unsigned number)
{
	const char *at = strstr(page_text, "\"kept\":[");

	for (unsigned i = 0; at != NULL && i <= number; i++)
		at = strstr(at + 1, "{\"started\":");
	return at != NULL ? at : "";
}

static bool is(unsigned number, uint64_t session, const char *protocol, const char *end)
{
	char words[160];
	const char *at = row(number);
	const char *to = strchr(at, '}');
	const char *found;

	(void)snprintf(words, sizeof(words), "\"session\":\"%016llx\",\"protocol\":\"%s\",",
		       (unsigned long long)session, protocol);
	found = strstr(at, words);
	if (to == NULL || found == NULL || found > to)
		return false;
	(void)snprintf(words, sizeof(words), "\"end\":\"%s\"}", end);
	found = strstr(at, words);
	return found != NULL && found < to;
}

static bool restart(unsigned pages)
{
	port = 0;
	if (!service_spawn(&s, NULL) || !service_until(&s, "\"state\":\"idle\""))
		return false;
	AWAIT((port = page_port(&s, pages)) != 0);
	return port != 0;
}

/* Older than all of ours, and of nothing. */
static bool put_old(unsigned count)
{
	char path[160];
	int fd = 0;

	for (unsigned i = 0; i < count && fd >= 0; i++) {
		(void)snprintf(path, sizeof(path),
			       "%s/scans/20200131T2359%02u.000000-00000000000000%02x-00000.bslog",
			       s.dir, i % 60, i + 1);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
		if (fd >= 0)
			(void)close(fd);
	}
	return fd >= 0;
}

int main(void)
{
	uint64_t session[2] = { 0 };
	unsigned rows = 0;

	if (!service_start_with(&s, SERVICE_PATIENT, SITE, NULL)) {
		CHECK(0, "the service starts");
		service_remove(&s);
		return check_done();
	}
	AWAIT((port = page_port(&s, 1)) != 0);
	CHECK(page_has(port, "/scans.json", "\"logs\":0,\"why\":\"\",\"kept\":[]"), "none yet");
	CHECK(scan(), "a scan");
	session[0] = p.session;
	AWAIT(page_get(port, "/scans.json") && is(0, session[0], "cart", "whole"));
	CHECK(is(0, session[0], "cart", "whole"), "is listed, and whole");
	CHECK(service_stop(&s) == 0 && restart(2), "another service");
	CHECK(page_get(port, "/scans.json") && is(0, session[0], "cart", "whole"),
	      "lists the scan of the one before");
	CHECK(scan(), "another scan");
	session[1] = p.session;
	AWAIT(page_get(port, "/scans.json") && is(0, session[1], "cart", "whole"));
	CHECK(is(0, session[1], "cart", "whole") && is(1, session[0], "cart", "whole"),
	      "comes before it");
	CHECK(strstr(page_text, NAME) == NULL, "no patient's name is in it");
	CHECK(put_old(55), "many older ones");
	AWAIT(page_has(port, "/scans.json", "\"logs\":57,"));
	while (row(rows)[0] != '\0')
		rows++;
	CHECK(rows == BS_KEPT_MOST && is(0, session[1], "cart", "whole") && is(2, 55, "", "open"),
	      "the newest %u of them", rows);
	CHECK(service_stop(&s) == 0, "the service ends");
	service_remove(&s);
	return check_done();
}
