/*
 * drivers/log/frame.h - the bytes of a scan's log: its files' heads and seals, its records' frames
 *
 * board/doc/LOG.md has the layout, byte by byte; these are its only encoder and decoder. A log is
 * one or more files, called segments, each with
 *   block 0   head: the scan, the segment, the number of the segment's first record
 *   block 1   seal: as the head, and where the segment ends; zeros until the segment ends
 *   block 2   the records, each a frame and its body; each commit starts at a new block
 * Each segment has a random id, which its records repeat: old records in a file that is used again
 * are not mistaken for this log's.
 * Integers are little-endian, whatever the machine. Nothing here allocates, blocks or keeps state.
 * Tests: test/unit/drivers/log/test_log.c, test/fuzz/fuzz_log.c
 */
#ifndef BS_DRIVERS_LOG_FRAME_H
#define BS_DRIVERS_LOG_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/seal/sign.h"

#define BS_LOG_BLOCK    4096u /* bytes of a block, which is never rewritten once on the disk */
#define BS_LOG_SEAL_AT  4096u /* offset of the seal */
#define BS_LOG_RECORDS  8192u /* offset of the first record */
#define BS_LOG_FRAME    48u   /* bytes of a frame; frame and body are padded to 8 */
#define BS_LOG_BODY_MAX (1u << 30)
/* offsets in a seal of version 2, from where version 1 has zeros (BS_LOG_FIELDS_1) */
#define BS_LOG_FIELDS_1     76u
#define BS_LOG_CHAIN_AT     80u
#define BS_LOG_KEY_AT       112u
#define BS_LOG_SIGNATURE_AT 144u
#define BS_LOG_FIELDS       208u /* end of a seal's fields */
#define BS_LOG_VERSION      2u   /* of what is written; 1, without signatures, is read, too */

struct bs_log_head {
	uint64_t id;        /* random number of the segment, not 0 */
	uint64_t session;   /* session of the scan */
	uint64_t first;     /* number of the segment's first record; the scan's first is 0 */
	int64_t started_ns; /* start of the scan, ns since 1970, UTC */
	uint32_t index;     /* number of this segment, from 0 */
	uint32_t scan;      /* number of the scan in the service that logged it; 0: not known */
	bool after_fault;   /* head: the segment before was given up after an error */
	bool last;          /* seal: the log ends here; else it goes on in the next segment */
	bool early;         /* last seal: not all of the scan's images had been made */
	bool recovered;     /* seal: it is not the writer's, who had ended: the file was read */
	uint64_t end;       /* seal: offset of the last record's end */
	uint64_t next;      /* seal: number of the record that would follow */
};

/* Write the head or the seal of a segment, BS_LOG_BLOCK bytes. */
void bs_log_put_head(unsigned char *block, const struct bs_log_head *h);
void bs_log_put_seal(unsigned char *block, const struct bs_log_head *h);
/* BS_ERR_MAGIC, BS_ERR_VERSION, BS_ERR_CRC, BS_ERR_VALUE: the block is not a head, or not a seal */
int bs_log_get_head(struct bs_log_head *h, const unsigned char *block, struct bs_fail *why);
int bs_log_get_seal(struct bs_log_head *h, const unsigned char *block, struct bs_fail *why);

/*
 * Signs a seal as put_seal made it. chain: the hash over the segment's blocks of records, each with
 * the one before it (bs_chain_add). A segment that follows a sealed one without a fault begins with
 * that one's chain, all others with zeros.
 */
void bs_log_sign_seal(unsigned char *block, const uint8_t chain[BS_CHAIN],
		      const struct bs_signer *s);
/* Writes what a seal's signature is of: the block with its checksum and signature as zeros. */
void bs_log_unsigned(unsigned char out[BS_LOG_BLOCK], const unsigned char *block);

enum bs_log_kind {
	BS_LOG_MESSAGE = 1, /* a message of the scan as it came: envelope and payload */
	BS_LOG_PADDING = 2, /* zeros up to the next block; padding takes no record number */
};

struct bs_log_frame {
	uint64_t id;
	uint64_t number;  /* number of the record within the log, from 0, over all segments */
	uint64_t durable; /* records before this number were on the disk when this one was made */
	uint32_t length;  /* bytes of the body, without padding */
	uint32_t crc;     /* CRC-32C of the body with its padding */
	uint16_t kind;    /* kind of the record, enum bs_log_kind */
};

/* Bytes of a record: frame, body and padding. length: of the body, at most BS_LOG_BODY_MAX. */
static inline uint64_t bs_log_record_bytes(uint64_t length)
{
	return BS_LOG_FRAME + ((length + 7) & ~UINT64_C(7));
}
void bs_log_put_frame(unsigned char out[BS_LOG_FRAME], const struct bs_log_frame *f);
/* Checks the frame, not the body. BS_ERR_MAGIC, BS_ERR_CRC, BS_ERR_KIND, BS_ERR_LENGTH. */
int bs_log_get_frame(struct bs_log_frame *f, const unsigned char in[BS_LOG_FRAME],
		     struct bs_fail *why);

#endif
