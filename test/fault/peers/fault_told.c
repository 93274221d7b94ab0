/*
 * test/fault/peers/fault_told.c - answers and their senders: one that does not read holds up
 * nothing, and what it cannot be told in time is dropped and counted; a receiving process that is
 * killed tells nothing twice, and goes on with the scan's first navigator
 */
/* Holds: W72, W74 */
#define _GNU_SOURCE
#include "ipc/wire/answer.h"
#include "test/support/crowd.h"
#include "test/support/service.h"

#define MANY 4000u
#define TURN 0.2 /* radians from one navigator to the next */

static struct service service;
static struct peer p;

/* A header that asks for answers. */
static size_t asking(char out[SERVICE_XML_MAX])
{
	static const char tail[] = "<userParameters><userParameterLong><name>boreside_answers"
				   "</name><value>1</value></userParameterLong></userParameters>"
				   "</ismrmrdHeader>";
	const size_t n = peer_xml(out, "cart", true) - strlen("</ismrmrdHeader>");

	memcpy(out + n, tail, sizeof(tail));
	return n + sizeof(tail) - 1;
}

/* Navigator number n, from 1: its phase is n turns. Returns the payload's length. */
static size_t navigator(unsigned char payload[4096], unsigned n)
{
	const size_t len = peer_readout(payload, "cart", 0, 0);
	float *values = (float *)(void *)(payload + BS_MRD_ACQ_BYTES);
	struct bs_mrd_acq head;

	bs_mrd_get_acq(&head, payload);
	head.flags = BS_MRD_IS_NAVIGATION;
	head.scan_counter = n;
	bs_mrd_put_acq(payload, &head);
	for (unsigned i = 0; i < 2 * 64; i++) {
		values[2 * i] = (float)cos(TURN * n);
		values[2 * i + 1] = (float)sin(TURN * n);
	}
	return len;
}

/* ---- a sender that does not read ---- */

static bool raw_say(int fd, enum bs_wire_kind kind, uint64_t session, uint64_t seq,
		    const void *payload, size_t len)
{
	static unsigned char msg[BS_WIRE_BYTES + BS_WIRE_OPEN_NAME + SERVICE_XML_MAX];
	struct bs_wire w = { .kind = kind, .session = session, .seq = seq };

	memcpy(msg + BS_WIRE_BYTES, payload, len);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, len);
	return crowd_say(fd, service.kspace, msg, BS_WIRE_BYTES + len);
}

/* Reads up to a message of this kind; counts answers. *payload: at most 1024 bytes. */
static bool raw_await(int fd, enum bs_wire_kind kind, unsigned char payload[1024], unsigned *told)
{
	unsigned char head[9 + BS_WIRE_BYTES];
	const unsigned char *envelope = head + 9; /* over ipc */

	while (crowd_get(fd, head, sizeof(head))) {
		uint64_t len;

		memcpy(&len, envelope + 8, sizeof(len));
		if (len > 1024 || !crowd_get(fd, payload, (size_t)len))
			return false;
		*told += envelope[6] == BS_WIRE_ANSWER;
		if (envelope[6] == kind)
			return true;
	}
	return false;
}

static void mute_sender(void)
{
	unsigned char payload[BS_WIRE_OPEN_NAME + SERVICE_XML_MAX] = { 0 };
	unsigned char said[1024];
	const int fd = crowd_dial(service.kspace);
	struct bs_wire_outcome o = { 0 };
	unsigned told = 0;
	unsigned sent = 0;
	long late;
	size_t n;

	CHECK(fd >= 0 && crowd_greet(fd) && crowd_greeted(fd), "a sender connects");
	memcpy(payload, "cart", 5);
	n = asking((char *)payload + BS_WIRE_OPEN_NAME);
	CHECK(raw_say(fd, BS_WIRE_OPEN, 77, 0, payload, BS_WIRE_OPEN_NAME + n) &&
		      raw_await(fd, BS_WIRE_ACCEPT, said, &told),
	      "its scan is accepted");
	while (sent < MANY) {
		n = navigator(payload, sent + 1);
		if (!raw_say(fd, BS_WIRE_ACQ, 77, ++sent, payload, n))
			break;
	}
	CHECK(sent == MANY && service_reaches(&service, "\"scan\":", "acquisitions", MANY) == MANY,
	      "it reads nothing, and all %u readouts are taken", sent);
	late = service_number(&service, "\"scan\":", "answers_late");
	CHECK(late > 0, "%ld answers were dropped meanwhile", late);
	bs_wire_put_u64(payload, MANY);
	(void)raw_say(fd, BS_WIRE_CLOSE, 77, MANY + 1, payload, 8);
	CHECK(raw_await(fd, BS_WIRE_OUTCOME, said, &told) &&
		      bs_wire_get_outcome(&o, said, BS_WIRE_OUTCOME_BYTES, NULL) == 0 &&
		      o.acquisitions == MANY,
	      "then it reads: the outcome comes, %s \"%s\"", bs_err_name(o.code), o.text);
	late = service_number(&service, "\"scan\":", "answers_late");
	CHECK(told + (unsigned)late == MANY &&
		      told == (unsigned)service_number(&service, "\"scan\":", "answers"),
	      "each answer was told or dropped: %u and %ld", told, late);
	(void)close(fd);
}

