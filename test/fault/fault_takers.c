/*
 * test/fault/fault_takers.c - what takers did not get is in the outcome, in the status and in the
 * log, whatever the policy and however emit ends; an emit that cannot start ends without a crash
 */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "test/support/service.h"

#define BAD 300u

static struct service service;
static struct peer p;

static long taker(const char *name, const char *what)
{
	char where[160];

	(void)snprintf(where, sizeof(where), "\"consumer\":\"%s", name);
	return service_number(&service, where, what);
}

/* Waits until that number is at least this; the last one that was seen. */
static long reaches(const char *name, const char *what, long least)
{
	char where[160];

	(void)snprintf(where, sizeof(where), "\"consumer\":\"%s", name);
	return service_reaches(&service, where, what, least);
}

static bool start(const char *body)
{
	bool up = service_start_with(&service, SERVICE_PATIENT, body, NULL);

	CHECK(up && peer_open(&p, &service), "the service starts");
	return up;
}

static void stop(void)
{
	peer_close(&p);
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	service_remove(&service);
}

static void frames(unsigned n)
{
	for (unsigned f = 0; f < n; f++)
		for (unsigned i = 0; i < 32; i++)
			(void)peer_acq(&p, "cart", i, f);
}

/* Policy wait: an archive that never connected is not waited for; its images are shed, and that is
 * said. */
static void test_wait(void)
{
	if (!start(SERVICE_SINKS SERVICE_PROTOCOLS))
		return;
	CHECK(peer_good_scan(&p, "cart", 5), "a scan whose images go to files");
	CHECK(p.outcome.images == 5 && p.outcome.undelivered == 5,
	      "all 5 were given to files, the archive got none: %u undelivered",
	      p.outcome.undelivered);
	CHECK(service_number(&service, "\"scan\":", "undelivered") == 5 &&
		      taker("archive", "shed") == 5 && reaches("cfl", "handed", 5) == 5,
	      "the status says the same");
	CHECK(service_logs(&service, "archive is not there"), "and the log");
	stop();
}

