/*
 * board/tool/command/recorder.h - the service's side of ipc/WIRE.md for `boreside record`: scans go
 * to their logs, without a reconstruction
 *
 * open -> { take | tick }* -> close. take is given each message; tick is called after a batch of
 * messages, and at the latest when due says; say, the caller's function, sends the answers. Every
 * message of a scan goes to the log once, as it came; ACCEPT and ACK cover only what is on the
 * disk. A disk that fails once costs another segment; if it fails again the scan is ended, and
 * whatever was acknowledged is in the log. The order of numbers (board/ingest/order.h), the
 * decoders and the log are the same code as the service's; the service's own receiving
 * (board/ingest/receive.c, scan.c) is about slots of the pool and the reconstruction.
 * No socket and no clock in here: times are arguments (bs_now_ns). Allocates in open, and expat
 * while a header is read. One thread.
 * Tests: test/unit/board/tool/test_recorder.c, test/fault/fault_record.c
 */
#ifndef BS_BOARD_TOOL_COMMAND_RECORDER_H
#define BS_BOARD_TOOL_COMMAND_RECORDER_H

#include "board/ingest/order.h"
#include "drivers/log/writer.h"
#include "ipc/wire/wire.h"

struct bs_recorder_options {
	const char *dir; /* folder of the logs, which exists */
	size_t message_max;
	uint64_t segment_bytes;
	int64_t silence_ns, heartbeat_ns;
	/* Sends a message to a peer. False: it could not be sent; the caller tries again. */
	bool (*say)(void *arg, uint64_t peer, const unsigned char envelope[BS_WIRE_BYTES],
		    const void *payload, size_t len);
	bool (*here)(void *arg, uint64_t peer);     /* true if the peer is connected */
	void (*news)(void *arg, const char *words); /* prints a line for people */
	void *arg;
};

struct bs_recorder {
	struct bs_recorder_options o;
	struct bs_log_writer log;
	unsigned char *buffer;
	size_t cap;
	bool scanning;
	uint64_t session;
	uint64_t from, peer; /* peers: the current message's, the scan's (or the last scan's) */
	struct bs_order order;
	struct bs_wire_outcome count; /* counts of the scan; after its end its outcome */
	uint64_t acqs;                /* ACQ messages in the order of numbers, used or not */
	int64_t heard_ns, said_ns, ack_time_ns;
	/* answers that are due once all waiting messages are on the disk */
	bool accept_due, ack_due, close_due;
	/* session and peer of the scan that ended last */
	uint64_t ended, ended_peer;
	bool outcome_due;
};

int bs_recorder_open(struct bs_recorder *r, const struct bs_recorder_options *o,
		     struct bs_fail *why);
/* Takes a message. peer: its sender, a number not 0 that no other peer will ever have. */
void bs_recorder_take(struct bs_recorder *r, uint64_t peer, const unsigned char *msg, size_t len,
		      int64_t now_ns);
void bs_recorder_tick(struct bs_recorder *r, int64_t now_ns);
/* Returns the time at which tick has work to do although no message came. */
int64_t bs_recorder_due(const struct bs_recorder *r, int64_t now_ns);
/* Ends a running scan with what came. */
void bs_recorder_stop(struct bs_recorder *r);
void bs_recorder_close(struct bs_recorder *r);

#endif
