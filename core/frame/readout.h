/*
 * core/frame/readout.h - where a line of the grid lies along kx: its center, its oversampling
 *
 * A protocol has k = 0 at one place of a forward line, and at N - 1 - place of a reversed line as
 * it is stored. center_sample may say that, or nothing: 0, or, of a whole line, N or more. Of a
 * whole forward line it may be one more: a magnitude is the same either way. Of reversed lines it
 * may be one more, too, and two kinds of senders write that: Siemens' converter copies the
 * scanner's number for either direction, and k = 0 lies one sample before it; by MRD's text k = 0
 * lies at it. The phase and shift of phase-correction lines correct either (epi.correct). Without
 * these the key reversed_center decides, or the header's vendor; else the first reading is taken,
 * and words say so.
 * encodedSpace may lack the oversampling of whole readouts, N / x, where that is a whole number: a
 * voxel is the same either way.
 * No allocation; any thread. Test: test/unit/core/frame/test_readout.c
 */
#ifndef BS_CORE_FRAME_READOUT_H
#define BS_CORE_FRAME_READOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mrd.h"
#include "core/protocol.h"

/*
 * The oversampling of readouts of so many samples that encodedSpace lacks. 1: it lacks none. 0:
 * samples is neither encoded_x nor a multiple of it.
 */
uint32_t bs_readout_oversampling(uint32_t samples, uint32_t encoded_x);
/*
 * The oversampling of the protocol's readouts, on the grid, that the header lacks. 1: it lacks
 * none. 0: no factor explains x.
 */
uint32_t bs_readout_oversampled(const struct bs_protocol *p, const struct bs_scan_info *info);

/* Returns true if the header's systemVendor is Siemens. */
bool bs_readout_siemens(const struct bs_scan_info *info);

/*
 * The sample at which the protocol has k = 0 of a line as it is stored, behind discarded samples.
 */
uint32_t bs_readout_center(const struct bs_protocol *p, bool reversed);
/* Returns true if the line's center_sample agrees with the protocol. */
bool bs_readout_fits(const struct bs_protocol *p, const struct bs_mrd_acq *head);
/* Whole lines are measured: no partial echoes. */
static inline bool bs_readout_whole(const struct bs_protocol *p)
{
	return p->samples == p->encoded[0];
}
bool bs_readout_lacks(const struct bs_protocol *p, const struct bs_mrd_acq *head, uint32_t *at);
/*
 * A forward line that lacks more than two samples of a whole line and less than half of them, at
 * either end: its center_sample tells which. *at: the line's first sample, counted in the whole
 * line.
 */
static inline bool bs_readout_short(const struct bs_protocol *p, const struct bs_mrd_acq *head,
				    uint32_t *at)
{
	return p->plan.encode == BS_ENCODE_LINES && bs_readout_whole(p) &&
	       bs_readout_lacks(p, head, at);
}
/*
 * A reversed line that was put into the order of k, its center_sample, too, has a center_sample
 * with two readings. By the second its samples belong one place later.
 */
bool bs_readout_doubtful(const struct bs_protocol *p, const struct bs_mrd_acq *head);
/* Returns true if the line's second reading is taken, and nothing else will correct the shift. */
bool bs_readout_late(const struct bs_protocol *p, const struct bs_mrd_acq *head);

/* Facts about the center_sample of a scan's lines. */
struct bs_readouts {
	bool reversed, doubtful;
	/* silent: some center_samples were 0; beyond: some were N or more */
	bool said, silent, beyond;
	bool next;       /* some center_samples were the sample behind k = 0 */
	bool calibrates; /* some lines are flagged for calibration */
	/* range of samples of all lines that were filled up; 0, 0: none was */
	uint32_t measured[2];
	/* measured samples of the last line that was filled up, by the last bits of its contrast */
	uint16_t last[8][2];
	uint32_t apart; /* samples of filled lines of one echo that lie a sample apart; 0: none */
};
void bs_readouts_see(struct bs_readouts *all, const struct bs_protocol *p,
		     const struct bs_mrd_acq *head);
/*
 * Returns true if there are two readings of reversed lines or of short ones, and neither data nor
 * header nor protocol tells which is right.
 */
bool bs_readouts_untold(const struct bs_readouts *all, const struct bs_protocol *p,
			const struct bs_scan_info *info);

/* Words about what was assumed that header and lines do not say; "": nothing. Returns out. */
#define BS_READOUT_WORDS 448u
const char *bs_readouts_words(char *out, size_t cap, const struct bs_readouts *all,
			      const struct bs_protocol *p, const struct bs_scan_info *info,
			      float epi_shift);
/* Words about which of the two readings was taken, and what would tell. Returns out. */
const char *bs_readouts_untold_words(char *out, size_t cap, const struct bs_readouts *all,
				     const struct bs_protocol *p);

#endif
