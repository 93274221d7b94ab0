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
	double minutes; /* duration of each run, which ends with a recording */
	/* pace of the second run, in multiples of the recording's; 0: no second run */
	double speed;
	uint64_t images; /* images after which a run may end early; 0: it never does */
	unsigned loads;  /* loads beside the trial, BS_LOAD_* of load.h */
	bool alone;      /* only this protocol of the site is armed */
	const volatile sig_atomic_t *stop;
};

/* Tries the budget. 0: c->verdict says whether the contract held; else it could not be tried. */
int bs_certify_run(struct bs_certificate *c, const struct bs_certify_request *q,
		   struct bs_fail *why);
void bs_certify_free(struct bs_certificate *c);

#endif
