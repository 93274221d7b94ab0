/*
 * drivers/bridge/noise.h - standard deviations of the noise in the last measurements
 *
 * begin -> add* -> end, for a scan's noise readouts (MRD's flag 19), [channel][sample] complex
 * float. For the last BS_BRIDGE_NOISES measurements with noise, their name, channels, and least,
 * largest and mean standard deviation are kept. They answer a client that asks about a measurement
 * before it sends a scan that depends on it (Gadgetron's noise query). Values that are not finite
 * make the measurement unknown. Nothing allocates; one thread.
 * Test: test/unit/drivers/bridge/test_names.c
 */
#ifndef BS_DRIVERS_BRIDGE_NOISE_H
#define BS_DRIVERS_BRIDGE_NOISE_H

#include <stddef.h>

#include "core/protocol.h"

#define BS_BRIDGE_NOISES 16u

/* Sums over the noise of the scan that is being received. */
struct bs_bridge_noise {
	char scan[BS_NAME_MAX]; /* measurementID of the scan */
	uint32_t channels;
	uint64_t samples; /* number of samples of each channel */
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
/* Adds a readout. acquisition: 340 bytes of header, trajectory, samples. */
void bs_bridge_noise_add(struct bs_bridge_noise *n, const unsigned char *acquisition, size_t len);
void bs_bridge_noise_end(const struct bs_bridge_noise *n, struct bs_bridge_noises *all);
/*
 * Writes the answer to a noise query, <ismrmrdMeta>; its status is success, or failed if the
 * measurement is not known. Returns its length.
 */
size_t bs_bridge_noise_words(char *out, size_t cap, const struct bs_bridge_noises *all,
			     const char *scan);

#endif
