/*
 * test/fault/fault_crowd.c - the k-space endpoint among peers that mean no good, and among several
 * scanners
 *
 * usage: BORESIDE=path fault_crowd [peers]: so many of each kind (300); the site's endpoint is ipc,
 * then tcp. What a scanner waits for until it is accepted beside each crowd is printed, not judged:
 * judged is that it is accepted, and its scan good, while the crowd is there.
 *
 * fault_crowd flood COUNT: so many hostile connections and messages, RATE a second, beside scans at
 * their own pace, which keep their budget: for a machine that does nothing else (make soak). Before
 * it, scans with nobody beside them for a quarter as long, to compare with.
 */
/* Holds: W19, W20 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "test/support/crowd.h"
#include "test/support/expect.h"

#define SCANS    10
#define HALF     1000u            /* bytes of a message that stops in the middle */
#define PAUSE_US 250u             /* between peers that come and go */
#define RATE     2000u            /* hostile connections and messages a second */
#define FLOOD    2000u            /* of them in make test */
#define OPENS    5                /* of 16 of them, this one is a header */
#define STAY     400u             /* that a flood keeps open */
#define FRAMES   25u              /* of a scan beside it */
#define LINE_NS  INT64_C(1250000) /* between two readouts: an image each 40 ms */
#define GROWTH   8192             /* KiB, of all processes together */

enum crowd { IDLE, SHAKEN, STOPPED, COMES, CUTS, NOISE, CROWDS };
static const char *const names[CROWDS] = {
	"connected and silent",     "shook hands and stopped reading",
	"stopped within a message", "connect, shake hands and leave",
	"connect and leave",        "talk nonsense after the handshake"
};
static unsigned peers = 300;

static long resident_kib(long pid)
{
	char path[64];
	char line[200];
	long kib = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (f != NULL)
		(void)fclose(f);
	return kib;
}

static long pid_of(const char *worker)
{
	char where[64];

	(void)snprintf(where, sizeof(where), "\"name\":\"%s\"", worker);
	return service_number(&service, where, "pid");
}

/* One of the crowd; what it holds open is returned, else -1. */
static int one(enum crowd kind)
{
	static const unsigned char noise[64] = { 7, 'x', 0xff, 0x80 };
	unsigned char head[9];
	int fd = crowd_dial(service.kspace);

	if (fd < 0 || kind == IDLE)
		return fd;
	if (kind != CUTS)
		(void)crowd_greet(fd);
	if (kind == SHAKEN)
		return fd;
	if (kind == STOPPED) {
		(void)(crowd_greeted(fd) &&
		       crowd_put(fd, head, crowd_length(head, service.kspace, HALF)) &&
		       crowd_put(fd, noise, sizeof(noise)));
		return fd;
	}
	if (kind != CUTS)
		(void)crowd_greeted(fd);
	if (kind == NOISE)
		(void)crowd_put(fd, noise, sizeof(noise));
	(void)close(fd);
	return -1;
}

/*
 * The crowd is a process of its own. Those that stay are all there before the pipe says so, and
 * those that come and go do it until they are killed.
 */
static pid_t gather(enum crowd kind)
{
	const bool stays = kind <= STOPPED;
	struct rlimit r;
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
			r.rlim_cur = r.rlim_max;
			(void)setrlimit(RLIMIT_NOFILE, &r);
		}
		for (unsigned i = 0; !stays || i < peers; i++) {
			(void)one(kind);
			if (i == peers - 1)
				(void)!write(ready[1], &byte, 1);
			if (!stays)
				(void)usleep(PAUSE_US);
		}
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	(void)!read(ready[0], &byte, 1);
	(void)close(ready[0]);
	return pid;
}

