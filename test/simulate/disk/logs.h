/*
 * test/simulate/disk/logs.h - the logs on the disk, as their real reader (drivers/log/reader.h) has
 * them
 */
#ifndef BS_TEST_SIMULATE_DISK_LOGS_H
#define BS_TEST_SIMULATE_DISK_LOGS_H

#include <stdint.h>

/* A spare segment of so many bytes that held another log before. */
void logs_make_spare(uint64_t bytes);
/*
 * A log that an outcome named has an end, unless the disk kept the service from it, in words. The
 * newest two may still be continued.
 */
void logs_judge_ends(void);
/* Reads them all into the books and judges those by them. Not while a process lives. */
void logs_judge(void);

/* The process is gone, and what it read. */
void logs_process_gone(void);

#endif
