/*
 * test/fault/fault_overload.c - takers that are dead, slow, stuck or full: the reconstruction goes
 * on as if nothing were, not one wait of it, and what each did not get is counted; and what was
 * spilled arrives later, in order. Images of a MiB, so that sockets' buffers are soon full.
 */
/* Holds: W34 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "ipc/wire/mrd.h"
#include "test/support/wide.h"

#define FRAMES 60u
#define IMAGE  WIDE_BYTES(256u)

#define SPILL "sinks = \"spill\"; spill_dir = \"spill\"; "
#define PROTOCOLS                                                                                  \
	"protocols = ( " WIDE_ROW(                                                                 \
		"big", "256") ",\n"                                                                \
			      "  { name = \"timed\"; method = \"noop\"; " SERVICE_SPOKES           \
			      "budget: { image_ms = 250.0; admission = \"trust\"; }; } );\n"

static struct service service;
static struct peer p;

static bool accepted(void)
{
	return wide_begin(&p, "big", 256);
}

static long taker(const char *name, const char *what)
{
	char where[160];

	(void)snprintf(where, sizeof(where), "\"consumer\":\"%s", name);
	return service_number(&service, where, what);
}

static bool stored; /* somebody is to be given them from the store, whose disk may be slow */

/* So many images were made, and emit has counted them, though nobody may have taken them. */
static bool passed(long images)
{
	return service_number(&service, "\"totals\"", "images") == images &&
	       service_number(&service, "\"queues\"", "emit") == 0 &&
	       (!stored || taker("images", "waiting") == 0);
}

/* The next frame comes when the last one is beyond what anybody waits for. */
static bool scan(unsigned frames)
{
	long before = service_number(&service, "\"totals\"", "images");

	if (!accepted()) {
		printf("# not accepted: %s\n", p.answer.text);
		return false;
	}
	for (unsigned f = 0; f < frames; f++) {
		for (unsigned i = 0; i < 32; i++)
			if (!peer_acq(&p, "big", i, f))
				return false;
		AWAIT(passed(before + f + 1));
		if (!passed(before + f + 1)) {
			printf("# frame %u: somebody waits for it\n", f);
			return false;
		}
	}
	if (!peer_end(&p, (uint64_t)frames * 32) || p.outcome.code != 0)
		printf("# outcome %d: %s\n", p.outcome.code, p.outcome.text);
	return p.outcome.code == 0 && p.outcome.acquisitions == (uint64_t)frames * 32;
}

static long reaches(const char *name, const char *what, long least)
{
	char where[160];

	(void)snprintf(where, sizeof(where), "\"consumer\":\"%s", name);
	return service_reaches(&service, where, what, least);
}

static bool start_on(const char *node, const char *overload, const char *rest, const char *preload)
{
	char body[4096];
	bool up;

	(void)snprintf(body, sizeof(body), "overload: { %s };\n%s\n" PROTOCOLS, overload, rest);
	up = service_start_with(&service, node, body, preload);
	CHECK(up && peer_open(&p, &service), "the service starts with %s", overload);
	return up;
}

static bool start(const char *overload, const char *rest, const char *preload)
{
	return start_on(SERVICE_PATIENT, overload, rest, preload);
}

static void stop(void)
{
	peer_close(&p);
	(void)service_end(&service);
}

static long accounted(const char *name)
{
	return taker(name, "handed") + taker(name, "failed") + taker(name, "shed") +
	       taker(name, "lost") + taker(name, "waiting") + taker(name, "behind");
}

/* All that was taken is accounted for, and the reconstruction has not waited once. */
static void check_all(const char *name, unsigned images)
{
	long taken = reaches(name, "taken", (long)images);
	long sum = 0;

	/* the numbers are asked for one by one: one that is on its way to disk may count twice */
	AWAIT((sum = accounted(name)) == taken);
	CHECK(taken == (long)images, "%s: %ld images were given to it, %u made", name, taken,
	      images);
	CHECK(sum == taken, "%s: %ld are accounted for", name, sum);
	CHECK(service_number(&service, "\"name\":\"recon\"", "waits") == 0,
	      "recon has not waited for a slot once");
	CHECK(service_number(&service, "\"totals\"", "images") == (long)images,
	      "all images were made");
	printf("# %s: %ld handed, %ld shed, %ld waiting, %ld in the store\n", name,
	       taker(name, "handed"), taker(name, "shed"), taker(name, "waiting"),
	       taker(name, "behind"));
}

