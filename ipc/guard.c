/* ipc/guard.c - see guard.h */
#define _GNU_SOURCE /* syscall */
#include "ipc/guard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES       4096 /* descriptors that are followed; beyond them nobody is admitted */
#define GREETING    8u
#define SUB         0x21
#define PULL        0x51
#define IPC_MESSAGE 1 /* the byte before a length over ipc */

/* Where a connection stands; nanomsg reads each under a lock of its own. */
struct stream {
	uint64_t cookie;        /* the kernel's for this socket: a descriptor comes again */
	uint64_t left;          /* bytes of the message's body */
	unsigned char head[16]; /* the greeting, or the length of the next message */
	unsigned got, header;   /* of head; bytes before a message: 8 over tcp, 9 over ipc */
	bool greeted, silent;   /* silent: nothing may follow its greeting */
};

static struct stream streams[FILES];
static _Atomic bool on;
static _Atomic uint64_t ended;

void bs_guard_on(void)
{
	atomic_store(&on, true);
}

uint64_t bs_guard_ended(void)
{
	return atomic_load(&ended);
}

/* NULL: it cannot be followed. */
static struct stream *stream_of(int fd)
{
	struct stream *s = fd >= 0 && fd < FILES ? &streams[fd] : NULL;
	socklen_t len = sizeof(s->cookie);
	uint64_t cookie = 0;
	int domain = 0;

	if (s == NULL || getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) != 0)
		return NULL;
	if (s->cookie == cookie)
		return s;
	len = sizeof(domain);
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0)
		return NULL;
	*s = (struct stream){ .cookie = cookie, .header = domain == AF_UNIX ? 9 : 8 };
	return s;
}

/* The greeting, or a message's length, is whole. False: no message begins so. */
static bool begin(struct stream *s)
{
	const unsigned char *n = s->head + s->header - 8;

	s->got = 0;
	if (!s->greeted) { /* whether it is one nanomsg tells */
		s->greeted = true;
		s->silent = s->head[4] == 0 && (s->head[5] == SUB || s->head[5] == PULL);
		return true;
	}
	for (int i = 0; i < 8; i++)
		s->left = s->left << 8 | n[i];
	return s->header == 8 || s->head[0] == IPC_MESSAGE;
}

static bool follow(struct stream *s, const unsigned char *at, size_t n)
{
	while (n > 0) {
		const size_t body = s->left < n ? (size_t)s->left : n;

		s->left -= body;
		at += body;
		n -= body;
		if (n == 0)
			break;
		if (s->silent)
			return false;
		s->head[s->got++] = *at++;
		n--;
		if (s->got == (s->greeted ? s->header : GREETING) && !begin(s))
			return false;
	}
	return true;
}

/* libc's, as nanomsg finds it */
ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct stream *s;
	ssize_t n;

	if (!atomic_load(&on))
		return syscall(SYS_recvmsg, fd, msg, flags);
	msg->msg_controllen = 0;
	n = syscall(SYS_recvmsg, fd, msg, flags);
	if (n <= 0)
		return n;
	s = stream_of(fd);
	for (size_t i = 0, left = (size_t)n; s != NULL && i < msg->msg_iovlen && left > 0; i++) {
		const struct iovec *piece = &msg->msg_iov[i];
		const size_t len = piece->iov_len < left ? piece->iov_len : left;

		if (!follow(s, piece->iov_base, len))
			s = NULL;
		left -= len;
	}
	atomic_fetch_add(&ended, s == NULL);
	return s != NULL ? n : 0;
}
