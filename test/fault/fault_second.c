/*
 * test/fault/fault_second.c - a scan is opened while the one before is closed and its last images
 * are still being made: it is accepted, taken, logged and acknowledged then, from the same sender
 * and from another one; both scans have their images, the same bytes as alone, whoever is killed
 * meanwhile, all of the service included
 *
 * usage: BORESIDE=path fault_second. The reconstruction is held up by SIGSTOP: what is said to be
 * there before the first scan's outcome is. Counted by the senders' books and the files.
 */
/* Holds: W66 */
#define _GNU_SOURCE
#include <pthread.h>

#include "drivers/log/folder.h"
#include "test/support/recovery.h"

#define FRAMES 3u
#define LINES  32u

static struct service service;
static unsigned scans;     /* that were accepted */
static unsigned refers[2]; /* the numbers of those that were alone: "cart", "spokes" */

/* ---- the service ---- */

static void replace(const char *worker)
{
	const pid_t old = ready_pid(&service, worker);
	pid_t next = -1;

	(void)kill(old, SIGKILL);
	AWAIT((next = ready_pid(&service, worker)) > 0 && next != old);
	CHECK(old > 0 && next > 0 && next != old, "a new %s is ready", worker);
}

static bool same_image(unsigned scan, unsigned alone, unsigned number)
{
	static unsigned char a[65536], b[sizeof(a)];
	const size_t n = image_bytes(&service, alone, number, a, sizeof(a));

	return n > 0 && image_bytes(&service, scan, number, b, sizeof(b)) == n &&
	       memcmp(a, b, n) == 0;
}

static unsigned same_images(unsigned scan, unsigned alone)
{
	unsigned same = 0;

	for (unsigned i = 1; i <= FRAMES; i++)
		same += same_image(scan, alone, i);
	return same;
}

/* ---- the senders ---- */

static bool is_spokes(const char *protocol)
{
	return strcmp(protocol, "spokes") == 0;
}

/* Reads until this comes of this session. */
static bool hears(struct peer *p, uint64_t session, enum bs_wire_kind kind)
{
	const int64_t limit = await_limit();

	do {
		if (!peer_await_until(p, kind, limit))
			return false;
	} while (p->w.session != session);
	return true;
}

static bool opens(struct peer *p, const char *protocol)
{
	const bool good = peer_begin(p, protocol);

	scans += good;
	return good;
}

static void send_lines(struct peer *p, const char *protocol, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		CHECK(peer_acq(p, protocol, i % LINES, i / LINES), "a readout is sent");
}

/* Until it and all before it are held. */
static bool closes(struct peer *p, uint64_t count)
{
	const uint64_t close = p->seq++;

	if (!peer_close_scan(p, close, count))
		return false;
	while (hears(p, p->session, BS_WIRE_ACK))
		if (p->ack.held == close)
			return true;
	return false;
}

static void ends_well(struct peer *p, uint64_t session, const char *who)
{
	const bool heard = hears(p, session, BS_WIRE_OUTCOME);
	const struct bs_wire_outcome *o = &p->outcome;
	const bool good = heard && o->code == 0 && o->images == FRAMES &&
			  o->acquisitions == FRAMES * LINES && o->gaps == 0 && o->rejected == 0;

	CHECK(good, "the %s scan: %llu readouts, %llu images: %d %s", who,
	      (unsigned long long)o->acquisitions, (unsigned long long)o->images, o->code, o->text);
}

static void alone(const char *protocol)
{
	struct peer p;

	CHECK(peer_open(&p, &service), "a sender connects");
	CHECK(opens(&p, protocol), "%s alone is accepted", protocol);
	send_lines(&p, protocol, 0, FRAMES * LINES);
	CHECK(closes(&p, FRAMES * LINES), "it is closed");
	ends_well(&p, p.session, "only");
	refers[is_spokes(protocol)] = scans;
	peer_close(&p);
}

