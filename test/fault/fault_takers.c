/*
 * test/fault/fault_takers.c - what takers did not get is in the outcome, in the status and in the
 * log, whatever the policy and however emit ends; an emit that cannot start ends without a crash
 */
/* Holds: W33, W34 */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "test/support/service.h"

/* A second, of all of emit's threads: two poll each 50 ms, and nanomsg's wakes for both */
#define IDLE_SLEEPS 2000.0

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
	(void)service_end(&service);
}

static void frames(unsigned n)
{
	for (unsigned f = 0; f < n; f++)
		for (unsigned i = 0; i < 32; i++)
			(void)peer_acq(&p, "cart", i, f);
}

/* Each is in the store before the next one comes: a disk may take longer than images wait for. */
static void stored_frames(unsigned n)
{
	const long had = taker("images", "handed");

	for (unsigned f = 0; f < n; f++) {
		for (unsigned i = 0; i < 32; i++)
			(void)peer_acq(&p, "cart", i, f);
		(void)reaches("images", "handed", had + f + 1);
	}
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

#define BOOKS 64u

/* The archive's own books: of each image of the scan, by its number, how many times it came. */
static unsigned came[BOOKS];

/* Images that an archive has once it has so many, or none comes any more. */
static unsigned taken_by(struct bs_endpoint *archive, unsigned want)
{
	static unsigned char image[1 << 20];
	const unsigned char *payload;
	unsigned have = 0;
	struct bs_wire w;
	size_t len;

	for (unsigned i = 0; i < BOOKS; i++)
		have += came[i] > 0;
	while (bs_endpoint_recv(archive, image, sizeof(image), &len, have < want ? AWAIT_MS : 50,
				NULL) == 0)
		if (bs_wire_decode(&w, image, len, &payload, NULL) == 0 && w.seq < BOOKS)
			have += came[w.seq]++ == 0;
	return have;
}

/* An emit that dies costs an archive that connects again nothing of what was made meanwhile. */
static void test_archive_returns(const char *policy)
{
	struct bs_endpoint archive;
	char body[2000];

	(void)snprintf(body, sizeof(body),
		       "overload: { archive = \"%s\"; queue = 64; spill_dir = \"spill\"; };\n%s",
		       policy, SERVICE_PROTOCOLS);
	memset(came, 0, sizeof(came));
	if (!start(body))
		return;
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 1 << 20,
				  NULL) == 0 &&
		      service_meets(&service, &archive) && peer_begin(&p, "cart"),
	      "%s: an archive is there, a scan begins", policy);
	frames(3);
	CHECK(taken_by(&archive, 3) == 3 && kill_emit(), "it has three images, emit is killed");
	frames(6);
	CHECK(taken_by(&archive, 9) == 9, "it gets the other six");
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
	while (bs_endpoint_recv(&archive, image, sizeof(image), &len, got < 12 ? AWAIT_MS : 50,
				NULL) == 0) {
		got++;
		await_pause_ms(50); /* how slow this archive is: nothing is waited for */
	}
	CHECK(got == 12, "the archive, which takes its time, has %u of 12", got);
	peer_close(&p);
	CHECK(service_wait(&service) == 0, "the service ends with 0");
	bs_endpoint_close(&archive);
	service_remove(&service);
}

/*
 * An archive that takes its time over each image, and emit killed again and again meanwhile: what
 * lay in the connection or waited is sent again, and the archive has every image by its own books.
 */
static void test_slow_archive(const char *policy)
{
	static unsigned char image[1 << 20];
	const unsigned char *payload;
	struct bs_endpoint archive;
	unsigned have = 0;
	unsigned kills = 0;
	char body[2000];
	struct bs_wire w;
	size_t len;

	(void)snprintf(body, sizeof(body),
		       "overload: { archive = \"%s\"; queue = 64; spill_dir = \"spill\"; };\n%s",
		       policy, SERVICE_PROTOCOLS);
	memset(came, 0, sizeof(came));
	if (!start(body))
		return;
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 1 << 20,
				  NULL) == 0 &&
		      service_meets(&service, &archive) && peer_begin(&p, "cart"),
	      "%s: a slow archive is there, a scan begins", policy);
	frames(12);
	while (have < 12 &&
	       bs_endpoint_recv(&archive, image, sizeof(image), &len, AWAIT_MS, NULL) == 0) {
		if (bs_wire_decode(&w, image, len, &payload, NULL) == 0 && w.seq < BOOKS)
			have += came[w.seq]++ == 0;
		await_pause_ms(60); /* how slow it is */
		if (have % 4 == 2 && kills < have / 4 + 1)
			kills += kill_emit();
	}
	CHECK(have == 12, "emit is killed %u times; it has all 12 images: %u", kills, have);
	CHECK(peer_end(&p, 12 * 32) && p.outcome.undelivered == 0 && p.outcome.images == 12,
	      "and the outcome says so: %llu images, %u undelivered",
	      (unsigned long long)p.outcome.images, p.outcome.undelivered);
	bs_endpoint_close(&archive);
	stop();
}

