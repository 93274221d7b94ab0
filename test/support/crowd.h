/*
 * test/support/crowd.h - peers by hand: raw sockets that connect to an SP endpoint and then do what
 * no library does
 */
#ifndef BS_TEST_SUPPORT_CROWD_H
#define BS_TEST_SUPPORT_CROWD_H

#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ipc/url.h"

#define CROWD_PAIR 16 /* the protocol's number */

/* A connection that waits for an answer for a minute at most; -1: none. */
static inline int crowd_dial(const char *url)
{
	const struct timeval patience = { .tv_sec = 60 };
	struct bs_address to;
	int fd;

	if (bs_url_parse(url, false, &to, NULL) != 0)
		return -1;
	fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)); /* connect's */
	if (!bs_url_is_ipc(url)) /* each byte goes at once */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	if (connect(fd, &to.any, to.len) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* All of it, or false: the other side is gone. */
static inline bool crowd_put(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t done = send(fd, at, n, MSG_NOSIGNAL);

		if (done <= 0)
			return false;
		at += done;
		n -= (size_t)done;
	}
	return true;
}

static inline bool crowd_get(int fd, void *bytes, size_t n)
{
	char *at = bytes;

	while (n > 0) {
		ssize_t done = recv(fd, at, n, 0);

		if (done <= 0)
			return false;
		at += done;
		n -= (size_t)done;
	}
	return true;
}

/* Its own half of the handshake. */
static inline bool crowd_greet(int fd)
{
	const unsigned char hello[8] = { 0, 'S', 'P', 0, 0, CROWD_PAIR, 0, 0 };

	return crowd_put(fd, hello, sizeof(hello));
}

/* The other side's. */
static inline bool crowd_greeted(int fd)
{
	unsigned char hello[8];

	return crowd_get(fd, hello, sizeof(hello));
}

/* The bytes before a message of this length; returns how many. */
static inline size_t crowd_length(unsigned char out[9], const char *url, uint64_t len)
{
	const size_t n = bs_url_is_ipc(url) ? 9 : 8;

	out[0] = 1;
	for (int i = 0; i < 8; i++)
		out[n - 8 + (size_t)i] = (unsigned char)(len >> (56 - 8 * i));
	return n;
}

static inline bool crowd_say(int fd, const char *url, const void *msg, size_t len)
{
	unsigned char head[9];

	return crowd_put(fd, head, crowd_length(head, url, len)) && crowd_put(fd, msg, len);
}

/* Waits until the other side has hung up, whatever it says before. */
static inline bool crowd_hung_up(int fd)
{
	char bytes[512];
	ssize_t n;

	do
		n = recv(fd, bytes, sizeof(bytes), 0);
	while (n > 0);
	return n == 0 || (n < 0 && errno == ECONNRESET);
}

#endif
