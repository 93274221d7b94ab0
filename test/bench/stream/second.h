/*
 * test/bench/stream/second.h - for a bench: a second service on the same machine and GPU, and who
 * sends to it while the first one's stream is measured
 *
 * Its protocol: volumes of 128^3, 200 iterations each, ten a second; its streams have the GPU's
 * lowest priority. SHARE=PERCENT: its part of the multiprocessors, where CUDA MPS runs. The sender
 * is a process of its own: it is this program again.
 */
#ifndef BS_TEST_BENCH_SECOND_H
#define BS_TEST_BENCH_SECOND_H

#include "test/bench/stream/stream.h"

/* The service, idle until play; backend: of its protocol. */
bool second_start(const char *backend, const char *wait);
void second_stop(void);
/* play: returns when its first volume has come. rest: after the scan in hand; false: it failed. */
bool second_play(void);
bool second_rest(void);

#endif
