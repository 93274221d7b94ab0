/*
 * board/arm/armed.h - a protocol made ready: tables, engine, memory, reconstruction in one piece
 *
 * open -> (bs_recon_* on .recon, by one thread) -> close. The service's recon worker and `boreside
 * recon` both use it, so that both run the same plan. open loads the tables from disk, takes the
 * arena that the engine's need states, arms, and seals the arena; nothing is allocated after that.
 * open_with: the same with this W, which must outlive it, in place of the protocol's file.
 * open_on: for a process whose readouts all lie in one shared pool (core/engine.h: env->pool).
 * on_gpu: whether any protocol that the service has armed runs on a GPU. Any thread.
 * scan, readout, scan_close: those of core/frame/recon.h, or of gpu/engine/mixer.h where the
 * protocol asks for it; images are popped from .recon.
 * Where gpu.share is auto they also find out whether a scan stays on the first of several GPUs, and
 * are the longer the first time (board/arm/alone.h). place: where it runs, in words, and why.
 * team: shared by all protocols of a process, one reconstruction at a time.
 * take: what the scan takes from earlier ones, into the tables; after scan, before its readouts.
 * leave: after a scan that ended well, before the next one: what it made, into the store, where a
 * protocol of the site may take it.
 * Test (on_gpu): test/unit/board/test_throttle.c
 */
#ifndef BS_BOARD_ARM_ARMED_H
#define BS_BOARD_ARM_ARMED_H

#include "board/arm/alone.h"
#include "board/arm/anatomy.h"
#include "core/frame/recon.h"
#include "core/protocol.h"
#include "core/study/study.h"
#include "drivers/file/tables.h"
#include "gpu/engine/mixer.h"
#include "gpu/engine/phases.h"

struct bs_shared; /* defined in ipc/shm/shm.h */

struct bs_armed {
	/* the site's protocol, with the readouts of its table (by_header) and the
	 * GPUs that it runs on */
	struct bs_protocol own;
	const struct bs_protocol *protocol; /* &own; NULL: not armed */
	/* the protocol as the engine sees it; its address must not change */
	struct bs_protocol inner;
	struct bs_phases *phases; /* phase correction; NULL: the protocol has none */
	/* whitening and combination of coils; NULL: the protocol has neither */
	struct bs_mixer *mixer;
	const struct bs_engine *engine;
	struct bs_anatomy *anatomy; /* NULL: the protocol takes no image of its study */
	struct bs_loaded loaded;
	struct bs_arena arena;
	struct bs_need need;
	struct bs_recon *recon;
	struct bs_alone alone; /* comparison of several GPUs with one */
	int64_t arm_ns;        /* time that arming took */
	/* number of the kept data in the tables, and the coil of each map (board/arm/study.c) */
	uint64_t taken[BS_KEPT_KINDS];
	uint8_t of[BS_LABELS_MAX];
};

int bs_armed_open(struct bs_armed *a, const struct bs_site *site, const struct bs_protocol *p,
		  struct bs_team *team, struct bs_fail *why);
int bs_armed_open_with(struct bs_armed *a, const struct bs_site *site, const struct bs_protocol *p,
		       const struct bs_csr *w, struct bs_team *team, struct bs_fail *why);
int bs_armed_open_on(struct bs_armed *a, const struct bs_site *site, const struct bs_protocol *p,
		     struct bs_team *team, const void *pool, size_t pool_bytes,
		     struct bs_fail *why);
void bs_armed_close(struct bs_armed *a);
/* Returns the engine's name, for example "gridding/host". */
static inline const char *bs_armed_engine(const struct bs_armed *a)
{
	return bs_plan_engine(&a->inner.plan, a->engine->place);
}
void bs_armed_place(char *words, size_t size, const struct bs_armed *a);

/* Begins a scan. noise: as in bs_mixer_scan. */
void bs_armed_scan(const struct bs_armed *a, const struct bs_scan_info *info,
		   const struct bs_noise *noise);
/* Begins a scan for timing: as bs_armed_scan, but EPI needs no phase-correction lines. */
void bs_armed_trial(const struct bs_armed *a, const struct bs_scan_info *info,
		    const struct bs_noise *noise);
/* Does the phase correction of bs_armed_readout, for protocols that ask for it. */
int bs_armed_correct(const struct bs_armed *a, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why);
static inline int bs_armed_readout(const struct bs_armed *a, const struct bs_mrd_acq *head,
				   uint32_t row, const float *data, int64_t now_ns,
				   struct bs_fail *why)
{
	if (a->anatomy != NULL && bs_mrd_kind(head->flags) == BS_KIND_IMAGING)
		bs_anatomy_pose(a->anatomy, head);
	if (a->phases != NULL)
		return bs_armed_correct(a, head, row, data, now_ns, why);
	return a->mixer != NULL ? bs_mixer_readout(a->mixer, head, row, data, now_ns, why)
				: bs_recon_readout(a->recon, head, row, data, now_ns, why);
}
int bs_armed_scan_close(const struct bs_armed *a, struct bs_fail *why);
/* Takes what earlier scans left; study may be NULL. Any failure is the engine's. */
int bs_armed_take(struct bs_armed *a, struct bs_study *study, const struct bs_scan_study *scan,
		  const struct bs_scan_info *info, struct bs_fail *why);
/* Leaves maps or a field to later scans. BS_ERR_CALIBRATION: the field map is not
 * reliable; the rest is kept. */
int bs_armed_leave(const struct bs_armed *a, const struct bs_site *site, struct bs_study *study,
		   const struct bs_scan_study *scan, const struct bs_scan_info *info,
		   struct bs_fail *why);
/* Writes the scan's own map (field.from echoes) into hz, [slice][z][y][x] Hz, and its largest |f|.
 * hz may be NULL. Errors: those of bs_armed_leave. */
int bs_armed_field(const struct bs_armed *a, const struct bs_scan_info *info, float *hz,
		   float *most_hz, struct bs_fail *why);

bool bs_armed_on_gpu(const struct bs_shared *s);

#endif
