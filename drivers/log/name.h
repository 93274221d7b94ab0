/*
 * drivers/log/name.h - names of a log's files: UTC-SESSION-INDEX.bslog
 *
 * A name has nothing from the scan's header. Test: test/unit/drivers/log/test_log.c
 */
#ifndef BS_DRIVERS_LOG_NAME_H
#define BS_DRIVERS_LOG_NAME_H

#include "drivers/log/frame.h"

#define BS_LOG_NAME   64u /* bytes of a name without its folder */
#define BS_LOG_SUFFIX ".bslog"

/* Makes a segment's name from the scan's start and session and the segment's index. */
void bs_log_name(char name[BS_LOG_NAME], const struct bs_log_head *h);

/*
 * Splits a segment's name without its folder, "STEM-INDEX.bslog", into the stem's length and the
 * index. False: it is not such a name.
 */
bool bs_log_split(const char *name, size_t *stem, uint32_t *index);

#endif
