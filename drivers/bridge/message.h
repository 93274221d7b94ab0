/*
 * drivers/bridge/message.h - MRD's messages over TCP, byte by byte: the one decoder and encoder
 *
 * A message is a u16 id and a body. Only the lengths in the body, all little-endian, say where it
 * ends; after an unknown id nothing can be read any more. look is stateless: it gets the bytes that
 * have come so far and says how many it needs to go on. Every length is checked against its bound:
 * *need never exceeds the limits. Allocates nothing; any thread.
 * Sources: ismrmrd doc/mrd_streaming_protocol.md; gadgetron core/MessageID.h; ISMRMRD v1.
 * Test: test/unit/drivers/bridge/test_message.c, test/fuzz/fuzz_bridge.c
 */
#ifndef BS_DRIVERS_BRIDGE_MESSAGE_H
#define BS_DRIVERS_BRIDGE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum bs_bridge_id {
	BS_BRIDGE_CONFIG_FILE = 1, /* a name, 1,024 bytes */
	BS_BRIDGE_CONFIG_TEXT = 2,
	BS_BRIDGE_HEADER = 3, /* MRD's XML */
	BS_BRIDGE_CLOSE = 4,
	BS_BRIDGE_TEXT = 5,
	BS_BRIDGE_QUERY = 6,
	BS_BRIDGE_RESPONSE = 7, /* answers a QUERY */
	BS_BRIDGE_ACQUISITION = 1008,
	BS_BRIDGE_DEPENDENCY = 1019, /* statistics of a measurement's noise */
	BS_BRIDGE_IMAGE = 1022,
	BS_BRIDGE_WAVEFORM = 1026,
};

#define BS_BRIDGE_NAME_BYTES 1024u
#define BS_BRIDGE_TEXT_MAX   (1u << 20)  /* bytes of CONFIG_TEXT, TEXT, QUERY */
#define BS_BRIDGE_IMAGE_MAX  (16u << 20) /* bytes of header, attributes and pixels */
#define BS_BRIDGE_WAVE_BYTES 40u         /* of a waveform's header */

struct bs_bridge_limits {
	uint64_t acquisition; /* bytes of header, trajectory and samples */
	uint64_t waveform;    /* of header and samples */
	uint64_t header;      /* of the XML */
};

struct bs_bridge_message {
	enum bs_bridge_id id;
	const unsigned char *body; /* in the buffer */
	size_t len;                /* bytes of the body; of a text without the NULs at its end */
	size_t total;              /* bytes of the whole message: the next one follows */
	uint64_t correlation;      /* of a QUERY */
};

/*
 * Reads the message at the front of buf. 1: *m is whole. 0: *need bytes are needed to go on, more
 * than have. Negative: a client may not send this message, or it exceeds the limits; the words of
 * the reason are for the client. BS_ERR_UNSUPPORTED: compressed samples.
 */
int bs_bridge_look(struct bs_bridge_message *m, const unsigned char *buf, size_t have,
		   const struct bs_bridge_limits *limits, size_t *need, struct bs_fail *why);

/* The largest *need that look returns. */
size_t bs_bridge_largest(const struct bs_bridge_limits *limits);

/*
 * Writes the head of a message that is sent; returns its length. len bytes of words follow a TEXT
 * (never 0, since readers look at the last byte), RESPONSE (which has a correlation) or DEPENDENCY;
 * MRD's header (198 bytes), u64 length of the attributes, attributes and pixels follow an IMAGE.
 */
#define BS_BRIDGE_HEAD 18u /* most bytes of a head */
size_t bs_bridge_put(unsigned char out[BS_BRIDGE_HEAD], enum bs_bridge_id id, uint64_t correlation,
		     uint64_t len);

#endif
