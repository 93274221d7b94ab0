/* test/peers/sender.c - see sender.h */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "test/peers/sender.h"

#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void put(unsigned char *to, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

size_t sender_readout(unsigned char *payload, unsigned samples, unsigned channels, unsigned line,
		      unsigned repetition)
{
	const size_t len = SENDER_ACQ_BYTES(samples, channels);

	memset(payload, 0, 340);
	put(payload, 1, 2);
	put(payload + 14, line + 1, 4); /* scan_counter */
	put(payload + 34, samples, 2);
	put(payload + 36, channels, 2);
	put(payload + 38, channels, 2);
	put(payload + 178, 0x40A00000u, 4); /* sample_time_us: 5 */
	put(payload + 242, line, 2);
	put(payload + 254, repetition, 2);
	for (size_t at = 340; at < len; at += 4)
		put(payload + at, 0x3F000000u, 4); /* 0.5 */
	return len;
}

static bool connect_anew(struct sender *s)
{
	const int reconnect_ms = 100;
	const int buffer = 4 << 20;

	s->socket = nn_socket(AF_SP, NN_PAIR);
	if (s->socket < 0)
		return false;
	(void)nn_setsockopt(s->socket, NN_SOL_SOCKET, NN_RECONNECT_IVL, &reconnect_ms,
			    sizeof(reconnect_ms));
	(void)nn_setsockopt(s->socket, NN_SOL_SOCKET, NN_SNDBUF, &buffer, sizeof(buffer));
	(void)nn_setsockopt(s->socket, NN_SOL_SOCKET, NN_RCVBUF, &buffer, sizeof(buffer));
	rules_connected(&s->rules, now_ns());
	return nn_connect(s->socket, s->url) >= 0;
}

bool sender_open(struct sender *s, const char *url)
{
	*s = (struct sender){ .socket = -1 };
	(void)snprintf(s->url, sizeof(s->url), "%s", url);
	return connect_anew(s);
}

void sender_close(struct sender *s)
{
	rules_forget(&s->rules);
	if (s->socket >= 0)
		(void)nn_close(s->socket);
	s->socket = -1;
}

void sender_begin(struct sender *s, uint64_t session, const char *protocol, const char *header)
{
	rules_begin(&s->rules, session, protocol, header, strlen(header), now_ns());
}

bool sender_put(struct sender *s, enum sender_kind kind, const void *payload, size_t len)
{
	return rules_put(&s->rules, kind, payload, len, now_ns());
}

bool sender_finish(struct sender *s)
{
	return rules_finish(&s->rules, now_ns());
}

/* True: the library has it. False: it would have had to wait, or there was nothing. */
static bool send_next(struct sender *s)
{
	const unsigned char *msg;
	size_t len;

	if (!rules_next(&s->rules, now_ns(), &msg, &len) ||
	    nn_send(s->socket, msg, len, NN_DONTWAIT) != (int)len)
		return false;
	rules_sent(&s->rules, now_ns());
	return true;
}

enum sender_did sender_step(struct sender *s, int wait_ms)
{
	struct nn_pollfd fd = { s->socket, NN_POLLIN, 0 };
	void *msg = NULL;
	const int len = nn_recv(s->socket, &msg, NN_MSG, NN_DONTWAIT);

	if (len >= 0) {
		rules_hear(&s->rules, msg, (size_t)len, now_ns());
		(void)nn_freemsg(msg);
		return SENDER_HEARD;
	}
	if (rules_is_lonely(&s->rules, now_ns())) {
		(void)nn_close(s->socket);
		(void)connect_anew(s);
		s->rules.books.sockets++;
	}
	if (send_next(s))
		return SENDER_SENT;
	fd.fd = s->socket;
	(void)nn_poll(&fd, 1, wait_ms);
	return SENDER_WAITED;
}
