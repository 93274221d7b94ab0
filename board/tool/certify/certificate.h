/*
 * board/tool/certify/certificate.h - what certify found out about a protocol's budget: the numbers
 *
 * certify.c, archive.c and witness.c fill it in, verdict.c judges it, report.h writes it down.
 */
#ifndef BS_BOARD_TOOL_CERTIFY_CERTIFICATE_H
#define BS_BOARD_TOOL_CERTIFY_CERTIFICATE_H

#include <stdbool.h>

#include "board/tool/certify/floor.h"
#include "board/tool/certify/late.h"
#include "board/tool/certify/meter.h"
#include "board/tool/doctor/machine.h"
#include "core/latency/budget.h"
#include "core/tool/contract.h"
#include "core/protocol.h"
#include "ipc/sha256.h"

#define BS_CERTIFY_STAGES  24u /* of the service's own histograms */
#define BS_CERTIFY_THREADS 80u /* a team of 64 and the workers beside it */
#define BS_CERTIFY_RUNS    2u
#define BS_CERTIFY_WHY     8u  /* reasons of a verdict that are kept */
#define BS_CERTIFY_MISSES  20u /* of the service, that are kept with their times */

/* By verdict.h. Only kept is a success. */
enum bs_verdict { BS_VERDICT_BROKEN, BS_VERDICT_UNPROVEN, BS_VERDICT_KEPT };

/* The latencies of a run, of each image unless it says otherwise. */
enum bs_spread_of {
	BS_SPREAD_DUE,       /* last readout due to image handed on */
	BS_SPREAD_RECEIVED,  /* last readout received to image handed on */
	BS_SPREAD_QUIET,     /* the same less the time that a canary was stalled */
	BS_SPREAD_OWN,       /* received to handed on less the operators */
	BS_SPREAD_OWN_QUIET, /* the same less the time that a canary was stalled */
	BS_SPREAD_STAGE,     /* each stage, as the image's attributes tell it */
	BS_SPREAD_ARRIVAL = BS_SPREAD_STAGE + BS_BUDGET_STAGES, /* due to here, the archive */
	BS_SPREAD_IN,        /* last readout stamped, at its due time, to received */
	BS_SPREAD_WIRE,      /* last readout handed to the socket by the sender to received */
	BS_SPREAD_OUT,       /* image handed on to here */
	BS_SPREAD_TRANSPORT, /* both: handed to the socket to received, handed on to here */
	BS_SPREAD_SENT,      /* of each readout, how late the sender was; buckets of 1.6 % */
	BS_SPREAD_SLEPT,     /* of that, what it overslept by itself */
	BS_SPREADS
};

/* In the JSON and in the Markdown of a certificate. */
extern const struct bs_spread_name {
	const char *key, *words;
} bs_spread_names[BS_SPREADS];

struct bs_certify_run {
	double speed, seconds;
	struct bs_energy_span energy; /* of the GPUs; seconds 0: not known */
	uint64_t scans, faults;       /* scans whose outcome was no success */
	uint64_t readouts, taken;     /* that were sent; that the outcomes say were taken */
	uint64_t expected, made;      /* images that the recording makes; that the outcomes count */
	uint64_t outcome_late;        /* images that the outcomes call late */
	char fault[400];              /* of the first faulty scan */
	/* what the archive saw; partial, late, degraded: the service's own words */
	uint64_t arrived, partial, previews;
	uint64_t late, degraded, rung[BS_RUNGS]; /* degraded: for being in time, less was done */
	uint64_t calibrated;                     /* images that something was calibrated for */
	uint64_t stage_missed[BS_BUDGET_STAGES]; /* images with this stage over its own budget */
	uint64_t torn;     /* messages that were no image of this run, or lack what must be there */
	uint64_t repeated; /* images that came again */
	uint64_t disagreed; /* that say met and were handed on late, or the reverse */
	uint64_t raw;       /* misses: handed on later than the budget after the due time */
	uint64_t explained; /* of these: by canaries' stalls, with the sender's sleep or without */
	uint64_t overslept; /* by the sender alone, which woke late by itself (late.h) */
	uint32_t misses;
	struct bs_late miss[BS_CERTIFY_MISSES]; /* the first of the rest */
	struct bs_spread spread[BS_SPREADS];    /* n 0: not known */
	int64_t *latency; /* [spread[BS_SPREAD_DUE].n], sorted: for the chart */
};

struct bs_certify_stage {
	char name[16];
	double n, us[4]; /* p50, p99, p99.9, max */
};

#define BS_THREAD_COUNTS 3
extern const char *const bs_thread_counts[BS_THREAD_COUNTS]; /* as the status document names them */
struct bs_certify_thread {
	char name[16];
	double priority;
	double was[BS_THREAD_COUNTS], grown[BS_THREAD_COUNTS]; /* before the run; since then */
};

struct bs_certificate {
	struct bs_site site; /* as it was certified */
	const struct bs_protocol *p;
	char config_sha256[BS_SHA256_HEX]; /* of the site as `boreside check` prints it */
	char recording[512];
	uint32_t acquisitions;
	char pace[64];
	char made_at[32], engine[32], estimate[512], realtime[2048];
	char lapack[512]; /* as the status document names it */
	struct bs_machine machine;
	unsigned loads; /* load.h */
	bool alone;
	uint64_t cpu_passes, io_mib, io_syncs;
	uint64_t gpu_kernels; /* of the load */
	bool gpu_loaded;
	bool mps; /* kernels of two processes run side by side */
	struct {
		int cpu, priority; /* SCHED_FIFO; 0: none was granted */
		double wakes, stalls, p999_us, max_us;
	} canary[BS_CANARIES];
	uint32_t canaries, unwatched; /* on the processors that the service's threads may use */
	struct bs_meter_seen meter;
	struct bs_floor_seen floor; /* of all runs */
	bool throttled;    /* the kernel stops real-time threads that poll, canaries with them */
	double restarts;   /* of the service's workers, in the end; negative: not known */
	bool sender_rt;    /* this process has a real-time priority */
	char refused[400]; /* why the service did not take the protocol; "": it did */
	struct bs_certify_run run[BS_CERTIFY_RUNS];
	uint32_t runs;
	struct bs_certify_stage stage[BS_CERTIFY_STAGES]; /* of the first run */
	uint32_t stages;
	struct bs_certify_thread thread[BS_CERTIFY_THREADS];
	uint32_t threads;
	bool grown_from_start; /* a single scan: threads' counts are since the service was ready */
	double minutes;        /* of each run, as asked for */
	bool cut;              /* told to stop before that */
	enum bs_verdict verdict;
	char why[BS_CERTIFY_WHY][256]; /* of a verdict that is not kept */
	uint32_t whys;
};

/* Misses that neither canaries nor the sender explain. */
static inline uint64_t bs_certify_attributed(const struct bs_certify_run *r)
{
	return r->raw - r->explained - r->overslept;
}

#endif
