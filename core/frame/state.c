/* core/frame/state.c - see state.h */
#include "core/frame/state.h"

#include <stddef.h>

static const struct {
	enum bs_state at;
	enum bs_happening on;
	enum bs_state to;
} arcs[] = {
	{ BS_STATE_STARTING, BS_ON_READY, BS_STATE_IDLE },
	{ BS_STATE_STARTING, BS_ON_STOP, BS_STATE_STOPPED },
	{ BS_STATE_IDLE, BS_ON_OPEN, BS_STATE_SCANNING },
	{ BS_STATE_IDLE, BS_ON_LOST, BS_STATE_STARTING },
	{ BS_STATE_IDLE, BS_ON_STOP, BS_STATE_STOPPED },
	{ BS_STATE_IDLE, BS_ON_RELOAD, BS_STATE_STARTING },
	{ BS_STATE_SCANNING, BS_ON_CLOSE, BS_STATE_DRAINING },
	{ BS_STATE_SCANNING, BS_ON_FAULT, BS_STATE_ABORTING },
	{ BS_STATE_SCANNING, BS_ON_SILENCE, BS_STATE_ABORTING },
	{ BS_STATE_SCANNING, BS_ON_STOP, BS_STATE_ABORTING },
	{ BS_STATE_SCANNING, BS_ON_LOST, BS_STATE_STARTING },
	{ BS_STATE_DRAINING, BS_ON_DONE, BS_STATE_IDLE },
	{ BS_STATE_DRAINING, BS_ON_LOST, BS_STATE_STARTING },
	{ BS_STATE_ABORTING, BS_ON_DONE, BS_STATE_IDLE },
	{ BS_STATE_ABORTING, BS_ON_LOST, BS_STATE_STARTING },
};

enum bs_state bs_state_next(enum bs_state at, enum bs_happening on, bool *known)
{
	for (size_t i = 0; i < sizeof(arcs) / sizeof(arcs[0]); i++)
		if (arcs[i].at == at && arcs[i].on == on) {
			if (known != NULL)
				*known = true;
			return arcs[i].to;
		}
	if (known != NULL)
		*known = false;
	return at;
}

const char *bs_state_name(enum bs_state s)
{
	static const char *const names[BS_STATES] = { "starting", "idle",     "scanning",
						      "draining", "aborting", "stopped" };

	return (unsigned)s < BS_STATES ? names[s] : "?";
}

const char *bs_happening_name(enum bs_happening on)
{
	static const char *const names[BS_HAPPENINGS] = { "ready", "open",    "close",
							  "fault", "silence", "stop",
							  "done",  "reload",  "lost" };

	return (unsigned)on < BS_HAPPENINGS ? names[on] : "?";
}
