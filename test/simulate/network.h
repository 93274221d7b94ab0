/*
 * test/simulate/network.h - a link between one sender and the service, that loses and changes what
 * it carries; and ipc/gate.h's functions over it
 *
 * A link is there while the sender wants it, the service listens and no fault keeps it away. What
 * was under way when it breaks is lost; it comes back by itself.
 */
#ifndef BS_TEST_SIMULATE_NETWORK_H
#define BS_TEST_SIMULATE_NETWORK_H

#include "test/simulate/simulate.h"

enum network_way { TO_SERVICE, TO_SENDER, WAYS };

/* What may happen to the next message of a way. */
enum network_change {
	CHANGE_NONE,
	CHANGE_DROP,
	CHANGE_REPEAT,
	CHANGE_ORDER,
	CHANGE_BIT,
	CHANGE_CUT
};

void network_reset(void);
/* Connections made since reset; it grows when the link is there again. */
uint64_t network_connections(void);
bool network_connected(void);
/* The connection that should be there comes to be. */
void network_turn(void);
/* When network_turn or a message's arrival has something to do. INT64_MAX: nothing is under way. */
int64_t network_due(void);

/* The sender's end. False: no link, or it is full. */
bool network_send(const unsigned char *msg, size_t len);
/* NULL: nothing has come. The caller frees it. */
unsigned char *network_take(size_t *len);
/* Messages that have come to this end and were not taken. */
bool network_waits(enum network_way to);

/* Of the next message sent this way. */
void network_change(enum network_way to, enum network_change what);
bool network_changes(enum network_way to);
void network_break(int64_t until_ns);
void network_freeze(int64_t until_ns);
/* From now on at most so many messages lie on the way to the sender. */
void network_narrow(unsigned messages);
/* No fault holds it any more. */
void network_calm(void);
/* Until then the service does not get this message of a scan, however often it is sent. */
void network_hole(uint64_t session, uint64_t seq, int64_t until_ns);
/* A message from nobody that the sender knows of. */
void network_inject(const unsigned char *msg, size_t len);
/* The service's process is gone, and its sockets with it. */
void network_service_gone(void);

/* Of the process that sleeps on these descriptors (bs_gate's): has one something to say? */
bool network_ready(int fd);

#endif
