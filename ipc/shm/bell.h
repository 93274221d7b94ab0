/*
 * ipc/shm/bell.h - waking a process that sleeps, at the price of one load when it does not
 *
 * Who sleeps: announce, look once more for work, wait on the eventfd (poll), awake. Who has made
 * work for it: ring. The bell lies in shared memory; the eventfd was made by the supervisor and is
 * inherited. Work must be published with sequentially consistent stores (core/memory/ring.h, C11's
 * default), so that either the second look sees the work or the ringer sees the other one asleep.
 * Never blocks; any number of ringers. Test: test/unit/ipc/test_shm.c
 */
#ifndef BS_IPC_SHM_BELL_H
#define BS_IPC_SHM_BELL_H

#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

struct bs_bell {
	_Alignas(64) _Atomic uint32_t asleep;
};

static inline void bs_bell_ring(struct bs_bell *b, int fd)
{
	const uint64_t one = 1;

	if (atomic_load(&b->asleep))
		(void)!write(fd, &one, sizeof(one)); /* full: it is readable already */
}

static inline void bs_bell_announce(struct bs_bell *b)
{
	atomic_store(&b->asleep, 1);
}

static inline void bs_bell_awake(struct bs_bell *b, int fd)
{
	uint64_t count;

	atomic_store(&b->asleep, 0);
	(void)!read(fd, &count, sizeof(count)); /* non-blocking: empty is fine */
}

#endif