/* A sink whose folder is gone, written by the waiting policy: it is made again where it can be. */
static void test_refused(void)
{
	char from[160];
	char to[160];
	char words[192];

	if (!start("endpoints: { archive = \"\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS))
		return;
	(void)snprintf(from, sizeof(from), "%s/out", service.dir);
	(void)snprintf(to, sizeof(to), "%s/away", service.dir);
	CHECK(rename(from, to) == 0 && close(open(from, O_WRONLY | O_CREAT, 0600)) == 0,
	      "somebody puts a file in the place of the sink's folder");
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	frames(4);
	(void)peer_end(&p, 4 * 32);
	CHECK(p.outcome.images == 0 && p.outcome.undelivered == 4 && p.outcome.code == BS_ERR_IO &&
		      strstr(p.outcome.text, "Not a directory") != NULL,
	      "no image was taken: %u undelivered, \"%s\"", p.outcome.undelivered, p.outcome.text);
	(void)snprintf(words, sizeof(words), "\"refusal\":\"%s/", from);
	CHECK(service_until(&service, words), "the status says why, too");
	CHECK(unlink(from) == 0 && peer_good_scan(&p, "cart", 2) && p.outcome.undelivered == 0,
	      "without either, the folder is made again: the next scan's images are in it (%u "
	      "undelivered)",
	      p.outcome.undelivered);
	(void)snprintf(words, sizeof(words), "%s was deleted: it is made again", from);
	CHECK(access(from, W_OK) == 0 && service_logs(&service, words) &&
		      service_until(&service, "\"refusal\":\"\""),
	      "which the log says");
	stop();
}

static bool kill_emit(void)
{
	long pid = service_number(&service, "\"name\":\"emit\"", "pid");

	return pid > 0 && kill((pid_t)pid, SIGKILL) == 0;
}

/* Policy wait, a sink's folder that is gone when emit dies: its successor starts without it, and
 * neither the scanner nor the reconstruction waits for a folder that nobody can make. */
static void test_folder_gone(void)
{
	char out[160];
	char away[160];
	bool made;

	if (!start("endpoints: { archive = \"\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS))
		return;
	(void)snprintf(out, sizeof(out), "%s/out", service.dir);
	(void)snprintf(away, sizeof(away), "%s/away", service.dir);
	made = rename(out, away) == 0 && close(open(out, O_WRONLY | O_CREAT, 0600)) == 0;
	CHECK(made && kill_emit(), "a file stands in the folder's place, and emit is killed");
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	frames(4);
	CHECK(peer_end(&p, 4 * 32) && p.outcome.undelivered == 4 && p.outcome.code == BS_ERR_IO,
	      "it ends: %u undelivered, \"%s\"", p.outcome.undelivered, p.outcome.text);
	CHECK(service_logs(&service, "out is no folder"), "and the log says why");
	CHECK(unlink(out) == 0 && peer_good_scan(&p, "cart", 2) && p.outcome.undelivered == 0,
	      "when the folder can be made again, files are written");
	stop();
}

/* A viewer keeps nothing: what nobody else took was not delivered. */
static void test_viewer(void)
{
	struct bs_endpoint viewer;
	char url[160];

	if (!start(SERVICE_PROTOCOLS))
		return;
	(void)snprintf(url, sizeof(url), "ipc://%s/run/viewers.ipc", service.dir);
	CHECK(bs_endpoint_connect(&viewer, BS_ENDPOINT_VIEWERS_IN, url, 1 << 20, NULL) == 0 &&
		      service_meets(&service, &viewer),
	      "a viewer is there, the site's archive is not");
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	frames(3);
	CHECK(peer_end(&p, 3 * 32) && p.outcome.code == BS_ERR_IO && p.outcome.images == 0 &&
		      p.outcome.undelivered == 3,
	      "its outcome: code %d, %llu images, %u undelivered", p.outcome.code,
	      (unsigned long long)p.outcome.images, p.outcome.undelivered);
	bs_endpoint_close(&viewer);
	stop();
}

/* Images that an archive gets until none comes for this long. */
static unsigned taken_by(struct bs_endpoint *archive, unsigned want)
{
	static unsigned char image[1 << 20];
	unsigned got = 0;
	size_t len;

	while (bs_endpoint_recv(archive, image, sizeof(image), &len, got < want ? 5000 : 50,
				NULL) == 0)
		got++;
	return got;
}

/* An emit that dies costs an archive that connects again nothing of what was made meanwhile. */
static void test_archive_returns(const char *policy)
{
	struct bs_endpoint archive;
	char body[2000];

	(void)snprintf(body, sizeof(body), "overload: { archive = \"%s\"; queue = 64; };\n%s",
		       policy, SERVICE_PROTOCOLS);
	if (!start(body))
		return;
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 1 << 20,
				  NULL) == 0 &&
		      service_meets(&service, &archive) && peer_begin(&p, "cart"),
	      "%s: an archive is there, a scan begins", policy);
	frames(3);
	CHECK(taken_by(&archive, 3) == 3 && kill_emit(), "it has three images, emit is killed");
	frames(6);
	CHECK(taken_by(&archive, 6) == 6, "it gets the other six");
	CHECK(peer_end(&p, 9 * 32) && p.outcome.code == 0 && p.outcome.undelivered == 0,
	      "and the outcome says that none is missing: %u", p.outcome.undelivered);
	bs_endpoint_close(&archive);
	stop();
}

/* A clean stop while an archive is still reading: what lies in the connection reaches it first. */
static void test_stop(const char *policy)
{
	static unsigned char image[1 << 20];
	struct bs_endpoint archive;
	unsigned got = 0;
	char body[2000];
	size_t len;

	(void)snprintf(body, sizeof(body), "overload: { archive = \"%s\"; queue = 64; };\n%s",
		       policy, SERVICE_PROTOCOLS);
	if (!start(body))
		return;
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 1 << 20,
				  NULL) == 0 &&
		      service_meets(&service, &archive) && peer_good_scan(&p, "cart", 12) &&
		      p.outcome.undelivered == 0,
	      "%s: 12 images are under way to an archive", policy);
	CHECK(kill(service.pid, SIGTERM) == 0, "the service is told to end");
	while (bs_endpoint_recv(&archive, image, sizeof(image), &len, got < 12 ? 5000 : 50, NULL) ==
	       0) {
		got++;
		await_pause_ms(50); /* how slow this archive is: nothing is waited for */
	}
	CHECK(got == 12, "the archive, which takes its time, has %u of 12", got);
	peer_close(&p);
	CHECK(service_wait(&service) == 0, "the service ends with 0");
	bs_endpoint_close(&archive);
	service_remove(&service);
}

