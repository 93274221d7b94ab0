/*
 * test/simulate/answers.h - what senders are told of their readouts while they measure
 * (ipc/WIRE.md, "Answers"): what the service said, what it counted, what its logs have
 *
 * A part of the books. An answer is judged where the service gives it to the network: what that
 * repeats or loses is no fault of the service's.
 */
#ifndef BS_TEST_SIMULATE_ANSWERS_H
#define BS_TEST_SIMULATE_ANSWERS_H

#include "test/simulate/books.h"

void answers_reset(void);
/* The service says this on this link. */
void answers_said(unsigned link, const unsigned char *msg, size_t len);
/* Nobody is left who knows what was said; what is not durable comes again, and may be answered once
 * more. */
void answers_forgotten(void);
/* A sender hears one of a scan of its. */
void answers_heard(const struct book *b);
/* By the service's status, as it says the scan's outcome: so many were said and dropped. */
void answers_counted(uint64_t session, uint64_t said, uint64_t late);
/* The outcome that its sender hears is that all is well, in these words. */
void answers_outcome(const struct book *b, const char *words);
/* A log has this message, which has no number. */
void answers_logged(struct book *b, const unsigned char *payload, size_t len);
/* Its log was read: what that has are the answers that its readouts give, and all of them. */
void answers_judge_log(const struct book *b);

#endif
