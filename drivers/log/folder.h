/*
 * drivers/log/folder.h - lists the logs of a folder, and removes the oldest
 *
 * Logs are in the order of their names, which is that of their scans' beginnings. Not for real-time
 * threads: allocates, blocks on the disk. Any thread. Test: test/unit/drivers/log/test_logged.c
 */
#ifndef BS_DRIVERS_LOG_FOLDER_H
#define BS_DRIVERS_LOG_FOLDER_H

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

/* Its last file says that the log ends there. False also where that file cannot be read. */
bool bs_log_folder_sealed(const char *dir, const struct bs_log_entry *e);

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
