/*
 * drivers/tool/phantom/phantom.h - a simulated scan of the phantom: an MRD recording and its true
 * images
 *
 * k-space is the closed form (core/tool/phantom/phantom.h) through the coils
 * (core/tool/phantom/coils.h) at the table's positions, nothing is interpolated. Which readouts, in
 * which order, with which flags: drivers/tool/phantom/scanlines.h. Every readout carries its
 * trajectory, except for Cartesian scans; user_int[0] is its start in microseconds after the first
 * one, acquisition_time_stamp the same in ticks of 2.5 ms from 10:15:00.
 *
 * Noise: complex Gaussian, of a mean power over the coils of sigma^2, sigma =
 * sqrt(sum |true image|^2)/snr: a Cartesian scan of the matrix with one coil, every point once,
 * would come out with that ratio of the image's RMS (of slice 0, contrast 0) to its noise,
 * whatever the trajectory of this one. Psi between the coils: core/tool/phantom/noise.h. The
 * readouts of a noise scan have Psi_scan = Psi_lines x bandwidth x dwell time / theirs, because a
 * sample's noise power is that of its bandwidth, of which the receiver's filter passes that share.
 *
 * As a scanner sends it, a dummy is the center line, three times as bright: it stands out in an
 * image that uses it. A navigator is the middle of the center line; it and the lines up to the next
 * one are turned by exp(i drift n), n its number from 0.
 *
 * EPI: the lines that run backwards are d(kx + epi_shift/Ex, ky) exp(i (epi_phase + r epi_drift)),
 * d what the others sample, r the repetition. Delays: spokes are sampled at
 * k + [Sx Sxy; Sxy Sy] dk, dk the step between two samples, and carry k. A field turns each
 * sample's voxels by exp(-i 2 pi f t), t = TE + the time from the sample at the center of k-space
 * (on a grid) or from the first one.
 *
 * With paths each repetition is sampled along its own, which its readouts carry: plain scans alone.
 *
 * True images: .cfl [x, y, z, 1, 1, contrast (dim 5), ..., slice (dim 13)], each voxel the mean
 * over its square or cube; sensitivities: .cfl [x, y, z, coil, ..., slice (dim 13)]; covariances:
 * .cfl [coil, coil]; field in Hz: .cfl [x, y, z, ..., slice (dim 13)].
 * Allocates; the calling thread and the team. Tests: test/unit/board/test_scan.c,
 * test/unit/drivers/tool/test_phantomscan.c, test/unit/drivers/tool/test_phantomnoise.c,
 * test/unit/drivers/tool/test_phantomphysics.c
 */
#ifndef BS_DRIVERS_TOOL_PHANTOM_PHANTOM_H
#define BS_DRIVERS_TOOL_PHANTOM_PHANTOM_H

#include "core/protocol.h"
#include "core/tool/phantom/phantom.h"
#include "core/thread/team.h"
#include "core/traj/trapezoid.h"
#include "core/traj/traj.h"
#include "drivers/tool/phantom/scanlines.h"

/* Where the slices lie, as the scanner's axes say it (mm, MRD's patient coordinates). */
struct bs_phantom_pose {
	bool given;
	double turn_deg[2];    /* of all slices: about x, then about z */
	double position_mm[3]; /* of the middle of all slices */
	double spacing_mm;     /* between slices; 0: their thickness */
};

struct bs_phantom_receiver {
	double spread;          /* largest deviation of a coil over the smallest; 0: 1 */
	double correlation;     /* of neighbors, 0 to 0.99 */
	double bandwidth;       /* relativeReceiverNoiseBandwidth; 0: unsaid, and 1 */
	double scan_dwell_us;   /* of the noise scan */
	uint32_t scan_samples;  /* of its readouts; their number is in plan.noise */
	const char *noise_scan; /* measurement that the header points to; NULL: none */
};

struct bs_phantom_scan {
	const struct bs_protocol *protocol; /* sizes, name, method; unit cycles per voxel */
	const struct bs_traj *traj;
	const float *paths; /* [repetition][readout][sample][dims] in the table's place; or NULL */
	uint32_t repetitions;
	double snr;      /* 0: no noise */
	uint64_t seed;   /* of the noise */
	double dwell_us; /* between samples */
	double tr_us;    /* between readouts; 0: what echoes and a pause of 2 ms take */
	/* one part beats (core/tool/phantom/phantom.h) while the scan runs, from readout to
	 * readout: its semi-axes times 1 + motion sin(2 pi t / motion_frames), t in frames. The
	 * true image is that of t = 0. */
	double motion; /* 0: at rest; below 1 */
	double motion_frames;
	enum bs_phantom_object object;
	/* what is said here of lines, calibration, noise and order; the rest follows from above */
	struct bs_scanplan plan;
	uint32_t navigator_samples; /* 0: half of a line's */
	double drift;               /* radians from navigator to navigator */
	struct bs_phantom_pose pose;
	struct bs_phantom_receiver receiver;
	const char *measurement; /* its id; NULL: unsaid */
	const char *study;       /* studyInstanceUID; NULL: unsaid */
	/* measurements that the header points to for maps, for a field map; NULL: none */
	const char *maps_scan, *field_scan;
	bool coil_sphere;     /* coils around all slices, not around each */
	double coil_turn_deg; /* from slice to slice: sensitivities of their own; 0: all the same */
	double te_ms[BS_PHANTOM_CONTRASTS]; /* 0: unsaid */
	double field_hz;                    /* core/tool/phantom/field.h; 0: none */
	bool delayed;
	double delay[3];               /* of radial2d's gradients: Sx, Sy, Sxy, in samples */
	uint32_t ramp_us;              /* EPI: of ramps that are sampled; 0: they are not */
	double epi_phase;              /* of lines that run backwards, radians */
	double epi_shift;              /* of these along kx, samples */
	double epi_drift;              /* of epi_phase from repetition to repetition */
	struct bs_trapezoid trapezoid; /* follows from the above */
	uint32_t recon[3];             /* reconSpace's matrix; 0: the protocol's */
};

/* written: the acquisitions, or NULL. */
int bs_phantom_record(const struct bs_phantom_scan *scan, struct bs_team *team, const char *path,
		      uint32_t *written, struct bs_fail *why);
int bs_phantom_truth(const struct bs_phantom_scan *scan, struct bs_team *team, const char *image,
		     const char *maps, struct bs_fail *why);
int bs_phantom_fields(const struct bs_phantom_scan *scan, const char *name, struct bs_fail *why);
/* Psi of the lines and of the noise scan. */
int bs_phantom_covariances(const struct bs_phantom_scan *scan, struct bs_team *team,
			   const char *lines, const char *noise, struct bs_fail *why);

#endif
