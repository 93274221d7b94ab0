/*
 * board/tool/certify/certify.h - a protocol's budget tried on the real service
 *
 * run starts `boreside serve` on a private copy of the site (trial.h), plays the recording to it
 * through its sockets at its own pace, over and over, beside the loads asked for, and takes every
 * image from the archive socket. A readout is due at the scan's start plus its stamp. The sender's
 * envelope carries that due time, the image gives it back (boreside_sender_ns, ipc/WIRE.md), and
 * latencies count from there, however late the sender itself was. Then again at `speed` times the
 * pace, when that is asked for. In the end verdict.h judges it.
 * One run at a time; call with one thread and no endpoint open. Test: test/replay/certify.sh
 */
#ifndef BS_BOARD_TOOL_CERTIFY_CERTIFY_H
#define BS_BOARD_TOOL_CERTIFY_CERTIFY_H

#include <signal.h>

#include "board/tool/certify/certificate.h"

struct bs_certify_request {
	const char *config, *protocol, *recording, *out;
	double minutes;  /* of each run, to the end of a recording */
	double speed;    /* of the second run, relative to the recording; 0: no second run */
	uint64_t images; /* images after which a run may end early; 0: it never does */
	unsigned loads;  /* BS_LOAD_* of load.h */
	bool alone;      /* the site's other protocols are left out */
	const volatile sig_atomic_t *stop;
};

/* 0: it was tried, and c->verdict says whether the contract held. Else it could not be tried. */
int bs_certify_run(struct bs_certificate *c, const struct bs_certify_request *q,
		   struct bs_fail *why);
void bs_certify_free(struct bs_certificate *c);

#endif
