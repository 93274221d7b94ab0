/*
 * board/certify/certify.h - a protocol's budget tried on the real service, and what came of it
 *
 * run starts `boreside serve` on a private copy of the site (its own process group and run folder,
 * no files written, everything else as configured), plays the recording to it through its sockets
 * at its own pace, over and over, under the loads asked for, and takes every image from the archive
 * socket. A readout is due at the scan's start plus its stamp; the sender's envelope carries that
 * due time, the image gives it back (boreside_sender_ns, ipc/WIRE.md): latencies count from there,
 * however late the sender itself was. Then again at `speed` times the pace, when that is asked for.
 * write makes certificate.md, certificate.json and latency.png of it in the folder out.
 * One run at a time; call with one thread and no endpoint open. Test: test/replay/certify.sh
 */
#ifndef BS_BOARD_CERTIFY_CERTIFY_H
#define BS_BOARD_CERTIFY_CERTIFY_H

#include <signal.h>
#include <stdbool.h>

#include "board/certify/load.h"
#include "board/service/machine.h"
#include "board/certify/late.h"
#include "core/latency/budget.h"
#include "core/thread/canary.h"
#include "core/latency/contract.h"
#include "core/protocol.h"
#include "core/sha256.h"

#define BS_CERTIFY_PARTS  7u  /* the stages that an image's attributes may tell of */
#define BS_CERTIFY_STAGES 24u /* of the service's own histograms */
#define BS_CERTIFY_RUNS   2u
#define BS_CERTIFY_WHY    8u  /* reasons of a verdict that are kept */
#define BS_CERTIFY_MISSES 20u /* attributed to the service, that are kept with their times */

struct bs_certify_request {
	const char *config, *protocol, *recording, *out;
	double minutes;  /* of each run, to the end of a recording */
	double speed;    /* of the second run; 0: none */
	uint64_t images; /* a run may end after so many; 0: not before its time */
	unsigned loads;  /* BS_LOAD_* */
	bool alone;      /* the site's other protocols are left out */
	const volatile sig_atomic_t *stop;
};

/* By board/certify/verdict.h. Only kept is a success. */
enum bs_certify_verdict { BS_CERTIFY_BROKEN, BS_CERTIFY_UNPROVEN, BS_CERTIFY_KEPT };

/* Latencies in ns; n 0: not known. */
struct bs_certify_run {
	double speed, seconds;
	uint64_t scans, faults;   /* scans whose outcome was no success */
	uint64_t readouts, taken; /* that were sent; that the outcomes say were taken */
	uint64_t expected, made;  /* images that the recording makes; that the outcomes count */
	uint64_t outcome_late;    /* images that the outcomes call late */
	uint64_t arrived, partial, previews;     /* partial, late, degraded: the service's words */
	uint64_t late, degraded, rung[BS_RUNGS]; /* degraded: for being in time, less was done */
	uint64_t stage_missed[BS_BUDGET_STAGES]; /* images with this stage over its own budget */
	uint64_t torn;     /* messages that were no image of this run, or lack what must be there */
	uint64_t repeated; /* images that came again */
	uint64_t disagreed; /* that call themselves met and were handed on late, or the reverse */
	uint64_t raw;       /* later than the budget from the due time */
	uint64_t
		explained; /* of these: by canaries' stalls, together with the sender's sleep or not */
	uint64_t
		overslept; /* by the sender alone, which woke late by itself (board/certify/late.h) */
	struct bs_late miss[BS_CERTIFY_MISSES]; /* the first of the rest */
	uint32_t misses;
	struct bs_spread due, received,
		arrival;                   /* from due, from received to handed on; due to here */
	struct bs_spread own;              /* received to handed on less the operators */
	struct bs_spread quiet, own_quiet; /* those two less the time that a canary was stalled */
	struct bs_spread part[BS_CERTIFY_PARTS];
	struct bs_spread sent;  /* the sender's own lateness: buckets of 1.6 % */
	struct bs_spread slept; /* of that, what it overslept by itself */
	int64_t *latency;       /* [due.n], sorted: for the chart */
	char fault[400];        /* of the first faulty scan */
};

struct bs_certify_stage {
	char name[16];
	double n, p50_us, p99_us, p999_us, max_us;
};

struct bs_certify_thread {
	char name[16];
	double priority, minor_faults, major_faults, allocations; /* counts after the first scan */
};

struct bs_certificate {
	struct bs_site site; /* as it was certified */
	const struct bs_protocol *p;
	char config_sha256[BS_SHA256_HEX]; /* of the site as `boreside check` prints it */
	char recording[512];
	uint32_t acquisitions;
	char pace[64];
	char made_at[32], engine[32], estimate[512], realtime[2048];
	struct bs_machine machine;
	unsigned loads;
	bool alone;
	uint64_t cpu_passes, io_mib, io_syncs;
	uint64_t gpu_kernels; /* of the load */
	bool gpu_loaded;
	struct {
		int cpu, priority; /* SCHED_FIFO; 0: none was granted */
		double wakes, stalls, p999_us, max_us;
	} canary[BS_CANARIES];
	uint32_t canaries, unwatched; /* on the processors that the service's threads may use */
	bool throttled;    /* the kernel stops real-time threads that poll, canaries with them */
	double restarts;   /* of the service's workers, in the end */
	bool sender_rt;    /* this process has a real-time priority */
	char refused[400]; /* why the service did not take the protocol; "" : it did */
	struct bs_certify_run run[BS_CERTIFY_RUNS];
	uint32_t runs;
	struct bs_certify_stage stage[BS_CERTIFY_STAGES]; /* of the first run */
	uint32_t stages;
	struct bs_certify_thread thread[16];
	uint32_t threads;
	bool grown_from_start; /* one scan alone: the threads' counts are since the service was ready */
	double minutes;        /* of each run, as asked for */
	bool cut;              /* told to stop before that */
	enum bs_certify_verdict verdict;
	char why[BS_CERTIFY_WHY][256]; /* of a verdict that is not kept */
	uint32_t whys;
};

extern const char *const bs_certify_part_names[BS_CERTIFY_PARTS];

/* Misses that neither canaries nor the sender explain. */
static inline uint64_t bs_certify_attributed(const struct bs_certify_run *r)
{
	return r->raw - r->explained - r->overslept;
}

/* 0: it was tried, and c->verdict says whether the contract held. Else it could not be tried. */
int bs_certify_run(struct bs_certificate *c, const struct bs_certify_request *q,
		   struct bs_fail *why);
void bs_certify_free(struct bs_certificate *c);
int bs_certificate_write(const struct bs_certificate *c, const char *folder, struct bs_fail *why);
/* One line for a table: protocol, images, quantiles, misses, verdict. */
void bs_certificate_line(const struct bs_certificate *c, char *out, size_t cap);

#endif
