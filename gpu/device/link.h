/*
 * gpu/device/link.h - the data that several GPUs of one node exchange while they work on one scan
 *
 * A link has parts 0 .. n-1, each with a device and a stream of its own; results are brought
 * together on part 0's device. The link adds nothing: gather and allgather move bytes, by NCCL or
 * by copies, and their caller sums in the order of the parts. So the result depends on the number
 * of parts alone, bit for bit, not on the transport, the topology or the run.
 *
 * NCCL is loaded when a link is opened (libnccl.so.2, by dlopen), so that the program starts
 * without it; NVLink multicast is switched off (NCCL_NVLS_ENABLE=0). Kind auto: NCCL where the
 * library is there and there is more than one part, each with a device of its own; copies
 * elsewhere. Parts may share a device (for tests); then copies are used.
 *
 * open -> { enter, work on the stream, gather | allgather }* -> wait -> close. gather and allgather
 * only queue work on the streams, behind what the streams hold. open and close may allocate. enter
 * makes a part's device current. Every other function leaves part 0's device current, and so does
 * enter when it fails. The devices must have one compute capability: choices that are made for one
 * hold for all. Their memory sizes may differ: each part's need is compared with its own device.
 * One caller.
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
struct CUstream_st; /* what a cudaStream_t points to */

/*
 * Checks for open that the parts, device numbers and compute capabilities are acceptable (0); makes
 * no link.
 */
int bs_link_check(uint32_t parts, const int *device, struct bs_fail *why);
/* device [parts]: the device of each part; NULL: part i has device i. */
int bs_link_open(struct bs_link **link, uint32_t parts, const int *device, enum bs_link_kind kind,
		 struct bs_fail *why);
void bs_link_close(struct bs_link *link);
uint32_t bs_link_parts(const struct bs_link *link);
/* Returns the way that is used: "NCCL 2.28.3", "copies", or "copies (why not NCCL)". */
const char *bs_link_name(const struct bs_link *link);

int bs_link_enter(struct bs_link *link, uint32_t part, struct bs_fail *why);
struct CUstream_st *bs_link_stream(struct bs_link *link, uint32_t part);

/*
 * Copies bytes[i] bytes from from[i], on part i's device, to to[i], on part 0's; 0 bytes copy
 * nothing.
 */
int bs_link_gather(struct bs_link *link, const void *const *from, void *const *to,
		   const size_t *bytes, struct bs_fail *why);
/*
 * Part i's piece lies at all[i] + i * bytes before the call; afterwards every all[j] holds all
 * pieces.
 */
int bs_link_allgather(struct bs_link *link, void *const *all, size_t bytes, struct bs_fail *why);
/* Waits until all streams are empty. */
int bs_link_wait(struct bs_link *link, struct bs_fail *why);
/* Makes part 0's device current. Returns err, or where err is 0 the result of doing so. */
int bs_link_leave(struct bs_link *link, int err, struct bs_fail *why);

BS_C_END

#ifdef __cplusplus
/* Calls `call` with each part's number, that part's device being current, until it fails. */
template <class F> static int bs_link_each(struct bs_link *link, struct bs_fail *why, F call)
{
	int rc = 0;

	for (uint32_t i = 0; i < bs_link_parts(link) && rc == 0; i++) {
		rc = bs_link_enter(link, i, why);
		if (rc == 0)
			rc = call(i);
	}
	return rc;
}
#endif
#endif