/* Nothing but what is said to a scan that waits. */
static bool has_no_outcome(struct peer *p, uint64_t session)
{
	while (peer_hear(p, 0))
		if (p->w.kind == BS_WIRE_OUTCOME && p->w.session == session)
			return false;
	return true;
}

/* A sender whose hand is busy says that it is there: else a third one may go first. */
static struct {
	struct peer *p;
	uint64_t session;
	pthread_t thread;
	_Atomic bool quit;
} beating;

static void *beat(void *arg)
{
	unsigned char envelope[BS_WIRE_BYTES];

	(void)arg;
	while (!atomic_load(&beating.quit)) {
		struct bs_wire w = { .kind = BS_WIRE_HEARTBEAT,
				     .session = beating.session,
				     .time_ns = bs_now_ns() };

		bs_wire_encode(envelope, &w, NULL, 0);
		(void)bs_endpoint_send(&beating.p->socket, envelope, sizeof(envelope), NULL, 0, 0,
				       NULL);
		await_pause_ms(100);
	}
	return NULL;
}

static void beats(struct peer *p)
{
	beating.p = p;
	beating.session = p->session;
	atomic_store(&beating.quit, false);
	if (pthread_create(&beating.thread, NULL, beat, NULL) != 0)
		exit(1);
}

static void beats_no_more(void)
{
	atomic_store(&beating.quit, true);
	(void)pthread_join(beating.thread, NULL);
}

/* ---- two scans, by hand ---- */

static void say_who(uint64_t first, uint64_t second)
{
	char words[80];

	(void)snprintf(words, sizeof(words), "\"holder\":\"%016llx\"", (unsigned long long)second);
	CHECK(service_until(&service, words), "the status says who is being taken");
	(void)snprintf(words, sizeof(words), "\"solved\":\"%016llx\"", (unsigned long long)first);
	CHECK(service_until(&service, words), "and who is being reconstructed");
	CHECK(service_until(&service, "\"waiting\":1,"), "and that a third one waits");
}

/* A header; its answer is not waited for. */
static void asks(struct peer *p, const char *protocol)
{
	char xml[SERVICE_XML_MAX];
	const size_t n = peer_xml(xml, protocol, peer_cartesian(protocol));

	(void)peer_new_session(p);
	CHECK(peer_header(p, protocol, xml, n) && hears(p, p->session, BS_WIRE_HEARTBEAT),
	      "a third header waits");
}

static void overlap(const char *one, const char *two, bool same, bool killed)
{
	const pid_t recon = ready_pid(&service, "recon");
	struct peer a;
	struct peer other;
	struct peer third;
	struct peer *b = same ? &a : &other;
	int64_t since;
	uint64_t first;

	printf("# %s, then %s from %s sender%s\n", one, two, same ? "the same" : "another",
	       killed ? "; the reconstruction is killed" : "");
	CHECK(peer_open(&a, &service) && peer_open(&other, &service) && peer_open(&third, &service),
	      "senders connect");
	CHECK(opens(&a, one), "the first scan is accepted");
	first = a.session;
	CHECK(recon > 0 && kill(recon, SIGSTOP) == 0, "the reconstruction stands still");
	send_lines(&a, one, 0, FRAMES * LINES);
	CHECK(closes(&a, FRAMES * LINES), "the first scan is closed, all of it is held");
	since = await_now_ns();
	CHECK(opens(b, two), "the second one is accepted before the first one's outcome");
	printf("# its ACCEPT: %.2f ms after its OPEN\n", (double)(await_now_ns() - since) * 1e-6);
	send_lines(b, two, 0, LINES);
	beats(b);
	asks(&third, two);
	say_who(first, b->session);
	if (killed)
		replace("recon");
	send_lines(b, two, LINES, FRAMES * LINES);
	CHECK(killed || closes(b, FRAMES * LINES), "the second one is closed");
	if (!killed)
		CHECK(has_no_outcome(&a, first), "and there is none yet");
	(void)kill(killed ? -1 : recon, SIGCONT);
	ends_well(&a, first, "first");
	if (killed)
		CHECK(peer_close_scan(b, b->seq++, FRAMES * LINES), "the second one is closed");
	beats_no_more();
	ends_well(b, b->session, "second");
	CHECK(same_images(scans - 1, refers[is_spokes(one)]) == FRAMES, "the first one's images");
	CHECK(same_images(scans, refers[is_spokes(two)]) == FRAMES, "the second one's images");
	CHECK(hears(&third, third.session, BS_WIRE_ACCEPT), "then the third one is accepted");
	scans++;
	send_lines(&third, two, 0, FRAMES * LINES);
	CHECK(closes(&third, FRAMES * LINES), "and closed");
	ends_well(&third, third.session, "third");
	peer_close(&a);
	peer_close(&other);
	peer_close(&third);
}

