/*
 * test/fault/fault_hostile.c - a client of emit's sockets that sends what is no message, again and
 * again beside a scan: emit lives on, and an archive that asks has every image, by its own books
 *
 * fault_hostile [ROUNDS]: so many times, each 100 ms, on all four sockets
 */
/* Holds: W19 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "ipc/url.h"
#include "test/support/book.h"

#define SUB      0x21 /* the SP numbers of those who connect */
#define REQ      0x30
#define PULL     0x51
#define EVERY_MS 100
#define PACE_MS  40 /* of a frame */

static struct service service;
static struct peer p;
static char url[4][160];
static const unsigned char role[4] = { REQ, PULL, SUB, REQ };
static _Atomic unsigned rounds;
static _Atomic bool quit;

/* Greets as whoever belongs there, and then says what nobody may. False: nobody was there. */
static bool attack(unsigned at)
{
	const unsigned char greeting[8] = { 0, 'S', 'P', 0, 0, role[at], 0, 0 };
	const unsigned char wrong[9] = { 2 };
	const unsigned char message[9] = { 0, 0, 0, 0, 0, 0, 0, 1, 'x' }; /* over tcp */
	const struct timeval patience = { AWAIT_MS / 1000, 0 };
	unsigned char in[4096];
	struct bs_address to;
	bool there = false;
	int fd;

	if (bs_url_parse(url[at], false, &to, NULL) != 0)
		return false;
	fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, &to.any, to.len) == 0 &&
	    send(fd, greeting, sizeof(greeting), MSG_NOSIGNAL) == sizeof(greeting))
		there = send(fd, bs_url_is_ipc(url[at]) ? wrong : message, 9, MSG_NOSIGNAL) == 9;
	while (there && read(fd, in, sizeof(in)) > 0) /* until it is hung up on */
		continue;
	(void)close(fd);
	return there;
}

static void *hostile(void *arg)
{
	(void)arg;
	while (!atomic_load(&quit)) {
		for (unsigned i = 0; i < 4; i++)
			(void)attack(i);
		atomic_fetch_add(&rounds, 1);
		await_pause_ms(EVERY_MS); /* how often it comes: nothing is waited for */
	}
	return NULL;
}

/* Of the frames of a scan, those that the book has; those that it has twice. */
static unsigned booked(const char *path, unsigned frames, unsigned *twice)
{
	unsigned *came = calloc(frames, sizeof(*came));
	FILE *f = fopen(path, "r");
	char line[128];
	unsigned repetition;
	unsigned n = 0;

	*twice = 0;
	while (came != NULL && f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%*u %*u %u", &repetition) == 1 && repetition < frames) {
			n += came[repetition] == 0;
			*twice += came[repetition]++ > 0;
		}
	if (f != NULL)
		(void)fclose(f);
	free(came);
	return n;
}

static bool start(void)
{
	char body[4096];

	(void)snprintf(url[2], sizeof(url[2]), "tcp://127.0.0.1:%d", 20000 + (int)getpid() % 9973);
	(void)snprintf(body, sizeof(body),
		       "endpoints: { images = \"ipc://run/images.ipc\"; viewers = \"%s\"; };\n%s",
		       url[2], SERVICE_PROTOCOLS);
	if (!service_start_with(&service, SERVICE_PATIENT, body, NULL))
		return false;
	(void)snprintf(url[0], sizeof(url[0]), "ipc://%s/run/images.ipc", service.dir);
	(void)snprintf(url[1], sizeof(url[1]), "%s", service.archive);
	(void)snprintf(url[3], sizeof(url[3]), "%s", service.status);
	return peer_open(&p, &service);
}

int main(int argc, char **argv)
{
	const unsigned want = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 6;
	char exe[4096] = "";
	char book[160];
	pthread_t thread;
	unsigned frames = 0;
	unsigned twice;
	pid_t archive;
	long restarts;

	if (argc == 4 && strcmp(argv[1], "archive") == 0)
		return book_main(argv[2], argv[3], 5);
	CHECK(start() && readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0,
	      "the service starts");
	(void)snprintf(book, sizeof(book), "%s/book", service.dir);
	archive = process_start("/dev/null", (char *[]){ exe, "archive", url[0], book, NULL });
	CHECK(peer_begin(&p, "cart"), "a scan begins");
	CHECK(pthread_create(&thread, NULL, hostile, NULL) == 0, "a hostile client comes");
	for (; atomic_load(&rounds) < want; frames++) {
		for (unsigned i = 0; i < 32; i++)
			(void)peer_acq(&p, "cart", i, frames);
		await_pause_ms(PACE_MS); /* the scanner's */
	}
	CHECK(peer_end(&p, frames * 32) && p.outcome.code == 0 && p.outcome.images == frames,
	      "its outcome: %llu of %u images, \"%s\"", (unsigned long long)p.outcome.images,
	      frames, p.outcome.text);
	atomic_store(&quit, true);
	(void)pthread_join(thread, NULL);
	AWAIT(booked(book, frames, &twice) == frames);
	CHECK(booked(book, frames, &twice) == frames && twice == 0,
	      "an archive that asks has %u of %u, %u twice", booked(book, frames, &twice), frames,
	      twice);
	restarts = service_number(&service, "\"name\":\"emit\"", "restarts");
	CHECK(restarts == 0, "it came %u times; emit was replaced %ld times", atomic_load(&rounds),
	      restarts);
	CHECK(service_number(&service, "\"totals\"", "nonsense") >= (long)want * 4,
	      "the status counts what was no message: %ld",
	      service_number(&service, "\"totals\"", "nonsense"));
	(void)process_end(archive);
	peer_close(&p);
	return service_end(&service);
}
