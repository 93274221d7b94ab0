/*
 * drivers/bridge/server.h - MRD clients over TCP in front of a running service
 *
 * open (listens; nobody who is not loopback or in bridges.mrd.allow is heard) -> run until *stop ->
 * close. One thread moves all bytes and never waits for one client: BS_SERVER_CLIENTS may be
 * connected; when one more comes, the one goes that has had no scan for the longest time.
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

struct bs_server {
	struct bs_client_env env;
	struct bs_peers peers;
	struct bs_collector images;
	struct bs_client *client; /* [BS_SERVER_CLIENTS], over where there is none */
	int listen_fd;
	unsigned char *spill; /* what lingering clients still send */
	uint64_t strangers, dropped;
	struct bs_bridge_clients reported;
};

/* acquisition, image: bytes of the largest of the site's protocols. */
int bs_server_open(struct bs_server *v, const struct bs_site *site, uint64_t acquisition,
		   uint64_t image, struct bs_fail *why);
/*
 * stop: told to end. report: a pipe, of which a write never waits, that takes a struct
 * bs_bridge_clients whenever it is another one; 0: none. 0, or BS_ERR_IO: a socket cannot be used.
 */
int bs_server_run(struct bs_server *v, const volatile sig_atomic_t *stop, int report,
		  struct bs_fail *why);
void bs_server_close(struct bs_server *v);

#endif
