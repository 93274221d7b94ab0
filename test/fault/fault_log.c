/*
 * test/fault/fault_log.c - a service that logs its scans, killed at random moments: what its sender
 * was told is durable is in the log, counted by the sender's own books. A full disk, and images
 * from the log: test/replay/serve_log.sh
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/stat.h>

#include "drivers/log/name.h"
#include "drivers/log/reader.h"
#include "test/support/service.h"

#define READOUTS 1600u /* 50 frames */
#define SITE     SERVICE_SINKS "log: { dir = \"logs\"; resume_s = 0.0; };\n" SERVICE_PROTOCOLS

static struct service service;
static struct peer p;

/* Of the logs of one session: which numbers are there. */
static struct {
	bool has[READOUTS + 2], sealed;
	unsigned count, twice, damaged, logs, mode;
} found;

static void read_one(const char *path)
{
	const unsigned char *payload;
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_fail why = { 0 };
	struct stat st = { 0 };
	struct bs_wire w;
	int rc = bs_log_open(&r, path, &why);

	if (rc == 0 && bs_log_begins(r)->session == p.session) {
		found.logs++;
		while ((rc = bs_log_next(r, &m, &why)) == 1) {
			found.damaged += bs_wire_decode(&w, m.bytes, m.len, &payload, &why) != 0;
			if (w.seq > READOUTS + 1)
				continue;
			found.twice += found.has[w.seq];
			found.has[w.seq] = true;
			found.count++;
		}
		found.sealed = rc == 0 && bs_log_end(r) == BS_LOG_END_SEALED;
		found.mode = stat(path, &st) == 0 ? st.st_mode & 0777u : 0;
	}
	if (rc != 0) {
		printf("# %s\n", why.text);
		found.damaged++;
	}
	bs_log_close(r);
}

/* Every log's first file; the reader finds the others. */
static void read_logs(void)
{
	char path[sizeof(service.dir) + BS_LOG_NAME + 16];
	struct dirent *e;
	uint32_t index;
	size_t stem;
	DIR *d;

	memset(&found, 0, sizeof(found));
	(void)snprintf(path, sizeof(path), "%s/logs", service.dir);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL)
		if (bs_log_split(e->d_name, &stem, &index) && index == 0) {
			(void)snprintf(path, sizeof(path), "%s/logs/%.63s", service.dir, e->d_name);
			read_one(path);
		}
	if (d != NULL)
		(void)closedir(d);
}

/* Of what the sender was told is durable, how much no log has. */
static unsigned lost(uint64_t durable)
{
	unsigned n = 0;

	read_logs();
	for (uint64_t i = 0; i <= durable && i < READOUTS + 2; i++)
		n += !found.has[i];
	return n;
}

static bool feed(unsigned *next, unsigned until)
{
	bool good = true;

	while (good && *next < until) {
		good = peer_acq(&p, "cart", *next % 32, *next / 32);
		++*next;
		while (*next > p.ack.durable + 400 && peer_hear(&p, 1000))
			;
		while (peer_hear(&p, 0))
			;
	}
	return good;
}

/* False: the disk was slow for half a second at its end, which the outcome says. */
static bool whole(void)
{
	const int64_t limit = await_limit();
	unsigned next = 0;

	CHECK(peer_begin(&p, "cart") && feed(&next, READOUTS), "a scan of %u readouts", READOUTS);
	while ((p.ack.durable < READOUTS || p.ack.unprotected > 0) && bs_now_ns() < limit)
		(void)peer_hear(&p, 100);
	CHECK(p.ack.durable == READOUTS && p.ack.held == READOUTS && p.ack.unprotected == 0 &&
		      p.ack.log == BS_WIRE_LOG_DURABLE,
	      "all are durable while the scan is open (%llu)", (unsigned long long)p.ack.durable);
	CHECK(lost(READOUTS) == 0 && !found.sealed && found.damaged == 0, "and in the log");
	CHECK(peer_end(&p, READOUTS) && p.outcome.code == 0 && p.outcome.images == READOUTS / 32,
	      "its outcome: %s", p.outcome.text);
	if (strstr(p.outcome.text, " lacks ") != NULL)
		return false;
	read_logs();
	CHECK(found.count == READOUTS + 2 && found.sealed && found.twice == 0 && found.logs == 1 &&
		      found.mode == 0640 && strstr(p.outcome.text, "log 20") != NULL &&
		      strstr(p.outcome.text, "-00000" BS_LOG_SUFFIX) != NULL,
	      "sealed, each message once, of mode %o", found.mode);
	return true;
}

static void test_whole(void)
{
	for (int i = 0; i < 10; i++)
		if (whole())
			return;
	CHECK(false, "a log is sealed at its scan's end");
}

/* kill -9 of a worker, or of the service, at a random readout. */
static void test_kill(const char *whom, unsigned at)
{
	char where[64];
	unsigned next = 0;
	uint64_t told;
	pid_t pid = service.pid;

	(void)snprintf(where, sizeof(where), "\"name\":\"%s\",\"pid\"", whom);
	if (!peer_begin(&p, "cart") || !feed(&next, at)) {
		CHECK(false, "a scan begins");
		return;
	}
	if (strcmp(whom, "supervisor") != 0)
		pid = (pid_t)service_number(&service, where, "pid");
	if (pid <= 1) { /* the status did not answer; -1 would be every process */
		CHECK(false, "%s has a process", whom);
		return;
	}
	while (p.ack.durable == 0 && peer_hear(&p, AWAIT_MS)) /* something is known to be there */
		;
	(void)feed(&next, at + 20); /* under way */
	(void)kill(pid, SIGKILL);
	while (peer_hear(&p, 50)) /* what had been said before */
		;
	told = p.ack.durable;
	CHECK(told > 0 && lost(told) <= p.ack.unprotected && found.damaged == 0,
	      "%s killed after %u readouts: %llu were said to be durable, %llu of them to be in no "
	      "log; the others are",
	      whom, at, (unsigned long long)told, (unsigned long long)p.ack.unprotected);
	if (pid == service.pid) {
		(void)service_wait(&service);
		CHECK(service_spawn(&service, NULL) &&
			      service_until(&service, "\"state\":\"idle\""),
		      "it starts again");
		return;
	}
	CHECK(service_reaches(&service, where, "restarts", 1) >= 1 &&
		      service_until(&service, "\"phase\":\"ready\""),
	      "%s is replaced", whom);
	peer_close(&p);
	CHECK(peer_open(&p, &service), "a new connection");
}

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
	uint64_t seed = 12;
	char logs[96];

	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE, NULL), "a service that logs");
	(void)snprintf(logs, sizeof(logs), "%s/logs", service.dir);
	CHECK(access(logs, W_OK) == 0 && peer_open(&p, &service), "a sender");
	test_whole();
	for (int i = 0; i < 3; i++) {
		static const char *const whom[] = { "ingest", "recon", "supervisor" };

		test_kill(whom[i % 3], 50 + (unsigned)(check_uniform(&seed) * 1200));
	}
	CHECK(service_number(&service, "\"log\":", "lacking") == 0, "no log lacks anything");
	test_removed(logs);
	peer_close(&p);
	CHECK(service_stop(&service) == 0, "the service ends");
	service_remove(&service);
	test_returns();
	return check_done();
}
