/*
 * core/tool/contract.h - what a run of images proves about a budget
 *
 * spread: the quantiles of n latencies, each the smallest value that at least that fraction does
 * not exceed. It sorts the latencies. bound: the largest rate of misses that is possible at 95 %
 * confidence after a run with that many misses among n images: m/n with P(at most misses | Poisson
 * of mean m) = 5 %; without a miss 2.996/n, the rule of three (Hanley and Lippman-Hand, JAMA
 * 1983;249:1743-1745). It is 1 when n is 0.
 * Pure; allocates nothing. Test: test/unit/core/tool/test_contract.c
 */
#ifndef BS_CORE_TOOL_CONTRACT_H
#define BS_CORE_TOOL_CONTRACT_H

#include <stddef.h>
#include <stdint.h>

struct bs_spread {
	size_t n;
	int64_t p50_ns, p99_ns, p999_ns, max_ns;
};

void bs_spread_make(struct bs_spread *s, int64_t *ns, size_t n);
double bs_contract_bound(uint64_t misses, uint64_t n);

#endif