/* A taker that is connected and reads nothing. */
static void test_dead_archive(void)
{
	struct bs_endpoint archive;
	static unsigned char image[IMAGE + 65536];
	size_t len;
	unsigned got = 0;
	unsigned want;
	unsigned last = 0;

	if (!start("archive = \"keep_newest\"; queue = 3;", "", NULL))
		return;
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, sizeof(image),
				  NULL) == 0 &&
		      service_meets(&service, &archive),
	      "an archive connects, and reads nothing");
	CHECK(scan(FRAMES), "%u frames go through all the same", FRAMES);
	check_all("archive", FRAMES);
	CHECK(taker("archive", "shed") > 0 && taker("archive", "waiting") <= 4,
	      "what it did not take is shed: %ld", taker("archive", "shed"));
	CHECK(service_logs(&service, "archive does not keep up"), "and the log says so");
	CHECK(p.outcome.undelivered == (unsigned)taker("archive", "shed"),
	      "and the outcome: %u undelivered", p.outcome.undelivered);
	want = FRAMES - (unsigned)taker("archive", "shed");
	while (bs_endpoint_recv(&archive, image, sizeof(image), &len, got < want ? AWAIT_MS : 100,
				NULL) == 0) {
		struct bs_wire w;
		const unsigned char *payload;

		got++;
		if (bs_wire_decode(&w, image, len, &payload, NULL) == 0)
			last = (unsigned)w.seq;
	}
	CHECK(got == (unsigned)reaches("archive", "handed", want) && last >= FRAMES - 1,
	      "when it reads it has all that was handed, %u, the newest (%u) among them", got,
	      last);
	CHECK(got + (unsigned)taker("archive", "shed") == FRAMES, "and the rest was shed");
	bs_endpoint_close(&archive);
	stop();
}

static void test_slow_viewer(void)
{
	struct bs_endpoint viewer;
	char url[160];

	if (!start("archive = \"keep_newest\"; queue = 2;", "", NULL))
		return;
	(void)snprintf(url, sizeof(url), "ipc://%s/run/viewers.ipc", service.dir);
	CHECK(bs_endpoint_connect(&viewer, BS_ENDPOINT_VIEWERS_IN, url, IMAGE + 65536, NULL) == 0 &&
		      service_meets(&service, &viewer),
	      "a viewer connects, and reads nothing");
	CHECK(!scan(FRAMES) && p.outcome.code == BS_ERR_IO && p.outcome.images == 0 &&
		      p.outcome.acquisitions == (uint64_t)FRAMES * 32,
	      "%u frames go through all the same; that a viewer saw them keeps none", FRAMES);
	check_all("viewers", FRAMES);
	CHECK(taker("archive", "shed") == (long)FRAMES && taker("archive", "taken") == (long)FRAMES,
	      "an archive that is not there has all of its images counted as shed");
	CHECK(p.outcome.undelivered == FRAMES && service_logs(&service, "archive is not there"),
	      "the outcome says so (%u), and the log", p.outcome.undelivered);
	bs_endpoint_close(&viewer);
	stop();
}

/* An image's attribute that is a number; -1: it has none. */
static long long attribute(const unsigned char *image, size_t len, const char *name)
{
	char word[64];
	const void *at;

	(void)snprintf(word, sizeof(word), "<name>%s</name><value>", name);
	at = memmem(image, len < 65536 ? len : 65536, word, strlen(word));
	return at != NULL ? atoll((const char *)at + strlen(word)) : -1;
}

