/*
 * test/fault/fault_log.c - a service that logs its scans: somebody removes the logs' folder, a disk
 * errs and is well again. A full disk, and images from the log: test/replay/serve_log.sh; that what
 * was durable is in the log when a process is killed: fault_campaign.c, test/simulate
 */
/* Holds: L2 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "test/support/service.h"

#define SITE SERVICE_SINKS "log: { dir = \"logs\"; resume_s = 0.0; };\n" SERVICE_PROTOCOLS

static struct service service;
static struct peer p;

/* False: the disk was slow for half a second at an end, so that a log lacks more than that. */
static bool removed(const char *logs)
{
	char words[400];
	bool exact;

	CHECK(peer_begin(&p, "cart"), "a scan begins");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	while ((p.ack.durable < 32 || p.ack.unprotected > 0) && peer_await(&p, BS_WIRE_ACK))
		continue;
	CHECK(p.ack.durable == 32 && p.ack.unprotected == 0, "its lines are durable");
	/* at once, and again where a spare file was made in it meanwhile */
	(void)snprintf(
		words, sizeof(words),
		"mv '%s' '%s.gone' && for i in 1 2 3 4 5; do rm -rf '%s.gone' && break; done", logs,
		logs, logs);
	CHECK(system(words) == 0, "the folder of logs is removed");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 1);
	CHECK(peer_end(&p, 64) && p.outcome.code == 0 && p.outcome.images == 2 &&
		      (strstr(p.outcome.text, " lacks ") != NULL ||
		       strstr(p.outcome.text, "no log: ") != NULL),
	      "its outcome says what is in no log: %s", p.outcome.text);
	exact = strstr(p.outcome.text, " lacks 33 messages") != NULL;
	CHECK(access(logs, W_OK) == 0 && service_logs(&service, "was removed"), "it is made again");
	CHECK(peer_good_scan(&p, "cart", 1) && strstr(p.outcome.text, "log") != NULL,
	      "and has the next scan: %s", p.outcome.text);
	return exact && strstr(p.outcome.text, "lacks") == NULL &&
	       strstr(p.outcome.text, "no log: ") == NULL;
}

/* Somebody removes the folder while a scan is logged: its outcome says so, and it is made again. */
static void test_removed(const char *logs)
{
	for (int i = 0; i < 10; i++)
		if (removed(logs))
			return;
	CHECK(false, "what the log lacks is what was removed with it");
}

/* A disk that errs and is well again: its sender hears that nothing is unprotected any more. */
static void test_returns(void)
{
	char hook[512];
	char gate[] = "/tmp/boreside-eio-XXXXXX";
	const int64_t limit = await_limit();
	int fd;

	(void)snprintf(hook, sizeof(hook), "%s/test/support/block_hook.so",
		       getenv("BUILD") ? getenv("BUILD") : "");
	if (CHECK_SANITIZED || access(hook, R_OK) != 0) {
		SKIP("no %s, or a library preloaded before the sanitizer's own", hook);
		return;
	}
	fd = mkstemp(gate); /* its name */
	CHECK(fd >= 0 && close(fd) == 0 && unlink(gate) == 0 && setenv("EIO_HOOK", gate, 1) == 0,
	      "a gate");
	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE, hook) &&
		      peer_open(&p, &service) && peer_begin(&p, "cart"),
	      "a scan begins");
	fd = open(gate, O_WRONLY | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0 && close(fd) == 0, "its disk errs");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, 0);
	while ((p.ack.held < 32 || p.ack.unprotected == 0) && bs_now_ns() < limit)
		(void)peer_hear(&p, 100);
	CHECK(p.ack.durable == 32 && p.ack.unprotected > 0, "%llu are unprotected",
	      (unsigned long long)p.ack.unprotected);
	CHECK(unlink(gate) == 0, "the disk is well again");
	while (p.ack.unprotected > 0 && bs_now_ns() < limit)
		(void)peer_hear(&p, 100);
	CHECK(p.ack.unprotected == 0 && p.ack.durable == 32, "its sender hears that: %llu are",
	      (unsigned long long)p.ack.unprotected);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0 && strstr(p.outcome.text, "lacks") == NULL,
	      "and the log has all: %s", p.outcome.text);
	peer_close(&p);
	CHECK(service_stop(&service) == 0, "the service ends");
	service_remove(&service);
}

int main(void)
{
	char logs[96];

	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE, NULL), "a service that logs");
	(void)snprintf(logs, sizeof(logs), "%s/logs", service.dir);
	CHECK(access(logs, W_OK) == 0 && peer_open(&p, &service), "a sender");
	test_removed(logs);
	peer_close(&p);
	CHECK(service_stop(&service) == 0, "the service ends");
	service_remove(&service);
	test_returns();
	return check_done();
}
