/* board/service/throttle.c - see throttle.h */
#include "board/service/throttle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool bs_throttle_matters(const struct bs_realtime *rt, bool gpu)
{
	return rt->priority > 0 &&
	       (rt->wait == BS_WAIT_POLL || (gpu && rt->gpu_wait == BS_WAIT_POLL));
}

bool bs_throttle_read(const char *path, int64_t *runtime_us)
{
	FILE *f = fopen(path, "r");
	char text[32];
	char *end = text;
	bool read;

	if (f == NULL)
		return false;
	read = fgets(text, sizeof(text), f) != NULL;
	(void)fclose(f);
	if (!read)
		return false;
	errno = 0;
	*runtime_us = strtoll(text, &end, 10);
	return errno == 0 && end != text && (*end == '\n' || *end == '\0');
}

void bs_throttle_words(char out[BS_REMEDY], const struct bs_realtime *rt, int64_t runtime_us)
{
	(void)snprintf(out, BS_REMEDY,
		       "the kernel stops real-time threads that poll after %lld us of each period: "
		       "sysctl kernel.sched_rt_runtime_us=-1, or realtime.%s = \"block\", or "
		       "realtime.priority = 0",
		       (long long)runtime_us, rt->wait == BS_WAIT_POLL ? "wait" : "gpu_wait");
}
