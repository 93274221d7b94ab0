/*
 * test/fault/peers/fault_unread.c - a sender that never reads what it is told keeps no other
 * scan's OUTCOME and heartbeats back
 *
 * usage: BORESIDE=path fault_unread [rounds]. A scan is closed, and its images are held up by
 * SIGSTOP until another sender's scan has been accepted and that one's connection takes no answer
 * any more. How long OUTCOME took from then on is printed, beside one that reads and beside one
 * that does not.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "test/support/crowd.h"
#include "test/support/recovery.h"

#define ROUNDS     20u
#define ROUNDS_MAX 10000u
#define LINES      32u
#define ASKS       20000u /* answers asked for: more than any connection's buffers take */

static struct service service;

static bool hears(struct peer *p, uint64_t session, enum bs_wire_kind kind)
{
	do {
		if (!peer_await(p, kind))
			return false;
	} while (p->w.session != session);
	return true;
}

/* The closed scan of a sender, all of it held. */
static bool closes(struct peer *p)
{
	for (unsigned line = 0; line < LINES; line++)
		if (!peer_acq(p, "cart", line, 0))
			return false;
	if (!peer_close_scan(p, p->seq++, LINES))
		return false;
	while (hears(p, p->session, BS_WIRE_ACK))
		if (p->ack.held == LINES + 1)
			return true;
	return false;
}

/* A message of another sender, by hand. */
static bool say(int fd, uint64_t session, enum bs_wire_kind kind, uint64_t seq)
{
	static unsigned char msg[BS_WIRE_BYTES + BS_WIRE_OPEN_NAME + SERVICE_XML_MAX];
	unsigned char *payload = msg + BS_WIRE_BYTES;
	struct bs_wire w = { .kind = (uint16_t)kind, .session = session, .seq = seq };
	size_t len = 0;

	memset(payload, 0, BS_WIRE_OPEN_NAME);
	if (kind == BS_WIRE_OPEN) {
		(void)strcpy((char *)payload, "cart");
		len = BS_WIRE_OPEN_NAME +
		      peer_xml((char *)payload + BS_WIRE_OPEN_NAME, "cart", true);
	} else if (kind == BS_WIRE_CLOSE) {
		len = 8;
	}
	bs_wire_encode(msg, &w, payload, len);
	return crowd_say(fd, service.kspace, msg, BS_WIRE_BYTES + len);
}

/* Bytes that have been told to it and that it has not read. */
static int unread(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) == 0 ? n : 0;
}

/* Each is answered by ACCEPT; once nothing more arrives the connection is full. */
static bool fills(int fd, uint64_t session)
{
	int before = -1;

	for (unsigned asked = 0; asked < ASKS; asked += 100) {
		const long had = service_number(&service, "\"totals\"", "messages");

		for (unsigned i = 0; i < 100; i++)
			if (!say(fd, session, BS_WIRE_OPEN, 0))
				return false;
		if (service_reaches(&service, "\"totals\"", "messages", had + 100) < had + 100)
			return false;
		if (unread(fd) == before)
			return true;
		before = unread(fd);
	}
	return false;
}

/* The first sender's OUTCOME, while the other one says that it is there and its scan goes on. */
static bool hears_beside(struct peer *p, int fd, uint64_t other)
{
	const int64_t limit = await_limit();

	do {
		if (!say(fd, other, BS_WIRE_HEARTBEAT, 0))
			return false;
		if (peer_hear(p, 20) && p->w.kind == BS_WIRE_OUTCOME && p->w.session == p->session)
			return p->outcome.code == 0;
	} while (await_now_ns() < limit);
	return false;
}

/* How long the first sender's OUTCOME took, in ms; negative: it did not come. */
static double round_of(bool reads, uint64_t other)
{
	const pid_t recon = ready_pid(&service, "recon");
	int fd = crowd_dial(service.kspace);
	int64_t since;
	struct peer p;
	double ms = -1.0;

	if (fd < 0 || !crowd_greet(fd) || !crowd_greeted(fd) || !peer_open(&p, &service))
		return ms;
	if (!peer_begin(&p, "cart") || kill(recon, SIGSTOP) != 0 || !closes(&p))
		goto out;
	if (!say(fd, other, BS_WIRE_OPEN, 0))
		goto out;
	AWAIT(unread(fd) > 0); /* ACCEPT */
	if (!reads && !fills(fd, other))
		goto out;
	while (peer_hear(&p, 0))
		continue;
	if (!hears(&p, p.session, BS_WIRE_HEARTBEAT))
		goto out;
	since = await_now_ns();
	(void)kill(recon, SIGCONT);
	if (hears_beside(&p, fd, other))
		ms = (double)(await_now_ns() - since) * 1e-6;
	(void)say(fd, other, BS_WIRE_CLOSE, 1);
out:
	(void)kill(recon, SIGCONT);
	(void)close(fd);
	peer_close(&p);
	return ms;
}

static int by_size(const void *a, const void *b)
{
	const double d = *(const double *)a - *(const double *)b;

	return (d > 0.0) - (d < 0.0);
}

int main(int argc, char **argv)
{
	static double ms[2][ROUNDS_MAX]; /* [1]: beside one that reads */
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : ROUNDS;

	rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
	CHECK(service_start(&service), "a service");
	for (unsigned i = 0; i < 2 * rounds && check_failed == 0; i++) {
		const bool reads = i % 2 == 0;

		ms[reads][i / 2] = round_of(reads, i + 1);
		CHECK(ms[reads][i / 2] >= 0.0, "OUTCOME beside a sender that %s",
		      reads ? "reads" : "does not read");
	}
	for (int reads = 1; reads >= 0 && check_failed == 0; reads--) {
		qsort(ms[reads], rounds, sizeof(ms[reads][0]), by_size);
		printf("# beside a sender that %s: OUTCOME p50 %.2f ms, p99 %.2f, max %.2f "
		       "(N %u)\n",
		       reads ? "reads" : "does not read", ms[reads][rounds / 2],
		       ms[reads][(99 * rounds + 99) / 100 - 1], ms[reads][rounds - 1], rounds);
	}
	return service_end(&service);
}
