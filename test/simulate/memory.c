/* test/simulate/memory.c - see memory.h */
#define _GNU_SOURCE /* MADV_DONTNEED */
#include "test/simulate/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "test/simulate/wakes.h"

void memory_make(struct bs_shm *shm, const struct bs_site *site, enum bs_worker worker)
{
	static struct bs_traj tables[BS_PROTOCOLS_MAX];
	struct bs_fail why = { 0 };

	if (bs_shm_create(shm, site, tables, &why) != 0) {
		(void)fprintf(stderr, "simulate: shared memory: %s\n", why.text);
		exit(1);
	}
	for (int i = 0; i < BS_BELLS; i++)
		shm->bell_fd[i] = WAKES_BELL + i;
	atomic_store(&shm->s->worker[worker].generation, 1);
}

void memory_keep(struct bs_shm *shm)
{
	if (mmap(shm->s, shm->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, shm->fd, 0) ==
	    MAP_FAILED)
		abort();
}

void memory_reset(struct bs_shm *shm)
{
	if (madvise(shm->s, shm->bytes, MADV_DONTNEED) != 0)
		abort();
	wakes_reset();
	for (int i = 0; i < BS_WORKERS; i++)
		atomic_store(&shm->s->worker[i].epoch, 1);
	atomic_store(&shm->s->supervisor_bell.asleep, 1); /* each event is taken at once */
}
