/*
 * test/fault/peers/fault_opening.c - ingest killed between OPEN and ACCEPT, whose sender knows
 * ipc/WIRE.md alone: the scan is accepted by the successor and is whole, and another scanner is
 * taken after it
 *
 * usage: BORESIDE=path fault_opening [kills [seed]]. A round is a scan, one kill at a random moment
 * of its opening, and a scan of another sender. What the moment hits is the machine's: rounds go on
 * until so many kills came before ACCEPT.
 */
#define _GNU_SOURCE
#include "test/peers/sender.h"
#include "test/support/recovery.h"

#define SHORT     20u
#define LINES     32u
#define WINDOW_US 1500.0 /* the kill comes within, after OPEN was sent */
#define SITE                                                                                       \
	SERVICE_SINKS "endpoints: { archive = \"\"; };\n"                                          \
		      "log: { dir = \"logs\"; mode = \"durable\"; };\n" SERVICE_PROTOCOLS

static struct service service;
static char header[SERVICE_XML_MAX];
static uint64_t random_state = 20261123;
static unsigned hung, refused, lost, back;

static void begin(struct sender *s)
{
	static uint64_t scans;

	sender_begin(s, ((uint64_t)getpid() << 32) + ++scans, "cart", header);
}

/* Its lines, and CLOSE. False: it is a hang. */
static bool go_on(struct sender *s)
{
	unsigned char payload[SENDER_ACQ_BYTES(64, 2)];
	unsigned line = 0;

	for (int64_t limit = await_limit(); s->rules.state != SENDER_ENDED;
	     (void)sender_step(s, 5)) {
		if (await_now_ns() > limit)
			return false;
		while (line < LINES &&
		       sender_put(s, SENDER_ACQ, payload, sender_readout(payload, 64, 2, line, 0)))
			line++;
		if (line == LINES && s->rules.state == SENDER_STREAMING)
			(void)sender_finish(s);
	}
	return true;
}

/* Its scan came to its end, and in code 0. */
static void judge(const struct sender *s, bool ended, const char *who)
{
	const struct sender_books *b = &s->rules.books;

	hung += !ended;
	refused += ended && b->refused;
	lost += ended && !b->refused && (b->code != 0 || b->acquisitions != LINES);
	back += b->held_back + b->durable_back + b->wrong;
	if (!ended || b->code != 0 || b->held_back + b->durable_back + b->wrong != 0)
		printf("# %s, %016llx, %s: %d %s; heard %llu times HEARTBEAT, %llu ACCEPT, %llu "
		       "ACK\n",
		       who, (unsigned long long)s->rules.session, ended ? "ended" : "hangs",
		       b->code, b->text, (unsigned long long)b->heard[SENDER_HEARTBEAT],
		       (unsigned long long)b->heard[SENDER_ACCEPT],
		       (unsigned long long)b->heard[SENDER_ACK]);
}

/* True: ingest was killed before the sender had heard ACCEPT. */
static bool kill_opening(struct sender *s, pid_t ingest)
{
	int64_t at;

	begin(s);
	while (s->rules.books.sent == 0)
		(void)sender_step(s, 1);
	at = await_now_ns() + (int64_t)(check_uniform(&random_state) * WINDOW_US * 1000.0);
	while (await_now_ns() < at)
		if (sender_step(s, 0) == SENDER_HEARD && s->rules.state != SENDER_OPENING)
			return false;
	return kill(ingest, SIGKILL) == 0;
}

/* True: the kill came in time. */
static bool play_round(struct sender *one, struct sender *other)
{
	pid_t next = -1;
	pid_t old = -1;
	bool killed;

	AWAIT((old = ready_pid(&service, "ingest")) > 0);
	killed = kill_opening(one, old);
	judge(one, go_on(one), "the sender");
	if (killed)
		AWAIT((next = ready_pid(&service, "ingest")) > 0 && next != old);
	begin(other);
	judge(other, go_on(other), "another scanner");
	return killed;
}

int main(int argc, char **argv)
{
	const unsigned kills = argc > 1 ? (unsigned)atoi(argv[1]) : SHORT;
	struct sender one, other;
	unsigned rounds = 0;
	unsigned hits = 0;

	if (argc > 2)
		random_state = (uint64_t)atoll(argv[2]);
	(void)peer_xml(header, "cart", true);
	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE, NULL) &&
		      sender_open(&one, service.kspace) && sender_open(&other, service.kspace),
	      "a service, and two senders");
	if (check_failed != 0)
		return check_done();
	for (; hits < kills && rounds < 50 * kills && hung == 0; rounds++)
		hits += play_round(&one, &other);
	CHECK(hits == kills, "%u kills between OPEN and ACCEPT, in %u rounds", hits, rounds);
	CHECK(hung == 0, "%u scans hang", hung);
	CHECK(refused == 0, "%u scans were refused", refused);
	CHECK(lost == 0, "%u scans lack something", lost);
	CHECK(back == 0, "%u ACKs went back", back);
	sender_close(&one);
	sender_close(&other);
	return service_end(&service);
}
