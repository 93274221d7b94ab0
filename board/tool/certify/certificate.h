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

#define BS_CERTIFY_STAGES  24u /* most stages kept of the service's own histograms */
#define BS_CERTIFY_THREADS 80u /* most threads: a team of 64 and the workers beside it */
#define BS_CERTIFY_RUNS    2u
#define BS_CERTIFY_WHY     8u  /* most reasons kept of a verdict */
#define BS_CERTIFY_MISSES  20u /* most misses of the service that are kept with their times */

/* Verdicts, as defined in verdict.h. Only kept is a success. */
enum bs_verdict { BS_VERDICT_BROKEN, BS_VERDICT_UNPROVEN, BS_VERDICT_KEPT };

/* Kinds of latency, each one of an image unless its line says otherwise. */
enum bs_spread_of {
	BS_SPREAD_DUE,      /* latency from last readout due to image handed on */
	BS_SPREAD_RECEIVED, /* latency from last readout received to image handed on */
	/* latency from last readout received to image handed on, less the time
	 * of canaries' stalls */
	BS_SPREAD_QUIET,
	/* latency from last readout received to image handed on, less the operators */
	BS_SPREAD_OWN,
	BS_SPREAD_OWN_QUIET, /* BS_SPREAD_OWN less the time of canaries' stalls */
	BS_SPREAD_STAGE,     /* time of each stage, as the image's attributes tell it */
	/* latency from last readout due to image received by the archive */
	BS_SPREAD_ARRIVAL = BS_SPREAD_STAGE + BS_BUDGET_STAGES,
	BS_SPREAD_IN, /* time from last readout stamped, at its due time, to received */
	/* time from last readout handed to the socket by the sender to received */
	BS_SPREAD_WIRE,
	BS_SPREAD_OUT,       /* time from image handed on to image received by the archive */
	BS_SPREAD_TRANSPORT, /* sum of BS_SPREAD_WIRE and BS_SPREAD_OUT */
	BS_SPREAD_SENT,      /* lateness of the sender at each readout; buckets of 1.6 % */
	BS_SPREAD_SLEPT,     /* part of BS_SPREAD_SENT that the sender overslept by itself */
	BS_SPREADS
};

/* names of the latencies in a certificate's JSON and Markdown */
extern const struct bs_spread_name {
	const char *key, *words;
} bs_spread_names[BS_SPREADS];

struct bs_certify_run {
	double speed, seconds;
	struct bs_energy_span energy; /* energy of the GPUs; seconds 0: not known */
	uint64_t scans, faults;       /* scans whose outcome was no success */
	uint64_t readouts, taken;     /* readouts sent, and readouts taken as outcomes say */
	/* images that the recording makes, and images that outcomes count */
	uint64_t expected, made;
	uint64_t outcome_late; /* images that the outcomes call late */
	char fault[400];       /* first faulty scan's outcome */
	/* The archive's counts of images; partial, late and degraded are the
	 * service's own words. */
	uint64_t arrived, partial, previews;
	/* degraded: images for which less was done so as to be in time */
	uint64_t late, degraded, rung[BS_RUNGS];
	uint64_t bypassed;   /* images that left without their protocol's step */
	uint64_t calibrated; /* images that something was calibrated for */
	uint64_t stage_missed[BS_BUDGET_STAGES]; /* images with this stage over its own budget */
	/* messages that were no image of this run, or lack a required attribute */
	uint64_t torn;
	uint64_t repeated; /* images that came again */
	/* images that claim a met budget and were handed on late, or the reverse */
	uint64_t disagreed;
	uint64_t raw; /* misses: handed on later than the budget after the due time */
	/* misses that canaries' stalls explain, with the sender's sleep or without */
	uint64_t explained;
	/* misses that the sender alone explains, which woke late by itself (late.h) */
	uint64_t overslept;
	uint32_t misses;
	struct bs_late miss[BS_CERTIFY_MISSES]; /* times of the first unexplained misses */
	struct bs_spread spread[BS_SPREADS];    /* latencies; n 0: not known */
	int64_t *latency; /* [spread[BS_SPREAD_DUE].n] latencies, sorted, for the chart */
};

struct bs_certify_stage {
	char name[16];
	double n, us[4]; /* number of values; p50, p99, p99.9 and maximum in us */
};

#define BS_THREAD_COUNTS 3
/* names of the counts, as in the status document */
extern const char *const bs_thread_counts[BS_THREAD_COUNTS];
struct bs_certify_thread {
	char name[16];
	double priority;
	/* count before the run, and its growth since */
	double was[BS_THREAD_COUNTS], grown[BS_THREAD_COUNTS];
};

struct bs_certificate {
	struct bs_site site; /* site that was certified */
	const struct bs_protocol *p;
	char config_sha256[BS_SHA256_HEX]; /* SHA-256 of the site as `boreside check` prints it */
	char recording[512];
	uint32_t acquisitions;
	char pace[64];
	char made_at[32], engine[32], estimate[512], realtime[2048];
	char lapack[512]; /* LAPACK's name, as in the status document */
	struct bs_machine machine;
	unsigned loads; /* loads beside the trial, bits of load.h */
	bool alone;
	uint64_t cpu_passes, io_mib, io_syncs;
	uint64_t gpu_kernels; /* number of kernels that the load ran */
	bool gpu_loaded;
	bool mps; /* kernels of two processes run side by side */
	struct {
		int cpu, priority; /* SCHED_FIFO priority of the canaries; 0: none was granted */
		double wakes, stalls, p999_us, max_us;
	} canary[BS_CANARIES];
	/* canaries on the service's processors, and processors without one */
	uint32_t canaries, unwatched;
	struct bs_meter_seen meter;
	struct bs_floor_seen floor; /* floor that was seen over all runs */
	bool throttled;    /* the kernel stops real-time threads that poll, canaries with them */
	double restarts;   /* restarts of the service's workers by the end; negative: not known */
	bool sender_rt;    /* this process has a real-time priority */
	char refused[400]; /* why the service refused the protocol; "": it took it */
	struct bs_certify_run run[BS_CERTIFY_RUNS];
	uint32_t runs;
	struct bs_certify_stage stage[BS_CERTIFY_STAGES]; /* stages of the first run */
	uint32_t stages;
	struct bs_certify_thread thread[BS_CERTIFY_THREADS];
	uint32_t threads;
	/* only one scan was sent: threads' counts are since the service was ready */
	bool grown_from_start;
	double minutes; /* duration asked for of each run */
	bool cut;       /* the trial was told to stop before that */
	enum bs_verdict verdict;
	char why[BS_CERTIFY_WHY][256]; /* reasons of a verdict that is not kept */
	uint32_t whys;
};

/* Returns the misses that neither canaries nor the sender explain. */
static inline uint64_t bs_certify_attributed(const struct bs_certify_run *r)
{
	return r->raw - r->explained - r->overslept;
}

#endif
