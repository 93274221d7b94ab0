/*
 * core/traj/delay.h - gradient delays: a readout's samples lie where the gradients really were, not
 * where they should have been
 *
 * S is a symmetric matrix, in samples of the readout: a sample that should lie at k lies at k + S
 * dk, where dk is the step from one sample to the next. A delay of one axis by t is S = -t / dwell
 * time on the diagonal; xy, xz, yz couple the axes of oblique slices.
 * For spokes through the center, S moves opposed and crossing spokes apart. Where two of them cross
 * they must have measured the same value, which is what the estimate asks for: RING, Rosenzweig,
 * Holme, Uecker, Magn Reson Med 2019;81:1898-1906. RING finds each crossing by itself; here all
 * pairs share one S (least squares by Gauss-Newton, from the best point of a coarse grid), so no
 * pair's noise is taken for a crossing.
 * Stateless; estimate takes about a second, and allocates unless memory is given.
 * Test: test/unit/core/test_delay.c
 */
#ifndef BS_CORE_TRAJ_DELAY_H
#define BS_CORE_TRAJ_DELAY_H

#include "core/traj/traj.h"

#define BS_DELAY_MAX 8.0 /* samples; larger delays are not searched */

/* Moves every sample of a readout k [sample][dims] by S; axis: xx, yy, zz; cross: xy, xz, yz. */
void bs_delay_readout(float *k, uint32_t dims, uint32_t samples, const float axis[3],
		      const float cross[3]);
/*
 * Moves every sample of each readout of a table by S, as bs_delay_readout moves those of one
 * readout.
 */
void bs_delay_apply(struct bs_traj *t, const float axis[3], const float cross[3]);

struct bs_spokes {
	uint32_t readouts, samples, coils;
	const float *k; /* [readout][sample][2], any unit: the trajectory that should have been */
	const float *data; /* [readout][coil][sample] complex, the measured samples */
	/*
	 * Complex values from one readout to the next one, and from one coil to the next one; 0:
	 * data is dense, as above.
	 */
	size_t readout_step, coil_step;
	const uint8_t *came; /* [readout]: 0: this readout is left out; NULL: none is */
};

struct bs_delays {
	double axis[2], cross; /* estimate of S: xx, yy, xy */
	uint32_t pairs;        /* number of crossings that S was estimated from */
	double before,
		/* relative difference of spokes at their crossings, without S and with S */
		after;
};

/*
 * Estimates S from two-dimensional spokes: straight, evenly sampled, through the center. Returns
 * BS_ERR_TRAJECTORY where they are not, or where all are parallel; BS_ERR_VALUE where the data are
 * zero, or no S makes the pairs agree better.
 */
int bs_delay_estimate(struct bs_delays *out, const struct bs_spokes *spokes, struct bs_fail *why);
/*
 * bs_delay_estimate in the caller's memory: work has bs_delay_bytes(readouts), aligned to BS_ALIGN.
 */
size_t bs_delay_bytes(uint32_t readouts);
int bs_delay_estimate_in(struct bs_delays *out, const struct bs_spokes *spokes, void *work,
			 struct bs_fail *why);

#endif