/* Files, by their folder: each image once, however often emit is killed. */
static void test_files(const char *policy)
{
	unsigned kills = 0;
	char body[2000];

	(void)snprintf(body, sizeof(body),
		       "overload: { sinks = \"%s\"; queue = 64; spill_dir = \"spill\"; };\n"
		       "endpoints: { archive = \"\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS,
		       policy);
	if (!start(body))
		return;
	CHECK(peer_begin(&p, "cart"), "%s: a scan begins", policy);
	for (unsigned f = 0; f < 15; f++) {
		for (unsigned i = 0; i < 32; i++)
			(void)peer_acq(&p, "cart", i, f);
		if (f % 4 == 2)
			kills += kill_emit();
	}
	CHECK(peer_end(&p, 15 * 32) && p.outcome.images == 15 && p.outcome.undelivered == 0 &&
		      reaches("cfl", "handed", 14) >= 14,
	      "emit is killed %u times; its outcome: %llu images, %u undelivered", kills,
	      (unsigned long long)p.outcome.images, p.outcome.undelivered);
	AWAIT(files_in(service.out, ".cfl") == 15);
	CHECK(files_in(service.out, ".cfl") == 15 && taker("cfl", "waiting") == 0,
	      "each is filed once: %u", files_in(service.out, ".cfl"));
	stop();
}

/* A disk that refuses for a while: a taker that spills has every image afterwards. */
static void test_refused_for_a_while(void)
{
	char out[160];
	char away[160];

	if (!start("overload: { sinks = \"spill\"; queue = 2; spill_dir = \"spill\"; };\n"
		   "endpoints: { archive = \"\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS))
		return;
	(void)snprintf(out, sizeof(out), "%s/out", service.dir);
	(void)snprintf(away, sizeof(away), "%s/away", service.dir);
	CHECK(rename(out, away) == 0 && close(open(out, O_WRONLY | O_CREAT, 0600)) == 0 &&
		      peer_begin(&p, "cart"),
	      "a file stands in the sink's place, a scan begins");
	stored_frames(10);
	CHECK(reaches("cfl", "behind", 7) == 7 && taker("cfl", "waiting") == 3,
	      "one is in hand, two wait, seven are in the store: %ld", taker("cfl", "behind"));
	CHECK(kill_emit() && unlink(out) == 0, "emit is killed; then the folder can be made again");
	CHECK(peer_end(&p, 10 * 32) && p.outcome.undelivered == 0 &&
		      reaches("cfl", "handed", 10) == 10 && files_in(service.out, ".cfl") == 10,
	      "all ten are filed: %u", files_in(service.out, ".cfl"));
	stop();
}

/* Emit dies while images wait for an archive that is not there: it has them when it comes. */
static void test_emit_dies(void)
{
	struct bs_endpoint archive;

	if (!start("overload: { archive = \"spill\"; queue = 2; spill_dir = \"spill\"; };\n"
		   "endpoints: { viewers = \"\"; };\n" SERVICE_PROTOCOLS))
		return;
	memset(came, 0, sizeof(came));
	CHECK(peer_begin(&p, "cart"), "a scan begins, without an archive");
	stored_frames(6);
	CHECK(service_until(&service, "\"taken\":6,"), "six images wait for it");
	CHECK(kill_emit(), "emit is killed");
	stored_frames(2);
	CHECK(reaches("archive", "taken", 8) == 8, "its successor has two more");
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 1 << 20,
				  NULL) == 0 &&
		      taken_by(&archive, 8) == 8,
	      "the archive comes and has all eight");
	(void)reaches("archive", "handed", 8);
	(void)peer_end(&p, 8 * 32);
	CHECK(p.outcome.images == 8 && p.outcome.undelivered == 0 &&
		      taker("archive", "lost") == 0 && taker("archive", "handed") == 8,
	      "none is undelivered: %u", p.outcome.undelivered);
	bs_endpoint_close(&archive);
	stop();
}

/*
 * Somebody removes overload.spill_dir while images in it wait for an archive: it is made again, the
 * outcome names it and counts what was lost, and the archive has all others when it comes.
 */
static void test_swept(void)
{
	struct bs_endpoint archive;
	char command[200];
	unsigned had;

	if (!start("overload: { archive = \"spill\"; queue = 2; spill_dir = \"spill\"; };\n"
		   "endpoints: { viewers = \"\"; };\n" SERVICE_PROTOCOLS))
		return;
	memset(came, 0, sizeof(came));
	CHECK(peer_begin(&p, "cart"), "a scan begins, without an archive");
	stored_frames(6);
	CHECK(service_until(&service, "\"taken\":6,"), "six images wait for it");
	/* where a file comes meanwhile, the folder is not empty once */
	(void)snprintf(command, sizeof(command), "cd '%s' && { rm -r spill || rm -r spill; }",
		       service.dir);
	CHECK(system(command) == 0, "somebody removes the folder that they are in");
	CHECK(service_logs(&service, "spill/images was removed, with images that were not taken "
				     "yet; it is made again"),
	      "which the log says");
	stored_frames(3);
	CHECK(peer_end(&p, 9 * 32) && p.outcome.undelivered >= 4 && p.outcome.undelivered <= 6 &&
		      p.outcome.code == BS_ERR_IO &&
		      strstr(p.outcome.text, "spill_dir was removed within the scan") != NULL,
	      "and the outcome: %u undelivered, %d, \"%s\"", p.outcome.undelivered, p.outcome.code,
	      p.outcome.text);
	had = 9 - p.outcome.undelivered;
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 1 << 20,
				  NULL) == 0 &&
		      taken_by(&archive, had) == had && reaches("archive", "handed", had) == had,
	      "the archive comes and has the other %u", had);
	CHECK(taker("archive", "shed") == (long)p.outcome.undelivered,
	      "and no more are missing than were said: %ld", taker("archive", "shed"));
	bs_endpoint_close(&archive);
	stop();
}

