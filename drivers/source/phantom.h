/*
 * drivers/source/phantom.h - a simulated scan of the phantom: an MRD recording and its true images
 *
 * k-space is the closed form (core/phantom/phantom.h) through the coils (core/phantom/coils.h) at
 * the table's positions, nothing is interpolated. Order: repetition, slice, readout, contrast
 * (echoes of one readout follow each other within its TR). Every readout carries its trajectory,
 * except for Cartesian scans; user_int[0] is its start in microseconds after the first one,
 * acquisition_time_stamp the same in ticks of 2.5 ms from 10:15:00.
 *
 * Noise: complex Gaussian, white, the same in every coil, of standard deviation (complex)
 * sqrt(sum |true image|^2)/snr: a Cartesian scan of the matrix with one coil, every point once,
 * would come out with that ratio of the image's RMS (of slice 0, contrast 0) to its noise,
 * whatever the trajectory of this one.
 *
 * True images: .cfl [x, y, z, 1, 1, contrast (dim 5), ..., slice (dim 13)], each voxel the mean
 * over its square or cube; sensitivities: .cfl [x, y, z, coil].
 * Allocates; the calling thread and the team. Test: test/unit/board/test_scan.c
 */
#ifndef BS_DRIVERS_SOURCE_PHANTOM_H
#define BS_DRIVERS_SOURCE_PHANTOM_H

#include "core/protocol.h"
#include "core/thread/team.h"
#include "core/traj/traj.h"

struct bs_phantom_scan {
	const struct bs_protocol *protocol; /* sizes, name, method; unit cycles per voxel */
	const struct bs_traj *traj;
	uint32_t repetitions;
	double snr;      /* 0: no noise */
	uint64_t seed;   /* of the noise */
	double dwell_us; /* between samples */
	double tr_us;    /* between readouts; 0: what echoes and a pause of 2 ms take */
	/* one part beats (core/phantom/phantom.h) while the scan runs, from readout to readout: its
	 * semi-axes times 1 + motion sin(2 pi t / motion_frames), t in frames. The true image is
	 * that of t = 0. */
	double motion; /* 0: at rest; below 1 */
	double motion_frames;
};

int bs_phantom_record(const struct bs_phantom_scan *scan, struct bs_team *team, const char *path,
		      struct bs_fail *why);
int bs_phantom_truth(const struct bs_phantom_scan *scan, struct bs_team *team, const char *image,
		     const char *maps, struct bs_fail *why);

#endif
