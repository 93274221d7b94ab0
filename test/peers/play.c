/* test/peers/play.c - see play.h */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "test/peers/play.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static int64_t now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void print_books(const struct sender_books *b)
{
	printf("peer: code %" PRId32 " acquisitions %" PRIu64 " undelivered %" PRIu64
	       " held %" PRIu64 " durable %" PRIu64 " unprotected %" PRIu64 " back %" PRIu64
	       " %" PRIu64 " wrong %" PRIu64 "\n",
	       b->code, b->acquisitions, b->undelivered, b->held, b->durable, b->unprotected,
	       b->held_back, b->durable_back, b->wrong);
	printf("%s, %" PRIu64 " sent, %" PRIu64 " of them again, %" PRIu64 " sockets: %s\n",
	       b->refused ? "refused" : "outcome", b->sent, b->again, b->sockets + 1, b->text);
}

int play_scan(const struct play *p)
{
	static unsigned char payload[SENDER_ACQ_BYTES(PLAY_SAMPLES, PLAY_CHANNELS)];
	const unsigned all = p->frames * p->lines;
	struct sender s;
	unsigned made = 0;
	int64_t due = 0; /* of the next readout, us; 0: the first is not due yet */

	if (p->samples > PLAY_SAMPLES || p->channels > PLAY_CHANNELS || !sender_open(&s, p->url))
		return 1;
	sender_begin(&s, p->session, p->protocol, p->header);
	for (; s.rules.state != SENDER_ENDED; (void)sender_step(&s, 1)) {
		if (s.rules.state != SENDER_STREAMING)
			continue;
		due = due > 0 ? due : now_us();
		for (; made < all && now_us() >= due; made++, due += p->tr_us)
			if (!sender_put(&s, SENDER_ACQ, payload,
					sender_readout(payload, p->samples, p->channels,
						       made % p->lines, made / p->lines)))
				break;
		if (made == all)
			(void)sender_finish(&s);
	}
	print_books(&s.rules.books);
	sender_close(&s);
	return 0;
}
