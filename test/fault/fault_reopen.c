/*
 * test/fault/fault_reopen.c - the service killed (kill -9 of its supervisor) in the middle of a
 * scan and started again: the scan goes on from its log. Its sender returns, or does not, or
 * another scanner comes first, or the protocol is gone, or the log's tail is torn.
 *
 * Counted by the sender's own report, by an archive that asks (its book: which image of which scan
 * it was given, how often) and by the files of a sink.
 */
/* Holds: W63, L9 */
#define _GNU_SOURCE
#include <glob.h>
#include <pthread.h>

#include "drivers/log/folder.h"
#include "drivers/log/reader.h"
#include "test/fault/start/archived.h"
#include "test/support/recovery.h"

#define FRAMES 60u
#define LINES  32u
#define TR_US  500 /* a scan takes 1 s */

static struct service service;
static struct bs_replay *recording;
static char logs[96];
static const char *policy = "wait", *folder = "out"; /* of the sink, and its folder */
static uint64_t random_state = 20261123;

/* ---- the site ---- */

static bool write_site(const char *mode, const char *resume_s, const char *protocols)
{
	char body[2000];

	(void)snprintf(body, sizeof(body),
		       "log: { dir = \"logs\"; mode = \"%s\"; resume_s = %s; };\n"
		       "endpoints: { archive = \"\"; viewers = \"\"; images = "
		       "\"ipc://run/images.ipc\"; };\n"
		       "overload: { spill_dir = \"spill\"; sinks = \"%s\"; };\n"
		       "sinks = ( { type = \"cfl\"; dir = \"%s\"; } );\n"
		       "protocols = ( %s );\n",
		       mode, resume_s, policy, folder, protocols);
	return service_write_site(&service, SERVICE_PATIENT " drain_s = 0.2;", body);
}

#define SPOKES "{ name = \"spokes\"; method = \"gridding\"; " SERVICE_SPOKES "}"
#define CART   "{ name = \"cart\"; " SERVICE_LINES "silence_ms = 60000.0; }"

static bool unprotected; /* some log lacked messages for a while: the disk was too slow for it */

/* Its log begins anew. */
static void kill_service(void)
{
	(void)kill(service.pid, SIGKILL);
	(void)service_wait(&service);
	unprotected = unprotected || service_logged(&service, "goes on unprotected");
	if (check_failed == 0)
		(void)truncate(service.log, 0);
}

/* ---- files ---- */

/* The bytes of a scan's image; 0: it is not there, or more than once. */
static size_t image(unsigned scan, unsigned number, unsigned char *out, size_t cap)
{
	char path[160];
	size_t n = 0;
	glob_t found;
	FILE *f = NULL;

	(void)snprintf(path, sizeof(path), "%s/%s/uid*-s%03u-i%05u*.cfl", service.dir, folder, scan,
		       number);
	if (glob(path, 0, NULL, &found) == 0 && found.gl_pathc == 1)
		f = fopen(found.gl_pathv[0], "rb");
	globfree(&found);
	if (f == NULL)
		return 0;
	n = fread(out, 1, cap, f);
	(void)fclose(f);
	return n;
}

/* Of the first ones of a scan, those that are there once and as the scan's that `as` names. */
static unsigned same_images(unsigned scan, unsigned as, unsigned count)
{
	static unsigned char a[65536], b[sizeof(a)];
	unsigned same = 0;

	for (unsigned i = 1; i <= count; i++) {
		const size_t n = image(as, i, a, sizeof(a));

		same += n > 0 && image(scan, i, b, sizeof(b)) == n && memcmp(a, b, n) == 0;
	}
	return same;
}

