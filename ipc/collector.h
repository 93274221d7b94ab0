/*
 * ipc/collector.h - a taker that asks the service for its images, one after the other (ipc/WIRE.md)
 *
 * open -> { take -> release }* -> close. The caller connects the socket (BS_ENDPOINT_IMAGES_ASK).
 * take asks for the image that follows the last one, and never waits: call it when the socket is
 * readable, and at the latest at the time that due gives. A release that keeps the image says that
 * it is safe here, and the next question tells the service so; without that, the same image comes
 * again. One thread.
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
	const char *name; /* name that the service knows this taker by */
	/*
	 * what to do with unreadable images; true: they are skipped and counted as missed; false:
	 * they are errors
	 */
	bool skips;
	const unsigned char *msg; /* current image message, valid until release */
	uint64_t hand;            /* number of the image in hand */
	uint64_t has;             /* number of the last image that was kept */
	/* number whose followers the service must keep, where it is below has */
	uint64_t needs;
	/*
	 * the question is for what follows number after in this scan; session 0: for what follows
	 * has in any scan
	 */
	uint64_t session, after;
	uint64_t missed;  /* number of images that the service did not have any more */
	uint64_t counted; /* number of the first image after the last gap */
	int64_t asked_ns; /* time of the question that is out; 0: none is */
	int64_t next_ns;  /* time of the next question */
	/* time of the last question, for any scan, that was answered with "nothing follows" */
	int64_t none_ns;
	bool none;      /* the last answer was "nothing follows" */
	char said[384]; /* why there was no image the last time */
};

/* The parts of an image message. */
struct bs_asked {
	uint64_t session, number; /* number of the scan, and of the image in the scan */
	int64_t handed_ns;        /* time of handing over, by the service's clock */
	struct bs_mrd_image head;
	const char *attributes; /* text of the attributes, not NUL-terminated */
	size_t attributes_len;
	const unsigned char *pixels; /* pixels at any address, perhaps not aligned */
	size_t pixels_len;
};

/* Finds the parts of an IMAGE message; *out points into msg. */
int bs_asked_open(struct bs_asked *out, const unsigned char *msg, size_t len, struct bs_fail *why);

/* Starts a collector. has: the number of the last image that this taker has; 0: none. */
void bs_collector_open(struct bs_collector *a, const char *name, uint64_t has);
/*
 * Returns 1: an image is in *out, valid until release. 0: none now. Negative: the socket cannot be
 * used.
 */
int bs_collector_take(struct bs_collector *a, struct bs_asked *out, int64_t now_ns,
		      struct bs_fail *why);
void bs_collector_release(struct bs_collector *a, bool keep);
/*
 * Sets the next question; call it while none is out. The question is for what follows number
 * `after` in this scan alone, and does not change has (after goes on instead). session 0: for what
 * follows has, as usual.
 */
void bs_collector_about(struct bs_collector *a, uint64_t session, uint64_t after);
/*
 * Releases the image in hand without keeping it; it is asked for again after a while. why: the
 * reason.
 */
void bs_collector_later(struct bs_collector *a, int64_t now_ns, const struct bs_fail *why);
static inline int64_t bs_collector_due(const struct bs_collector *a)
{
	return a->next_ns;
}
void bs_collector_close(struct bs_collector *a);

#endif
