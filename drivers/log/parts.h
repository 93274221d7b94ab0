/*
 * drivers/log/parts.h - a log's segments as their heads, seals and records tell, and signatures for
 * segments whose writer was killed
 *
 * A log's writer signs each seal (frame.h). A segment whose writer was killed, or whose disk
 * failed, has no seal. Once the log is complete such a one is read, sealed up to the record with
 * which the next one begins, and signed; its seal says that it was recovered (mend).
 * open_parts -> read_parts -> close_parts. All block on the disk and allocate.
 * Test: test/unit/drivers/log/test_proof.c
 */
#ifndef BS_DRIVERS_LOG_PARTS_H
#define BS_DRIVERS_LOG_PARTS_H

#include "drivers/log/reader.h"

/* One segment, as its first two blocks tell. */
struct bs_log_part {
	unsigned char head[BS_LOG_BLOCK], seal[BS_LOG_BLOCK];
	struct bs_log_head says; /* the head */
	struct bs_log_head ends; /* the seal, if sealed */
	bool sealed;
	uint64_t until; /* number of the first record that another segment has */
	uint64_t end;   /* offset behind its last record that counts; 0: none does */
};

/* All segments of a log: the reader has come to its end. */
struct bs_log_parts {
	struct bs_log_reader *r;
	struct bs_log_part *part; /* [count] */
	uint32_t count;
	bool records; /* some segment with records, but the last, has no seal */
};

/* Reads heads and seals, and which records of each segment count. BS_ERR_FORMAT: one cannot be. */
int bs_log_open_parts(struct bs_log_parts *l, const char *path, struct bs_fail *why);
/* Reads all records: each segment's end becomes known. *all: none is lost, whatever is returned. */
int bs_log_read_parts(struct bs_log_parts *l, bool *all, struct bs_fail *why);
void bs_log_close_parts(struct bs_log_parts *l);
/* The chain that segment i begins with: the seal's before, unless that one was given up. */
void bs_log_chain_before(const struct bs_log_parts *l, uint32_t i, uint8_t chain[BS_CHAIN],
			 const uint8_t before[BS_CHAIN]);
/* Computes the chain of a file's records up to end, beginning with *chain. BS_ERR_IO. */
int bs_log_chain_of(const char *path, uint64_t end, uint8_t chain[BS_CHAIN], struct bs_fail *why);

/*
 * Seals and signs the segments before the last one that have records and no seal. path: any file
 * of a log that nobody writes. A log without such a segment is not read. BS_ERR_IO, BS_ERR_NOMEM,
 * BS_ERR_STATE; BS_ERR_FORMAT where the log is damaged: nothing is sealed behind that. *chain: what
 * the last segment begins with.
 */
int bs_log_mend(const char *path, const struct bs_signer *signer, uint8_t chain[BS_CHAIN],
		struct bs_fail *why);

#endif
