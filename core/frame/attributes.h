/*
 * core/frame/attributes.h - the attributes that travel with an image: names and values
 *
 * Names and units are documented in ipc/WIRE.md. Writes into the caller's buffer, allocates
 * nothing, never cuts an element: BS_ERR_NOMEM when cap is too small.
 * Test: test/unit/core/test_attributes.c, test/unit/core/test_recon.c
 */
#ifndef BS_CORE_FRAME_ATTRIBUTES_H
#define BS_CORE_FRAME_ATTRIBUTES_H

#include "core/latency/budget.h"
#include "core/frame/recon.h"
#include "core/frame/step.h"

/*
 * The times of an image's events, by bs_now_ns's clock. A time that is not known is 0 and left out
 * of the attributes. `boreside recon` has no sender, no ingest and no emit: readouts count as
 * received when they are read.
 */
struct bs_image_timing {
	/* latency of the image when its attributes are written; 0: not measured */
	int64_t latency_ns;
	int64_t sender_ns; /* time_ns of the last readout's envelope; 0: not known */
	uint64_t gaps, duplicates, rejected; /* counts of the scan so far */
	/*
	 * Times of the last readout: received, checked and handed to recon, taken up, accumulated.
	 */
	int64_t received_ns, handed_ns, taken_ns, added_ns;
	/* when making the image began and ended; when emit took the image up */
	int64_t begun_ns, made_ns, passed_ns;
	enum bs_rung rung;
	const struct bs_step_result *step; /* the image at its step; NULL: at none */
};

/* Finds the times of all stages of an image: those of the engine, and those
 * between the time stamps. */
void bs_image_stages(const struct bs_image_timing *t, const struct bs_report *report,
		     int64_t until_ns, int64_t stage_ns[BS_BUDGET_STAGES]);

/*
 * fill writes numbers into the image head's user_int and user_float; write makes the list of all
 * attributes, as pairs (core/text.h). about: what the scan's header says that takers may want
 * (struct bs_scan_info), or NULL.
 */
void bs_attributes_fill(struct bs_mrd_image *head, const struct bs_protocol *p,
			const struct bs_recon_image *image, const struct bs_image_timing *timing);
int bs_attributes_write(char *out, size_t cap, const struct bs_protocol *p, const char *engine,
			const struct bs_recon_image *image, const struct bs_image_timing *timing,
			const char *about);
/* Writes the list of attributes as MRD's XML, <ismrmrdMeta>; returns its length. */
int bs_attributes_xml(char *out, size_t cap, const char *attributes);

#endif
