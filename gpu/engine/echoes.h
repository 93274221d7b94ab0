/*
 * gpu/engine/echoes.h - a field map measured from the images' own echoes (field.from echoes)
 *
 * The phase between the coil images of a slice's first two contrasts gives tables->phase_step
 * (gpu/image/phasestep.h), always from the last such pair of the scan. It is NaN before the first
 * pair, and infinite in a slice whose phase wraps.
 * need -> arm -> { scan -> measure* }* -> disarm, as the functions of core/engine.h. For a protocol
 * that measures no field *echoes is NULL, which the other functions accept. measure is called with
 * each image after its F^H d is summed; it copies what it needs.
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
/*
 * coil_images [coil][z][y][x] complex. Echoes with the same order (struct bs_report) make a pair.
 */
void bs_echoes_measure(struct bs_echoes *e, uint32_t frame, uint64_t order,
		       const float *coil_images);

#endif
