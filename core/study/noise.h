/*
 * core/study/noise.h - what the receivers' noise is, from readouts of noise alone
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
	char scan[sizeof(((struct bs_scan_info *)0)->measurement)]; /* that it was measured in */
	float bandwidth; /* relative, of that scan's header; 0: unsaid */
	float dwell_us;  /* 0: unsaid */
	uint32_t coils, readouts;
	uint64_t samples;        /* of each coil, 0: none yet */
	struct bs_labels labels; /* of that scan */
	struct bs_match match;   /* of its coils and those of the scan at hand */
	double sum[(size_t)BS_COILS_MAX * BS_COILS_MAX]; /* packed as core/study/gram.h says */
};

/* An empty one, of the scan that this header announces. */
void bs_noise_start(struct bs_noise *n, const struct bs_scan_info *info);
/*
 * gram: of this readout alone (core/study/gram.h). False: it has other coils or another dwell time
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

/* Whether a readout of noise can be summed: its channels, and what it says is to be discarded. */
static inline bool bs_noise_fits(const struct bs_mrd_acq *head)
{
	return head->active_channels >= 1 && head->active_channels <= BS_COILS_MAX &&
	       (uint32_t)head->discard_pre + head->discard_post <= head->number_of_samples;
}
/* Its Gram matrix, without the discarded samples; data [channel][sample], maybe unaligned. */
void bs_noise_gram(double *gram, const struct bs_mrd_acq *head, const void *data);

/*
 * What a scan knows of its noise: from its own readouts of noise, else of an earlier scan's. Its
 * readouts of noise come before all that it uses; from the first of those on nothing is added.
 */
struct bs_scan_noise {
	struct bs_noise noise;
	uint32_t own;    /* its own readouts, which take the place of an earlier scan's */
	uint32_t frozen; /* another readout came that the protocol uses */
};

/*
 * earlier: copied, with its scan's name, unless its coils have other names (match.by is then
 * BS_MATCHED_NONE); NULL: none is known.
 */
void bs_scan_noise_open(struct bs_scan_noise *s, const struct bs_scan_info *info,
			const struct bs_noise *earlier);
/* What it says, without the sums of coils that it has none of. */
void bs_scan_noise_copy(struct bs_scan_noise *to, const struct bs_scan_noise *from);
/* A readout of noise, by its Gram matrix. False: it is not used. */
bool bs_scan_noise_add(struct bs_scan_noise *s, const struct bs_scan_info *info,
		       const struct bs_mrd_acq *head, const double *gram);
/*
 * Another readout that the protocol uses is at hand. BS_ERR_CALIBRATION, with what is lacking,
 * where the protocol requires noise and there is none that fits. Once it fits, later calls cost
 * nothing.
 */
int bs_scan_noise_freeze(struct bs_scan_noise *s, const struct bs_protocol *p,
			 const struct bs_scan_info *info, struct bs_fail *why);

/* Of the last scans that had any, by their measurementID. */
#define BS_NOISE_KEPT 8u
struct bs_noise_kept {
	struct bs_noise noise[BS_NOISE_KEPT];
	uint32_t next;
};

/* Takes the place of the oldest, or of one of the same scan. Without a name or samples: nothing. */
void bs_noise_keep(struct bs_noise_kept *k, const struct bs_noise *n);
/* NULL: none of that name. */
const struct bs_noise *bs_noise_find(const struct bs_noise_kept *k, const char *scan);

#endif
