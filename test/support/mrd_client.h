/*
 * test/support/mrd_client.h - an MRD client over TCP, byte by byte, for the tests of the bridge
 *
 * What it sends is written here anew, not with the bridge's own encoder. Reads end after
 * AWAIT_MS: a hang. Include after test/support/service.h.
 */
#ifndef BS_TEST_SUPPORT_MRD_CLIENT_H
#define BS_TEST_SUPPORT_MRD_CLIENT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "test/support/service.h"

enum {
	MRD_CONFIG = 1,
	MRD_SCRIPT = 2,
	MRD_HEADER = 3,
	MRD_CLOSE = 4,
	MRD_TEXT = 5,
	MRD_QUERY = 6,
	MRD_RESPONSE = 7,
	MRD_ACQ = 1008,
	MRD_NOISE = 1019,
	MRD_IMAGE = 1022,
	MRD_WAVE = 1026
};

struct mrd_client {
	int fd;
	unsigned id;         /* of the message that was read last; 0: the connection ended */
	unsigned char *body; /* and its bytes, a NUL behind them */
	size_t len;
	struct bs_mrd_image head; /* of an image */
	const char *attributes;   /* not NUL-terminated */
	size_t attributes_len;
	const unsigned char *pixels;
	size_t pixels_len;
	char said[2048];         /* the last TEXT */
	unsigned char ahead[16]; /* bytes that mrd_sip took and no message has yet */
	size_t sips;
};

/* The port that the newest bridge said in the log; waits for it. how: the number of bridges so
 * far. */
static inline int mrd_port(const struct service *s, unsigned bridges)
{
	static char text[1 << 20];
	const char *words = "may connect to 127.0.0.1:";
	unsigned n = 0;
	int port = 0;

	for (int64_t limit = await_limit(); n < bridges && bs_now_ns() < limit;) {
		const int fd = open(s->log, O_RDONLY);
		const ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

		if (fd >= 0)
			(void)close(fd);
		text[got > 0 ? got : 0] = '\0';
		n = 0;
		for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words)) {
			port = (int)strtol(at + strlen(words), NULL, 10);
			n += strchr(at, '\n') != NULL;
		}
		if (n < bridges)
			await_pause_ms(5);
	}
	return n >= bridges ? port : 0;
}

/* receive: bytes of the socket's buffer; 0: as the system has it. */
static inline bool mrd_open_with(struct mrd_client *c, int port, int receive)
{
	const struct timeval limit = { AWAIT_MS / 1000, 0 };
	const int on = 1;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	memset(c, 0, sizeof(*c));
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return c->fd >= 0 &&
	       setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
	       setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
	       setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
	       (receive == 0 ||
		setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof(receive)) == 0) &&
	       connect(c->fd, (struct sockaddr *)&to, sizeof(to)) == 0;
}

static inline bool mrd_open(struct mrd_client *c, int port)
{
	return mrd_open_with(c, port, 0);
}

