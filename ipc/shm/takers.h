/*
 * ipc/shm/takers.h - who takes images, and how many of them each had
 */
#ifndef BS_IPC_SHM_TAKERS_H
#define BS_IPC_SHM_TAKERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/protocol.h"

/* Who takes images: each sink in the site's order, the archive, the viewers, the store for those
 * that ask. */
enum { BS_TAKER_ARCHIVE = BS_SINKS_MAX, BS_TAKER_VIEWERS, BS_TAKER_IMAGES, BS_TAKERS };

/*
 * had is the taker's cursor: the number of the last entry of the images' queue that it is beyond
 * (bs_images_record.base). What it has in hand it is beyond, too; so is what it did not get.
 */
struct bs_taker_record {
	char name[64];          /* emit; "": there is none */
	uint32_t policy, queue; /* emit; enum bs_policy; viewers: nanomsg keeps the newest */
	/* emit: taken = handed + failed + shed + lost + behind + what waits in the pool */
	_Atomic uint64_t taken, handed, failed, shed, lost;
	_Atomic uint64_t behind; /* images that it will be given from the store */
	_Atomic uint64_t had;    /* emit, with its lock held, as all below */
	_Atomic uint64_t safe; /* the archive: up to this number nothing lies in its connection, */
	_Atomic uint64_t unsafe; /* and so many images beyond it may lie there; */
	_Atomic uint64_t gone; /* so many of them nobody has any more: lost, until they are safe */
	_Atomic uint64_t hand_at;   /* the entry in hand, */
	_Atomic uint64_t hand;      /* and its slot + 1; 0: none */
	_Atomic uint64_t hand_gone; /* its number, where the store has lost it: it counts as lost */
	_Atomic uint32_t blame;     /* of the image in hand, for processes that ended: emit.h */
	_Atomic int64_t since_ns;   /* it is in hand since; 0: none */
	_Atomic uint32_t there;     /* the archive: it was connected just now */
	char refusal[384]; /* emit: why it did not take the last image it was given; "": it did */
};
#define BS_HAND_STORED UINT64_MAX /* in hand: from the store */

/* What waits for it in the pool, the one in hand included. */
static inline uint64_t bs_taker_waiting(const struct bs_taker_record *r)
{
	const uint64_t done = atomic_load(&r->handed) + atomic_load(&r->failed) +
			      atomic_load(&r->shed) + atomic_load(&r->lost) +
			      atomic_load(&r->behind);
	const uint64_t taken = atomic_load(&r->taken);

	return taken > done ? taken - done : 0;
}

/* Who asks at endpoints.images, as far as the service knows; written by emit. */
#define BS_ASKERS 8u
struct bs_asker {
	char name[64];                   /* "": there is none */
	_Atomic uint64_t cursor, missed; /* number of the last image it has; not kept for it */
};
struct bs_images_record {
	uint64_t base; /* entry i of the images' queue, from 0, has the number base + i + 1 */
	_Atomic uint32_t begun;  /* base and the takers' cursors are set */
	_Atomic uint64_t ready;  /* entries that takers may have: the first thread is beyond them */
	_Atomic uint64_t closed; /* entries that count in their scan's outcome */
	_Atomic uint64_t last, bytes; /* of the store: number of the newest image; on disk */
	/* what it had when the service started, of the newest image's scan and of the one before */
	struct {
		uint64_t session, image, preview; /* the last ones: numbers within the scan */
	} kept[2];
	struct bs_asker asker[BS_ASKERS];
};

#endif
