/*
 * core/frame/recon.h - from readouts to images: one armed protocol, one scan at a time
 *
 * arm -> { scan -> readout* -> close }* -> disarm, and after each readout and after close:
 * pop until it returns 0. The service's recon worker and `boreside recon` run this same code.
 *
 * Sliding window (protocol's frame_step > 0): the table of `readouts` rows is the window, frame_step
 * rows of it in a line are a group, and the stream goes through the table in its order, over and
 * over, counting its passes in idx.repetition (or never). When a group ends, complete or because the
 * stream has gone on, an image leaves of the newest readouts of all groups, as soon as all of the
 * table has gone by; a group that was lost as a whole counts as missing and makes no image. close
 * makes one image more if readouts have come that were in none. Each image is a sum of one share a
 * group in the order of the table, so it depends on its own readouts alone, to the bit.
 * Previews (preview_every > 0): pop makes one each so many readouts of a frame, before it is complete.
 * Under on_miss shed a solver (whose engine names one in .preview; not a sliding window) has a gridding
 * engine of the same trajectory armed beside it, for the ladder of core/latency/budget.h: its weights are the
 * protocol's, or Pipe and Menon's where the least squares has none, scaled so that its images have the
 * solver's brightness. It has accumulators of its own and is fed the same readouts, but only of frames that
 * begin while aim says so, and those are not fed to the solver's engine: whoever must do less does
 * not sum twice. (Fed both at once, each frame could choose when it is complete, at the price of the
 * second sum in every frame of every scan; made from the solver's F^H d, an image would lack the
 * density compensation, which is under the sum.) A frame keeps what it began with; its memory is in
 * the protocol's need and taken at arm.
 *
 * bs_admit_* are the checks that a scan and each acquisition must pass before they are believed;
 * ingest runs them before it acknowledges, recon relies on them. They have no state of their own.
 * Thread rules: one thread per bs_recon. Only arm and disarm allocate.
 * Test: test/unit/core/test_recon.c
 */
#ifndef BS_CORE_FRAME_RECON_H
#define BS_CORE_FRAME_RECON_H

#include "core/latency/budget.h"
#include "core/engine.h"
#include "core/mrd.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bs_recon;

struct bs_recon_image {
	struct bs_mrd_image head;
	float *pixels; /* where pop writes: the caller's, bs_protocol_image_bytes */
	struct bs_report report;
	bool preview;      /* of a frame that goes on; image_index counts previews by themselves */
	uint32_t readouts; /* that the image holds */
	uint32_t missing;  /* that it should have held */
	int64_t last_ns;   /* when the last readout that it needed was received */
	uint32_t last_scan_counter;
};

/* The header against the protocol: matrix, channels, unit. The reason names the element. */
int bs_admit_scan(const struct bs_protocol *p, const struct bs_scan_info *info,
		  struct bs_fail *why);

/*
 * One acquisition against the protocol, its table and the scan's header: sizes, counters,
 * trajectory, values; and which of the frame's readouts it is (*row).
 * traj [samples][trajectory_dimensions] in the protocol's unit, data [channels][samples] complex;
 * both may be unaligned. The row comes from the counters (cartesian: the line ky + encoded_y * kz,
 * counted from the header's center), or, where a table's counters are not unique, from the
 * trajectory itself. What is not imaging (noise, dummies, ...: BS_MRD_NOT_IMAGING) passes whatever
 * its size, with *row = BS_ROW_NONE.
 * table: NULL for cartesian. Checks every value it is given once; O(values), no state.
 */
#define BS_ROW_NONE UINT32_MAX
int bs_admit_acq(const struct bs_protocol *p, const struct bs_traj *table,
		 const struct bs_scan_info *info, const struct bs_mrd_acq *head, const void *traj,
		 const void *data, uint32_t *row, struct bs_fail *why);

/* What arm will take from the arena: the engine's need, and that of what is armed beside it. */
int bs_recon_need(const struct bs_protocol *p, const struct bs_engine *engine, struct bs_need *need,
		  struct bs_fail *why);
int bs_recon_arm(struct bs_recon **out, const struct bs_protocol *p, const struct bs_engine *engine,
		 const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why);
void bs_recon_disarm(struct bs_recon *r);
/* From now on: where frames that begin are made, and how many iterations those that end may take. */
void bs_recon_aim(struct bs_recon *r, const struct bs_aim *aim);
bool bs_recon_stands_in(const struct bs_recon *r); /* there is a gridding to aim at */

void bs_recon_scan(struct bs_recon *r, const struct bs_scan_info *info);
/*
 * An admitted acquisition and its row, received at now_ns. Copies what it needs before it returns,
 * unless data lies in the pool that the engine was armed with: then as bs_recon_reading says.
 * data: 4-byte aligned. 0: taken (BS_ROW_NONE is counted and dropped). BS_RECON_POP_FIRST: it begins a
 * new frame where an older one still stands unfinished; pop, then call again with the same readout.
 * BS_ERR_INDEX: this row is in the frame already.
 */
#define BS_RECON_POP_FIRST 1
int bs_recon_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why);
/* As core/engine.h's reading; both 0 where every readout is copied at once. */
void bs_recon_reading(struct bs_recon *r, bool wait, uint64_t *made, uint64_t *read);
/* No more readouts: frames that were begun become images that say what is missing. */
void bs_recon_close(struct bs_recon *r);
/* 1: *image was made. 0: no frame is complete. Negative: the engine failed. */
int bs_recon_pop(struct bs_recon *r, struct bs_recon_image *image, int64_t deadline_ns,
		 struct bs_fail *why);
/* Images that pops would make now, for a caller that must find an image slot first. */
uint32_t bs_recon_ready(const struct bs_recon *r);
/* Of these the previews: pop makes them after the frames. They may be left out. */
uint32_t bs_recon_previews(const struct bs_recon *r);
void bs_recon_skip_previews(struct bs_recon *r);
/* Whose work an image is: "gridding/host". */
const char *bs_recon_engine(const struct bs_recon *r, const struct bs_recon_image *image);

/* image_series_index: frames have that of their scan, its previews that and this bit. */
#define BS_PREVIEW_SERIES 0x8000u

#ifdef __cplusplus
}
#endif
#endif
