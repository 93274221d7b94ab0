/*
 * drivers/tool/load/proof.h - is a log what its node signed
 *
 * Blocks on the disk and allocates. Test: test/unit/drivers/log/test_proof.c
 */
#ifndef BS_DRIVERS_TOOL_LOAD_PROOF_H
#define BS_DRIVERS_TOOL_LOAD_PROOF_H

#include <stdint.h>

#include "ipc/seal/sign.h"

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

#endif
