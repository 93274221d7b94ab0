/*
 * ipc/shm/slots.h - the entries of the rings between the workers, and the record beside each slot
 *
 * The holder of a slot's index owns the slot and writes the record beside it.
 */
#ifndef BS_IPC_SHM_SLOTS_H
#define BS_IPC_SHM_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/frame/recon.h"
#include "core/frame/step.h"
#include "core/latency/budget.h"
#include "core/memory/pools.h"
#include "core/mrd.h"

/* Makes an entry of a ring from its kind, the low bits of the scan's number, and a slot. */
enum bs_entry_kind {
	BS_ENTRY_OPEN = 1,
	BS_ENTRY_ACQ,
	BS_ENTRY_CLOSE,
	BS_ENTRY_IMAGE,
	BS_ENTRY_END
};

static inline uint64_t bs_entry(enum bs_entry_kind kind, uint64_t scan, uint32_t slot)
{
	return (uint64_t)kind << 56 | (scan & 0xffffff) << 32 | slot;
}
static inline enum bs_entry_kind bs_entry_kind(uint64_t e)
{
	return (enum bs_entry_kind)(e >> 56);
}
static inline bool bs_entry_of(uint64_t e, uint64_t scan)
{
	return ((e >> 32) & 0xffffff) == (scan & 0xffffff);
}
/* Returns the place of the record of the entry's scan (scan.h). */
static inline uint32_t bs_entry_place(uint64_t e)
{
	return (uint32_t)(e >> 32) & 1;
}
static inline uint32_t bs_entry_slot(uint64_t e)
{
	return (uint32_t)e;
}

/*
 * The record beside each acquisition slot. The slot's bytes hold the samples [coil][sample],
 * aligned, and behind them, where the protocol's path comes with the stream, a line's path
 * (core/frame/recon.h).
 */
struct bs_acq_meta {
	struct bs_mrd_acq head;
	uint32_t row;
	int64_t received_ns; /* when ingest had the whole message */
	int64_t handed_ns;   /* when the message had been checked, copied and given to recon */
	int64_t sender_ns;   /* time_ns of the message's envelope, by the sender's clock */
	uint64_t seq;        /* number of the message's envelope */
	bool lost;           /* a readout of the scan before it did not arrive, or was refused */
	bool logged;         /* it was read from its scan's log */
};

/* The record beside each image slot, whose bytes are laid out as core/memory/pools.h says. */
struct bs_image_meta {
	/* recon's description of the image; its .pixels is not valid here */
	struct bs_recon_image image;
	uint64_t scan, session;
	uint32_t protocol;
	char engine[32];
	/*
	 * start of the image's latency: when the last readout was received, or the message that
	 * told that no more of a partial frame will come
	 */
	int64_t from_ns;
	/* when the last readout was given to recon */
	int64_t acq_handed_ns;
	/* when the last readout was taken up and accumulated; 0: not known (a partial frame) */
	int64_t taken_ns, added_ns;
	enum bs_rung rung;         /* the rung that the image was made on */
	int64_t ready_ns;          /* when the frame was complete in recon */
	int64_t begun_ns, made_ns; /* when making the image began and ended */
	int64_t handed_ns;         /* emit: when the image was handed to the first sink */
	int64_t sender_ns;         /* time_ns of the last readout that the image needed */
	uint64_t pixel_bytes;      /* emit's: bytes of pixels in the image's message */
	/* emit: the image at its step; with its verdict it is decided for every process to come */
	struct bs_step_result step;
	/* emit: the image's attributes as pairs (core/text.h) */
	char attributes[BS_POOLS_ATTRIBUTES];
	uint32_t attributes_len; /* emit: bytes of the message's XML, right before the pixels */
	/* emit: the image could not be made a message, and there is none */
	_Atomic uint32_t failed;
	_Atomic uint32_t stored; /* emit: the image is in the store */
	_Atomic uint32_t takers; /* emit: number of takers that took it */
};

#endif
