/*
 * drivers/log/proof.h - is a log what its node signed, and signatures for segments whose writer was
 * killed
 *
 * Its writer signs each seal (frame.h). A segment whose writer was killed, or whose disk failed,
 * has no seal. Once the log is complete such a one is read, sealed up to the record with which the
 * next one begins, and signed; its seal says that it was recovered. Both block on the disk and
 * allocate.
 * Test: test/unit/drivers/log/test_proof.c
 */
#ifndef BS_DRIVERS_LOG_PROOF_H
#define BS_DRIVERS_LOG_PROOF_H

#include "drivers/log/reader.h"

struct bs_log_proof {
	uint32_t segments;  /* segments with records, and the last one */
	uint32_t recovered; /* of these, signed after their writer had ended */
};

/*
 * Checks all of a log against a public key: names, heads, seals, signatures and every byte of the
 * records. path: any file of the log. 0: it is what the key signed. BS_ERR_KEY: a segment is not
 * signed, by another key, or not that of the log's name; BS_ERR_FORMAT: it was changed, or cannot
 * be read whole. BS_ERR_IO, BS_ERR_NOMEM. The reason names the file.
 */
int bs_log_prove(const char *path, const uint8_t key[BS_SIGN_KEY], struct bs_log_proof *sum,
		 struct bs_fail *why);

/* Computes the chain of a file's records up to end, beginning with *chain. BS_ERR_IO. */
int bs_log_chain_of(const char *path, uint64_t end, uint8_t chain[BS_CHAIN], struct bs_fail *why);

/*
 * Seals and signs the segments before the last one that have records and no seal. path: any file
 * of a log that nobody writes. A log without such a segment is not read. Errors as above;
 * BS_ERR_FORMAT where the log is damaged: nothing is sealed behind that. *chain: what the last
 * segment begins with.
 */
int bs_log_mend(const char *path, const struct bs_signer *signer, uint8_t chain[BS_CHAIN],
		struct bs_fail *why);

#endif
