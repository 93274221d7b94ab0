/*
 * core/flow/flow.h - velocities: images of a set against set 0 (image.output velocity)
 *
 * Set 0 is the reference: its image leaves as a magnitude, and its coil images are kept (struct
 * bs_flow) until as many other frames as there are places have come. The image of each other set is
 * VENC / pi arg(sum over coils of I_n conj(I_0)) in cm/s, against the set 0 of its slice, contrast,
 * phase, repetition and average. An image waits for that set 0 until its frame's place is needed;
 * if set 0 does not come, a magnitude marked `partial` leaves, and no velocity. VENC is the scan's
 * own key (core/plan/scankey.h), or the header's VENC_0, or image.venc.
 * This file decides what each place is for; engines hold what is in the places. One thread per
 * struct.
 * Test: test/unit/core/frame/test_flow.c
 */
#ifndef BS_CORE_FLOW_FLOW_H
#define BS_CORE_FLOW_FLOW_H

#include <stdbool.h>

#include "core/frame/open.h"

struct bs_recon_image;

struct bs_flow_kept {
	bool held;
	bool cut; /* the image's solver was stopped by a deadline */
	struct bs_mrd_idx idx;
	uint64_t number; /* number of the kept frame's image; the oldest frame has the least */
	int64_t last_ns;
	char lacks[160]; /* what the kept frame's image lacks, cut to size; "": nothing */
};

struct bs_flows {
	const struct bs_protocol *p;
	struct bs_flow_kept *place; /* [places]; bs_protocol_references is their number */
	uint32_t places;            /* number of places; 0: the protocol makes no velocities */
	float venc;                 /* VENC of the scan in cm/s */
	bool closed;                /* no more lines of this scan will come */
};

/*
 * Checks the header against image.output velocity: VENC is known and a speed, and there are sets.
 */
int bs_flow_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		  struct bs_fail *why);

int bs_flows_arm(struct bs_flows *f, const struct bs_protocol *p, struct bs_fail *why);
void bs_flows_disarm(struct bs_flows *f);
void bs_flows_scan(struct bs_flows *f, const struct bs_protocol *p,
		   const struct bs_scan_info *info);
/*
 * Makes those frames wait that are over and whose set 0 is not there. After the scan's close they
 * wait as long as other frames leave.
 */
void bs_flows_hold(const struct bs_flows *f, struct bs_opens *o);
static inline void bs_flows_wait(const struct bs_flows *f, struct bs_opens *o)
{
	if (f->places > 0)
		bs_flows_hold(f, o);
}
/* The functions below need places > 0. */
/* Decides what the image of this frame becomes: sets image->report.flow and nothing else. */
void bs_flows_aim(const struct bs_flows *f, const struct bs_mrd_idx *idx,
		  struct bs_recon_image *image);
/* Adds to the described image what its set 0 lacks, and when that set 0 was there. */
void bs_flows_say(const struct bs_flows *f, const struct bs_mrd_idx *idx,
		  struct bs_recon_image *image);
/* Notes that the image is made; an image of set 0 is kept from now on. */
void bs_flows_made(struct bs_flows *f, const struct bs_mrd_idx *idx, struct bs_recon_image *image);

#endif
