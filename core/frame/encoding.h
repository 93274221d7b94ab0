/*
 * core/frame/encoding.h - readouts of the header's encodings behind the first (encoding_space_ref)
 *
 * A protocol is made for the first encoding. Of another encoding it takes two kinds of lines. Lines
 * of images that differ in nothing but their field of view make images of their own, with that
 * field of view. Lines that calibrate on limits of their own are taken where they have the steps in
 * k of the first encoding, its samples and the protocol's coils (a FLASH reference of an EPI). The
 * protocol has no use for any other readout: it is marked, then counted as kind other, and the
 * images say so.
 * Pure; any thread. Test: test/unit/core/frame/test_encoding.c
 */
#ifndef BS_CORE_FRAME_ENCODING_H
#define BS_CORE_FRAME_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/frame/kind.h"
#include "core/mrd.h"
#include "core/protocol.h"

/* The encoding of a readout; NULL: it is the first, or one that is not kept. */
static inline const struct bs_mrd_encoding *bs_encoding_of(const struct bs_scan_info *info,
							   const struct bs_mrd_acq *head)
{
	const uint32_t ref = head->encoding_space_ref;

	return ref > 0 && ref < info->encodings && ref <= BS_ENCODINGS_MORE ? &info->more[ref - 1]
									    : NULL;
}

/* Returns true if the readout is a misfit: of a body coil between an array's readouts, or empty. */
static inline bool bs_encoding_misfit(const struct bs_protocol *p, const struct bs_scan_info *info,
				      const struct bs_mrd_acq *head)
{
	return head->number_of_samples == 0 || head->active_channels == 0 ||
	       (info->channels == p->coils && head->active_channels != p->coils);
}
/* Sets the marks of a readout that may have one. */
void bs_encoding_judge(const struct bs_protocol *p, const struct bs_scan_info *info,
		       struct bs_mrd_acq *head);
/*
 * Sets or clears two marks in head: BS_MRD_OF_ANOTHER, and, for any encoding, BS_MRD_MISFIT where a
 * readout has other channels than header and protocol, or no channel, or no sample.
 */
static inline void bs_encoding_mark(const struct bs_protocol *p, const struct bs_scan_info *info,
				    struct bs_mrd_acq *head)
{
	head->flags &= ~(BS_MRD_OF_ANOTHER | BS_MRD_MISFIT | BS_MRD_FILLED | BS_MRD_FOLDED);
	if (head->encoding_space_ref != 0 || bs_encoding_misfit(p, info, head))
		bs_encoding_judge(p, info, head);
}

/*
 * Counts of a scan's marked readouts, by what their flags make of them: lines of images, or
 * calibration.
 */
struct bs_encodings_left {
	/* counts of readouts; rest: neither lines nor calibration */
	uint64_t lines, calibration, rest;
	uint64_t before; /* number of images that had left when the first marked line came */
	uint16_t ref;    /* encoding_space_ref of the last marked readout */
};
/* Counts a marked readout. images: number of images that have left. */
void bs_encodings_see(struct bs_encodings_left *left, const struct bs_mrd_acq *head,
		      uint64_t images);
/* Words about all marked readouts, or about lines alone; "": there are none. Returns out. */
#define BS_ENCODINGS_WORDS 160u
const char *bs_encodings_words(char *out, size_t cap, const struct bs_encodings_left *left,
			       const struct bs_scan_info *info, bool lines);

#endif
