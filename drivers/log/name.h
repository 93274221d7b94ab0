/*
 * drivers/log/name.h - what a log's files are called: UTC-SESSION-INDEX.bslog
 *
 * Nothing of the scan's header is in a name. Test: test/unit/drivers/log/test_log.c
 */
#ifndef BS_DRIVERS_LOG_NAME_H
#define BS_DRIVERS_LOG_NAME_H

#include "drivers/log/frame.h"

#define BS_LOG_NAME   64u /* bytes, without the folder */
#define BS_LOG_SUFFIX ".bslog"

/* Of a segment, by its start, session and index. */
void bs_log_name(char name[BS_LOG_NAME], const struct bs_log_head *h);

/*
 * "STEM-INDEX.bslog", the name of a segment without its folder: its stem's length and its index.
 * False: it is not such a name.
 */
bool bs_log_split(const char *name, size_t *stem, uint32_t *index);

/* Is path, by its name or its first bytes, a log's file? */
bool bs_log_is(const char *path);

#endif
