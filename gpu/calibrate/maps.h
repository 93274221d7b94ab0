/*
 * gpu/calibrate/maps.h - the coil maps of a protocol's slices, made from what its scan brings
 *
 * For protocols with image.maps espirit or walsh (bs_protocol_makes_maps); of others bs_maps is
 * NULL, and all functions take that. On the grid: from the calibration lines of the frame, or of
 * its slice (gpu/calibrate/region.h), cropped along x to the field of view of the matrix, at most
 * calibration_lines along each axis. Walsh's are made from the images of these lines.
 * maps: [slice][coil][z][y][x] complex float on the protocol's matrix, where tables->maps lie.
 * need -> plan -> { scan -> { add | make }* }* -> close. Only plan and close allocate. One caller;
 * the same bytes for any team.
 * make: before an image of the frame is combined or solved. It makes the slice's maps where there
 * are none of this scan's yet, and again with later images of the contrast that they were first
 * made with, where that one's calibration has changed since: once a slice and repetition, whatever
 * the other contrasts bring. *made says so.
 * BS_ERR_CALIBRATION: the scan has brought too few calibration lines; BS_ERR_VALUE: of zeros, or
 * not finite.
 * Test: test/unit/gpu/calibrate/test_maps.c
 */
#ifndef BS_GPU_CALIBRATE_MAPS_H
#define BS_GPU_CALIBRATE_MAPS_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/protocol.h"
#include "core/thread/team.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bs_maps;

int bs_maps_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_maps_plan(struct bs_maps **plan, const struct bs_protocol *p, float *maps,
		 struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_maps_close(struct bs_maps *plan);

void bs_maps_scan(struct bs_maps *plan);
/* A line of the grid, as bs_region_add. */
void bs_maps_add(struct bs_maps *plan, uint32_t frame, uint32_t line, bool flagged,
		 const float *data, size_t coil_stride);
int bs_maps_make(struct bs_maps *plan, uint32_t frame, bool *made, struct bs_fail *why);

#ifdef __cplusplus
}
#endif
#endif