/*
 * An archive that is waited for stops for two seconds, and so does all behind it. Readouts
 * sent in that time, by the sender's own clock, which is the service's here, were there when they
 * were sent, not when there was room for them.
 */
static void test_receipts(void)
{
	struct bs_endpoint archive;
	static unsigned char image[IMAGE + 65536];
	int64_t sent_ns[FRAMES];
	unsigned frames = 0;
	unsigned got = 0;
	long long most = 0;
	bool behind = false;
	bool sent = true;
	size_t len;

	if (!start_on(SERVICE_PATIENT " acq_slots = 64; image_slots = 2;",
		      "archive = \"wait\"; queue = 1;", "", NULL))
		return;
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, sizeof(image),
				  NULL) == 0 &&
		      service_meets(&service, &archive) && accepted(),
	      "an archive connects, and reads nothing; a scan begins");
	for (; frames < FRAMES && !behind; frames++) {
		for (unsigned i = 0; i < 32 && sent; i++)
			sent = peer_acq(&p, "big", i, frames);
		sent_ns[frames] = bs_now_ns();
		behind = service_number(&service, "\"name\":\"ingest\"", "waits") > 0;
	}
	CHECK(behind && sent && frames < FRAMES, "no slot is free after %u frames", frames);
	await_pause_ms(2000); /* how long it lasts: nothing is waited for */
	/* one that has waited for a second is shed (KEYS.md): repetitions tell images apart */
	for (int64_t until = await_limit(); bs_now_ns() < until;) {
		const unsigned char *payload;
		struct bs_mrd_image head = { 0 };
		struct bs_wire w;
		long long after;

		if (bs_endpoint_recv(&archive, image, sizeof(image), &len, 100, NULL) != 0) {
			if (taker("archive", "taken") == (long)frames &&
			    taker("archive", "waiting") == 0 &&
			    taker("archive", "handed") == (long)got)
				break;
			continue;
		}
		if (bs_wire_decode(&w, image, len, &payload, NULL) == 0)
			bs_mrd_get_image(&head, payload);
		after = attribute(image, len, "boreside_received_ns") - sent_ns[head.repetition];
		most = after > most ? after : most;
		got++;
	}
	CHECK(got + (unsigned)taker("archive", "shed") == frames && most < 1000000000,
	      "%u images of %u; a readout was received at most %lld us after it was sent", got,
	      frames, most / 1000);
	CHECK(peer_end(&p, 32 * frames) && p.outcome.acquisitions == 32 * frames,
	      "all readouts were taken");
	bs_endpoint_close(&archive);
	stop();
}

/* Ingest stops for 0.5 s, every slot is free: a readout sent meanwhile makes a late image. */
static void test_stopped_ingest(void)
{
	pid_t ingest;

	if (!start("archive = \"wait\"", SERVICE_SINKS, NULL))
		return;
	ingest = (pid_t)service_number(&service, "\"name\":\"ingest\"", "pid");
	CHECK(peer_begin(&p, "timed"), "a scan of a protocol with a budget begins");
	for (unsigned i = 0; i < 31; i++)
		(void)peer_acq(&p, "timed", i, 0);
	while (p.acked < 31 && peer_await(&p, BS_WIRE_ACK))
		continue;
	CHECK(ingest > 0 && kill(ingest, SIGSTOP) == 0, "31 of 32 readouts are held; it stops");
	(void)peer_acq(&p, "timed", 31, 0);
	await_pause_ms(500); /* how long it stands */
	CHECK(kill(ingest, SIGCONT) == 0, "and goes on");
	CHECK(peer_end(&p, 32) && p.outcome.images == 1 && p.outcome.late == 1,
	      "%llu of %llu images missed a budget of 250 ms", (unsigned long long)p.outcome.late,
	      (unsigned long long)p.outcome.images);
	stop();
}

