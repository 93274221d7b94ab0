/*
 * ipc/wire/mrd.h - MRD byte layouts: the one encoder and the one decoder
 *
 * Stateless, no allocation, no undefined behavior on any input. Layouts: ipc/WIRE.md. What each
 * readout calls is inline.
 * Tests: test/unit/ipc/test_mrd.c (against libismrmrd's structs), test/fuzz/fuzz_mrd.c
 */
#ifndef BS_IPC_WIRE_MRD_H
#define BS_IPC_WIRE_MRD_H

#include <stddef.h>
#include <string.h>

#include "core/err.h"
#include "core/mrd.h"

#define BS_MRD_VERSION 1u

void bs_mrd_put_acq(unsigned char out[BS_MRD_ACQ_BYTES], const struct bs_mrd_acq *a);
static inline void bs_mrd_get_acq(struct bs_mrd_acq *a, const unsigned char in[BS_MRD_ACQ_BYTES])
{
	memcpy(a, in, sizeof(*a));
}

/* The bytes of header, trajectory and data together: at most 2^34 + 2^35 and a little. */
static inline uint64_t bs_mrd_acq_bytes(const struct bs_mrd_acq *a)
{
	uint64_t samples = a->number_of_samples;

	return BS_MRD_ACQ_BYTES + samples * a->trajectory_dimensions * 4 +
	       samples * a->active_channels * 8;
}

/*
 * Parses an acquisition in a buffer of len bytes: its header, and offsets of its trajectory and
 * data in buf. BS_ERR_LENGTH when len is not exactly what the header says, BS_ERR_VERSION,
 * BS_ERR_SIZE when active > available channels or discards exceed the samples.
 */
static inline int bs_mrd_parse_acq(struct bs_mrd_acq *a, size_t *traj_at, size_t *data_at,
				   const unsigned char *buf, size_t len, struct bs_fail *why)
{
	*traj_at = *data_at = BS_MRD_ACQ_BYTES;
	if (len < BS_MRD_ACQ_BYTES)
		return bs_fail(why, BS_ERR_LENGTH, "acquisition of %zu bytes, its header has %u",
			       len, BS_MRD_ACQ_BYTES);
	bs_mrd_get_acq(a, buf);
	if (a->version != BS_MRD_VERSION)
		return bs_fail(why, BS_ERR_VERSION, "acquisition %u: MRD version %u, not %u",
			       a->scan_counter, a->version, BS_MRD_VERSION);
	if (len != bs_mrd_acq_bytes(a))
		return bs_fail(
			why, BS_ERR_LENGTH,
			"acquisition %u: %u samples, %u channels, %u trajectory dimensions make "
			"%llu bytes, %zu came",
			a->scan_counter, a->number_of_samples, a->active_channels,
			a->trajectory_dimensions, (unsigned long long)bs_mrd_acq_bytes(a), len);
	if (a->active_channels > a->available_channels)
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u: %u active of %u available channels",
			       a->scan_counter, a->active_channels, a->available_channels);
	if ((uint32_t)a->discard_pre + a->discard_post > a->number_of_samples)
		return bs_fail(why, BS_ERR_SIZE, "acquisition %u: discards %u + %u of %u samples",
			       a->scan_counter, a->discard_pre, a->discard_post,
			       a->number_of_samples);
	*data_at += (size_t)a->number_of_samples * a->trajectory_dimensions * 4;
	return 0;
}

void bs_mrd_put_image(unsigned char out[BS_MRD_IMAGE_BYTES], const struct bs_mrd_image *h);
void bs_mrd_get_image(struct bs_mrd_image *h, const unsigned char in[BS_MRD_IMAGE_BYTES]);
/* The bytes of one pixel by data_type; 0: there is no such type. */
unsigned bs_mrd_pixel_bytes(uint16_t data_type);
/*
 * Parses an image message: header, attributes (not NUL-terminated), pixels; gives offsets into buf.
 */
int bs_mrd_parse_image(struct bs_mrd_image *h, size_t *attr_at, size_t *pixels_at,
		       const unsigned char *buf, size_t len, struct bs_fail *why);

#endif
