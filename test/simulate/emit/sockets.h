/*
 * test/simulate/emit/sockets.h - ipc/endpoint.h's functions over sockets that lose what a dead
 * process had in them: the images socket (REP) and the archive's (PUSH)
 *
 * The archive's connection holds one message in the library and some in the kernel; those in the
 * kernel outlive the service's process, not the archive's.
 */
#ifndef BS_TEST_SIMULATE_EMIT_SOCKETS_H
#define BS_TEST_SIMULATE_EMIT_SOCKETS_H

#include "test/simulate/simulate.h"

void sockets_reset(void);
/* The service's process is gone. */
void sockets_process_gone(void);
/* Of the process that sleeps on these descriptors: has one something to say? */
bool sockets_ready(int fd);

/* One that asks. False: nobody listens, or no room. */
bool sockets_ask(unsigned asker, uint64_t id, uint64_t after);
void sockets_asker_connects(unsigned asker, bool there);

/* The archive's end: connects when somebody listens. False: nobody does. */
bool sockets_connect(void);
bool sockets_connected(void);
/* The connection breaks; what lies in it is gone. */
void sockets_break(void);
/* The oldest message of the connection; NULL: none. It is out of it then. */
const unsigned char *sockets_pull(size_t *len);
bool sockets_waits(void);
/* Each message that lies in the connection. */
void sockets_each(void (*call)(const unsigned char *msg, size_t len));

#endif
