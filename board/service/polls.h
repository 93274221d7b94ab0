/*
 * board/service/polls.h - whether receiving and handing on may poll beside the reconstruction
 *
 * Three first threads that poll at real-time priorities keep whatever is below them from a
 * processor for as long as a scan runs: the reconstruction, the threads that write files, the
 * library's. So each of them needs a processor of its own and one to spare: any of them together
 * have at least one processor more than they are. Without real-time priorities they share
 * processors as all threads do, and may.
 * may: processors that the first threads of ingest, recon and emit may run on. Pure; any thread.
 * Test: test/unit/board/test_polls.c
 */
#ifndef BS_BOARD_SERVICE_POLLS_H
#define BS_BOARD_SERVICE_POLLS_H

#include <stdbool.h>

#include "core/thread/cpus.h"

#define BS_POLLS 3

bool bs_polls_fit(const struct bs_cpus may[BS_POLLS]);

#endif
