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
	/* armed protocols lie in room and must not be moved. armed[i] NULL: i is not armed */
	struct bs_armed room[2 * BS_PROTOCOLS_MAX];
	struct bs_armed *armed[BS_PROTOCOLS_MAX];
	/* protocols armed for a changed site that is not in force yet */
	struct bs_armed *next[BS_PROTOCOLS_MAX];
	bool has_next;
	struct bs_budget budget[BS_PROTOCOLS_MAX];
	/* protocol of the current scan; NULL: no scan */
	struct bs_armed *current;
	uint32_t protocol;
	uint64_t scan, session;
	struct bs_made_step made; /* images handed on so far, those of a predecessor included */
	bool lacking;          /* the scan lacks what its protocol needs: no more images are made */
	uint64_t uncalibrated; /* images that were not made for lack of calibration */
	uint64_t results;      /* emit's results of the protocol's images that were read */
	/* times of the latest readout that images wait for */
	struct stamps {
		int64_t sender_ns; /* time by the sender's clock */
		int64_t handed_ns, taken_ns, added_ns;
	} stamps;
	/* slots whose samples a GPU may still be reading, in their order: a ring of [acq_slots] */
	struct {
		uint32_t slot;
		uint64_t adds; /* the engine's count of readouts when this one was added */
	} * held;
	uint64_t held_first, held_next;
	int64_t noted_ns; /* when the team's members last wrote their records */
	bool unnoted;     /* the team has worked since noted_ns */
};

/* Returns the record of the current scan. */
static inline struct bs_scan_record *recon_record(const struct recon_worker *w)
{
	return &w->env->shm.s->scan[w->scan & 1];
}

/* The next functions are in arm.c. */
/* Arms the site's protocols. 0: at least one is armed; shared memory says why others are not. */
int bs_recon_worker_arm(struct recon_worker *w);
void bs_recon_worker_disarm(struct recon_worker *w);
/*
 * Arms a protocol in a free place of room. out: an earlier measurement, if any. An error with *at
 * set: the protocol is armed, but has to be measured again (ipc/shm/shm.h).
 */
int bs_recon_worker_arm_one(struct recon_worker *w, struct bs_armed **at,
			    const struct bs_protocol *p, struct bs_arming *out,
			    struct bs_fail *why);
void bs_recon_worker_drop(struct bs_armed **at);
/* Measures protocols again that were refused while the machine was busy. */
void bs_recon_worker_measure(struct recon_worker *w);
/* Keeps an image that later scans take, and begins to make W of it. The site has a study. */
void bs_recon_worker_leave(struct recon_worker *w, const struct bs_recon_image *image);

/* The next functions are in rest.c. */
/* Between two entries: the team's members write their records only when they are asked to. */
void bs_recon_worker_note(struct recon_worker *w);
/* Works ahead, or sleeps until there may be work; or polls for it, if so set, while a scan runs. */
void bs_recon_worker_rest(struct recon_worker *w);

/* The next functions are in reload.c. */
/* Does recon's part of a reload under way. Call when no scan is open and the queue is empty. */
void bs_recon_worker_reload(struct recon_worker *w);

/*
 * Tests an armed protocol before its first scan (board/tool/selftest/selftest.h): whatever it
 * returns but 0 keeps the protocol out. The program sets it, which has tools; NULL: none is tested.
 */
extern int (*bs_recon_selftest)(struct bs_selftest *out, const struct bs_armed *a,
				struct bs_team *team, struct bs_fail *why);

#endif