static void disperse(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* A scanner that comes for one scan: until it is accepted, ms; < 0: its scan was not good. */
static double visit(void)
{
	static struct peer q;
	const int64_t begun = await_now_ns();
	double ms;
	bool good = peer_open(&q, &service) && peer_begin(&q, "cart");

	ms = (double)(await_now_ns() - begun) * 1e-6;
	for (unsigned i = 0; good && i < 32; i++)
		good = peer_acq(&q, "cart", i, 0);
	good = good && peer_end(&q, 32) && q.outcome.code == 0 && q.outcome.images == 1 &&
	       q.outcome.rejected == 0;
	peer_close(&q);
	return good ? ms : -1.0;
}

static void test_crowds(void)
{
	const long ingest = pid_of("ingest");

	for (int kind = 0; kind < CROWDS; kind++) {
		const long before = resident_kib(ingest);
		const pid_t pid = gather((enum crowd)kind);
		double most = 0.0;
		double sum = 0.0;
		unsigned good = 0;

		for (int i = 0; i < SCANS; i++) {
			double ms = visit();

			good += ms >= 0.0;
			sum += ms;
			most = ms > most ? ms : most;
		}
		const long grown = resident_kib(ingest) - before;

		disperse(pid);
		CHECK(pid > 0 && good == SCANS, "%u that %s: %u of %u scans beside them are good",
		      peers, names[kind], good, SCANS);
		CHECK(CHECK_SANITIZED || grown < GROWTH, "ingest's memory grew by %ld KiB", grown);
		printf("# accepted after %.1f ms, at most %.1f\n", sum / SCANS, most);
	}
	CHECK(service_number(&service, "\"kspace\"", "nonsense") >= (long)peers,
	      "the nonsense is counted");
}

/* ---- several scanners ---- */

static void readouts(struct peer *q, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		(void)peer_acq(q, "cart", i, 0);
}

static bool ended(struct peer *q, int code, uint64_t taken)
{
	return peer_await(q, BS_WIRE_OUTCOME) && q->w.session == q->session &&
	       q->outcome.code == code && q->outcome.acquisitions == taken;
}

/* OPEN, without waiting for the answer. */
static void asks(struct peer *q)
{
	char xml[SERVICE_XML_MAX];

	(void)peer_new_session(q);
	(void)peer_header(q, "cart", xml, peer_xml(xml, "cart", true));
}

/* The next scanner waits in line until the scan before it is over, and neither knows. */
static void test_line(void)
{
	static struct peer q;
	unsigned char payload[8];
	char name[64];

	CHECK(peer_open(&q, &service) && peer_begin(&p, "cart"), "a scan begins");
	readouts(&p, 0, 16);
	asks(&q);
	CHECK(service_until(&service, "\"waiting\":1"), "another one's header waits");
	(void)snprintf(name, sizeof(name), "\"sender\":\"process %d of user", (int)getpid());
	CHECK(strncmp(service.kspace, "ipc", 3) != 0 || service_until(&service, name),
	      "the status says whose the scan is");
	CHECK(peer_await(&q, BS_WIRE_HEARTBEAT) && q.w.session == q.session,
	      "its sender hears that the service lives");
	readouts(&p, 16, 32);
	bs_wire_put_u64(payload, 32);
	(void)peer_say(&p, BS_WIRE_CLOSE, p.seq++, payload, sizeof(payload));
	CHECK(ended(&p, 0, 32), "the first scan is not disturbed");
	CHECK(peer_await(&q, BS_WIRE_ACCEPT), "then the second one is accepted");
	readouts(&q, 0, 32);
	CHECK(peer_end(&q, 32) && q.outcome.code == 0, "and is good");

	/* what others say wrong beside it is not the scan's */
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	readouts(&p, 0, 16);
	(void)peer_new_session(&q);
	q.seq = 5;
	readouts(&q, 0, 1);
	CHECK(peer_await(&q, BS_WIRE_REFUSE) && q.answer.code == BS_ERR_STATE,
	      "a stranger's readouts are refused");
	(void)peer_raw(&q, payload, sizeof(payload));
	CHECK(peer_await(&q, BS_WIRE_REFUSE) && q.answer.code == BS_ERR_LENGTH,
	      "his nonsense, too");
	readouts(&p, 16, 32);
	CHECK(peer_end(&p, 32) && p.outcome.code == 0 && p.outcome.rejected == 0,
	      "the scan beside him counts none of it");
	peer_close(&q);
}

/*
 * While recon solves a closed scan's last frame the next scanner's scan is taken, and the one after
 * that waits; nobody's books say else.
 */
static void test_solving(void)
{
	static struct peer q, r;
	const pid_t recon = (pid_t)service_number(&service, "\"name\":\"recon\"", "pid");
	char holder[64];
	bool early = false;
	int64_t asked;
	int64_t over;

	CHECK(peer_open(&q, &service) && peer_open(&r, &service) && peer_begin(&p, "cart"),
	      "a scan begins");
	CHECK(recon > 0 && kill(recon, SIGSTOP) == 0, "its reconstruction takes its time");
	readouts(&p, 0, 32);
	CHECK(peer_close_scan(&p, p.seq++, 32) && service_until(&service, "\"state\":\"draining\""),
	      "it is closed");
	asked = await_now_ns();
	CHECK(peer_begin(&q, "cart"), "the next one is accepted");
	printf("# after %.2f ms\n", (double)(await_now_ns() - asked) * 1e-6);
	asks(&r);
	CHECK(service_until(&service, "\"waiting\":1"), "the third one's header waits");
	(void)snprintf(holder, sizeof(holder), "\"solved\":\"%016llx\"",
		       (unsigned long long)p.session);
	CHECK(service_until(&service, holder), "the status says which session is being solved");
	(void)snprintf(holder, sizeof(holder), "\"holder\":\"%016llx\"",
		       (unsigned long long)q.session);
	CHECK(service_until(&service, holder), "and which one holds the endpoint");
	CHECK(service_reaches(&service, "\"kspace\"", "held_ms", 20) >= 20 &&
		      service_reaches(&service, "\"kspace\"", "silent_ms", 20) >= 20 &&
		      service_reaches(&service, "\"kspace\"", "solved_ms", 20) >= 20 &&
		      service_reaches(&service, "\"kspace\"", "waiting_ms", 20) >= 20,
	      "since when, when its last message came, how long the first one waits");
	readouts(&q, 0, 32);
	CHECK(peer_close_scan(&q, q.seq++, 32), "it is sent and closed");
	for (int beats = 0; beats < 3 && !early; beats += r.w.kind == BS_WIRE_HEARTBEAT)
		early = peer_hear(&r, AWAIT_MS) && r.w.kind == BS_WIRE_ACCEPT;
	CHECK(!early, "the third one hears that the service lives, and is not accepted");
	CHECK(kill(recon, SIGCONT) == 0 && ended(&p, 0, 32), "the first scan has its outcome");
	over = await_now_ns();
	CHECK(peer_await(&r, BS_WIRE_ACCEPT), "and the third one is accepted");
	printf("# %.1f ms later\n", (double)(await_now_ns() - over) * 1e-6);
	CHECK(ended(&q, 0, 32), "the second one has its outcome, too");
	readouts(&r, 0, 32);
	CHECK(peer_end(&r, 32) && r.outcome.code == 0, "and the third one is good");
	CHECK(service_until(&service, "\"holder\":\"\"") &&
		      service_number(&service, "\"kspace\"", "waiting") == 0 &&
		      service_number(&service, "\"kspace\"", "idle") >= 3,
	      "nobody holds it then, and all are idle");
	peer_close(&q);
	peer_close(&r);
}

/* A scan whose sender is silent, or is gone, holds the next one up for a second at most. */
static void test_gives_way(void)
{
	static struct peer q;
	int64_t asked;

	for (int gone = 0; gone < 2; gone++) {
		CHECK(peer_open(&q, &service) && peer_begin(&p, "cart"), "a scan begins");
		readouts(&p, 0, 16);
		CHECK(service_reaches(&service, "\"scan\":{", "acquisitions", 16) == 16,
		      "16 readouts have come");
		if (gone)
			peer_close(&p);
		asked = await_now_ns();
		CHECK(peer_begin(&q, "cart"), "its sender %s: the next scan is accepted",
		      gone ? "is gone" : "says nothing");
		printf("# after %.0f ms\n", (double)(await_now_ns() - asked) * 1e-6);
		readouts(&q, 0, 32);
		CHECK(peer_end(&q, 32) && q.outcome.code == 0, "and is good");
		CHECK(gone || ended(&p, BS_ERR_STATE, 16), "the first one is told");
		peer_close(&q);
	}
	CHECK(peer_open(&p, &service), "a sender connects");
	good_after("scans that gave way");
}

/* ---- a flood ---- */

/* Whole to the transport, wrong to the service. */
static bool say_wrong(int fd, unsigned i)
{
	static const uint16_t kind[] = { BS_WIRE_ACQ,  BS_WIRE_CLOSE, BS_WIRE_OPEN, 99,
					 BS_WIRE_OPEN, BS_WIRE_ACQ,   BS_WIRE_ACQ,  BS_WIRE_ACK };
	static unsigned char msg[BS_WIRE_BYTES + BS_WIRE_OPEN_NAME + SERVICE_XML_MAX];
	const unsigned of = i % 8;
	struct bs_wire w = { .kind = kind[of], .session = UINT64_MAX - i, .seq = of == 2 ? 0 : 1 };
	size_t n = of == 2 ? BS_WIRE_OPEN_NAME : 8;

	memset(msg, 0, BS_WIRE_BYTES + BS_WIRE_OPEN_NAME);
	if (of == 2) { /* of no protocol of the site */
		memcpy(msg + BS_WIRE_BYTES, "none", 4);
		n += peer_xml((char *)msg + BS_WIRE_BYTES + n, "none", true);
	}
	if (of == 4)
		w.version = BS_WIRE_PREVIOUS;
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, n);
	if (of == 5)
		msg[BS_WIRE_BYTES] ^= 1;
	return crowd_say(fd, service.kspace, msg, of == 6 ? 0 : BS_WIRE_BYTES + n);
}

