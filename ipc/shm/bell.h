/*
 * ipc/shm/bell.h - waking a process that sleeps, at the price of one load when it does not
 *
 * A process that wants to sleep announces it, checks once more for work, waits on the eventfd
 * (poll), and calls awake. A process that has made work for it rings. The bell lies in shared
 * memory; the supervisor makes the eventfd, and workers inherit it. Work must be published with
 * sequentially consistent stores (core/memory/ring.h, C11's default): then either the second check
 * sees the work, or ring sees that the other process is asleep. Never blocks; any number may ring.
 * Test: test/unit/ipc/test_shm.c
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
		(void)!write(fd, &one, sizeof(one)); /* a full eventfd is readable already */
}

static inline void bs_bell_announce(struct bs_bell *b)
{
	atomic_store(&b->asleep, 1);
}

static inline void bs_bell_awake(struct bs_bell *b, int fd)
{
	uint64_t count;

	atomic_store(&b->asleep, 0);
	(void)!read(fd, &count, sizeof(count)); /* the eventfd does not block: it may be empty */
}

#endif
