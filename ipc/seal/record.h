/*
 * ipc/seal/record.h - what came to a sealed endpoint, for the status; in shared memory
 *
 * Written by the one thread that has the endpoint, read by any. Counts outlive the process.
 */
#ifndef BS_IPC_SEAL_RECORD_H
#define BS_IPC_SEAL_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

enum bs_seal_place { BS_SEAL_KSPACE, BS_SEAL_IMAGES, BS_SEAL_STATUS, BS_SEAL_PLACES };

struct bs_seal_record {
	_Atomic uint64_t on;       /* it is sealed */
	_Atomic uint64_t sessions; /* connections whose first sealed message opened */
	_Atomic uint64_t unknown;  /* ended: without a key, or with one that is not known */
	_Atomic uint64_t refused;  /* ended: the key is known and has not the role */
	_Atomic uint64_t forged;  /* ended at a message that did not open: altered, replayed, cut */
	_Atomic uint64_t crowded; /* ended: the key has as many connections as it may */
	char last[160];           /* why the last one was ended, and where it came from */
};

#endif
