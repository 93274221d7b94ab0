/* test/peers/console.c - see console.h */
#include "test/peers/console.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define READOUT_HEAD 340u
#define IMAGE_HEAD   198u
#define MOST         ((uint64_t)1 << 28) /* bytes of a message's part */

static void put(unsigned char *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t get(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static void put_floats(unsigned char *p, const float *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t bits;

		memcpy(&bits, v + i, 4);
		put(p + 4 * i, bits, 4);
	}
}

static void get_floats(float *v, const unsigned char *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint32_t bits = (uint32_t)get(p + 4 * i, 4);

		memcpy(v + i, &bits, 4);
	}
}

bool console_connect(struct console *c, int port, int receive)
{
	const struct timeval limit = { CONSOLE_MS / 1000, 0 };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	memset(c, 0, sizeof(*c));
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	return c->fd >= 0 &&
	       setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
	       setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
	       (receive == 0 ||
		setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof(receive)) == 0) &&
	       connect(c->fd, (struct sockaddr *)&to, sizeof(to)) == 0;
}

void console_end(struct console *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	for (unsigned i = 0; i < c->images; i++) {
		free(c->image[i].meta);
		free(c->image[i].pixels);
	}
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

/* ---- what it sends ---- */

static bool out(struct console *c, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	while (len > 0) {
		const ssize_t n = send(c->fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool out_id(struct console *c, unsigned id)
{
	unsigned char two[2];

	put(two, id, 2);
	return out(c, two, 2);
}

bool console_name(struct console *c, const char *config)
{
	char field[1024] = { 0 };

	(void)snprintf(field, sizeof(field), "%s", config);
	return out_id(c, 1) && out(c, field, sizeof(field));
}

bool console_say(struct console *c, unsigned id, const char *text, bool zero)
{
	const size_t n = strlen(text) + zero;
	unsigned char four[4];

	put(four, n, 4);
	return out_id(c, id) && out(c, four, 4) && out(c, text, n);
}

/* Id, header, trajectory, samples. */
static unsigned char *readout_bytes(const struct console_readout *r, size_t *len)
{
	const size_t path = (size_t)r->samples * r->dimensions;
	const size_t values = (size_t)r->samples * r->channels * 2;
	const uint16_t counters[9] = { r->line, r->partition,  r->average, r->slice,  r->contrast,
				       0,       r->repetition, r->set,     r->segment };
	unsigned char *m = calloc(1, 2 + READOUT_HEAD + 4 * (path + values));
	unsigned char *h = m + 2;

	if (m == NULL)
		return NULL;
	put(m, 1008, 2);
	put(h, 1, 2);
	put(h + 2, r->flags, 8);
	put(h + 14, r->counter, 4);
	put(h + 34, r->samples, 2);
	put(h + 36, r->channels, 2);
	put(h + 38, r->channels, 2);
	put(h + 172, r->center, 2);
	put(h + 176, r->dimensions, 2);
	put_floats(h + 178, &r->dwell_us, 1);
	put_floats(h + 182, r->position, 3);
	put_floats(h + 194, r->read, 3);
	put_floats(h + 206, r->phase, 3);
	put_floats(h + 218, r->slice_dir, 3);
	for (unsigned i = 0; i < 9; i++)
		put(h + 242 + 2 * (size_t)i, counters[i], 2);
	put_floats(h + READOUT_HEAD, r->trajectory, (unsigned)path);
	put_floats(h + READOUT_HEAD + 4 * path, r->data, (unsigned)values);
	*len = 2 + READOUT_HEAD + 4 * (path + values);
	return m;
}

bool console_cut_readout(struct console *c, const struct console_readout *r, size_t bytes)
{
	size_t len = 0;
	unsigned char *m = readout_bytes(r, &len);
	const bool good = m != NULL && out(c, m, bytes < len ? bytes : len);

	free(m);
	return good;
}

bool console_readout(struct console *c, const struct console_readout *r)
{
	return console_cut_readout(c, r, SIZE_MAX);
}

bool console_waveform(struct console *c, unsigned id)
{
	unsigned char m[40 + 4 * 3 * 2] = { 1 }; /* 2 channels of 3 samples */

	put(m + 28, 3, 2);
	put(m + 30, 2, 2);
	put(m + 36, id, 2);
	return out_id(c, 1026) && out(c, m, sizeof(m));
}

bool console_send_image(struct console *c, const int16_t *values, unsigned n, unsigned series,
			unsigned index, const char *meta)
{
	const size_t words = strlen(meta);
	unsigned char h[IMAGE_HEAD + 8] = { 1 };
	bool good;

	put(h + 2, 2, 2);
	for (unsigned i = 0; i < 3; i++)
		put(h + 16 + 2 * (size_t)i, i < 2 ? n : 1, 2);
	put(h + 34, 1, 2);
	put(h + 124, 1, 2);
	put(h + 126, index, 2);
	put(h + 128, series, 2);
	put(h + 194, words, 4);
	put(h + IMAGE_HEAD, words, 8);
	good = out_id(c, 1022) && out(c, h, sizeof(h)) && out(c, meta, words);
	for (unsigned i = 0; good && i < n * n; i++) {
		unsigned char two[2];

		put(two, (uint16_t)values[i], 2);
		good = out(c, two, 2);
	}
	return good;
}

bool console_close(struct console *c)
{
	return out_id(c, 4);
}

/* ---- what it hears ---- */

static bool in(struct console *c, void *to, size_t len)
{
	unsigned char *at = to;

	while (len > 0) {
		const ssize_t n = recv(c->fd, at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

bool console_sip(struct console *c)
{
	unsigned char byte;

	return in(c, &byte, 1);
}

/* So many bytes and a zero. */
static void *in_bytes(struct console *c, uint64_t len)
{
	char *p = len < MOST ? malloc((size_t)len + 1) : NULL;

	if (p != NULL && !in(c, p, (size_t)len)) {
		free(p);
		p = NULL;
	}
	if (p != NULL)
		p[len] = '\0';
	return p;
}

static bool in_image(struct console *c)
{
	static const unsigned width[] = { 0, 2, 2, 4, 4, 4, 8, 8, 16 };
	struct console_image *m = &c->image[c->images];
	unsigned char h[IMAGE_HEAD + 8];
	uint64_t bytes = 1;

	if (c->images == CONSOLE_IMAGES || !in(c, h, sizeof(h)))
		return false;
	m->type = (unsigned)get(h + 2, 2);
	m->channels = (unsigned)get(h + 34, 2);
	get_floats(m->fov, h + 22, 3);
	get_floats(m->position, h + 36, 3);
	get_floats(m->read, h + 48, 3);
	get_floats(m->phase, h + 60, 3);
	get_floats(m->slice_dir, h + 72, 3);
	m->slice = (unsigned)get(h + 98, 2);
	m->contrast = (unsigned)get(h + 100, 2);
	m->repetition = (unsigned)get(h + 104, 2);
	m->kind = (unsigned)get(h + 124, 2);
	m->index = (unsigned)get(h + 126, 2);
	m->series = (unsigned)get(h + 128, 2);
	if (get(h, 2) != 1 || m->type > 8 || get(h + 194, 4) != get(h + IMAGE_HEAD, 8))
		return false;
	bytes = (uint64_t)width[m->type] * m->channels;
	for (unsigned i = 0; i < 3; i++) {
		m->size[i] = (unsigned)get(h + 16 + 2 * (size_t)i, 2);
		bytes = bytes < MOST ? bytes * m->size[i] : MOST;
	}
	m->meta = in_bytes(c, get(h + IMAGE_HEAD, 8));
	m->pixels = m->meta != NULL ? in_bytes(c, bytes) : NULL;
	m->bytes = (size_t)bytes;
	c->images++;
	return m->pixels != NULL;
}

static bool in_text(struct console *c)
{
	const size_t at = strlen(c->said);
	unsigned char n[4];
	char *text = in(c, n, 4) ? in_bytes(c, get(n, 4)) : NULL;

	if (text != NULL)
		(void)snprintf(c->said + at, sizeof(c->said) - at, "%s\n", text);
	c->texts++;
	free(text);
	return text != NULL;
}

static bool in_waveform(struct console *c)
{
	unsigned char h[40];
	char *values =
		in(c, h, sizeof(h)) ? in_bytes(c, 4 * get(h + 28, 2) * get(h + 30, 2)) : NULL;
	const bool good = values != NULL;

	c->waveforms += good;
	free(values);
	return good;
}

static bool in_noise(struct console *c)
{
	unsigned char n[8];
	char *text = in(c, n, 8) ? in_bytes(c, get(n, 8)) : NULL;

	if (text != NULL)
		(void)snprintf(c->noise, sizeof(c->noise), "%s", text);
	free(text);
	return text != NULL;
}

void console_listen(struct console *c)
{
	unsigned char two[2];

	while (in(c, two, 2)) {
		const unsigned id = (unsigned)get(two, 2);
		const bool good = id == 4      ? true
				  : id == 5    ? in_text(c)
				  : id == 1019 ? in_noise(c)
				  : id == 1022 ? in_image(c)
				  : id == 1026 ? in_waveform(c)
					       : false;

		if (!good) {
			(void)snprintf(c->wrong, sizeof(c->wrong),
				       "id %u, broken or not for a client", id);
			return;
		}
		c->closed = id == 4;
		if (c->closed)
			c->ended = recv(c->fd, two, 1, 0) == 0;
		if (c->closed)
			return;
	}
}
