/* ipc/seal/link.c - see link.h */
#include "ipc/seal/link.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "ipc/endpoint.h"
#include "ipc/url.h"

#define AGAIN_NS INT64_C(20000000) /* time until the next try after a connection broke */
/* time until the next try after a hello that was refused */
#define REFUSED_NS INT64_C(200000000)
#define REFUSALS   3 /* refusals in a row before the caller is told */
/* time after which a hello without an answer is given up */
#define HELLO_NS      INT64_C(2000000000)
#define LENGTH        8u
#define ID            4u
#define SOCKET_BUFFER (4 * 1024 * 1024)
#define FIRST_ROOM    65536u

enum stage { DOWN, CONNECTING, GREETING, ANSWER, UP };

struct bs_seal_link {
	struct bs_seal_keys keys;
	enum bs_suite suite; /* suite that the next hello offers */
	char endpoint[16];
	bool asks;
	size_t message_max;
	struct bs_address to;

	int fd, receive_fd, send_fd, timer_fd;
	enum stage stage;
	int64_t due_ns; /* DOWN: when a connection is tried; before UP: when it is given up */
	struct bs_ik ik;
	struct bs_seal out_seal, in_seal;
	uint64_t connections;
	unsigned refusals;
	struct bs_fail refusal;

	/* a message that is framed and sealed; its bytes from out_at on are not sent yet */
	unsigned char *out;
	size_t out_room, out_at, out_len;
	unsigned char length[LENGTH], *in;
	size_t in_room, length_got, in_len, in_got;

	unsigned char *question; /* REQ: the last question, with its number; to be asked again */
	size_t question_room, question_len;
	uint32_t number;
	bool unanswered, unasked; /* unasked: the question was not sent on this connection */
};

