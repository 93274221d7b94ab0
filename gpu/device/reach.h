/*
 * gpu/device/reach.h - the features of the current device that not every GPU has
 *
 * hold: from now on this process uses no more than a lesser GPU would offer (gpu.route), so that
 * the kernels for that GPU can be tried on a better one. Of several calls the least counts, for the
 * process's life. as: the suffix for the name of a GPU that is held back, ", as sm_86", else ""; it
 * is also part of the names under which measured choices are kept. Any thread; hold before anything
 * is planned. Only in a build with GPU=1. Errors: BS_ERR_GPU.
 * Test: test/twin/twin_exact.c, twin_toeplitz.c
 */
#ifndef BS_GPU_DEVICE_REACH_H
#define BS_GPU_DEVICE_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/protocol.h"

BS_C_BEGIN

struct bs_reach {
	int major, minor; /* compute capability of the device itself, held back or not */
	bool wgmma;       /* the device has wgmma, matrix products of warpgroups: 9.0 alone */
	/* launches may begin early and blocks may form clusters: from 9.0 on */
	bool overlaps;
	size_t shared_bytes; /* most bytes of shared memory of a block */
	uint64_t l2_bytes;
};

int bs_reach(struct bs_reach *r, struct bs_fail *why);
void bs_reach_hold(enum bs_gpu_route route);
const char *bs_reach_as(void);

BS_C_END
#endif
