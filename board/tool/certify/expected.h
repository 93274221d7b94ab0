/*
 * board/tool/certify/expected.h - how many images a recording makes, counted without the service
 *
 * The recording's readouts go through the checks and the frames of core/frame/recon.h with a method
 * that reconstructs nothing. The result is what a service that loses nothing hands on for one scan,
 * previews not counted. A readout that the service would refuse is left out. Reading forks
 * (drivers/tool/load/probe.h): call it with one thread. Allocates and frees. Test:
 * test/replay/certify.sh
 */
#ifndef BS_BOARD_TOOL_CERTIFY_EXPECTED_H
#define BS_BOARD_TOOL_CERTIFY_EXPECTED_H

#include "core/err.h"
#include "core/protocol.h"

int bs_expected_images(uint64_t *images, const struct bs_site *site, const struct bs_protocol *p,
		       const char *recording, struct bs_fail *why);

#endif
