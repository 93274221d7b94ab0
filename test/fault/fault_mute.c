/*
 * test/fault/fault_mute.c - a scan whose sender's process is stopped, or was killed, gives way to
 * another sender's within 100 ms
 *
 * usage: BORESIDE=path fault_mute. The endpoint is ipc: there the system says whose process it is.
 */
/* Holds: W65 */
#define _GNU_SOURCE
#include "test/support/crowd.h"
#include "test/support/service.h"

static struct service service;
static struct peer p;

#define HOLDERS 9 /* of each kind */

/* In a process of its own: opens a scan, says so, and is still. */
static void hold(int told)
{
	static unsigned char msg[BS_WIRE_BYTES + BS_WIRE_OPEN_NAME + SERVICE_XML_MAX];
	unsigned char answer[9 + BS_WIRE_BYTES + BS_WIRE_REPLY_BYTES];
	char xml[SERVICE_XML_MAX];
	const size_t n = peer_xml(xml, "cart", true);
	struct bs_wire w = { .kind = BS_WIRE_OPEN, .session = (uint64_t)getpid() << 20 };
	const size_t before = crowd_length(answer, service.kspace, 0);
	int fd = crowd_dial(service.kspace);

	memcpy(msg + BS_WIRE_BYTES + BS_WIRE_OPEN_NAME, xml, n);
	(void)strcpy((char *)msg + BS_WIRE_BYTES, "cart");
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, BS_WIRE_OPEN_NAME + n);
	if (crowd_greet(fd) && crowd_greeted(fd) &&
	    crowd_say(fd, service.kspace, msg, BS_WIRE_BYTES + BS_WIRE_OPEN_NAME + n) &&
	    crowd_get(fd, answer, before + BS_WIRE_BYTES + BS_WIRE_REPLY_BYTES))
		(void)!write(told, "", 1);
	for (;;)
		(void)pause();
}

static pid_t make_holder(void)
{
	int told[2];
	char byte;
	pid_t pid;

	if (pipe(told) != 0)
		return -1;
	pid = fork();
	if (pid == 0)
		hold(told[1]);
	(void)close(told[1]);
	CHECK(pid > 0 && read(told[0], &byte, 1) == 1, "a process holds the endpoint");
	(void)close(told[0]);
	return pid;
}

static int by_size(const void *a, const void *b)
{
	const double d = *(const double *)a - *(const double *)b;

	return (d > 0.0) - (d < 0.0);
}

/*
 * What the system says of a process is no guess: it need not be awaited for as long as one that is
 * only silent. 200 ms: well below that, and well above what it takes.
 */
static void test_mute(void)
{
	double ms[HOLDERS];

	for (int killed = 0; killed < 2; killed++) {
		for (int i = 0; i < HOLDERS; i++) {
			const pid_t pid = make_holder();
			int64_t asked;

			CHECK(kill(pid, killed ? SIGKILL : SIGSTOP) == 0 &&
				      waitpid(pid, NULL, WUNTRACED) == pid,
			      "it is %s", killed ? "killed" : "stopped");
			asked = await_now_ns();
			CHECK(peer_begin(&p, "cart"), "the next scan is accepted");
			ms[i] = (double)(await_now_ns() - asked) * 1e-6;
			for (unsigned line = 0; line < 32; line++)
				(void)peer_acq(&p, "cart", line, 0);
			CHECK(peer_end(&p, 32) && p.outcome.code == 0, "and is good");
			if (!killed && kill(pid, SIGKILL) == 0)
				(void)waitpid(pid, NULL, 0);
		}
		qsort(ms, HOLDERS, sizeof(ms[0]), by_size);
		printf("# %s: the next scan is accepted after %.1f ms, at most %.1f\n",
		       killed ? "killed" : "stopped", ms[HOLDERS / 2], ms[HOLDERS - 1]);
		CHECK(ms[HOLDERS / 2] < 200.0, "soon");
	}
}

int main(void)
{
	CHECK(service_start(&service) && peer_open(&p, &service), "a service, and a sender");
	if (check_failed != 0)
		return check_done();
	test_mute();
	peer_close(&p);
	return service_end(&service);
}
