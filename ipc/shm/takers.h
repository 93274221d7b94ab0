/*
 * ipc/shm/takers.h - who takes images, and how many of them each had
 */
#ifndef BS_IPC_SHM_TAKERS_H
#define BS_IPC_SHM_TAKERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/protocol.h"

/*
 * Who takes images: each sink in the site's order, the archive, the viewers, and the store for
 * takers that ask.
 */
enum { BS_TAKER_ARCHIVE = BS_SINKS_MAX, BS_TAKER_VIEWERS, BS_TAKER_IMAGES, BS_TAKERS };

/*
 * A taker's record. had is the taker's cursor: the number of the last entry of the images' queue
 * that the taker is beyond (bs_images_record.base). It is also beyond the image in hand, and beyond
 * images that it did not get.
 */
struct bs_taker_record {
	char name[64]; /* name of the taker, written by emit; "": there is no such taker */
	/*
	 * written by emit; policy: enum bs_policy; queue: most images that wait; viewers: nanomsg
	 * keeps the newest
	 */
	uint32_t policy, queue;
	/* emit: taken = handed + failed + shed + lost + behind + images that wait in the pool */
	_Atomic uint64_t taken, handed, failed, shed, lost;
	_Atomic uint64_t behind; /* images that the taker will be given from the store */
	/* the taker's cursor; emit writes it and the members below with its lock held */
	_Atomic uint64_t had;
	/* of the archive: up to this number no image lies in its connection */
	_Atomic uint64_t safe;
	/* of the archive: number of images beyond safe that may lie in its connection */
	_Atomic uint64_t unsafe;
	/*
	 * of the archive: number of unsafe images that nobody has any more: they are lost until
	 * they are safe
	 */
	_Atomic uint64_t gone;
	_Atomic uint64_t hand_at; /* number of the queue's entry in hand */
	_Atomic uint64_t hand;    /* slot of the image in hand, plus 1; 0: none is in hand */
	/* number of the image in hand, where the store has lost it: it counts as lost */
	_Atomic uint64_t hand_gone;
	/* points by which the image in hand is blamed for the ends of processes (emit.h) */
	_Atomic uint32_t blame;
	_Atomic int64_t since_ns; /* time since which an image is in hand; 0: none is */
	_Atomic uint32_t there;   /* of the archive: 1: connected at the last look */
	/* emit: why the taker did not take the last image that it was given; "": it did */
	char refusal[384];
};
#define BS_HAND_STORED UINT64_MAX /* value of the member hand: the image is from the store */

/* Number of images that wait for the taker in the pool, the one in hand included. */
static inline uint64_t bs_taker_waiting(const struct bs_taker_record *r)
{
	const uint64_t done = atomic_load(&r->handed) + atomic_load(&r->failed) +
			      atomic_load(&r->shed) + atomic_load(&r->lost) +
			      atomic_load(&r->behind);
	const uint64_t taken = atomic_load(&r->taken);

	return taken > done ? taken - done : 0;
}

/* A taker that asks at endpoints.images, as far as the service knows; written by emit. */
#define BS_ASKERS 8u
struct bs_asker {
	char name[64]; /* name of the asker; "": there is no such asker */
	/* cursor: number of the last image that the asker has; missed: images not kept for it */
	_Atomic uint64_t cursor, missed;
};
struct bs_images_record {
	uint64_t base; /* entry i of the images' queue, from 0, has the number base + i + 1 */
	_Atomic uint32_t begun; /* base and the takers' cursors are set */
	/* entries that takers may have: emit's first thread is beyond them */
	_Atomic uint64_t ready;
	_Atomic uint64_t closed; /* entries that count in their scan's outcome */
	/* last: number of the newest image in the store; bytes: size of the store on disk */
	_Atomic uint64_t last, bytes;
	/*
	 * The store's contents when the service started, of the newest image's scan and the scan
	 * before.
	 */
	struct {
		/* numbers, within the scan, of the last image and of the last preview */
		uint64_t session, image, preview;
	} kept[2];
	struct bs_asker asker[BS_ASKERS];
};

#endif
