/*
 * core/attributes.h - the <ismrmrdMeta> text that travels with an image
 *
 * Names and units are documented in ipc/WIRE.md. Writes into the caller's buffer, allocates
 * nothing, never cuts an element: returns the length, or BS_ERR_NOMEM when cap is too small.
 * Test: test/unit/test_recon.c
 */
#ifndef BS_CORE_ATTRIBUTES_H
#define BS_CORE_ATTRIBUTES_H

#include "core/recon.h"

#define BS_ATTRIBUTES_MAX 4096u /* bytes that an image slot keeps for them */

/* What only the service knows; zeros in `boreside recon`. */
struct bs_image_timing {
	int64_t latency_ns; /* last readout received to image handed to the sink; 0: not measured */
	int64_t sender_ns;  /* time_ns of the last readout's envelope; 0: not known */
	uint64_t gaps, duplicates, rejected; /* of the scan so far */
};

int bs_attributes_write(char *out, size_t cap, const struct bs_protocol *p, const char *engine,
			const struct bs_recon_image *image, const struct bs_image_timing *timing);

#endif
