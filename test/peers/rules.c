/* test/peers/rules.c - see rules.h; rules and tables are those of ipc/WIRE.md */
#include "test/peers/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS           INT64_C(1000000)
#define MAGIC        0x31445342u
#define VERSION      2u
#define ERR_STATE    (-6)
#define PATIENCE     (1000 * MS) /* without progress; rule 6 */
#define PATIENCE_MAX (4000 * MS)
#define SILENCE      (2000 * MS) /* of the service: another socket; rule 6 */
#define QUIET        (200 * MS)  /* of this side: HEARTBEAT; rule 9 */

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
	static uint32_t table[256];

	for (uint32_t i = 0; i < 256 && table[255] == 0; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (0x82F63B78u & (0u - (table[i] & 1)));
	}
	for (size_t i = 0; i < len; i++)
		crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xFF];
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
static void seal(const struct rules *r, unsigned char *msg, size_t len, enum sender_kind kind,
		 uint64_t seq, int64_t now_ns)
{
	memset(msg, 0, RULES_ENVELOPE);
	put(msg, MAGIC, 4);
	put(msg + 4, VERSION, 2);
	put(msg + 6, kind, 2);
	put(msg + 8, len - RULES_ENVELOPE, 8);
	put(msg + 16, r->session, 8);
	put(msg + 24, seq, 8);
	put(msg + 32, (uint64_t)now_ns, 8);
	put(msg + 40, checksum(msg, len), 4);
}

static bool is_good(const unsigned char *msg, size_t len)
{
	return len >= RULES_ENVELOPE && get(msg, 4) == MAGIC && get(msg + 4, 2) == VERSION &&
	       get(msg + 8, 8) == len - RULES_ENVELOPE && get(msg + 40, 4) == checksum(msg, len);
}

/* ---- a scan's messages ---- */

static void free_first(struct rules *r)
{
	free(r->kept[0].bytes);
	r->count--;
	r->cursor -= r->cursor > 0;
	memmove(r->kept, r->kept + 1, r->count * sizeof(r->kept[0]));
}

static void free_all(struct rules *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->kept[i].bytes);
	r->count = r->cursor = 0;
}

void rules_forget(struct rules *r)
{
	free_all(r);
	free(r->kept);
	r->kept = NULL;
	r->cap = 0;
	r->state = SENDER_IDLE;
}

static void keep(struct rules *r, enum sender_kind kind, const void *head, size_t head_len,
		 const void *tail, size_t tail_len, int64_t now_ns)
{
	const size_t len = RULES_ENVELOPE + head_len + tail_len;
	unsigned char *msg = malloc(len);

	if (r->count == r->cap) {
		r->cap = r->cap > 0 ? 2 * r->cap : 64;
		r->kept = realloc(r->kept, r->cap * sizeof(r->kept[0]));
	}
	if (msg == NULL || r->kept == NULL)
		abort();
	memcpy(msg + RULES_ENVELOPE, head, head_len);
	if (tail_len > 0)
		memcpy(msg + RULES_ENVELOPE + head_len, tail, tail_len);
	seal(r, msg, len, kind, r->next_seq, now_ns);
	r->kept[r->count++] = (struct rules_kept){ .seq = r->next_seq++, .bytes = msg, .len = len };
}

void rules_begin(struct rules *r, uint64_t session, const char *protocol, const char *header,
		 size_t len, int64_t now_ns)
{
	char name[64] = "";

	free_all(r);
	(void)snprintf(name, sizeof(name), "%s", protocol);
	r->books = (struct sender_books){ 0 };
	r->session = session;
	r->next_seq = r->last_sent = r->acqs = 0;
	r->window = 0;
	r->state = SENDER_OPENING;
	r->heard_ns = r->progress_ns = now_ns;
	r->patience_ns = PATIENCE;
	keep(r, SENDER_OPEN, name, sizeof(name), header, len, now_ns);
}

bool rules_put(struct rules *r, enum sender_kind kind, const void *payload, size_t len,
	       int64_t now_ns)
{
	if (r->state != SENDER_STREAMING || r->next_seq > r->books.most_durable + r->window)
		return false;
	keep(r, kind, payload, len, NULL, 0, now_ns);
	r->acqs += kind == SENDER_ACQ;
	return true;
}

bool rules_finish(struct rules *r, int64_t now_ns)
{
	unsigned char count[8];

	put(count, r->acqs, 8);
	if (!rules_put(r, SENDER_CLOSE, count, sizeof(count), now_ns))
		return false;
	r->state = SENDER_CLOSING;
	return true;
}

/* ---- what it hears ---- */

static void progress(struct rules *r, int64_t now_ns)
{
	r->progress_ns = now_ns;
	r->patience_ns = PATIENCE;
}

static void note(struct rules *r, int32_t code, const unsigned char text[384])
{
	r->books.code = code;
	memcpy(r->books.text, text, 384);
}

static void end(struct rules *r)
{
	r->state = SENDER_ENDED;
	free_all(r);
}

static void hear_accept(struct rules *r, const unsigned char *p, int64_t now_ns)
{
	r->window = (uint32_t)get(p + 4, 4);
	if (r->state != SENDER_OPENING)
		return; /* it may come once more */
	r->state = SENDER_STREAMING;
	free_first(r);
	progress(r, now_ns);
}

