/*
 * core/volume/stack.h - where the slices of a scan lie, and their order along slice_dir
 *
 * The first line of each slice tells its place: position . slice_dir, mm from the first slice that
 * came. The number of slices is that of the header's limits, or the protocol's. Slices of a stack
 * are parallel, lie behind each other, and equally far apart: a slice that does not is refused, at
 * its first line. Where no position tells slices apart, or no direction is told, they lie in the
 * order of their numbers, as far apart as they are thick.
 * The place of a slice that never came follows from its number, where the others lie in the order
 * of their numbers, or from the one gap that it left. Else it is not known: the slice is put into a
 * gap, or behind the others. Where gaps are no multiples of the smallest, no distance is told.
 * scan -> see* -> order. No allocation; one thread. Test: test/unit/core/volume/test_stack.c
 */
#ifndef BS_CORE_VOLUME_STACK_H
#define BS_CORE_VOLUME_STACK_H

#include <stdbool.h>

#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"
#include "core/study/study.h"

struct bs_stack {
	uint32_t from, slices;       /* the first slice's number, and how many there are */
	uint32_t known;              /* number of slices whose place is known */
	uint8_t told[BS_FRAMES_MAX]; /* [slice - from]: 1: the slice's place is known */
	double at[BS_FRAMES_MAX];    /* [slice - from]: the slice's place along slice_dir, mm */
	/* position and directions of the slice that came first, whose place is 0 mm */
	struct bs_pose first;
	uint32_t first_slice; /* number of the slice that came first */
	uint32_t ordered; /* number of slices that were known when the members below were made */
	uint16_t z[BS_FRAMES_MAX]; /* [slice - from]: place in the stack, from 0 */
	/* mm: start is place 0, step is from one place to the next; step 0: not told */
	double start, step;
	bool guessed; /* nothing tells where the slices lie that did not come */
};

/* The length of a direction; 0: it is told by none (shorter than 0.5). */
double bs_dir_length(const float dir[3]);
/* Checks the header: no more slices than the protocol has. */
int bs_stack_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		   struct bs_fail *why);
void bs_stack_scan(struct bs_stack *s, const struct bs_protocol *p,
		   const struct bs_scan_info *info);
/*
 * Takes a line of a frame that begins. BS_ERR_INDEX: the slice is none of the header's.
 * BS_ERR_UNSUPPORTED: the slices are no stack, or a place is not finite.
 */
int bs_stack_see(struct bs_stack *s, const struct bs_mrd_acq *head, struct bs_fail *why);
/* Makes z, start, step and guessed. */
void bs_stack_order(struct bs_stack *s);
/*
 * Returns true if two slices lie to each other as the stack says: the whole stack may have moved.
 */
bool bs_stack_fits(const struct bs_stack *s, const struct bs_pose *a, uint32_t slice_a,
		   const struct bs_pose *b, uint32_t slice_b);

#endif
