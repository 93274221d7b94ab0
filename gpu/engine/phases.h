/*
 * gpu/engine/phases.h - corrects a readout's phase and sampling, before anything else is done to it
 *
 * It lies around the bs_recon of a protocol whose plan corrects, in front of gpu/engine/mixer.h;
 * the coils are as they came. Navigators (navigators = phase): the phase of each navigator against
 * the scan's first one of its slice and contrast (gpu/calibrate/echo.h) is subtracted from the
 * lines of that slice and contrast, those of the image and of calibration, until the next
 * navigator.
 *
 * EPI (epi.correct): a triple is three phase-correction lines of one slice and contrast, with no
 * other line of that slice and contrast between them, of which the middle one runs the other way.
 * The mean of the outer lines is taken: it is as old as the middle one, so that a steady drift
 * cancels. The profiles along the readout, all coils together, give a phase and a slope. From then
 * on both are removed from the lines of the slice that run backwards, until the next triple.
 * Readouts that begin on a ramp (bs_admit_ramps) are first brought to the grid, by a matrix that
 * is made when the scan opens.
 *
 * need -> arm -> { scan -> readout* }* -> disarm. All functions accept NULL, and then do nothing.
 * One thread. After arm nothing is allocated.
 * Test: test/unit/gpu/engine/test_phases.c, test/replay/scan/epi.sh
 */
#ifndef BS_GPU_ENGINE_PHASES_H
#define BS_GPU_ENGINE_PHASES_H

#include "core/frame/recon.h"

struct bs_phases;

/* Adds nothing where the protocol does not correct. */
int bs_phases_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
/*
 * *out is NULL where the protocol does not correct. recon is told what the images' reports shall
 * say.
 */
int bs_phases_arm(struct bs_phases **out, const struct bs_protocol *p, struct bs_recon *recon,
		  struct bs_arena *arena, struct bs_fail *why);
void bs_phases_disarm(struct bs_phases *f);

/* Begins a scan; called after bs_recon_scan. */
void bs_phases_scan(struct bs_phases *f, const struct bs_scan_info *info);
/* Makes every line be corrected by a phase of zero, for timing alone. */
void bs_phases_trial(struct bs_phases *f);
/*
 * Takes an admitted readout, as bs_recon_readout. Returns 0: hand head and data on; they are the
 * caller's own, or corrected ones without discarded samples, which stay valid until the next call.
 * BS_PHASES_TAKEN: the readout measured phases and is only to be counted. A line may be given
 * again, with the same result. BS_ERR_CALIBRATION: a reversed line came before a triple of its
 * slice. BS_ERR_SIZE: a phase-correction line is no whole line, or a navigator has another length
 * than the first.
 */
#define BS_PHASES_TAKEN 1
int bs_phases_readout(struct bs_phases *f, struct bs_mrd_acq *head, const float **data,
		      struct bs_fail *why);

#endif
