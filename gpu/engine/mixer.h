/*
 * gpu/engine/mixer.h - whitening and coil compression of readouts before an engine gets them
 *
 * need -> arm -> { scan -> readout* -> close }* -> disarm, around the bs_recon of a protocol whose
 * plan prepares. The calls are those of core/frame/recon.h; taking its images (pop) stays with the
 * caller. The bs_recon is armed with bs_mixer_inner of the protocol, since the engines know virtual
 * coils alone.
 *
 * Each readout is multiplied by one matrix [virtual][coils] (gpu/calibrate/compress.h). Without
 * compression the matrix follows from the scan's noise, is the same for all readouts, and no
 * readout waits. With compression each slice has a matrix of its own, for the whole scan. It is
 * made as soon as one of these comes: all calibrating rows of the slice; its first frame, complete
 * or flagged as complete; as many readouts as may wait; the end of the scan. Readouts of the slice
 * that come earlier are copied and wait, at most as many as the frames that may be open have. They
 * are then handed on in their order.
 * Calibrating rows: for scans on the grid those within 8 of the center along ky and kz, lines of
 * the image or of calibration; for other scans 64 rows spread evenly over the trajectory, which
 * takes nearly a whole frame (spokes that follow each other see one direction). The matrix is made
 * from these rows alone, one readout for each, added in the order of the rows: so it does not
 * depend on the order of a frame's readouts. A matrix from the first lines of a Cartesian scan
 * would be twice as far off.
 *
 * compression geometric: there is one matrix for each place along the readout
 * (gpu/calibrate/along.h); each readout is transformed along x and back. A readout that is no whole
 * line gets the center's matrix.
 *
 * Where the noise is not known, or singular, a protocol that requires it returns an error for every
 * readout of the scan; other protocols leave the readouts as they are, and images say so.
 * One caller, with the team of env: any team makes the same bytes. After arm nothing is allocated.
 * Test: test/unit/gpu/engine/test_mixer.c
 */
#ifndef BS_GPU_ENGINE_MIXER_H
#define BS_GPU_ENGINE_MIXER_H

#include "core/engine.h"
#include "core/frame/recon.h"
#include "core/study/noise.h"

struct bs_mixer;

/* Writes the protocol as engines see it: with virtual coils. */
void bs_mixer_inner(struct bs_protocol *inner, const struct bs_protocol *p);

/* Adds nothing where the protocol does not prepare. */
int bs_mixer_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
/* *out is NULL where the protocol does not prepare. recon must be armed with the inner protocol. */
int bs_mixer_arm(struct bs_mixer **out, const struct bs_protocol *p, struct bs_recon *recon,
		 const struct bs_arm_env *env, struct bs_fail *why);
void bs_mixer_disarm(struct bs_mixer *f);

/*
 * Begins a scan. noise: read when the first readout comes that is not noise, and not later; NULL:
 * there is none.
 */
void bs_mixer_scan(struct bs_mixer *f, const struct bs_scan_info *info,
		   const struct bs_noise *noise);
/*
 * Takes a readout as bs_recon_readout does; also BS_ERR_CALIBRATION. Readouts of noise are only
 * counted. The error may belong to a readout that waited until now. why must not be NULL.
 */
int bs_mixer_readout(struct bs_mixer *f, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why);
/*
 * Ends the scan as bs_recon_close does, except for BS_RECON_POP_FIRST: pop an image, then call
 * again. Errors as bs_mixer_readout.
 */
int bs_mixer_close(struct bs_mixer *f, struct bs_fail *why);

#endif
