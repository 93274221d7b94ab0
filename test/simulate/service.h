/*
 * test/simulate/service.h - the service: shared memory, ingest's real code as a process, and what
 * the supervisor does when a process ends (board/service/supervisor.c)
 */
#ifndef BS_TEST_SIMULATE_SERVICE_H
#define BS_TEST_SIMULATE_SERVICE_H

#include "core/frame/state.h"
#include "core/protocol.h"
#include "test/simulate/faults.h"
#include "test/simulate/simulate.h"

/* Once. */
void service_make(void);
/*
 * Everything from its start, on one of the sites: the last is that of `boreside record`. answers:
 * on one of as many more that answer readouts.
 */
void service_reset(bool answers);
const struct bs_protocol *service_protocol(void);
bool service_records(void);
bool service_is_narrow(void); /* its log's ring may be full on a disk that is well */
bool service_logs(void);
bool service_relaxed(void); /* its logs may lose something with the power */

bool service_ready(void);
/* Is it only time that wakes it? */
bool service_idles(void);
/* Of what ingest calls: it is a good time for a kill, after up to 2^bits steps, if one is due. */
void service_moment(uint32_t bits);
/* Ingest goes on for so many steps; 0: until it sleeps. */
void service_turn(uint32_t steps);
/* What ingest wants to be logged. */
void service_hears(void);
/* Starts what is to be started. */
void service_supervise(void);
int64_t service_due(void);

/* Of the scan that ingest has; BS_STATES: there is no ingest. */
enum bs_state service_state(void);
/* This scan's readouts are taken. */
bool service_takes(uint64_t of);
/* No scan, every slot is free, nothing waits. */
bool service_rests(void);

/* Faults. False: it is dead already. */
bool service_kill_ingest(int64_t start_ns);
/* Ingest, a few steps after it has said something or taken a header or a close. */
bool service_kill_soon(int64_t after_ns);
/* Before a store or a call of its drawn from all: what dies then is what the fault says. */
bool service_kill_at(enum sim_fault what, int64_t after_ns);
/* All of it, some time after the next scan was opened beside one whose images are being made. */
bool service_kill_in_two(int64_t after_ns);
bool service_kill_recon(int64_t start_ns, int64_t ready_ns);
/* The supervisor dies: all processes with it, and the shared memory. */
void service_kill(int64_t start_ns);
/* No kill is due any more. */
void service_calm(void);
/* It is told to end; when it has ended it is started again. */
bool service_stop(void);

/* A thread of the service is asked to give this log its end, and has not come to it yet. */
bool service_will_seal(const char *log);

#endif
