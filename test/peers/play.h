/*
 * test/peers/play.h - a whole scan of a sender that knows ipc/WIRE.md alone, at a scanner's pace
 *
 * Readouts on the grid (sender_readout), and CLOSE. Prints one line of what its sender was told,
 * the same that play.py prints, which plays the same scan with board/doc/sender.py:
 *
 *     peer: code C acquisitions N undelivered N held N durable N unprotected N back H D wrong W
 *
 * back: ACKs whose held, whose durable is less than in one before. wrong: ACKs with durable beyond
 * held, or held beyond what was sent.
 */
#ifndef BS_TEST_PEERS_PLAY_H
#define BS_TEST_PEERS_PLAY_H

#include "test/peers/sender.h"

struct play {
	const char *url, *protocol, *header; /* MRD's XML */
	uint64_t session;
	unsigned frames, lines, samples, channels, tr_us;
};

#define PLAY_SAMPLES  256u /* at most, of a readout */
#define PLAY_CHANNELS 8u

/* 0: its end came, whatever the code; 1: what it asks cannot be played. It waits for ever. */
int play_scan(const struct play *p);

#endif