/* A disk that hangs: no file is finished while the gate stands. NULL: impossible here. */
static const char *hang_disk(char hook[512])
{
	static char gate[40];
	int fd;

	(void)snprintf(hook, 512, "%s/test/support/block_hook.so",
		       getenv("BUILD") ? getenv("BUILD") : "");
	if (CHECK_SANITIZED) {
		SKIP("a library preloaded before the sanitizer's own ends the service");
		return NULL;
	}
	(void)snprintf(gate, sizeof(gate), "/tmp/boreside-block-XXXXXX");
	fd = mkstemp(gate);
	if (fd < 0 || access(hook, R_OK) != 0) {
		SKIP("no %s (make tests builds it)", hook);
		(void)unlink(gate);
		return NULL;
	}
	(void)close(fd);
	(void)setenv("BLOCK_HOOK", gate, 1);
	return gate;
}

static void test_hung_disk(const char *policy, bool spill)
{
	char hook[512];
	char dir[160];
	char overload[200];
	const char *gate = hang_disk(hook);
	long handed;

	if (gate == NULL)
		return;
	(void)snprintf(
		overload, sizeof(overload),
		"archive = \"keep_newest\"; sinks = \"%s\"; queue = 3; spill_dir = \"spill\";",
		policy);
	if (!start(overload, "sinks = ( { type = \"cfl\"; dir = \"out\"; } );", hook))
		return;
	(void)snprintf(dir, sizeof(dir), "%s/out", service.dir);
	stored = spill;
	CHECK(scan(FRAMES), "%s: %u frames go through while the disk hangs", policy, FRAMES);
	stored = false;
	check_all("cfl", FRAMES);
	CHECK(taker("cfl", "handed") == 0, "no file is finished");
	CHECK(!spill || taker("cfl", "behind") == (long)FRAMES - 4,
	      "what it cannot take waits on the other disk: %ld", taker("cfl", "behind"));
	CHECK(spill || taker("cfl", "shed") == (long)FRAMES - 4,
	      "one in hand, three wait, the rest is shed: %ld", taker("cfl", "shed"));
	CHECK(scan(2), "the next scan is not held up either");
	(void)unlink(gate);
	handed = reaches("cfl", "handed", (long)FRAMES + 2 - taker("cfl", "shed"));
	CHECK(handed + taker("cfl", "shed") == (long)FRAMES + 2,
	      "when the disk is back, %ld files are written, %ld images were shed",
	      taker("cfl", "handed"), taker("cfl", "shed"));
	CHECK(files_in(dir, ".cfl") == (unsigned)taker("cfl", "handed"), "they are there");
	stop();
}

/* Emit is killed again and again with an image in hand, which is not the image's fault. */
static void test_killed_in_hand(void)
{
	char hook[512];
	char dir[160];
	const char *gate = hang_disk(hook);

	if (gate == NULL)
		return;
	if (!start("archive = \"keep_newest\";", "sinks = ( { type = \"cfl\"; dir = \"out\"; } );",
		   hook))
		return;
	CHECK(accepted(), "a scan begins");
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "big", i, 0);
	for (long n = 1; n <= 4; n++) {
		CHECK(reaches("cfl", "taken", 1) == 1, "its image is in hand while the disk hangs");
		long pid = service_number(&service, "\"name\":\"emit\"", "pid");

		CHECK(pid > 0 && kill((pid_t)pid, SIGKILL) == 0 &&
			      service_reaches(&service, "\"name\":\"emit\"", "restarts", n) == n,
		      "emit is killed, %ld times", n);
	}
	(void)unlink(gate);
	(void)snprintf(dir, sizeof(dir), "%s/out", service.dir);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0 && p.outcome.images == 1 &&
		      files_in(dir, ".hdr") == 1,
	      "when the disk is back, the image is filed: %u undelivered, %s",
	      p.outcome.undelivered, p.outcome.text);
	stop();
}

static unsigned files_of(const char *name)
{
	char dir[160];

	(void)snprintf(dir, sizeof(dir), "%s/%s", service.dir, name);
	return files_in(dir, ".cfl");
}

