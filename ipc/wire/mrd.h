/*
 * ipc/wire/mrd.h - MRD byte layouts: the one encoder and the one decoder
 *
 * Stateless, no allocation, no undefined behavior on any input. Layouts: ipc/WIRE.md.
 * Tests: test/unit/ipc/test_mrd.c (against libismrmrd's structs), test/fuzz/fuzz_mrd.c
 */
#ifndef BS_IPC_WIRE_MRD_H
#define BS_IPC_WIRE_MRD_H

#include <stddef.h>

#include "core/err.h"
#include "core/mrd.h"

void bs_mrd_put_acq(unsigned char out[BS_MRD_ACQ_BYTES], const struct bs_mrd_acq *a);
void bs_mrd_get_acq(struct bs_mrd_acq *a, const unsigned char in[BS_MRD_ACQ_BYTES]);

/* The bytes of header, trajectory and data together, in 64 bits (no overflow is possible). */
uint64_t bs_mrd_acq_bytes(const struct bs_mrd_acq *a);

/*
 * Parses an acquisition in a buffer of len bytes: its header, and offsets of its trajectory and
 * data in buf. BS_ERR_LENGTH when len is not exactly what the header says, BS_ERR_VERSION,
 * BS_ERR_SIZE when active > available channels or discards exceed the samples.
 */
int bs_mrd_parse_acq(struct bs_mrd_acq *a, size_t *traj_at, size_t *data_at,
		     const unsigned char *buf, size_t len, struct bs_fail *why);

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