static void set_timer(struct bs_seal_link *l)
{
	const int64_t ns = l->due_ns > 0 ? l->due_ns : 1;
	struct itimerspec t = { .it_value = { ns / 1000000000, ns % 1000000000 } };

	if (l->stage == UP)
		t.it_value = (struct timespec){ 0 };
	(void)timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

static void drop(struct bs_seal_link *l, int64_t after_ns)
{
	if (l->fd >= 0)
		(void)close(l->fd);
	l->fd = -1;
	l->stage = DOWN;
	l->due_ns = bs_now_ns() + after_ns;
	l->out_len = l->out_at = l->length_got = l->in_got = 0;
	l->unasked = l->unanswered;
	sodium_memzero(&l->ik, sizeof(l->ik));
	sodium_memzero(&l->out_seal, sizeof(l->out_seal));
	sodium_memzero(&l->in_seal, sizeof(l->in_seal));
	set_timer(l);
}

static void refused(struct bs_seal_link *l, const struct bs_fail *why)
{
	l->refusal = *why;
	l->refusals++;
	drop(l, REFUSED_NS);
}

static void watch_socket(struct bs_seal_link *l, int fd, uint32_t events)
{
	struct epoll_event e = { .events = events };

	if (epoll_ctl(fd, EPOLL_CTL_MOD, l->fd, &e) != 0)
		(void)epoll_ctl(fd, EPOLL_CTL_ADD, l->fd, &e);
}

static void connect_now(struct bs_seal_link *l)
{
	const int one = 1;
	const int bytes = SOCKET_BUFFER;

	l->fd = socket(l->to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0) {
		drop(l, REFUSED_NS);
		return;
	}
	(void)setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(l->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	(void)setsockopt(l->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (connect(l->fd, &l->to.any, l->to.len) != 0 && errno != EINPROGRESS) {
		drop(l, AGAIN_NS);
		return;
	}
	l->stage = CONNECTING;
	l->due_ns = bs_now_ns() + HELLO_NS;
	watch_socket(l, l->receive_fd, EPOLLOUT);
	set_timer(l);
}

static void put_length(unsigned char out[LENGTH], uint64_t len)
{
	for (unsigned i = 0; i < LENGTH; i++)
		out[i] = (unsigned char)(len >> (56 - 8 * i));
}

/*
 * Sends a hello behind the greeting, or again with the other suite: a few bytes, which a socket
 * takes at once.
 */
static bool say_hello(struct bs_seal_link *l, bool greet)
{
	unsigned char text[8 + LENGTH + BS_HELLO_FIRST] = "\0SP\0\0";
	const size_t from = greet ? 0 : 8;

	text[5] = l->asks ? 48 : 16;
	put_length(text + 8, BS_HELLO_FIRST);
	bs_hello_say(&l->ik, &l->keys, l->endpoint, l->suite, text + 8 + LENGTH);
	return send(l->fd, text + from, sizeof(text) - from, MSG_NOSIGNAL) ==
	       (ssize_t)(sizeof(text) - from);
}

static void connected(struct bs_seal_link *l)
{
	struct pollfd fd = { l->fd, POLLOUT, 0 };
	int error = 0;
	socklen_t n = sizeof(error);

	if (poll(&fd, 1, 0) != 1)
		return;
	if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0 || error != 0 ||
	    !say_hello(l, true)) {
		drop(l, AGAIN_NS);
		return;
	}
	l->stage = GREETING;
	watch_socket(l, l->receive_fd, EPOLLIN);
}

/* Reads until *got is want bytes. 1: they are here; 0: not yet; -1: the connection is over. */
static int fill_buffer(struct bs_seal_link *l, unsigned char *to, size_t want, size_t *got)
{
	while (*got < want) {
		ssize_t n = recv(l->fd, to + *got, want - *got, 0);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -1;
		*got += (size_t)n;
	}
	return 1;
}

static bool grow(unsigned char **to, size_t *room, size_t bytes)
{
	unsigned char *more;

	if (bytes <= *room)
		return true;
	bytes = bytes < FIRST_ROOM ? FIRST_ROOM : bytes;
	more = realloc(*to, bytes);
	if (more == NULL)
		return false;
	*to = more;
	*room = bytes;
	return true;
}

/* Reads the next framed bytes into l->in. Returns as fill does. */
static int frame(struct bs_seal_link *l, size_t most)
{
	uint64_t len = 0;
	int rc = fill_buffer(l, l->length, LENGTH, &l->length_got);

	if (rc != 1)
		return rc;
	for (unsigned i = 0; i < LENGTH; i++)
		len = len << 8 | l->length[i];
	if (len > most || !grow(&l->in, &l->in_room, (size_t)len + 1))
		return -1;
	l->in_len = (size_t)len;
	rc = fill_buffer(l, l->in, l->in_len, &l->in_got);
	if (rc == 1)
		l->length_got = l->in_got = 0;
	return rc;
}

static void greeted(struct bs_seal_link *l)
{
	unsigned char greeting[8] = "\0SP\0\0";
	int rc = fill_buffer(l, l->length, LENGTH, &l->length_got);

	greeting[5] = l->asks ? 49 : 16;
	if (rc == 1 && memcmp(l->length, greeting, 8) == 0) {
		l->length_got = 0;
		l->stage = ANSWER;
	} else if (rc != 0) {
		drop(l, REFUSED_NS);
	}
}

static void answered(struct bs_seal_link *l)
{
	struct bs_fail why;
	int rc = frame(l, BS_HELLO_SECOND);

	if (rc == 0)
		return;
	if (rc < 0) {
		(void)bs_fail(
			&why, BS_ERR_KEY,
			"the service hangs up at the hello: it does not know this key, or has "
			"another one than was given for it");
		refused(l, &why);
		return;
	}
	rc = bs_hello_hear(&l->ik, l->in, l->in_len, &l->out_seal, &l->in_seal, &why);
	if (rc == BS_HELLO_AGAIN && l->suite == BS_SUITE_AESGCM) {
		l->suite = BS_SUITE_CHACHAPOLY;
		if (!say_hello(l, false))
			drop(l, AGAIN_NS);
	} else if (rc != 0) {
		refused(l, &why);
	} else {
		l->stage = UP;
		l->connections++;
		l->refusals = 0;
		watch_socket(l, l->send_fd, EPOLLOUT);
		set_timer(l);
	}
}

/* Sends what was sealed and not sent. False: some is left, or the connection is over. */
static bool flush(struct bs_seal_link *l)
{
	while (l->stage == UP && l->out_at < l->out_len) {
		ssize_t n = send(l->fd, l->out + l->out_at, l->out_len - l->out_at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			drop(l, AGAIN_NS);
		if (n < 0)
			return false;
		l->out_at += (size_t)n;
	}
	return l->stage == UP;
}

/* Seals and sends a message. Call it when nothing is left of the message before. */
static int seal(struct bs_seal_link *l, const void *head, size_t head_len, const void *tail,
		size_t tail_len)
{
	const size_t len = head_len + tail_len;

	if (!grow(&l->out, &l->out_room, LENGTH + len + BS_SEAL_TAG))
		return BS_ERR_NOMEM;
	put_length(l->out, len + BS_SEAL_TAG);
	memcpy(l->out + LENGTH, head, head_len);
	if (tail_len > 0)
		memcpy(l->out + LENGTH + head_len, tail, tail_len);
	if (!bs_seal_close(&l->out_seal, l->out + LENGTH, len))
		return BS_ERR_STATE;
	l->out_at = 0;
	l->out_len = LENGTH + len + BS_SEAL_TAG;
	(void)flush(l);
	return 0;
}

/* Does all that can be done now, without waiting. */
static void move_bytes(struct bs_seal_link *l)
{
	enum stage before;

	do {
		before = l->stage;
		if (l->stage == DOWN && bs_now_ns() >= l->due_ns)
			connect_now(l);
		else if (l->stage == CONNECTING)
			connected(l);
		else if (l->stage == GREETING)
			greeted(l);
		else if (l->stage == ANSWER)
			answered(l);
		if (l->stage != UP && l->stage != DOWN && bs_now_ns() >= l->due_ns)
			drop(l, AGAIN_NS);
	} while (l->stage != before && l->stage != DOWN);
	if (l->stage == UP && flush(l) && l->unasked) {
		l->unasked = false;
		(void)seal(l, l->question, l->question_len, NULL, 0);
	}
}

/* Waits until one of the link's descriptors is ready. False: the time is over. */
static bool wait_until(struct bs_seal_link *l, int64_t until_ns, bool to_send)
{
	struct pollfd fd[2] = { { l->receive_fd, POLLIN, 0 }, { l->send_fd, POLLIN, 0 } };
	const int64_t left = until_ns - bs_now_ns();
	const struct timespec t = { left / 1000000000, left % 1000000000 };

	if (until_ns != INT64_MAX && left <= 0)
		return false;
	(void)ppoll(fd, to_send ? 2 : 1, until_ns == INT64_MAX ? NULL : &t, NULL);
	return true;
}

static int64_t end_of(int timeout_ms)
{
	return timeout_ms < 0 ? INT64_MAX : bs_now_ns() + timeout_ms * INT64_C(1000000);
}

int bs_seal_link_send(struct bs_seal_link *l, const void *head, size_t head_len, const void *tail,
		      size_t tail_len, int timeout_ms, struct bs_fail *why)
{
	const int64_t until = timeout_ms == 0 ? 0 : end_of(timeout_ms);
	int rc;

	if (head_len > SIZE_MAX / 4 || tail_len > SIZE_MAX / 4)
		return bs_fail(why, BS_ERR_LENGTH, "a message of %zu bytes", head_len);
	move_bytes(l);
	while (l->stage != UP || !flush(l)) {
		if (timeout_ms == 0 || !wait_until(l, until, l->stage == UP))
			return BS_ENDPOINT_TIMEOUT;
		move_bytes(l);
	}
	if (!l->asks) {
		rc = seal(l, head, head_len, tail, tail_len);
		return rc == 0 ? 0 : bs_fail(why, rc, "send: a message cannot be sealed");
	}
	if (!grow(&l->question, &l->question_room, ID + head_len + tail_len))
		return bs_fail(why, BS_ERR_NOMEM, "send: a question of %zu bytes", head_len);
	l->number = (l->number + 1) | UINT32_C(1) << 31;
	for (unsigned i = 0; i < ID; i++)
		l->question[i] = (unsigned char)(l->number >> (24 - 8 * i));
	memcpy(l->question + ID, head, head_len);
	if (tail_len > 0)
		memcpy(l->question + ID + head_len, tail, tail_len);
	l->question_len = ID + head_len + tail_len;
	l->unanswered = true;
	rc = seal(l, l->question, l->question_len, NULL, 0);
	return rc == 0 ? 0 : bs_fail(why, rc, "send: a question cannot be sealed");
}

/* Takes the next message. True: it is one for the caller. */
static bool take_one(struct bs_seal_link *l, const unsigned char **msg, size_t *len)
{
	int rc;

	while (l->stage == UP) {
		rc = frame(l, l->message_max + ID + BS_SEAL_TAG);
		if (rc == 0)
			return false;
		if (rc < 0 || !bs_seal_open(&l->in_seal, l->in, l->in_len)) {
			drop(l, AGAIN_NS);
			return false;
		}
		*msg = l->in;
		*len = l->in_len - BS_SEAL_TAG;
		if (!l->asks)
			return *len <= l->message_max;
		if (*len < ID || !l->unanswered || memcmp(l->in, l->question, ID) != 0)
			continue; /* the message answers a question that was given up */
		*msg += ID;
		*len -= ID;
		l->unanswered = false;
		return true;
	}
	return false;
}

int bs_seal_link_take(struct bs_seal_link *l, const unsigned char **msg, size_t *len,
		      int timeout_ms, struct bs_fail *why)
{
	const int64_t until = timeout_ms == 0 ? 0 : end_of(timeout_ms);

	*msg = NULL;
	*len = 0;
	if (l->asks && !l->unanswered)
		return bs_fail(why, BS_ERR_STATE, "recv: nothing was asked");
	for (;;) {
		move_bytes(l);
		if (take_one(l, msg, len))
			return 0;
		*msg = NULL;
		*len = 0;
		if (timeout_ms == 0 || !wait_until(l, until, l->out_at < l->out_len))
			return BS_ENDPOINT_TIMEOUT;
	}
}

int bs_seal_link_receive_fd(const struct bs_seal_link *l)
{
	return l->receive_fd;
}

int bs_seal_link_send_fd(const struct bs_seal_link *l)
{
	return l->send_fd;
}

void bs_seal_link_renew(struct bs_seal_link *l)
{
	drop(l, 0);
	move_bytes(l);
}

uint64_t bs_seal_link_connections(const struct bs_seal_link *l, bool *now)
{
	*now = l->stage == UP;
	return l->connections;
}

int bs_seal_link_refused(const struct bs_seal_link *l, struct bs_fail *why)
{
	return l->refusals >= REFUSALS ? bs_fail(why, BS_ERR_KEY, "%s", l->refusal.text) : 0;
}

int bs_seal_link_open(struct bs_seal_link **out, const char *url, const char *endpoint, bool asks,
		      size_t message_max, const struct bs_seal_keys *keys, struct bs_fail *why)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct bs_seal_link *l;
	struct bs_address to;
	int rc = bs_url_parse(url, true, &to, why);

	*out = NULL;
	if (rc != 0)
		return rc;
	l = aligned_alloc(64, (sizeof(*l) + 63) & ~(size_t)63);
	if (l == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory", url);
	memset(l, 0, sizeof(*l));
	l->keys = *keys;
	l->suite = keys->suite;
	l->to = to;
	l->asks = asks;
	l->message_max = message_max;
	(void)strncpy(l->endpoint, endpoint, sizeof(l->endpoint) - 1);
	l->fd = -1;
	randombytes_buf(&l->number, sizeof(l->number));
	l->receive_fd = epoll_create1(EPOLL_CLOEXEC);
	l->send_fd = epoll_create1(EPOLL_CLOEXEC);
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->receive_fd < 0 || l->send_fd < 0 || l->timer_fd < 0 ||
	    epoll_ctl(l->receive_fd, EPOLL_CTL_ADD, l->timer_fd, &e) != 0) {
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", url, strerror(errno));
		bs_seal_link_close(l);
		return rc;
	}
	move_bytes(l);
	*out = l;
	return 0;
}

void bs_seal_link_close(struct bs_seal_link *l)
{
	if (l == NULL)
		return;
	for (int fd = 0; fd < 4; fd++) {
		const int which[4] = { l->fd, l->receive_fd, l->send_fd, l->timer_fd };

		if (which[fd] >= 0)
			(void)close(which[fd]);
	}
	free(l->out);
	free(l->in);
	free(l->question);
	sodium_memzero(l, sizeof(*l));
	free(l);
}