/* Emit dies while images wait in its memory: the outcome of that very scan has them. */
static void test_emit_dies(void)
{
	struct bs_endpoint archive;
	long pid;

	if (!start("overload: { archive = \"spill\"; queue = 64; spill_dir = \"spill\"; };\n"
		   "endpoints: { viewers = \"\"; };\n" SERVICE_PROTOCOLS))
		return;
	CHECK(peer_begin(&p, "cart"), "a scan begins, without an archive");
	frames(6);
	CHECK(service_until(&service, "\"taken\":6,"), "six images wait for it");
	pid = service_number(&service, "\"name\":\"emit\"", "pid");
	CHECK(pid > 0 && kill((pid_t)pid, SIGKILL) == 0, "emit is killed");
	CHECK(service_logs(&service, "were lost with the process"),
	      "what waited is lost, and said");
	frames(2);
	CHECK(service_until(&service, "\"taken\":8,"), "its successor has two more");
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 1 << 20,
				  NULL) == 0,
	      "the archive comes");
	(void)reaches("archive", "handed", 2);
	(void)peer_end(&p, 8 * 32);
	CHECK(p.outcome.images == 8 && p.outcome.undelivered == 6 &&
		      taker("archive", "lost") == 6 && taker("archive", "handed") == 2,
	      "of 8 images that were given to it, %u are undelivered", p.outcome.undelivered);
	bs_endpoint_close(&archive);
	stop();
}

/* A site whose archive spills, with so many damaged images in the folder, and no service yet. */
static bool prepare(void)
{
	static const char body[] =
		"overload: { archive = \"spill\"; spill_dir = \"spill\"; };\n" SERVICE_PROTOCOLS;
	char path[200];
	bool made;

	memset(&service, 0, sizeof(service));
	(void)snprintf(service.dir, sizeof(service.dir), "/tmp/boreside-test-XXXXXX");
	made = mkdtemp(service.dir) != NULL && service_write_site(&service, SERVICE_PATIENT, body);
	(void)snprintf(path, sizeof(path), "%s/run", service.dir);
	made = made && mkdir(path, 0750) == 0;
	(void)snprintf(path, sizeof(path), "%s/spill", service.dir);
	made = made && mkdir(path, 0750) == 0;
	for (unsigned i = 0; made && i < BAD; i++) {
		(void)snprintf(path, sizeof(path), "%s/spill/archive-%020u.image", service.dir,
			       i + 1);
		made = close(open(path, O_WRONLY | O_CREAT, 0600)) == 0;
	}
	(void)snprintf(path, sizeof(path), "%s/spill/cfl-00000000-%020u.image", service.dir, 1u);
	made = made && close(open(path, O_WRONLY | O_CREAT, 0600)) == 0;
	CHECK(made, "%u damaged images are in the folder, and one of a sink that is no more", BAD);
	return made;
}

/* While emit starts, a taker's thread says what is wrong with what it found. */
static void test_busy_start(void)
{
	if (!prepare() || !service_spawn(&service, NULL))
		return;
	CHECK(service_until(&service, "\"state\":\"idle\"") && peer_open(&p, &service),
	      "the service starts");
	CHECK(reaches("archive", "failed", (long)BAD) == (long)BAD &&
		      taker("archive", "taken") == (long)BAD,
	      "each is counted as taken and failed: %ld", taker("archive", "failed"));
	CHECK(service_logs(&service, "it is given up, and kept as .bad") &&
		      service_logs(&service, "emit: ready") &&
		      !service_logged(&service, "emit died"),
	      "that was said while emit became ready");
	CHECK(service_logs(&service, "1 spilled images belong to no taker of this site, as cfl-"),
	      "and that one image will never be delivered");
	CHECK(peer_good_scan(&p, "cart", 2) && p.outcome.undelivered == 0,
	      "the next scan is not charged with it");
	stop();
}

/*
 * The status socket cannot be opened, since another process serves it, which only the start tells,
 * while a taker's thread is busy with what it found on disk and says so: it ends before the memory
 * goes that it writes to.
 */
static void test_cannot_start(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!prepare())
		return;
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%.80s/run/status.ipc", service.dir);
	CHECK(bind(other, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(other, 4) == 0,
	      "another process serves the status socket");
	CHECK(service_spawn(&service, NULL) && service_wait(&service) == 1,
	      "the service ends with 1");
	CHECK(service_logged(&service, "emit died: exit status 3") &&
		      service_logged(&service, "emit cannot start"),
	      "emit gave up, and did not crash");
	CHECK(!service_logged(&service, "died: signal"), "nor had it before");
	CHECK(service_logged(&service, "status.ipc"), "and said why");
	(void)close(other);
	service_remove(&service);
}

int main(void)
{
	test_wait();
	test_refused();
	test_folder_gone();
	test_viewer();
	test_archive_returns("wait");
	test_archive_returns("keep_newest");
	test_stop("wait");
	test_stop("keep_newest");
	test_emit_dies();
	test_busy_start();
	test_cannot_start();
	return check_done();
}
