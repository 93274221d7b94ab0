/*
 * board/recon/recon.h - the parts of the reconstruction process, which share one struct
 *
 * recon.c   the loop: entries of ingest's queue, a scan's begin and end, readouts and their slots
 * images.c  frames that are complete become images in their slots; the ladder of their budget
 * arm.c     every protocol made ready before the first scan
 * recon.c calls the other two. One thread, and its team. After arming nothing here allocates or
 * opens anything, and it waits only for its bell.
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
	uint64_t results; /* of the protocol's images, from emit: read so far */
	/* of the latest readout of each frame that may be open */
	struct bs_stamps {
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

/* images.c */
/* A scan of the current protocol begins. */
void bs_images_open(struct recon_worker *w);
/* How the next frames are to be made, by what emit says of the last images. */
void bs_images_aim(struct recon_worker *w);
/*
 * Makes every image that is ready, since ready_ns; what made it so was received at told_ns. Waits
 * for image slots. 0, or the failure after which this process must be replaced.
 */
int bs_images_make(struct recon_worker *w, int64_t told_ns, int64_t ready_ns);
/* The scan's first fault is the one that its outcome names. */
void bs_images_fault(struct recon_worker *w, const struct bs_fail *why);
/* Admission has checked both counters. */
static inline struct bs_stamps *bs_images_stamps(struct recon_worker *w, uint32_t slice,
						 uint32_t contrast)
{
	return &w->stamps[bs_protocol_frame(w->current->protocol, slice, contrast) % BS_FRAMES_MAX];
}

#endif
