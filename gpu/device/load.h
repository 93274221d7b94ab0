/*
 * gpu/device/load.h - a load on the GPU, for timings beside one
 *
 * open starts a thread of ordinary priority that keeps every multiprocessor of the current device
 * busy, through a stream of the lowest priority of this process, with kernels of about kernel_us
 * each, which also stream 64 MiB through the L2 cache, and waits until the first has ended; close
 * ends it and waits. check: *kernels that have ended; BS_ERR_GPU, with the reason, once one was
 * refused or the device failed. Any thread. Only with GPU=1. Errors: BS_ERR_GPU, BS_ERR_NOMEM.
 * Test: test/fault/fault_gpu.c
 */
#ifndef BS_GPU_DEVICE_LOAD_H
#define BS_GPU_DEVICE_LOAD_H

#include <stdint.h>

#include "core/err.h"

BS_C_BEGIN

#define BS_HOG_GENTLE_US 100u  /* as another protocol's work in the same process may be */
#define BS_HOG_HARD_US   1000u /* as another process's may be */

struct bs_hog;

int bs_hog_open(struct bs_hog **hog, uint32_t kernel_us, struct bs_fail *why);
int bs_hog_check(const struct bs_hog *hog, uint64_t *kernels, struct bs_fail *why);
void bs_hog_close(struct bs_hog *hog);

BS_C_END
#endif
