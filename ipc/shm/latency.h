/*
 * ipc/shm/latency.h - each protocol's record of how long images take, and of how its budget is kept
 */
#ifndef BS_IPC_SHM_LATENCY_H
#define BS_IPC_SHM_LATENCY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/latency/budget.h"

/* The stages that have a histogram of times, for each protocol. */
enum bs_stage {
	/* time from the sender's stamp to receipt, where the sender's clock is this host's */
	BS_STAGE_SEND,
	BS_STAGE_RECEIVE, /* time from receipt to handing to recon: checks and the copy */
	BS_STAGE_QUEUE,   /* time from handing to recon until recon takes the readout up */
	BS_STAGE_ADD,     /* time of accumulating the readout (the engine's add) */
	BS_STAGE_SLOT,    /* time from the frame's completion until an image slot is free */
	BS_STAGE_FINISH,  /* time of the engine's finish */
	BS_STAGE_PASS,    /* time from the image's making until emit takes it up */
	/* time from emit's taking it up to handing it to the first sink: attributes, checksum */
	BS_STAGE_HAND,
	/* time from the last readout's receipt to handing the image to the first sink */
	BS_STAGE_IMAGE,
	BS_STAGE_SINKS, /* time from handing the image to the first sink until all sinks are done */
	/* handed to the first sink -> an archive that asks says that it has the image */
	BS_STAGE_TAKEN,
	/* Parts of finish, as the engine reports them (struct bs_report), where it has them. */
	BS_STAGE_UPLOAD,
	BS_STAGE_ACCUMULATE,
	BS_STAGE_SOLVE,
	BS_STAGE_COMBINE,
	BS_STAGE_DOWNLOAD,
	BS_STAGE_CALIBRATION,
	BS_STAGE_STEP, /* time that images were at their step; a part of hand */
	/* time from a readout's receipt to handing its answer to the sender's socket */
	BS_STAGE_ANSWER,
	BS_STAGES
};

static inline const char *bs_stage_name(enum bs_stage s)
{
	static const char *const names[BS_STAGES] = {
		"send",    "receive",  "queue",       "add",   "slot",   "finish",     "pass",
		"hand",    "image",    "sinks",       "taken", "upload", "accumulate", "solve",
		"combine", "download", "calibration", "step",  "answer"
	};

	return (unsigned)s < BS_STAGES ? names[s] : "?";
}

/*
 * Counts since the service started, and the results of the newest images, which emit writes for
 * recon's ladder. Each result is one number; a reader that is too slow misses the oldest ones.
 */
#define BS_RESULTS_KEPT 64u
struct bs_budget_record {
	/* Recon writes the next members. */
	_Atomic uint32_t rung; /* enum bs_rung: where the ladder stands */
	_Atomic uint64_t down[BS_RUNGS], up[BS_RUNGS], images[BS_RUNGS];
	/* Emit writes the next members. */
	/* counts of images; stopped: scans that a late image ended */
	_Atomic uint64_t handed, missed, stopped;
	_Atomic uint64_t stage_missed[BS_BUDGET_STAGES];
	/* number of all results; number i is in place i % BS_RESULTS_KEPT */
	_Atomic uint64_t results;
	_Atomic uint64_t result[BS_RESULTS_KEPT];
};

/*
 * Packs a result: 24 bits of the scan's number, 4 of the rung, 4 of the result, 32 of us from made
 * to handed on.
 */
static inline uint64_t bs_result_pack(uint64_t scan, enum bs_rung rung, enum bs_budget_result v,
				      int64_t emit_ns)
{
	uint64_t us = emit_ns < 0 ? 0 : (uint64_t)emit_ns / 1000;

	return (scan & 0xffffff) << 40 | (uint64_t)rung << 36 | (uint64_t)v << 32 |
	       (us > UINT32_MAX ? UINT32_MAX : us);
}
/* Unpacks a result. False: it is another scan's. */
static inline bool bs_result_unpack(uint64_t packed, uint64_t scan, enum bs_rung *rung,
				    enum bs_budget_result *v, int64_t *emit_ns)
{
	*rung = (enum bs_rung)(packed >> 36 & 15);
	*v = (enum bs_budget_result)(packed >> 32 & 15);
	*emit_ns = (int64_t)(packed & UINT32_MAX) * 1000;
	return packed >> 40 == (scan & 0xffffff);
}

/* Images over their budget, and those of them that a canary's stall explains. Emit writes these. */
struct bs_misses {
	_Atomic uint64_t raw, explained;
};

#endif