/* One that follows ACCEPT is about one message, unless the scan is lost (rule 3). */
static void hear_refuse(struct rules *r, const unsigned char *p)
{
	note(r, (int32_t)get(p, 4), p + 8);
	if (r->state != SENDER_OPENING && r->books.code != ERR_STATE)
		return;
	r->books.refused = true;
	end(r);
}

static void hear_ack(struct rules *r, const unsigned char *p, int64_t now_ns)
{
	struct sender_books *b = &r->books;

	b->held = get(p, 8);
	b->durable = get(p + 8, 8);
	b->unprotected = get(p + 16, 8);
	b->log = (uint32_t)get(p + 24, 4);
	b->wrong += b->durable > b->held || b->held > r->last_sent;
	b->held_back += b->held < b->most_held;
	b->durable_back += b->durable < b->most_durable;
	if (b->held > b->most_held || b->durable > b->most_durable)
		progress(r, now_ns);
	b->most_held = b->held > b->most_held ? b->held : b->most_held;
	b->most_durable = b->durable > b->most_durable ? b->durable : b->most_durable;
	while (r->count > 0 && r->kept[0].seq <= b->durable &&
	       !(r->state == SENDER_CLOSING && r->count == 1)) /* CLOSE is kept until OUTCOME */
		free_first(r);
}

static void hear_outcome(struct rules *r, const unsigned char *p)
{
	struct sender_books *b = &r->books;

	note(r, (int32_t)get(p, 4), p + 56);
	b->undelivered = get(p + 4, 4);
	b->acquisitions = get(p + 8, 8);
	b->images = get(p + 16, 8);
	b->gaps = get(p + 24, 8);
	b->duplicates = get(p + 32, 8);
	b->rejected = get(p + 40, 8);
	end(r);
}

void rules_hear(struct rules *r, const unsigned char *msg, size_t len, int64_t now_ns)
{
	const unsigned char *payload = msg + RULES_ENVELOPE;
	unsigned kind;

	if (!is_good(msg, len))
		return;
	kind = (unsigned)get(msg + 6, 2);
	if (get(msg + 16, 8) != r->session || r->state == SENDER_IDLE || kind > SENDER_ANSWER)
		return;
	r->heard_ns = now_ns;
	r->books.heard[kind]++;
	if (r->state == SENDER_ENDED)
		return;
	if (kind == SENDER_HEARTBEAT && r->state == SENDER_OPENING)
		progress(r, now_ns);
	if (kind == SENDER_ACCEPT && len >= RULES_ENVELOPE + 392)
		hear_accept(r, payload, now_ns);
	if (kind == SENDER_REFUSE && len >= RULES_ENVELOPE + 392)
		hear_refuse(r, payload);
	if (kind == SENDER_ACK && len >= RULES_ENVELOPE + 32 && r->state != SENDER_OPENING)
		hear_ack(r, payload, now_ns);
	if (kind == SENDER_OUTCOME && len >= RULES_ENVELOPE + 440)
		hear_outcome(r, payload);
}

/* ---- what it sends ---- */

static bool is_on(const struct rules *r)
{
	return r->state != SENDER_IDLE && r->state != SENDER_ENDED;
}

static bool is_owed(const struct rules *r)
{
	return r->state == SENDER_OPENING || r->last_sent > r->books.durable;
}

/* The times of rule 6. */
static void watch(struct rules *r, int64_t now_ns)
{
	if (!is_owed(r)) {
		progress(r, now_ns);
	} else if (now_ns - r->progress_ns >= r->patience_ns) {
		r->cursor = 0;
		r->progress_ns = now_ns;
		r->patience_ns = r->patience_ns < PATIENCE_MAX ? 2 * r->patience_ns : PATIENCE_MAX;
	}
}

bool rules_next(struct rules *r, int64_t now_ns, const unsigned char **msg, size_t *len)
{
	if (!is_on(r))
		return false;
	watch(r, now_ns);
	if (r->cursor < r->count) {
		*msg = r->kept[r->cursor].bytes;
		*len = r->kept[r->cursor].len;
		return true;
	}
	if (now_ns - r->said_ns < QUIET)
		return false;
	seal(r, r->beat, sizeof(r->beat), SENDER_HEARTBEAT, 0, now_ns);
	*msg = r->beat;
	*len = sizeof(r->beat);
	return true;
}

void rules_sent(struct rules *r, int64_t now_ns)
{
	struct rules_kept *k = &r->kept[r->cursor];

	r->said_ns = now_ns;
	if (r->cursor == r->count)
		return; /* a heartbeat */
	r->books.sent++;
	r->books.again += k->was_sent;
	k->was_sent = true;
	r->last_sent = k->seq > r->last_sent ? k->seq : r->last_sent;
	r->cursor++;
}

int64_t rules_due(const struct rules *r)
{
	const int64_t quiet = r->said_ns + QUIET;
	const int64_t patience = r->progress_ns + r->patience_ns;

	if (!is_on(r))
		return INT64_MAX;
	return is_owed(r) && patience < quiet ? patience : quiet;
}

bool rules_is_lonely(const struct rules *r, int64_t now_ns)
{
	return is_on(r) && now_ns - r->heard_ns >= SILENCE;
}

void rules_connected(struct rules *r, int64_t now_ns)
{
	r->heard_ns = now_ns;
	r->cursor = 0;
}
