/*
 * test/simulate/faults.h - the faults: what may happen, and what did
 *
 * Some strike when they are drawn; others wait for the next message, call or step that they are
 * about, and count when they strike that.
 */
#ifndef BS_TEST_SIMULATE_FAULTS_H
#define BS_TEST_SIMULATE_FAULTS_H

#include "test/simulate/simulate.h"

/* The network's changes, and the disk's failures, in the order that these have them. */
enum sim_fault {
	FAULT_LOST,
	FAULT_REPEATED,
	FAULT_ORDER,
	FAULT_BIT,
	FAULT_CUT,
	FAULT_HOSTILE,
	FAULT_HOLE,
	FAULT_BREAK,
	FAULT_FREEZE,
	FAULT_NARROW,
	FAULT_SENDER_STOPS,
	FAULT_SENDER_KILLED,
	FAULT_OVERRUN,
	FAULT_SENDER_REPEATS,
	FAULT_RECON_STOPS,
	FAULT_INGEST,
	FAULT_INGEST_TURN,
	FAULT_INGEST_PLACE,
	FAULT_RECON,
	FAULT_SERVICE,
	FAULT_SERVICE_PLACE,
	FAULT_SERVICE_TWO,
	FAULT_STOP,
	FAULT_POWER,
	FAULT_POWER_PLACE,
	FAULT_SHORT,
	FAULT_WRITE,
	FAULT_SPACE,
	FAULT_SYNC,
	FAULT_OPEN,
	FAULT_NAME,
	FAULT_READ,
	FAULT_FULL,
	FAULT_READ_ONLY,
	FAULT_ERRS,
	FAULT_SLOW,
	FAULT_EMIT,
	FAULT_EMIT_PLACE,
	FAULT_TAKER_STOPS,
	FAULT_TAKER_KILLED,
	FAULT_TAKER_REPEATS,
	FAULT_ANSWER_LOST,
	FAULT_SINK_REFUSES,
	FAULT_SINK_HANGS,
	FAULT_SINK_ONE,
	FAULTS
};

/* A schedule begins: which faults it may have. */
void faults_reset(void);
/* One of them, now or as soon as it can strike. False: it cannot happen now. */
bool faults_one(void);
/* One that waited has struck. */
void faults_strike(enum sim_fault what);
/* Of this schedule, that struck. */
unsigned faults_had(void);
/* What happened in this schedule, and when. */
void faults_print(void);
const char *faults_name(enum sim_fault what);

#endif
