/*
 * gpu/engine/echoes.h - engines that measure a field map beside their images (field.from echoes)
 *
 * Each is another engine that makes images of each coil, which are combined here; from those of a
 * slice's first two contrasts comes tables->turn (gpu/image/turn.h), the last ones of the scan. It
 * is NaN until then, and infinite in a slice whose phase wraps. Sensitivity maps that are made from
 * the scan (gpu/engine/mapped.h) come in front of it.
 * Test: test/unit/gpu/engine/test_echoes.c, test/replay/scan/dual.sh
 */
#ifndef BS_GPU_ENGINE_ECHOES_H
#define BS_GPU_ENGINE_ECHOES_H

#include "core/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct bs_engine bs_engine_echoes_cartesian_host, bs_engine_echoes_gridding_host;

/* The engine in front of this one; NULL: it has none. */
const struct bs_engine *bs_engine_echoes(const struct bs_engine *engine);

#ifdef __cplusplus
}
#endif
#endif
