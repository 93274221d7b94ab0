/*
 * gpu/engine/mapped.h - engines whose sensitivity maps are made from the scan (image.maps)
 *
 * Each is another engine with gpu/calibrate/maps.h before it, and gpu/engine/center.h where samples
 * are not on the grid: readouts go to all, and before an image
 * of a slice is finished its maps are made where they must be, into tables->made, which the other
 * engine reads as tables->maps. finish fails with the reason in report->why where the scan has not
 * brought what calibrates.
 * Test: test/unit/gpu/calibrate/test_mapped.c
 */
#ifndef BS_GPU_ENGINE_MAPPED_H
#define BS_GPU_ENGINE_MAPPED_H

#include "core/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The engine in front of this one; NULL: it has none. */
const struct bs_engine *bs_engine_mapped(const struct bs_engine *engine);

#ifdef __cplusplus
}
#endif
#endif
