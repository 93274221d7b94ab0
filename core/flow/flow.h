/*
 * core/flow/flow.h - velocities: images of a set against set 0 (image.output velocity)
 *
 * Set 0 is the reference: its image leaves as magnitude, and its coil images are kept (struct
 * bs_flow) until those of as many other frames have come. Each other set's image is VENC / pi
 * arg(sum over coils of I_n conj(I_0)) in cm/s, of the set 0 that has its slice, contrast, phase,
 * repetition and average. It waits for that set 0 as long as its frame need not go; without it a
 * magnitude leaves, `partial`, and no velocity. VENC is the header's VENC_0, else image.venc.
 * Which places there are is told here, what is in them engines hold. One thread per struct.
 * Test: test/unit/core/frame/test_flow.c
 */
#ifndef BS_CORE_FLOW_FLOW_H
#define BS_CORE_FLOW_FLOW_H

#include <stdbool.h>

#include "core/engine.h"
#include "core/frame/open.h"

struct bs_recon_image;

struct bs_flow_kept {
	bool held;
	bool cut; /* its solver was stopped by a deadline */
	struct bs_mrd_idx idx;
	uint64_t number; /* its image's: the least is the oldest */
	int64_t last_ns;
	char lacks[160]; /* what its image lacks, cut to size; "": nothing */
};

struct bs_flows {
	const struct bs_protocol *p;
	struct bs_flow_kept *place; /* bs_protocol_references */
	uint32_t places;            /* 0: no velocities */
	float venc;                 /* cm/s, the scan's */
	bool closed;                /* no more lines come */
};

/* The header against image.output velocity: there is a VENC, and it is one; there are sets. */
int bs_flow_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		  struct bs_fail *why);

int bs_flows_arm(struct bs_flows *f, const struct bs_protocol *p, struct bs_fail *why);
void bs_flows_disarm(struct bs_flows *f);
void bs_flows_scan(struct bs_flows *f, const struct bs_protocol *p,
		   const struct bs_scan_info *info);
/*
 * Of frames that are over, those whose set 0 is not there wait; of a scan that is closed as long as
 * others leave.
 */
void bs_flows_hold(const struct bs_flows *f, struct bs_opens *o);
static inline void bs_flows_wait(const struct bs_flows *f, struct bs_opens *o)
{
	if (f->places > 0)
		bs_flows_hold(f, o);
}
/* What follows is for where there are places. */
/* What an image of this frame is: image->report.flow. Nothing else is changed. */
void bs_flows_aim(const struct bs_flows *f, const struct bs_mrd_idx *idx,
		  struct bs_recon_image *image);
/* Of the same image, described: what its set 0 lacks, and when that was there. */
void bs_flows_say(const struct bs_flows *f, const struct bs_mrd_idx *idx,
		  struct bs_recon_image *image);
/* The image is made: a set 0 is kept from now on. */
void bs_flows_made(struct bs_flows *f, const struct bs_mrd_idx *idx, struct bs_recon_image *image);

#endif
