/*
 * core/latency/admission.h - can a budget be met? Worst-case estimates from timings at arm
 *
 * Each cost of an image is timed under up to three conditions: warm (again and again), cold (the
 * caches were swept before) and loaded (beside other work on the GPU). A timing is disturbed when
 * canaries (core/thread/canary.h) were stalled for more than a twentieth of it: the machine, not
 * the work, took that time.
 * The estimate of one cost under one condition:
 *   where at least half of the timings are undisturbed: the 99.9 % quantile of these (the largest,
 *   below 1,000 of them) times 1 + margin;
 *   else the machine was too busy to measure on: the median of all timings times 1 + margin, marked
 *   busy.
 * The worst of a cost is its estimate under its worst condition; the worst of an image is the sum
 * over all costs but calibration, which most images have none of. That sum is an estimate: it
 * refuses what cannot work; `boreside certify` proves what does. A site's step adds its declared
 * budget, which it cannot exceed.
 * Pure functions of their arguments: no clock, no allocation. Test: test/unit/core/test_admission.c
 */
#ifndef BS_CORE_LATENCY_ADMISSION_H
#define BS_CORE_LATENCY_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"

enum bs_cost {
	/* cost of receiving one readout: checksum, checks, the copy into its slot */
	BS_COST_RECEIVE,
	BS_COST_WAKE,   /* cost of waking: ingest wakes recon, recon wakes emit */
	BS_COST_ADD,    /* cost of the engine's add of the last readout */
	BS_COST_FINISH, /* cost of making the image in the engine */
	BS_COST_HAND,   /* cost of writing the image's attributes and checksum */
	/* cost of calibration in images that calibrate; timed with synthetic lines */
	BS_COST_CALIBRATION,
	BS_COSTS
};
enum bs_condition { BS_CONDITION_WARM, BS_CONDITION_COLD, BS_CONDITION_LOADED, BS_CONDITIONS };

struct bs_timing {
	int64_t ns;
	bool disturbed;
};

/* The estimate of one cost under one condition; n 0: it was not measured. */
struct bs_estimate {
	uint32_t n, disturbed;
	bool busy;
	int64_t p50_ns; /* median of all timings */
	int64_t max_ns; /* largest of the timings that count */
	int64_t worst_ns;
};

struct bs_admission {
	bool measured;
	double margin;
	struct bs_estimate cost[BS_COSTS][BS_CONDITIONS];
	/* cost of making an image whose deadline has passed; with on_miss shed alone */
	struct bs_estimate least;
	/* Medians over whole frames, warm: readouts must not come faster than this. */
	uint32_t frames;
	/* time to accumulate one readout: all adds of a frame over its readouts */
	int64_t readout_ns;
	int64_t frame_ns; /* time for all of a frame's readouts and its images */
};

const char *bs_cost_name(enum bs_cost c);
const char *bs_condition_name(enum bs_condition c);

/* Makes an estimate from n timings, and sorts them. n 0: *e becomes zeros. */
void bs_estimate_make(struct bs_estimate *e, struct bs_timing *t, uint32_t n, double margin);

/* The machine was too busy to measure on, under some condition. */
bool bs_admission_busy(const struct bs_admission *a);
/* Returns the estimate in ns of a cost under its worst condition. */
int64_t bs_admission_cost(const struct bs_admission *a, enum bs_cost c);
/*
 * An image's worst latency. least: with the least that making an image may cost, in place of the
 * full cost.
 */
int64_t bs_admission_worst(const struct bs_admission *a, bool least);

/*
 * Compares the budgets with the estimate: 0, or BS_ERR_BUDGET with the numbers of each cost. A
 * protocol that sheds is judged by the least that it can do. Calibration is judged by
 * calibration_ms; without that, an image and its calibration together must keep image_ms. 0 where
 * nothing was measured or no budget is declared.
 */
int bs_admission_judge(const struct bs_admission *a, const struct bs_protocol *p,
		       struct bs_fail *why);
/*
 * Do a scan's readouts come more slowly than they are accumulated? The interval is the protocol's
 * frame.interval_ms, or, where that is 0, the header's TR over its contrasts. Returns 0 as well
 * when neither is known. Where several images follow each other, whole frames must keep up, too.
 * Medians are compared without margin: a refused scan could not keep up even on average. Returns 0,
 * too, where the machine was busy: the medians then say nothing of the protocol.
 */
int bs_admission_rate(const struct bs_admission *a, const struct bs_protocol *p,
		      const struct bs_scan_info *info, struct bs_fail *why);

#endif
