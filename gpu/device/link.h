/*
 * gpu/device/link.h - several GPUs of one node working on one scan, and what passes between them
 *
 * A link has parts 0 .. n-1, each with a device and a stream of its own; part 0's device is where
 * results come together. Nothing here adds: gather and allgather move bytes, by NCCL or by copies,
 * and whoever sums does so in the order of the parts. So the result depends on the number of parts
 * alone, bit for bit, not on the transport, the topology or the run.
 *
 * NCCL is loaded when a link is opened (libnccl.so.2, by dlopen), so that the program starts
 * without it; NVLink multicast is switched off (NCCL_NVLS_ENABLE=0). auto: NCCL where more than one
 * part, each with a device of its own, and the library are there, else copies. Parts may share a
 * device (for tests): then copies.
 *
 * open -> { enter, work on the stream, gather | allgather }* -> wait -> close. gather and allgather
 * only queue work on the streams, and order it after what the streams hold. open and close may
 * allocate. enter makes a part's device current; every other function leaves part 0's, and so do
 * they when they fail. The devices must be of one compute capability: choices that are made for one
 * hold for all. Their memory may differ: what a part needs is held against its own. One caller.
 * Errors: BS_ERR_GPU (CUDA's or NCCL's words), BS_ERR_UNSUPPORTED, BS_ERR_SIZE.
 * Only with GPU=1. Test: test/twin/twin_devices.c
 */
#ifndef BS_GPU_DEVICE_LINK_H
#define BS_GPU_DEVICE_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "gpu/device/split.h"

BS_C_BEGIN

enum bs_link_kind { BS_LINK_AUTO, BS_LINK_NCCL, BS_LINK_COPY };

struct bs_link;
struct CUstream_st; /* cudaStream_t */

/* True (0) when parts, numbers and compute capabilities are as open wants them; no link is made. */
int bs_link_check(uint32_t parts, const int *device, struct bs_fail *why);
/* device [parts], or NULL: part i has device i. */
int bs_link_open(struct bs_link **link, uint32_t parts, const int *device, enum bs_link_kind kind,
		 struct bs_fail *why);
void bs_link_close(struct bs_link *link);
uint32_t bs_link_parts(const struct bs_link *link);
/* "NCCL 2.28.3", "copies", or "copies (why not NCCL)". */
const char *bs_link_name(const struct bs_link *link);

int bs_link_enter(struct bs_link *link, uint32_t part, struct bs_fail *why);
struct CUstream_st *bs_link_stream(struct bs_link *link, uint32_t part);

/* bytes[i] from from[i], on part i's device, to to[i], on part 0's; zero bytes: nothing. */
int bs_link_gather(struct bs_link *link, const void *const *from, void *const *to,
		   const size_t *bytes, struct bs_fail *why);
/* Part i's piece lies at all[i] + i * bytes; then every all[j] holds all pieces. */
int bs_link_allgather(struct bs_link *link, void *const *all, size_t bytes, struct bs_fail *why);
/* Until all streams are empty. */
int bs_link_wait(struct bs_link *link, struct bs_fail *why);
/* Part 0's device is made current; err, or where that was 0, what came of it. */
int bs_link_leave(struct bs_link *link, int err, struct bs_fail *why);

BS_C_END
#endif