/* A sink that the site names no more: what it had not had is said, and its cursor goes. */
static void test_forgotten(void)
{
	char out[160];
	char count[200];

	if (!start("overload: { sinks = \"spill\"; spill_dir = \"spill\"; };\n"
		   "endpoints: { archive = \"\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS))
		return;
	(void)snprintf(out, sizeof(out), "%s/out", service.dir);
	(void)snprintf(count, sizeof(count), "test -e '%s'/spill/images/+cfl-*.cursor",
		       service.dir);
	CHECK(rmdir(out) == 0 && close(open(out, O_WRONLY | O_CREAT, 0600)) == 0 &&
		      peer_begin(&p, "cart"),
	      "a file stands in the sink's place, a scan begins");
	stored_frames(3);
	CHECK(peer_end(&p, 3 * 32) && p.outcome.undelivered == 0, "its images wait for the sink");
	peer_close(&p);
	CHECK(service_stop(&service) == 0 && system(count) == 0,
	      "the service ends; the sink's cursor is there");
	CHECK(service_write_site(
		      &service, SERVICE_PATIENT,
		      "overload: { spill_dir = \"spill\"; };\n"
		      "endpoints: { images = \"ipc://run/images.ipc\"; };\n" SERVICE_PROTOCOLS) &&
		      service_spawn(&service, NULL) &&
		      service_until(&service, "\"state\":\"idle\""),
	      "it starts again without the sink");
	CHECK(service_logs(&service, "any more: 3 images that are kept are not given to it") &&
		      system(count) != 0,
	      "which the log says, and its cursor is gone");
	(void)service_end(&service);
}

/* Of all threads of the process: how often they went to sleep. */
static unsigned long sleeps(long pid)
{
	char path[300];
	char line[256];
	unsigned long all = 0;
	unsigned long n;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%ld/task", pid);
	d = opendir(path);
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
		FILE *f;

		(void)snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/status", pid, e->d_name);
		f = e->d_name[0] != '.' ? fopen(path, "r") : NULL;
		while (f != NULL && fgets(line, sizeof(line), f) != NULL)
			if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
				all += n;
		if (f != NULL)
			(void)fclose(f);
	}
	if (d != NULL)
		(void)closedir(d);
	return all;
}

/* Takers of every kind that have nothing to do sleep, and do not wake one another. */
static void test_idle(void)
{
	unsigned long before;
	int64_t since_ns;
	double rate;
	long pid;

	if (!start("overload: { sinks = \"spill\"; archive = \"spill\"; spill_dir = \"spill\"; };\n"
		   "endpoints: { images = \"ipc://run/images.ipc\"; };\n" SERVICE_SINKS
			   SERVICE_PROTOCOLS))
		return;
	CHECK(peer_good_scan(&p, "cart", 2) && reaches("cfl", "handed", 2) == 2, "a scan is over");
	pid = service_number(&service, "\"name\":\"emit\"", "pid");
	before = sleeps(pid);
	since_ns = bs_now_ns();
	await_pause_ms(1000); /* how long it is watched */
	rate = (double)(sleeps(pid) - before) / ((double)(bs_now_ns() - since_ns) * 1e-9);
	CHECK(before > 0 && rate < IDLE_SLEEPS, "emit's threads then sleep %.0f times a second",
	      rate);
	stop();
}

/* The status socket cannot be opened: another process serves it, which only the start tells. */
static void test_cannot_start(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(&service, 0, sizeof(service));
	(void)snprintf(service.dir, sizeof(service.dir), "/tmp/boreside-test-XXXXXX");
	if (mkdtemp(service.dir) == NULL ||
	    !service_write_site(&service, SERVICE_PATIENT, SERVICE_PROTOCOLS))
		return;
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%.80s/run", service.dir);
	(void)mkdir(at.sun_path, 0750);
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
	test_archive_returns("spill");
	test_files("wait");
	test_files("keep_newest");
	test_files("spill");
	test_refused_for_a_while();
	test_slow_archive("wait");
	test_slow_archive("keep_newest");
	test_slow_archive("spill");
	test_stop("wait");
	test_stop("keep_newest");
	test_emit_dies();
	test_swept();
	test_forgotten();
	test_idle();
	test_cannot_start();
	return check_done();
}