/* The first one's sender leaves and asks for its outcome when the second one is over. */
static void ask_later(void)
{
	const pid_t recon = ready_pid(&service, "recon");
	uint64_t seq;
	uint64_t first;
	struct peer a;
	struct peer b;

	CHECK(peer_open(&a, &service) && peer_open(&b, &service), "senders connect");
	CHECK(opens(&a, "cart"), "the first scan is accepted");
	(void)kill(recon, SIGSTOP);
	send_lines(&a, "cart", 0, LINES);
	CHECK(closes(&a, FRAMES * LINES), "its close says that more was sent than came");
	first = a.session;
	seq = a.seq - 1;
	peer_close(&a);
	CHECK(opens(&b, "spokes"), "the second scan is accepted");
	(void)kill(recon, SIGCONT);
	send_lines(&b, "spokes", 0, FRAMES * LINES);
	CHECK(closes(&b, FRAMES * LINES), "it is closed");
	ends_well(&b, b.session, "second");
	peer_close(&b);
	CHECK(peer_open(&a, &service), "the first one's sender comes back");
	a.session = first;
	CHECK(peer_close_scan(&a, seq, FRAMES * LINES) && hears(&a, first, BS_WIRE_OUTCOME) &&
		      a.outcome.code == BS_ERR_SEQUENCE && a.outcome.images == 1,
	      "and has its outcome: %d %s", a.outcome.code, a.outcome.text);
	peer_close(&a);
}

/*
 * A sender's next header waits in line behind another's open scan, and on the same connection it
 * asks for the outcome of its scan before. A second header of that connection takes the place of
 * the first.
 */
static void ask_behind(void)
{
	char xml[SERVICE_XML_MAX];
	const size_t n = peer_xml(xml, "cart", peer_cartesian("cart"));
	uint64_t first;
	uint64_t given_up;
	uint64_t seq;
	struct peer a;
	struct peer b;

	CHECK(peer_open(&a, &service) && peer_open(&b, &service), "senders connect");
	CHECK(opens(&a, "cart"), "a scan is accepted");
	send_lines(&a, "cart", 0, FRAMES * LINES);
	CHECK(closes(&a, FRAMES * LINES), "it is closed");
	ends_well(&a, a.session, "first");
	first = a.session;
	seq = a.seq - 1;
	peer_close(&a);
	CHECK(opens(&b, "spokes"), "another one's is accepted");
	beats(&b);
	CHECK(peer_open(&a, &service), "the first one's sender comes back");
	asks(&a, "cart");
	given_up = a.session;
	a.session = first;
	CHECK(peer_close_scan(&a, seq, FRAMES * LINES) && hears(&a, first, BS_WIRE_OUTCOME) &&
		      a.outcome.code == 0,
	      "its next header waits, and it has the outcome: %d %s", a.outcome.code,
	      a.outcome.text);
	(void)peer_new_session(&a);
	CHECK(peer_header(&a, "cart", xml, n) && hears(&a, given_up, BS_WIRE_REFUSE) &&
		      a.answer.code == BS_ERR_STATE,
	      "another header takes its place: %s", a.answer.text);
	beats_no_more();
	send_lines(&b, "spokes", 0, FRAMES * LINES);
	CHECK(closes(&b, FRAMES * LINES), "the other one is closed");
	ends_well(&b, b.session, "other");
	CHECK(hears(&a, a.session, BS_WIRE_ACCEPT), "the second header is accepted");
	scans++;
	send_lines(&a, "cart", 0, FRAMES * LINES);
	CHECK(closes(&a, FRAMES * LINES), "and its scan closed");
	ends_well(&a, a.session, "last");
	peer_close(&a);
	peer_close(&b);
}

