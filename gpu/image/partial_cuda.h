/*
 * gpu/image/partial_cuda.h - a sliding window's partial sums on the GPU; the twin of partial.h
 *
 * The same shapes and the same order of addition. open takes from device memory what bytes states,
 * and marks from the host's heap; sum only queues. Which groups are held is an argument of the
 * launch, so a window has at most BS_PARTIAL_GROUPS_MAX groups: check refuses more. All calls of
 * one plan go to one stream. Errors: BS_ERR_UNSUPPORTED, BS_ERR_NOMEM, BS_ERR_GPU.
 * Test: test/twin/twin_window.c
 */
#ifndef BS_GPU_IMAGE_PARTIAL_CUDA_H
#define BS_GPU_IMAGE_PARTIAL_CUDA_H

#include "gpu/device/memory.h"
#include "gpu/image/partial.h"

BS_C_BEGIN

/* most groups: 32 blocks of 32, with one 32-bit word for each block */
#define BS_PARTIAL_GROUPS_MAX 1024u

struct bs_partial_cuda {
	float *part, *block; /* sums in device memory */
	/*
	 * host, [frame][block]: bit i is set where group i of the block was held when the block was
	 * summed
	 */
	uint32_t *seen;
	uint32_t *stale; /* host, [frame]: bit b is set where block b must be summed again */
	/* floats of a group's coil images, and floats from one group to the next */
	uint64_t floats, stride;
	uint32_t groups, side, blocks;
};

int bs_partial_cuda_check(const struct bs_protocol *p, struct bs_fail *why);
/* Returns the bytes of device memory; 0 without a window. */
uint64_t bs_partial_cuda_bytes(const struct bs_protocol *p);
int bs_partial_cuda_open(struct bs_partial_cuda *w, const struct bs_protocol *p,
			 struct bs_devmem *mem, struct bs_fail *why);
void bs_partial_cuda_close(struct bs_partial_cuda *w);
float *bs_partial_cuda_write(struct bs_partial_cuda *w, uint32_t frame, uint32_t group);
/* stream: a cudaStream_t; out: device memory; held: host memory, read before the return. */
int bs_partial_cuda_sum(struct bs_partial_cuda *w, uint32_t frame, const uint8_t *held, float *out,
			void *stream, struct bs_fail *why);

BS_C_END
#endif