/* Logs of this session: how many messages can be read; sealed, damaged. */
static unsigned read_log(uint64_t session, bool *sealed, bool *damaged)
{
	struct bs_log_entry *list;
	struct bs_log_reader *r;
	struct bs_log_message m;
	char path[256];
	unsigned count = 0;
	size_t n;

	*sealed = *damaged = false;
	if (bs_log_folder_list(logs, &list, &n, NULL) != 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%.63s", logs, list[i].name);
		if (bs_log_open(&r, path, NULL) != 0)
			continue;
		if (bs_log_begins(r)->session == session) {
			int rc;

			while ((rc = bs_log_next(r, &m, NULL)) == 1)
				count++;
			*sealed = bs_log_sealed(r);
			*damaged = rc != 0;
		}
		bs_log_close(r);
	}
	free(list);
	return count;
}

/* It is sealed a moment after the scan's end. */
static bool is_sealed(uint64_t session, unsigned messages)
{
	bool sealed = false;
	bool damaged = false;
	unsigned n = 0;

	AWAIT((n = read_log(session, &sealed, &damaged), sealed));
	if (!sealed || damaged || n != messages)
		printf("# its log: %u messages, %s, %s\n", n, sealed ? "sealed" : "open",
		       damaged ? "damaged" : "good");
	return sealed && !damaged && n == messages;
}

/* ---- a sender that returns ---- */

static bool is_whole(const struct sent *s)
{
	const struct bs_wire_outcome *o = &s->report.outcome;
	const bool good = s->rc == 0 && s->report.code == 0 && o->images == FRAMES &&
			  o->acquisitions == (uint64_t)FRAMES * LINES && o->gaps == 0 &&
			  o->rejected == 0;

	if (!good)
		printf("# %d %s: outcome %s \"%s\", %llu acquisitions, %llu images, %llu gaps, "
		       "%llu rejected, %llu duplicates\n",
		       s->rc, s->why.text, bs_err_name(s->report.code), o->text,
		       (unsigned long long)o->acquisitions, (unsigned long long)o->images,
		       (unsigned long long)o->gaps, (unsigned long long)o->rejected,
		       (unsigned long long)o->duplicates);
	return good;
}

static pid_t worker_pid(const char *worker)
{
	char where[64];

	(void)snprintf(where, sizeof(where), "\"name\":\"%s\",\"pid\"", worker);
	return (pid_t)service_number(&service, where, "pid");
}

/* Killed some times, and then, when this is logged, the worker; mode: of the log from then on. */
static void test_returns(unsigned number, unsigned kills, const char *worker, const char *when,
			 const char *mode)
{
	static uint64_t session = 5000;
	struct sent s = { .service = &service,
			  .from = recording,
			  .session = ++session,
			  .speed = kills > 0 ? 1.0 : 0.0 };

	if (pthread_create(&s.thread, NULL, send_scan, &s) != 0)
		exit(1);
	for (unsigned k = 0; k < kills; k++) {
		AWAIT(archived(s.session) >= 3 + 20 * k || atomic_load(&s.over));
		await_pause_ms((int)(check_uniform(&random_state) * 100));
		CHECK(!atomic_load(&s.over), "scan %u is under way", number);
		kill_service();
		CHECK(write_site(mode, "3000.0", SPOKES ", " CART) && service_spawn(&service, NULL),
		      "it starts again");
		if (worker != NULL && service_logs(&service, when))
			(void)kill(worker_pid(worker), SIGKILL);
	}
	(void)pthread_join(s.thread, NULL);
	if (unprotected && !is_whole(&s)) {
		printf("skip scan %u: the disk was too slow for the log\n", number);
		return;
	}
	CHECK(is_whole(&s), "scan %u, the service killed %u times%s%s: whole (%llu sent again)",
	      number, kills, worker != NULL ? ", then " : "", worker != NULL ? worker : "",
	      (unsigned long long)s.report.resent);
	AWAIT(same_images(number, 1, FRAMES) == FRAMES); /* a sink that spills may be behind */
	CHECK(same_images(number, 1, FRAMES) == FRAMES, "scan %u: the same images, each once",
	      number);
	AWAIT(archived(s.session) >= FRAMES);
	CHECK(archived(s.session) == FRAMES, "scan %u: the archive has each once (%u)", number,
	      archived(s.session));
	CHECK(is_sealed(s.session, FRAMES * LINES + 2), "scan %u: its log is whole", number);
}

