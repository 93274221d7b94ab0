/*
 * core/frame/readout.h - where a line of the grid lies along kx: its center, its oversampling
 *
 * A protocol has k = 0 at one place of a forward line, N - 1 - place of a reversed one, as it is
 * stored. center_sample may say that, or nothing: 0, or, of a whole line, N or more; or, of a whole
 * forward line, one more: a magnitude is the same with it or without. Of reversed
 * lines it may be one more than that, by two kinds of senders: Siemens' converter copies what the
 * scanner has for either direction, and k = 0 lies one sample before it; by MRD's text k = 0 lies
 * there. The phase and shift of phase-correction lines take care of either (epi.correct); else the
 * key reversed_center says which, or the header's vendor, or the first is taken, in words.
 * encodedSpace may lack the oversampling of whole readouts, N / x where that is a whole number: a
 * voxel is the same with it or without.
 * No allocation; any thread. Test: test/unit/core/frame/test_readout.c
 */
#ifndef BS_CORE_FRAME_READOUT_H
#define BS_CORE_FRAME_READOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mrd.h"
#include "core/protocol.h"

/* Of readouts of so many samples; 1: encodedSpace has it, 0: neither as many nor a multiple. */
uint32_t bs_readout_oversampling(uint32_t samples, uint32_t encoded_x);
/* Of the protocol's readouts, on the grid, that the header lacks; 1: nothing, 0: none explains x */
uint32_t bs_readout_oversampled(const struct bs_protocol *p, const struct bs_scan_info *info);

/* systemVendor of the header is Siemens. */
bool bs_readout_siemens(const struct bs_scan_info *info);

/* Where the protocol has k = 0 of such a line, as it is stored, behind what is discarded. */
uint32_t bs_readout_center(const struct bs_protocol *p, bool reversed);
/* The line's center_sample may be read so. */
bool bs_readout_fits(const struct bs_protocol *p, const struct bs_mrd_acq *head);
/*
 * A forward line that lacks more than two samples of a whole one and less than half of them,
 * wherever: its center_sample tells. at: of the whole line, the first of those that it has.
 */
bool bs_readout_short(const struct bs_protocol *p, const struct bs_mrd_acq *head, uint32_t *at);
/*
 * A reversed line that was put into the order of k, its center_sample, too: that has two readings.
 * By the second its samples belong one place later.
 */
bool bs_readout_doubtful(const struct bs_protocol *p, const struct bs_mrd_acq *turned);
/* It is read as the second, and nothing else will take care of it. */
bool bs_readout_late(const struct bs_protocol *p, const struct bs_mrd_acq *turned);

/* A scan's lines, by their center_sample. */
struct bs_readouts {
	bool reversed, doubtful;
	bool said, silent, beyond; /* 0: silent; N or more: beyond */
	bool next;                 /* the sample behind k = 0 */
	bool calibrates;           /* some are flagged for it */
	uint32_t measured[2];      /* samples of all lines that were filled up; 0, 0: none was */
};
void bs_readouts_see(struct bs_readouts *all, const struct bs_protocol *p,
		     const struct bs_mrd_acq *turned);
/* Two readings, and neither data nor header nor protocol tell which is right. */
bool bs_readouts_untold(const struct bs_readouts *all, const struct bs_protocol *p,
			const struct bs_scan_info *info);

/* What was taken that the header and the lines do not say; "": nothing. Returns out. */
#define BS_READOUT_WORDS 448u
const char *bs_readouts_words(char *out, size_t cap, const struct bs_readouts *all,
			      const struct bs_protocol *p, const struct bs_scan_info *info,
			      float epi_shift);
/* Of untold ones, which of the two was taken, and what would tell. */
const char *bs_readouts_untold_words(char *out, size_t cap, const struct bs_protocol *p);

#endif
