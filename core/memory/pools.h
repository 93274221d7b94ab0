/*
 * core/memory/pools.h - the pools that ingest, recon and emit share, sized from the site alone
 *
 * A slot has room for one whole message, envelope included, of the largest protocol. Acquisition:
 * envelope 64, MRD header 340, trajectory [samples + discard][3] float, data [coils][samples +
 * discard] complex float. Image: the pixels start at BS_POOLS_PIXELS, on a cache line; envelope,
 * MRD image header, attribute length and attributes end there, so that the message is one piece,
 * which starts at BS_POOLS_IMAGE_AT or, with shorter attributes, later. Slot sizes are multiples of
 * BS_ALIGN. Pure arithmetic; any thread. Test: test/unit/core/test_pools.c
 */
#ifndef BS_CORE_MEMORY_POOLS_H
#define BS_CORE_MEMORY_POOLS_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"

/* Bytes; BS_WIRE_BYTES of ipc/wire/wire.h, which core may not see (the test compares). */
#define BS_POOLS_ENVELOPE   64u
#define BS_POOLS_TRAJ_DIMS  3u     /* most dimensions of a message's trajectory */
#define BS_POOLS_ATTRIBUTES 12288u /* bytes of an image's attributes, at most */
#define BS_POOLS_IMAGE_HEAD (BS_POOLS_ENVELOPE + BS_MRD_IMAGE_BYTES + 8u + BS_POOLS_ATTRIBUTES)
#define BS_POOLS_PIXELS     ((size_t)(BS_POOLS_IMAGE_HEAD + BS_ALIGN - 1u) / BS_ALIGN * BS_ALIGN)
#define BS_POOLS_IMAGE_AT   (BS_POOLS_PIXELS - BS_POOLS_IMAGE_HEAD)

/*
 * Images that the archive's connection may hold: those in the socket's 4 MiB, which Linux doubles,
 * in nanomsg's buffers at each end, and those that left between two looks (board/emit/archive.h).
 */
static inline uint64_t bs_pools_unsafe(uint64_t image_bytes)
{
	return (UINT64_C(8) << 20) / (image_bytes + 1) + 4;
}

struct bs_pools {
	uint64_t acq_slots, acq_bytes; /* number of slots for readouts, and bytes of one slot */
	/*
	 * image_slots: node.image_slots, and the images that takers hold: in their queue, in hand,
	 * in a connection.
	 */
	uint64_t image_slots, image_bytes;
	uint64_t study_bytes; /* bytes of the store of core/study/study.h */
	uint64_t log_bytes;   /* bytes for messages on their way to the scan's log */
	/*
	 * slots for images as steps gave them back, image_bytes, and behind them the readouts for
	 * steps that take those
	 */
	uint64_t step_slots, step_bytes;
	uint64_t answer_slots; /* slots of acq_bytes for the readouts that answers compare with */
	uint64_t total_bytes;  /* bytes of all pools together */
};

/* Returns BS_ERR_NOMEM when the sum does not fit 64 bits or this machine's size_t. */
int bs_pools_size(struct bs_pools *pools, const struct bs_site *site, struct bs_fail *why);

/*
 * Returns BS_ERR_NOMEM, naming the protocol and its keys, where a protocol of the site needs larger
 * slots than these.
 */
int bs_pools_hold(const struct bs_pools *pools, const struct bs_site *site, struct bs_fail *why);

/* The largest acquisition message that the protocol's streams may carry, envelope included. */
uint64_t bs_pools_acq_message(const struct bs_protocol *p);

#endif
