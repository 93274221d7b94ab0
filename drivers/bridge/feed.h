/*
 * drivers/bridge/feed.h - one scan on its way to the service: a sender and its socket
 *
 * open -> begin -> put* -> finish -> step until ended -> close. step carries messages both ways
 * and renews the connection (drivers/source/sender.h has the rules); it never waits. Call step when
 * one of the descriptors is ready, and at the latest at the time that due returns. One thread.
 * Test: test/replay/bridge/, test/unit/drivers/test_sender.c
 */
#ifndef BS_DRIVERS_BRIDGE_FEED_H
#define BS_DRIVERS_BRIDGE_FEED_H

#include "drivers/source/sender.h"
#include "ipc/endpoint.h"

struct bs_feed {
	struct bs_sender sender;
	struct bs_endpoint line;
	uint64_t connections;
	uint64_t heard_on; /* count of connections when the service last said something */
	int64_t renewed_ns;
	/* set after open: called for each answer to the scan's sender; NULL: none is wanted */
	void (*answered)(void *arg, const struct bs_answer *a);
	void *arg;
	bool full; /* the socket takes no more: wait for its send_fd */
	bool more; /* more messages wait than one step sends */
};

/* ring_bytes: bytes of messages that wait for the service, see sender.h. */
int bs_feed_open(struct bs_feed *f, const struct bs_site *site, size_t ring_bytes,
		 struct bs_fail *why);
void bs_feed_close(struct bs_feed *f);
/* Begins a scan, under a random session. */
int bs_feed_begin(struct bs_feed *f, const char *protocol, const char *xml, size_t len,
		  struct bs_fail *why);
int bs_feed_step(struct bs_feed *f, struct bs_fail *why);
int64_t bs_feed_due(const struct bs_feed *f);

#endif
