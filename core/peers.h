/*
 * core/peers.h - which IPv4 addresses may connect to a bridge
 *
 * read takes "192.168.2.1, 10.1.0.0/16": addresses, or prefixes with their number of bits; "" is an
 * empty list. has is always true of loopback (127.0.0.0/8). wide: one of the prefixes has fewer
 * than 8 bits. Numbers are in the host's byte order. Allocates nothing; any thread.
 * Test: test/unit/drivers/bridge/test_peers.c
 */
#ifndef BS_CORE_PEERS_H
#define BS_CORE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define BS_PEERS_MAX 16u

struct bs_peers {
	uint32_t count;
	struct {
		uint32_t address, mask;
	} of[BS_PEERS_MAX];
};

/* Returns 0, or BS_ERR_CONFIG with words. */
int bs_peers_read(struct bs_peers *p, const char *list, struct bs_fail *why);
bool bs_peers_has(const struct bs_peers *p, uint32_t address);
bool bs_peers_wide(const struct bs_peers *p);
/* url: tcp://A.B.C.D:PORT; port 0 is accepted. Returns 0 or BS_ERR_CONFIG. */
int bs_peers_url(uint32_t *address, uint16_t *port, const char *url, struct bs_fail *why);

#endif
