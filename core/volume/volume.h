/*
 * core/volume/volume.h - slices joined into volumes (image.volume)
 *
 * A volume has the slices of one contrast, phase, set, repetition, encoding, and average where each
 * average makes an image; of what a scan's stack.h says. Slices come as images that are made, in
 * any order. A volume is over
 * - with the image that makes it whole;
 * - with a later volume of its kind (which differs in repetition or average alone) that began
 * behind its last slice, once that one is whole;
 * - when so many volumes have begun behind it as may be open (a ring);
 * - with the scan.
 * A slice that did not come is zeros; the image names it, and slices that are partial.
 * Volumes are numbered as they leave. Of the volumes that begin after a resume, those whose number
 * can only be one that was handed on before are passed over; of others the slices are made.
 * A solver's deadline: each slice has an equal share of the time until the volume is due, which is
 * known by how long before the volume's last line the slice's own came in volumes before.
 *
 * need, arm -> { scan -> { place -> join }* -> close }*, and leave wherever due says so. After arm
 * nothing is allocated. One thread. Test: test/unit/core/volume/test_volume.c
 */
#ifndef BS_CORE_VOLUME_VOLUME_H
#define BS_CORE_VOLUME_VOLUME_H

#include "core/frame/recon.h"
#include "core/volume/stack.h"

/* What became of a slice. Of a missing one, and of an unlike one, the pixels are zeros. */
enum bs_slice_state {
	BS_SLICE_MISSING,
	BS_SLICE_WHOLE,
	BS_SLICE_PARTIAL,
	/* the slice lies elsewhere than the volume's first slice and the scan's stack say */
	BS_SLICE_ASTRAY,
	BS_SLICE_UNLIKE /* the slice's pixels mean something else: a magnitude among velocities */
};

struct bs_volume {
	enum { BS_VOLUME_EMPTY, BS_VOLUME_OPEN, BS_VOLUME_OVER } state;
	struct bs_mrd_idx key; /* bs_open_key of the volume's first slice */
	uint64_t number;       /* number of the volume in the order of beginning, from 1 */
	/* numbers of the slices' images: before the volume began, and its last one */
	uint64_t began, touched;
	/* no pixels are made: the volume was handed on before, or is another process's */
	bool passed;
	uint32_t have;
	uint8_t state_of[BS_FRAMES_MAX]; /* [slice]: enum bs_slice_state */
	int64_t last_ns
		[BS_FRAMES_MAX];   /* [slice]: when the last line that it needed was received */
	unsigned char *pixels;     /* pixels of all slices, [slice][channel][y][x] */
	struct bs_mrd_image first; /* image head of the volume's first slice */
	struct bs_pose pose;       /* position and directions of the volume's first slice */
	/* the volume's image: what its slices have in common, and their sums */
	struct bs_recon_image image;
	uint32_t worded; /* the first slice that is partial; lacks has its words */
	bool alike;      /* all partial slices have the same words */
};

struct bs_volumes {
	const struct bs_protocol *p;
	struct bs_stack stack;
	struct bs_volume *at; /* [places]: volume number n is in place n % places */
	uint32_t places;      /* number of places; 0: slices are not joined */
	size_t slice_bytes;   /* bytes from one slice's pixels to the next slice's */
	/* numbers of volumes that began, of slices joined, of volumes that left */
	uint64_t begun, slices, left;
	/* [slice - from]: shortest time from the slice's last line to the volume's end */
	int64_t lead_ns[BS_FRAMES_MAX];
	bool led; /* a whole volume has told lead_ns */
	bool closed;
};

void bs_volumes_need(const struct bs_protocol *p, struct bs_need *need);
int bs_volumes_arm(struct bs_volumes *v, const struct bs_protocol *p, struct bs_arena *arena,
		   struct bs_fail *why);
void bs_volumes_scan(struct bs_volumes *v, const struct bs_scan_info *info);
/*
 * Returns the open volume of this slice, or a new one. NULL: another volume is over and leaves
 * first.
 */
struct bs_volume *bs_volumes_place(struct bs_volumes *v, const struct bs_mrd_acq *first);
/* Returns where the slice's image is made. */
float *bs_volume_slice(const struct bs_volumes *v, const struct bs_volume *to, uint32_t slice);
/*
 * Returns the deadline of the slice's solver. due_ns: that of a volume whose last line is the
 * slice's.
 */
int64_t bs_volume_deadline(const struct bs_volumes *v, const struct bs_volume *to, uint32_t slice,
			   int64_t due_ns, int64_t now_ns);
/* Notes that the slice's image is made, or passed over. line: a line of the slice's frame. */
void bs_volumes_join(struct bs_volumes *v, struct bs_volume *to, const struct bs_mrd_acq *line,
		     const struct bs_recon_image *slice);
/* Notes that the scan has no more slices: open volumes are over. */
void bs_volumes_end(struct bs_volumes *v);
/* Returns the number of volumes that are over; of a closed scan, of those that are open, too. */
uint32_t bs_volumes_due(const struct bs_volumes *v);
/*
 * Lets the first volume that is over leave: *image is all of it, with its pixels unless it is
 * passed over. Returns the volume; NULL: none is over.
 */
const struct bs_volume *bs_volumes_leave(struct bs_volumes *v, struct bs_recon_image *image);

#endif
