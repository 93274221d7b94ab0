/* test/peers/sender.c - see sender.h; rules and tables are those of ipc/WIRE.md */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "test/peers/sender.h"

#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS           INT64_C(1000000)
#define ENVELOPE     64u
#define MAGIC        0x31445342u
#define VERSION      2u
#define ERR_STATE    (-6)
#define PATIENCE     (1000 * MS) /* without progress; rule 6 */
#define PATIENCE_MAX (4000 * MS)
#define SILENCE      (2000 * MS) /* of the service: another socket; rule 6 */
#define QUIET        (200 * MS)  /* of this side: HEARTBEAT; rule 9 */

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- bytes ---- */

static void put(unsigned char *to, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *from, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << 8 * i;
	return value;
}

/* CRC-32C without its final inversion; starts with 0xFFFFFFFF. */
static uint32_t crc_of(uint32_t crc, const unsigned char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0x82F63B78u & (0u - (crc & 1)));
	}
	return crc;
}

static uint32_t checksum(const unsigned char *msg, size_t len)
{
	static const unsigned char none[4];
	uint32_t crc = crc_of(0xFFFFFFFFu, msg, 40);

	crc = crc_of(crc, none, 4);
	return ~crc_of(crc, msg + 44, len - 44);
}

/* The payload stands behind the envelope. */
static void seal(unsigned char *msg, size_t len, enum sender_kind kind, uint64_t session,
		 uint64_t seq)
{
	memset(msg, 0, ENVELOPE);
	put(msg, MAGIC, 4);
	put(msg + 4, VERSION, 2);
	put(msg + 6, kind, 2);
	put(msg + 8, len - ENVELOPE, 8);
	put(msg + 16, session, 8);
	put(msg + 24, seq, 8);
	put(msg + 32, (uint64_t)now_ns(), 8);
	put(msg + 40, checksum(msg, len), 4);
}

static bool is_good(const unsigned char *msg, size_t len)
{
	return len >= ENVELOPE && get(msg, 4) == MAGIC && get(msg + 4, 2) == VERSION &&
	       get(msg + 8, 8) == len - ENVELOPE && get(msg + 40, 4) == checksum(msg, len);
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

/* ---- the socket ---- */

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
	s->heard_ns = now_ns();
	return nn_connect(s->socket, s->url) >= 0;
}

bool sender_open(struct sender *s, const char *url)
{
	*s = (struct sender){ .socket = -1 };
	(void)snprintf(s->url, sizeof(s->url), "%s", url);
	return connect_anew(s);
}

static void free_first(struct sender *s)
{
	free(s->kept[0].bytes);
	s->count--;
	s->cursor -= s->cursor > 0;
	memmove(s->kept, s->kept + 1, s->count * sizeof(s->kept[0]));
}

static void free_all(struct sender *s)
{
	while (s->count > 0)
		free_first(s);
}

void sender_close(struct sender *s)
{
	free_all(s);
	free(s->kept);
	s->kept = NULL;
	s->cap = 0;
	s->state = SENDER_IDLE;
	if (s->socket >= 0)
		(void)nn_close(s->socket);
	s->socket = -1;
}

/* True: the library has it. False: it would have had to wait. */
static bool send_now(struct sender *s, const unsigned char *msg, size_t len)
{
	if (nn_send(s->socket, msg, len, NN_DONTWAIT) != (int)len)
		return false;
	s->said_ns = now_ns();
	return true;
}

/* ---- a scan's messages ---- */

static void keep(struct sender *s, enum sender_kind kind, const void *head, size_t head_len,
		 const void *tail, size_t tail_len)
{
	const size_t len = ENVELOPE + head_len + tail_len;
	unsigned char *msg = malloc(len);

	if (s->count == s->cap) {
		s->cap = s->cap > 0 ? 2 * s->cap : 64;
		s->kept = realloc(s->kept, s->cap * sizeof(s->kept[0]));
	}
	if (msg == NULL || s->kept == NULL)
		abort();
	memcpy(msg + ENVELOPE, head, head_len);
	if (tail_len > 0)
		memcpy(msg + ENVELOPE + head_len, tail, tail_len);
	seal(msg, len, kind, s->session, s->next_seq);
	s->kept[s->count++] =
		(struct sender_kept){ .seq = s->next_seq++, .bytes = msg, .len = len };
}

void sender_begin(struct sender *s, uint64_t session, const char *protocol, const char *header)
{
	char name[64] = "";

	free_all(s);
	(void)snprintf(name, sizeof(name), "%s", protocol);
	s->books = (struct sender_books){ 0 };
	s->session = session;
	s->next_seq = s->last_sent = s->acqs = 0;
	s->window = 0;
	s->cursor = 0;
	s->state = SENDER_OPENING;
	s->heard_ns = s->progress_ns = now_ns();
	s->patience_ns = PATIENCE;
	keep(s, SENDER_OPEN, name, sizeof(name), header, strlen(header));
}

bool sender_put(struct sender *s, enum sender_kind kind, const void *payload, size_t len)
{
	if (s->state != SENDER_STREAMING || s->next_seq > s->books.durable + s->window)
		return false;
	keep(s, kind, payload, len, NULL, 0);
	s->acqs += kind == SENDER_ACQ;
	return true;
}

bool sender_finish(struct sender *s)
{
	unsigned char count[8];

	put(count, s->acqs, 8);
	if (!sender_put(s, SENDER_CLOSE, count, sizeof(count)))
		return false;
	s->state = SENDER_CLOSING;
	return true;
}

/* ---- what it hears ---- */

static void progress(struct sender *s)
{
	s->progress_ns = now_ns();
	s->patience_ns = PATIENCE;
}

