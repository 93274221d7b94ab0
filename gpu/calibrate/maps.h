/*
 * gpu/calibrate/maps.h - the coil maps of a protocol's slices, made from the scan's own data
 *
 * For protocols with image.maps espirit or walsh (BS_PLAN_MAPS_SCAN). For others bs_maps is NULL,
 * which plan, close, scan and add accept. On the grid, maps are made from the calibration lines of
 * the frame, or of its slice (gpu/calibrate/region.h), cropped along x to the field of view of the
 * matrix, at most calibration_lines along each axis. Off the grid they are made from a block that
 * is given (gpu/engine/center.h). Walsh's maps are made from the images of these lines.
 * maps: [slice][image][coil][z][y][x] complex float on the protocol's matrix, at tables->maps.
 * need -> plan -> { scan -> { add | due, make or given }* }* -> close. Only plan and close
 * allocate. One caller; the same bytes for any team.
 *
 * When: a slice's maps are made with its first image of the scan. They are made again only with
 * later images of the same contrast; images of other contrasts use them as they are. On the grid:
 * again when that contrast's calibration lines have come anew, once a slice and repetition. In a
 * sliding window: again with every maps_every-th image (0: as many as make a pass of the window),
 * counted in images, never by time. Elsewhere the maps stay until the next scan.
 * cycles: the phase that each line has against the one before, which is taken off; where it is
 * another than the present maps were made with, they are due. 0 but for slices at once.
 * due: asked once before each image of a frame; true when its slice's maps are to be made.
 * wants: true when maps may still need what comes of the frame.
 * make: on the grid; *made is false where the result would be the present maps.
 * Errors: BS_ERR_CALIBRATION: the scan has brought too few calibration lines; BS_ERR_VALUE: these
 * are zeros, or not finite.
 * Test: test/unit/gpu/calibrate/test_maps.c
 */
#ifndef BS_GPU_CALIBRATE_MAPS_H
#define BS_GPU_CALIBRATE_MAPS_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/protocol.h"
#include "core/thread/team.h"

BS_C_BEGIN

struct bs_maps;

int bs_maps_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_maps_plan(struct bs_maps **plan, const struct bs_protocol *p, float *maps,
		 struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_maps_close(struct bs_maps *plan);

void bs_maps_scan(struct bs_maps *plan);
/* Adds a line of the grid, as bs_region_add. */
void bs_maps_add(struct bs_maps *plan, uint32_t frame, uint32_t line, bool flagged,
		 const float *data, size_t coil_stride);
bool bs_maps_due(struct bs_maps *plan, uint32_t frame, double cycles);
bool bs_maps_wants(const struct bs_maps *plan, uint32_t frame);
int bs_maps_make(struct bs_maps *plan, uint32_t frame, double cycles, bool *made,
		 struct bs_fail *why);
/*
 * Makes maps from a block [coil][z][y][x] complex with k = 0 at index size/2 and samples 1 / (field
 * of view) apart. size: samples along x, y, z.
 */
int bs_maps_given(struct bs_maps *plan, uint32_t frame, const uint32_t size[3], const float *block,
		  struct bs_fail *why);
/*
 * Makes later calls compute ESPIRiT by `run`, with the arguments of bs_espirit_run without values,
 * for the plan of bs_maps_espirit. Where that plan is NULL (Walsh's maps) nothing changes.
 */
struct bs_espirit;
struct bs_espirit_spec;
/*
 * Returns false where a protocol's maps are not made by ESPIRiT; else true and the spec of the
 * plan.
 */
bool bs_maps_by_espirit(const struct bs_protocol *p, struct bs_espirit_spec *spec);
struct bs_espirit *bs_maps_espirit(struct bs_maps *plan);
void bs_maps_elsewhere(struct bs_maps *plan,
		       int (*run)(void *self, const uint32_t size[3], const float *block,
				  float *maps, struct bs_fail *why),
		       void *self);
/*
 * The fewest points along an axis that a given block must have, or all of the matrix if that is
 * smaller.
 */
uint32_t bs_maps_fewest(const struct bs_protocol *p);

BS_C_END
#endif
