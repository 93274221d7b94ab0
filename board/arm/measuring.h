/*
 * board/arm/measuring.h - a protocol while it is timed: what measure.c and share.c have in common
 *
 * Its thread's alone. Test: test/unit/board/test_measure.c
 */
#ifndef BS_BOARD_ARM_MEASURING_H
#define BS_BOARD_ARM_MEASURING_H

#include "board/arm/measure.h"
#include "core/random.h"

/* The timings of one cost. */
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
	unsigned char *pixels; /* buffer of an image's message */
	/* path of trial, used where the protocol's path comes with the stream */
	struct bs_traj trial;
	uint16_t repetition;
	uint64_t images; /* number of images made so far */
	struct series add, finish, total, adds, calibration;
	bool whole;             /* frames have no deadline */
	bool anew;              /* each readout is filled with new noise */
	int64_t calibration_ns; /* time that calibration took within the current frame */
	struct bs_random random;
	struct bs_noise noise; /* unit covariance, for protocols that whiten */
};

/* The next functions are in measuring.c. */
/* Adds a timing of ns, which was taken between from_ns and now. */
void bs_measuring_note_ns(const struct measuring *m, struct series *s, int64_t from_ns, int64_t ns);
/* Adds a timing that lasted from from_ns until now, less less_ns. */
void bs_measuring_note(const struct measuring *m, struct series *s, int64_t from_ns,
		       int64_t less_ns);
void bs_measuring_sweep(struct measuring *m); /* empties the caches of the protocol's data */
/* Returns the trajectory that senders use; NULL: rows come from the counters alone. */
const struct bs_traj *bs_measuring_table(const struct measuring *m);
struct bs_mrd_acq bs_measuring_head(const struct measuring *m, uint32_t row);

/* The next function is in share.c. */
/* Times what the service itself does for an image: receiving a readout, waking, handing on. */
int bs_measure_share(struct measuring *m, struct bs_fail *why);

#endif
