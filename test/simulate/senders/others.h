/*
 * test/simulate/senders/others.h - who connects beside the scanner that faults are about: other
 * scanners, which know the page alone (test/peers/rules.h), and senders that never read
 *
 * No fault of theirs is drawn: each is as it is all the time. A scanner of them is judged like the
 * first one, whatever the others do.
 */
#ifndef BS_TEST_SIMULATE_SENDERS_OTHERS_H
#define BS_TEST_SIMULATE_SENDERS_OTHERS_H

#include "test/simulate/simulate.h"

void others_reset(void);
bool others_ready(void);
void others_turn(void);
int64_t others_due(void);
void others_judge(void);
/* They end what they have begun; who never reads goes then. */
void others_calm(void);
bool others_busy(void);

#endif
