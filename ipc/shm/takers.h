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

struct bs_taker_record {
	char name[64];          /* emit; "": there is none */
	uint32_t policy, queue; /* emit; enum bs_policy; viewers: nanomsg keeps the newest */
	/* emit: taken = handed + failed + shed + lost + what waits (lost: board/emit/taker.h) */
	_Atomic uint64_t taken, handed, failed, shed, lost;
	_Atomic uint64_t spilled;                    /* of these, that went to disk */
	_Atomic uint64_t spill_waiting, spill_bytes; /* on disk now */
	_Atomic uint32_t waiting;                    /* in memory now, the one in hand included */
	_Atomic int64_t since_ns;                    /* it has one in hand since; 0: none */
	_Atomic uint32_t there;                      /* the archive: it was connected just now */
	char refusal[384]; /* emit: why it did not take the last image it was given; "": it did */
};

/* Who asks at endpoints.images, as far as the service knows; written by emit. */
#define BS_ASKERS 8u
struct bs_asker {
	char name[64];                   /* "": there is none */
	_Atomic uint64_t cursor, missed; /* number of the last image it has; not kept for it */
};
struct bs_images_record {
	_Atomic uint64_t last, bytes; /* number of the newest image; on disk */
	struct bs_asker asker[BS_ASKERS];
};

#endif
