/*
 * gpu/calibrate/maps.h - the coil maps of a protocol's slices, made from what its scan brings
 *
 * For protocols with image.maps espirit or walsh (BS_PLAN_MAPS_SCAN); of others bs_maps is
 * NULL, and plan, close, scan and add take that. On the grid: from the calibration lines of the
 * frame, or of its slice (gpu/calibrate/region.h), cropped along x to the field of view of the
 * matrix, at most calibration_lines along each axis. Elsewhere from a block that is given
 * (gpu/engine/center.h). Walsh's are made from the images of these lines.
 * maps: [slice][image][coil][z][y][x] complex float on the protocol's matrix, where tables->maps
 * lie.
 * need -> plan -> { scan -> { add | due, make or given }* }* -> close. Only plan and close
 * allocate. One caller; the same bytes for any team.
 *
 * When: a slice's maps are made with its first image of the scan, and again with later images of
 * the same contrast alone; those of other contrasts take them as they are. On the grid again when
 * that contrast's calibration lines have come anew: once a slice and repetition. In a sliding
 * window with every maps_every-th image from then on (0: as many as make a pass of the window),
 * counted in images, never by time. Elsewhere they stay until the next scan.
 * due: asked once before each image of a frame, whether its slice's maps are to be made.
 * wants: what comes of the frame may still be needed.
 * make: on the grid; *made false: they would be those that there are.
 * Errors: BS_ERR_CALIBRATION: the scan has brought too few calibration lines; BS_ERR_VALUE: of
 * zeros, or not finite.
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
/* A line of the grid, as bs_region_add. */
void bs_maps_add(struct bs_maps *plan, uint32_t frame, uint32_t line, bool flagged,
		 const float *data, size_t coil_stride);
bool bs_maps_due(struct bs_maps *plan, uint32_t frame);
bool bs_maps_wants(const struct bs_maps *plan, uint32_t frame);
int bs_maps_make(struct bs_maps *plan, uint32_t frame, bool *made, struct bs_fail *why);
/* block [coil][z][y][x] complex, k = 0 at index size/2, one sample a field of view; size x y z. */
int bs_maps_given(struct bs_maps *plan, uint32_t frame, const uint32_t size[3], const float *block,
		  struct bs_fail *why);
/*
 * ESPIRiT elsewhere from here on: run as bs_espirit_run without values, of the plan that espirit
 * says (NULL: Walsh's maps, nothing changes).
 */
struct bs_espirit;
struct bs_espirit_spec;
/* False: they are not made by it; else with what plan makes them. */
bool bs_maps_by_espirit(const struct bs_protocol *p, struct bs_espirit_spec *spec);
struct bs_espirit *bs_maps_espirit(struct bs_maps *plan);
void bs_maps_elsewhere(struct bs_maps *plan,
		       int (*run)(void *self, const uint32_t size[3], const float *block,
				  float *maps, struct bs_fail *why),
		       void *self);
/* Points along an axis that a given block has at least, or as many as the matrix. */
uint32_t bs_maps_fewest(const struct bs_protocol *p);

BS_C_END
#endif
