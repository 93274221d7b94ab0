/*
 * board/service/allocs.h - how many times the calling thread has asked for memory
 *
 * The program is linked with --wrap for malloc, calloc, realloc, aligned_alloc, posix_memalign and
 * mmap: each call from its own objects and static libraries adds one to a count of the thread. What
 * a shared library does inside (nanomsg's messages, libc's stdio) is not seen. Costs one addition.
 * Test: test/fault/fault_realtime.c
 */
#ifndef BS_BOARD_SERVICE_ALLOCS_H
#define BS_BOARD_SERVICE_ALLOCS_H

#include <stdint.h>

uint64_t bs_allocs_here(void);

#endif
