/*
 * core/multiband/apart.h - lines that hold several slices at once: which lines these are, and whose
 *
 * For protocols with the stage BS_PLAN_APART. A line of a group is a line of each of its slices: it
 * goes to the frame of every one, and the engine takes the slices apart when it makes their images.
 * So each slice's image has a number, a position and words of its own, as if it were excited alone.
 *
 * Lines of one slice alone are the references. Either they are flagged as calibration, and make no
 * image; or the first repetition has all slices one by one, which no flag tells, and makes images.
 * Where no flagged line has come before the first line of an image, it is taken for the latter; a
 * line of another repetition, set, phase or average holds a group, and so do those behind it. Two
 * slices of one group show that it is so, and until then images of the first repetition wait: they
 * could hold a whole group each. Calibration lines that lie between those of a group, as the header
 * says, are of the group, too: references come before it.
 * A slice's position is that of its references, moved as its group's lines have moved since the
 * first of them; else that of these lines, and the header's places of the bands from there.
 * No allocation; one thread. Test: test/unit/core/multiband/test_apart.c
 */
#ifndef BS_CORE_MULTIBAND_APART_H
#define BS_CORE_MULTIBAND_APART_H

#include "core/frame/open.h"

struct bs_apart {
	const struct bs_protocol *p;
	uint32_t bands;  /* slices of a group; 0: the protocol takes none apart */
	uint32_t groups; /* number of groups */
	/* the header's place of each band, mm from the first one */
	float band_mm[BS_BANDS_MAX];
	uint32_t places;             /* bands whose place the header says */
	double cycles[BS_BANDS_MAX]; /* phase of each band from a line to the next */
	bool embeds; /* calibration lines lie between those of images, the header says */
	/* how references are told from other lines; AUTO until the first line of an image */
	enum bs_references by;
	bool flagged;                /* a flagged reference has come */
	struct bs_mrd_idx first;     /* counters of the first line of an image */
	bool begun;                  /* a line of an image has come */
	bool shown;                  /* two slices of one group have come in the first repetition */
	bool over;                   /* no more lines of the first repetition are expected */
	uint32_t lines;              /* lines of groups that were taken */
	uint8_t came[BS_FRAMES_MAX]; /* [slice]: 1: the first repetition has it */
	uint8_t known[BS_FRAMES_MAX]; /* [slice]: 1: position is that of a reference */
	float position[BS_FRAMES_MAX][3];
	uint8_t past[BS_FRAMES_MAX]; /* [group]: 1: a line of the group has come */
	/* [slice]: 1: a line of a group has come that names this slice */
	uint8_t began[BS_FRAMES_MAX];
	float start[BS_FRAMES_MAX][3]; /* [slice]: position of that first line of a group */
};

void bs_apart_scan(struct bs_apart *a, const struct bs_protocol *p,
		   const struct bs_scan_info *info);
/* Notes a line that is flagged as calibration. */
void bs_apart_reference(struct bs_apart *a, const struct bs_mrd_acq *head);
/* Returns true if a line that is flagged as calibration is a line of an image, of a group. */
bool bs_apart_embeds(const struct bs_apart *a, const struct bs_mrd_acq *head);
/*
 * Takes a line of an image, which may be given twice in a row. Returns true if it holds a group;
 * else it is a reference, too, and is flagged so.
 */
bool bs_apart_line(struct bs_apart *a, struct bs_mrd_acq *head);
/* Makes head, of a line of a group, that of a line of one of its slices. */
void bs_apart_band(const struct bs_apart *a, struct bs_mrd_acq *head, uint32_t band);
/* Notes that no more lines come. */
static inline void bs_apart_close(struct bs_apart *a)
{
	a->over = true;
}
/* Lets images wait that may hold a group, and no others. */
void bs_apart_hold(const struct bs_apart *a, struct bs_opens *o);
/*
 * An image that is not said to hold a group may hold one after all: the frame of such a line.
 * again: a frame with its counters was whole before, and references come once.
 */
static inline bool bs_apart_doubtful(const struct bs_apart *a, const struct bs_mrd_acq *first,
				     bool again)
{
	return a->bands > 1 && (first->flags & BS_MRD_FOLDED) == 0 && (!a->shown || again);
}

/* group: the group that a slice belongs to. band_of: the slice's number in its group. */
static inline uint32_t bs_apart_group(const struct bs_protocol *p, uint32_t slice)
{
	return slice % bs_multiband_groups(&p->multiband, p->slices);
}
static inline uint32_t bs_apart_band_of(const struct bs_protocol *p, uint32_t slice)
{
	return slice / bs_multiband_groups(&p->multiband, p->slices);
}
/* The frame of another band of a frame's group, with the same counters otherwise. */
static inline uint32_t bs_apart_frame(const struct bs_protocol *p, uint32_t frame, uint32_t band)
{
	const uint32_t own = bs_protocol_frame_slice(p, frame);
	const uint32_t slice =
		bs_apart_group(p, own) + band * bs_multiband_groups(&p->multiband, p->slices);

	return frame - bs_protocol_frame(p, own, 0) + bs_protocol_frame(p, slice, 0);
}
/*
 * Returns the place of what the slices of a group share: the group's number where slices come
 * apart, else the slice's own.
 */
static inline uint32_t bs_apart_slot(const struct bs_protocol *p, uint32_t slice)
{
	return bs_plan_has(&p->plan, BS_PLAN_APART) ? bs_apart_group(p, slice) : slice;
}

#endif
