/*
 * gpu/engine/multi/share.h - one GPU's share of a scan on several: the CUDA engine up to its coil images
 *
 * What armed.cu arms on each GPU: the protocol with this share's coils alone, or its slab of the
 * rows (matrix, and slab_y of the tables), combine none so that no sensitivities are loaded but those
 * of method sense; on the device that is current, which must be current in every call but reading.
 * need, arm, disarm, begin, add, reading, fold: as core/engine.h. It ends with each coil's image:
 * gridded, solved (ls, solves), or F^H d.
 * finish, slide, peek only queue what is left. watched: up to F^H d, and solve makes the iterations
 * under the deadline, waiting for each; another thread's call is welcome, one at a time.
 * outcome: once the stream is idle; stage times, and the solver's where solve was not called.
 * Errors as core/engine.h. Only with GPU=1. Test: test/twin/twin_devices.c
 */
#ifndef BS_GPU_ENGINE_MULTI_SHARE_H
#define BS_GPU_ENGINE_MULTI_SHARE_H

#include <cuda_runtime.h>

#include "core/engine.h"

int bs_share_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_share_arm(bool solves, void **self, const struct bs_protocol *p,
		 const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why);
void bs_share_disarm(void *self);

int bs_share_begin(void *self, uint32_t frame);
int bs_share_add(void *self, uint32_t frame, uint32_t readout, const float *data,
		 size_t coil_stride);
void bs_share_reading(void *self, bool wait, uint64_t *made, uint64_t *read);
int bs_share_fold(void *self, uint32_t frame, uint32_t group);

int bs_share_finish(void *self, uint32_t frame, bool watched);
int bs_share_slide(void *self, uint32_t frame, const uint8_t *held, bool watched);
int bs_share_peek(void *self, uint32_t frame);
int bs_share_solve(void *self, int64_t deadline_ns, struct bs_report *report);
void bs_share_outcome(void *self, uint32_t frame, bool watched, struct bs_report *report);

float2 *bs_share_images(void *self);     /* [coil][z][y][x], device */
const float2 *bs_share_maps(void *self); /* sense: of the own coils, device */
cudaStream_t bs_share_stream(void *self);

#endif
