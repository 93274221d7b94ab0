/*
 * gpu/image/combine.h - from one complex image a coil to the image that leaves
 *
 * coils in   [coil][z][y][x] complex float
 * maps  in   [coil][z][y][x] complex float, sensitivities; BS_COMBINE_SENSE only
 * out        [channel][z][y][x] complex float or float magnitude (output)
 *   none: channel = coil      rss: sqrt(sum_c |I_c|^2), a complex output has imaginary part 0
 *   sense: sum_c conj(S_c) I_c / sum_c |S_c|^2; 0 where all maps are 0
 * The sum over coils runs in the order of the coils: results do not depend on the team.
 * Allocates nothing. One caller.
 * Twins: combine.c (host), combine.cu (CUDA). Test: test/unit/gpu/test_combine.c
 * Sources: Roemer et al., Magn Reson Med 1990;16:192-225 (rss, matched filter).
 */
#ifndef BS_GPU_IMAGE_COMBINE_H
#define BS_GPU_IMAGE_COMBINE_H

#include "core/err.h"
#include "core/protocol.h"
#include "core/thread/team.h"

#ifdef __cplusplus
extern "C" {
#endif

void bs_combine(struct bs_team *team, enum bs_combine how, enum bs_output output, uint32_t coils,
		uint64_t voxels, const float *coil_images, const float *maps, float *out);

/* Only in a build with GPU=1: device memory, stream a cudaStream_t. Only queues. BS_ERR_GPU. */
struct CUstream_st;
int bs_combine_cuda(enum bs_combine how, enum bs_output output, uint32_t coils, uint64_t voxels,
		    const float *coil_images, const float *maps, float *out,
		    struct CUstream_st *stream, struct bs_fail *why);

#ifdef __cplusplus
}
#endif
#endif