/* ---- two scans, by senders that send again what was lost ---- */

#define LONG 12u /* frames: two of these scans are more readouts than the pool has slots, 512 */

static struct bs_replay *recording[2]; /* one for each sender */

static void begin(struct sent *s, uint64_t session)
{
	*s = (struct sent){ .service = &service,
			    .from = recording[session & 1],
			    .session = session };
	scans++;
	if (pthread_create(&s->thread, NULL, send_scan, s) != 0)
		exit(1);
}

/*
 * Where ACCEPT waits for a disk, OPEN is sent again each 1 to 4 s, and counted; else it is all that
 * was kept, more than LINES. is_made: its images were when the service was killed; its sender,
 * which had not heard that, may be told so little now.
 */
static void check_whole_or(struct sent *s, unsigned alone, const char *who, bool is_made)
{
	const struct bs_wire_outcome *o = &s->report.outcome;
	unsigned same = 0;

	(void)pthread_join(s->thread, NULL);
	CHECK((is_made && s->rc == 0 && s->report.code == BS_ERR_STATE) ||
		      (s->rc == 0 && s->report.code == 0 && o->images == LONG &&
		       o->acquisitions == (uint64_t)LONG * LINES && o->gaps == 0 &&
		       o->rejected == 0 && o->duplicates < LINES &&
		       o->duplicates <= s->report.resent),
	      "the %s scan: %d %s, %d %s, %llu readouts, %llu images, %llu duplicates", who, s->rc,
	      s->why.text, s->report.code, o->text, (unsigned long long)o->acquisitions,
	      (unsigned long long)o->images, (unsigned long long)o->duplicates);
	for (unsigned i = 1; i <= LONG; i++)
		same += same_image((unsigned)s->session, alone, i);
	CHECK(same == LONG, "the %s scan: the same %u images", who, same);
}

static void check_whole(struct sent *s, unsigned alone, const char *who)
{
	check_whole_or(s, alone, who, false);
}

static bool holds(uint64_t session)
{
	char words[80];

	(void)snprintf(words, sizeof(words), "\"holder\":\"%016llx\"", (unsigned long long)session);
	return service_until(&service, words);
}

static void overlap_killed(unsigned alone, bool ingest, bool recon)
{
	struct sent a;
	struct sent b;
	pid_t pid = ready_pid(&service, "recon");

	printf("# while a second scan is taken: %s%s killed\n", ingest ? "ingest " : "",
	       recon ? "recon" : "");
	CHECK(pid > 0 && kill(pid, SIGSTOP) == 0, "the reconstruction stands still");
	begin(&a, scans + 1);
	CHECK(service_until(&service, "\"state\":\"draining\""), "the first scan is closed");
	begin(&b, scans + 1);
	CHECK(holds(b.session), "the second one is accepted");
	CHECK(service_reaches(&service, "\"scan\":", "acquisitions", 128) >= 128,
	      "it comes, as far as there are slots");
	if (ingest)
		replace("ingest");
	if (recon)
		replace("recon");
	else
		(void)kill(pid, SIGCONT);
	if (ingest && recon)
		replace("ingest");
	check_whole(&a, alone, "first");
	check_whole(&b, alone, "second");
}

/*
 * What came is in the logs. A disk that is slow for half a second lets a scan go on unprotected, as
 * it is told, and a kill would take what it lacks.
 */
