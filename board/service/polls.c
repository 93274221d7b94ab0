/* board/service/polls.c - see polls.h */
#include "board/service/polls.h"

bool bs_polls_fit(const struct bs_cpus may[BS_POLLS])
{
	for (unsigned some = 1; some < 1u << BS_POLLS; some++) {
		uint32_t processors = 0;
		uint32_t threads = 0;

		for (unsigned i = 0; i < BS_POLLS; i++)
			threads += some >> i & 1u;
		for (uint32_t cpu = 0; cpu < BS_CPUS_MAX; cpu++) {
			bool any = false;

			for (unsigned i = 0; i < BS_POLLS; i++)
				any = any || ((some >> i & 1u) != 0 && bs_cpus_has(&may[i], cpu));
			processors += any;
		}
		if (processors <= threads)
			return false;
	}
	return true;
}
