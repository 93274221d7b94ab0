/* core/thread/cpus.c - see cpus.h */
#include "core/thread/cpus.h"

#include <sched.h>
#include <string.h>

/* Reads the number at *p, which moves behind it. BS_CPUS_MAX: there is none, or it is too large. */
static uint32_t read_number(const char **p)
{
	uint32_t n = 0;

	if (**p < '0' || **p > '9')
		return BS_CPUS_MAX;
	for (; **p >= '0' && **p <= '9'; ++*p)
		if (n < BS_CPUS_MAX)
			n = n * 10 + (uint32_t)(**p - '0');
	return n < BS_CPUS_MAX ? n : BS_CPUS_MAX;
}

int bs_cpus_parse(struct bs_cpus *set, const char *text, struct bs_fail *why)
{
	const char *p = text;

	memset(set, 0, sizeof(*set));
	while (*p != '\0') {
		const char *at = p;
		uint32_t first = read_number(&p);
		uint32_t last = first;

		if (*p == '-') {
			p++;
			last = read_number(&p);
		}
		if (first == BS_CPUS_MAX || last == BS_CPUS_MAX || last < first ||
		    (*p != '\0' && *p != ',') || (*p == ',' && p[1] == '\0'))
			return bs_fail(why, BS_ERR_CONFIG,
				       "\"%s\" is no list of processors like \"0-3,6\" (at \"%s\"; "
				       "the largest number is %u)",
				       text, at, BS_CPUS_MAX - 1);
		for (uint32_t cpu = first; cpu <= last; cpu++)
			bs_cpus_add(set, cpu);
		p += *p == ',';
	}
	return 0;
}

bool bs_cpus_may_run(struct bs_cpus *set, int32_t tid)
{
	cpu_set_t native;

	if (sched_getaffinity(tid, sizeof(native), &native) != 0)
		return false;
	for (uint32_t cpu = 0; cpu < BS_CPUS_MAX && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &native))
			bs_cpus_add(set, cpu);
	return true;
}
