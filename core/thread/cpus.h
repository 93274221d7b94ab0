/*
 * core/thread/cpus.h - a list of processors as text: "0-3,6", numbered as the system numbers them
 *
 * parse takes "" as the empty set (any processor). It returns BS_ERR_CONFIG with the reason for
 * text that is no such list, and for a number of BS_CPUS_MAX or more. Allocates nothing; any
 * thread.
 * Test: test/unit/core/test_cpus.c
 */
#ifndef BS_CORE_THREAD_CPUS_H
#define BS_CORE_THREAD_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define BS_CPUS_MAX 1024u

struct bs_cpus {
	uint64_t bits[BS_CPUS_MAX / 64u];
	uint32_t count;
};

int bs_cpus_parse(struct bs_cpus *set, const char *text, struct bs_fail *why);
/* Adds the processors that a thread may run on (0: the caller). False: there is no such thread. */
bool bs_cpus_may_run(struct bs_cpus *set, int32_t tid);

static inline bool bs_cpus_has(const struct bs_cpus *set, uint32_t cpu)
{
	return cpu < BS_CPUS_MAX && ((set->bits[cpu / 64u] >> (cpu % 64u)) & 1u) != 0;
}

/* Adds a processor; numbers of BS_CPUS_MAX and more are left out. */
static inline void bs_cpus_add(struct bs_cpus *set, uint32_t cpu)
{
	if (cpu >= BS_CPUS_MAX || bs_cpus_has(set, cpu))
		return;
	set->bits[cpu / 64u] |= UINT64_C(1) << (cpu % 64u);
	set->count++;
}

#endif
