/*
 * ipc/guard.h - what nanomsg would abort its process for is taken for a peer that hung up
 *
 * nanomsg 1.1.5 asserts that a message over ipc begins with the byte 01, and that nothing comes to
 * a PUB socket: one peer's byte would end emit. All that nanomsg reads comes by recvmsg, which
 * guard.c defines in libc's place. It follows each connection's bytes: the greeting, and then
 * messages, but none of a peer that says that it is a SUB or a PULL, which never send. At a byte
 * that is no message the connection has ended, as nanomsg sees it. Descriptors that a peer sends
 * are dropped.
 *
 * Before bs_guard_on it changes nothing. It belongs to processes in which only nanomsg calls
 * recvmsg. Source: the SP protocols' RFCs of nanomsg, sp-tcp-mapping-01 and sp-ipc-mapping-01.
 * Test: test/fault/fault_hostile.c
 */
#ifndef BS_IPC_GUARD_H
#define BS_IPC_GUARD_H

#include <stdint.h>

/* From now on, for good. Any thread. */
void bs_guard_on(void);
/* Connections that ended so. */
uint64_t bs_guard_ended(void);

#endif