/* A connection over the handshake; -1: none. */
static int connected(void)
{
	const int fd = crowd_dial(service.kspace);

	if (fd >= 0)
		(void)(crowd_greet(fd) && crowd_greeted(fd));
	return fd;
}

/*
 * In turn: one of the crowd, a wrong message. These go on one connection that stays, but for a
 * header: it may wait for the end of the scan that is open, and what is behind it does, too.
 */
static void flood(unsigned count)
{
	static int stays[STAY];
	static char answers[65536];
	const int64_t begun = await_now_ns();
	unsigned n = 0;
	int talks = -1;

	for (unsigned i = 0; i < count; i++) {
		const int64_t due = begun + (int64_t)(1e9 / RATE * i);
		const bool header = i % 16 == OPENS;
		ssize_t heard = -1;
		int fd = -1;

		if (due > await_now_ns())
			bs_sleep_ns(due - await_now_ns());
		if (i % 2 == 0 || header) {
			fd = header ? connected() : one((enum crowd)(i / 2 % CROWDS));
			if (fd < 0)
				continue;
			if (header)
				(void)say_wrong(fd, i / 2);
			if (n >= STAY)
				(void)close(stays[n % STAY]);
			stays[n++ % STAY] = fd;
			continue;
		}
		talks = talks < 0 ? connected() : talks;
		if (talks >= 0 && say_wrong(talks, i / 2))
			heard = recv(talks, answers, sizeof(answers), MSG_DONTWAIT);
		if (heard == 0 || (heard < 0 && errno != EAGAIN)) {
			(void)close(talks);
			talks = -1;
		}
	}
}

