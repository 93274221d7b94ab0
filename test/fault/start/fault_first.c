/*
 * test/fault/start/fault_first.c - another scanner's OPEN comes first after a start: what the
 * service before had acknowledged as durable of a scan that was closed is made first all the same;
 * one that was open has a second for its sender to come back
 *
 * usage: BORESIDE=path fault_first [STARTS]; 7. At each start the supervisor and its
 * workers are killed with kill -9, before the images of what is closed are made (the reconstruction
 * is held up by SIGSTOP), and the senders of those scans say nothing before the other one's OPEN
 * waits in line. Counted by the senders' books and by an archive that asks.
 */
/* Holds: W64 */
#define _GNU_SOURCE
#include "test/peers/sender.h"
#include "test/fault/start/archived.h"
#include "test/support/recovery.h"

#define LINES   32u
#define SAMPLES 64u
#define COILS   2u

enum kind {
	CLOSED,      /* its sender asks for its outcome when the other scan is over */
	CLOSED_BACK, /* ... while the other's OPEN waits */
	REFUSED,     /* closed, and a message of it was refused, which no log has */
	TWO_CLOSED,  /* another one was closed beside it */
	TWO,         /* another one was open beside it, whose sender does not come back in time */
	OPEN_BACK,   /* one was open; its sender comes back */
	OPEN_GONE,   /* ... does not come back in time */
	KINDS
};

static const char *const name[KINDS] = {
	[CLOSED] = "closed",
	[CLOSED_BACK] = "closed, its sender comes back",
	[REFUSED] = "closed, a message was refused",
	[TWO_CLOSED] = "two, both closed",
	[TWO] = "two, one closed",
	[OPEN_BACK] = "open, its sender comes back",
	[OPEN_GONE] = "open",
};

static struct service service;
static uint64_t sessions = 0x5000;
static unsigned skipped;
static struct {
	double longest_ms, sum_ms;
	unsigned starts;
} waited[KINDS]; /* the other's OPEN, for its ACCEPT */

/* ---- the senders ---- */

struct scanner {
	struct sender sender;
	unsigned readouts, made;
	bool closes;  /* behind these */
	bool refused; /* the last but one of these is */
	bool awake;
};
static struct scanner first, second, other; /* the second one's scan beside the first one's */

static void say_next(struct scanner *s)
{
	unsigned char payload[SENDER_ACQ_BYTES(SAMPLES, COILS)];

	while (s->made < s->readouts) {
		const bool bad = s->refused && s->made + 2 == s->readouts;
		const size_t len =
			sender_readout(payload, SAMPLES, COILS, bad ? 2 * LINES : s->made % LINES,
				       s->made / LINES);

		if (!sender_put(&s->sender, SENDER_ACQ, payload, len))
			break;
		s->made++;
	}
	if (s->closes && s->made == s->readouts && s->sender.rules.state == SENDER_STREAMING)
		(void)sender_finish(&s->sender);
}

static void turn(void)
{
	struct scanner *const all[] = { &first, &second, &other };

	for (unsigned i = 0; i < 3; i++) {
		if (!all[i]->awake)
			continue;
		say_next(all[i]);
		for (int n = 0; n < 64 && sender_step(&all[i]->sender, 1) != SENDER_WAITED; n++)
			;
	}
}

/* Until this holds of its scan; all that are awake go on meanwhile. */
static bool until(const struct scanner *s, bool (*holds)(const struct scanner *s))
{
	const int64_t limit = await_limit();

	while (!holds(s) && await_now_ns() < limit)
		turn();
	return holds(s);
}

static bool is_accepted(const struct scanner *s)
{
	return s->sender.rules.state != SENDER_OPENING;
}

/* Each message is, CLOSE too. */
/* CLOSE alone is not called durable in a relaxed log: it comes again until OUTCOME. */
static bool is_durable(const struct scanner *s)
{
	const struct sender_books *b = &s->sender.rules.books;

	return s->made == s->readouts && s->sender.rules.next_seq == s->made + 1 + s->closes &&
	       b->held == s->sender.rules.next_seq - 1 &&
	       b->durable >= b->held - (s->closes && b->log == BS_WIRE_LOG_RELAXED);
}

