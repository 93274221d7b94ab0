/*
 * board/tool/certify/verdict.h - what a run proves: the contract kept, broken, or neither
 *
 * kept      Every image that the recordings make was made by the protocol's own method, whole, and
 *           taken by the archive. Each was handed on within the budget after its last readout's due
 *           time; or late for no longer than a canary of a higher priority than all of ours was
 *           stalled meanwhile; or late because the sender, which plays the scanner, woke late by
 *           itself (late.h); of each of these two at most one image in BS_CERTIFY_EXCUSED.
 * broken    Something of that does not hold.
 * unproven  Nothing contradicts it, but the run does not prove it: stalls that explain late images
 *           may not be the machine's (doubt); more late images than that are the machine's or the
 *           sender's; a load that was asked for did nothing; the run was told to stop early; no
 *           image came.
 * What was not kept has its reasons in words. Only the run at the recording's own pace is judged.
 * Pure. Test: test/unit/board/tool/certify/test_verdict.c
 */
#ifndef BS_BOARD_TOOL_CERTIFY_VERDICT_H
#define BS_BOARD_TOOL_CERTIFY_VERDICT_H

#include "board/tool/certify/certificate.h"

/* images for each that may be excused: no quantile up to p99.9 rests on excused images */
#define BS_CERTIFY_EXCUSED 1000u

/* Fills in c->verdict, c->why and c->whys from the rest of c. */
void bs_verdict_make(struct bs_certificate *c);
/*
 * Returns NULL if a stall of these canaries is the machine's, else why it may not be. They had no
 * real-time priority, so that the load or the service may have stalled them; or the kernel
 * throttles them together with a service that polls.
 */
const char *bs_verdict_doubt(const struct bs_certificate *c);
const char *bs_verdict_word(enum bs_verdict v);

#endif
