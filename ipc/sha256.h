/*
 * ipc/sha256.h - SHA-256, for naming a configuration by its content
 *
 * hex: 64 digits and a NUL. Allocates nothing; any thread. Computed by libsodium. Source: FIPS
 * 180-4 (2015).
 * Test: test/unit/core/tool/test_contract.c, by that standard's examples.
 */
#ifndef BS_IPC_SHA256_H
#define BS_IPC_SHA256_H

#include <stddef.h>

#define BS_SHA256_HEX 65u

void bs_sha256(char hex[BS_SHA256_HEX], const void *data, size_t len);

#endif
