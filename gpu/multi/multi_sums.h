/*
 * gpu/multi/multi_sums.h - exact sums on all GPUs of a link at once, each its own voxels or coils
 *
 * For multi_exact.cu and multi_sense.cu alone. data [coil][sample] complex and image as in exact_cuda.h,
 * on their part's GPU; stride: complex samples between coils. Queues the steps of the plans' sums in
 * turns, so that no GPU waits for the launches of another; waits for nothing. A plan of NULL: that
 * part has no share. Any part may be current afterwards. Test: test/twin/twin_multi.c
 */
#ifndef BS_GPU_MULTI_MULTI_SUMS_H
#define BS_GPU_MULTI_MULTI_SUMS_H

#include "gpu/exact/exact_cuda.h"
#include "gpu/device/link.h"

struct bs_multi_sum {
	struct bs_exact_cuda *plan;
	const float *data; /* NULL: ones */
	float *image;
};

/* sum [part] */
int bs_multi_sums(struct bs_link *link, const struct bs_multi_sum *sum, size_t stride,
		  struct bs_fail *why);

#endif
