/*
 * test/simulate/logs.h - the logs on the disk, as their real reader has them (drivers/log/reader.h)
 */
#ifndef BS_TEST_SIMULATE_LOGS_H
#define BS_TEST_SIMULATE_LOGS_H

/* Reads them all into the books and judges those by them. Not while a process lives. */
void logs_judge(void);

#endif
