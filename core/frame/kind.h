/*
 * core/frame/kind.h - what a readout is for, by its flags, and how many of each kind a scan brought
 *
 * A readout has one kind, the first of this list that holds: other (of an encoding that the
 * protocol has no use for; core/frame/encoding.h), noise, dummy, phase correction, navigation,
 * feedback, other (surface coil correction, phase stabilization reference), imaging, calibration. A
 * line of the image that also serves for calibration (MRD flag 21) is imaging. ipc/WIRE.md has the
 * table of all flags. Counts are kept twice, by the same functions: by ingest for the outcome and
 * the status, by core/frame/recon.c for the images.
 * No state. Test: test/unit/core/test_kind.c
 */
#ifndef BS_CORE_FRAME_KIND_H
#define BS_CORE_FRAME_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mrd.h"
#include "core/protocol.h"

BS_C_BEGIN

/* OUTCOME has the kinds in this order on the wire: append only. */
enum bs_kind {
	BS_KIND_IMAGING,
	BS_KIND_NOISE,
	BS_KIND_CALIBRATION,
	BS_KIND_NAVIGATION,
	BS_KIND_PHASE_CORRECTION,
	BS_KIND_FEEDBACK,
	BS_KIND_DUMMY,
	BS_KIND_OTHER,
	BS_KINDS
};

struct bs_kinds {
	uint64_t used[BS_KINDS];   /* numbers of readouts that the protocol uses */
	uint64_t unused[BS_KINDS]; /* numbers of readouts that the protocol does not use */
};

/*
 * The order of tests matters where a readout has several flags: phase-correction lines of a
 * calibration scan carry both flags, and are no calibration lines.
 */
static inline enum bs_kind bs_mrd_kind(uint64_t flags)
{
	if (flags & (BS_MRD_OF_ANOTHER | BS_MRD_MISFIT))
		return BS_KIND_OTHER;
	if (flags & BS_MRD_IS_NOISE)
		return BS_KIND_NOISE;
	if (flags & BS_MRD_IS_DUMMY)
		return BS_KIND_DUMMY;
	if (flags & BS_MRD_IS_PHASE_CORRECTION)
		return BS_KIND_PHASE_CORRECTION;
	if (flags & BS_MRD_IS_NAVIGATION)
		return BS_KIND_NAVIGATION;
	if (flags & (BS_MRD_IS_FEEDBACK | BS_MRD_IS_RT_FEEDBACK))
		return BS_KIND_FEEDBACK;
	if (flags &
	    (BS_MRD_IS_COIL_CORRECTION | BS_MRD_IS_STABILIZATION_REF | BS_MRD_IS_STABILIZATION))
		return BS_KIND_OTHER;
	if (flags & BS_MRD_IS_CALIBRATION_TOO)
		return BS_KIND_IMAGING;
	return flags & BS_MRD_IS_CALIBRATION ? BS_KIND_CALIBRATION : BS_KIND_IMAGING;
}
/*
 * Clears the flag of surface coil correction on a readout that has a line's channels, samples and
 * encoding: Siemens' converter flags ordinary lines so, too.
 */
static inline void bs_kind_sort(struct bs_mrd_acq *head, uint32_t coils, uint32_t samples)
{
	if (head->active_channels == coils && head->encoding_space_ref == 0 &&
	    head->number_of_samples == samples + head->discard_pre + head->discard_post)
		head->flags &= ~BS_MRD_IS_COIL_CORRECTION;
}
/* Returns the name of a kind, "phase correction"; "?": no such kind. */
const char *bs_kind_name(enum bs_kind kind);

/*
 * Returns true if the protocol uses readouts of this kind: lines of the image, and the kinds that
 * its .uses names.
 */
static inline bool bs_kind_used(const struct bs_protocol *p, enum bs_kind kind)
{
	return kind == BS_KIND_IMAGING || (p->uses >> (unsigned)kind & 1u) != 0;
}

/* Returns true if the protocol answers readouts of this kind (core/answer/answer.h). */
static inline bool bs_kind_answered(const struct bs_protocol *p, enum bs_kind kind)
{
	return (p->answers.kinds >> (unsigned)kind & 1u) != 0;
}

/* Returns true if calibration lines lie between those of images, as the header says. */
static inline bool bs_scan_embedded(const struct bs_scan_info *info)
{
	return info->calibration == BS_CALIBRATION_EMBEDDED ||
	       info->calibration == BS_CALIBRATION_INTERLEAVED;
}

/*
 * Returns true if this scan's calibration lines are lines of its images, too, whatever their
 * flags. Lines of one slice are none of an image of several.
 */
static inline bool bs_scan_embeds(const struct bs_protocol *p, const struct bs_scan_info *info)
{
	return p->plan.embeds && bs_scan_embedded(info);
}

/*
 * Returns true if the protocol uses this readout of the scan. Calibration lines beside the images
 * are used only by methods that calibrate, and of summed averages only those of the first.
 */
static inline bool bs_scan_uses(const struct bs_protocol *p, const struct bs_scan_info *info,
				enum bs_kind kind, uint32_t average)
{
	const bool first = !bs_plan_has(&p->plan, BS_PLAN_AVERAGE) || average == 0;

	return bs_kind_used(p, kind) && (kind != BS_KIND_CALIBRATION ||
					 (p->plan.calibrates && first) || bs_scan_embeds(p, info));
}

uint64_t bs_kinds_sum(const struct bs_kinds *k);

/*
 * Writes one sentence about unused readouts: "33 of 69 readouts are calibration and this protocol
 * does not use them"; "" when all are used. Returns out, NUL-terminated within cap.
 */
#define BS_KINDS_WORDS 384u /* bytes of a text that bs_kinds_words always fits in */
const char *bs_kinds_words(char *out, size_t cap, const struct bs_kinds *k);

BS_C_END
#endif
