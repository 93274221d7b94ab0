/*
 * ipc/wire/wire.h - the small payloads of the scan protocol; envelope.h has the envelope around
 * them
 *
 * Layouts, byte by byte, are in ipc/WIRE.md; this is their one encoder and their one decoder. All
 * integers are little-endian, whatever the machine. Nothing here allocates, blocks or keeps state.
 * Every decoder checks each length before it reads; text from the peer is copied bounded and
 * NUL-terminated. Tests: test/unit/ipc/test_wire.c, test/fuzz/fuzz_wire.c
 *
 * The conversation on the k-space socket (PAIR):
 *   sender:  OPEN (seq 0) -> ACQ, WAVEFORM (seq 1, 2, ...) -> CLOSE (next seq); HEARTBEAT when idle
 *   service: ACCEPT | REFUSE to OPEN; ACK while readouts come, ANSWER (answer.h) where the sender
 *   asks for it; OUTCOME once, at the end, whatever the end is; HEARTBEAT when idle
 * session: chosen at random by the sender, one per scan; a resent message keeps session and seq.
 */
#ifndef BS_IPC_WIRE_WIRE_H
#define BS_IPC_WIRE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/frame/kind.h"
#include "core/mrd.h"
#include "ipc/wire/envelope.h"

struct bs_wire_reply {
	int32_t code; /* code of the reply: 0, or an enum bs_err */
	uint32_t window;
	char text[384];
};

struct bs_wire_outcome {
	/* code of the outcome; 0: no line was lost or refused, and every image was
	 * given to some taker */
	int32_t code;
	/* number of times so far that a taker did not get an image after all */
	uint32_t undelivered;
	uint64_t acquisitions, images, gaps, duplicates, rejected, late;
	char text[384];
	struct bs_kinds kinds; /* acquisitions of each kind */
};

/* The promise of an ACK's durable number for the messages up to it. */
enum bs_wire_log {
	BS_WIRE_LOG_OFF,     /* the scan has no log: durable equals held */
	BS_WIRE_LOG_RELAXED, /* messages are in the scan's log; a loss of power may take them */
	BS_WIRE_LOG_DURABLE, /* messages are in the scan's log on the disk */
};

struct bs_wire_ack {
	uint64_t held; /* all messages up to this number are in the pool, or were used */
	/* all messages up to this number are where the member log says; at most held */
	uint64_t durable;
	/* number of messages up to durable that the scan's log lacks, because it had failed */
	uint64_t unprotected;
	uint32_t log; /* place that durable stands for, enum bs_wire_log */
};

#define BS_WIRE_ACK_BYTES     32u
#define BS_WIRE_REPLY_BYTES   (4u + 4u + 384u)
#define BS_WIRE_OUTCOME_BYTES (4u + 4u + 6u * 8u + 384u + 2u * BS_KINDS * 8u)
#define BS_WIRE_PREVIEWS      (UINT64_C(1) << 32) /* bit of an IMAGE's seq: a preview */
#define BS_WIRE_OPEN_NAME     64u
#define BS_WIRE_TAKER         64u        /* bytes of a taker's name, its NUL included */
#define BS_WIRE_XML_MAX       (1u << 20) /* bytes of XML; longer XML is refused unread */
/* bytes of OPEN: somewhat more than the XML, so that its own decoder refuses long XML */
#ifndef BS_WIRE_OPEN_MAX
#define BS_WIRE_OPEN_MAX ((size_t)BS_WIRE_XML_MAX + 65536)
#endif

void bs_wire_put_reply(unsigned char out[BS_WIRE_REPLY_BYTES], const struct bs_wire_reply *v);
int bs_wire_get_reply(struct bs_wire_reply *v, const unsigned char *p, size_t len,
		      struct bs_fail *why);
void bs_wire_put_outcome(unsigned char out[BS_WIRE_OUTCOME_BYTES], const struct bs_wire_outcome *o);
int bs_wire_get_outcome(struct bs_wire_outcome *o, const unsigned char *p, size_t len,
			struct bs_fail *why);
void bs_wire_put_ack(unsigned char out[BS_WIRE_ACK_BYTES], const struct bs_wire_ack *a);
/*
 * get_ack: BS_ERR_VALUE: durable is beyond held, more are unprotected than durable, or log is no
 * enum bs_wire_log.
 */
int bs_wire_get_ack(struct bs_wire_ack *a, const unsigned char *p, size_t len, struct bs_fail *why);
/* The count in CLOSE: one u64. */
void bs_wire_put_u64(unsigned char out[8], uint64_t v);
int bs_wire_get_u64(uint64_t *v, const unsigned char *p, size_t len, struct bs_fail *why);

/*
 * The 64 bytes of OPEN in front of the XML. get refuses fewer bytes (BS_ERR_LENGTH), and a name
 * without a zero at its end, with control characters, or with other bytes than zeros after it
 * (BS_ERR_PROTOCOL). *xml points into p and is not NUL-terminated; bs_mrdxml_read checks its
 * length.
 */
int bs_wire_put_open(unsigned char out[BS_WIRE_OPEN_NAME], const char *protocol,
		     struct bs_fail *why);
int bs_wire_get_open(char protocol[BS_WIRE_OPEN_NAME], const char **xml, size_t *xml_len,
		     const unsigned char *p, size_t len, struct bs_fail *why);

/*
 * The images socket (REQ, REP): NEXT asks, STORED or NONE answers, REFUSE says why not. A taker's
 * name is 1 to 63 letters, digits, '.', '_', '-', and does not begin with '.': it is part of a
 * file's name. Behind it a u64 may follow, where the answer is to follow another number than seq.
 * get: BS_ERR_LENGTH, BS_ERR_VALUE.
 */
/* bytes of a NEXT payload with a number behind the taker's name */
#define BS_WIRE_NEXT_APART (BS_WIRE_TAKER + 8u)
bool bs_wire_taker_good(const char *name);
void bs_wire_put_next(unsigned char out[BS_WIRE_TAKER], const char *taker);
int bs_wire_get_next(char taker[BS_WIRE_TAKER], const unsigned char *p, size_t len,
		     struct bs_fail *why);
/*
 * previous: number of the image before; image: the IMAGE message, which lies in p and is not
 * checked.
 */
int bs_wire_get_stored(uint64_t *previous, const unsigned char **image, size_t *image_len,
		       const unsigned char *p, size_t len, struct bs_fail *why);

/*
 * The bytes of the longest message that a sender may send: a readout of acq_bytes bytes of samples,
 * or OPEN.
 */
static inline size_t bs_wire_kspace_max(uint64_t acq_bytes)
{
	const size_t acq = (size_t)acq_bytes + BS_WIRE_BYTES + BS_MRD_ACQ_BYTES;

	return acq > BS_WIRE_OPEN_MAX ? acq : BS_WIRE_OPEN_MAX;
}

#endif
