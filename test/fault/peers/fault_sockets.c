/*
 * test/fault/peers/fault_sockets.c - more connections to each of emit's sockets than a process may
 * have files: the status is answered, and files are written
 *
 * usage: BORESIDE=path fault_sockets [peers]: so many to each socket (1,400), one socket at a time,
 * one in eight of them silent, the others after a handshake. The service may have 1,024 files, a
 * bare login's limit, unless it raises that itself. How long the status took is printed.
 */
#define _GNU_SOURCE
#include <sys/resource.h>

#include "test/support/crowd.h"
#include "test/support/service.h"

#define FILES 1024
#define ASKS  50u

static struct service service;
static unsigned peers = 1400;

static bool limit_files(rlim_t soft, rlim_t hard)
{
	return setrlimit(RLIMIT_NOFILE, &(struct rlimit){ soft, hard }) == 0;
}

/* A process of its own that holds them all; 0: it has not. */
static pid_t gather(const char *url, unsigned char protocol)
{
	const unsigned char hello[8] = { 0, 'S', 'P', 0, 0, protocol, 0, 0 };
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) != 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		for (unsigned i = 0; i < peers; i++) {
			const int fd = crowd_dial(url);

			if (fd < 0)
				_exit(1);
			if (i % 8 != 0)
				(void)crowd_put(fd, hello, sizeof(hello));
		}
		(void)!write(ready[1], &byte, 1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		pid = 0;
	(void)close(ready[0]);
	return pid;
}

/* Each time on a connection of its own. Returns how often there was no answer. */
static unsigned ask_status(const char *name)
{
	static char doc[200000];
	double most = 0.0;
	double sum = 0.0;
	unsigned unanswered = 0;

	for (unsigned i = 0; i < ASKS; i++) {
		const int64_t since = await_now_ns();
		double ms;

		unanswered += !service_ask(&service, "json", doc, sizeof(doc));
		ms = (double)(await_now_ns() - since) * 1e-6;
		sum += ms;
		most = ms > most ? ms : most;
	}
	printf("# beside %u peers of %s: the status after %.1f ms, at most %.1f (N %u)\n", peers,
	       name, sum / ASKS, most, ASKS);
	return unanswered;
}

static void beside(const char *name, const char *url, unsigned char protocol)
{
	const pid_t crowd = gather(url, protocol);
	const unsigned before = files_in(service.out, ".cfl");
	static struct peer p;

	CHECK(crowd > 0, "%s: %u peers have connected", name, peers);
	CHECK(ask_status(name) == 0, "%s: the status is answered", name);
	CHECK(peer_open(&p, &service) && peer_good_scan(&p, "cart", 3),
	      "%s: a scan is good beside them", name);
	peer_close(&p);
	CHECK(files_in(service.out, ".cfl") == before + 3, "%s: its 3 images are files", name);
	CHECK(!service_logged(&service, "Too many open files"), "%s: no file was refused", name);
	if (crowd > 0) {
		(void)kill(crowd, SIGKILL);
		(void)waitpid(crowd, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	char images[160];
	char viewers[160];
	struct rlimit own;

	if (argc > 1)
		peers = (unsigned)atoi(argv[1]);
	if (getrlimit(RLIMIT_NOFILE, &own) != 0 || own.rlim_max < peers + 100u) {
		SKIP("this process may not open %u files", peers + 100u);
		return check_done();
	}
	/* what the service inherits; this process and the crowds have the rest again */
	(void)limit_files(FILES, own.rlim_max);
	const bool up = service_start_with(
		&service, SERVICE_PATIENT,
		"endpoints: { images = \"ipc://run/images.ipc\"; viewers = "
		"\"ipc://run/viewers.ipc\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS,
		NULL);

	(void)limit_files(own.rlim_max, own.rlim_max);
	(void)snprintf(images, sizeof(images), "ipc://%s/run/images.ipc", service.dir);
	(void)snprintf(viewers, sizeof(viewers), "ipc://%s/run/viewers.ipc", service.dir);
	CHECK(up, "the service starts");
	beside("status", service.status, 0x30);
	beside("images", images, 0x30);
	beside("archive", service.archive, 0x51);
	beside("viewers", viewers, 0x21);
	CHECK(service_stop(&service) == 0, "it ends with 0");
	service_remove(&service);
	return check_done();
}
