/*
 * board/arm/ready.h - what a site file asks of this machine before the service starts
 *
 * places: the folders that the service makes and writes in (node.run_dir, node.cache_dir, those of
 * sinks, overload.spill_dir) and those of its sockets. Changes nothing. What only the moment of the
 * start tells (another service in the folder, a port in use) is left to it.
 * tables: a protocol's files, loaded (drivers/file/tables.h). protocol: the same, and its weights
 * where no iteration makes them: what sees nothing of an image is refused, as arming would.
 * All that is wrong is told through report, one line each, "file: key: why"; 0, or the first code.
 * Used by check, and (but protocol) by serve in its start, so that both say the same. Reads files,
 * allocates.
 * Test: test/unit/board/ready.sh
 */
#ifndef BS_BOARD_ARM_READY_H
#define BS_BOARD_ARM_READY_H

#include "drivers/file/tables.h"

#define BS_READY_STACK_KIB 1024u /* most KiB of stack that a thread of a worker uses */
#define BS_READY_FILES     64u   /* descriptors, with which few peers can connect at a time */

int bs_ready_places(const struct bs_site *site, bs_tell_line *report, void *arg);
int bs_ready_tables(struct bs_loaded *loaded, const struct bs_site *site,
		    const struct bs_protocol *p, bs_tell_line *report, void *arg);
int bs_ready_protocol(const struct bs_site *site, const struct bs_protocol *p, bs_tell_line *report,
		      void *arg);

#endif
