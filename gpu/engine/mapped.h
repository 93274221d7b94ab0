/*
 * gpu/engine/mapped.h - coil maps made from the scan (image.maps), for an engine
 *
 * It joins gpu/calibrate/maps.h and, where samples are not on the grid, gpu/engine/center.h.
 * Readouts go to them and to the engine. Before an image of a slice, the slice's maps are made
 * where they are due, and written to tables->made, which the engine reads as tables->maps.
 * need -> arm -> told -> { scan -> { begin -> { add | side }* -> make, or with a window fold, then
 * make }* }* -> disarm, as the functions of core/engine.h. For protocols that make no maps need
 * adds nothing and *mapped is NULL, which all other functions accept. told: gives the engine's
 * function `maps` of core/engine.h, which is called for each slice whose maps have changed.
 * make: of lines that hold several slices (report->apart) the maps of all of them, made of their
 * references, whose phases are taken off where they have any. It fails, with the reason in
 * report->why, where the scan has not brought what calibrates. Its time is the report's for
 * calibration, and is added to *deadline_ns as far as the budget goes.
 * Tests: test/unit/gpu/calibrate/test_mapped.c, test/twin/engine/twin_engine_maps.c
 */
#ifndef BS_GPU_ENGINE_MAPPED_H
#define BS_GPU_ENGINE_MAPPED_H

#include "core/engine.h"

BS_C_BEGIN

struct bs_mapped;
struct bs_maps;

int bs_mapped_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_mapped_arm(struct bs_mapped **mapped, const struct bs_protocol *p,
		  const struct bs_tables *tables, const struct bs_arm_env *env,
		  struct bs_fail *why);
void bs_mapped_told(struct bs_mapped *m, int (*changed)(void *engine, uint32_t slice),
		    void *engine);
void bs_mapped_disarm(struct bs_mapped *m);

void bs_mapped_scan(struct bs_mapped *m);
int bs_mapped_begin(struct bs_mapped *m, uint32_t frame);
int bs_mapped_add(struct bs_mapped *m, uint32_t frame, uint32_t readout, const float *data,
		  size_t coil_stride);
void bs_mapped_side(struct bs_mapped *m, uint32_t frame, enum bs_kind kind, uint32_t row,
		    const float *data, size_t coil_stride);
int bs_mapped_fold(struct bs_mapped *m, uint32_t frame, uint32_t group);
/* held: the groups that a sliding window holds; NULL: there is no window. */
int bs_mapped_make(struct bs_mapped *m, uint32_t frame, const uint8_t *held, int64_t *deadline_ns,
		   struct bs_report *report);
/* Returns NULL where m is NULL. */
struct bs_maps *bs_mapped_maps(struct bs_mapped *m);

BS_C_END
#endif