static struct bs_endpoint archive;
static _Atomic unsigned archived;
static _Atomic bool over;

static void *take_images(void *arg)
{
	static unsigned char image[65536];
	size_t len;

	(void)arg;
	while (!atomic_load(&over))
		if (bs_endpoint_recv(&archive, image, sizeof(image), &len, 100, NULL) == 0)
			(void)atomic_fetch_add(&archived, 1);
	return NULL;
}

/* Scans one after the other, until that process has ended; 0: so many of them. */
static struct beside {
	unsigned scans, good, late;
	double most_ms; /* until one was accepted */
} scan_beside(pid_t pid, unsigned scans)
{
	struct beside b = { 0 };

	while (pid > 0 ? waitpid(pid, NULL, WNOHANG) == 0 : b.scans < scans) {
		const int64_t asked = await_now_ns();
		bool good = peer_begin(&p, "cart_paced");
		const int64_t begun = await_now_ns();
		const double ms = (double)(begun - asked) * 1e-6;

		b.most_ms = ms > b.most_ms ? ms : b.most_ms;
		for (unsigned i = 0; good && i < FRAMES * 32; i++) {
			const int64_t due = begun + i * LINE_NS;

			if (due > await_now_ns())
				bs_sleep_ns(due - await_now_ns());
			good = peer_acq(&p, "cart_paced", i % 32, i / 32);
			while (peer_hear(&p, 0))
				;
		}
		good = good && peer_end(&p, FRAMES * 32) && p.outcome.code == 0 &&
		       p.outcome.images == FRAMES && p.outcome.rejected == 0;
		b.scans++;
		b.good += good;
		b.late += (unsigned)p.outcome.late;
	}
	return b;
}

static void print_latency(void)
{
	static char text[65536];
	char *rest = NULL;

	if (service_ask(&service, "latency", text, sizeof(text)))
		for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
			printf("# %s\n", l);
}

