/* test/unit/core/test_state.c - a scan's life: each path ends where a header is possible again */
#include "core/frame/state.h"

#include <string.h>

#include "test/support/check.h"

static void walk(const char *what, const enum bs_happening *on, int n, enum bs_state from,
		 enum bs_state to)
{
	enum bs_state s = from;
	bool known = true;

	for (int i = 0; i < n && known; i++)
		s = bs_state_next(s, on[i], &known);
	CHECK(known && s == to, "%s: ends %s, expected %s", what, bs_state_name(s),
	      bs_state_name(to));
}

#define WALK(what, from, to, ...)                                                                  \
	do {                                                                                       \
		const enum bs_happening on[] = { __VA_ARGS__ };                                    \
		walk(what, on, (int)(sizeof(on) / sizeof(on[0])), from, to);                       \
	} while (0)

int main(void)
{
	bool known;

	WALK("a good scan", BS_STATE_STARTING, BS_STATE_IDLE, BS_ON_READY, BS_ON_OPEN, BS_ON_CLOSE,
	     BS_ON_DONE);
	WALK("a fault", BS_STATE_IDLE, BS_STATE_IDLE, BS_ON_OPEN, BS_ON_FAULT, BS_ON_DONE);
	WALK("silence", BS_STATE_IDLE, BS_STATE_IDLE, BS_ON_OPEN, BS_ON_SILENCE, BS_ON_DONE);
	WALK("recon dies mid-scan", BS_STATE_IDLE, BS_STATE_IDLE, BS_ON_OPEN, BS_ON_LOST,
	     BS_ON_READY);
	WALK("recon dies while draining", BS_STATE_IDLE, BS_STATE_IDLE, BS_ON_OPEN, BS_ON_CLOSE,
	     BS_ON_LOST, BS_ON_READY);
	WALK("recon dies idle", BS_STATE_IDLE, BS_STATE_IDLE, BS_ON_LOST, BS_ON_READY);
	WALK("a reload", BS_STATE_IDLE, BS_STATE_IDLE, BS_ON_RELOAD, BS_ON_READY, BS_ON_OPEN,
	     BS_ON_CLOSE, BS_ON_DONE);
	WALK("stop when idle", BS_STATE_IDLE, BS_STATE_STOPPED, BS_ON_STOP);
	WALK("stop mid-scan", BS_STATE_IDLE, BS_STATE_STOPPED, BS_ON_OPEN, BS_ON_STOP, BS_ON_DONE,
	     BS_ON_STOP);
	CHECK(bs_state_next(BS_STATE_IDLE, BS_ON_CLOSE, &known) == BS_STATE_IDLE && !known,
	      "a close without a scan changes nothing and is known as such");
	CHECK(bs_state_next(BS_STATE_SCANNING, BS_ON_OPEN, NULL) == BS_STATE_SCANNING,
	      "a header mid-scan does not open another");
	for (int on = 0; on < BS_HAPPENINGS; on++) {
		enum bs_state s = bs_state_next(BS_STATE_STOPPED, (enum bs_happening)on, &known);

		CHECK(s == BS_STATE_STOPPED && !known, "stopped stays stopped on %s",
		      bs_happening_name((enum bs_happening)on));
	}
	for (int s = BS_STATE_SCANNING; s <= BS_STATE_ABORTING; s++) /* no scan is for ever */
		CHECK(bs_state_next((enum bs_state)s, BS_ON_LOST, &known) == BS_STATE_STARTING &&
			      known,
		      "%s ends when recon is lost", bs_state_name((enum bs_state)s));
	CHECK(strcmp(bs_state_name((enum bs_state)99), "?") == 0 &&
		      strcmp(bs_happening_name((enum bs_happening) - 1), "?") == 0,
	      "a wild number has a name, too");
	return check_done();
}