static inline void mrd_shut(struct mrd_client *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	free(c->body);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

static inline bool mrd_send(struct mrd_client *c, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	while (len > 0) {
		const ssize_t n = send(c->fd, at, len, MSG_NOSIGNAL);

		if (n <= 0 && errno != EINTR)
			return false;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static inline bool mrd_id(struct mrd_client *c, unsigned id)
{
	const unsigned char two[2] = { (unsigned char)id, (unsigned char)(id >> 8) };

	return mrd_send(c, two, 2);
}

static inline bool mrd_config(struct mrd_client *c, const char *name)
{
	char field[1024] = { 0 };

	memcpy(field, name, strlen(name) < 1023 ? strlen(name) : 1023);
	return mrd_id(c, MRD_CONFIG) && mrd_send(c, field, sizeof(field));
}

/* Ids 2, 3, 5; nul: one more byte, as kspaceKelvin's connection.py sends it. */
static inline bool mrd_say(struct mrd_client *c, unsigned id, const char *text, size_t len,
			   bool nul)
{
	const uint32_t n = (uint32_t)len + nul;
	const unsigned char four[4] = { (unsigned char)n, (unsigned char)(n >> 8),
					(unsigned char)(n >> 16), (unsigned char)(n >> 24) };

	return mrd_id(c, id) && mrd_send(c, four, 4) && mrd_send(c, text, len) &&
	       (!nul || mrd_send(c, "", 1));
}

/* Takes one byte of what comes. */
static inline bool mrd_sip(struct mrd_client *c)
{
	return c->sips < sizeof(c->ahead) && recv(c->fd, &c->ahead[c->sips++], 1, 0) == 1;
}

static inline bool mrd_read(struct mrd_client *c, void *to, size_t len)
{
	unsigned char *at = to;
	const size_t had = len < c->sips ? len : c->sips;

	memcpy(at, c->ahead, had);
	memmove(c->ahead, c->ahead + had, c->sips - had);
	c->sips -= had;
	at += had;
	len -= had;
	while (len > 0) {
		const ssize_t n = recv(c->fd, at, len, 0);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static inline bool mrd_read_body(struct mrd_client *c, uint64_t len)
{
	if (len > (1u << 30))
		return false;
	free(c->body);
	c->body = malloc((size_t)len + 1);
	c->len = (size_t)len;
	if (c->body == NULL || !mrd_read(c, c->body, c->len))
		return false;
	c->body[len] = '\0';
	return true;
}

static inline uint64_t mrd_number(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static inline bool mrd_read_image(struct mrd_client *c)
{
	static const unsigned width[] = { 0, 2, 2, 4, 4, 4, 8, 8, 16 };
	unsigned char head[198 + 8];
	uint64_t attributes;
	uint64_t pixels;

	if (!mrd_read(c, head, sizeof(head)))
		return false;
	bs_mrd_get_image(&c->head, head);
	attributes = mrd_number(head + 198, 8);
	if (c->head.data_type > 8 || attributes != c->head.attribute_string_len)
		return false;
	pixels = (uint64_t)c->head.matrix_size[0] * c->head.matrix_size[1] *
		 c->head.matrix_size[2] * c->head.channels * width[c->head.data_type];
	if (!mrd_read_body(c, attributes + pixels))
		return false;
	c->attributes = (const char *)c->body;
	c->attributes_len = (size_t)attributes;
	c->pixels = c->body + attributes;
	c->pixels_len = (size_t)pixels;
	return true;
}

/* The next message; its id, 0 where the connection ended (or nothing came, or nonsense). */
static inline unsigned mrd_hear(struct mrd_client *c)
{
	unsigned char n[16];
	bool good = mrd_read(c, n, 2);

	c->id = good ? (unsigned)mrd_number(n, 2) : 0;
	if (c->id == MRD_TEXT) {
		good = mrd_read(c, n, 4) && mrd_number(n, 4) > 0 &&
		       mrd_read_body(c, mrd_number(n, 4));
		(void)snprintf(c->said, sizeof(c->said), "%s", good ? (char *)c->body : "");
	} else if (c->id == MRD_RESPONSE) {
		good = mrd_read(c, n, 16) && mrd_read_body(c, mrd_number(n + 8, 8));
	} else if (c->id == MRD_NOISE) {
		good = mrd_read(c, n, 8) && mrd_read_body(c, mrd_number(n, 8));
	} else if (c->id == MRD_IMAGE) {
		good = mrd_read_image(c);
	} else if (c->id != MRD_CLOSE) {
		good = false;
	}
	c->id = good ? c->id : 0;
	return c->id;
}

/* TEXT whose words hold this, then CLOSE, then the end of the connection; nothing else but TEXT. */
static inline bool mrd_refused(struct mrd_client *c, const char *words)
{
	bool said = false;

	while (mrd_hear(c) == MRD_TEXT)
		said = said || strstr(c->said, words) != NULL;
	if (!said || c->id != MRD_CLOSE)
		printf("# id %u after '%s'\n", c->id, c->said);
	return said && c->id == MRD_CLOSE && mrd_hear(c) == 0;
}

/* The images that come until CLOSE, after which the connection ends; -1: it ends otherwise. */
static inline int mrd_images(struct mrd_client *c)
{
	int images = 0;

	while (mrd_hear(c) == MRD_IMAGE || c->id == MRD_TEXT)
		images += c->id == MRD_IMAGE;
	return c->id == MRD_CLOSE && mrd_hear(c) == 0 ? images : -1;
}

/* A header and readouts of service.h's protocol "cart". */
static inline bool mrd_begin(struct mrd_client *c, const char *config)
{
	char xml[SERVICE_XML_MAX];
	const size_t n = peer_xml(xml, "cart", true);

	return mrd_config(c, config) && mrd_say(c, MRD_HEADER, xml, n, true);
}

static inline bool mrd_line(struct mrd_client *c, unsigned line, unsigned repetition)
{
	_Alignas(8) unsigned char message[2 + 4096];
	const size_t n = peer_readout(message + 8, "cart", line, repetition);

	message[6] = MRD_ACQ & 0xff;
	message[7] = MRD_ACQ >> 8;
	return mrd_send(c, message + 6, n + 2);
}

/* A whole scan; the images that came, -1: it was not well. */
static inline int mrd_scan(int port, const char *config, unsigned frames)
{
	struct mrd_client c;
	bool good = mrd_open(&c, port) && mrd_begin(&c, config);
	int images;

	for (unsigned i = 0; good && i < frames * 32; i++)
		good = mrd_line(&c, i % 32, i / 32);
	images = good && mrd_id(&c, MRD_CLOSE) ? mrd_images(&c) : -1;
	if (images < 0)
		printf("# id %u: %s\n", c.id, c.said);
	mrd_shut(&c);
	return images;
}

#endif
