/*
 * board/arm/alone.h - whether a scan that several GPUs can share is faster on the first alone
 *
 * Key gpu.share, auto: a protocol is armed both ways once, and frames of noise go through both in
 * turns (board/arm/measure.h). It stays on the first GPU where its frames are faster there from the
 * last readout to the image, and not slower from the first one on, as surely as a variant of a
 * kernel is believed faster (gpu/device/tune.h); else it is shared out, as it is where frames take
 * so long that `seconds` are up before that is sure. What was found is kept in the cache, under a
 * key of all that it depends on, so that each start gives the same bytes; without a cache, or one
 * that cannot be written, nothing is measured, and the scan is shared out.
 * judge, parse and words: any thread, no GPU. Test: test/unit/board/test_alone.c
 */
#ifndef BS_BOARD_ARM_ALONE_H
#define BS_BOARD_ARM_ALONE_H

#include "gpu/device/tune.h"

#define BS_ALONE_SECONDS 2.0
#define BS_ALONE_KEY     400u

struct bs_armed;
struct bs_engine;
struct bs_protocol;

struct bs_alone {
	bool chosen;                /* the protocol stays on the first GPU */
	uint32_t gpus;              /* GPUs that could share a scan */
	double shared_ms, alone_ms; /* medians, last readout to image; 0: not measured */
};

/* Runs one frame. ms: [0] from the last readout to the image, [1] from the first readout. */
typedef int (*bs_alone_frame)(void *arg, bool alone, double ms[2], struct bs_fail *why);

/* Times frames shared and alone by turns. t: result for the cache; trial 0 is shared, trial 1
 * alone. Returns the errors of frame. */
int bs_alone_judge(struct bs_tuning *t, bs_alone_frame frame, void *arg, double seconds,
		   struct bs_fail *why);
struct bs_alone bs_alone_of(const struct bs_tuning *t, uint32_t gpus);

/* True if the protocol is to be measured shared and alone, or was. p: as the engine sees it. */
bool bs_alone_asked(const struct bs_engine *engine, const struct bs_protocol *p,
		    const char *cache_dir);
bool bs_alone_keeps(const char *cache_dir); /* true if measurements are kept in the cache */
/* Reads a measurement from the cache. False: the cache has none. */
bool bs_alone_known(struct bs_alone *s, const struct bs_armed *a, const char *cache_dir);
/* Measures a protocol that is armed on all GPUs and on the first; keeps the result in the cache. */
int bs_alone_measure(struct bs_alone *s, const struct bs_armed *shared,
		     const struct bs_armed *alone, const char *cache_dir, struct bs_fail *why);
/* Writes what bs_armed.place adds of the choice: " alone: 0.095 ms, 0.099 on 2". */
void bs_alone_words(char *words, size_t size, const struct bs_alone *s);

#endif
