/*
 * gpu/calibrate/region.h - the calibration lines of Cartesian scans, as they come
 *
 * A window of lines around k = 0 is kept for each frame slot (slice, contrast, lane): lines flagged
 * as calibration where a scan has any, else those of the image, of its first frames: once a box was
 * taken from lines of the image, later ones of that slice and contrast are left out until the next
 * scan, but where it is said to renew them.
 *
 * line      ky index + Ey * (kz index), indices from 0, k = 0 at index size/2
 * data      [coil][sample] complex, coil_stride samples between coils; a readout shorter than Ex
 *           lacks its start (partial echo), which counts as zeros
 * box       the largest complete box of lines around k = 0: all of its lines have come. The first
 *           that there is of: the frame's flagged lines, those of another lane, the box that was
 *           taken from lines of the image, the frame's own of these, those of another lane, and so
 *           on of the other contrasts. Its memory is the region's, encoded readouts, oversampling
 *           included
 * need -> plan -> { scan -> { add | box }* }* -> close. Only plan and close allocate. One caller.
 * Test: test/unit/gpu/calibrate/test_region.c
 */
#ifndef BS_GPU_CALIBRATE_REGION_H
#define BS_GPU_CALIBRATE_REGION_H

#include "core/memory/arena.h"
#include "gpu/grappa/grappa.h"

#define BS_REGION_LINES_MAX 128u /* of an axis */

struct bs_region_spec {
	uint32_t encoded[3]; /* k-space grid x y z */
	uint32_t samples;    /* of a readout, <= encoded[0] */
	uint32_t coils;
	uint32_t lines[2];                 /* of the window, y z */
	uint32_t slices, contrasts, lanes; /* lanes 0: 1 */
	bool renews;                       /* of a line of the image the newest is kept, always */
};

struct bs_region;

int bs_region_need(const struct bs_region_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_region_plan(struct bs_region **plan, const struct bs_region_spec *spec,
		   struct bs_arena *arena, struct bs_fail *why);
void bs_region_close(struct bs_region *plan);

/* Another scan: what came before is forgotten. */
void bs_region_scan(struct bs_region *plan);
/* frame: (slice x contrasts + contrast) x lanes + lane. flagged: for calibration (flags 20, 21). */
void bs_region_add(struct bs_region *plan, uint32_t frame, uint32_t line, bool flagged,
		   const float *data, size_t coil_stride);
/* False: no complete box of at least these lines (y z); *box then has the lines that there are. */
bool bs_region_box(struct bs_region *plan, uint32_t frame, const uint32_t least[2],
		   struct bs_grappa_lines *box);

#endif