/* A sink that is given from the store what it lacks. The service counts its scans from 1 again. */
static void test_spilled(void)
{
	policy = "spill";
	folder = "spilled";
	CHECK(service_stop(&service) == 0 && write_site("durable", "3000.0", SPOKES ", " CART) &&
		      service_spawn(&service, NULL) &&
		      service_until(&service, "\"state\":\"idle\""),
	      "a start with a sink that spills");
	test_returns(1, 0, NULL, "", "durable");
	test_returns(2, 1, NULL, "", "durable");
}

/* ---- a sender that does not ---- */

/* So many readouts of "cart", durable, and then nothing more. */
static uint64_t leave_running(unsigned readouts, struct peer *p)
{
	bool good = peer_open(p, &service) && peer_begin(p, "cart");
	bool sealed;
	bool damaged;

	for (unsigned i = 0; good && i < readouts; i++) {
		good = peer_acq(p, "cart", i % LINES, i / LINES);
		while (peer_hear(p, 0))
			;
	}
	/* a disk that is slow for half a second lets the scan go on unprotected: the log tells */
	AWAIT(read_log(p->session, &sealed, &damaged) == readouts + 1);
	CHECK(good && read_log(p->session, &sealed, &damaged) == readouts + 1 && !sealed,
	      "a scan that is left after %u readouts", readouts);
	return p->session;
}

static uint64_t leave_open(unsigned readouts)
{
	struct peer p;
	const uint64_t session = leave_running(readouts, &p);

	kill_service();
	peer_close(&p);
	return session;
}

static bool good_scan(void)
{
	struct peer p;
	bool good = peer_open(&p, &service) && peer_good_scan(&p, "cart", 4);

	peer_close(&p);
	return good;
}

/* number: of a good scan of 4 images; the one that is left has the next. */
static void test_alone(unsigned number)
{
	const uint64_t session = leave_open(3 * LINES + 11);

	CHECK(write_site("durable", "0.2", SPOKES ", " CART) && service_spawn(&service, NULL) &&
		      service_logs(&service, "did not come back, after number 107"),
	      "its sender is awaited, and the scan ends");
	CHECK(service_until(&service, "\"state\":\"idle\""), "the service is idle");
	CHECK(same_images(number + 1, number, 3) == 3 && archived(session) < 1000,
	      "the complete images are there, once");
	AWAIT(archived(session) >= 4);
	CHECK(archived(session) == 4, "and in the archive, with one that is partial");
	CHECK(is_sealed(session, 3 * LINES + 12), "its log is sealed");
	CHECK(service_stop(&service) == 0, "it ends");
	CHECK(service_spawn(&service, NULL) && service_until(&service, "\"state\":\"idle\"") &&
		      archived(session) == 4,
	      "a start later nothing is made of it any more");
}

/* The service is killed when the scan's log has its end, and its sender has not had the outcome. */
static void test_asks(void)
{
	struct peer p;
	uint64_t session;
	uint64_t seq;

	CHECK(peer_open(&p, &service) && peer_good_scan(&p, "cart", 2), "a scan is over");
	AWAIT(archived(p.session) == 2);
	session = p.session;
	seq = p.seq - 1;
	kill_service();
	peer_close(&p);
	CHECK(service_spawn(&service, NULL) && peer_open(&p, &service), "a new start");
	p.session = session;
	CHECK(peer_close_scan(&p, seq, 2 * LINES) && peer_await(&p, BS_WIRE_OUTCOME) &&
		      p.w.session == session && p.outcome.code == 0 && p.outcome.images == 2 &&
		      p.outcome.acquisitions == 2 * LINES,
	      "its sender asks, and has the outcome: %s", p.outcome.text);
	CHECK(archived(p.session) == 2 && is_sealed(p.session, 2 * LINES + 2),
	      "no image comes twice, and the log is as it was");
	peer_close(&p);
}

