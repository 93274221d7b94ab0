/*
 * gpu/device/reach.h - what the current device offers beyond what every GPU has, by asking it
 *
 * hold: this process uses no more than a lesser GPU would offer (gpu.route), so that the kernels
 * for that GPU can be tried on a better one; the least that was asked for counts, for the process's
 * life. as: "" or how a GPU is called that is held so, ", as sm_86": also in the names under which
 * measured choices are kept. Any thread; hold before anything is planned.
 * Only in a build with GPU=1. BS_ERR_GPU. Test: test/twin/twin_exact.c, twin_toeplitz.c
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
	int major, minor;    /* compute capability, whatever is held */
	bool wgmma;          /* matrix products of warpgroups: 9.0 alone */
	bool overlaps;       /* launches may begin early, blocks form clusters: from 9.0 on */
	bool tensor;         /* mma.sync of fp16, cp.async: from 8.0 on */
	size_t shared_bytes; /* of a block, at most */
	uint64_t l2_bytes;
};

int bs_reach(struct bs_reach *r, struct bs_fail *why);
void bs_reach_hold(enum bs_gpu_route route);
const char *bs_reach_as(void);

BS_C_END
#endif