/* ---- a receiving process that is killed ---- */

static unsigned told[64]; /* [number of the navigator]: how often its answer came */
static double furthest;   /* of the phases from what they should be */

static void hear_all(int64_t until)
{
	const unsigned char *payload;
	struct bs_answer a;

	while (bs_now_ns() < until) {
		peer_mend(&p);
		if (!peer_hear(&p, 20) || p.w.kind != BS_WIRE_ANSWER)
			continue;
		payload = p.in + BS_WIRE_BYTES;
		if (bs_wire_get_answer(&a, payload, (size_t)p.w.payload_len, NULL) != 0 ||
		    a.scan_counter >= 64 || a.numbers != 1)
			continue;
		told[a.scan_counter]++;
		const double off =
			remainder(a.number[0] - TURN * (a.scan_counter - 1.0), 6.283185307179586);

		furthest = fabs(off) > furthest ? fabs(off) : furthest;
	}
}

static void send_from(unsigned first, unsigned last)
{
	unsigned char payload[4096];

	for (unsigned n = first; n <= last; n++)
		(void)peer_say(&p, BS_WIRE_ACQ, n, payload, navigator(payload, n));
}

static void killed_ingest(void)
{
	char xml[SERVICE_XML_MAX];
	const size_t n = asking(xml);
	const long pid = service_number(&service, "\"name\":\"ingest\",\"pid\"", "pid");
	unsigned twice = 0;
	unsigned before = 0;
	unsigned after = 0;

	CHECK(peer_begin_with(&p, "cart", xml, n), "a scan begins");
	send_from(1, 8);
	AWAIT((hear_all(bs_now_ns() + 20000000), told[8] > 0));
	CHECK(pid > 0 && kill((pid_t)pid, SIGKILL) == 0, "ingest is killed");
	AWAIT((send_from(5, 16), hear_all(bs_now_ns() + 300000000), p.acked >= 16));
	for (unsigned i = 1; i <= 16; i++) {
		twice += told[i] > 1;
		before += i <= 8 && told[i] > 0;
		after += i > 8 && told[i] > 0;
	}
	CHECK(before == 8 && twice == 0, "of the 8 answers before none is told again");
	CHECK(after > 0, "%u of 8 are told after it", after);
	CHECK(furthest < 1e-5, "against the scan's first navigator, still (%g)", furthest);
	p.seq = 17;
	CHECK(peer_end(&p, 16), "the scan ends: %s \"%s\"", bs_err_name(p.outcome.code),
	      p.outcome.text);
}

int main(void)
{
	if (!service_start_with(&service, SERVICE_PATIENT,
				SERVICE_SINKS "answers = ( { on = \"cart\"; what = \"phase\";"
					      " deadline_ms = 40.0; } );\n" SERVICE_PROTOCOLS,
				NULL))
		return check_done();
	mute_sender();
	CHECK(service_end(&service) == 0, "the service ends");
	if (!service_start_with(&service, SERVICE_PATIENT,
				SERVICE_SINKS "answers = ( { on = \"cart\"; what = \"phase\";"
					      " deadline_ms = 60000.0; } );\n" SERVICE_PROTOCOLS,
				NULL))
		return check_done();
	CHECK(peer_open(&p, &service), "a sender connects");
	killed_ingest();
	peer_close(&p);
	CHECK(service_stop(&service) == 0, "the service ends");
	return check_done();
}
