/* board/tool/certify/own.c - see own.h */
#include "board/tool/certify/own.h"

#include <stdbool.h>

struct span {
	int64_t begin, end;
};

static int64_t length(struct span a)
{
	return a.end > a.begin ? a.end - a.begin : 0;
}

static struct span within(const struct bs_own *s, int64_t begin, int64_t end)
{
	return (struct span){ begin > s->from_ns ? begin : s->from_ns,
			      end < s->handed_ns ? end : s->handed_ns };
}

/* Returns the time in which the last readout was accumulated; empty if not known. */
static struct span accumulated(const struct bs_own *s)
{
	return s->taken_ns != 0 && s->added_ns != 0 ? within(s, s->taken_ns, s->added_ns)
						    : (struct span){ s->from_ns, s->from_ns };
}

/* Returns the time in which the image was finished after accumulation. */
static struct span finished(const struct bs_own *s)
{
	int64_t after = accumulated(s).end;
	bool known = s->begun_ns != 0 && s->made_ns != 0;

	return within(s, known && s->begun_ns > after ? s->begun_ns : after,
		      known ? s->made_ns : s->handed_ns);
}

/* Returns the operators' share of finishing the image. */
static int64_t finishing(const struct bs_own *s)
{
	int64_t ns = s->operators_ns - length(accumulated(s));
	int64_t room = length(finished(s));

	return ns < 0 ? 0 : ns < room ? ns : room;
}

int64_t bs_own_part(const struct bs_own *s)
{
	int64_t own = s->handed_ns - s->from_ns - length(accumulated(s)) - finishing(s);

	return own > 0 ? own : 0;
}

int64_t bs_own_quiet(const struct bs_own *s, const struct bs_canary *c, uint32_t n, int64_t now_ns)
{
	struct span add = accumulated(s);
	struct span finish = finished(s);
	int64_t all = bs_canary_stalled(c, n, s->from_ns, s->handed_ns, now_ns);
	int64_t adding = bs_canary_stalled(c, n, add.begin, add.end, now_ns);
	int64_t inside = bs_canary_stalled(c, n, finish.begin, finish.end, now_ns);
	/* time outside both intervals; negative if not all stalls were looked at */
	int64_t outside = all - adding - inside;
	int64_t own = bs_own_part(s);

	inside -= finishing(s);
	own -= (outside > 0 ? outside : 0) + (inside > 0 ? inside : 0);
	return own > 0 ? own : 0;
}
