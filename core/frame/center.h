/*
 * core/frame/center.h - where the center of k-space lies among a scan's lines, along ky and kz
 *
 * The center is counted as kspace_encode_step_1 and _2 are. The header's limits give it, and each
 * readout may give it in idx.user[5] and [6] (0: it does not), as Siemens' scanners do: converters
 * write the limits of a partial scan with the center of a whole one. So the readouts' center is
 * taken, unless the limits would then leave the encoded grid and do not with their own center.
 * Along an axis that readouts say nothing of, the limits' center is taken, or half of the grid
 * where there are no limits.
 * Partial Fourier is completed about the center. Where readouts give no center that fits, the
 * strongest line of the frame must lie at the center: off by no more than the widest gap between
 * lines, or by a quarter of what is left out or of the shorter side, whichever is less. Else the
 * axis is left as zeros, as it is where the center was not measured.
 * No state, no allocation; any thread. Test: test/unit/core/frame/test_center.c
 */
#ifndef BS_CORE_FRAME_CENTER_H
#define BS_CORE_FRAME_CENTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mrd.h"

struct bs_center {
	uint32_t line[2];   /* the line of the center; it lies on the grid at size / 2 */
	uint32_t header[2]; /* center of the limits; without limits half of the grid */
	bool told[2];       /* a readout gave the center */
	bool unsaid[2];     /* the header has no limits */
};

/* size: the encoded grid along ky and kz. idx: a line's counters; NULL: no line has come yet. */
void bs_center_of(struct bs_center *c, const uint32_t size[2], const struct bs_scan_info *info,
		  const struct bs_mrd_idx *idx);
/*
 * The line on the grid that a readout is, by the limits of its own encoding. It lies outside the
 * grid where the readout is none of its lines.
 */
void bs_center_place(int64_t line[2], struct bs_center *c, const uint32_t size[2],
		     const struct bs_scan_info *info, const struct bs_mrd_acq *head);
/* The sum of |d|^2 over a readout, which tells the strongest line. */
float bs_center_energy(const float *data, size_t stride, uint32_t channels, uint32_t samples);

/* The lines that came along an axis. */
struct bs_span {
	uint32_t from, to; /* indices [from, to); the whole axis where both sides are alike */
	uint32_t widest;   /* widest gap between lines; 1: there is no gap */
};
/*
 * Finds the spans along ky and kz. lines [kz][ky]: not 0 where a line came; k = 0 is in the middle.
 * An axis whose sides differ by no more than the widest gap between its lines counts as whole. A
 * span also includes lines beyond the outermost ones, by less than the gap beside these: an
 * accelerated scan leaves them out as it does those between.
 */
void bs_center_spans(struct bs_span spans[2], const uint8_t *lines, const uint32_t size[2]);

/*
 * The axes that partial Fourier leaves as zeros (bit 0: ky, 1: kz). strongest: index of the
 * strongest line in lines.
 */
uint32_t bs_center_unknown(const struct bs_center *c, const uint32_t size[2], const uint8_t *lines,
			   uint32_t strongest);

/*
 * Words that say where the center was taken from; "" where the limits have the same. Returns out.
 */
#define BS_CENTER_WORDS 160u
const char *bs_center_words(char *out, size_t cap, const struct bs_center *c);
/* Words that say why axes were left as zeros. Returns out. */
const char *bs_center_unknown_words(char *out, size_t cap, const struct bs_center *c,
				    const uint32_t size[2], uint32_t axes, uint32_t strongest);

#endif
