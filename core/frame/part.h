/*
 * core/frame/part.h - a reconstruction from inside: for recon.c (frames) and arm.c (arming) alone
 */
#ifndef BS_CORE_FRAME_PART_H
#define BS_CORE_FRAME_PART_H

#include "core/frame/recon.h"

struct seat;

/* A sliding window: the groups that ended, by their number in the table. */
struct window {
	uint8_t *held;   /* [group]: its share is of use */
	uint32_t *count; /* [group]: readouts that it holds */
	uint32_t group;  /* the newest one */
	uint32_t passed; /* groups since the scan began, up to a window's */
	bool unfolded;   /* the newest one is not among the shares yet */
};

/* A frame's slot: one per slice and contrast, reused for every repetition (and group of a window). */
struct frame {
	enum { FRAME_EMPTY, FRAME_FILLING, FRAME_READY } state;
	uint64_t key; /* repetition, set, phase, average: what makes it another image */
	uint32_t have;
	uint8_t *row;            /* [rows]: 1 = this readout is in */
	const struct seat *seat; /* the engine that it began with */
	struct bs_mrd_acq first, last;
	int64_t last_ns;
	bool preview_due;
	struct window w;
};

struct seat {
	const struct bs_engine *engine; /* NULL: nobody sits there */
	void *self;
};

struct bs_recon {
	const struct bs_protocol *p;
	struct seat seat[2]; /* the method's own, and the gridding that may stand in for it */
	struct bs_aim aim;
	const struct bs_engine *preview; /* whose peek is used; NULL: no previews */
	void *preview_self;              /* armed beside, or the method's own */
	struct bs_protocol preview_p, stand_in_p;
	struct frame *frame;
	uint32_t frames, rows;
	uint32_t groups;  /* of a window; 0: none */
	uint32_t dropped; /* readouts that belong to no image */
	uint16_t image_index, preview_index;
	uint16_t series;
	float fov_mm[3];
};

#endif
