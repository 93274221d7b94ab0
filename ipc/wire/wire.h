/*
 * ipc/wire/wire.h - the envelope around every message, and the small payloads of the scan protocol
 *
 * Layouts, byte by byte, are in ipc/WIRE.md; this is their one encoder and their one decoder. All
 * integers are little-endian, whatever the machine. Nothing here allocates, blocks or keeps state.
 * Every decoder checks each length before it reads; text from the peer is copied bounded and
 * NUL-terminated. Tests: test/unit/ipc/test_wire.c, test/fuzz/fuzz_wire.c
 *
 * The conversation on the k-space socket (PAIR):
 *   sender:  OPEN (seq 0) -> ACQ, WAVEFORM (seq 1, 2, ...) -> CLOSE (next seq); HEARTBEAT when idle
 *   service: ACCEPT | REFUSE to OPEN; ACK while readouts come; OUTCOME once, at the end, whatever
 *            the end is; HEARTBEAT when idle
 * session: chosen at random by the sender, one per scan; a resent message keeps session and seq.
 */
#ifndef BS_IPC_WIRE_WIRE_H
#define BS_IPC_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/protocol.h"
#include "ipc/wire/crc32c.h"

#define BS_WIRE_BYTES   64u         /* of the envelope */
#define BS_WIRE_MAGIC   0x31445342u /* "BSD1" */
#define BS_WIRE_VERSION 1u

enum bs_wire_kind {
	BS_WIRE_OPEN =
		1, /* char protocol[64], NUL-padded, "" = by the header; then the MRD XML header */
	BS_WIRE_ACQ = 2,       /* MRD acquisition: 340-byte header, trajectory, samples */
	BS_WIRE_WAVEFORM = 3,  /* MRD waveform: counted and dropped */
	BS_WIRE_CLOSE = 4,     /* u64 number of ACQ messages sent in this session */
	BS_WIRE_HEARTBEAT = 5, /* empty */
	BS_WIRE_ACCEPT = 16,   /* bs_wire_answer; window = messages that may be unacknowledged */
	BS_WIRE_REFUSE = 17,   /* bs_wire_answer */
	BS_WIRE_ACK = 18,      /* u64 seq: this and all before it are safely held */
	BS_WIRE_OUTCOME = 19,  /* bs_wire_outcome */
	BS_WIRE_IMAGE = 32,    /* MRD image: 198-byte header, u64 + attributes, pixels */
};

struct bs_wire {
	uint16_t kind;        /* enum bs_wire_kind */
	uint64_t payload_len; /* bytes */
	uint64_t session, seq;
	int64_t time_ns; /* the sender's clock, for its own use; echoed in ACK */
	uint32_t crc;    /* CRC-32C over the envelope with this field 0, then the payload */
};

struct bs_wire_answer {
	int32_t code; /* 0, or an enum bs_err */
	uint32_t window;
	char text[384];
};

struct bs_wire_outcome {
	int32_t code;         /* 0: every readout was used, every image given to some taker */
	uint32_t undelivered; /* times that a taker did not get an image after all, so far */
	uint64_t acquisitions, images, gaps, duplicates, rejected, late;
	char text[384];
};

#define BS_WIRE_ANSWER_BYTES  (4u + 4u + 384u)
#define BS_WIRE_OUTCOME_BYTES (4u + 4u + 6u * 8u + 384u)
#define BS_WIRE_PREVIEWS      (UINT64_C(1) << 32) /* of an IMAGE's seq: a preview */
#define BS_WIRE_OPEN_NAME     64u
#define BS_WIRE_XML_MAX       (1u << 20) /* bytes of XML; longer is refused unread */

/*
 * encode: writes the 64 bytes in front of a payload whose length and CRC it computes.
 * out may directly precede payload in one buffer.
 */
void bs_wire_encode(unsigned char out[BS_WIRE_BYTES], struct bs_wire *w, const void *payload,
		    size_t payload_len);
/* The session of a message that is known to be good, and nothing else of it. */
uint64_t bs_wire_session(const unsigned char msg[BS_WIRE_BYTES]);

/*
 * The same in two steps, for a message that carries the time at which the rest of it was done: sum
 * reads the payload; seal, with w's time_ns set by then, takes well under a microsecond.
 */
struct bs_wire_sum {
	uint64_t payload_len;
	uint32_t crc, shift;
};
void bs_wire_sum(struct bs_wire_sum *s, const void *payload, size_t payload_len);
void bs_wire_seal(unsigned char out[BS_WIRE_BYTES], struct bs_wire *w, const struct bs_wire_sum *s);

/*
 * decode: checks length, magic, version, reserved bytes, kind, payload length, CRC in that order.
 * msg, len: the whole message. On success *payload points into msg.
 */
int bs_wire_decode(struct bs_wire *w, const unsigned char *msg, size_t len,
		   const unsigned char **payload, struct bs_fail *why);
bool bs_wire_kind_known(unsigned kind);

void bs_wire_put_answer(unsigned char out[BS_WIRE_ANSWER_BYTES], const struct bs_wire_answer *v);
int bs_wire_get_answer(struct bs_wire_answer *v, const unsigned char *p, size_t len,
		       struct bs_fail *why);
void bs_wire_put_outcome(unsigned char out[BS_WIRE_OUTCOME_BYTES], const struct bs_wire_outcome *o);
int bs_wire_get_outcome(struct bs_wire_outcome *o, const unsigned char *p, size_t len,
			struct bs_fail *why);
/* ACK's seq and CLOSE's count: one u64. */
void bs_wire_put_u64(unsigned char out[8], uint64_t v);
int bs_wire_get_u64(uint64_t *v, const unsigned char *p, size_t len, struct bs_fail *why);

/*
 * OPEN: the 64 bytes in front of the XML. get refuses fewer (BS_ERR_LENGTH), and a name without a
 * zero at its end, with control characters, or with other bytes than zeros after it
 * (BS_ERR_PROTOCOL). *xml points into p and is not NUL-terminated; bs_mrdxml_read checks its
 * length.
 */
int bs_wire_put_open(unsigned char out[BS_WIRE_OPEN_NAME], const char *protocol,
		     struct bs_fail *why);
int bs_wire_get_open(char protocol[BS_WIRE_OPEN_NAME], const char **xml, size_t *xml_len,
		     const unsigned char *p, size_t len, struct bs_fail *why);

#endif
