/*
 * board/recon/recon.h - the parts of the reconstruction process, which share one struct
 *
 * arm.c    every protocol made ready before the first scan
 * reload.c protocols that are added, replaced, removed between two scans
 * recon.c  the loop: readouts from ingest's queue become images in emit's
 * One thread, and its team. After arming nothing here allocates or opens anything, but to arm what
 * a changed site brings, and it waits only for its bell.
 */
#ifndef BS_BOARD_RECON_RECON_H
#define BS_BOARD_RECON_RECON_H

#include "board/arm/armed.h"
#include "board/service/worker.h"

struct recon_worker {
	struct bs_worker_env *env;
	struct bs_team *team;
	/* what is armed lies where it was opened; NULL: the protocol is not */
	struct bs_armed room[2 * BS_PROTOCOLS_MAX];
	struct bs_armed *armed[BS_PROTOCOLS_MAX];
	struct bs_armed *next[BS_PROTOCOLS_MAX]; /* of a changed site, until it is in force */
	bool has_next;
	struct bs_budget budget[BS_PROTOCOLS_MAX];
	/* the scan in flight; current NULL: none */
	struct bs_armed *current;
	uint32_t protocol;
	uint64_t scan, session;
	struct bs_made_step made; /* what of it was handed on, by a predecessor, too */
	bool lacking;             /* what its protocol needs: nothing more is made of it */
	uint64_t uncalibrated;    /* images that were not made for want of calibration */
	uint64_t results;         /* of the protocol's images, from emit: read so far */
	/* of the latest readout that images wait for */
	struct stamps {
		int64_t sender_ns; /* by the sender's clock */
		int64_t handed_ns, taken_ns, added_ns;
	} stamps;
	/* slots whose samples a GPU may still be reading, in their order: a ring of [acq_slots] */
	struct {
		uint32_t slot;
		uint64_t adds; /* the engine's, when this one was made */
	} * held;
	uint64_t held_first, held_next;
	int64_t noted_ns; /* when the team's members last wrote their records */
	bool unnoted;     /* they have worked since */
};

/* Of the scan that is in flight here. */
static inline struct bs_scan_record *recon_record(const struct recon_worker *w)
{
	return &w->env->shm.s->scan[w->scan & 1];
}

/* arm.c */
/* 0: at least one protocol is armed; why the others are not stands in the shared memory. */
int bs_recon_worker_arm(struct recon_worker *w);
void bs_recon_worker_disarm(struct recon_worker *w);
/*
 * Into a free place of room; out->admission: what was measured before, if anything. *at set and an
 * error: it is armed, and owed another measurement (ipc/shm/shm.h).
 */
int bs_recon_worker_arm_one(struct recon_worker *w, struct bs_armed **at,
			    const struct bs_protocol *p, struct bs_arming *out,
			    struct bs_fail *why);
void bs_recon_worker_drop(struct bs_armed **at);
/* What was refused on a busy machine is measured again. */
void bs_recon_worker_measure(struct recon_worker *w);

/* reload.c */
/* Whenever no scan is open and the queue is empty: its part of a reload, if one is under way. */
void bs_recon_worker_reload(struct recon_worker *w);

#endif
