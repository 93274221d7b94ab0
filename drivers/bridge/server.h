/*
 * drivers/bridge/server.h - MRD clients over TCP in front of a running service
 *
 * open (listens; only loopback and peers in bridges.mrd.allow may connect) -> run until *stop ->
 * close. One thread moves all bytes and never waits for one client. BS_SERVER_CLIENTS may be
 * connected. When another one comes, a client without a scan is disconnected, or, if each has one,
 * the new client is refused. The buffers of all clients together take at most about
 * BS_SERVER_BYTES, or as much as one largest image of the site and a readout of each scan. A slow
 * client is given its images from the service's store, one at a time (deal.c).
 * Whatever a client does ends at most its own scan. To the service the bridge is a sender and an
 * archive that asks (ipc/WIRE.md). If the bridge is killed, its scans end with what came.
 * Test: test/replay/bridge/
 */
#ifndef BS_DRIVERS_BRIDGE_SERVER_H
#define BS_DRIVERS_BRIDGE_SERVER_H

#include <signal.h>

#include "core/peers.h"
#include "drivers/bridge/client.h"
#include "ipc/shm/workers.h"

#define BS_SERVER_CLIENTS 64u
/* places for clients, with those that are being disconnected */
#define BS_SERVER_PLACES (BS_SERVER_CLIENTS + 8u)
#define BS_SERVER_BYTES  ((size_t)224 << 20)

struct bs_server {
	struct bs_client_env env;
	struct bs_peers peers;
	struct bs_collector images;
	struct bs_client *client; /* [BS_SERVER_PLACES] clients; bs_client_over: a free place */
	uint32_t dealt;           /* index of the client that the store was last asked for */
	int64_t again_ns;         /* when the store is asked again, because an image had no room */
	int listen_fd;
	unsigned char *spill; /* takes bytes of lingering clients, which are dropped */
	uint64_t strangers, dropped;
	struct bs_bridge_clients reported;
};

/* Opens the server. acquisition, image: bytes of the largest readout and image of the service. */
int bs_server_open(struct bs_server *v, const struct bs_site *site, uint64_t acquisition,
		   uint64_t image, struct bs_fail *why);
/* deal.c: gives images to the clients, as far as they take any now. */
int bs_server_deal(struct bs_server *v, struct bs_fail *why);
/*
 * Runs until *stop. report: a non-blocking pipe to which a struct bs_bridge_clients is written
 * whenever it has changed; 0: none. Returns 0, or BS_ERR_IO: a socket cannot be used.
 */
int bs_server_run(struct bs_server *v, const volatile sig_atomic_t *stop, int report,
		  struct bs_fail *why);
void bs_server_close(struct bs_server *v);

#endif