/*
 * The service is told to end, and ends the scan; its sender is away and does not hear of it. Of
 * what it sends to the next start nothing is acknowledged that is in no log.
 */
static void test_sealed(void)
{
	const uint64_t logged = LINES + 11;
	_Alignas(8) unsigned char payload[4096];
	struct peer p;
	const uint64_t session = leave_running(LINES + 11, &p);

	peer_close(&p);
	CHECK(service_stop(&service) == 0 && is_sealed(session, (unsigned)logged + 1),
	      "a stop ends the scan, and seals its log");
	CHECK(service_spawn(&service, NULL) && peer_open(&p, &service), "a new start");
	p.session = session;
	for (unsigned i = (unsigned)logged; i < logged + 20; i++) {
		const size_t len = peer_readout(payload, "cart", i % LINES, i / LINES);

		(void)peer_say(&p, BS_WIRE_ACQ, i + 1, payload, len);
	}
	CHECK(peer_await(&p, BS_WIRE_OUTCOME) && p.outcome.code == BS_ERR_ABORTED &&
		      p.outcome.acquisitions == logged,
	      "its sender goes on, and has the outcome: %s", p.outcome.text);
	CHECK(p.ack.durable <= logged, "nothing is durable that the log lacks: %llu of %llu",
	      (unsigned long long)p.ack.durable, (unsigned long long)logged);
	CHECK(is_sealed(session, (unsigned)logged + 1), "which is as it was");
	peer_close(&p);
}

static void test_another_comes(void)
{
	const uint64_t session = leave_open(2 * LINES);

	CHECK(write_site("durable", "3000.0", SPOKES ", " CART) && service_spawn(&service, NULL) &&
		      service_logs(&service, "at number 65; its sender is awaited") && good_scan(),
	      "another scanner comes, and need not wait");
	CHECK(service_logged(&service, "another header"), "which is said");
	CHECK(is_sealed(session, 2 * LINES + 1), "the log of the first is sealed");
	CHECK(archived(session) == 2, "its images had been made");
}

static void test_protocol_gone(void)
{
	const uint64_t session = leave_open(2 * LINES);
	struct peer p;

	CHECK(write_site("durable", "3000.0", SPOKES) && service_spawn(&service, NULL) &&
		      service_logs(&service, "the scan does not go on"),
	      "its protocol is gone, and that is said");
	CHECK(service_logged(&service, "has no protocol 'cart'"), "with the reason");
	CHECK(is_sealed(session, 2 * LINES + 1), "its log is sealed");
	CHECK(peer_open(&p, &service) && peer_good_scan(&p, "spokes", 1), "others are not held up");
	peer_close(&p);
	kill_service();
	CHECK(write_site("durable", "0.0", SPOKES ", " CART) && service_spawn(&service, NULL) &&
		      service_until(&service, "\"state\":\"idle\""),
	      "it is back");
}

