/*
 * core/frame/noise.h - what the receivers' noise is, from readouts of noise alone
 *
 * start -> add, one Gram matrix a readout, in the order of the stream; then covariance, deviation.
 * Psi_ij = E[n_i conj n_j] is the sum over samples divided by their number less one. Noise was
 * sampled with its own dwell time, through a receiver whose noise bandwidth is the header's
 * relativeReceiverNoiseBandwidth of the sampling bandwidth; that of readouts with another dwell
 * time is Psi * (dwell of the noise / dwell of the readouts) / bandwidth (scale). What a header
 * does not say counts as no difference.
 * Sums are in double and in a fixed order: the same readouts give the same bytes. A plain structure
 * without pointers, all zero when empty: it may lie in shared memory. No thread rules of its own,
 * allocates nothing. Source: Hansen et al., Magn Reson Med 2014;71:1 (relative noise bandwidth);
 * Pruessmann et al., Magn Reson Med 1999;42:952 (noise covariance).
 * Test: test/unit/core/test_noise.c
 */
#ifndef BS_CORE_FRAME_NOISE_H
#define BS_CORE_FRAME_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mrd.h"
#include "core/protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bs_noise {
	char scan[sizeof(((struct bs_scan_info *)0)->measurement)]; /* that it was measured in */
	float bandwidth; /* relative, of that scan's header; 0: unsaid */
	float dwell_us;  /* 0: unsaid */
	uint32_t coils, readouts;
	uint64_t samples;                                /* of each coil, 0: none yet */
	double sum[(size_t)BS_COILS_MAX * BS_COILS_MAX]; /* packed as core/frame/gram.h says */
};

/* An empty one, of the scan that this header announces. */
void bs_noise_start(struct bs_noise *n, const struct bs_scan_info *info);
/*
 * gram: of this readout alone (core/frame/gram.h). False: it has other coils or another dwell time
 * than the first, or a value is not finite; it is not added.
 */
bool bs_noise_add(struct bs_noise *n, const double *gram, uint32_t coils, uint32_t samples,
		  float dwell_us);

/* Of readouts with this dwell time: what Psi is multiplied by. */
double bs_noise_scale(const struct bs_noise *n, float dwell_us);
/* Psi * scale: psi[coils][coils] complex, column-major as gpu/calibrate/dense.h has it. */
void bs_noise_covariance(const struct bs_noise *n, double scale, double *psi);
/* The standard deviation of one coil's complex noise, after scaling: the root of Psi_ii. */
double bs_noise_deviation(const struct bs_noise *n, double scale, uint32_t coil);

#ifdef __cplusplus
}
#endif
#endif
