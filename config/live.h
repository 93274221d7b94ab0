/*
 * config/live.h - which keys of a site file may change while its service runs
 *
 * These are the keys of each protocol (protocols may also be added and removed), and a few of the
 * node: name, memory_mib, drain_s, log. All others take effect at the start only. check reports
 * each other key that has changed, "file: key: why", and returns 0 or BS_ERR_CONFIG. Pure.
 * take: copies what may change from one site to another. The rest is not written, because other
 * threads may read it meanwhile.
 * Test: test/unit/config/test_live.c
 */
#ifndef BS_CONFIG_LIVE_H
#define BS_CONFIG_LIVE_H

#include "core/err.h"
#include "core/protocol.h"

int bs_live_check(const struct bs_site *is, const struct bs_site *wanted, bs_tell_line *report,
		  void *arg);
void bs_live_take(struct bs_site *to, const struct bs_site *from);
/* Returns true if every key of the two protocols has the same value. */
bool bs_live_same(const struct bs_protocol *a, const struct bs_protocol *b);

#endif