/* all: the whole of it, on a machine that has the time: the budget is judged. */
static void test_flood(unsigned count, bool all)
{
	static const char *const names_of[] = { "ingest", "recon", "emit" };
	const unsigned alone = count / RATE / 4;
	long before[4], pid[4] = { 0 };
	struct beside quiet, beside;
	pthread_t taker;
	long grown = 0;
	int64_t begun;
	pid_t child;

	CHECK(service_start_with(&service, SERVICE_PATIENT,
				 "protocols = ( { name = \"cart_paced\"; " SERVICE_LINES
				 "silence_ms = 60000.0; budget: { image_ms = 40.0; }; } );\n",
				 NULL) &&
		      peer_open(&p, &service) &&
		      bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 65536,
					  NULL) == 0 &&
		      service_meets(&service, &archive) &&
		      pthread_create(&taker, NULL, take_images, NULL) == 0,
	      "a service, a scanner and an archive");
	quiet = scan_beside(0, all ? alone : 1);
	pid[3] = service.pid;
	for (int i = 0; i < 4; i++) {
		pid[i] = i < 3 ? pid_of(names_of[i]) : pid[i];
		before[i] = resident_kib(pid[i]);
	}
	if (all)
		print_latency();
	begun = await_now_ns();
	child = fork();
	if (child == 0) {
		flood(count);
		_exit(0);
	}
	beside = scan_beside(child, 0);
	printf("# %u hostile connections and messages in %.1f s; late images: %u of %u, %u of %u "
	       "before; accepted after at most %.1f ms, %.1f before\n",
	       count, (double)(await_now_ns() - begun) * 1e-9, beside.late, beside.scans * FRAMES,
	       quiet.late, quiet.scans * FRAMES, beside.most_ms, quiet.most_ms);
	if (all)
		print_latency();
	for (int i = 0; i < 4; i++) {
		const long now = resident_kib(pid[i]);

		printf("# %s: %ld KiB, then %ld\n", i < 3 ? names_of[i] : "supervisor", before[i],
		       now);
		grown += now - before[i];
	}
	CHECK(CHECK_SANITIZED || grown <= GROWTH, "all processes grew by %ld KiB", grown);
	CHECK(beside.scans > 0 && beside.good == beside.scans, "%u of %u scans beside it are good",
	      beside.good, beside.scans);
	CHECK(!all || beside.late == 0, "and keep their budget: %u late", beside.late);
	AWAIT(atomic_load(&archived) >= (beside.scans + quiet.scans) * FRAMES);
	CHECK(atomic_load(&archived) == (beside.scans + quiet.scans) * FRAMES,
	      "the archive has each image once: %u", atomic_load(&archived));
	for (int i = 0; i < 3; i++)
		CHECK(pid_of(names_of[i]) == pid[i], "%s was not replaced", names_of[i]);
	atomic_store(&over, true);
	(void)pthread_join(taker, NULL);
	bs_endpoint_close(&archive);
	peer_close(&p);
	(void)service_end(&service);
}

static void run_on(const char *endpoint)
{
	void (*const tests[])(void) = { test_crowds, test_line, test_solving, test_gives_way };
	const size_t n = endpoint[0] != '\0' ? 3 : 4; /* giving way takes its time: once */
	char body[4000];
	long pid;

	(void)snprintf(body, sizeof(body), "%s%s%s", endpoint, SERVICE_SINKS, SERVICE_PROTOCOLS);
	CHECK(service_start_with(&service, SERVICE_PATIENT, body, NULL), "the service starts");
	if (endpoint[0] != '\0')
		(void)sscanf(endpoint, "endpoints: { kspace = \"%100[^\"]", service.kspace);
	CHECK(peer_open(&p, &service), "a sender connects");
	pid = service_number(&service, "\"name\":\"ingest\"", "pid");
	for (size_t i = 0; i < n; i++)
		tests[i]();
	CHECK(pid > 0 && service_number(&service, "\"name\":\"ingest\"", "pid") == pid,
	      "ingest lives: it was not replaced");
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0,
	      "no slot of the pool was lost");
	peer_close(&p);
	(void)service_end(&service);
}

int main(int argc, char **argv)
{
	char tcp[80];

	if (argc > 2 && strcmp(argv[1], "flood") == 0) {
		test_flood((unsigned)strtoul(argv[2], NULL, 10), true);
		return check_done();
	}
	if (argc > 1)
		peers = (unsigned)strtoul(argv[1], NULL, 10);
	run_on("");
	(void)snprintf(tcp, sizeof(tcp), "endpoints: { kspace = \"tcp://127.0.0.1:%d\"; };\n",
		       20000 + (int)getpid() % 9973);
	run_on(tcp);
	test_flood(FLOOD, false);
	return check_done();
}
