/*
 * gpu/device/stream.h - how the processor waits for the GPU, and how urgent our streams are
 *
 * policy: set for this process's device before the first engine is armed. A later call changes only
 * streams and events that are made after it, and the way of waiting at once. block: a waiting
 * thread sleeps until the GPU interrupts it; poll: the thread spins. BS_ERR_GPU with CUDA's words
 * when the device refuses the flag; streams and events follow the policy even so. Only in a build
 * with GPU=1. The functions that open streams and events are for .cu files. Test:
 * test/twin/twin_stream.c
 */
#ifndef BS_GPU_DEVICE_STREAM_H
#define BS_GPU_DEVICE_STREAM_H

#include <stdbool.h>

#include "core/err.h"
#include "core/protocol.h"

BS_C_BEGIN

int bs_stream_policy(enum bs_wait wait, bool priority, struct bs_fail *why);

/*
 * *stream: a cudaStream_t that does not wait for the default stream; *event: an event that records
 * no time.
 */
struct CUstream_st;
struct CUevent_st;
int bs_stream_open(struct CUstream_st **stream, struct bs_fail *why);
int bs_stream_event(struct CUevent_st **event, struct bs_fail *why);

BS_C_END
#endif
