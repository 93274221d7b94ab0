/*
 * test/fault/fault_resume.c - recon killed in a scan whose numbers come out of order, are missing
 * and are refused: its outcome and its images are those of the same scan that nobody disturbs. In
 * their order, and other processes: fault_campaign.c; several kills in a scan: test/simulate
 */
/* Holds: W35 */
#define _GNU_SOURCE
#include "test/support/recovery.h"

#define CART_IMAGES 4u
#define JUMP        10000u /* further than any window */

static struct service service;

/* Line i of a frame's 32, at its number. */
static void put_line(struct peer *p, uint64_t first, unsigned i, unsigned frame)
{
	p->seq = first + i;
	(void)peer_acq(p, "cart", i, frame);
}

/* A frame backwards, one behind a jump, one with a line that is refused; one more after kill. */
static void send_disorder(struct peer *p, bool disturb)
{
	unsigned char bad[BS_MRD_ACQ_BYTES] = { 0 };
	pid_t old;
	pid_t next = -1;

	CHECK(peer_begin(p, "cart"), "a scan in disorder begins");
	for (unsigned i = 32; i-- > 0;)
		put_line(p, 1, i, 0);
	for (unsigned i = 0; i < 32; i++)
		put_line(p, 33 + JUMP, i, 1);
	for (unsigned i = 0; i < 32; i++)
		if (i != 5)
			put_line(p, 65 + JUMP, i, 2);
		else
			(void)peer_say(p, BS_WIRE_ACQ, 70 + JUMP, bad, sizeof(bad));
	CHECK(service_reaches(&service, "\"scan\":{", "acquisitions", 95) == 95, "they came");
	old = ready_pid(&service, "recon");
	if (disturb) {
		(void)kill(old, SIGKILL);
		AWAIT((next = ready_pid(&service, "recon")) > 0 && next != old);
	}
	for (unsigned i = 0; i < 32; i++)
		put_line(p, 97 + JUMP, i, 3);
	p->seq = 129 + JUMP;
	CHECK(peer_end(p, 128) && p->outcome.code == BS_ERR_SEQUENCE && p->outcome.gaps == JUMP &&
		      p->outcome.acquisitions == 127 && p->outcome.images == CART_IMAGES &&
		      p->outcome.rejected == 1 && p->outcome.duplicates == 0,
	      "%s: %llu gaps, %llu acquisitions, %llu images, %llu rejected: %s",
	      disturb ? "recon killed" : "nobody killed", (unsigned long long)p->outcome.gaps,
	      (unsigned long long)p->outcome.acquisitions, (unsigned long long)p->outcome.images,
	      (unsigned long long)p->outcome.rejected, p->outcome.text);
}

static void test_disorder(unsigned number)
{
	static unsigned char a[65536], b[sizeof(a)];
	struct peer p;
	unsigned same = 0;

	CHECK(peer_open(&p, &service), "a sender connects");
	send_disorder(&p, false);
	send_disorder(&p, true);
	peer_close(&p);
	for (unsigned i = 1; i <= CART_IMAGES; i++) {
		const size_t n = image_bytes(&service, number, i, a, sizeof(a));

		same += n > 0 && image_bytes(&service, number + 1, i, b, sizeof(b)) == n &&
			memcmp(a, b, n) == 0;
	}
	CHECK(same == CART_IMAGES, "a scan in disorder: the same images (%u)", same);
}

int main(void)
{
	CHECK(service_start_with(
		      &service, SERVICE_PATIENT,
		      "log: { dir = \"logs\"; };\n"
		      "endpoints: { archive = \"\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS,
		      NULL),
	      "a service");
	if (check_failed != 0)
		return check_done();
	test_disorder(1);
	CHECK(service_logged(&service, "it gets the scan's readouts again, from the log"),
	      "the log was read");
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0 &&
		      service_number(&service, "\"images\",\"slots\"", "in_use") == 0,
	      "after all that, no slot is lost");
	return service_end(&service);
}