static bool is_logged(void)
{
	return service_until(&service, "\"waiting\":0,\"waiting_bytes\":0,");
}

/* It takes up the scan, or its images were made before the kill. */
static bool takes_up(uint64_t session, bool *is_made)
{
	const char *words = "was sealed before its images were made";
	char dir[96];

	(void)snprintf(dir, sizeof(dir), "%s/logs", service.dir);
	AWAIT(service_logged(&service, words) || bs_log_folder_made(dir) == session);
	*is_made = !service_logged(&service, words) && bs_log_folder_made(dir) == session;
	return *is_made || service_logged(&service, words);
}

/* All of it is killed in two scans: the next start has both, the older one first. */
static void service_killed(unsigned alone, unsigned times)
{
	const pid_t pid = ready_pid(&service, "recon");
	struct sent a;
	struct sent b;
	bool is_made = false;

	printf("# while a second scan is taken the service is killed, %u times\n", times);
	CHECK(pid > 0 && kill(pid, SIGSTOP) == 0, "the reconstruction stands still");
	begin(&a, scans + 1);
	CHECK(service_until(&service, "\"state\":\"draining\""), "the first scan is closed");
	begin(&b, scans + 1);
	CHECK(holds(b.session), "the second one is accepted");
	CHECK(service_reaches(&service, "\"scan\":", "acquisitions", 128) >= 128,
	      "it comes, as far as there are slots");
	for (unsigned i = 0; i < times; i++) {
		CHECK(i > 0 || is_logged(), "what came is in the logs");
		(void)kill(service.pid, SIGKILL);
		(void)service_wait(&service);
		if (check_failed == 0)
			(void)truncate(service.log, 0);
		CHECK(service_spawn(&service, NULL) && takes_up(a.session, &is_made),
		      "it starts again, and takes up the first one");
	}
	check_whole_or(&a, alone, "first", is_made);
	check_whole(&b, alone, "second");
}

static bool prepare(void)
{
	char command[512];

	(void)snprintf(command, sizeof(command),
		       "'%s' phantom -c %s -p spokes --repetitions %u --tr-us 750 --snr 20 -o "
		       "%s/scan.h5 >>%s 2>&1",
		       getenv("BORESIDE"), service.site, LONG, service.dir, service.log);
	if (system(command) != 0)
		return false;
	(void)snprintf(command, sizeof(command), "%s/scan.h5", service.dir);
	return bs_replay_open(&recording[0], command, 0, NULL) == 0 &&
	       bs_replay_open(&recording[1], command, 0, NULL) == 0;
}

int main(void)
{
	unsigned first;
	struct sent s;

	CHECK(service_start_with(&service, SERVICE_PATIENT,
				 "log: { dir = \"logs\"; };\n"
				 "endpoints: { archive = \"\"; };\n" SERVICE_SINKS
				 "protocols = ( " SERVICE_CART "{ name = \"spokes\"; method = "
				 "\"gridding\"; " SERVICE_SPOKES "} );\n",
				 NULL) &&
		      prepare(),
	      "a service, and a scan to send");
	if (check_failed != 0)
		return check_done();
	alone("cart");
	alone("spokes");
	for (int i = 0; i < 4; i++)
		overlap(i & 1 ? "spokes" : "cart", i & 1 ? "cart" : "spokes", i / 2 == 0, i & 1);
	ask_later();
	ask_behind();
	begin(&s, scans + 1);
	first = scans;
	check_whole(&s, first, "only");
	overlap_killed(first, true, false);
	overlap_killed(first, false, true);
	overlap_killed(first, true, true);
	service_killed(first, 1);
	service_killed(first, 2);
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0 &&
		      service_number(&service, "\"images\",\"slots\"", "in_use") == 0,
	      "after all that, no slot is lost");
	bs_replay_close(recording[0]);
	bs_replay_close(recording[1]);
	return service_end(&service);
}
