/*
 * gpu/calibrate/region.h - the calibration lines of Cartesian scans, kept as they come
 *
 * A window of lines around k = 0 is kept for each frame slot (slice, contrast, lane). Where a scan
 * has lines flagged as calibration these are kept, else lines of the image from its first frames.
 * Once a box was taken from lines of the image, later lines of that slice and contrast are ignored
 * until the next scan, unless the spec says `renews`.
 *
 * line      ky index + Ey * (kz index), indices from 0, k = 0 at index size/2
 * data      [coil][sample] complex, coil_stride samples between coils; a readout shorter than Ex
 *           lacks its start (partial echo), which counts as zeros
 * box       the largest box of lines around k = 0 of which all lines have come. The first source
 *           that has one is taken: the frame's flagged lines; flagged lines of another lane; the
 *           box that was taken from lines of the image; the frame's own lines of the image; those
 *           of another lane; then the same of the other contrasts. The box lies in the region's
 *           memory, as encoded readouts, oversampling included
 * need -> plan -> { scan -> { add | box }* }* -> close. Only plan and close allocate. One caller.
 * Test: test/unit/gpu/calibrate/test_region.c
 */
#ifndef BS_GPU_CALIBRATE_REGION_H
#define BS_GPU_CALIBRATE_REGION_H

#include "core/memory/arena.h"
#include "gpu/grappa/grappa.h"

#define BS_REGION_LINES_MAX 128u /* most lines along an axis */

struct bs_region_spec {
	uint32_t encoded[3]; /* size of the k-space grid along x, y, z */
	uint32_t samples;    /* samples of a readout, at most encoded[0] */
	uint32_t coils;
	uint32_t lines[2];                 /* lines of the window along y and z */
	uint32_t slices, contrasts, lanes; /* numbers of slots; lanes 0 means 1 */
	/* the newest copy of a line of the image is always kept */
	bool renews;
};

struct bs_region;

int bs_region_need(const struct bs_region_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_region_plan(struct bs_region **plan, const struct bs_region_spec *spec,
		   struct bs_arena *arena, struct bs_fail *why);
void bs_region_close(struct bs_region *plan);

/* Begins another scan: forgets all lines. */
void bs_region_scan(struct bs_region *plan);
/*
 * frame: (slice x contrasts + contrast) x lanes + lane. flagged: the line is for calibration (flags
 * 20, 21).
 */
void bs_region_add(struct bs_region *plan, uint32_t frame, uint32_t line, bool flagged,
		   const float *data, size_t coil_stride);
/*
 * Returns false where no complete box has at least these lines (y z); *box then holds the lines
 * there are.
 */
bool bs_region_box(struct bs_region *plan, uint32_t frame, const uint32_t least[2],
		   struct bs_grappa_lines *box);

#endif