/* The log's file is cut, or spoiled from there on, so many bytes before its end. */
static void tear(uint64_t session, unsigned before_end, bool spoil)
{
	const uint64_t bytes = 8192 + 3 * LINES * 2048; /* about; of 64 MiB */
	char path[256] = "";
	glob_t found;
	unsigned char waste[4096];
	uint64_t end = bytes;
	struct bs_log_reader *r;
	struct bs_log_message m;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/*-%016llx-*", logs, (unsigned long long)session);
	if (glob(path, 0, NULL, &found) == 0)
		(void)snprintf(path, sizeof(path), "%s", found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
	if (bs_log_open(&r, path, NULL) == 0)
		while (bs_log_next(r, &m, NULL) == 1)
			end = m.place.offset + bs_log_record_bytes(m.len);
	bs_log_close(r);
	fd = open(path, O_WRONLY);
	memset(waste, 0xa5, sizeof(waste));
	CHECK(fd >= 0 && (spoil ? pwrite(fd, waste, before_end, (off_t)(end - before_end)) ==
					  (ssize_t)before_end
				: ftruncate(fd, (off_t)(end - before_end)) == 0),
	      "the log is torn %u bytes before its end", before_end);
	if (fd >= 0)
		(void)close(fd);
}

/* A readout is a record of some 1,500 bytes: of 75, those that are whole are taken. */
static void test_torn(unsigned before_end, bool spoil)
{
	const uint64_t session = leave_open(2 * LINES + 11);
	bool sealed;
	bool damaged;
	unsigned n;

	tear(session, before_end, spoil);
	n = read_log(session, &sealed, &damaged);
	CHECK(n >= 2 * LINES + 10 && n < 2 * LINES + 12 && !damaged && !sealed,
	      "%u of %u messages can be read", n, 2 * LINES + 12);
	CHECK(service_spawn(&service, NULL) && is_sealed(session, n), "it is sealed behind them");
	AWAIT(archived(session) >= 3);
	CHECK(archived(session) == 3, "the archive has two images and a partial one");
	CHECK(service_until(&service, "\"state\":\"idle\""), "the service is idle");
}

/* What killed writers left: files that were being made; an older log without an end. */
static void test_sweep(void)
{
	static const struct {
		const char *name;
		bool ours;
	} left[] = { { "1.spare.part", true },
		     { "0123456789abcdef.part", true },
		     { "notes.part", false },
		     { "0123.part", false },
		     { "x.spare.part", false } };
	char path[5][160];

	kill_service();
	for (unsigned i = 0; i < 5; i++) {
		(void)snprintf(path[i], sizeof(path[i]), "%s/%s", logs, left[i].name);
		(void)close(open(path[i], O_WRONLY | O_CREAT, 0600));
	}
	CHECK(service_spawn(&service, NULL) && service_until(&service, "\"state\":\"idle\""),
	      "a start beside what was left in the folder");
	for (unsigned i = 0; i < 5; i++) {
		AWAIT(!left[i].ours || access(path[i], F_OK) != 0);
		CHECK((access(path[i], F_OK) != 0) == left[i].ours, "%s is %s", left[i].name,
		      left[i].ours ? "gone" : "there: it is not ours");
	}
}

static bool prepare(void)
{
	char command[512];

	(void)snprintf(logs, sizeof(logs), "%s/logs", service.dir);
	(void)snprintf(command, sizeof(command),
		       "'%s' phantom -c %s -p spokes --repetitions %u --tr-us %d --snr 20 -o "
		       "%s/scan.h5 >>%s 2>&1",
		       getenv("BORESIDE"), service.site, FRAMES, TR_US, service.dir, service.log);
	if (system(command) != 0)
		return false;
	(void)snprintf(command, sizeof(command), "%s/scan.h5", service.dir);
	return bs_replay_open(&recording, command, 0, NULL) == 0 && archive_start(&service);
}

int main(void)
{
	(void)snprintf(service.dir, sizeof(service.dir), "/tmp/boreside-test-XXXXXX");
	CHECK(mkdtemp(service.dir) != NULL && write_site("durable", "3000.0", SPOKES ", " CART) &&
		      service_spawn(&service, NULL) &&
		      service_until(&service, "\"state\":\"idle\"") && prepare(),
	      "a service, an archive, and a scan to send");
	if (check_failed != 0)
		return check_done();
	test_returns(1, 0, NULL, "", "durable");
	test_returns(2, 2, NULL, "", "durable");
	test_returns(3, 1, "ingest", "has no end", "durable");
	test_returns(4, 1, "recon", "has no end", "durable");
	test_returns(5, 1, "ingest", "its sender is here", "relaxed");
	test_returns(6, 1, NULL, "", "relaxed");
	CHECK(good_scan(), "a scan that nobody disturbs");
	test_alone(7);
	test_asks();
	test_sealed();
	test_another_comes();
	test_protocol_gone();
	test_torn(1, false);
	test_torn(1600, false);
	test_torn(40, true);
	test_sweep();
	test_spilled();
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	archive_stop();
	bs_replay_close(recording);
	service_remove(&service);
	return check_done();
}
