/*
 * core/latency/admission.h - can a budget be met? Worst-case estimates from timings when armed
 *
 * Each cost on an image's way is timed under up to three conditions: warm (again and again), cold
 * (the caches were swept before) and loaded (beside other work on the GPU). A timing is disturbed
 * when canaries (core/thread/canary.h) were stalled for more than a twentieth of it: the machine,
 * not the work, took that time.
 * The estimate of one cost and condition:
 *   at least half of the timings undisturbed: the 99.9 % quantile of those (the largest, below
 *   1,000 of them) times 1 + margin;
 *   else the machine was too busy to measure on: the median of all times 1 + margin, and busy.
 * A cost's worst is that of its worst condition; an image's, the sum over the costs but for
 * calibration, which most images have none of. That sum is an estimate: it refuses what cannot
 * work, `boreside certify` proves what does.
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
	BS_COST_RECEIVE,     /* a readout: checksum, checks, the copy into its slot */
	BS_COST_WAKE,        /* ingest wakes recon, recon wakes emit */
	BS_COST_ADD,         /* the engine's add of the last readout */
	BS_COST_FINISH,      /* the engine's finish */
	BS_COST_HAND,        /* attributes and checksum of the image */
	BS_COST_CALIBRATION, /* of the images that calibrate alone: from synthetic lines */
	BS_COSTS
};
enum bs_condition { BS_CONDITION_WARM, BS_CONDITION_COLD, BS_CONDITION_LOADED, BS_CONDITIONS };

struct bs_timing {
	int64_t ns;
	bool disturbed;
};

/* n 0: not measured under this condition. */
struct bs_estimate {
	uint32_t n, disturbed;
	bool busy;
	int64_t p50_ns; /* of all */
	int64_t max_ns; /* of those that count */
	int64_t worst_ns;
};

struct bs_admission {
	bool measured;
	double margin;
	struct bs_estimate cost[BS_COSTS][BS_CONDITIONS];
	struct bs_estimate least; /* finish when its deadline has passed; on_miss shed alone */
	/* medians over whole frames, warm: the interval between readouts must leave them time */
	uint32_t frames;
	int64_t readout_ns; /* accumulating one readout: all adds of a frame over its readouts */
	int64_t frame_ns;   /* all of a frame's readouts and its images */
};

const char *bs_cost_name(enum bs_cost c);
const char *bs_condition_name(enum bs_condition c);

/* Sorts t. n 0: *e is zeros. */
void bs_estimate_make(struct bs_estimate *e, struct bs_timing *t, uint32_t n, double margin);

/* The machine was too busy to measure on, under some condition. */
bool bs_admission_busy(const struct bs_admission *a);
/* The cost under its worst condition. */
int64_t bs_admission_cost(const struct bs_admission *a, enum bs_cost c);
/* An image's worst latency. least: with the least that finish can do instead of all of it. */
int64_t bs_admission_worst(const struct bs_admission *a, bool least);

/*
 * The budgets against the estimate: 0, or BS_ERR_BUDGET with the numbers of each cost. A protocol
 * that sheds is held to the least that it can do. Calibration is held to calibration_ms; without
 * one an image and its calibration are to keep image_ms. 0 where nothing was measured or declared.
 */
int bs_admission_judge(const struct bs_admission *a, const struct bs_protocol *p,
		       struct bs_fail *why);
/*
 * A scan's header: do its readouts come more slowly than they are accumulated? The interval is the
 * protocol's frame.interval_ms, or where that is 0 the header's TR over its contrasts. 0 as well
 * when neither is known. Where several images follow each other, whole frames must keep up, too. By
 * medians without margin: what is refused could not keep up even on average. 0, too, where the
 * machine was busy: then they say nothing of the protocol.
 */
int bs_admission_rate(const struct bs_admission *a, const struct bs_protocol *p,
		      const struct bs_scan_info *info, struct bs_fail *why);

#endif
