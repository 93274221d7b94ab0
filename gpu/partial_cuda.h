/*
 * gpu/partial_cuda.h - the CUDA twin of gpu/partial.h: a sliding window's partial sums on the device
 *
 * Same shapes and the same order of addition. open takes what bytes states from device memory; sum only
 * queues. Which groups are held travels with the launch, so a window has at most
 * BS_PARTIAL_GROUPS_MAX groups: check refuses more. Errors: BS_ERR_UNSUPPORTED, BS_ERR_NOMEM, BS_ERR_GPU.
 * Host twin: partial.c. Test: test/twin/twin_window.c
 */
#ifndef BS_GPU_PARTIAL_CUDA_H
#define BS_GPU_PARTIAL_CUDA_H

#include "gpu/devmem.h"
#include "gpu/partial.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BS_PARTIAL_GROUPS_MAX 1024u

struct bs_partial_cuda {
	float *sum; /* device, [frame][group][coil][z][y][x] complex */
	uint64_t floats, stride;
	uint32_t groups;
};

int bs_partial_cuda_check(const struct bs_protocol *p, struct bs_fail *why);
/* Of device memory; 0 without a window. */
uint64_t bs_partial_cuda_bytes(const struct bs_protocol *p);
int bs_partial_cuda_open(struct bs_partial_cuda *w, const struct bs_protocol *p,
			 struct bs_devmem *mem, struct bs_fail *why);
float *bs_partial_cuda_at(const struct bs_partial_cuda *w, uint32_t frame, uint32_t group);
/* stream: a cudaStream_t; out: device memory; held: the host's, read before this returns. */
int bs_partial_cuda_sum(const struct bs_partial_cuda *w, uint32_t frame, const uint8_t *held,
			float *out, void *stream, struct bs_fail *why);

#ifdef __cplusplus
}
#endif
#endif
