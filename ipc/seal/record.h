/*
 * ipc/seal/record.h - counts of connections to a sealed endpoint, for the status; in shared memory
 *
 * Written by the one thread that has the endpoint, read by any. Counts outlive the process.
 */
#ifndef BS_IPC_SEAL_RECORD_H
#define BS_IPC_SEAL_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

enum bs_seal_place { BS_SEAL_KSPACE, BS_SEAL_IMAGES, BS_SEAL_STATUS, BS_SEAL_PLACES };

struct bs_seal_record {
	_Atomic uint64_t on;       /* 1 if the endpoint is sealed */
	_Atomic uint64_t sessions; /* number of connections whose first sealed message opened */
	_Atomic uint64_t unknown;  /* connections ended: without a key, or with an unknown one */
	/* connections ended: the key is known and does not have the role */
	_Atomic uint64_t refused;
	/* connections ended: a message did not open (altered, replayed, cut) */
	_Atomic uint64_t forged;
	_Atomic uint64_t crowded; /* connections ended: the key has as many as it may */
	char last[160];           /* why the last connection was ended, and where it came from */
};

#endif