static void note(struct sender *s, int32_t code, const unsigned char text[384])
{
	s->books.code = code;
	memcpy(s->books.text, text, 384);
}

static void end(struct sender *s)
{
	s->state = SENDER_ENDED;
	free_all(s);
}

static void hear_accept(struct sender *s, const unsigned char *p)
{
	s->window = (uint32_t)get(p + 4, 4);
	if (s->state != SENDER_OPENING)
		return; /* it may come once more */
	s->state = SENDER_STREAMING;
	free_first(s);
	progress(s);
}

/* One that follows ACCEPT is about one message, unless the scan is lost (rule 3). */
static void hear_refuse(struct sender *s, const unsigned char *p)
{
	note(s, (int32_t)get(p, 4), p + 8);
	if (s->state != SENDER_OPENING && s->books.code != ERR_STATE)
		return;
	s->books.refused = true;
	end(s);
}

static void hear_ack(struct sender *s, const unsigned char *p)
{
	struct sender_books *b = &s->books;

	b->held = get(p, 8);
	b->durable = get(p + 8, 8);
	b->unprotected = get(p + 16, 8);
	b->log = (uint32_t)get(p + 24, 4);
	b->wrong += b->durable > b->held || b->held > s->last_sent;
	b->held_back += b->held < b->most_held;
	b->durable_back += b->durable < b->most_durable;
	if (b->held > b->most_held || b->durable > b->most_durable)
		progress(s);
	b->most_held = b->held > b->most_held ? b->held : b->most_held;
	b->most_durable = b->durable > b->most_durable ? b->durable : b->most_durable;
	while (s->count > 0 && s->kept[0].seq <= b->durable &&
	       !(s->state == SENDER_CLOSING && s->count == 1)) /* CLOSE is kept until OUTCOME */
		free_first(s);
}

static void hear_outcome(struct sender *s, const unsigned char *p)
{
	struct sender_books *b = &s->books;

	note(s, (int32_t)get(p, 4), p + 56);
	b->acquisitions = get(p + 8, 8);
	b->images = get(p + 16, 8);
	b->gaps = get(p + 24, 8);
	b->duplicates = get(p + 32, 8);
	b->rejected = get(p + 40, 8);
	end(s);
}

static void hear(struct sender *s, const unsigned char *msg, size_t len)
{
	const unsigned char *payload = msg + ENVELOPE;
	unsigned kind;

	if (!is_good(msg, len))
		return;
	s->heard_ns = now_ns();
	kind = (unsigned)get(msg + 6, 2);
	if (get(msg + 16, 8) != s->session || s->state == SENDER_IDLE || kind > SENDER_OUTCOME)
		return;
	s->books.heard[kind]++;
	if (s->state == SENDER_ENDED)
		return;
	if (kind == SENDER_HEARTBEAT && s->state == SENDER_OPENING)
		progress(s);
	if (kind == SENDER_ACCEPT && len >= ENVELOPE + 392)
		hear_accept(s, payload);
	if (kind == SENDER_REFUSE && len >= ENVELOPE + 392)
		hear_refuse(s, payload);
	if (kind == SENDER_ACK && len >= ENVELOPE + 32 && s->state != SENDER_OPENING)
		hear_ack(s, payload);
	if (kind == SENDER_OUTCOME && len >= ENVELOPE + 440)
		hear_outcome(s, payload);
}

/* ---- its steps ---- */

static bool is_owed(const struct sender *s)
{
	return s->state == SENDER_OPENING || s->last_sent > s->books.durable;
}

/* The times of rule 6. */
static void watch(struct sender *s)
{
	const int64_t now = now_ns();

	if (now - s->heard_ns >= SILENCE) { /* a new connection: all that is kept, again */
		(void)nn_close(s->socket);
		(void)connect_anew(s);
		s->books.sockets++;
		s->cursor = 0;
	}
	if (!is_owed(s)) {
		progress(s);
	} else if (now - s->progress_ns >= s->patience_ns) {
		s->cursor = 0;
		s->progress_ns = now;
		s->patience_ns = s->patience_ns < PATIENCE_MAX ? 2 * s->patience_ns : PATIENCE_MAX;
	}
}

static bool send_kept(struct sender *s)
{
	struct sender_kept *k = &s->kept[s->cursor];

	if (s->cursor == s->count || !send_now(s, k->bytes, k->len))
		return false;
	s->books.sent++;
	s->books.again += k->was_sent;
	k->was_sent = true;
	s->last_sent = k->seq > s->last_sent ? k->seq : s->last_sent;
	s->cursor++;
	return true;
}

static bool send_heartbeat(struct sender *s)
{
	unsigned char msg[ENVELOPE];

	if (now_ns() - s->said_ns < QUIET)
		return false;
	seal(msg, sizeof(msg), SENDER_HEARTBEAT, s->session, 0);
	return send_now(s, msg, sizeof(msg));
}

enum sender_did sender_step(struct sender *s, int wait_ms)
{
	struct nn_pollfd fd = { s->socket, NN_POLLIN, 0 };
	void *msg = NULL;
	const int len = nn_recv(s->socket, &msg, NN_MSG, NN_DONTWAIT);

	if (len >= 0) {
		hear(s, msg, (size_t)len);
		(void)nn_freemsg(msg);
		return SENDER_HEARD;
	}
	if (s->state != SENDER_IDLE && s->state != SENDER_ENDED) {
		watch(s);
		if (send_kept(s) || send_heartbeat(s))
			return SENDER_SENT;
	}
	fd.fd = s->socket;
	(void)nn_poll(&fd, 1, wait_ms);
	return SENDER_WAITED;
}
