/*
 * ipc/wire/crc32c.h - CRC-32C (Castagnoli), the checksum of every message
 *
 * Reflected, polynomial 0x1EDC6F41, start and final value inverted; chained: start with 0, pass
 * the last result on to continue. "123456789" gives 0xE3069283.
 * bs_crc32c takes the CPU's instruction (SSE 4.2, ARMv8 CRC) where it has one and tables where it
 * has none; both have a name here so that a test can compare them.
 * join: the checksum of two stretches of data, one after the other, from the checksum of each.
 * shift is for the length of the second one; it costs some microseconds, and serves any number of
 * joins. Any thread; allocates nothing, waits for nothing. Test: test/unit/ipc/test_crc32c.c
 */
#ifndef BS_IPC_WIRE_CRC32C_H
#define BS_IPC_WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t bs_crc32c(uint32_t crc, const void *data, size_t len);

uint32_t bs_crc32c_shift(uint64_t len);
uint32_t bs_crc32c_join(uint32_t first, uint32_t second, uint32_t shift);

/* Tables, eight bytes a step; any machine. */
uint32_t bs_crc32c_tables(uint32_t crc, const void *data, size_t len);
/* The CPU's instruction; NULL where this CPU (or this build) has none. */
uint32_t (*bs_crc32c_instruction(void))(uint32_t crc, const void *data, size_t len);

#endif
