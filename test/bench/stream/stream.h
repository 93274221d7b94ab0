/*
 * test/bench/stream/stream.h - readouts at a pace to one of the services that a bench compares, and
 * the times of the images that come back
 *
 * Latency is that of each image: "service" from the last readout received to the image handed on,
 * by the service's own stamps; "outside" from that readout about to be handed to the sender's
 * socket to the image in the archive's hands. One scan at a time; stream_play has a second thread.
 */
#ifndef BS_TEST_BENCH_STREAM_H
#define BS_TEST_BENCH_STREAM_H

#include "test/bench/stream/times.h"
#include "test/support/service.h"

#define BS_STREAM_READOUTS 34u
#define BS_STREAM_PAYLOAD  (BS_MRD_ACQ_BYTES + 8u * 512u * 8u) /* at most 8 coils of 512 samples */
#define BS_STREAM_IMAGE    ((size_t)20 << 20)                  /* of 128^3, complex */

/* A service, who sends to it and who takes its images. */
struct side {
	struct service service;
	struct peer p;
	struct bs_endpoint archive;
	struct times service_us, outside_us; /* of all blocks */
	unsigned previews;                   /* that came */
	unsigned held_up;                    /* the window was full so often */
	uint64_t unprotected;
};

/* What is sent, and how it is reconstructed. */
struct stream {
	const char *protocol; /* its name in the site file */
	char backend[8];
	const char *method;                              /* gridding, or ls */
	bool deep;                                       /* spokes in 3D, a volume of matrix^3 */
	unsigned matrix, coils, samples, readouts, rate; /* rate: frames a second */
	unsigned iterations, preview;                    /* of ls; every so many readouts, or 0 */
	bool prepared;                                   /* noise first; whitened, to 4 coils */
};

/* Of each message of a window, when its being held was first heard of. */
struct books {
	int64_t held_ns[16384];
	uint64_t held, durable;
	struct times lag_us;
};

/* Of the site file: a group of `protocols`. */
void stream_protocol(char *out, size_t cap, const struct stream *t);
/* Once, for scans of at most so many frames. */
bool stream_room(unsigned frames);
void stream_free(void);
/* One scan of n frames to its protocol; its images are taken, and count or do not; b: books of
 * the sender's, or NULL. False, said on stdout: not all images came, or not well. */
bool stream_play(struct side *s, const struct stream *t, unsigned n, bool counts, struct books *b);

#endif
