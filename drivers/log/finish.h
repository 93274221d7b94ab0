/*
 * drivers/log/finish.h - the log of a scan that its writer was killed in: what of it the disk has,
 * and its end
 *
 * To be sealed the log is read. Its last file then says that the log ends behind its last good
 * record, and is cut there: what a killed writer had half written goes. Where records that had been
 * committed are damaged, the seal's number says so: whoever reads the log is told of the damage as
 * before, and no file is cut. Not for real-time threads: reads the whole log, allocates.
 * Test: test/unit/drivers/log/test_finish.c
 */
#ifndef BS_DRIVERS_LOG_FINISH_H
#define BS_DRIVERS_LOG_FINISH_H

#include <stdint.h>

#include "core/err.h"

/*
 * Brings what a killed writer had written to the disk, and makes the system forget its own copy:
 * what is read from then on is what the disk has, also where a sync had failed, its or this one.
 * path: of one of the log's files. BS_ERR_IO; BS_ERR_STATE: it is being written.
 */
int bs_log_settle(const char *path, struct bs_fail *why);
/*
 * name: of one of its files. *records: that can be read. 0: it is sealed. BS_ERR_FORMAT: the same,
 * and the reason says what is damaged. BS_ERR_STATE: it is being written; BS_ERR_IO, BS_ERR_NOMEM:
 * it is as it was.
 */
int bs_log_finish(const char *dir, const char *name, uint64_t *records, struct bs_fail *why);

/*
 * Cuts the last file of a log, name, where its seal says that it ends; else leaves it as it is.
 * BS_ERR_STATE: it is being written; BS_ERR_IO.
 */
int bs_log_cut(const char *dir, const char *name, struct bs_fail *why);

#endif
