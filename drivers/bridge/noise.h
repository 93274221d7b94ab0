/*
 * drivers/bridge/noise.h - how loud each channel's noise was in the last measurements
 *
 * begin -> add* -> end: a scan's readouts that are noise (MRD's flag 19), [channel][sample] complex
 * float. Of each measurement that had some its name, channels, and the least, largest and mean
 * standard deviation are kept, of the last BS_BRIDGE_NOISES; a client that asks before it sends a
 * scan that depends on one of them (Gadgetron's noise query) is answered from here. Values that are
 * not finite make the measurement unknown. Nothing allocates; one thread.
 * Test: test/unit/drivers/bridge/test_names.c
 */
#ifndef BS_DRIVERS_BRIDGE_NOISE_H
#define BS_DRIVERS_BRIDGE_NOISE_H

#include <stddef.h>

#include "core/mrd.h"
#include "core/protocol.h"

#define BS_BRIDGE_NOISES 16u

/* Of the scan at hand. */
struct bs_bridge_noise {
	char scan[BS_NAME_MAX]; /* measurementID */
	uint32_t channels;
	uint64_t samples; /* of each channel */
	float dwell_us;
	double sum[BS_COILS_MAX][2], square[BS_COILS_MAX];
};

struct bs_bridge_noises {
	struct bs_bridge_known {
		char scan[BS_NAME_MAX];
		uint32_t channels;
		double least, largest, mean; /* standard deviations */
		double dwell_us;
	} known[BS_BRIDGE_NOISES];
	uint32_t next;
};

void bs_bridge_noise_begin(struct bs_bridge_noise *n, const char *scan);
/* A whole acquisition: 340 bytes of header, trajectory, samples. */
void bs_bridge_noise_add(struct bs_bridge_noise *n, const unsigned char *acquisition, size_t len);
void bs_bridge_noise_end(const struct bs_bridge_noise *n, struct bs_bridge_noises *all);
/* The answer, <ismrmrdMeta>: status is success, or failed where nothing is known. Its length. */
size_t bs_bridge_noise_words(char *out, size_t cap, const struct bs_bridge_noises *all,
			     const char *scan);

#endif
