/*
 * test/simulate/senders/scanner.h - the scanner that faults are about: scan after scan, by the
 * sender's real code or by the page's rules (peer.h); in some schedules its transport does not say
 * when it has connected anew
 */
#ifndef BS_TEST_SIMULATE_SENDERS_SCANNER_H
#define BS_TEST_SIMULATE_SENDERS_SCANNER_H

#include "test/simulate/simulate.h"

void scanner_reset(void);
/* One thing: a message taken, sent or made. False: there is nothing to do now. */
bool scanner_turn(void);
bool scanner_ready(void);
int64_t scanner_due(void);
/* Is it told what it must be told? */
void scanner_judge(void);

/* Faults. */
void scanner_stop(int64_t until_ns);
void scanner_kill(int64_t until_ns); /* its successor begins with another scan */
bool scanner_repeat(void); /* sends all that it keeps once more. False: it keeps nothing */
/* It sends more than it may before that is acknowledged, in this scan. False: not now. */
bool scanner_overrun(void);
/* So many of its next messages do not come until then. False: not now. */
bool scanner_hole(uint64_t numbers, int64_t until_ns);
/* A message that no sender should send, or from someone else. False: not now. */
bool scanner_hostile(void);

/* The last scans: each is whole and short, and the next begins when it is told to. */
void scanner_calm(void);
/* Is there a scan that was begun and has not come to its end? */
bool scanner_busy(void);
/* Begins one more. False: it is busy. */
bool scanner_once(void);
/* Did the last one end with code 0? */
bool scanner_well(void);
unsigned scanner_scans(void); /* that came to an end */

#endif
