/*
 * board/arm/measure.h - an armed protocol timed on this machine, for core/latency/admission.h
 *
 * Frames of synthetic readouts (their path, where it comes with the stream: golden-angle spokes) go
 * through the protocol's own reconstruction (bs_recon_*): with warm caches, then with the caches
 * emptied before the last readout (a buffer larger than the last level is written), then, where the
 * engine is CUDA's, beside a load on the GPU (gpu/device/load.h). The service's own share is timed
 * with its own functions: decoding, admission and the copy of a
 * readout, two wake-ups through an eventfd, attributes and checksum of an image. A condition takes
 * about `seconds`, at least two frames and at most BS_MEASURE_MAX. A protocol that calibrates from
 * its scans does so first, with lines of noise, no two alike, as often: its images are timed after.
 * A protocol that does less when it is late (budget.on_miss shed) is timed under its deadline, and
 * once more doing the least that it may, with the deadline passed.
 * Before the first scan, from the thread that owns the reconstruction; allocates and frees.
 * Test: test/unit/board/test_measure.c
 */
#ifndef BS_BOARD_ARM_MEASURE_H
#define BS_BOARD_ARM_MEASURE_H

#include <stdio.h>

#include "board/arm/armed.h"
#include "core/latency/admission.h"
#include "core/thread/canary.h"

#define BS_MEASURE_MAX     256u /* most timings of one cost in one condition */
#define BS_MEASURE_SECONDS 0.3

struct bs_measure_env {
	float *samples; /* where readouts lie: a slot of the pool; NULL: own */
	float *image;   /* where images go: bs_protocol_leaving_bytes; NULL: own */
	/*
	 * Canaries that run meanwhile: a timing counts as disturbed when they were stalled for more
	 * than a twentieth of it. 0 canaries: no timing does.
	 */
	const struct bs_canary *canary;
	uint32_t canaries;
	double seconds;
	void (*beat)(void *arg); /* called after each frame; NULL: not called */
	void *arg;
};

/* Returns 0, BS_ERR_NOMEM, or the engine's error. */
int bs_measure(struct bs_admission *out, const struct bs_armed *a, const struct bs_measure_env *env,
	       struct bs_fail *why);
/*
 * Times frames one by one, for a caller who compares: open -> frame* -> close, also after an error.
 * frame has no deadline. ns: [0] last readout to image, [1] first readout to image. close takes
 * NULL.
 */
struct measuring;
int bs_measure_open(struct measuring **m, const struct bs_armed *a,
		    const struct bs_measure_env *env, struct bs_fail *why);
int bs_measure_frame(struct measuring *m, int64_t ns[2], struct bs_fail *why);
void bs_measure_close(struct measuring *m);
/* Whether a protocol's budget asks for a measurement. */
static inline bool bs_measure_wanted(const struct bs_protocol *p)
{
	return (p->image_ms > 0.0 || p->stage_ms[BS_BUDGET_CALIBRATION] > 0.0) &&
	       p->admission == BS_ADMIT_MEASURE;
}
/* Prints a line for each cost and condition, and the sums; each line begins with prefix. */
void bs_measure_print(FILE *to, const struct bs_admission *a, const struct bs_protocol *p,
		      const char *prefix);

#endif