/* The service ends while the disk hangs: what waits, and what was in hand, is filed by the next. */
static void test_hung_end(void)
{
	char hook[512];
	const char *gate = hang_disk(hook);

	if (gate == NULL)
		return;
	if (!start_on(SERVICE_PATIENT " drain_s = 1.0;",
		      "archive = \"keep_newest\"; " SPILL "queue = 16;",
		      "sinks = ( { type = \"cfl\"; dir = \"out\"; } );", hook))
		return;
	CHECK(scan(6), "6 frames go through while the disk hangs");
	CHECK(reaches("cfl", "waiting", 6) == 6, "one is in hand, five wait");
	peer_close(&p);
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	CHECK(service_logged(&service, "6 images are on disk for the next start"),
	      "and the log says what became of all six");
	(void)unlink(gate);
	CHECK(service_spawn(&service, NULL) && service_until(&service, "\"state\":\"idle\"") &&
		      reaches("cfl", "handed", 6) == 6 && files_of("out") == 6,
	      "which files them: %u", files_of("out"));
	CHECK(service_stop(&service) == 0, "it ends with 0");
	service_remove(&service);
}

/* Emit dies with images that wait for a dead archive: none is lost, the newest are kept. */
static void test_emit_dies(void)
{
	struct bs_endpoint archive;
	long waiting;
	long handed;
	long shed;
	long pid;

	if (!start("archive = \"keep_newest\"; queue = 3;", "", NULL))
		return;
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, IMAGE + 65536,
				  NULL) == 0 &&
		      service_meets(&service, &archive),
	      "an archive connects, and reads nothing");
	CHECK(scan(FRAMES), "%u frames go through all the same", FRAMES);
	waiting = taker("archive", "waiting");
	handed = taker("archive", "handed");
	shed = taker("archive", "shed");
	pid = service_number(&service, "\"name\":\"emit\"", "pid");
	CHECK(waiting == 4 && pid > 0 && kill((pid_t)pid, SIGKILL) == 0,
	      "emit is killed while %ld images wait", waiting);
	(void)service_reaches(&service, "\"name\":\"emit\"", "restarts", 1);
	CHECK(taker("archive", "lost") == handed && taker("archive", "shed") == shed &&
		      taker("archive", "waiting") <= 4,
	      "its successor goes on with them: %ld wait", taker("archive", "waiting"));
	CHECK(service_logs(&service, "images that were in its connection when that broke"),
	      "and names the %ld that it had in its connection and did not read",
	      taker("archive", "lost"));
	check_all("archive", FRAMES);
	bs_endpoint_close(&archive);
	stop();
}

/* Another service on the same folder would deliver the first one's images to its own archive. */
static void test_second_service(void)
{
	struct service second;
	char body[4096];

	memset(&second, 0, sizeof(second));
	(void)snprintf(second.dir, sizeof(second.dir), "/tmp/boreside-test-XXXXXX");
	(void)snprintf(body, sizeof(body),
		       "overload: { archive = \"spill\"; spill_dir = \"%s/spill\"; };\n" PROTOCOLS,
		       service.dir);
	CHECK(mkdtemp(second.dir) != NULL && service_write_site(&second, "", body) &&
		      service_spawn(&second, NULL) && service_wait(&second) == 1,
	      "a second service on the same folder ends with 1");
	CHECK(service_logs(&second, "/spill/boreside.lock: another service runs in this folder"),
	      "and says why");
	service_remove(&second);
}

static bool replace_by_file(const char *name)
{
	char path[160];
	char away[180];

	(void)snprintf(path, sizeof(path), "%s/%s", service.dir, name);
	(void)snprintf(away, sizeof(away), "%s-away", path);
	return rename(path, away) == 0 && close(open(path, O_WRONLY | O_CREAT, 0600)) == 0;
}

/* The sink's folder is gone: every image fails, and is counted as failed. */
static void test_no_folder(void)
{
	if (!start("archive = \"keep_newest\"; sinks = \"keep_newest\"; queue = 64;",
		   "sinks = ( { type = \"cfl\"; dir = \"out\"; } );", NULL))
		return;
	CHECK(replace_by_file("out"), "a file stands in the place of the sink's folder");
	CHECK(scan(10), "10 frames go through all the same");
	check_all("cfl", 10);
	CHECK(reaches("cfl", "failed", 10) == 10 &&
		      service_number(&service, "\"totals\"", "sink_faults") == 10,
	      "all of them failed, and are counted");
	CHECK(p.outcome.undelivered == 20,
	      "10 by the folder, 10 by an archive that is not there: %u", p.outcome.undelivered);
	stop();
}

