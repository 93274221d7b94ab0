/*
 * board/tool/certify/witness.h - what the service says of itself, for its certificate
 *
 * doc: its whole status document (board/doc/STATUS.md). None of these fail: what the document does
 * not say stays as it was. Pure, but for may_run, which asks the system about the threads.
 * Test: test/unit/board/tool/certify/test_witness.c
 */
#ifndef BS_BOARD_TOOL_CERTIFY_WITNESS_H
#define BS_BOARD_TOOL_CERTIFY_WITNESS_H

#include "board/tool/certify/certificate.h"
#include "core/thread/cpus.h"

/* Reads engine, estimate, refusal, and the settings in force. */
void bs_witness_protocol(struct bs_certificate *c, const char *doc);
void bs_witness_stages(struct bs_certificate *c, const char *doc);
/* Reads the threads' counts. before: keeps them; else their growth since goes to c->thread. */
void bs_witness_threads(struct bs_certificate *c, const char *doc, bool before);
/* Reads how often the service's processes were replaced. */
void bs_witness_restarts(struct bs_certificate *c, const char *doc);
/* Reads the processors that the threads on an image's path may run on. */
void bs_witness_may_run(struct bs_cpus *set, const char *doc);

#endif
