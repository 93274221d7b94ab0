/*
 * ipc/wire/envelope.h - the 64 bytes around every message, and their checksum
 *
 * The layout, byte by byte, is in ipc/WIRE.md; this is its one encoder and its one decoder.
 * Integers are little-endian, whatever the machine. Nothing here allocates, blocks or keeps state.
 * Tests: test/unit/ipc/test_wire.c, test_crc32c.c, test/fuzz/fuzz_wire.c
 */
#ifndef BS_IPC_WIRE_ENVELOPE_H
#define BS_IPC_WIRE_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define BS_WIRE_BYTES   64u         /* bytes of the envelope */
#define BS_WIRE_MAGIC   0x31445342u /* the letters "BSD1" */
#define BS_WIRE_VERSION 2u
/* version before; its senders are refused in an envelope of that version */
#define BS_WIRE_PREVIOUS 1u

enum bs_wire_kind {
	/* payload: char protocol[64], then the MRD XML header (bs_wire_get_open) */
	BS_WIRE_OPEN = 1,
	/* payload: an MRD acquisition: 340-byte header, trajectory, samples */
	BS_WIRE_ACQ = 2,
	BS_WIRE_WAVEFORM = 3,  /* MRD waveform: counted and dropped */
	BS_WIRE_CLOSE = 4,     /* u64: number of ACQ messages sent in this session */
	BS_WIRE_HEARTBEAT = 5, /* payload: none */
	BS_WIRE_ACCEPT = 16,   /* bs_wire_reply; window: messages that may be unacknowledged */
	BS_WIRE_REFUSE = 17,   /* payload: bs_wire_reply */
	BS_WIRE_ACK = 18,      /* bs_wire_ack: held, durable */
	BS_WIRE_OUTCOME = 19,  /* payload: bs_wire_outcome */
	BS_WIRE_ANSWER = 20,   /* payload: an answer (answer.h), to senders that ask for them */
	/* payload: an MRD image: 198-byte header, u64 + attributes, pixels */
	BS_WIRE_IMAGE = 32,
	BS_WIRE_NEXT = 33, /* char taker[64]; seq: number of the last image that the taker has */
	/* payload: u64, number of the image before, then an IMAGE message; seq:
	 * the image's number */
	BS_WIRE_STORED = 34,
	BS_WIRE_NONE = 35, /* payload: none; no image follows yet */
};

static inline bool bs_wire_kind_known(unsigned kind)
{
	return (kind >= BS_WIRE_OPEN && kind <= BS_WIRE_HEARTBEAT) ||
	       (kind >= BS_WIRE_ACCEPT && kind <= BS_WIRE_ANSWER) ||
	       (kind >= BS_WIRE_IMAGE && kind <= BS_WIRE_NONE);
}

struct bs_wire {
	enum bs_wire_kind kind;
	uint64_t payload_len; /* bytes of the payload */
	uint64_t session, seq;
	int64_t time_ns;  /* the sender's clock, for its own use; echoed in ACK */
	uint32_t crc;     /* CRC-32C over the envelope with this field 0, then over the payload */
	uint16_t version; /* version to encode; 0: BS_WIRE_VERSION */
};

/*
 * Writes the 64 bytes in front of a payload whose length and CRC it computes. out may directly
 * precede payload in one buffer.
 */
void bs_wire_encode(unsigned char out[BS_WIRE_BYTES], struct bs_wire *w, const void *payload,
		    size_t payload_len);
/* The session of a message that is known to be good; nothing else is decoded. */
uint64_t bs_wire_session(const unsigned char msg[BS_WIRE_BYTES]);

/*
 * Encoding in two steps, for a message that carries the time at which the rest of it was done. sum
 * reads the payload; seal, with w's time_ns set by then, takes well under a microsecond.
 */
struct bs_wire_sum {
	uint64_t payload_len;
	uint32_t crc, shift;
};
void bs_wire_sum(struct bs_wire_sum *s, const void *payload, size_t payload_len);
void bs_wire_seal(unsigned char out[BS_WIRE_BYTES], struct bs_wire *w, const struct bs_wire_sum *s);

/*
 * Checks length, magic, version, reserved bytes, kind, payload length and CRC, in that order. msg,
 * len: the whole message. On success *payload points into msg.
 */
int bs_wire_decode(struct bs_wire *w, const unsigned char *msg, size_t len,
		   const unsigned char **payload, struct bs_fail *why);

/*
 * Returns true if a message that decode refused with BS_ERR_VERSION is a whole one of version
 * BS_WIRE_PREVIOUS. *w then has its fields, version included: its sender understands an answer
 * encoded with that version.
 */
bool bs_wire_is_previous(struct bs_wire *w, const unsigned char *msg, size_t len);
/*
 * Reads the envelope of a message that was discarded because it is too long. Its fields are not
 * checked: they serve to address the refusal.
 */
bool bs_wire_is_ours(struct bs_wire *w, const unsigned char envelope[BS_WIRE_BYTES], uint64_t len);

/*
 * CRC-32C (Castagnoli): reflected, polynomial 0x1EDC6F41, start and final value inverted. It is
 * chained: start with 0, and pass the last result on to continue. "123456789" gives 0xE3069283.
 * bs_crc32c takes the CPU's instruction (SSE 4.2, ARMv8 CRC) where it has one, else tables; both
 * have a name here so that a test can compare them.
 * join: the checksum of two consecutive stretches of data, from the checksum of each. shift is made
 * for the length of the second one; it costs some microseconds, and serves any number of joins.
 */
uint32_t bs_crc32c(uint32_t crc, const void *data, size_t len);

uint32_t bs_crc32c_shift(uint64_t len);
uint32_t bs_crc32c_join(uint32_t first, uint32_t second, uint32_t shift);

/* Computes by tables, eight bytes per step; on any machine. */
uint32_t bs_crc32c_tables(uint32_t crc, const void *data, size_t len);
/* The function that uses the CPU's instruction; NULL where this CPU (or this build) has none. */
uint32_t (*bs_crc32c_instruction(void))(uint32_t crc, const void *data, size_t len);

#endif
