/*
 * test/support/alloc_hook.h - what the preloaded allocation counter (alloc_hook.c) writes down
 *
 * ALLOC_HOOK names a file of this layout, which the test makes and maps; each worker of the service
 * counts in its own row: who called malloc & co., by the object that the return address lies in.
 */
#ifndef BS_TEST_SUPPORT_ALLOC_HOOK_H
#define BS_TEST_SUPPORT_ALLOC_HOOK_H

#include <stdatomic.h>
#include <stdint.h>

enum alloc_who { ALLOC_OURS, ALLOC_NANOMSG, ALLOC_OTHER, ALLOC_WHO };
enum alloc_row { ALLOC_INGEST, ALLOC_RECON, ALLOC_EMIT, ALLOC_SUPERVISOR, ALLOC_ROWS };

struct alloc_counts {
	struct {
		_Atomic uint64_t taken[ALLOC_WHO]; /* malloc, calloc, realloc, memalign, mmap */
		_Atomic uint64_t freed[ALLOC_WHO]; /* free of something, munmap */
		_Atomic uint64_t
			other_at; /* the last ALLOC_OTHER's return address, to look it up */
		_Atomic uint64_t ours_at;
	} row[ALLOC_ROWS];
};

#endif