/* The service has said so much that its OPEN waits. */
static bool is_in_line(const struct scanner *s)
{
	return s->sender.rules.books.heard[SENDER_HEARTBEAT] > 0 || is_accepted(s);
}

static bool is_over(const struct scanner *s)
{
	return s->sender.rules.state == SENDER_ENDED;
}

static void begin(struct scanner *s, unsigned readouts, bool closes)
{
	char xml[SERVICE_XML_MAX];

	(void)peer_xml(xml, "cart", true);
	s->readouts = readouts;
	s->made = 0;
	s->closes = closes;
	s->awake = true;
	sender_begin(&s->sender, ++sessions, "cart", xml);
}

/* ---- what is true of a scan that is over ---- */

static unsigned images_of(const struct scanner *s)
{
	return (s->readouts + LINES - 1) / LINES;
}

static bool is_archived(const struct scanner *s)
{
	AWAIT(archived(s->sender.rules.session) >= images_of(s));
	return archived(s->sender.rules.session) == images_of(s);
}

/* What was refused is a gap. BS_ERR_STATE: the other's header has ended it. */
static void judge(const struct scanner *s, const char *which, int code)
{
	const struct sender_books *b = &s->sender.rules.books;
	const unsigned readouts = s->readouts - s->refused;

	CHECK(b->code == code && !b->refused && b->acquisitions == readouts &&
		      b->images == images_of(s) && b->gaps == s->refused && b->rejected == 0 &&
		      b->wrong == 0 && b->held_back == 0 && b->durable_back == 0,
	      "the %s scan: code %d, %llu of %u readouts, %llu images, %llu gaps: %s", which,
	      b->code, (unsigned long long)b->acquisitions, readouts, (unsigned long long)b->images,
	      (unsigned long long)b->gaps, b->text);
	if (code == BS_ERR_STATE)
		CHECK(strstr(b->text, "did not come back within 1 s") != NULL &&
			      strstr(b->text, "another header") != NULL,
		      "with the reason: %s", b->text);
	CHECK(is_archived(s), "the archive has each of its %u images once (%u)", images_of(s),
	      archived(s->sender.rules.session));
}

/* ---- a start ---- */

static bool write_site(const char *mode)
{
	char body[1000];

	(void)snprintf(body, sizeof(body),
		       "log: { dir = \"logs\"; mode = \"%s\"; resume_s = 3000.0; };\n"
		       "endpoints: { archive = \"\"; viewers = \"\"; images = "
		       "\"ipc://run/images.ipc\"; };\n"
		       "overload: { spill_dir = \"spill\"; };\n"
		       "protocols = ( { name = \"cart\"; " SERVICE_LINES
		       "silence_ms = 60000.0; } );\n",
		       mode);
	return service_write_site(&service, SERVICE_PATIENT, body);
}

/* What is to be found by the start; false: a disk that was slow has left some of it in no log. */
static bool leave(enum kind kind)
{
	const bool two = kind == TWO || kind == TWO_CLOSED;
	const pid_t recon = ready_pid(&service, "recon");

	if (kind < OPEN_BACK)
		CHECK(recon > 0 && kill(recon, SIGSTOP) == 0, "the reconstruction stands still");
	first.refused = kind == REFUSED;
	begin(&first, kind < OPEN_BACK ? 2 * LINES : LINES + 11, kind < OPEN_BACK);
	CHECK(until(&first, is_durable), "the first scan is durable up to %llu of %llu",
	      (unsigned long long)first.sender.rules.books.durable,
	      (unsigned long long)first.sender.rules.next_seq - 1);
	if (two) {
		begin(&second, kind == TWO ? LINES + 11 : LINES, kind == TWO_CLOSED);
		CHECK(until(&second, is_durable), "so is one beside it");
	}
	CHECK(!is_over(&first) && (!two || !is_over(&second)), "none has an outcome");
	return first.sender.rules.books.unprotected == 0 &&
	       (!two || second.sender.rules.books.unprotected == 0);
}

static void kill_all(void)
{
	static const char *const worker[] = { "ingest", "recon", "emit" };
	pid_t pid[3];

	for (int i = 0; i < 3; i++)
		pid[i] = ready_pid(&service, worker[i]);
	(void)kill(service.pid, SIGKILL);
	for (int i = 0; i < 3; i++)
		(void)kill(pid[i], SIGKILL);
	(void)service_wait(&service);
	first.awake = second.awake = false;
	if (check_failed == 0)
		(void)truncate(service.log, 0);
}

