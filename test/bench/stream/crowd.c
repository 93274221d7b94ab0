/* test/bench/stream/crowd.c - see crowd.h */
#define _GNU_SOURCE
#include "test/bench/stream/crowd.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 256u
#define ROOM (2u << 20)

struct browser {
	pthread_t thread;
	struct crowd_counts count;
	char *text; /* the last answer */
	int fd;
};

static struct browser browser[MOST];
static int stuck_fd[MOST];
static unsigned browsers, stuck, port;
static _Atomic bool over;

static int connect_to(void)
{
	const struct timeval wait = { 5, 0 };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* The whole answer in b->text; its body, or NULL. */
static const char *get(struct browser *b, const char *path)
{
	char request[200];
	const int n = snprintf(request, sizeof(request),
			       "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
	const char *body = NULL;
	size_t want = ROOM;
	size_t len = 0;

	if (b->fd < 0)
		b->fd = connect_to();
	if (b->fd < 0 || send(b->fd, request, (size_t)n, MSG_NOSIGNAL) != n)
		want = 0;
	while (len < want) {
		const ssize_t got = recv(b->fd, b->text + len, ROOM - 1 - len, 0);
		const char *length;

		if (got <= 0)
			break;
		len += (size_t)got;
		b->text[len] = '\0';
		if (body != NULL || (body = strstr(b->text, "\r\n\r\n")) == NULL)
			continue;
		body += 4;
		length = strcasestr(b->text, "\r\nContent-Length: ");
		want = (size_t)(body - b->text) +
		       (length != NULL && length < body ? strtoul(length + 18, NULL, 10) : ROOM);
	}
	if (body != NULL && len == want) {
		b->count.answers++;
		b->count.bytes += len;
		return body;
	}
	b->count.failures++;
	if (b->fd >= 0)
		(void)close(b->fd);
	b->fd = -1;
	return NULL;
}

static void *look(void *arg)
{
	const struct timespec fifth = { 0, 200000000 };
	struct browser *b = arg;
	unsigned long seen = 0;
	char path[40];

	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	for (unsigned turn = 0; !atomic_load(&over); turn++) {
		const char *list = get(b, "/pictures.json");
		unsigned long newest = 0;

		for (const char *at = list; at != NULL; at = strstr(at + 1, "\"number\":"))
			if (strncmp(at, "\"number\":", 9) == 0)
				newest = strtoul(at + 9, NULL, 10);
		if (newest != seen) {
			(void)snprintf(path, sizeof(path), "/picture/%lu", newest);
			b->count.pictures += get(b, path) != NULL;
			seen = newest;
		}
		if (turn % 5 == 0)
			(void)get(b, "/status.json");
		if (turn % 5 == 0 && (b - browser) % 10 == 0)
			(void)get(b, "/metrics");
		(void)nanosleep(&fifth, NULL);
	}
	if (b->fd >= 0)
		(void)close(b->fd);
	return NULL;
}

bool crowd_begin(unsigned to, unsigned many, unsigned unread)
{
	static const char request[] = "GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n";

	port = to;
	atomic_store(&over, false);
	memset(browser, 0, sizeof(browser));
	for (stuck = 0; stuck < unread && stuck < MOST; stuck++) {
		stuck_fd[stuck] = connect_to();
		for (int i = 0; stuck_fd[stuck] >= 0 && i < 100; i++)
			(void)!send(stuck_fd[stuck], request, sizeof(request) - 1,
				    MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	for (browsers = 0; browsers < many && browsers < MOST; browsers++) {
		struct browser *b = &browser[browsers];

		b->fd = -1;
		b->text = malloc(ROOM);
		if (b->text == NULL || pthread_create(&b->thread, NULL, look, b) != 0)
			return false;
	}
	return true;
}

void crowd_end(struct crowd_counts *sum)
{
	atomic_store(&over, true);
	for (unsigned i = 0; i < browsers; i++) {
		(void)pthread_join(browser[i].thread, NULL);
		sum->answers += browser[i].count.answers;
		sum->pictures += browser[i].count.pictures;
		sum->bytes += browser[i].count.bytes;
		sum->failures += browser[i].count.failures;
		free(browser[i].text);
	}
	for (unsigned i = 0; i < stuck; i++)
		if (stuck_fd[i] >= 0)
			(void)close(stuck_fd[i]);
	browsers = stuck = 0;
}
