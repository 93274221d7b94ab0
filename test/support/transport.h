/*
 * test/support/transport.h - what the engines' link of several GPUs goes by: NCCL or copies
 *
 * The engines leave the choice to the link (gpu/device/link.h); here it is made for them, by a
 * function that the linker puts before the real one (Makefile: --wrap). One source of a program may
 * include it.
 */
#ifndef BS_TEST_SUPPORT_TRANSPORT_H
#define BS_TEST_SUPPORT_TRANSPORT_H

#include <stdio.h>

#include "gpu/device/link.h"

static enum bs_link_kind transport; /* BS_LINK_AUTO: as the engine asks */
static char transport_name[192];    /* of the link that was opened last */

int __real_bs_link_open(struct bs_link **link, uint32_t parts, const int *device,
			enum bs_link_kind kind, struct bs_fail *why);
int __wrap_bs_link_open(struct bs_link **link, uint32_t parts, const int *device,
			enum bs_link_kind kind, struct bs_fail *why);

int __wrap_bs_link_open(struct bs_link **link, uint32_t parts, const int *device,
			enum bs_link_kind kind, struct bs_fail *why)
{
	int rc = __real_bs_link_open(link, parts, device,
				     transport != BS_LINK_AUTO ? transport : kind, why);

	transport_name[0] = '\0';
	if (rc == 0)
		(void)snprintf(transport_name, sizeof(transport_name), "%s", bs_link_name(*link));
	return rc;
}

/* How many GPUs can work together, from the first on. */
static inline uint32_t transport_devices(void)
{
	uint32_t n = BS_DEVICES_MAX;

	while (n > 0 && bs_link_check(n, NULL, NULL) != 0)
		n--;
	return n;
}

#endif