static void note_wait(enum kind kind, int64_t since_ns)
{
	const double ms = (double)(await_now_ns() - since_ns) * 1e-6;

	waited[kind].starts++;
	waited[kind].sum_ms += ms;
	waited[kind].longest_ms = ms > waited[kind].longest_ms ? ms : waited[kind].longest_ms;
}

/* Its sender was held up for more than its second: nothing is said of one that comes back. */
static bool came_late(enum kind kind)
{
	return kind == OPEN_BACK && service_logged(&service, "did not come back within");
}

static void start(enum kind kind, const char *mode)
{
	const bool two = kind == TWO || kind == TWO_CLOSED;
	const bool whole = leave(kind);
	int64_t since;

	kill_all();
	CHECK(write_site(mode) && service_spawn(&service, NULL), "the service starts anew");
	CHECK(sender_open(&other.sender, service.kspace), "another sender connects");
	begin(&other, 0, false);
	since = await_now_ns();
	CHECK(until(&other, is_in_line), "another sender's OPEN comes first");
	if (kind == OPEN_BACK) {
		CHECK(service_logs(&service, "its sender is awaited"), "the log is read");
		first.readouts = 2 * LINES;
		first.closes = true;
	}
	first.awake = kind == CLOSED_BACK || kind == OPEN_BACK;
	CHECK(until(&other, is_accepted), "it is accepted");
	note_wait(kind, since);
	if (two) { /* of scans before the last two no outcome is known */
		first.awake = second.awake = true;
		CHECK(until(&first, is_over) && until(&second, is_over), "the others ask");
	}
	other.readouts = LINES;
	other.closes = true;
	CHECK(until(&other, is_over), "the other scan is over");
	other.awake = false;
	sender_close(&other.sender);
	first.awake = true;
	CHECK(until(&first, is_over), "the first one's sender has its outcome");
	if (!whole || came_late(kind)) {
		printf("# nothing is said of this start: %s was too slow\n",
		       whole ? "the machine" : "the disk");
		skipped++;
		return;
	}
	judge(&first, "first",
	      kind == OPEN_GONE ? BS_ERR_STATE
	      : kind == REFUSED ? BS_ERR_SEQUENCE
				: 0);
	if (two)
		judge(&second, "second", kind == TWO ? BS_ERR_STATE : 0);
	judge(&other, "other", 0);
}

int main(int argc, char **argv)
{
	const unsigned starts = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : KINDS;
	const char *modes[] = { "durable", "relaxed" };

	(void)snprintf(service.dir, sizeof(service.dir), "/tmp/boreside-test-XXXXXX");
	CHECK(mkdtemp(service.dir) != NULL && write_site("durable") &&
		      service_spawn(&service, NULL) &&
		      service_until(&service, "\"state\":\"idle\"") && archive_start(&service) &&
		      sender_open(&first.sender, service.kspace) &&
		      sender_open(&second.sender, service.kspace),
	      "a service, an archive and two senders");
	for (unsigned i = 0; i < starts && check_failed == 0; i++) {
		const enum kind kind = (enum kind)(i % KINDS);
		const char *mode = modes[i % 2];

		printf("# start %u: %s, %s\n", i + 1, name[kind], mode);
		start(kind, mode);
	}
	for (int k = 0; k < KINDS; k++)
		printf("# %-28s %3u starts: the other's ACCEPT after %.0f ms, at most %.0f\n",
		       name[k], waited[k].starts, waited[k].sum_ms / (waited[k].starts + 1e-9),
		       waited[k].longest_ms);
	if (skipped > 0)
		printf("skip %u starts: the disk was too slow for the log, or the machine for a "
		       "sender\n",
		       skipped);
	CHECK(service_until(&service, "\"state\":\"idle\"") &&
		      service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0 &&
		      service_stop(&service) == 0,
	      "no slot is lost, and the service ends with 0");
	archive_stop();
	sender_close(&first.sender);
	sender_close(&second.sender);
	service_remove(&service);
	return check_done();
}
