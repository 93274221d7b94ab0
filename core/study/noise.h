/*
 * core/study/noise.h - the covariance of the receivers' noise, from readouts of noise alone
 *
 * start -> add, one Gram matrix per readout, in the order of the stream; then covariance,
 * deviation. Psi_ij = E[n_i conj n_j] is the sum over samples divided by their number less one.
 * Noise was sampled with its own dwell time, through a receiver whose noise bandwidth is the
 * sampling bandwidth times the header's relativeReceiverNoiseBandwidth. The covariance in readouts
 * with another dwell time is Psi * (dwell of the noise / dwell of the readouts) / bandwidth
 * (scale). What a header does not say counts as no difference.
 * Sums are in double and in a fixed order: the same readouts give the same bytes. A plain structure
 * without pointers, all zero when empty: it may lie in shared memory. No thread rules of its own,
 * allocates nothing. Source: Hansen et al., Magn Reson Med 2014;71:1 (relative noise bandwidth);
 * Pruessmann et al., Magn Reson Med 1999;42:952 (noise covariance).
 * Test: test/unit/core/test_noise.c
 */
#ifndef BS_CORE_STUDY_NOISE_H
#define BS_CORE_STUDY_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/study/labels.h"
#include "core/mrd.h"
#include "core/protocol.h"

struct bs_noise {
	/* scan that the noise was measured in */
	char scan[sizeof(((struct bs_scan_info *)0)->measurement)];
	/* relative noise bandwidth in the header of the noise's scan; 0: not said */
	float bandwidth;
	float dwell_us; /* dwell time of the noise; 0: not said */
	uint32_t coils, readouts;
	uint64_t samples;        /* samples of each coil; 0: none yet */
	struct bs_labels labels; /* coil labels of the scan that brought the noise */
	/* how the coils of the noise's scan match those of the present scan */
	struct bs_match match;
	/* Gram matrix, packed as in core/study/gram.h */
	double sum[(size_t)BS_COILS_MAX * BS_COILS_MAX];
};

/* Starts an empty sum for the scan that this header announces. */
void bs_noise_start(struct bs_noise *n, const struct bs_scan_info *info);
/*
 * Adds one readout's Gram matrix (core/study/gram.h). False: the readout has other coils or another
 * dwell time than the first, or a value is not finite; it is not added.
 */
bool bs_noise_add(struct bs_noise *n, const double *gram, uint32_t coils, uint32_t samples,
		  float dwell_us);

/* The factor that Psi is multiplied by for readouts with this dwell time. */
double bs_noise_scale(const struct bs_noise *n, float dwell_us);
/* Writes Psi * scale: psi[coils][coils] complex, column-major as in gpu/calibrate/dense.h. */
void bs_noise_covariance(const struct bs_noise *n, double scale, double *psi);
/* Returns the standard deviation of a coil's complex noise after scaling, the root of Psi_ii. */
double bs_noise_deviation(const struct bs_noise *n, double scale, uint32_t coil);

/*
 * Returns true if a readout of noise can be summed: its number of channels and of discarded samples
 * allow it.
 */
static inline bool bs_noise_fits(const struct bs_mrd_acq *head)
{
	return head->active_channels >= 1 && head->active_channels <= BS_COILS_MAX &&
	       (uint32_t)head->discard_pre + head->discard_post <= head->number_of_samples;
}
/*
 * Computes the Gram matrix of a noise readout without discarded samples; data [channel][sample] may
 * be unaligned.
 */
void bs_noise_gram(double *gram, const struct bs_mrd_acq *head, const void *data);

/*
 * The noise that a scan works with: from its own readouts of noise, else from an earlier scan's.
 * Readouts of noise come before all others that the scan uses; after the first of these no noise is
 * added.
 */
struct bs_scan_noise {
	struct bs_noise noise;
	uint32_t own; /* noise readouts of the scan itself, which replace an earlier scan's */
	/* another readout that the protocol uses has come: the noise no longer changes */
	uint32_t frozen;
};

/*
 * earlier: the noise of an earlier scan. It is copied, with that scan's name, unless its coils have
 * other names (match.by is then BS_MATCHED_NONE). NULL: none is known.
 */
void bs_scan_noise_open(struct bs_scan_noise *s, const struct bs_scan_info *info,
			const struct bs_noise *earlier);
/* Copies the noise, without sums of coils that it does not have. */
void bs_scan_noise_copy(struct bs_scan_noise *to, const struct bs_scan_noise *from);
/* Adds a readout of noise, by its Gram matrix. False: it is not used. */
bool bs_scan_noise_add(struct bs_scan_noise *s, const struct bs_scan_info *info,
		       const struct bs_mrd_acq *head, const double *gram);
/*
 * Call when another readout that the protocol uses has come. Returns BS_ERR_CALIBRATION, with what
 * is lacking, where the protocol requires noise and there is none that fits. Once it fits, later
 * calls cost nothing.
 */
int bs_scan_noise_freeze(struct bs_scan_noise *s, const struct bs_protocol *p,
			 const struct bs_scan_info *info, struct bs_fail *why);

/* Noise of the last scans that measured any, found by their measurementID. */
#define BS_NOISE_KEPT 8u
struct bs_noise_kept {
	struct bs_noise noise[BS_NOISE_KEPT];
	uint32_t next;
};

/*
 * Keeps n in place of the oldest one, or of one of the same scan. Noise without a name or samples
 * is not kept.
 */
void bs_noise_keep(struct bs_noise_kept *k, const struct bs_noise *n);
/* Returns NULL where there is no noise of the scan that is named. */
const struct bs_noise *bs_noise_find(const struct bs_noise_kept *k, const char *scan);

#endif
