/*
 * ipc/collector.h - whoever asks the service for its images, one after the other (ipc/WIRE.md)
 *
 * open -> { take -> release }* -> close. The caller connects the socket (BS_ENDPOINT_IMAGES_ASK).
 * take asks for what follows the last image, and never waits: call it when the socket is readable
 * and at the latest when due says. A release that keeps the image says that it is safe here: the
 * next question tells the service so; without that the same image comes again. One thread.
 * Tests: test/replay/asks.sh, test/replay/bridge/, test/fault/fault_receive.c
 */
#ifndef BS_IPC_COLLECTOR_H
#define BS_IPC_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/mrd.h"
#include "ipc/endpoint.h"

struct bs_collector {
	struct bs_endpoint socket;
	const char *name;         /* that the service knows this taker by */
	bool skips;               /* an image that cannot be read is passed over, and missed */
	const unsigned char *msg; /* in hand until release */
	uint64_t hand;            /* number of the image in hand */
	uint64_t has;             /* number of the last image that was kept */
	uint64_t needs;           /* the service must keep what follows this number, if below has */
	uint64_t session, after; /* the question is for what follows in this scan; 0: in any, has */
	uint64_t missed;         /* gaps: images that were not there any more */
	uint64_t counted;        /* number of the image behind the last gap */
	int64_t asked_ns;        /* the question that is out; 0: none is */
	int64_t next_ns;         /* the next one */
	int64_t none_ns; /* when the last question was asked that nothing followed, of any */
	bool none;       /* the last answer was that nothing follows */
	char said[384];  /* why there was no image, the last time */
};

/* An image message, taken apart. */
struct bs_asked {
	uint64_t session, number; /* the scan's, and the image's in the scan */
	int64_t handed_ns;        /* by the service's clock */
	struct bs_mrd_image head;
	const char *attributes; /* not NUL-terminated */
	size_t attributes_len;
	const unsigned char *pixels; /* perhaps unaligned */
	size_t pixels_len;
};

/* Of an IMAGE message; what *out points to lies in msg. */
int bs_asked_open(struct bs_asked *out, const unsigned char *msg, size_t len, struct bs_fail *why);

/* has: the number of the last image that this taker has; 0: none. */
void bs_collector_open(struct bs_collector *a, const char *name, uint64_t has);
/* 1: *out, until release. 0: not now. Negative: the socket cannot be used. */
int bs_collector_take(struct bs_collector *a, struct bs_asked *out, int64_t now_ns,
		      struct bs_fail *why);
void bs_collector_release(struct bs_collector *a, bool keep);
/*
 * The next question, while none is out: what follows number `after` in this scan alone, which does
 * not touch has (after goes on instead); session 0: what follows has, as usual.
 */
void bs_collector_about(struct bs_collector *a, uint64_t session, uint64_t after);
/* The image in hand, released without being kept, is asked for again after a while, for why. */
void bs_collector_later(struct bs_collector *a, int64_t now_ns, const struct bs_fail *why);
static inline int64_t bs_collector_due(const struct bs_collector *a)
{
	return a->next_ns;
}
void bs_collector_close(struct bs_collector *a);

#endif
