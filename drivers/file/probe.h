/*
 * drivers/file/probe.h - tries a file in a child process before this one believes it
 *
 * HDF5 1.10 crashes or loops on some damaged files (one flipped byte in a global heap is enough),
 * and no check made beforehand can tell. The child reads the file with the same code as its parent
 * will; the parent goes on only when the child came to an end and said so. Not for real-time
 * threads: forks, blocks. Test: test/unit/drivers/test_recording.c
 */
#ifndef BS_DRIVERS_FILE_PROBE_H
#define BS_DRIVERS_FILE_PROBE_H

#include "core/err.h"

/* What opening a file may take. */
#define BS_PROBE_SECONDS 20u

/*
 * Runs fn(path) in a child. Returns what it returned, with its reason; BS_ERR_FORMAT when the child
 * died or was killed; BS_ERR_IO when there is no child to be had. A child that does not end in its
 * time may have been born with a lock of another thread's in it: it is tried once more before the
 * file is blamed.
 */
int bs_probe(int (*fn)(const char *path, struct bs_fail *why), const char *path,
	     struct bs_fail *why);
/* For fn, before each piece of work: the child is killed when that takes longer. Nothing outside of
 * the child. */
void bs_probe_allow(unsigned seconds);

#endif