/* Both folders are gone, then emit dies: its successor waits for neither, nor does recon. */
static void test_broken_folders(void)
{
	char path[160];
	long pid;

	if (!start("archive = \"keep_newest\"; " SPILL "queue = 3;",
		   "sinks = ( { type = \"cfl\"; dir = \"out\"; } );", NULL))
		return;
	CHECK(replace_by_file("out") && replace_by_file("spill"), "files stand for both folders");
	pid = service_number(&service, "\"name\":\"emit\"", "pid");
	CHECK(pid > 0 && kill((pid_t)pid, SIGKILL) == 0, "emit is killed");
	CHECK(scan(10), "10 frames go through all the same");
	check_all("cfl", 10);
	CHECK(service_number(&service, "\"name\":\"emit\"", "restarts") == 1, "by one successor");
	CHECK(taker("cfl", "handed") == 0, "no file is written");
	CHECK(service_logs(&service, "out is no folder") && service_logs(&service, "spill"),
	      "the log names both");
	(void)snprintf(path, sizeof(path), "%s/out", service.dir);
	CHECK(unlink(path) == 0 && scan(2) && reaches("cfl", "handed", 1) >= 1 &&
		      files_in(path, ".cfl") == (unsigned)taker("cfl", "handed"),
	      "when the sink's folder can be made again, files are written: %ld",
	      taker("cfl", "handed"));
	stop();
}

/* The archive comes late: nothing is lost, even over the end of the service. */
static void test_spilled_archive(void)
{
	static unsigned char image[IMAGE + 65536];
	struct bs_endpoint archive;
	size_t len;
	unsigned got = 0;
	bool in_order = true;
	const char *overload = "archive = \"spill\"; queue = 4; spill_dir = \"spill\";";

	if (!start(overload, "", NULL))
		return;
	test_second_service();
	stored = true;
	CHECK(scan(FRAMES), "%u frames go through without an archive", FRAMES);
	stored = false;
	check_all("archive", FRAMES);
	CHECK(taker("archive", "shed") == 0 && taker("archive", "handed") == 0,
	      "nothing is shed, nothing handed");
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	CHECK(service_spawn(&service, NULL) && service_until(&service, "\"state\":\"idle\""),
	      "and starts again");
	CHECK(reaches("archive", "taken", (long)FRAMES) == (long)FRAMES, "all %ld are still there",
	      taker("archive", "taken"));
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, sizeof(image),
				  NULL) == 0,
	      "the archive comes");
	while (got < FRAMES &&
	       bs_endpoint_recv(&archive, image, sizeof(image), &len, AWAIT_MS, NULL) == 0) {
		struct bs_wire w;
		const unsigned char *payload;
		static uint64_t before;

		in_order = in_order && bs_wire_decode(&w, image, len, &payload, NULL) == 0 &&
			   (got == 0 || w.seq == before + 1);
		before = w.seq;
		got++;
	}
	CHECK(got == FRAMES && in_order, "it gets all %u, whole and in order", got);
	CHECK(reaches("archive", "handed", (long)FRAMES) == (long)FRAMES &&
		      taker("archive", "behind") == 0,
	      "and nothing waits any more");
	bs_endpoint_close(&archive);
	stop();
}

int main(void)
{
	test_dead_archive();
	test_slow_viewer();
	test_receipts();
	test_stopped_ingest();
	test_hung_disk("keep_newest", false);
	test_hung_disk("spill", true);
	test_hung_end();
	test_killed_in_hand();
	test_no_folder();
	test_emit_dies();
	test_broken_folders();
	test_spilled_archive();
	return check_done();
}
