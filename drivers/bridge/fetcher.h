/*
 * drivers/bridge/fetcher.h - the service's images, one after the other, by number (ipc/WIRE.md)
 *
 * open -> { take -> release }* -> close. take asks for what follows the last image, and never
 * waits: call it when fd is readable and at the latest when due says. An image that was taken is
 * safe here: the next question says so. One thread.
 */
#ifndef BS_DRIVERS_BRIDGE_FETCHER_H
#define BS_DRIVERS_BRIDGE_FETCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/mrd.h"
#include "ipc/endpoint.h"

struct bs_fetcher {
	struct bs_endpoint socket;
	const char *name;         /* that the service knows this taker by */
	const unsigned char *msg; /* in hand until release */
	uint64_t has;             /* the number of the last image that was taken */
	uint64_t missed;          /* gaps: images that were not there any more */
	int64_t asked_ns;         /* the question that is out; 0: none is */
	int64_t next_ns;          /* the next one */
	int64_t none_ns;          /* when the last question was asked that nothing followed */
	char said[384];           /* why it was refused, the last time */
};

struct bs_asked {
	uint64_t session, number; /* the scan's, and the image's in the scan */
	struct bs_mrd_image head;
	const char *attributes; /* not NUL-terminated */
	size_t attributes_len;
	const unsigned char *pixels; /* perhaps unaligned */
	size_t pixels_len;
};

/* message_max: bytes of the largest image, with its attributes. */
int bs_fetcher_open(struct bs_fetcher *a, const struct bs_site *site, const char *name,
		    size_t message_max, struct bs_fail *why);
/* 1: *out, until release. 0: not now. Negative: the socket cannot be used. */
int bs_fetcher_take(struct bs_fetcher *a, struct bs_asked *out, int64_t now_ns,
		    struct bs_fail *why);
void bs_fetcher_release(struct bs_fetcher *a);
int64_t bs_fetcher_due(const struct bs_fetcher *a);
void bs_fetcher_close(struct bs_fetcher *a);

#endif
