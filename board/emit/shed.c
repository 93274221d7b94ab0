/* board/emit/shed.c - see shed.h */
#include "board/emit/shed.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/thread/clock.h"

#define SAY_NS INT64_C(1000000000)

bool bs_shed_due(struct bs_shed *s, const char *name, bool absent, uint64_t total,
		 char line[BS_SHED_LINE])
{
	int64_t now = bs_now_ns();

	if (s->count == 0 || (s->said_ns != 0 && now - s->said_ns < SAY_NS))
		return false;
	(void)snprintf(line, BS_SHED_LINE,
		       "%s %s: %" PRIu64 " images shed, %" PRIu64 " since the start", name,
		       absent ? "is not there" : "does not keep up", s->count, total);
	s->count = 0;
	s->said_ns = now;
	return true;
}
