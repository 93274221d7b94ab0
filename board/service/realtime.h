/*
 * board/service/realtime.h - asks the machine for real-time priorities, processors and memory
 *
 * worker: process (first of all) -> enter (each thread on the path of an image) -> lock.
 * The machine may refuse each request; the first refusal of a setting is logged (event LIMIT, with
 * the remedy) and stays in shared memory for `boreside status`; the service runs on without it.
 * Priorities: recon and its team P, emit and the log P+1, ingest P+2, the supervisor P+3, the
 * canaries P+4: the shorter its work, the higher a thread. Threads that a thread starts after enter
 * inherit its priority and processors (nanomsg's are meant to); those that should not call leave.
 * Memory to come is locked, too, but only where no limit could make a later malloc fail.
 * One thread of a worker at a time, but for leave, which is for the thread itself.
 * Test: test/fault/fault_realtime.c
 */
#ifndef BS_BOARD_SERVICE_REALTIME_H
#define BS_BOARD_SERVICE_REALTIME_H

#include "board/service/worker.h"
#include "core/thread/canaries.h"

#define BS_RT_STACK_BYTES (2u << 20) /* stack of every thread of a worker whose memory is locked */
/* part of each real-time thread's stack that is made present */
#define BS_RT_TOUCH_BYTES (256u << 10)

/* Sets the stack size of later threads, and the timer slack that they inherit. */
void bs_rt_process(struct bs_worker_env *env);
/* Gives the calling thread its processors, priority, stack and record. */
void bs_rt_enter(struct bs_worker_env *env, enum bs_thread place);
/* Enters the thread that writes logs. That thread calls it, after ingest has entered. */
void bs_rt_enter_log(struct bs_worker_env *env);
/* Decides whether ingest or emit polls while a scan runs (env->polls); call after enter. */
void bs_rt_polls(struct bs_worker_env *env);
/* Enters each member of recon's team, the caller included. */
void bs_rt_enter_team(struct bs_worker_env *env, struct bs_team *team);
/* Sets ordinary scheduling on any processor, for threads that should not inherit real time. */
void bs_rt_leave(void);
/* Sets how recon waits for the GPU; call before it arms. */
void bs_rt_gpu(struct bs_worker_env *env);
/* Checks whether other programs may use recon's GPUs, as the site says; call when it has armed. */
void bs_rt_gpu_shared(struct bs_worker_env *env, bool mps);
/* Checks whether the kernel lets recon poll; call at recon's priority, when it has armed. */
void bs_rt_throttle(struct bs_worker_env *env);
/* Locks this process's memory, so that no page is missing. future: later allocations, too. */
void bs_rt_lock(struct bs_worker_env *env, bool future);

/* Enters the supervisor, after its workers' memory is made. Its children do not inherit this. */
void bs_rt_supervisor(struct bs_shm *shm);

/* Starts a canary on each processor of the service, if the site wants them. all: zeroed. */
void bs_rt_canaries(struct bs_canaries *all, struct bs_shm *shm);

#endif
