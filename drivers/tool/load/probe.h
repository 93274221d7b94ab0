/*
 * drivers/tool/load/probe.h - tries a file in a child process before this one believes it
 *
 * HDF5 1.10 crashes or loops on some damaged files (one flipped byte in a global heap is enough),
 * and no check made beforehand can tell. The child reads the file with the same code as its parent
 * will, in the same memory: some damage makes HDF5 read beyond its buffers, and whether that is the
 * end of it depends on what lies there. A fresh process survived files that then crashed the one
 * that asked, so the child is a fork. The parent goes on only when the child came to an end and
 * said so.
 *
 * Call it while the other threads of the process wait: a fork is born with the locks that they
 * hold, and waits for them for ever. glibc's malloc is made for that, a sanitizer's is not: its
 * lock is held while a thread starts. Not for real-time threads: forks, blocks.
 * Test: test/unit/drivers/test_probe.c, test/unit/drivers/test_recording.c
 */
#ifndef BS_DRIVERS_TOOL_LOAD_PROBE_H
#define BS_DRIVERS_TOOL_LOAD_PROBE_H

#include "core/err.h"

/* seconds of a processor that opening a file may take */
#define BS_PROBE_SECONDS 20u

/*
 * Runs fn(path) in a child. Returns what it returned, with its reason; BS_ERR_FORMAT when the child
 * died or took too much of a processor; BS_ERR_TIMEOUT when it got too little of one, or of the
 * disk, to end; BS_ERR_NOMEM when it was killed, as the system does for want of memory; BS_ERR_IO
 * when there is no child to be had, or it ended of itself. It dies with this process.
 */
int bs_probe(int (*fn)(const char *path, struct bs_fail *why), const char *path,
	     struct bs_fail *why);
/*
 * Limits what fn does next, until its next call of this: the child is killed when that uses more
 * processor time, or 30 times as long by the clock. No effect outside of a child.
 */
void bs_probe_allow(unsigned seconds);

#endif
