/*
 * gpu/engine/echoes.h - a field map that is measured beside the images (field.from echoes)
 *
 * From the coils' images of a slice's first two contrasts comes tables->turn (gpu/image/turn.h),
 * the last ones of the scan. It is NaN until then, and infinite in a slice whose phase wraps.
 * need -> arm -> { scan -> measure* }* -> disarm, as the functions of core/engine.h, of protocols
 * that measure a field; else *echoes is NULL, which the others take. measure: an image's, after its
 * sum; it copies what it needs.
 * Test: test/unit/gpu/engine/test_echoes.c, test/replay/scan/dual.sh
 */
#ifndef BS_GPU_ENGINE_ECHOES_H
#define BS_GPU_ENGINE_ECHOES_H

#include "core/engine.h"

struct bs_echoes;

int bs_echoes_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_echoes_arm(struct bs_echoes **echoes, const struct bs_protocol *p,
		  const struct bs_tables *tables, const struct bs_arm_env *env,
		  struct bs_fail *why);
void bs_echoes_disarm(struct bs_echoes *e);
void bs_echoes_scan(struct bs_echoes *e);
/* coil_images [coil][z][y][x] complex; echoes of one order (struct bs_report) make a pair */
void bs_echoes_measure(struct bs_echoes *e, uint32_t frame, uint64_t order,
		       const float *coil_images);

#endif
