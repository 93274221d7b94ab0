/*
 * core/frame/encoding.h - readouts of the header's encodings behind the first (encoding_space_ref)
 *
 * A protocol is for the first encoding. Of another one it takes lines of its images that differ in
 * nothing but their field of view: they make images of their own, with that. And lines that
 * calibrate on their own limits, where they have the steps in k of the first encoding, its samples
 * and the protocol's coils (a FLASH reference of an EPI). All else is of no use to it: marked, then
 * counted as kind other, and said.
 * Pure; any thread. Test: test/unit/core/frame/test_encoding.c
 */
#ifndef BS_CORE_FRAME_ENCODING_H
#define BS_CORE_FRAME_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/frame/kind.h"
#include "core/mrd.h"
#include "core/protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a readout; NULL: the first, or one that is not kept. */
static inline const struct bs_mrd_encoding *bs_encoding_of(const struct bs_scan_info *info,
							   const struct bs_mrd_acq *head)
{
	const uint32_t ref = head->encoding_space_ref;

	return ref > 0 && ref < info->encodings && ref <= BS_ENCODINGS_MORE ? &info->more[ref - 1]
									    : NULL;
}

/* Sets BS_MRD_OF_ANOTHER in head, or takes it away. */
void bs_encoding_mark(const struct bs_protocol *p, const struct bs_scan_info *info,
		      struct bs_mrd_acq *head);

/* Marked readouts of a scan: by their flags they would be lines of its images, or calibration. */
struct bs_encodings_left {
	uint64_t lines, calibration, rest; /* rest: neither */
	uint64_t before;                   /* images that had left when the first line came */
	uint16_t ref;                      /* encoding_space_ref of the last one */
};
/* A marked one; images: that have left. */
void bs_encodings_see(struct bs_encodings_left *left, const struct bs_mrd_acq *head,
		      uint64_t images);
/* Of them all, or of lines alone; "": there are none. Returns out. */
#define BS_ENCODINGS_WORDS 160u
const char *bs_encodings_words(char *out, size_t cap, const struct bs_encodings_left *left,
			       const struct bs_scan_info *info, bool lines);

#ifdef __cplusplus
}
#endif
#endif
