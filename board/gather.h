/*
 * board/gather.h - every image of a service as its archive takes it, with its latencies
 *
 * open -> { begin -> (images come) -> end }* -> close. A thread of its own receives, and one canary
 * a processor (core/canary.h, at most BS_CERTIFY_CPUS) records the machine's stalls meanwhile, at
 * the highest real-time priority where that is allowed. count: images so far, previews not counted.
 * end: the run's counts and latencies; latency is allocated, and the caller's.
 * A miss is an image that was handed on later than the budget after its last readout's due time;
 * it is explained when the canaries were stalled so long in between that it would have been kept
 * without. BS_GATHER_MAX images a run are kept; what comes beyond is torn.
 */
#ifndef BS_BOARD_GATHER_H
#define BS_BOARD_GATHER_H

#include "board/certify.h"

#define BS_GATHER_MAX (1u << 20)

struct bs_gather;

int bs_gather_open(struct bs_gather **g, const struct bs_protocol *p, const char *url,
		   struct bs_fail *why);
void bs_gather_begin(struct bs_gather *g);
uint64_t bs_gather_count(const struct bs_gather *g);
void bs_gather_end(struct bs_gather *g, struct bs_certify_run *r);
void bs_gather_canaries(const struct bs_gather *g, struct bs_certificate *c);
void bs_gather_close(struct bs_gather *g);

#endif
