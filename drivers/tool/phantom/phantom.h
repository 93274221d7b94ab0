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
 * one are multiplied by exp(i drift n), n its number from 0.
 *
 * EPI: the lines that run backwards are d(kx + epi_shift/Ex, ky) exp(i (epi_phase + r epi_drift)),
 * d what the others sample, r the repetition. Delays: spokes are sampled at
 * k + [Sx Sxy; Sxy Sy] dk, dk the step between two samples, and carry k. A field
 * multiplies each sample's voxels by exp(-i 2 pi f t), t = TE + the time from the sample at the
 * center of k-space (on a grid) or from the first one.
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

/* Place of the slices along the scanner's axes (mm, MRD's patient coordinates). */
struct bs_phantom_pose {
	bool given;
	double angle_deg[2];   /* rotation of all slices: about x, then about z */
	double position_mm[3]; /* center of all slices */
	double spacing_mm;     /* distance between slices; 0: their thickness */
};

struct bs_phantom_receiver {
	double spread;      /* largest standard deviation of a coil over the smallest; 0: 1 */
	double correlation; /* correlation of neighboring coils, 0 to 0.99 */
	/* relativeReceiverNoiseBandwidth; 0: not in the header, taken as 1 */
	double bandwidth;
	double scan_dwell_us; /* dwell time of the noise scan */
	/* samples of the noise scan's readouts; their number is in plan.noise */
	uint32_t scan_samples;
	const char *noise_scan; /* measurement that the header points to; NULL: none */
};

struct bs_phantom_scan {
	/* gives sizes, name and method; unit: cycles per voxel */
	const struct bs_protocol *protocol;
	const struct bs_traj *traj;
	/* [repetition][readout][sample][dims], used instead of the table's paths; or NULL */
	const float *paths;
	uint32_t repetitions;
	double snr;      /* image's RMS over its noise; 0: no noise */
	uint64_t seed;   /* seed of the noise */
	double dwell_us; /* time between samples */
	double tr_us;    /* time between readouts; 0: the echoes and a pause of 2 ms */
	/* A part of the object beats during the scan (core/tool/phantom/phantom.h), from readout to
	 * readout: its semi-axes are multiplied by 1 + motion sin(2 pi t / motion_frames), t in
	 * frames. The true image is that of t = 0. */
	double motion; /* amplitude of the beat, below 1; 0: at rest */
	double motion_frames;
	enum bs_phantom_object object;
	/* plan of lines, calibration, noise and order; its other members follow
	 * from this structure */
	struct bs_scanplan plan;
	uint32_t navigator_samples; /* samples of a navigator; 0: half of a line's */
	double drift;               /* phase in radians from navigator to navigator */
	struct bs_phantom_pose pose;
	struct bs_phantom_receiver receiver;
	const char *measurement; /* measurementID; NULL: not in the header */
	const char *study;       /* studyInstanceUID; NULL: not in the header */
	/* Measurements that the header points to, for maps and for a field map; NULL: none. */
	const char *maps_scan, *field_scan;
	bool coil_sphere; /* coils around all slices, not around each */
	/* rotation of the coils from slice to slice; 0: all slices have the same sensitivities */
	double coil_angle_deg;
	double te_ms[BS_PHANTOM_CONTRASTS]; /* echo times; 0: not in the header */
	double field_hz;                    /* largest field (core/tool/phantom/field.h); 0: none */
	bool delayed;
	double delay[3]; /* gradient delays of radial2d, Sx, Sy, Sxy, in samples */
	/* EPI: ramp of a gradient during which samples are taken; 0: none */
	uint32_t ramp_us;
	double epi_phase; /* phase in radians of lines that run backwards */
	double epi_shift; /* shift of lines that run backwards along kx, in samples */
	double epi_drift; /* growth of epi_phase from repetition to repetition, radians */
	struct bs_trapezoid trapezoid; /* gradient's shape, which follows from the members above */
	uint32_t recon[3];             /* matrix of reconSpace; 0: the protocol's */
};

/* Writes the recording. written: number of its acquisitions; or NULL. */
int bs_phantom_record(const struct bs_phantom_scan *scan, struct bs_team *team, const char *path,
		      uint32_t *written, struct bs_fail *why);
int bs_phantom_truth(const struct bs_phantom_scan *scan, struct bs_team *team, const char *image,
		     const char *maps, struct bs_fail *why);
int bs_phantom_fields(const struct bs_phantom_scan *scan, const char *name, struct bs_fail *why);
/* Computes the noise covariance Psi of the lines and of the noise scan. */
int bs_phantom_covariances(const struct bs_phantom_scan *scan, struct bs_team *team,
			   const char *lines, const char *noise, struct bs_fail *why);

#endif
