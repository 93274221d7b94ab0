/*
 * test/simulate/disk/disk.h - a disk with one folder of files, DISK_DIR, behind the system's own
 * calls
 *
 * What is written is seen by every reader at once, and is on the disk after fsync or fdatasync. A
 * loss of power leaves of each block that was written since the old, the new, or neither; names of
 * files are on the disk after fsync of their folder, before it some of their changes, in order.
 */
#ifndef BS_TEST_SIMULATE_DISK_DISK_H
#define BS_TEST_SIMULATE_DISK_DISK_H

#include <sys/types.h>

#include "test/simulate/simulate.h"

#define DISK_ROOT "/simulated"
#define DISK_DIR  DISK_ROOT "/images" /* emit/: board/emit/images.c names it */

#define DISK_FD 4000000 /* its descriptors, from here on; the folder's for a listing */

enum disk_fault {
	DISK_SHORT, /* a write puts some of what it should */
	DISK_WRITE, /* a write fails: EIO */
	DISK_SPACE, /* a write fails: ENOSPC */
	DISK_SYNC,  /* a sync fails, once, and some of what was written is lost although the next
		     * one says that all is well */
	DISK_OPEN,  /* a file cannot be opened or made */
	DISK_NAME,  /* a file cannot be renamed or removed */
	DISK_READ,  /* a read fails: EIO */
	DISK_FAULTS
};

void disk_reset(void);
/* The next call of this kind fails. False: one is to fail already. */
bool disk_fail(enum disk_fault what);
/* Until then every write and sync fails. */
void disk_full(int64_t until_ns);
/* Until then nothing can be changed: EROFS. */
void disk_read_only(int64_t until_ns);
/* Until then what changes something fails, and of what was not synced some is lost, once for each
 * sync that fails: EIO. reads: so does what reads. */
void disk_err(int64_t until_ns, bool reads);
/* Until then a sync takes so long. */
void disk_slow(int64_t until_ns, int64_t sync_ns);
void disk_calm(void);
/* The process is gone, and its descriptors with it. */
void disk_process_gone(void);
void disk_power_loss(void);
/* Since reset: what was written and not synced. */
bool disk_lost_relaxed(void);
bool disk_was_well(void); /* no call failed or was to, none was slow */

/* Of a file that is open. False: it is none of the disk's. */
bool disk_read(int fd, void *p, size_t n, ssize_t *had);

/* The folder's names, one after the other from 0. NULL: no more. */
const char *disk_name(unsigned i);

#endif
