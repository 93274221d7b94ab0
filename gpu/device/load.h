/*
 * gpu/device/load.h - an artificial load on the GPU, so that work beside it can be timed
 *
 * open starts a thread of ordinary priority that keeps every multiprocessor of the current device
 * busy, through a stream of the lowest priority of this process. Its kernels last about kernel_us
 * each and also stream 64 MiB through the L2 cache. open waits until the first kernel has ended.
 * close ends the thread and waits for it. check: the number of kernels that have ended, in
 * *kernels; BS_ERR_GPU, with the reason, once a kernel was refused or the device failed. Any
 * thread. Only with GPU=1. Errors: BS_ERR_GPU, BS_ERR_NOMEM. Test: test/fault/fault_gpu.c
 */
#ifndef BS_GPU_DEVICE_LOAD_H
#define BS_GPU_DEVICE_LOAD_H

#include <stdint.h>

#include "core/err.h"

BS_C_BEGIN

/* kernel length, us: a load such as another protocol in this process makes */
#define BS_HOG_GENTLE_US 100u
#define BS_HOG_HARD_US   1000u /* kernel length, us: a load such as another process makes */

struct bs_hog;

int bs_hog_open(struct bs_hog **hog, uint32_t kernel_us, struct bs_fail *why);
int bs_hog_check(const struct bs_hog *hog, uint64_t *kernels, struct bs_fail *why);
void bs_hog_close(struct bs_hog *hog);

BS_C_END
#endif
