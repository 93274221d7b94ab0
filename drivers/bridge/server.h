/*
 * drivers/bridge/server.h - MRD clients over TCP in front of a running service
 *
 * open (listens; nobody who is not loopback or in bridges.mrd.allow is heard) -> run until *stop ->
 * close. One thread moves all bytes and never waits for one client: BS_SERVER_CLIENTS may be
 * connected; when one more comes, one goes that has no scan, or the new one is told that it cannot.
 * Buffers of all clients together are at most about BS_SERVER_BYTES, or what one image of the
 * site's largest and a readout of each scan take: a client that is slow is given its images from
 * the service's store, one at a time (deal.c).
 * Whatever a client does ends at most its own scan. The service sees a sender and an archive that
 * asks (ipc/WIRE.md): killed at any moment, the bridge leaves a scan that ends with what came.
 * Test: test/replay/bridge/
 */
#ifndef BS_DRIVERS_BRIDGE_SERVER_H
#define BS_DRIVERS_BRIDGE_SERVER_H

#include <signal.h>

#include "core/peers.h"
#include "drivers/bridge/client.h"
#include "ipc/shm/workers.h"

#define BS_SERVER_CLIENTS 64u
#define BS_SERVER_PLACES  (BS_SERVER_CLIENTS + 8u) /* and of those that are told to go */
#define BS_SERVER_BYTES   ((size_t)224 << 20)

struct bs_server {
	struct bs_client_env env;
	struct bs_peers peers;
	struct bs_collector images;
	struct bs_client *client; /* [BS_SERVER_PLACES], over where there is none */
	uint32_t dealt;           /* the one that was given an image from the store last */
	int64_t again_ns;         /* there was no room for it: not before then */
	int listen_fd;
	unsigned char *spill; /* what lingering clients still send */
	uint64_t strangers, dropped;
	struct bs_bridge_clients reported;
};

/* acquisition, image: bytes of the largest that the service takes, and makes. */
int bs_server_open(struct bs_server *v, const struct bs_site *site, uint64_t acquisition,
		   uint64_t image, struct bs_fail *why);
/* deal.c: images to those that get them, as far as they take any now. */
int bs_server_deal(struct bs_server *v, struct bs_fail *why);
/*
 * stop: told to end. report: a pipe, of which a write never waits, that takes a struct
 * bs_bridge_clients whenever it is another one; 0: none. 0, or BS_ERR_IO: a socket cannot be used.
 */
int bs_server_run(struct bs_server *v, const volatile sig_atomic_t *stop, int report,
		  struct bs_fail *why);
void bs_server_close(struct bs_server *v);

#endif
