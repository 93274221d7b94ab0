/*
 * drivers/log/folder.h - lists the logs of a folder, and removes the oldest
 *
 * Logs are sorted by name, which is the order in which their scans began. Any thread but real-time
 * threads: allocates, blocks on the disk. Test: test/unit/drivers/log/test_logged.c
 */
#ifndef BS_DRIVERS_LOG_FOLDER_H
#define BS_DRIVERS_LOG_FOLDER_H

#include "drivers/log/cursor.h"
#include "drivers/log/name.h"

struct bs_log_entry {
	char name[BS_LOG_NAME]; /* name of the log's first file */
	char last[BS_LOG_NAME]; /* name of the log's last file */
	uint32_t segments;
	uint64_t bytes;
	int64_t changed_ns; /* time of the last file's last change, since 1970, UTC */
};

/* Lists the folder's logs: *count entries in *list, which the caller frees. BS_ERR_IO, _NOMEM. */
int bs_log_folder_list(const char *dir, struct bs_log_entry **list, size_t *count,
		       struct bs_fail *why);

/*
 * 1: the log is sealed: its last file says that the log ends there. 0: it is not sealed. BS_ERR_IO:
 * the file cannot be read. *early: the log was sealed before all images of its scan had been made;
 * early may be NULL.
 */
int bs_log_folder_sealed(const char *dir, const struct bs_log_entry *e, bool *early);
/*
 * Session of the last scan whose log was sealed early and whose images have all been made since; 0:
 * not known. The session is kept in a file beside the logs, which survives a kill. After a loss of
 * power the file may name an older scan.
 */
#define BS_LOG_MADE "made" BS_CURSOR_SUFFIX
uint64_t bs_log_folder_made(const char *dir);
int bs_log_folder_set_made(const char *dir, uint64_t session, struct bs_fail *why);

/*
 * Removes the files that a killed writer was making: N.spare.part, ID.part. A file that a living
 * process is making is locked, and stays. Returns the number of removed files.
 */
unsigned bs_log_folder_sweep(const char *dir);

struct bs_log_limits {
	uint64_t most_bytes; /* most bytes of all logs together; 0: no limit */
	int64_t oldest_ns;   /* a log last changed before this time is removed; 0: none is */
	/* a removed file of this size becomes a spare segment; 0: none does */
	uint64_t segment_bytes;
};

/* keep_hours: longest time since a log's last write; 0: no limit. segment_bytes becomes 0. */
struct bs_log_limits bs_log_limits_of(uint64_t keep_mib, double keep_hours);

struct bs_log_pruned {
	uint32_t logs;
	uint64_t bytes;
	uint32_t spares; /* files of removed logs that became spare segments */
};

/*
 * Removes logs, the oldest first, until the limits hold. A log that is being written is never
 * removed. BS_ERR_IO: a log could not be removed; the others were.
 */
int bs_log_folder_prune(const char *dir, const struct bs_log_limits *limits,
			struct bs_log_pruned *done, struct bs_fail *why);

#endif
