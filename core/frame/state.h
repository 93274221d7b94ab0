/*
 * core/frame/state.h - the life of a scan in the service, as a table and a pure function
 *
 * ingest owns the state; every step that changes it is logged with the names of both states and of
 * the event. The state is that of the newest scan: a scan that begins while another one is draining
 * begins from idle.
 *   starting  recon is arming, has died and arms again, or arms a changed site: headers wait
 *   idle      ready for a header
 *   scanning  a header was accepted, readouts come
 *   draining  the sender closed the scan: the last images are being made and emitted
 *   aborting  the scan ends early (fault, silence, stop): drains, too, then the outcome has the
 *             reason
 *   stopped   the service ends: no header is accepted any more
 * Test: test/unit/core/test_state.c
 */
#ifndef BS_CORE_FRAME_STATE_H
#define BS_CORE_FRAME_STATE_H

#include <stdbool.h>

enum bs_state {
	BS_STATE_STARTING,
	BS_STATE_IDLE,
	BS_STATE_SCANNING,
	BS_STATE_DRAINING,
	BS_STATE_ABORTING,
	BS_STATE_STOPPED,
	BS_STATES
};

enum bs_happening {
	BS_ON_READY,   /* recon has armed every protocol */
	BS_ON_OPEN,    /* a header was accepted */
	BS_ON_CLOSE,   /* the sender has sent all */
	BS_ON_FAULT,   /* the scan cannot go on: the stream is bad, or another header came */
	BS_ON_SILENCE, /* the sender has said nothing for too long */
	BS_ON_STOP,    /* the service is told to end, and the scan's grace is over */
	BS_ON_DONE,    /* emit has handed on the scan's last image */
	BS_ON_RELOAD,  /* the site file has changed: recon arms what is new */
	BS_ON_LOST,    /* recon died: what it held of the scan is gone */
	BS_HAPPENINGS
};

/*
 * The state after event on. Where the event has no meaning in state at, the state stays and *known
 * (when not NULL) is false.
 */
enum bs_state bs_state_next(enum bs_state at, enum bs_happening on, bool *known);

const char *bs_state_name(enum bs_state s);
const char *bs_happening_name(enum bs_happening on);

#endif
