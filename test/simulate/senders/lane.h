/*
 * test/simulate/senders/lane.h - one scan after the other over one link, as a sender puts it
 * through
 */
#ifndef BS_TEST_SIMULATE_SENDERS_LANE_H
#define BS_TEST_SIMULATE_SENDERS_LANE_H

#include "test/simulate/books.h"
#include "test/simulate/senders/peer.h"

struct lane {
	struct peer peer;
	struct book *book; /* NULL: no scan */
	unsigned link;
	uint64_t to_make; /* messages of this scan that are still to be made, without CLOSE */
	int64_t next_ns;
	int64_t full_until_ns; /* nothing can be sent before then */
	int64_t begun_ns;      /* its scan */
	int64_t told_ns;       /* something of its scan, or that began */
	int64_t fair_ns;       /* since then nothing hindered it from being told something */
	bool ended;            /* its last scan has come to its end, */
	bool well;             /* with code 0 */
};

void lane_reset(struct lane *l, unsigned link, bool plain);
/* Their scans' header, with its zero. asks: for answers. Returns its bytes. */
#define LANE_HEADER 1024u
size_t lane_header(unsigned char out[LANE_HEADER], bool asks);
/* Does a scan that begins ask for answers? */
bool lane_asks(void);
/* Flags of a readout that is good: one that the site answers, now and then. */
uint64_t lane_flags(void);
/* A scan of so many messages without CLOSE. */
void lane_begin(struct lane *l, uint64_t messages);
/* One message is made, often as it should be. False: it has to wait. */
bool lane_make(struct lane *l, bool calm);
bool lane_send(struct lane *l);
void lane_hear(struct lane *l, const unsigned char *msg, size_t len);
void lane_drop(struct lane *l);
/* It has heard nothing for so long that it gives up. */
bool lane_gives_up(struct lane *l);
void lane_reconnected(struct lane *l);
/* When it has something to do. */
int64_t lane_due(const struct lane *l);
/* hindered: it cannot hear now. Who reads is told something, whatever others do. */
void lane_judge(struct lane *l, bool hindered);

static inline bool lane_is_idle(const struct lane *l)
{
	return peer_is_idle(&l->peer);
}

#endif
