/*
 * test/simulate/senders/network.h - a link between each sender and the service, that loses
 * and changes what it carries; and ipc/gate.h's functions over them
 *
 * A link is there while its sender wants it (link 0's always does), the service listens and no
 * fault keeps it away. What was under way when it breaks is lost; it comes back by itself.
 */
#ifndef BS_TEST_SIMULATE_SENDERS_NETWORK_H
#define BS_TEST_SIMULATE_SENDERS_NETWORK_H

#include "test/simulate/simulate.h"

#define LINKS 3u

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
uint64_t network_connections(unsigned link);
bool network_connected(unsigned link);
/* Its sender wants it or not; as far as it does not, it breaks. */
void network_want(unsigned link, bool wanted);
/* A fault keeps it away or holds it up, or the service does not listen; or a fault has taken a
 * message since then. */
bool network_is_hindered(unsigned link, int64_t since_ns);
/* The connections that should be there come to be. */
void network_turn(void);
/* When network_turn or a message's arrival has something to do. INT64_MAX: nothing is under way. */
int64_t network_due(void);

/* The sender's end. False: no link, or it is full. */
bool network_send(unsigned link, const unsigned char *msg, size_t len);
/* NULL: nothing has come. The caller frees it. */
unsigned char *network_take(unsigned link, size_t *len);
/* Messages that have come to this end and were not taken. */
bool network_waits(unsigned link, enum network_way to);

/* Of the next message sent this way. */
void network_change(unsigned link, enum network_way to, enum network_change what);
bool network_changes(unsigned link, enum network_way to);
void network_break(unsigned link, int64_t until_ns);
void network_freeze(unsigned link, int64_t until_ns);
/* From now on at most so many messages lie on the way to the sender. */
void network_narrow(unsigned link, unsigned messages);
/* No fault holds any more. */
void network_calm(void);
/* Until then the service does not get these numbers of a scan, however often they are sent. */
void network_hole(uint64_t session, uint64_t seq, uint64_t numbers, int64_t until_ns);
/* True if the scan's last message with a number did not come for that reason. */
bool network_swallows(uint64_t session);
/* A message from nobody that the sender knows of. */
void network_inject(unsigned link, const unsigned char *msg, size_t len);
/* The service's process is gone, and its sockets with it. */
void network_service_gone(void);

/* Of the process that sleeps on these descriptors (bs_gate's): has one something to say? */
bool network_ready(int fd);

#endif
