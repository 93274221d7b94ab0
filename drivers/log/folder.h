/*
 * drivers/log/folder.h - lists the logs of a folder, and removes the oldest
 *
 * Logs are in the order of their names, which is that of their scans' beginnings. Not for real-time
 * threads: allocates, blocks on the disk. Any thread. Test: test/unit/drivers/log/test_logged.c
 */
#ifndef BS_DRIVERS_LOG_FOLDER_H
#define BS_DRIVERS_LOG_FOLDER_H

#include "drivers/log/cursor.h"
#include "drivers/log/name.h"

struct bs_log_entry {
	char name[BS_LOG_NAME]; /* of its first file */
	char last[BS_LOG_NAME]; /* of its last */
	uint32_t segments;
	uint64_t bytes;
	int64_t changed_ns; /* since 1970, UTC: its last file */
};

/* *list: *count of them, to be freed. BS_ERR_IO, BS_ERR_NOMEM. */
int bs_log_folder_list(const char *dir, struct bs_log_entry **list, size_t *count,
		       struct bs_fail *why);

/*
 * 1: its last file says that the log ends there; 0: it does not; BS_ERR_IO: it cannot be read.
 * early: before all images of its scan had been made; may be NULL.
 */
int bs_log_folder_sealed(const char *dir, const struct bs_log_entry *e, bool *early);
/*
 * The session of the last scan of which that was said, and whose images have been made since; 0:
 * not known. Kept in a file beside the logs, which outlives a kill; after a loss of power it may
 * be that of an older scan.
 */
#define BS_LOG_MADE "made" BS_CURSOR_SUFFIX
uint64_t bs_log_folder_made(const char *dir);
int bs_log_folder_set_made(const char *dir, uint64_t session, struct bs_fail *why);

/*
 * Removes the files that a killed writer was making: N.spare.part, ID.part. One that a living
 * process makes is locked, and stays. Returns how many.
 */
unsigned bs_log_folder_sweep(const char *dir);

struct bs_log_limits {
	uint64_t most_bytes;    /* of all logs together; 0: no limit */
	int64_t oldest_ns;      /* a log last changed before this time is removed; 0: none is */
	uint64_t segment_bytes; /* a file of this size becomes a spare one; 0: none does */
};

/* keep_hours: since the last write to a log; 0: any. segment_bytes is left 0. */
struct bs_log_limits bs_log_limits_of(uint64_t keep_mib, double keep_hours);

struct bs_log_pruned {
	uint32_t logs;
	uint64_t bytes;
	uint32_t spares; /* of their files */
};

/*
 * Removes logs, the oldest first, until the limits hold. A log that is being written is never
 * removed. BS_ERR_IO: one could not be removed; the others were.
 */
int bs_log_folder_prune(const char *dir, const struct bs_log_limits *limits,
			struct bs_log_pruned *done, struct bs_fail *why);

#endif
