/*
 * board/service/throttle.h - whether the kernel stops real-time threads of ours that poll
 *
 * Linux gives real-time threads kernel.sched_rt_runtime_us (950,000) of each period (1,000,000 us)
 * of a processor and stops them for the rest, the canaries, too: a thread that polls uses its time
 * up, and loses up to 50 ms of a second in a stall that looks like the machine's (Linux,
 * Documentation/scheduler/sched-rt-group.rst). -1 is no limit.
 * matters: this site's reconstruction polls at a real-time priority; gpu: one of its protocols is
 * on a GPU (board/arm/armed.h).
 * read: the number in the file at path; false: there is none, as on a kernel without the limit.
 * words: what is wrong, and what helps. Any thread.
 * Test: test/unit/board/test_throttle.c
 */
#ifndef BS_BOARD_SERVICE_THROTTLE_H
#define BS_BOARD_SERVICE_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/protocol.h"
#include "ipc/shm/realtime.h"

#define BS_THROTTLE_FILE "/proc/sys/kernel/sched_rt_runtime_us"
#define BS_THROTTLE_NONE INT64_C(-1)

bool bs_throttle_matters(const struct bs_realtime *rt, bool gpu);
bool bs_throttle_read(const char *path, int64_t *runtime_us);
void bs_throttle_words(char out[BS_REMEDY], const struct bs_realtime *rt, int64_t runtime_us);

#endif
