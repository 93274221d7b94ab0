/*
 * test/simulate/recorder.h - the loop of `boreside record`, its real code in it (board/log/)
 */
#ifndef BS_TEST_SIMULATE_RECORDER_H
#define BS_TEST_SIMULATE_RECORDER_H

#include <stdbool.h>

#define RECORDER_SEGMENT (96u << 10) /* bytes of its logs' segments */

/* A process's main. */
int recorder_run(void *unused);
bool recorder_scans(void);
/* Is it told to end? */
void recorder_stop(bool told);

#endif
