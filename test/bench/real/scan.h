/*
 * test/bench/real/scan.h - a recording in memory, and scans of it through an armed protocol
 *
 * read -> { open -> { begin, frame* }* -> close }* -> free. Readouts lie in one block of whole
 * pages, as in the service's pool. A scan's lines of one frame are sent again as the frames that
 * follow; noise and calibration come once, before the first. One thread.
 */
#ifndef BS_TEST_BENCH_REAL_SCAN_H
#define BS_TEST_BENCH_REAL_SCAN_H

#include "board/arm/armed.h"

struct real_readout {
	struct bs_mrd_acq head;
	float *traj, *data; /* as recorded */
};

struct real_recording {
	struct bs_scan_info info;
	struct real_readout *readout;
	uint32_t count;
	float *block; /* of all samples and paths, in the order of the readouts */
	size_t bytes;
};

int real_read(struct real_recording *r, const char *path, struct bs_fail *why);
void real_free(struct real_recording *r);

/* A protocol armed as the service arms it, over a recording. */
struct real_armed {
	const struct real_recording *from;
	struct bs_site *site;
	struct bs_team *team;
	struct bs_armed armed;
	struct bs_scan_noise noise;
	uint32_t *row; /* [readout]; BS_ROW_NONE */
	struct bs_recon_image image;
	bool begun;
	uint32_t frames; /* of this scan */
};

/* block: env->pool of the engines; it was read with path's room behind each readout. */
int real_open(struct real_armed *a, const struct real_recording *r, const char *config,
	      const char *protocol, struct bs_team *team, struct bs_fail *why);
void real_close(struct real_armed *a);
int real_begin(struct real_armed *a, struct bs_fail *why);
/*
 * One frame, and its image in a->image. spent_ns: from its last readout handed in to the image
 * made; the readouts before have been read by then, and pause_ns have gone by.
 */
int real_frame(struct real_armed *a, int64_t pause_ns, int64_t *spent_ns, struct bs_fail *why);

#endif
