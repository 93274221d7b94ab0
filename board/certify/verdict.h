/*
 * board/certify/verdict.h - what a run proves: the contract kept, broken, or neither
 *
 * kept      every image that the recordings make was made by the protocol's own method, whole, taken
 *           by the archive, and handed on within the budget after its last readout's due time; or a
 *           canary of a higher priority than anything of ours was stalled meanwhile for as long as
 *           it was late; or the sender, which plays the scanner, woke late by itself (board/certify/late.h),
 *           for at most one image in BS_CERTIFY_OVERSLEPT.
 * broken    something of that does not hold.
 * unproven  nothing contradicts it, but the run does not prove it: late images are explained by
 *           canaries without a real-time priority alone (the load, or the service, may have stalled
 *           these), or by such that the kernel throttles together with a service that polls; more
 *           than that are the sender's; a load
 *           that was asked for did nothing; the run was told to stop early; no image came.
 * What was not kept has its reasons in words. Only the run at the recording's own pace is judged.
 * Pure. Test: test/unit/board/test_verdict.c
 */
#ifndef BS_BOARD_CERTIFY_VERDICT_H
#define BS_BOARD_CERTIFY_VERDICT_H

#include "board/certify/certificate.h"

/* No quantile up to p99.9 may rest on images that were not tried when they were due. */
#define BS_CERTIFY_OVERSLEPT 1000u

/* Fills c->verdict, c->why, c->whys from the rest of c. */
void bs_verdict_make(struct bs_certificate *c);
/* NULL: a stall of these canaries is the machine's. Else why that cannot be said. */
const char *bs_verdict_doubt(const struct bs_certificate *c);
const char *bs_verdict_word(enum bs_verdict v);

#endif
