/*
 * drivers/log/finish.h - seals a log whose writer was killed, and makes sure of what the disk has
 *
 * The log is read before it is sealed. The seal in its last file then says that the log ends behind
 * its last good record, and the file is cut there: a half-written record goes. If committed records
 * are damaged, no file is cut, and the seal has another number than the last good record: a reader
 * still reports the damage. Not for real-time threads: reads the whole log, allocates.
 * Test: test/unit/drivers/log/test_finish.c
 */
#ifndef BS_DRIVERS_LOG_FINISH_H
#define BS_DRIVERS_LOG_FINISH_H

#include <stdint.h>

#include "ipc/seal/sign.h"

/*
 * Syncs the log's files and drops their pages from the system's cache. Reads after this return what
 * the disk has, even if the killed writer's sync or this one failed. path: any file of the log.
 * BS_ERR_IO; BS_ERR_STATE: the log is being written.
 */
int bs_log_settle(const char *path, struct bs_fail *why);
/*
 * Seals a log. name: any file of the log; *records: number of records that can be read. signer:
 * signs its segments that have no seal (parts.h); NULL: nothing is signed. 0: the log is sealed.
 * BS_ERR_FORMAT: it is sealed, and the reason says what is damaged. BS_ERR_STATE: the log is being
 * written. BS_ERR_IO, BS_ERR_NOMEM: its end is unchanged.
 */
int bs_log_finish(const char *dir, const char *name, const struct bs_signer *signer,
		  uint64_t *records, struct bs_fail *why);

/*
 * Cuts file `name`, the last of a log, where its seal says that the log ends. A file without such a
 * seal is left as it is. BS_ERR_STATE: the file is being written; BS_ERR_IO.
 */
int bs_log_cut(const char *dir, const char *name, struct bs_fail *why);

/* True if the last file of the log, of which name is one file, says that the log is complete. */
bool bs_log_has_end(const char *dir, const char *name);

#endif
