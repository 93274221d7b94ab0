/*
 * drivers/tool/signedfile.h - a file that a node has signed, its signature in FILE.sig beside it
 *
 * The signature is one line of base64: of a chain over the file's blocks of 4,096 bytes, begun with
 * zeros (ipc/seal/sign.h). Blocks on the disk. Test: test/unit/drivers/tool/test_signedfile.c
 */
#ifndef BS_DRIVERS_TOOL_SIGNEDFILE_H
#define BS_DRIVERS_TOOL_SIGNEDFILE_H

#include "ipc/seal/sign.h"

/* BS_ERR_IO */
int bs_sign_file(const struct bs_signer *s, const char *file, struct bs_fail *why);
/* True if FILE.sig is there. */
bool bs_signedfile_is(const char *file);
/* 0: FILE.sig is the key's of FILE as it is. BS_ERR_IO; BS_ERR_FORMAT; BS_ERR_KEY: it is not. */
int bs_signed_file(const uint8_t key[BS_SIGN_KEY], const char *file, struct bs_fail *why);

#endif
