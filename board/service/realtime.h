/*
 * board/service/realtime.h - what the machine is asked for so that the service is on time
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

#define BS_RT_STACK_BYTES (2u << 20)   /* of every thread of a worker whose memory is locked */
#define BS_RT_TOUCH_BYTES (256u << 10) /* of each real-time thread's stack, made present */

/* Stacks of the threads to come, and the timer slack that they inherit. */
void bs_rt_process(struct bs_worker_env *env);
/* The calling thread takes its place: processors, priority, stack, and its record. */
void bs_rt_enter(struct bs_worker_env *env, enum bs_thread place);
/* The thread that writes logs, by itself; ingest has entered before. */
void bs_rt_enter_log(struct bs_worker_env *env);
/* ingest and emit, which have entered: whether they poll while a scan runs, in env->polls. */
void bs_rt_polls(struct bs_worker_env *env);
/* enter for each member of recon's team, the caller included. */
void bs_rt_enter_team(struct bs_worker_env *env, struct bs_team *team);
/* Back to ordinary scheduling on any processor: for threads that inherited what they should not. */
void bs_rt_leave(void);
/* recon, before it arms: how it waits for the GPU. */
void bs_rt_gpu(struct bs_worker_env *env);
/* recon, its protocols armed: whether other programs may use its GPUs, as the site says they do. */
void bs_rt_gpu_shared(struct bs_worker_env *env, bool mps);
/* recon, at its priority, its protocols armed: whether the kernel lets it poll. */
void bs_rt_throttle(struct bs_worker_env *env);
/* future: also what will be allocated. After it no page of this process is missing. */
void bs_rt_lock(struct bs_worker_env *env, bool future);

/* The supervisor, after its workers' memory is made; its children do not inherit it. */
void bs_rt_supervisor(struct bs_shm *shm);

/* A canary on each processor that the service may use, if the site wants them. all: zeroed. */
void bs_rt_canaries(struct bs_canaries *all, struct bs_shm *shm);

#endif
