/*
 * board/recon/recon.h - the parts of the reconstruction process, which share one struct
 *
 * arm.c    every protocol made ready before the first scan
 * recon.c  the loop: readouts from ingest's queue become images in emit's
 * One thread, and its team. After arming nothing here allocates or opens anything, and it waits
 * only for its bell.
 */
#ifndef BS_BOARD_RECON_RECON_H
#define BS_BOARD_RECON_RECON_H

#include "board/arm/armed.h"
#include "board/service/worker.h"

struct recon_worker {
	struct bs_worker_env *env;
	struct bs_team *team;
	struct bs_armed armed[BS_PROTOCOLS_MAX];
	struct bs_budget budget[BS_PROTOCOLS_MAX];
	/* the scan in flight; current NULL: none */
	struct bs_armed *current;
	uint32_t protocol;
	uint64_t scan, session;
	struct bs_made_step made; /* what of it was handed on, by a predecessor, too */
	bool lacking;             /* what its protocol needs: nothing more is made of it */
	uint64_t uncalibrated;    /* images that were not made for want of calibration */
	uint64_t results;         /* of the protocol's images, from emit: read so far */
	/* of the latest readout of each frame that may be open */
	struct stamps {
		int64_t sender_ns; /* by the sender's clock */
		int64_t handed_ns, taken_ns, added_ns;
	} stamps[BS_FRAMES_MAX];
	/* slots whose samples a GPU may still be reading, in their order: a ring of [acq_slots] */
	struct {
		uint32_t slot;
		uint64_t adds; /* the engine's, when this one was made */
	} * held;
	uint64_t held_first, held_next;
	int64_t noted_ns; /* when the team's members last wrote their records */
	bool unnoted;     /* they have worked since */
};

/* arm.c */
/* 0: at least one protocol is armed; why the others are not stands in the shared memory. */
int bs_recon_worker_arm(struct recon_worker *w);
void bs_recon_worker_disarm(struct recon_worker *w);

#endif
