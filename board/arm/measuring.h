/*
 * board/arm/measuring.h - a protocol while it is timed: what measure.c and share.c have in common
 *
 * Its thread's alone. Test: test/unit/board/test_measure.c
 */
#ifndef BS_BOARD_ARM_MEASURING_H
#define BS_BOARD_ARM_MEASURING_H

#include "board/arm/measure.h"
#include "core/random.h"

/* Timings of one cost. */
struct series {
	struct bs_timing at[BS_MEASURE_MAX];
	uint32_t n;
};

struct measuring {
	struct bs_admission *out;
	const struct bs_armed *a;
	const struct bs_protocol *p;
	const struct bs_measure_env *env;
	float *samples, *image;
	float *own_samples, *own_image;
	unsigned char *message; /* a readout as it comes: envelope, header, trajectory, samples */
	size_t message_len;
	unsigned char *sweep;
	size_t sweep_len;
	unsigned char *pixels; /* an image's message */
	struct bs_traj trial;  /* where the protocol's path comes with the stream */
	uint16_t repetition;
	uint64_t images; /* made so far */
	struct series add, finish, total, adds, calibration;
	bool whole;             /* under no deadline */
	bool anew;              /* each readout is noise of its own */
	int64_t calibration_ns; /* of the frame so far */
	struct bs_random random;
	struct bs_noise noise; /* white, for protocols that whiten */
};

/* measuring.c */
/* A timing of ns, of something between from_ns and now. */
void bs_measuring_note_ns(const struct measuring *m, struct series *s, int64_t from_ns, int64_t ns);
/* From from_ns until now, less less_ns. */
void bs_measuring_note(const struct measuring *m, struct series *s, int64_t from_ns,
		       int64_t less_ns);
void bs_measuring_sweep(struct measuring *m); /* the caches hold nothing of the protocol's */
/* As senders have it; NULL: rows come from the counters alone. */
const struct bs_traj *bs_measuring_table(const struct measuring *m);
struct bs_mrd_acq bs_measuring_head(const struct measuring *m, uint32_t row);

/* share.c */
/* What the service itself does for an image: receiving a readout, waking, handing on. */
int bs_measure_share(struct measuring *m, struct bs_fail *why);

#endif
